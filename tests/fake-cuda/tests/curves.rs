//! Predicted, counted and measured memory: equal where they must be, different only for a reason.

use arenascope_gpu::device::DeviceKind;
use arenascope_gpu::program::Home;
use arenascope_gpu::protocol::{Outcome, RegimeReport, RegimeStatus};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::alias::Io;
use arenascope_planner::graph::Role;
use arenascope_planner::prepare::PrepareSettings;

use crate::support::{
    GraphBuilder, fake_device, graph_with_everything, program_of, quick, random_graph, run_on, run_on_cpu, sample, settings, workload,
};

fn report(record: &RunRecord, regime: Regime) -> &RegimeReport {
    let report = record.regimes.iter().find(|report| report.regime == regime).expect("every regime is reported");
    assert_eq!(report.status, RegimeStatus::Ran, "{}: {}", regime.name(), report.note);
    report
}

/// The granule of the fake device.
const GRANULE: u64 = 2 << 20;

#[test]
fn every_regime_counts_what_was_predicted_on_random_graphs() {
    let (_guard, mut fake) = fake_device();
    for seed in 0..12 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let program = program_of(workload(random_graph(&mut rng, 20)), settings(Io::Arena));
        let record = run_on(&mut fake, &program, &quick(&Regime::ALL));
        for regime in Regime::ALL {
            let report = report(&record, regime);
            assert_eq!(report.counted_curve, report.predicted_curve, "seed {seed}, {}", regime.name());
            assert_eq!(report.difference.unexplained, 0, "seed {seed}, {}: {:?}", regime.name(), report.difference);
        }
    }
}

#[test]
fn a_record_says_what_is_live_and_held_at_every_step() {
    let program = graph_with_everything();
    let (_guard, mut fake) = fake_device();
    let record = run_on(&mut fake, &program, &quick(&Regime::ALL));
    let n = program.steps.len();
    assert_eq!(record.step_numbers, (0..n as u64).collect::<Vec<_>>());
    assert_eq!(record.live_curve, report(&record, Regime::PerTensor).predicted_curve);
    for regime in [Regime::Arena, Regime::ArenaGraph] {
        assert_eq!(report(&record, regime).blocks_curve, vec![1; n], "{}", regime.name());
    }
    let planned: Vec<_> = program.buffers.iter().filter(|buffer| buffer.home == Home::Arena).collect();
    let live = |step: usize| planned.iter().filter(|buffer| (buffer.first_step..=buffer.last_step).contains(&step)).count() as u64;
    assert_eq!(report(&record, Regime::PerTensor).blocks_curve, (0..n).map(live).collect::<Vec<_>>());
    assert_eq!(report(&record, Regime::AllLive).blocks_curve, vec![planned.len() as u64; n]);
    let pool = report(&record, Regime::Pool);
    assert_eq!(pool.kept_curve.len(), n);
    assert!(pool.kept_curve.iter().all(|kept| (31 << 20..32 << 20).contains(kept)), "one lump less what was given: {:?}", pool.kept_curve);
    assert!(report(&record, Regime::Caching).kept_curve.is_empty(), "it has no pool of the driver");
}

#[test]
fn a_real_model_is_measured_as_predicted_on_the_cpu() {
    let program = sample("mobilenet_v2.onnx", PrepareSettings::default());
    let record = run_on_cpu(&program, &quick(&[Regime::AllLive, Regime::PerTensor, Regime::Caching, Regime::Arena]));
    assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?}", record.error);
    let peak = |regime| report(&record, regime).counted_peak_bytes;
    assert_eq!(peak(Regime::Arena), 6_021_120, "the arena of the plan");
    assert_eq!(peak(Regime::PerTensor), 6_021_120, "what is live at the peak");
    assert!(peak(Regime::Arena) <= peak(Regime::Caching) && peak(Regime::Caching) < peak(Regime::AllLive));
    for regime in &record.regimes {
        assert_eq!(regime.counted_curve, regime.predicted_curve, "{}", regime.regime.name());
    }
    assert_eq!(record.device.as_ref().map(|device| device.kind), Some(DeviceKind::Cpu));
}

#[test]
fn the_device_s_own_numbers_differ_by_granules_and_lumps_alone() {
    let program = graph_with_everything();
    let (_guard, mut fake) = fake_device();
    let record = run_on(&mut fake, &program, &quick(&Regime::ALL));
    assert_eq!(record.outcome, Outcome::Clean, "{:?} {:?}", record.error, record.regimes);
    let arena = report(&record, Regime::Arena);
    assert_eq!(arena.measured_peak_bytes, 0, "a small arena lies in the granule that the run's own tables have begun");
    assert!(arena.difference.why.contains("inside memory that is already held"), "{:?}", arena.difference);
    let pool = report(&record, Regime::Pool);
    assert_eq!(pool.measured_peak_bytes, 32 << 20, "one lump of the pool");
    assert!(pool.difference.kept > 0 && pool.difference.why.contains("kept by the pool"), "{:?}", pool.difference);
    assert!(record.own_bytes <= 2 * GRANULE);
}

