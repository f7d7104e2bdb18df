//! Why a tensor is where it is, and what differs between two plans.

use serde_json::{Value, json};

use crate::program::{run, run_in, sample};

fn explain(args: &[&str]) -> Value {
    let path = sample("parallel_branches.json");
    let run = run(&[&["explain", path.as_str(), "--json"], args].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).expect("a JSON report")
}

#[test]
fn a_buffer_is_found_by_name_index_and_byte() {
    let by_name = explain(&["--tensor", "A3", "--strategy", "slots-by-birth"]);
    let place = &by_name["buffers"][0];
    assert_eq!((&place["name"], &place["start"]), (&json!("A3"), &json!(3)));
    let index = format!("#{}", place["id"]);
    assert_eq!(explain(&["--tensor", &index, "--strategy", "slots-by-birth"])["buffers"], by_name["buffers"]);
    let byte = format!("@{}", place["offset"]);
    let at_byte = explain(&["--tensor", &byte, "--strategy", "slots-by-birth"]);
    assert!(at_byte["buffers"].as_array().unwrap().contains(place), "{at_byte}");
    let path = sample("parallel_branches.json");
    for (tensor, reason) in [("nothing", "#N"), ("W1", "static"), ("@1GiB", "byte 1073741824")] {
        let refused = run(&["explain", &path, "--tensor", tensor]);
        assert!(refused.code == 1 && refused.stderr.contains(reason), "{tensor}: {}", refused.stderr);
    }
}

#[test]
fn the_text_says_who_blocks_and_what_would_lower_the_peak() {
    let text = run(&["explain", &sample("article_three_tensors.json"), "--tensor", "B", "--strategy", "slots-by-birth"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    for part in ["`B` (#1): 8,388,608 B at byte 4,194,304", "blocked by `A` (#0)", "peak: 12,582,912 B", "without `B`"] {
        assert!(text.stdout.contains(part), "{part} is missing from {}", text.stdout);
    }
}

#[test]
fn a_loose_plan_is_flagged_and_the_difference_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("article_three_tensors.json");
    run_in(folder.path(), &["export", &path, "-o", "old.json", "--strategy", "first-fit"]);
    let text = std::fs::read_to_string(folder.path().join("old.json")).unwrap();
    let mut plan: Value = serde_json::from_str(&text).unwrap();
    plan["buffers"][1]["offset"] = json!(8 << 20);
    plan["arena_bytes"] = json!(16 << 20);
    std::fs::write(folder.path().join("new.json"), plan.to_string()).unwrap();
    let explained = run_in(folder.path(), &["explain", &path, "--plan", "new.json", "--json"]);
    let report: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(report["could_be_lower"], json!([{"id": 1, "name": "B", "offset": 8 << 20, "could_be_at": 4 << 20}]));

    let diff = run_in(folder.path(), &["diff", "old.json", "new.json", "--json"]);
    let report: Value = serde_json::from_str(&diff.stdout).unwrap();
    assert_eq!((&report["same"], &report["moved"], &report["grew"], &report["vanished"]), (&json!(1), &json!(1), &json!(0), &json!(0)));
    assert_eq!((&report["buffers"][0]["name"], &report["buffers"][0]["new_offset"]), (&json!("B"), &json!(8 << 20)));
    let text = run_in(folder.path(), &["diff", "old.json", "new.json"]);
    assert!(text.code == 0 && text.stdout.contains("4,194,304 B more") && text.stdout.contains("moved"), "{}", text.stdout);
    let same = run_in(folder.path(), &["diff", "old.json", "old.json"]);
    assert!(same.code == 0 && same.stdout.contains("the same") && !same.stdout.contains("moved"), "{}", same.stdout);
    assert_eq!(run_in(folder.path(), &["diff", "old.json", "no-such.json"]).code, 1);
}

#[test]
fn a_run_refuses_buffers_that_are_not_whole_and_explain_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let problem = r#"{"format": "problem-v1", "buffers": [
        {"id": "a", "size": 64, "live": [[0, 1], [2, 3]]}, {"id": "b", "size": 64, "start": 1, "end": 2}]}"#;
    std::fs::write(folder.path().join("rules.json"), problem).unwrap();
    let plan = run_in(folder.path(), &["plan", "rules.json", "--json"]);
    let report: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!((&report["arena_bytes"], &report["valid"]), (&json!(64), &json!(true)));
    let refused = run_in(folder.path(), &["run", "rules.json", "--device", "cpu"]);
    assert!(refused.code == 1 && refused.stderr.contains("lifetime gaps"), "{} {}", refused.code, refused.stderr);
    let explained = run_in(folder.path(), &["explain", "rules.json", "--tensor", "b"]);
    assert!(explained.code == 0 && explained.stdout.contains("it is at the bottom"), "{} {}", explained.code, explained.stdout);
}
