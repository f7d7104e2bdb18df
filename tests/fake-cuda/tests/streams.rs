//! Branches side by side: plans that leave them free are clean, serial plans clobber unless the streams wait for them.

use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::device::Device;
use arenascope_gpu::findings::Finding;
use arenascope_gpu::program::Program;
use arenascope_gpu::protocol::{Outcome, RegimeStatus, RunOptions, Waits};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_gpu::streams::Streams;
use arenascope_planner::alias::Io;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::prepare::PrepareSettings;

use crate::support::{fake_device, parallel_branches, prepared_program, quick, random_graph, run_on, settings, workload};

/// The sample's side length; the small one is for the driver that interprets its kernels.
const SAMPLE: u64 = 1024;
const SMALL: u64 = 16;

fn on_streams(regimes: &[Regime], waits: Waits) -> RunOptions {
    RunOptions { streams: 2, waits, checked_iterations: 4, ..quick(regimes) }
}

fn assert_clean(record: &RunRecord, what: &str) {
    assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{what}: {:?} {:?}", record.findings, record.error);
}

/// The serial plan gives each branch what the other one has just left.
fn assert_clobbered(record: &RunRecord, what: &str) {
    assert_eq!(record.outcome, Outcome::Clobbered, "{what}: {:?}", record.error);
    let is_left = |tensor: &str| ["A2", "A3", "A4"].contains(&tensor);
    let is_of_the_other_branch = |finding: &&Finding| {
        finding.tensor != "A1" && finding.culprits.first().is_some_and(|culprit| is_left(&culprit.tensor) != is_left(&finding.tensor))
    };
    let finding = record.findings.iter().find(is_of_the_other_branch);
    let finding = finding.unwrap_or_else(|| panic!("{what}: no branch over the other in {:?}", record.findings));
    let culprit = &finding.culprits[0];
    assert!(culprit.op == format!("make_{}", culprit.tensor) && culprit.is_at_same_offset && finding.producer == format!("make_{}", finding.tensor));
    assert!(finding.message.contains("no wait keeps out") && finding.message.contains(&culprit.op), "{what}: {}", finding.message);
}

fn on_both(side: u64, parallel: Parallel, waits: Waits, check: impl Fn(&RunRecord, &str)) {
    check(&run_on(&mut CpuDevice::new(), &parallel_branches(side, parallel), &on_streams(&[Regime::Arena], waits)), "cpu");
    let (_guard, mut fake) = fake_device();
    let program = parallel_branches(SMALL, parallel);
    check(&run_on(&mut fake, &program, &on_streams(&[Regime::Arena], waits)), "launched one by one");
    check(&run_on(&mut fake, &program, &on_streams(&[Regime::ArenaGraph], waits)), "replayed");
}

#[test]
fn a_plan_for_branches_is_clean_with_the_waits_of_the_graph_alone() {
    on_both(SAMPLE, Parallel::Ancestors, Waits::Graph, assert_clean);
}

#[test]
fn a_serial_plan_without_its_waits_clobbers_and_names_tensor_op_and_culprit() {
    on_both(SAMPLE, Parallel::Off, Waits::Graph, assert_clobbered);
}

#[test]
fn a_serial_plan_with_its_waits_is_clean() {
    on_both(SAMPLE, Parallel::Off, Waits::Plan, assert_clean);
}

#[test]
fn the_cost_of_sharing_is_counted_and_timed() {
    for (parallel, plan_waits) in [(Parallel::Off, 4), (Parallel::Ancestors, 0)] {
        let options = RunOptions { timed_iterations: 2, ..on_streams(&[Regime::Arena, Regime::PerTensor, Regime::AllLive], Waits::Plan) };
        let record = run_on(&mut CpuDevice::new(), &parallel_branches(64, parallel), &options);
        let cost = record.regimes[0].streams.as_ref().expect("streams cost something");
        assert_eq!((cost.n_streams, cost.graph_waits, cost.plan_waits), (2, 2, plan_waits), "{parallel}");
        assert!(
            [&cost.one_stream, &cost.graph_only, &cost.with_plan]
                .into_iter()
                .all(|latency| latency.as_ref().is_some_and(|latency| latency.p50_ms > 0.0))
        );
        let nothing_reused = record.regimes[2].streams.as_ref().expect("streams cost something");
        assert_eq!((nothing_reused.graph_waits, nothing_reused.plan_waits), (2, 0), "{parallel}");
        assert!(record.regimes[1].status == RegimeStatus::Skipped && record.regimes[1].note.contains("one stream"), "{:?}", record.regimes[1]);
    }
}

