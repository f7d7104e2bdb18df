//! Orders and parallel branches from the command line.

use serde_json::{Value, json};

use crate::program::{plan_json, run, run_in, sample};

#[test]
fn orders_lists_the_peak_of_each_and_none_is_below_exact() {
    let path = sample("parallel_branches.json");
    let run_json = run(&["orders", &path, "--json"]);
    assert_eq!(run_json.code, 0, "{}", run_json.stderr);
    let report: Value = serde_json::from_str(&run_json.stdout).unwrap();
    let names: Vec<&str> = report["orders"].as_array().unwrap().iter().map(|order| order["order"].as_str().unwrap()).collect();
    assert_eq!(names, ["file", "depth-first", "breadth-first", "min-peak", "exact"]);
    let peaks: Vec<u64> = report["orders"].as_array().unwrap().iter().map(|order| order["peak_bytes"].as_u64().unwrap()).collect();
    assert!(peaks.iter().all(|&peak| peak >= peaks[4]) && report["orders"][4]["is_lowest"] == json!(true), "{peaks:?}");
    let text = run(&["orders", &path]);
    assert!(text.code == 0 && text.stdout.contains("depth-first") && text.stdout.contains("no order has a lower peak"), "{}", text.stdout);
}

#[test]
fn a_file_without_a_graph_has_no_orders() {
    let refused = run(&["orders", &sample("minimalloc_A.1048576.csv")]);
    assert!(refused.code == 1 && refused.stderr.contains("no graph"), "{}", refused.stderr);
    let (_, report) = plan_json("minimalloc_A.1048576.csv", &["--order", "min-peak", "--strategy", "first-fit"]);
    assert!(report["warnings"].to_string().contains("no graph"), "{report}");
}

#[test]
fn a_plan_is_checked_in_its_own_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("parallel_branches.json");
    for order in ["file", "depth-first", "breadth-first", "min-peak", "exact"] {
        assert_eq!(run_in(folder.path(), &["export", &path, "-o", "plan.json", "--order", order]).code, 0);
        let checked = run_in(folder.path(), &["check", &path, "plan.json"]);
        assert!(checked.code == 0 && checked.stdout.starts_with("valid: "), "{order}: {}{}", checked.stdout, checked.stderr);
    }
    run_in(folder.path(), &["export", &path, "-o", "plan.json", "--order", "depth-first"]);
    let otherwise = run_in(folder.path(), &["check", &path, "plan.json", "--order", "file"]);
    assert!(otherwise.code == 1 && otherwise.stdout.starts_with("invalid"), "{}", otherwise.stdout);
}

#[test]
fn an_order_that_is_none_of_the_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("parallel_branches.json");
    run_in(folder.path(), &["export", &path, "-o", "plan.json"]);
    let file = folder.path().join("plan.json");
    let mut plan: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    plan["order"].as_array_mut().unwrap().reverse();
    std::fs::write(&file, plan.to_string()).unwrap();
    let checked = run_in(folder.path(), &["check", &path, "plan.json"]);
    assert!(checked.code == 1 && checked.stderr.contains("its order"), "{}", checked.stderr);
}

#[test]
fn parallel_plans_add_no_edges_and_keep_their_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("parallel_branches.json");
    let (_, serial) = plan_json("parallel_branches.json", &[]);
    assert!(serial["added_edges"].as_u64().unwrap() > 0 && serial["longest_chain_ops"] == json!(6), "{serial}");
    for mode in ["ancestors", "paths=2"] {
        let (code, report) = plan_json("parallel_branches.json", &["--parallel", mode]);
        assert_eq!((code, &report["added_edges"], &report["arena_bytes"]), (0, &json!(0), &json!(20 << 20)), "{mode}");
        assert_eq!((&report["parallel"], &report["longest_chain_ops_with_added"]), (&json!(mode), &json!(6)));
        run_in(folder.path(), &["export", &path, "-o", "plan.json", "--parallel", mode]);
        let checked = run_in(folder.path(), &["check", &path, "plan.json"]);
        assert!(checked.code == 0 && checked.stdout.starts_with("valid: "), "{mode}: {}{}", checked.stdout, checked.stderr);
    }
    run_in(folder.path(), &["export", &path, "-o", "plan.json"]);
    let checked = run_in(folder.path(), &["check", &path, "plan.json", "--parallel", "ancestors"]);
    assert!(checked.code == 1 && checked.stdout.contains("nothing in the graph orders"), "{}", checked.stdout);
}
