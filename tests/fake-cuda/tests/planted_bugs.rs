//! Each kind of planning bug is found, on both devices, with tensor, op and culprit by name.

use arenascope_gpu::program::{Plant, Planted};
use arenascope_gpu::protocol::Outcome;
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::alias::Io;
use arenascope_planner::graph::Role;

use crate::support::{GraphBuilder, fake_device, graph_with_everything, program_of, quick, run_on, run_on_cpu, settings, workload};

fn assert_named(record: &RunRecord, planted: &Planted, what: &str) {
    assert_eq!(record.outcome, Outcome::Clobbered, "{what}: {:?}", record.error);
    let finding = record.findings.iter().find(|finding| finding.tensor == planted.tensor && finding.reader == planted.reader);
    let finding = finding.unwrap_or_else(|| panic!("{what}: `{}` read by `{}` is not among {:?}", planted.tensor, planted.reader, record.findings));
    assert!(finding.message.contains(&format!("`{}`", planted.tensor)) && finding.message.contains(&planted.reader), "{}", finding.message);
    assert!(finding.to_byte > finding.from_byte && finding.words_wrong > 0, "{finding:?}");
    match &planted.culprit {
        Some(culprit) => assert_eq!(finding.culprits.first().map(|first| &first.tensor), Some(culprit), "{what}: {}", finding.message),
        None => assert!(finding.culprits.is_empty() && finding.message.contains("no op wrote there"), "{what}: {}", finding.message),
    }
}

#[test]
fn every_planted_bug_is_found_and_named_on_both_devices() {
    let program = graph_with_everything();
    let (_guard, mut fake) = fake_device();
    for kind in Plant::ALL {
        let planted = program.planted(kind).unwrap_or_else(|error| panic!("{error}"));
        assert_named(&run_on_cpu(&planted.program, &quick(&[Regime::Arena])), &planted, kind.name());
        assert_named(&run_on(&mut fake, &planted.program, &quick(&[Regime::Arena])), &planted, kind.name());
        assert_named(&run_on(&mut fake, &planted.program, &quick(&[Regime::ArenaGraph])), &planted, kind.name());
    }
}

#[test]
fn the_program_without_a_bug_is_clean_in_every_regime() {
    let program = graph_with_everything();
    let (_guard, mut fake) = fake_device();
    for record in [run_on_cpu(&program, &quick(&Regime::ALL)), run_on(&mut fake, &program, &quick(&Regime::ALL))] {
        assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?} {:?}", record.findings, record.error);
    }
}

#[test]
fn a_write_beyond_the_arena_s_end_is_caught_by_the_guard() {
    let mut program = graph_with_everything();
    let value = (0..program.values.len()).filter(|&value| program.values[value].written_at.is_some()).max_by_key(|&value| program.range(value).2);
    let value = value.expect("the graph writes");
    let (_, _, end) = program.range(value);
    program.values[value].bytes += program.arena_bytes - end + 8;
    let record = run_on_cpu(&program, &quick(&[Regime::Arena]));
    assert!(record.findings.iter().any(|finding| finding.message.contains("after the arena's end")), "{:?}", record.findings);
}

#[test]
fn a_bug_that_cannot_be_planted_is_said_so() {
    let mut builder = GraphBuilder::default();
    let (input, output) = (builder.tensor("input", 8, Role::GraphInput), builder.tensor("t", 8, Role::Activation));
    builder.op("op", &[input], &[output]);
    let program = program_of(workload(builder.build()), settings(Io::Static));
    for kind in Plant::ALL {
        assert!(program.planted(kind).expect_err("one step").to_string().contains(kind.name()));
    }
}
