//! `run` and `devices`: plans executed on the CPU, exit codes, recorded runs, and GPUs that are not there.

use serde_json::Value;

use crate::program::{run, sample, temporary};

/// A small graph in which every kind of bug can be planted.
fn small() -> String {
    format!("{}/tests/gpu/small.json", env!("CARGO_MANIFEST_DIR"))
}

fn run_json(args: &[&str]) -> (i32, Value, String) {
    let run = run(&[&["run"], args, &["--json"]].concat());
    let value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", run.stdout, run.stderr));
    (run.code, value, run.stderr)
}

fn regime<'a>(record: &'a Value, name: &str) -> &'a Value {
    let reports = record["regimes"].as_array().expect("a list");
    reports.iter().find(|report| report["regime"] == name).unwrap_or_else(|| panic!("no {name} in {reports:?}"))
}

/// What a model's plan takes is what the device gives for it, and the rest has names.
#[test]
fn a_model_runs_and_takes_what_its_plan_says() {
    let (code, record, _) = run_json(&[&sample("mobilenet_v2.onnx"), "--device", "cpu", "--iterations", "2", "--checks", "1"]);
    assert_eq!((code, record["outcome"].as_str(), record["n_findings"].as_u64()), (0, Some("clean"), Some(0)));
    let arena = regime(&record, "arena");
    assert_eq!(arena["predicted_peak_bytes"], 6_021_120);
    assert_eq!(arena["counted_peak_bytes"], 6_021_120);
    assert_eq!((arena["calls"]["setup"].as_u64(), arena["calls"]["iteration"].as_u64()), (Some(1), Some(0)));
    assert_eq!(arena["difference"]["unexplained"], 0, "{}", arena["difference"]);
    assert!(record["own_bytes"].as_u64() > Some(0) && record["static_bytes"].as_u64() > Some(0));
    assert!(regime(&record, "all-live")["counted_peak_bytes"].as_u64() > arena["counted_peak_bytes"].as_u64());
    assert_eq!(regime(&record, "arena-graph")["status"], "skipped");
    assert_eq!(arena["latency"]["samples_ms"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_table_names_regimes_numbers_and_reasons() {
    let run = run(&["run", &small(), "--device", "cpu", "--iterations", "3"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for text in ["clean", "(CPU)", "predicted", "measured", "why", "allocator calls", "p50", "p99", "all-live", "caching", "arena", "not run"] {
        assert!(run.stdout.contains(text), "no `{text}` in {}", run.stdout);
    }
}

#[test]
fn every_planted_bug_exits_with_3_and_is_named() {
    for (bug, tensor) in [("overlap", "`a`"), ("too-small", "wrong words"), ("early-free", "`a`"), ("in-place", "`a`"), ("view", "`view`")] {
        let run = run(&["run", &small(), "--device", "cpu", "--plant", bug, "--iterations", "0"]);
        assert_eq!(run.code, 3, "{bug}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("CLOBBERED") && run.stdout.contains(tensor) && run.stdout.contains("read by"), "{bug}: {}", run.stdout);
    }
}

#[test]
fn a_wrong_plan_file_is_refused_and_a_right_one_runs() {
    let (folder, _) = temporary("unused", b"");
    let plan = folder.path().join("plan.json");
    let path = plan.to_str().expect("a plain path");
    assert_eq!(run(&["export", &small(), "-o", path]).code, 0);
    assert_eq!(run(&["run", &small(), "--plan", path, "--device", "cpu", "--iterations", "0"]).code, 0);
    let text = std::fs::read_to_string(&plan).expect("just written");
    let mut broken: Value = serde_json::from_str(&text).expect("JSON");
    for buffer in broken["buffers"].as_array_mut().expect("a list") {
        buffer["offset"] = 0.into();
    }
    std::fs::write(&plan, broken.to_string()).expect("writable");
    let refused = run(&["run", &small(), "--plan", path, "--device", "cpu"]);
    assert!(refused.code == 1 && refused.stderr.contains("invalid") && refused.stderr.contains("share bytes"), "{}", refused.stderr);
}

#[test]
fn a_recorded_run_is_saved_and_a_place_that_cannot_be_written_is_named() {
    let (folder, _) = temporary("unused", b"");
    let path = folder.path().join("run.json");
    let path = path.to_str().expect("a plain path");
    let saved = run(&["run", &small(), "--device", "cpu", "--iterations", "0", "-o", path]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("saved")).expect("JSON");
    assert_eq!((record["kind"].as_str(), record["schema"].as_u64(), record["file"].as_str()), (Some("run"), Some(1), Some("small.json")));
    let failed = run(&["run", &small(), "--device", "cpu", "--iterations", "0", "-o", "/nowhere/run.json"]);
    assert!(failed.code == 1 && failed.stderr.contains("/nowhere/run.json"), "{}", failed.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_exit_code_1() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command =
        crate::program::command(std::path::Path::new(env!("CARGO_MANIFEST_DIR")), &["run", &small(), "--device", "cpu", "--iterations", "0"]);
    let output = command.stdout(full).output().expect("the program was built with this test");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("No space left") && message.lines().count() == 1, "{message}");
}

#[test]
fn what_does_not_fit_exits_with_4() {
    let run = run(&["run", &small(), "--device", "cpu", "--iterations", "0", "--budget", "1MiB"]);
    assert!(run.code == 4 && run.stdout.contains("does not fit"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_run_that_is_cancelled_exits_with_7() {
    let run = run(&["run", &small(), "--device", "cpu", "--iterations", "4000000000", "--stop-after", "0.2"]);
    assert!(run.code == 7 && run.stdout.contains("cancelled"), "{}: {}{}", run.code, run.stdout, run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_stops_a_run_in_order() {
    use std::io::Read as _;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let args = ["run", &small(), "--device", "cpu", "--iterations", "4000000000"];
    let mut running =
        crate::program::command(folder, &args).stdout(std::process::Stdio::piped()).spawn().expect("the program was built with this test");
    let pid = running.id().to_string();
    // A signal that comes before the handler is set would end the program at once, so its child is waited for.
    let has_child = || std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok_and(|children| !children.trim().is_empty());
    while !has_child() && running.try_wait().expect("it can be asked").is_none() {
        std::thread::yield_now();
    }
    let sent = std::process::Command::new("kill").args(["-INT", &pid]).status().expect("a system has `kill`");
    assert!(sent.success());
    let mut text = String::new();
    running.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert_eq!(running.wait().expect("it ends").code(), Some(7), "{text}");
    assert!(text.contains("cancelled"), "{text}");
}

#[test]
fn a_gpu_without_a_driver_exits_with_5_and_says_what_would_help() {
    let absent = ["--gpu-lib", "/nowhere/libcuda.so"];
    let failed = run(&[&["run", &small(), "--device", "gpu"], &absent[..]].concat());
    assert_eq!(failed.code, 5, "{}{}", failed.stdout, failed.stderr);
    assert!(failed.stderr.contains("no NVIDIA driver was found") && failed.stderr.contains("--device cpu"), "{}", failed.stderr);
    let devices = run(&[&["devices", "--json"], &absent[..]].concat());
    let report: Value = serde_json::from_str(&devices.stdout).expect("JSON");
    assert_eq!((devices.code, report["gpu"]["outcome"].as_str(), report["cpu"]["kind"].as_str()), (0, Some("no_driver"), Some("cpu")));
    let text = run(&[&["devices"], &absent[..]].concat());
    assert!(text.stdout.contains("cpu") && text.stdout.contains("no NVIDIA driver was found"), "{}", text.stdout);
    let auto = run(&[&["run", &small(), "--iterations", "0"], &absent[..]].concat());
    assert!(auto.code == 0 && auto.stdout.contains("(CPU)"), "{}", auto.stdout);
}
