//! Programs that compilers have planned already: XLA's dumps and ExecuTorch's files, with their own plans.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arenascope_formats::{ReadOptions, read_all};
use arenascope_planner::alias::Io;
use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::graph::Role;
use arenascope_planner::observed::{observed, observed_bytes, observed_plan};
use arenascope_planner::workload::{Source, Workload};
use serde::Deserialize;

use crate::support::{graph, one_line, open, parse, path, prepared, totals};

#[derive(Deserialize)]
struct Reference {
    temp_values: usize,
    temp_bytes: u64,
    naive: u64,
    peak_halfopen: u64,
    total_bytes: u64,
    allocations: usize,
}

fn references() -> BTreeMap<String, Reference> {
    let text = std::fs::read_to_string(path("tests/data/xla/reference.json")).expect("the reference is part of the tests");
    serde_json::from_str(&text).expect("the reference is well-formed")
}

fn expect(name: &str, workload: Workload, expected: &Reference) {
    let workload = Arc::new(workload);
    let whole = totals(&workload, true, Io::Static);
    assert_eq!((whole.buffers, whole.naive, whole.peak), (expected.temp_values as u64, expected.naive, expected.peak_halfopen), "{name}");
    let prepared = prepared(&workload, true, Io::Static);
    assert_eq!(observed_bytes(&prepared), Some(expected.temp_bytes), "{name}");
    let plan = observed_plan(&prepared).expect("every value has its place");
    assert!(check(&prepared.problem, &plan).is_valid(), "{name}: no two values overlap");
    assert!(workload.warnings.is_empty(), "{name}: {:?}", workload.warnings);
    assert!(workload.description.contains(&format!("{} bytes in all", expected.total_bytes)), "{}", workload.description);
    assert!(workload.description.starts_with(&format!("{} allocations", expected.allocations)), "{}", workload.description);
}

#[test]
fn xlas_values_and_its_plan_are_the_references() {
    for (file, expected) in references() {
        let assignment = path(&format!("tests/data/xla/{file}"));
        expect(&file, open(&assignment, &[]).expect("a dump"), &expected);
        let ranges = path(&format!("tests/data/xla/{}", file.replace("buffer-assignment", "live-range")));
        expect(&file, open(&ranges, &[]).expect("its other half"), &expected);
        let both = read_all(&[ranges, assignment], &ReadOptions::default(), &Control::unattended());
        expect(&file, both.expect("a pair"), &expected);
    }
}

#[test]
fn a_folder_and_pasted_text_open_as_well() {
    let references = references();
    let text = |name: &str| std::fs::read_to_string(path(&format!("tests/data/xla/{name}"))).expect("a dump");
    let pasted = format!("here is my dump:\n{}\n{}", text("cnn_fwd.buffer-assignment.txt"), text("cnn_fwd.live-range.txt"));
    expect("pasted", parse("paste.txt", pasted.as_bytes()).expect("both texts"), &references["cnn_fwd.buffer-assignment.txt"]);
    let folder = open(&path("tests/data/xla"), &[]).expect("a folder with dumps");
    expect("folder", folder, &references["gpt_train.buffer-assignment.txt"]);
}

#[test]
fn a_dump_without_live_ranges_shows_its_allocations() {
    let text = std::fs::read(path("tests/data/xla/cnn_fwd.buffer-assignment.txt")).expect("a dump");
    let workload = Arc::new(parse("alone.txt", &text).expect("half a dump"));
    assert_eq!(totals(&workload, true, Io::Static).naive, references()["cnn_fwd.buffer-assignment.txt"].total_bytes);
    assert!(workload.warnings.iter().any(|warning| warning.message.contains("live-range")), "{:?}", workload.warnings);
    let ranges = std::fs::read(path("tests/data/xla/cnn_fwd.live-range.txt")).expect("a dump");
    let message = parse("alone.txt", &ranges).expect_err("no sizes").to_string();
    assert!(message.contains("buffer-assignment.txt"), "{message}");
}

#[derive(Deserialize)]
struct PlacedValue {
    sizes: Vec<u64>,
    mem: u64,
    off: u64,
}

#[test]
fn executorchs_plan_is_read_value_by_value() {
    let workload = Arc::new(open(&path("tests/data/executorch/tinycnn_fwd.pte"), &[]).expect("a program"));
    let text = std::fs::read_to_string(path("tests/data/executorch/tinycnn_fwd.alloc.json")).expect("the emitted plan");
    let expected: BTreeMap<String, PlacedValue> = serde_json::from_str(&text).expect("well-formed");
    let (graph, plan) = (graph(&workload), workload.observed.as_ref().expect("the compiler's plan"));
    let placed: BTreeMap<String, (Option<Vec<u64>>, u64)> = graph
        .tensors()
        .iter()
        .zip(&plan.offsets)
        .filter_map(|(tensor, offset)| Some((tensor.name.replace("value ", ""), (tensor.shape.clone(), (*offset)?))))
        .collect();
    assert_eq!(placed.len(), expected.len());
    for (value, known) in &expected {
        assert_eq!(placed[value], (Some(known.sizes.clone()), known.off), "value {value}");
        assert_eq!(known.mem, 1);
    }
    // Source: non_const_buffer_sizes of the program, as MemoryPlanningPass wrote it; 32 planned tensors, 21 instructions.
    assert_eq!((observed_bytes(&prepared(&workload, false, Io::Arena)), placed.len()), (Some(442_368), 32));
    assert_eq!(graph.ops().len(), 21);
    assert!(observed(&workload).expect("a plan").check().is_valid());
    assert_eq!(graph.tensors().iter().filter(|tensor| tensor.role == Role::GraphInput).count(), 1);
}

#[test]
fn damaged_programs_and_dumps_are_answered() {
    let program = std::fs::read(path("tests/data/executorch/tinycnn_fwd.pte")).expect("a program");
    for position in (8..program.len()).step_by(97).chain(8..400) {
        one_line(parse("cut.pte", &program[..position]));
        for mask in [0x01, 0x80, 0xff] {
            let mut changed = program.clone();
            changed[position] ^= mask;
            one_line(parse("changed.pte", &changed));
        }
    }
    let text = |name: &str| std::fs::read(path(&format!("tests/data/xla/{name}"))).expect("a dump");
    let dump = [text("cnn_fwd.buffer-assignment.txt"), text("cnn_fwd.live-range.txt")].concat();
    for position in (0..dump.len()).step_by(11) {
        one_line(parse("cut.txt", &dump[..position]));
        for digit in [b'9', b'-', b'{', b' '] {
            let mut changed = dump.clone();
            changed[position] = digit;
            one_line(parse("changed.txt", &changed));
        }
    }
}

#[test]
fn a_dump_with_impossible_numbers_is_no_panic() {
    let text = "BufferAssignment:\nallocation 0: size 18446744073709551615, preallocated-temp:\n value: <1 a @0> (size=18446744073709551615,offset=18446744073709551615): f32[]\n value: <2 b @0> (size=8,offset=0): f32[2]\nBufferLiveRange:\n a{}:0-1\n b{}:18446744073709551615-0\n";
    let workload = parse("odd.txt", text.as_bytes());
    if let Ok(workload) = &workload {
        let Source::Buffers(_) = &workload.source else { panic!("a dump holds no graph") };
    }
    assert!(Path::new("odd.txt").is_relative());
}
