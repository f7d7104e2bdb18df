//! Rules beyond sizes and lifetimes, end to end: two memories explained, kept and refused.

use serde_json::{Value, json};

use crate::program::{Run, run_in};

/// At step 1 the buffers need 384 KiB of 256 KiB; `v` lies in `a`.
const TWO_MEMORIES: &str = r#"{
  "format": "problem-v1",
  "pools": [{ "name": "SRAM", "capacity": "256 KiB" }, { "name": "PSRAM" }],
  "buffers": [
    { "id": "a", "size": "128 KiB", "start": 0, "end": 3 },
    { "id": "b", "size": "192 KiB", "start": 1, "end": 4 },
    { "id": "c", "size": "64 KiB", "start": 0, "end": 4 },
    { "id": "v", "size": 1024, "start": 1, "end": 3, "view_of": "a", "at": 2048 },
    { "id": "fixed", "size": 4096, "start": 5, "end": 6, "offset": 8192, "pools": ["SRAM"] }
  ]
}"#;

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    std::fs::write(folder.path().join("memories.json"), text).expect("a file in it");
    folder
}

fn report(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).expect("a JSON report")
}

#[test]
fn a_buffer_in_the_slow_memory_is_told_why() {
    let folder = folder_with(TWO_MEMORIES);
    let explain = |tensor: &str| run_in(folder.path(), &["explain", "memories.json", "--tensor", tensor]);
    let spilled = explain("b");
    let reason = "`b` (#1): 196,608 B at byte 0 of `PSRAM`, live in steps 1 to 3\n  it prefers `SRAM`, but its lowest place there ends at byte 393,216, and `SRAM` has 262,144 B\n";
    assert!(spilled.stdout.contains(reason), "{}{}", spilled.stdout, spilled.stderr);
    assert!(spilled.stdout.contains("peak: 393,216 B"), "{}", spilled.stdout);
    assert!(explain("v").stdout.contains("it moves as one with `a` (#0), which begin at byte"), "{}", explain("v").stdout);
    assert!(explain("fixed").stdout.contains("a rule fixes it at this byte"), "{}", explain("fixed").stdout);
    let json = report(&run_in(folder.path(), &["explain", "memories.json", "--tensor", "b", "--json"]));
    let place = &json["buffers"][0];
    assert_eq!((&place["pool"], &place["pinned"], &place["moves_with"]), (&json!("PSRAM"), &json!(false), &json!([])));
    assert_eq!(place["better_pools"], json!([{ "pool": "SRAM", "needs_bytes": 384 << 10, "capacity_bytes": 256 << 10, "fits": false }]));
}

#[test]
fn the_places_of_an_older_plan_are_kept_in_both_memories() {
    let folder = folder_with(TWO_MEMORIES);
    assert_eq!(run_in(folder.path(), &["export", "memories.json", "-o", "old.json"]).code, 0);
    let same = report(&run_in(folder.path(), &["plan", "memories.json", "--keep", "old.json", "--json"]));
    assert_eq!((&same["keep"]["kept"], &same["keep"]["moved"], &same["keep"]["gave_up_places"]), (&json!(5), &json!([]), &json!(false)));
    let grown = TWO_MEMORIES.replace("64 KiB", "80 KiB").replace("memories", "grown");
    std::fs::write(folder.path().join("grown.json"), grown).unwrap();
    let after = report(&run_in(folder.path(), &["plan", "grown.json", "--keep", "old.json", "--json"]));
    assert_eq!((&after["keep"]["kept"], &after["keep"]["moved"], &after["valid"]), (&json!(4), &json!([]), &json!(true)));
    assert_eq!(after["keep"]["resized"], json!([{ "name": "c", "from_bytes": 64 << 10, "to_bytes": 80 << 10 }]));
}

#[test]
fn a_kept_place_that_is_no_longer_free_is_given_up_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("before.csv", "id,lower,upper,size\nlong,0,2,64\nother,2,4,128\n");
    assert_eq!(run_in(folder.path(), &["export", "before.csv", "-o", "old.json"]).code, 0);
    write("after.csv", "id,lower,upper,size\nlong,0,3,64\nother,2,4,128\n");
    let text = run_in(folder.path(), &["plan", "after.csv", "--keep", "old.json"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    for part in ["kept 1 buffer (128 B) in place", "1 buffer: moved (64 B)", "`long` from byte 0 to 128"] {
        assert!(text.stdout.contains(part), "{part} is missing from {}", text.stdout);
    }
    write("foreign.csv", "id,lower,upper,size\nstranger,0,3,64\n");
    let foreign = run_in(folder.path(), &["plan", "foreign.csv", "--keep", "old.json"]);
    assert!(foreign.code == 0 && foreign.stdout.contains("kept 0 buffers (0 B) in place\n1 buffer: appeared"), "{}", foreign.stdout);
    let missing = run_in(folder.path(), &["plan", "after.csv", "--keep", "no-such-plan.json"]);
    assert!(missing.code == 1 && missing.stderr.contains("no-such-plan.json"), "{}", missing.stderr);
}

#[test]
fn a_strategy_without_a_feature_says_which_one_it_lacks() {
    let folder = folder_with(TWO_MEMORIES);
    let refused = run_in(folder.path(), &["plan", "memories.json", "--strategy", "hill-climb"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("hill-climb") && refused.stderr.contains("(fixed offsets)"), "{}", refused.stderr);
}

#[test]
fn many_gaps_are_planned_and_explained_in_one_go() {
    let folder = tempfile::tempdir().unwrap();
    let gap = |at: u64| json!({ "start": 2 * at + 1, "end": 2 * at + 2 });
    let buffer =
        |id: u64| json!({ "id": format!("b{id}"), "size": 64 + id, "start": 0, "end": 40_000, "gaps": (0..15_000).map(gap).collect::<Vec<_>>() });
    let buffers = json!((0..6).map(buffer).collect::<Vec<_>>());
    std::fs::write(folder.path().join("gaps.json"), format!(r#"{{"format": "problem-v1", "buffers": {buffers}}}"#)).unwrap();
    // All are kept at the same steps: 64 bytes for the first, 128 for each of the five others.
    let plan = report(&run_in(folder.path(), &["plan", "gaps.json", "--json"]));
    assert_eq!((&plan["arena_bytes"], &plan["lower_bound_bytes"]), (&json!(704), &json!(704)));
    let explained = report(&run_in(folder.path(), &["explain", "gaps.json", "--tensor", "b3", "--json"]));
    assert_eq!(explained["peak"]["bytes"], json!(704));
}
