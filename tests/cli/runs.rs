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
    let over = crate::program::run(&["run", &small(), "--device", "cpu", "--iterations", "0", "--capacity", "64"]);
    let why = "the plan was not run: does not fit: the arena of ";
    assert!(over.code == 4 && over.stdout.is_empty() && over.stderr.contains(why), "{}{}", over.stdout, over.stderr);
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

/// "A 4.1 GB model takes 18 GB": weights, planned arena and lower bound beside what a run takes, the extra by name.
#[test]
fn what_a_model_takes_is_split_into_weights_arena_and_named_extra() {
    let file = sample("mobilenet_v2.onnx");
    let planned = run(&["plan", &file, "--json"]);
    let plan: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    let (code, record, _) = run_json(&[&file, "--device", "cpu", "--iterations", "0", "--checks", "1", "--regimes", "all-live,arena"]);
    assert_eq!(code, 0);
    assert_eq!(record["arena_bytes"], plan["arena_bytes"]);
    assert!(plan["lower_bound_bytes"].as_u64() <= plan["arena_bytes"].as_u64());
    // Static tensors are laid out one by one in steps of 256 bytes.
    let (held, fixed) = (record["static_bytes"].as_u64().expect("a number"), plan["static_bytes"].as_u64().expect("a number"));
    assert!(held >= fixed && held - fixed < 256 * 200, "{held} {fixed}");
    let (all, arena) = (regime(&record, "all-live"), regime(&record, "arena"));
    assert!(all["measured_peak_bytes"].as_u64() > arena["measured_peak_bytes"].as_u64());
    assert!(!arena["difference"]["why"].as_str().expect("a sentence").is_empty());
}

/// "The estimate misses graphs, other libraries, fragmentation": the parts add up, and the rest has a name as well.
#[test]
fn a_difference_is_split_into_named_parts_and_an_unexplained_rest() {
    let (_, record, _) = run_json(&[&small(), "--device", "cpu", "--iterations", "0", "--scale", "20000"]);
    for report in record["regimes"].as_array().expect("a list").iter().filter(|report| report["status"] == "ran") {
        let part = |name: &str| report["difference"][name].as_i64().unwrap_or_else(|| panic!("no `{name}` in {report}"));
        let difference = report["measured_peak_bytes"].as_i64().expect("a number") - report["predicted_peak_bytes"].as_i64().expect("a number");
        assert_eq!(part("total"), difference);
        assert_eq!(part("total"), part("granularity") + part("kept") + part("others") + part("unexplained"));
        let why = report["difference"]["why"].as_str().expect("a sentence");
        assert!(part("granularity") == 0 || why.contains("pages") || why.contains("not touched"), "{why}");
        assert_eq!(part("unexplained") != 0, why.contains("unexplained"), "{why}");
    }
    let text = run(&["run", &small(), "--device", "cpu", "--iterations", "0"]).stdout;
    assert!(text.contains("unexplained") && text.contains("why measured differs"), "{text}");
}

/// "Framework and driver disagree by hundreds of megabytes": what an empty context takes is measured before all else.
#[test]
fn an_empty_context_is_measured_first_and_is_a_number_of_its_own() {
    let (_, record, _) = run_json(&[&sample("mobilenet_v2.onnx"), "--device", "cpu", "--iterations", "0", "--checks", "1", "--regimes", "arena"]);
    let used = |when: &str| record[when]["used_bytes"].as_u64().unwrap_or_else(|| panic!("no `{when}` in {record}"));
    assert!(used("empty") > 0);
    let own = record["own_bytes"].as_u64().expect("a number");
    assert_eq!(own, used("baseline").saturating_sub(used("empty")));
    assert!(own >= record["static_bytes"].as_u64().expect("a number") / 2, "the weights are in it, page by page");
    // The curve of a regime begins above all of that.
    let peak = regime(&record, "arena")["measured_peak_bytes"].as_u64().expect("a number");
    assert!(peak < record["arena_bytes"].as_u64().expect("a number") + (16 << 20), "{peak}");
    let text = run(&["run", &small(), "--device", "cpu", "--iterations", "0"]).stdout;
    assert!(text.contains("with an empty context") && text.contains("before any regime the run itself took"), "{text}");
}

