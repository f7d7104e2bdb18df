//! Plans leave the program and come back: exported, checked, broken, generated.

use serde_json::{Value, json};

use crate::program::{run, run_in, sample};

#[test]
fn an_exported_plan_is_found_valid() {
    let folder = tempfile::tempdir().unwrap();
    for (file, options) in [
        ("article_three_tensors.json", &["--strategy", "slots-by-birth"][..]),
        ("two_layer_perceptron_training.json", &["--io", "arena", "--align", "4KiB"]),
        ("inplace_trap.json", &["--in-place", "off"]),
        ("minimalloc_K.1048576.csv", &["--strategy", "greedy-size"]),
        ("mobilenet_v2.onnx", &[]),
    ] {
        let path = sample(file);
        let written = run_in(folder.path(), &[&["export", path.as_str(), "-o", "plan.json"], options].concat());
        assert_eq!(written.code, 0, "{file}: {}", written.stderr);
        let checked = run_in(folder.path(), &["check", &path, "plan.json"]);
        assert!(checked.code == 0 && checked.stdout.starts_with("valid: "), "{file}: {}{}", checked.stdout, checked.stderr);
    }
}

#[test]
fn an_exported_plan_has_the_promised_keys() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["export", &sample("article_three_tensors.json"), "-o", "plan.json", "--strategy", "slots-by-birth"]);
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    let head = json!({"schema": 1, "kind": "plan", "file": "article_three_tensors.json", "align": 64, "in_place": "on", "io": "static", "arena_bytes": 12 << 20});
    for (key, value) in head.as_object().unwrap() {
        assert_eq!(&plan[key], value, "{key}");
    }
    assert_eq!(plan["order"], json!(["Op1", "Op2", "Op3", "Op4"]));
    assert_eq!(
        plan["buffers"],
        json!([
            {"id": 0, "name": "A", "tensors": ["A", "C"], "bytes": 4 << 20, "start": 0, "end": 4, "offset": 0, "slot": 0},
            {"id": 1, "name": "B", "tensors": ["B"], "bytes": 8 << 20, "start": 1, "end": 4, "offset": 4 << 20, "slot": 1},
        ])
    );
}

#[test]
fn a_moved_buffer_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("article_three_tensors.json");
    run_in(folder.path(), &["export", &path, "-o", "plan.json", "--strategy", "first-fit"]);
    let file = folder.path().join("plan.json");
    let mut plan: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    plan["buffers"][1]["offset"] = json!((4 << 20) - 64);
    std::fs::write(&file, plan.to_string()).unwrap();
    let checked = run_in(folder.path(), &["check", &path, "plan.json"]);
    assert_eq!(checked.code, 1);
    assert!(checked.stdout.starts_with("invalid: ") && checked.stdout.lines().count() >= 2, "{}", checked.stdout);
    let report: Value = serde_json::from_str(&run_in(folder.path(), &["check", &path, "plan.json", "--json"]).stdout).unwrap();
    assert_eq!((&report["valid"], &report["overlaps"]), (&json!(false), &json!(1)));
}

#[test]
fn the_printed_algorithm_is_exported_and_found_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("article_three_tensors.json");
    let written = run_in(folder.path(), &["export", &path, "-o", "plan.json", "--strategy", "article-printed"]);
    assert!(written.code == 1 && written.stdout.contains("INVALID"), "{}{}", written.stdout, written.stderr);
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    assert_eq!((&plan["buffers"][0]["offset"], &plan["buffers"][1]["offset"]), (&json!(0), &json!(65_536)));
    assert_eq!(run_in(folder.path(), &["check", &path, "plan.json"]).code, 1);
}

#[test]
fn a_valid_plan_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("article_three_tensors.json");
    run_in(folder.path(), &["export", &path, "-o", "plan.json"]);
    let checked = run_in(folder.path(), &["check", &path, "plan.json", "--capacity", "8MiB"]);
    assert!(checked.code == 1 && checked.stdout.starts_with("valid: ") && checked.stdout.contains("\ndoes not fit"), "{}", checked.stdout);
    let written = run_in(folder.path(), &["export", &path, "-o", "plan.json", "--capacity", "8MiB"]);
    assert!(written.code == 1 && written.stdout.contains("\ndoes not fit: the arena of 12,582,912 B"), "{}", written.stdout);
}

#[test]
fn a_csv_has_one_row_per_buffer_with_sizes_before_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let problem = folder.path().join("odd.csv");
    std::fs::write(&problem, "id,lower,upper,size\n0,0,2,100\n1,2,4,50\n").unwrap();
    let written = run_in(folder.path(), &["export", "odd.csv", "-o", "plan.csv"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("plan.csv")).unwrap(), "id,lower,upper,size,offset\n0,0,2,100,0\n1,2,4,50,0\n");
    let planned = run_in(folder.path(), &["plan", "plan.csv", "--json"]);
    let report: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!((planned.code, &report["observed_bytes"], &report["arena_bytes"]), (0, &json!(128), &json!(128)));
}

#[test]
fn graphs_are_exported_for_graphviz() {
    let folder = tempfile::tempdir().unwrap();
    for (file, begins) in [("article_three_tensors.json", "digraph"), ("minimalloc_A.1048576.csv", "graph")] {
        assert_eq!(run_in(folder.path(), &["export", &sample(file), "-o", "out.dot"]).code, 0);
        assert!(std::fs::read_to_string(folder.path().join("out.dot")).unwrap().starts_with(begins));
    }
}

#[test]
fn a_generated_problem_can_be_planned_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["ml", "train", "uni"] {
        let (one, two) = (format!("{kind}1.csv"), format!("{kind}2.csv"));
        for file in [&one, &two] {
            assert_eq!(run_in(folder.path(), &["generate", kind, "500", "--seed", "7", "-o", file]).code, 0);
        }
        let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(read(&one), read(&two));
        assert!(read(&one).starts_with("id,lower,upper,size\n") && read(&one).lines().count() == 501);
        let planned = run_in(folder.path(), &["plan", &one, "--json"]);
        let report: Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!((planned.code, &report["buffers"], &report["valid"]), (0, &json!(500), &json!(true)));
    }
    run_in(folder.path(), &["generate", "ml", "500", "--seed", "8", "-o", "other.csv"]);
    assert_ne!(std::fs::read(folder.path().join("other.csv")).unwrap(), std::fs::read(folder.path().join("ml1.csv")).unwrap());
}

#[test]
fn a_place_that_cannot_be_written_is_one_line() {
    let run = run(&["export", &sample("inplace_trap.json"), "-o", "no-such-folder/plan.json"]);
    assert_eq!((run.code, run.stderr.lines().count()), (1, 1), "{}", run.stderr);
    assert!(run.stderr.contains("no-such-folder"), "{}", run.stderr);
}
