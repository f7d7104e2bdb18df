//! Traces of PyTorch's profiler: Chrome traces with memory events, and memory timelines.

use std::io::Read;
use std::sync::Arc;

use arenascope_planner::check::check;
use arenascope_planner::observed::observed_plan;
use arenascope_planner::prepare::{PrepareSettings, prepare};
use arenascope_planner::trace::by_allocating_line;

use crate::support::{open, parse, path, trace};

fn file(name: &str) -> std::path::PathBuf {
    path(&format!("tests/data/torch_snapshot/{name}"))
}

#[test]
fn a_chrome_trace_reaches_the_profilers_own_peak() {
    let workload = Arc::new(open(&file("tinygpt_cpu_train.chrome_trace.json.gz"), &[]).expect("a Chrome trace"));
    let trace = trace(&workload);
    assert_eq!((workload.format, trace.device()), ("torch-chrome-trace", "cpu"));
    assert_eq!((trace.events().len(), trace.blocks().len(), trace.check().peak_bytes), (1952, 976, 17_359_896));
    assert_eq!((trace.check().end_bytes, trace.check().odd_events, workload.warnings.len()), (0, 0, 0), "{:?}", workload.warnings);
    let prepared = prepare(&workload, PrepareSettings::default()).expect("sizes that add up");
    let report = check(&prepared.problem, &observed_plan(&prepared).expect("addresses"));
    assert_eq!(report.n_violations, 0, "{:?}", report.violations.first());
    let sums = by_allocating_line(trace, 89);
    let names: Vec<&str> = sums.iter().map(|sum| trace.stacks().text(sum.line)).collect();
    assert!(names.iter().all(|name| !name.is_empty() && !name.starts_with("aten::empty")), "{names:?}");
    assert_eq!(names[0], "aten::addmm in aot_json.py(53): forward");
}

#[test]
fn memory_in_use_before_a_chrome_trace_is_one_block_more() {
    let event = |ts: u32, addr: u32, bytes: i32, total: u32| {
        format!(
            r#"{{"ph":"i","name":"[memory]","pid":1,"tid":"a","ts":{ts},"args":{{"Addr":{addr},"Bytes":{bytes},"Total Allocated":{total},"Device Type":1,"Device Id":0}}}}"#
        )
    };
    let op = r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":"a","ts":1,"dur":5,"args":{"Addr":[1],"Bytes":"x"}}"#;
    let events = [event(4, 4096, 100, 1100), op.to_owned(), event(9, 8192, -300, 800), event(2, 64, 8, 1000)];
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let workload = parse("t.json", text.as_bytes()).expect("a Chrome trace");
    let found = trace(&workload);
    assert_eq!((found.device(), found.blocks().len()), ("device 0", 4), "two older, two traced");
    assert_eq!((found.check().pre_existing_bytes, found.check().peak_bytes), (992, 1100));
    assert_eq!(found.block_label(arenascope_planner::ids::BufferId(2)), "aten::mm");
    let bare = parse("bare.json", format!("[{}]", events.join(",")).as_bytes()).expect("a bare list of events");
    assert_eq!(trace(&bare).check(), found.check());
}

#[test]
fn both_timelines_give_the_same_curves_and_no_buffers() {
    let table = open(&file("tinygpt_cpu_mem_timeline.json"), &[]).expect("a timeline");
    let raw = open(&file("tinygpt_cpu_mem_timeline.raw.json.gz"), &[]).expect("a raw timeline");
    let peaks = |workload| {
        let trace = trace(workload);
        trace.categories().iter().map(|curve| (curve.category.clone(), curve.bytes.iter().copied().max().unwrap_or(0))).collect::<Vec<_>>()
    };
    assert_eq!(peaks(&table), peaks(&raw));
    assert!(peaks(&table).contains(&("activation".to_owned(), 15_224_840)));
    for workload in [table, raw] {
        assert_eq!((workload.format, workload.n_items(), workload.observed.is_none()), ("torch-memory-timeline", 0, true));
        assert!(workload.warnings[0].to_string().contains("no tensors"), "{:?}", workload.warnings);
        let prepared = prepare(&Arc::new(workload), PrepareSettings::default()).expect("an empty problem");
        assert_eq!(prepared.problem.n_buffers(), 0);
    }
}

#[test]
fn what_is_missing_is_said() {
    for (text, part) in [
        (r#"{"traceEvents":[{"ph":"X","name":"a"}]}"#, "profile_memory=True"),
        (r#"{"traceEvents":5}"#, "the number `5` stands where a list of events must be"),
        (r#"{"segments":[{"device":0}]}"#, "no `address`"),
        ("[[1,2],[[1,2,3]]]", "do not match"),
        ("[[1,2,3]]", "not [time, action, bytes, category]"),
        ("[[1,[2,[3]]]]", "nested too deeply"),
        ("<!DOCTYPE html><html>a picture</html>", "no memory snapshot in this page"),
    ] {
        let message = parse("x", text.as_bytes()).expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_chrome_trace_cut_anywhere_is_answered() {
    let mut text = Vec::new();
    let packed = std::fs::File::open(file("tinygpt_cpu_train.chrome_trace.json.gz")).expect("a file of the tests");
    flate2::read::GzDecoder::new(packed).read_to_end(&mut text).expect("a whole file");
    for length in (1..text.len()).step_by(text.len() / 6) {
        let message = parse("cut.json", &text[..length]).map(|_| ()).expect_err("half a trace").to_string();
        assert!(!message.contains('\n'), "{message}");
    }
}
