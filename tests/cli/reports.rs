//! Reports keep their promises: stable keys in order, aligned text, the same numbers in both.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{command, plan_json, run, sample};

/// The keys at the first level of an indented JSON object, in the order in which they are printed.
fn keys_in_order(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("  \"")?.split_once('"')).map(|(key, _)| key).collect()
}

#[test]
fn the_keys_of_a_plan_report_are_stable_and_in_order() {
    let report = run(&["plan", &sample("inplace_trap.json"), "--json"]);
    let promised = [
        "schema",
        "file",
        "format",
        "ops",
        "tensors",
        "buffers",
        "naive_bytes",
        "peak_live_bytes",
        "lower_bound_bytes",
        "arena_bytes",
        "static_bytes",
        "observed_bytes",
        "capacity_bytes",
        "total_before",
        "total_after",
        "strategy",
        "status",
        "proved_optimal",
        "valid",
        "slots",
        "saving",
        "gap",
        "align",
        "plan_seconds",
        "warnings",
        "order",
        "order_is_lowest",
        "parallel",
        "added_edges",
        "longest_chain_ops",
        "longest_chain_ops_with_added",
    ];
    assert_eq!(keys_in_order(&report.stdout), promised);
}

#[test]
fn totals_are_static_plus_dynamic() {
    let (_, report) = plan_json("inplace_trap.json", &[]);
    let number = |key: &str| report[key].as_u64().unwrap();
    assert_eq!(number("total_before"), number("static_bytes") + number("naive_bytes"));
    assert_eq!(number("total_after"), number("static_bytes") + number("arena_bytes"));
    assert_eq!(report["saving"], json!(0.5));
    assert_eq!(report["gap"], json!(0.0));
    assert_eq!((&report["schema"], &report["align"], &report["observed_bytes"]), (&json!(1), &json!(64), &Value::Null));
}

#[test]
fn the_summary_shows_exact_bytes_and_binary_units() {
    let text = run(&["plan", &sample("article_three_tensors.json")]).stdout;
    for part in ["16,777,216 B", "16.00 MiB", "12,582,912 B", "12.00 MiB", "saves 25.00 %", "valid and optimal"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| line == line.trim_end()), "{text}");
}

#[test]
fn comparing_runs_every_strategy_once() {
    let report = run(&["compare", &sample("article_three_tensors.json"), "--json"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let rows: Vec<Value> = serde_json::from_str(&report.stdout).unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["strategy"].as_str().unwrap()).collect();
    for name in ["naive", "first-fit", "greedy-size", "lowest-floor", "slots-by-birth", "slots-by-size", "refcount", "article-printed"] {
        assert_eq!(names.iter().filter(|&&other| other == name).count(), 1, "{name} in {names:?}");
    }
    let valid = |row: &Value| row["valid"] == json!(true);
    assert!(rows.iter().all(|row| valid(row) == (row["strategy"] != "article-printed")), "{rows:?}");
    let text = run(&["compare", &sample("article_three_tensors.json")]).stdout;
    assert!(names.iter().all(|name| text.contains(name)) && text.contains("unsafe"), "{text}");
}

#[test]
fn comparing_says_what_a_strategy_cannot_do() {
    let path = sample("minimalloc_A.1048576.csv");
    let report = run(&["compare", &path, "--json", "--strategy", "refcount", "--strategy", "greedy-size"]);
    let rows: Vec<Value> = serde_json::from_str(&report.stdout).unwrap();
    assert!(rows[0]["note"].as_str().is_some_and(|note| note.starts_with("unsupported: ")), "{rows:?}");
    assert_eq!((&rows[0]["arena_bytes"], &rows[1]["valid"], rows.len()), (&Value::Null, &json!(true), 2));
    assert!(run(&["compare", &path]).stdout.contains("unsupported: "));
}

#[test]
fn inspecting_counts_ops_and_tensors() {
    let report = run(&["inspect", &sample("article_three_tensors.json"), "--json"]);
    let found: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(found["ops_by_type"], json!([{"kind": "matmul", "ops": 3}, {"kind": "relu", "ops": 1}]));
    assert_eq!(found["tensors_by_role"][0], json!({"role": "activation", "dtype": "f32", "tensors": 3, "bytes": 16 << 20}));
    let text = run(&["inspect", &sample("article_three_tensors.json")]).stdout;
    for part in ["matmul", "parameter", "3,145,728 B", "in-place"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn open_dimensions_are_listed_with_the_number_used() {
    let found = |options: &[&str]| -> Value {
        let path = sample("bert_base.onnx");
        serde_json::from_str(&run(&[&["inspect", path.as_str(), "--json"], options].concat()).stdout).unwrap()
    };
    let dimension = |report: &Value, name: &str| report["dimensions"].as_array().unwrap().iter().find(|dim| dim["name"] == name).cloned();
    let (by_default, bound) = (found(&[]), found(&["--dim", "batch=3"]));
    assert_eq!(dimension(&by_default, "batch"), Some(json!({"name": "batch", "value": 1, "is_default": true})));
    assert_eq!(dimension(&bound, "batch"), Some(json!({"name": "batch", "value": 3, "is_default": false})));
    assert!(!by_default["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let path = sample("mobilenet_v2.onnx");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut child = command(folder, &["plan", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!((child.wait().unwrap().code(), message.as_str()), (Some(0), ""));

    let mut child = command(folder, &["inspect", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!((first.as_str(), child.wait().unwrap().code()), ("mobilenet_v2.onnx: onnx\n", Some(0)));
}

#[test]
fn a_size_that_is_unknown_is_counted_and_nothing_is_called_optimal() {
    let (_, report) = plan_json(&sample("unet.onnx"), &["--dim", "batch=99999999999999"]);
    assert_eq!(report["proved_optimal"], json!(false), "{report}");
    let text = run(&["plan", &sample("unet.onnx"), "--dim", "batch=99999999999999"]);
    assert!(text.stdout.contains("of unknown size not counted"), "{}", text.stdout);
}

#[test]
fn a_bench_names_the_true_bound_and_what_each_strategy_reaches_and_costs() {
    let (graph, problem) = (sample("article_three_tensors.json"), sample("minimalloc_A.1048576.csv"));
    let report = run(&["bench", &graph, &problem, "--strategy", "greedy-size", "--strategy", "refcount", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&report.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", report.stdout, report.stderr));
    assert_eq!(report.code, 0, "{}", report.stderr);
    let figures: Vec<_> = rows.iter().map(|row| (&row["strategy"], &row["lower_bound_bytes"], &row["arena_bytes"], &row["valid"])).collect();
    assert_eq!(figures[0], (&json!("greedy-size"), &json!(12 << 20), &json!(12 << 20), &json!(true)));
    // Source: MiniMalloc's challenging set, with sizes as they are.
    assert_eq!(figures[2], (&json!("greedy-size"), &json!(1_048_576), &json!(1_352_704), &json!(true)));
    assert_eq!(figures[3], (&json!("refcount"), &Value::Null, &Value::Null, &json!(false)));
    assert!(rows.iter().all(|row| row["cpu_seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0)), "{rows:?}");
    let text = run(&["bench", &problem, "--strategy", "greedy-size"]).stdout;
    for part in ["true bound", "1,352,704", "29.004 %", "feasible"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}