/// "A captured graph with three short-lived arrays holds all three": their lifetimes do not overlap, so one is enough.
#[test]
fn three_short_lived_arrays_take_the_place_of_one() {
    let graph = br#"{"format":"op-list-v1","tensors":[
        {"name":"x","dtype":"float32","shape":[16],"kind":"input"},
        {"name":"first","dtype":"float32","shape":[2097152]},{"name":"sum1","dtype":"float32","shape":[16]},
        {"name":"second","dtype":"float32","shape":[2097152]},{"name":"sum2","dtype":"float32","shape":[16]},
        {"name":"third","dtype":"float32","shape":[2097152]},{"name":"sum3","dtype":"float32","shape":[16]}],
        "ops":[{"op":"fill","inputs":["x"],"outputs":["first"]},{"op":"gather","inputs":["first"],"outputs":["sum1"]},
        {"op":"fill","inputs":["sum1"],"outputs":["second"]},{"op":"gather","inputs":["second"],"outputs":["sum2"]},
        {"op":"fill","inputs":["sum2"],"outputs":["third"]},{"op":"gather","inputs":["third"],"outputs":["sum3"]}],"outputs":["sum3"]}"#;
    let (_folder, path) = temporary("three.json", graph);
    let one = 8 << 20;
    let (code, record, _) = run_json(&[&path, "--device", "cpu", "--iterations", "0", "--regimes", "all-live,arena"]);
    assert_eq!(code, 0);
    let peak = |name: &str, key: &str| regime(&record, name)[key].as_u64().expect("a number");
    assert_eq!((peak("arena", "counted_peak_bytes"), peak("all-live", "counted_peak_bytes")), (one + 64, 3 * one + 2 * 64));
    let measured = (peak("arena", "measured_peak_bytes"), peak("all-live", "measured_peak_bytes"));
    assert!(measured.0 < 2 * one && measured.1 > 2 * one, "{measured:?}");
}

#[test]
fn streams_name_the_tensor_that_branches_share_and_count_the_waits() {
    let file = sample("parallel_branches.json");
    let base = ["run", &file, "--device", "cpu", "--iterations", "1", "--regimes", "arena", "--streams", "2"];
    let clobbered = run(&[&base[..], &["--waits", "graph"]].concat());
    assert!(clobbered.code == 3 && clobbered.stdout.contains("which no wait keeps out"), "{}{}", clobbered.stdout, clobbered.stderr);
    let waiting = run(&base);
    assert!(waiting.code == 0 && waiting.stdout.contains("2 waits of the graph and 4 of the plan"), "{}{}", waiting.stdout, waiting.stderr);
    let free = run(&[&base[..], &["--waits", "graph", "--parallel", "ancestors"]].concat());
    assert!(free.code == 0 && free.stdout.contains("and 0 of the plan"), "{}{}", free.stdout, free.stderr);
    let (_folder, csv) = temporary("bare.csv", b"id,lower,upper,size\na,0,4,100\nb,2,6,100\n");
    let refused = run(&["run", &csv, "--device", "cpu", "--streams", "2"]);
    assert!(refused.code == 1 && refused.stderr.contains("no graph"), "{}", refused.stderr);
}

#[test]
fn a_model_is_computed_and_compared_bit_for_bit() {
    let done = run(&["run", &sample("mobilenet_v2.onnx"), "--mode", "compute", "--iterations", "0", "--checks", "1"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    for text in ["clean", "compared bit for bit", "64-bit arithmetic", "numbers by chance"] {
        assert!(done.stdout.contains(text), "no `{text}` in {}", done.stdout);
    }
    let broken = run(&["run", &sample("mobilenet_v2.onnx"), "--mode", "compute", "--iterations", "0", "--checks", "1", "--plant", "overlap"]);
    assert!(broken.code == 3 && broken.stdout.contains("wrong words"), "{}{}", broken.stdout, broken.stderr);
    let refused = run(&["run", &small(), "--mode", "compute"]);
    assert!(refused.code == 1 && refused.stderr.contains("`make a` (matmul) cannot be computed"), "{}", refused.stderr);
}
