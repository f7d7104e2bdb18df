//! Memory traces on the command line: what `inspect` says of them, and that planning and checking take them.

use serde_json::{Value, json};

use crate::program::run;

const TRAINING: &str = "tests/data/torch_snapshot/medium_128_training.pickle";
const FIELDS: &str = "tests/data/torch_snapshot/every_field.p4.pickle";

fn inspected(args: &[&str]) -> Value {
    let report = run(&[&["inspect", "--json"], args].concat());
    assert_eq!(report.code, 0, "{}", report.stderr);
    serde_json::from_str(&report.stdout).expect("one JSON object")
}

#[test]
fn inspecting_a_snapshot_gives_its_peaks_and_what_one_arena_needs() {
    let found = inspected(&[TRAINING]);
    let trace = &found["trace"];
    assert_eq!((&trace["pre_existing_bytes"], &trace["consistent"]), (&json!(5_095_321_600_u64), &json!(true)));
    assert_eq!(trace["curves"][0], json!({"name": "requested", "peak_bytes": 7_013_335_044_u64, "peak_step": 9967, "end_bytes": 6_808_535_044_u64}));
    assert_eq!(trace["curves"][3]["peak_bytes"], json!(7_235_174_400_u64));
    assert_eq!(trace["segments"], json!({"at_end": 377, "at_end_bytes": 7_235_174_400_u64, "over_time": 377}));
    assert_eq!((&trace["fragmentation"][0]["at"], &trace["fragmentation"][1]["largest_hole_bytes"]), (&json!("peak"), &json!(41_943_040)));
    let arena = trace["one_arena"]["arena_bytes"].as_u64().expect("a number");
    assert!((7_013_335_044..7_235_174_400).contains(&arena), "{arena}");
    assert_eq!(trace["by_line"].as_array().map(Vec::len), Some(10));
    let text = run(&["inspect", TRAINING]).stdout;
    for part in
        ["older than the recording", "5,095,321,600 B", "largest hole", "the allocator reserves", "optimizer.py:80 step", "gap: the arena saves"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_failure_is_shown_with_what_was_asked_and_what_was_free() {
    let failure = &inspected(&[FIELDS])["trace"]["failures"][0];
    assert_eq!((&failure["step"], &failure["asked_bytes"], &failure["device_free_bytes"]), (&json!(11), &json!(64 << 20), &json!(5 << 20)));
    assert_eq!(failure["fits"], json!("fits nowhere"));
    let text = run(&["inspect", FIELDS]).stdout;
    assert!(text.contains("out of memory at step 11, in model/attention.py:12 attention"), "{text}");
}

#[test]
fn a_size_asked_about_is_answered_for_the_peak_and_the_end() {
    let moments = inspected(&[FIELDS, "--fits", "10MiB"])["trace"]["fragmentation"].clone();
    assert_eq!(moments[1]["fits"], json!("fits"));
    let moments = inspected(&[FIELDS, "--fits", "11MiB"])["trace"]["fragmentation"].clone();
    assert_eq!(moments[1]["fits"], json!("fits nowhere, though more is free: the free bytes are in pieces"));
    assert_eq!(run(&["inspect", FIELDS, "--fits", "lots"]).code, 2);
}

#[test]
fn another_device_is_chosen_by_its_number() {
    assert_eq!(inspected(&[FIELDS, "--trace-device", "1"])["trace"]["device"], json!("cuda:1"));
    let refused = run(&["inspect", FIELDS, "--trace-device", "5"]);
    assert!(refused.code == 1 && refused.stderr.contains("no device 5"), "{}", refused.stderr);
}

#[test]
fn a_timeline_gives_curves_by_category() {
    let found = inspected(&["tests/data/torch_snapshot/tinygpt_cpu_mem_timeline.json"]);
    assert_eq!(found["trace"]["categories"][4], json!({"category": "activation", "peak_bytes": 15_224_840, "end_bytes": 0}));
    assert_eq!(found["trace"]["one_arena"], Value::Null);
}

#[test]
fn a_trace_is_planned_beside_the_observed_plan() {
    let report = run(&["plan", "--json", FIELDS]);
    let plan: Value = serde_json::from_str(&report.stdout).expect("one JSON object");
    assert_eq!((report.code, &plan["valid"], &plan["format"]), (0, &json!(true), &json!("torch-snapshot")));
    assert!(plan["observed_bytes"].as_u64() > plan["arena_bytes"].as_u64(), "{plan}");
}

#[test]
fn blocks_older_than_the_recording_are_a_role_of_their_own() {
    let roles = inspected(&[FIELDS])["tensors_by_role"].clone();
    let row = |role: &str, tensors: u64, bytes: u64| json!({"role": role, "dtype": "unknown", "tensors": tensors, "bytes": bytes});
    assert_eq!(roles, json!([row("activation", 4, 10_485_765), row("pre-existing", 2, 400)]));
    let text = run(&["plan", FIELDS]).stdout;
    let line = text.lines().find(|line| line.contains("pre-existing: older than the recording")).expect("a line of its own");
    assert!(line.contains("448 B") && line.ends_with("2 buffers"), "{line}");
    let found = run(&["inspect", FIELDS, "--find", "0"]).stdout;
    assert!(found.contains("pre-existing, unknown"), "{found}");
}
