//! Exit codes: 0 done, 1 the plan is invalid or does not fit, 2 wrong usage.

use serde_json::json;

use crate::program::{plan_json, run, sample};

#[test]
fn wrong_usage_exits_with_2_and_says_why() {
    let model = sample("inplace_trap.json");
    for (args, reason) in [
        (&["plan"][..], "<FILE>"),
        (&["plan", &model, "--strategy", "magic"], "magic"),
        (&["plan", &model, "--align", "0"], "--align"),
        (&["plan", &model, "--align", "-1"], "-1"),
        (&["plan", &model, "--capacity", "much"], "--capacity"),
        (&["plan", &model, "--dim", "batch"], "--dim"),
        (&["plan", &model, "--in-place", "maybe"], "maybe"),
        (&["plan", &model, "--io", "both"], "both"),
        (&["plan", &model, "--time-limit", "-3"], "-3"),
        (&["plan", &model, "--nonsense"], "--nonsense"),
        (&["plan", &model, "--order", "best"], "min-peak"),
        (&["plan", &model, "--parallel", "paths=0"], "--parallel"),
        (&["diff", &model], "<NEW>"),
        (&["diff", &model, &model, &model], "unexpected argument"),
        (&["check", &model], "<PLAN>"),
        (&["export", &model], "--output"),
        (&["export", &model, "-o", "plan.xyz"], ".json"),
        (&["render", &model, "-o", "picture.jpg"], ".png"),
        (&["render", &model, "-o", "picture.png", "--view", "dream"], "dream"),
        (&["render", &model, "-o", "picture.png", "--size", "big"], "--size"),
        (&["generate", "ml", "many", "-o", "x.csv"], "many"),
        (&["generate", "ml", "99999999999999", "-o", "x.csv"], "give 10000000 or less"),
        (&["plan", &model, "--time-limit", "1e300"], "`1e300` is not a number of seconds above 0 and below 10^19"),
    ] {
        let run = run(args);
        assert_eq!(run.code, 2, "{args:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(reason) && run.stdout.is_empty(), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn help_and_version_are_no_failure() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for command in
        ["plan", "compare", "bench", "check", "inspect", "orders", "explain", "diff", "render", "export", "sweep", "generate", "run", "devices"]
    {
        assert!(help.stdout.contains(command), "{command} is missing from {}", help.stdout);
        assert_eq!(run(&[command, "--help"]).code, 0);
    }
    let version = run(&["--version"]);
    assert_eq!((version.code, version.stdout.as_str()), (0, concat!("arenascope ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn a_plan_larger_than_the_capacity_exits_with_1_and_is_still_printed() {
    let (code, report) = plan_json("article_three_tensors.json", &["--capacity", "8MiB"]);
    assert_eq!((code, &report["capacity_bytes"], &report["arena_bytes"], &report["valid"]), (1, &json!(8 << 20), &json!(12 << 20), &json!(true)));
    let text = run(&["plan", &sample("article_three_tensors.json"), "--capacity", "8MiB"]);
    assert!(text.code == 1 && text.stdout.contains("DOES NOT FIT") && text.stderr.is_empty(), "{}", text.stdout);
    assert_eq!(plan_json("article_three_tensors.json", &["--capacity", "12MiB"]).0, 0);
}

#[test]
fn options_change_the_problem() {
    let arena = |options: &[&str]| plan_json("article_three_tensors.json", options).1["arena_bytes"].as_u64().unwrap();
    assert!(arena(&["--io", "arena"]) > arena(&[]));
    assert_eq!(arena(&["--align", "3MiB"]), 15 << 20);
    assert_eq!(plan_json("article_three_tensors.json", &["--align", "1"]).1["align"], json!(1));
}

#[test]
fn a_time_limit_still_gives_a_plan() {
    let (code, report) = plan_json("minimalloc_K.1048576.csv", &["--time-limit", "5", "--threads", "2", "--seed", "3"]);
    assert_eq!((code, &report["valid"]), (0, &json!(true)));
}

#[test]
fn the_same_command_gives_the_same_plan() {
    let without_time = |options: &[&str]| {
        let (_, mut report) = plan_json("mobilenet_v2.onnx", options);
        report["plan_seconds"] = json!(0);
        report
    };
    assert_eq!(without_time(&[]), without_time(&[]));
}
