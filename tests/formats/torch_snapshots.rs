//! Snapshots of PyTorch's allocator: every file against a replay by brute force that shares no code with the reader.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arenascope_formats::{FormatError, ReadOptions, read, read_bytes};
use arenascope_planner::check::check;
use arenascope_planner::control::{Control, Progress};
use arenascope_planner::fragmentation::{Asker, Fit, fragmentation_at, trace_curves, walk};
use arenascope_planner::metrics::live_curve;
use arenascope_planner::observed::observed_plan;
use arenascope_planner::prepare::{PrepareSettings, prepare};
use arenascope_planner::trace::{Action, Origin, Trace, by_allocating_line};
use arenascope_planner::workload::Workload;
use base64::Engine;
use serde::Deserialize;

use crate::pickle_writer::{dict, list, number, pickle, text, write_repeated};
use crate::support::{open, parse, path, prepared, trace};

/// What a replay by brute force found.
#[derive(Deserialize)]
struct Reference {
    events: usize,
    blocks: usize,
    live_at_end: u64,
    found_at_end: u64,
    same_size: u64,
    never_traced: u64,
    pre_existing: u64,
    peak: u64,
    end: u64,
    peak_active: u64,
    peak_reserved: u64,
    rows: BTreeMap<u64, [u64; 5]>,
}

fn file(name: &str) -> std::path::PathBuf {
    path(&format!("tests/data/torch_snapshot/{name}"))
}