#[test]
fn a_replayed_graph_calls_no_allocator_and_a_plan_calls_it_once() {
    let program = graph_with_everything();
    let (_guard, mut fake) = fake_device();
    let mut options = quick(&Regime::ALL);
    (options.checked_iterations, options.timed_iterations) = (3, 5);
    let record = run_on(&mut fake, &program, &options);
    let calls = |regime| report(&record, regime).calls;
    let n_planned = program.buffers.iter().filter(|buffer| buffer.home == Home::Arena).count() as u64;
    for regime in [Regime::Arena, Regime::ArenaGraph] {
        assert_eq!((calls(regime).setup, calls(regime).first_iteration, calls(regime).iteration, calls(regime).requests), (1, 0, 0, 0));
    }
    assert_eq!((calls(Regime::AllLive).setup, calls(Regime::AllLive).iteration), (n_planned, 0));
    assert_eq!(calls(Regime::PerTensor).iteration, 2 * n_planned);
    assert_eq!(calls(Regime::Pool).iteration, 2 * n_planned);
    let caching = calls(Regime::Caching);
    assert!(caching.first_iteration >= 1 && caching.iteration == 0 && caching.requests == 2 * n_planned, "{caching:?}");
    for regime in Regime::ALL {
        let latency = report(&record, regime).latency.as_ref().expect("it was timed");
        assert!(latency.samples_ms.len() == 5 && latency.p50_ms > 0.0 && latency.p50_ms <= latency.p99_ms, "{latency:?}");
        assert!(report(&record, regime).device_ms.is_some_and(|ms| ms >= 0.0));
    }
}

#[test]
fn the_footprint_inside_the_arena_is_the_predicted_one() {
    let (_guard, mut fake) = fake_device();
    for seed in 0..6 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let program = program_of(workload(random_graph(&mut rng, 12)), settings(Io::Arena));
        let mut options = quick(&[Regime::Arena]);
        options.footprint = true;
        for record in [run_on_cpu(&program, &options), run_on(&mut fake, &program, &options)] {
            assert_eq!(record.footprint.len(), program.steps.len());
            for step in &record.footprint {
                assert_eq!((step.touched_bytes, step.top_bytes), (step.predicted_touched_bytes, step.predicted_top_bytes), "seed {seed}, {step:?}");
            }
            assert!(record.footprint.is_sorted_by_key(|step| step.touched_bytes));
        }
    }
}

/// Three short-lived arrays of one size: their lifetimes do not meet, so that one place is enough.
#[test]
fn three_arrays_that_never_meet_take_one_place() {
    let mut builder = GraphBuilder::default();
    let input = builder.tensor("input", 64, Role::GraphInput);
    let small: Vec<_> = (0..3).map(|index| builder.tensor(&format!("small {index}"), 64, Role::Activation)).collect();
    let large: Vec<_> = (0..3).map(|index| builder.tensor(&format!("large {index}"), 1 << 16, Role::Activation)).collect();
    let mut before = input;
    for index in 0..3 {
        builder.op(&format!("grow {index}"), &[before], &[large[index]]);
        builder.op(&format!("shrink {index}"), &[large[index]], &[small[index]]);
        before = small[index];
    }
    let program = program_of(workload(builder.build()), settings(Io::Static));
    let (_guard, mut fake) = fake_device();
    let record = run_on(&mut fake, &program, &quick(&Regime::ALL));
    assert!(report(&record, Regime::ArenaGraph).counted_peak_bytes < (1 << 16) + 1024);
    assert!(report(&record, Regime::AllLive).counted_peak_bytes >= 3 << 16);
    assert_eq!(record.outcome, Outcome::Clean);
}

#[test]
fn a_scaled_plan_stays_clean_and_takes_so_many_times_as_much() {
    let program = sample("memory_sharing.json", PrepareSettings::default());
    let arena_bytes = program.arena_bytes;
    let scaled = program.scaled(7).expect("small");
    assert_eq!((scaled.arena_bytes, scaled.scale), (arena_bytes * 7, 7));
    let record = run_on_cpu(&scaled, &quick(&[Regime::Arena]));
    assert_eq!((record.outcome, report(&record, Regime::Arena).counted_peak_bytes), (Outcome::Clean, arena_bytes * 7));
    assert!(scaled.clone().scaled(u64::MAX).is_err());
    assert!(scaled.suggested_scale() * scaled.arena_bytes >= 256 << 20);
}

#[test]
fn a_bare_problem_is_written_at_its_first_step_and_read_at_its_last() {
    let program = sample("minimalloc_A.1048576.csv", PrepareSettings { align: arenascope_planner::units::Align::ONE, ..PrepareSettings::default() });
    let record = run_on_cpu(&program, &quick(&[Regime::Arena]));
    assert_eq!((record.outcome, report(&record, Regime::Arena).n_checks), (Outcome::Clean, program.buffers.len() as u64), "{:?}", record.findings);
}

#[test]
fn what_does_not_fit_is_skipped_with_its_numbers() {
    let program = sample("mobilenet_v2.onnx", PrepareSettings::default());
    let mut options = quick(&[Regime::AllLive, Regime::Arena]);
    // Enough for the weights and for the arena, but not for every buffer at once.
    options.budget_bytes = Some((256 << 20) + (20 << 20));
    let record = run_on_cpu(&program, &options);
    let all_live = &record.regimes[0];
    assert_eq!(all_live.status, RegimeStatus::Skipped);
    assert!(
        all_live.note.contains("all-live needs") && all_live.note.contains("the budget is") && all_live.note.contains("not run"),
        "{}",
        all_live.note
    );
    assert_eq!((record.regimes[1].status, record.outcome), (RegimeStatus::Ran, Outcome::Clean));

    options.budget_bytes = Some(257 << 20);
    options.regimes = vec![Regime::Arena];
    let program = sample("unet.onnx", PrepareSettings::default());
    let record = run_on_cpu(&program, &options);
    assert_eq!(record.outcome, Outcome::DoesNotFit, "{:?}", record.regimes);
    assert_eq!(record.outcome.exit_code(), 4);
}
