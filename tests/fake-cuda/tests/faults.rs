//! Drivers that are absent, old, broken or short of memory: each is a sentence with a remedy, and no crash.

use std::path::Path;

use arenascope_gpu::parent::{Patience, probe_in_child, run_in_child};
use arenascope_gpu::probe::{ProbeOutcome, ProbeReport};
use arenascope_gpu::protocol::{Outcome, RegimeStatus, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::prepare::PrepareSettings;

use crate::support::{child, fake_driver, graph_with_everything, quick_on_fake, sample};

fn probe(environment: &[(&str, &str)]) -> ProbeReport {
    let report = probe_in_child(&child(environment), Some(&fake_driver()));
    assert!(
        report.outcome == ProbeOutcome::Ready || (!report.message.is_empty() && !report.remedy.is_empty() && report.devices.is_empty()),
        "{report:?}"
    );
    report
}

fn run(environment: &[(&str, &str)], options: &RunOptions) -> RunRecord {
    let program = graph_with_everything();
    run_in_child(&child(environment), &program, options, Patience::default(), &|| false, &mut |_| ())
}

#[test]
fn every_state_of_a_driver_has_its_outcome() {
    for (environment, outcome) in [
        (("FAKE_CUDA_MEMORY", "0"), ProbeOutcome::NoDevice),
        (("FAKE_CUDA_VERSION", "11000"), ProbeOutcome::TooOld),
        (("FAKE_CUDA_FAIL", "cuInit:1:100"), ProbeOutcome::NoDevice),
        (("FAKE_CUDA_FAIL", "cuInit:1:34"), ProbeOutcome::Stub),
        (("FAKE_CUDA_FAIL", "cuInit:1:3"), ProbeOutcome::Stub),
        (("FAKE_CUDA_FAIL", "cuInit:1:803"), ProbeOutcome::Mismatch),
        (("FAKE_CUDA_FAIL", "cuInit:1:804"), ProbeOutcome::Mismatch),
        (("FAKE_CUDA_FAIL", "cuInit:1:802"), ProbeOutcome::Busy),
        (("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain:1:46"), ProbeOutcome::Busy),
        (("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain:1:2"), ProbeOutcome::OutOfMemory),
        (("FAKE_CUDA_FAIL", "cuModuleLoadDataEx:1:221"), ProbeOutcome::NoCompiler),
        (("FAKE_CUDA_FAIL", "cuModuleLoadDataEx:1:222"), ProbeOutcome::KernelsTooNew),
        (("FAKE_CUDA_FAIL", "cuModuleLoadDataEx:1:223"), ProbeOutcome::CompilerDisabled),
        (("FAKE_CUDA_FAIL", "cuInit:1:999"), ProbeOutcome::Failed),
        (("FAKE_CUDA_NO_POOLS", "1"), ProbeOutcome::Ready),
    ] {
        assert_eq!(probe(&[environment]).outcome, outcome, "{environment:?}");
    }
    assert!(probe(&[("FAKE_CUDA_VERSION", "11000")]).message.contains("CUDA 11.0"));
}

#[test]
fn no_driver_at_all_is_a_sentence_and_exit_code_5() {
    let absent = Path::new("/nowhere/libcuda.so");
    let report = probe_in_child(&child(&[]), Some(absent));
    assert_eq!(report.outcome, ProbeOutcome::NoDriver);
    assert!(report.message.contains("no NVIDIA driver was found") && report.remedy.contains("--device cpu"), "{report:?}");
    let record = run(&[], &RunOptions { gpu_lib: Some(absent.display().to_string()), ..quick_on_fake(&[Regime::Arena]) });
    assert_eq!((record.outcome, record.outcome.exit_code()), (Outcome::NoDevice, 5));
    assert!(record.error.is_some_and(|error| error.message.contains("no NVIDIA driver") && !error.remedy.is_empty()));
}

/// The library with one function's name changed, so that looking it up fails.
fn library_without(function: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let mut bytes = std::fs::read(fake_driver()).expect("the library can be read");
    let name = [b"\0", function.as_bytes(), b"\0"].concat();
    let places: Vec<usize> = (0..bytes.len() - name.len()).filter(|&at| bytes[at..at + name.len()] == name).collect();
    assert!(!places.is_empty(), "{function} is exported");
    for at in places {
        bytes[at + 1] = b'x';
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("libcuda.so");
    std::fs::write(&path, bytes).expect("the folder is writable");
    (folder, path)
}

#[test]
fn a_driver_without_a_function_is_named_and_does_not_panic() {
    let (_folder, path) = library_without("cuMemPoolTrimTo");
    let report = probe_in_child(&child(&[]), Some(&path));
    assert_eq!(report.outcome, ProbeOutcome::Incomplete, "{report:?}");
    assert!(report.message.contains("cuMemPoolTrimTo"), "{report:?}");
}

#[test]
fn a_device_that_is_not_there_is_said_so() {
    let options = RunOptions { device: arenascope_gpu::protocol::DeviceChoice::Gpu(3), ..quick_on_fake(&[Regime::Arena]) };
    let record = run(&[], &options);
    assert_eq!(record.outcome, Outcome::NoDevice);
    assert!(record.error.is_some_and(|error| error.message.contains("GPU 3 was asked for, but there are 1")));
}

#[test]
fn out_of_memory_in_one_regime_leaves_the_others() {
    // The first allocations are the run's own: epochs, counters, reports, static memory.
    let mut failed = 0;
    for n in 1..12 {
        let fail = format!("cuMemAlloc_v2:{n}:2");
        let record = run(&[("FAKE_CUDA_FAIL", &fail)], &quick_on_fake(&Regime::ALL));
        if let Some(error) = record.error {
            assert!(error.message.contains("memory") && !error.remedy.is_empty(), "{n}: {error:?}");
            continue;
        }
        assert_eq!(record.regimes.len(), Regime::ALL.len(), "{n}");
        let broken: Vec<&str> =
            record.regimes.iter().filter(|report| report.status == RegimeStatus::Failed).map(|report| report.note.as_str()).collect();
        assert!(broken.len() == 1 && broken[0].contains("out of memory"), "{n}: {broken:?}");
        assert_eq!(record.outcome, Outcome::DeviceFailed);
        failed += 1;
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_device_too_small_for_the_plan_is_said_with_numbers() {
    let program = sample("minimalloc_K.1048576.csv", PrepareSettings::default()).scaled(10_000).expect("it scales");
    let record = run_in_child(&child(&[]), &program, &quick_on_fake(&[Regime::AllLive, Regime::Arena]), Patience::default(), &|| false, &mut |_| ());
    assert_eq!(record.outcome, Outcome::DoesNotFit, "{:?}", record.regimes);
}

#[test]
fn an_illegal_address_ends_the_run_with_the_driver_s_words() {
    let record = run(&[("FAKE_CUDA_STRAY", "plan_fill:6")], &quick_on_fake(&[Regime::Arena, Regime::ArenaGraph]));
    assert_eq!((record.outcome, record.outcome.exit_code()), (Outcome::DeviceFailed, 6), "{record:?}");
    let said = record
        .error
        .map(|error| error.message)
        .into_iter()
        .chain(record.regimes.into_iter().map(|report| report.note))
        .collect::<Vec<_>>()
        .join("; ");
    assert!(said.contains("CUDA_ERROR_ILLEGAL_ADDRESS") && said.contains("700"), "{said}");
}

#[test]
fn a_device_without_pools_skips_that_regime_alone() {
    let record = run(&[("FAKE_CUDA_NO_POOLS", "1")], &quick_on_fake(&Regime::ALL));
    assert_eq!(record.outcome, Outcome::Clean, "{:?}", record.error);
    let skipped: Vec<Regime> = record.regimes.iter().filter(|report| report.status == RegimeStatus::Skipped).map(|report| report.regime).collect();
    assert_eq!(skipped, [Regime::Pool]);
}