fn snapshot(name: &str) -> Workload {
    open(&file(name), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn references() -> BTreeMap<String, Reference> {
    let text = std::fs::read_to_string(file("reference.json")).expect("the reference is part of the tests");
    serde_json::from_str(&text).expect("the reference is well-formed")
}

#[test]
fn every_snapshot_replays_to_its_reference() {
    for (name, reference) in references() {
        let workload = snapshot(&name);
        let trace = trace(&workload);
        let check = trace.check();
        assert_eq!(workload.format, "torch-snapshot", "{name}");
        assert_eq!((trace.events().len(), trace.blocks().len()), (reference.events, reference.blocks), "{name}");
        assert_eq!(
            (check.live_at_end, check.found_at_end, check.same_size),
            (reference.live_at_end, reference.found_at_end, reference.same_size),
            "{name}"
        );
        assert_eq!((check.never_traced, check.pre_existing_bytes), (reference.never_traced, reference.pre_existing), "{name}");
        assert_eq!((check.peak_bytes, check.end_bytes, check.listed_end_bytes), (reference.peak, reference.end, Some(reference.end)), "{name}");
        assert!(check.is_consistent() && check.odd_events == 0, "{name}: {check:?}");
        let curves = trace_curves(trace);
        assert_eq!((curves.active.max().0, curves.reserved.max().0), (reference.peak_active, reference.peak_reserved), "{name}");
        for (step, [requested, active, reserved, free, largest]) in reference.rows {
            let levels = fragmentation_at(trace, step).levels;
            let found = [levels.requested_bytes, levels.active_bytes, levels.reserved_bytes, levels.free_bytes, levels.largest_hole_bytes];
            assert_eq!(found, [requested, active, reserved, free, largest], "{name}, step {step}");
        }
    }
}

#[test]
fn the_published_replay_values_are_met() {
    for (name, older, peak, end) in [
        ("medium_128_training", 5_095_321_600, 7_013_335_044, 6_808_535_044),
        ("medium_1024_inference", 1_701_711_872, 2_877_435_904, 1_701_711_872),
        ("medium_256_inference", 1_701_367_808, 1_793_775_616, 1_701_367_808),
    ] {
        let check = *trace(&snapshot(&format!("{name}.pickle"))).check();
        assert_eq!((check.pre_existing_bytes, check.peak_bytes, check.end_bytes), (older, peak, end), "{name}");
    }
}

#[test]
fn the_problem_has_the_traces_peak_and_the_real_addresses_never_overlap() {
    for name in references().into_keys() {
        let workload = Arc::new(snapshot(&name));
        let exact = prepared(&workload, false, arenascope_planner::alias::Io::Static);
        let trace = trace(&workload);
        assert_eq!(live_curve(&exact.problem).max().0, trace.check().peak_bytes, "{name}");
        let default = prepare(&workload, PrepareSettings::default()).expect("sizes that add up");
        let observed = observed_plan(&default).expect("a snapshot has addresses");
        let report = check(&default.problem, &observed);
        assert_eq!((report.n_overlaps, report.n_violations), (0, 0), "{name}: {:?}", report.violations.first());
        assert!(
            observed.arena_bytes <= trace_curves(trace).reserved.max().0.max(trace.segments().iter().map(|segment| segment.bytes).sum()),
            "{name}"
        );
        let older = default.problem.ids().filter(|&id| default.is_pre_existing(id)).count();
        assert_eq!(older, trace.blocks().iter().filter(|block| block.origin != Origin::Traced).count(), "{name}");
    }
}

#[test]
fn walking_all_steps_finds_what_looking_at_one_finds() {
    for name in ["every_field.p4.pickle", "old.pickle", "medium_256_inference.pickle"] {
        let workload = snapshot(name);
        let trace = trace(&workload);
        walk(trace, |step, levels| {
            if step % 97 == 0 || trace.n_steps() < 100 {
                assert_eq!(*levels, fragmentation_at(trace, step).levels, "{name}, step {step}");
            }
        });
    }
}

#[test]
fn protocols_writers_and_wrappings_give_the_same_trace() {
    let plain = snapshot("every_field.p4.pickle");
    let bytes = std::fs::read(file("every_field.p4.pickle")).expect("a file of the tests");
    let mut padded = bytes.clone();
    padded.resize(bytes.len() + 3 - bytes.len() % 3, 0);
    let encoded = base64::engine::general_purpose::STANDARD.encode(&padded);
    let page = format!(
        "\n<!DOCTYPE html>\n<html>\n<script>const local_files = [{{\"name\": \"snapshot.pickle\", \"base64\": \"{encoded}\"}}]\n</script></html>"
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&bytes).and_then(|()| packed.flush()).expect("memory does not fail");
    let others = [
        ("protocol 2", snapshot("every_field.p2.pickle")),
        ("protocol 3", snapshot("every_field.p3.pickle")),
        ("protocol 5", snapshot("every_field.p5.pickle")),
        ("JSON", snapshot("every_field.json")),
        ("HTML", parse("page.html", page.as_bytes()).expect("a page with a snapshot")),
        ("gzip", parse("snapshot.pickle.gz", &packed.finish().expect("memory does not fail")).expect("a packed snapshot")),
    ];
    let described = |workload: &Workload| {
        let trace = trace(workload);
        let lines: Vec<_> = by_allocating_line(trace, 1).iter().map(|sum| (trace.stacks().text(sum.line).to_owned(), sum.bytes)).collect();
        format!("{:?} {:?} {:?} {lines:?} {:?}", trace.check(), trace.annotations(), trace.segments(), workload.warnings)
    };
    for (name, other) in others {
        assert_eq!(described(&other), described(&plain), "{name}");
    }
}

#[test]
fn everything_that_a_snapshot_says_is_kept() {
    let workload = snapshot("every_field.p4.pickle");
    let trace = trace(&workload);
    let text = |id| trace.stacks().text(id);
    assert_eq!((trace.device(), trace.streams(), trace.pools()), ("cuda:0", &[0, 7][..], &[(0, 0), (1, 0)][..]));
    let failure = trace.failures()[0];
    assert_eq!((trace.failures().len(), failure.step, failure.asked_bytes, failure.device_free_bytes), (1, 11, 64 << 20, Some(5 << 20)));
    assert_eq!(text(trace.stacks().line(failure.stack)), "model/attention.py:12 attention");
    let annotations: Vec<_> = trace.annotations().iter().map(|mark| (mark.name.as_str(), mark.stage.as_str(), mark.step)).collect();
    assert_eq!(annotations[0], ("Optimizer.step#AdamW.step", "START", 4));
    assert_eq!(annotations[1], ("forward", "START", 4));
    assert_eq!(annotations[2], ("Optimizer.step#AdamW.step", "END", 10));
    assert_eq!(annotations[3].0, "epoch 2");
    let notes: Vec<_> = trace.notes().iter().map(|note| (note.event, text(note.field), text(note.text))).collect();
    assert!(notes.contains(&(5, "compile_context", "1/0")) && notes.contains(&(5, "user_metadata", "step=3, tag=warm")), "{notes:?}");
    assert!(notes.contains(&(8, "user_metadata", "step=3, tag=warm")) && notes.contains(&(8, "internal_metadata", "kv")), "{notes:?}");
    let pending = trace.blocks().iter().find(|block| block.start == 19).expect("the last allocation");
    assert_eq!((pending.given_back, pending.end), (20, 21), "given back, but not free at the end");
    let unknown: Vec<_> =
        trace.events().iter().filter_map(|event| if let Action::Other(name) = event.action { Some(text(name)) } else { None }).collect();
    assert_eq!(unknown, ["brand_new_action"]);
    let said = workload.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in
        ["cuda:1 (1 events)", "--device", "pinned memory", "earliest events are lost", "2 blocks with 400 bytes are older", "brand_new_action"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn segments_are_followed_backwards_and_forwards() {
    let workload = snapshot("every_field.p4.pickle");
    let trace = trace(&workload);
    let mut held: Vec<_> = trace.segments().iter().map(|segment| (segment.bytes >> 20, segment.start, segment.end, segment.is_expandable)).collect();
    held.sort_unstable();
    assert_eq!(held, [(2, 0, 21, false), (2, 7, 21, true), (2, 8, 15, true), (20, 1, 21, false)]);
    let before = fragmentation_at(trace, 8);
    assert!(before.holes.iter().any(|hole| hole.bytes == 4 << 20), "two mapped ranges are one hole: {before:?}");
}

#[test]
fn a_request_fits_where_its_stream_and_pool_have_a_hole() {
    let workload = snapshot("every_field.p4.pickle");
    let trace = trace(&workload);
    let end = fragmentation_at(trace, trace.n_steps() - 1);
    let asker = Asker::default();
    assert!(matches!(end.would_fit(trace, 10 << 20, asker), Fit::Fits(hole) if hole.bytes == 10 << 20));
    assert!(matches!(end.would_fit(trace, 2 << 20, asker), Fit::Fits(hole) if hole.bytes == 2 << 20));
    assert_eq!(end.would_fit(trace, (10 << 20) + 1, asker), Fit::TooLarge { largest_hole_bytes: 10 << 20 });
    assert!(matches!(end.would_fit(trace, 512, asker), Fit::OnlyElsewhere(_)), "small requests have their own segments");
    let private = trace.pools().iter().position(|&pool| pool == (1, 0)).and_then(|pool| u16::try_from(pool).ok()).expect("a private pool");
    assert!(matches!(end.would_fit(trace, 512, Asker { stream: 0, pool: private }), Fit::Fits(_)));
}

#[test]
fn the_device_asked_for_is_read() {
    let bytes = std::fs::read(file("every_field.p4.pickle")).expect("a file of the tests");
    let of = |device| read_bytes("two.pickle", &bytes, &ReadOptions { device: Some(device), ..ReadOptions::default() });
    let second = of(1).expect("there is a second device");
    assert_eq!((trace(&second).device(), trace(&second).events().len(), trace(&second).check().end_bytes), ("cuda:1", 1, 1000));
    let message = of(2).expect_err("there is no third device").to_string();
    assert!(message.contains("no device 2") && message.contains("cuda:0 (20 events)"), "{message}");
}

#[test]
fn a_dict_built_field_by_field_is_the_same_event() {
    let fields = [("action", text("alloc")), ("addr", number(4096)), ("size", number(100)), ("stream", number(0))];
    let one_by_one: Vec<u8> =
        [b"}".to_vec()].into_iter().chain(fields.iter().map(|(key, value)| [text(key), value.clone(), b"s".to_vec()].concat())).flatten().collect();
    let at_once = dict(&fields.iter().flat_map(|(key, value)| [text(key), value.clone()]).collect::<Vec<_>>());
    for event in [one_by_one, at_once] {
        let bytes = pickle(&[&dict(&[text("device_traces"), list(&[list(&[event])])]), b"."]);
        let workload = parse("built.pickle", &bytes).expect("a snapshot");
        assert_eq!((trace(&workload).events().len(), trace(&workload).check().end_bytes), (1, 100));
    }
}

#[test]
fn a_snapshot_repeated_many_times_has_the_same_peak_and_reports_progress() {
    let source = snapshot("medium_256_inference.pickle");
    let mut bytes = Vec::new();
    write_repeated(&mut bytes, trace(&source), 5, 8).expect("memory does not fail");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let large = folder.path().join("large.pickle");
    std::fs::write(&large, &bytes).expect("the folder is writable");
    let (reports, polls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let count = |progress: Progress| {
        assert!(progress.fraction.is_some_and(|fraction| (0.0..=1.0).contains(&fraction)));
        reports.fetch_add(1, Ordering::Relaxed);
    };
    let workload = read(&large, &ReadOptions::default(), &Control::new(&|| false, &count)).expect("a large snapshot");
    let (repeated, once) = (trace(&workload), trace(&source));
    assert_eq!(repeated.events().len(), 5 * once.events().len());
    assert_eq!(repeated.check().peak_bytes, once.check().peak_bytes);
    assert_eq!(repeated.stacks().n_stacks(), once.stacks().n_stacks());
    assert!(reports.load(Ordering::Relaxed) > 2);
    let stop = || polls.fetch_add(1, Ordering::Relaxed) >= 1;
    let stopped = read(&large, &ReadOptions::default(), &Control::new(&stop, &|_| ()));
    assert!(matches!(stopped, Err(FormatError::Stopped { .. })));
}

#[test]
fn blocks_are_named_and_grouped_by_allocating_line() {
    let workload = snapshot("medium_128_training.pickle");
    let trace: &Trace = trace(&workload);
    let peak = trace_curves(trace).requested.max().1;
    let sums = by_allocating_line(trace, peak);
    let live: u64 = sums.iter().map(|sum| sum.live_bytes).sum();
    assert_eq!((live, sums.iter().map(|sum| sum.blocks).sum::<u64>()), (trace.check().peak_bytes, trace.blocks().len() as u64));
    let line = |index: usize| trace.stacks().text(sums[index].line);
    assert_eq!((line(0), line(1)), ("", "aten::empty_strided in AccumulateGrad"), "what is older has no stack");
    assert_eq!(line(2), "cs336_basics/optimizer.py:80 step");
}