#[test]
fn a_program_without_an_order_is_refused() {
    let mut program = parallel_branches(64, Parallel::Off);
    program.order = None;
    let record = run_on(&mut CpuDevice::new(), &program, &on_streams(&[Regime::Arena], Waits::Plan));
    assert!(record.outcome == Outcome::DeviceFailed && record.error.is_some_and(|error| error.message.contains("side by side")));
}

/// Reads for which some write of another stream is neither before the producer nor after the read.
fn may_be_clobbered(program: &Program, streams: &Streams) -> bool {
    let writers = |value: usize| program.values[program.values[value].tag as usize].written_at;
    let writes = || program.steps.iter().enumerate().flat_map(|(step, op)| op.writes.iter().map(move |&value| (step, value)));
    program.steps.iter().enumerate().any(|(reader, op)| {
        op.reads.iter().any(|read| {
            let (home, begin, end) = program.range(read.value);
            writes().any(|(step, other)| {
                let (other_home, other_begin, other_end) = program.range(other);
                let is_own = other == program.values[read.value].tag as usize;
                let is_early = writers(read.value).is_some_and(|written| step == written || streams.precedes(step, written));
                let is_late = step == reader || streams.precedes(reader, step);
                !is_own && !is_early && !is_late && other_home == home && other_begin < end && begin < other_end
            })
        })
    })
}

/// Graphs by chance on two to four streams: sound plans with their waits are clean, whatever order the streams take.
fn compare(device: &mut dyn Device, n: u64, max_ops: usize) -> usize {
    let mut n_clobbered = 0;
    for seed in 0..n {
        let mut rng = fastrand::Rng::with_seed(seed);
        let n_ops = rng.usize(5..max_ops);
        let graph = random_graph(&mut rng, n_ops);
        let parallel = if rng.bool() { Parallel::Ancestors } else { Parallel::Off };
        let wanted = PrepareSettings { parallel, ..settings(if rng.bool() { Io::Arena } else { Io::Static }) };
        let Some(program) = prepared_program(workload(graph), wanted) else { continue };
        let streams = rng.u32(2..5);
        let options = |waits| RunOptions { streams, ..on_streams(&[Regime::Arena], waits) };
        assert_clean(&run_on(device, &program, &options(Waits::Plan)), &format!("seed {seed}"));
        let alone = run_on(device, &program, &options(Waits::Graph));
        let order = program.order.as_ref().expect("it was prepared");
        let is_possible = may_be_clobbered(&program, &Streams::new(order, streams as usize, Waits::Graph));
        assert!(is_possible || alone.outcome == Outcome::Clean, "seed {seed}: {:?}", alone.findings);
        assert!(parallel == Parallel::Off || alone.outcome == Outcome::Clean, "seed {seed}: {:?}", alone.findings);
        assert!(alone.findings.iter().all(|finding| !finding.culprits.is_empty()), "seed {seed}: {:?}", alone.findings);
        n_clobbered += usize::from(alone.outcome == Outcome::Clobbered);
    }
    n_clobbered
}

#[test]
fn random_graphs_are_clean_with_the_waits_of_their_plans() {
    let n_clobbered = compare(&mut CpuDevice::new(), 200, 40);
    assert!(n_clobbered > 20, "{n_clobbered} of 200 runs without the plan's waits were clobbered: too few to mean something");
    let (_guard, mut fake) = fake_device();
    assert!(compare(&mut fake, 30, 14) > 2);
}
