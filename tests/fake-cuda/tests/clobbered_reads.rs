//! Random graphs and randomly broken plans: a run finds exactly the reads that an interval oracle finds.

use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::device::Device;
use arenascope_gpu::program::{Home, Program};
use arenascope_gpu::protocol::Outcome;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::alias::Io;

use crate::support::{fake_device, program_if_any, quick, random_graph, run_on, settings, workload};

/// Reads that are wrong: an op wrote over the tensor's range after its own write and before the read.
///
/// Within a step, reads that the op consumes come first, then its writes in order, then its other reads.
fn oracle(program: &Program) -> u64 {
    const CONSUMED: usize = 0;
    const OTHERS: usize = usize::MAX;
    let mut writes: Vec<((usize, usize), usize)> = Vec::new();
    for (step, op) in program.steps.iter().enumerate() {
        writes.extend(op.writes.iter().enumerate().map(|(position, &value)| ((step, position + 1), value)));
    }
    let written = |value: usize| writes.iter().find(|&&(_, other)| other == value).map(|&(at, _)| at);
    let is_bad = |read_at: (usize, usize), value: usize| {
        let tag = usize::try_from(program.values[value].tag).expect("small programs");
        let (home, begin, end) = program.range(value);
        writes.iter().any(|&(at, other)| {
            let (other_home, other_begin, other_end) = program.range(other);
            let is_between = written(tag).is_none_or(|written| at > written) && at < read_at;
            other != tag && is_between && other_home == home && other_begin < end && begin < other_end
        })
    };
    let mut bad = 0;
    for (step, op) in program.steps.iter().enumerate() {
        let at = |is_consumed: bool| (step, if is_consumed { CONSUMED } else { OTHERS });
        bad += op.reads.iter().filter(|read| is_bad(at(read.is_consumed), read.value)).count();
    }
    bad += (0..program.values.len()).filter(|&value| program.values[value].is_output && is_bad((program.steps.len(), 0), value)).count();
    bad as u64
}

/// Moves up to two random buffers to random places inside the arena.
fn broken(mut program: Program, rng: &mut fastrand::Rng) -> Program {
    let planned: Vec<usize> = (0..program.buffers.len()).filter(|&index| program.buffers[index].home == Home::Arena).collect();
    for _ in 0..rng.usize(0..=2) {
        let buffer = planned[rng.usize(0..planned.len())];
        let room = program.arena_bytes - program.buffers[buffer].bytes;
        program.buffers[buffer].offset = rng.u64(0..=room / 8) * 8;
    }
    program
}

/// Runs `n` cases and says how many of them were broken indeed.
fn compare(device: &mut dyn Device, n: u64, max_ops: usize) -> usize {
    let mut n_broken = 0;
    for seed in 0..n {
        let mut rng = fastrand::Rng::with_seed(seed);
        let n_ops = rng.usize(5..max_ops);
        let graph = random_graph(&mut rng, n_ops);
        let Some(sound) = program_if_any(workload(graph), settings(if rng.bool() { Io::Arena } else { Io::Static })) else { continue };
        assert_eq!(oracle(&sound), 0, "seed {seed}: a checked plan has no bad read");
        let program = broken(sound, &mut rng);
        let expected = oracle(&program);
        let record = run_on(device, &program, &quick(&[Regime::Arena]));
        assert_eq!(record.n_findings, expected, "seed {seed}: {:?} {:?}", record.findings, record.error);
        assert_eq!(record.outcome, if expected > 0 { Outcome::Clobbered } else { Outcome::Clean }, "seed {seed}");
        assert!(record.findings.iter().all(|finding| !finding.culprits.is_empty()), "seed {seed}: {:?}", record.findings);
        n_broken += usize::from(expected > 0);
    }
    n_broken
}

#[test]
fn the_cpu_finds_what_the_oracle_finds_in_400_plans() {
    let n_broken = compare(&mut CpuDevice::new(), 400, 40);
    assert!((100..350).contains(&n_broken), "{n_broken} of 400 plans were broken: too few or too many to mean something");
}

#[test]
fn the_shipped_kernels_find_what_the_oracle_finds_in_60_plans() {
    let (_guard, mut device) = fake_device();
    let n_broken = compare(&mut device, 60, 16);
    assert!((10..55).contains(&n_broken), "{n_broken} of 60 plans were broken: too few or too many to mean something");
}
