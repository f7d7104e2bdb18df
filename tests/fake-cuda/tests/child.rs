//! A run in a child process: the protocol, cancelling, killing, and what the parent says when the child is gone.

use std::cell::Cell;
use std::process::Stdio;
use std::time::{Duration, Instant};

use arenascope_gpu::device::DeviceKind;
use arenascope_gpu::parent::{ChildCommand, Patience, probe_in_child, run_in_child};
use arenascope_gpu::probe::ProbeOutcome;
use arenascope_gpu::protocol::{Event, Outcome, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::prepare::PrepareSettings;

use crate::support::{child, fake_driver, graph_with_everything, quick, quick_on_fake, sample};

fn run(command: &ChildCommand, options: &RunOptions) -> RunRecord {
    let program = graph_with_everything();
    run_in_child(command, &program, options, Patience::default(), &|| false, &mut |_| ())
}

#[test]
fn a_run_in_a_child_says_what_a_run_in_this_process_says() {
    for options in [quick(&Regime::ALL), quick_on_fake(&Regime::ALL)] {
        let record = run(&child(&[]), &options);
        assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?}", record.error);
        assert_eq!(record.regimes.iter().map(|report| report.regime).collect::<Vec<_>>(), Regime::ALL);
        let again = RunRecord::from_json(&record.to_json()).expect("a recorded run can be opened");
        assert_eq!(again, record);
    }
}

#[test]
fn the_probe_names_the_simulated_device() {
    let report = probe_in_child(&child(&[]), Some(&fake_driver()));
    assert_eq!(report.outcome, ProbeOutcome::Ready, "{report:?}");
    let [device] = report.devices.as_slice() else { panic!("one device: {report:?}") };
    assert_eq!((device.kind, device.name.as_str(), device.driver.as_str()), (DeviceKind::Simulated, "Fake GPU (host memory)", "12.4"));
    assert!(device.has_pools && device.total_bytes == 4 << 30 && device.free_bytes < device.total_bytes);
}

#[test]
fn events_arrive_step_by_step_while_the_child_runs() {
    let program = graph_with_everything();
    let mut names: Vec<&'static str> = Vec::new();
    let mut steps = 0;
    let mut on_event = |event: &Event| match event {
        Event::Device { .. } => names.push("device"),
        Event::RegimeStart { .. } => names.push("start"),
        Event::Step { .. } => steps += 1,
        Event::RegimeEnd(_) => names.push("end"),
        Event::Done { .. } => names.push("done"),
        Event::Footprint { .. } | Event::Progress { .. } | Event::Finding(_) | Event::Compute(_) | Event::Error { .. } => {}
    };
    let record = run_in_child(&child(&[]), &program, &quick(&[Regime::Arena]), Patience::default(), &|| false, &mut on_event);
    assert_eq!(record.outcome, Outcome::Clean);
    assert_eq!((names, steps), (vec!["device", "start", "end", "done"], program.steps.len()));
}

#[test]
fn a_cancelled_run_ends_soon_and_says_so() {
    let program = sample("mobilenet_v2.onnx", PrepareSettings::default());
    let mut options = quick(&[Regime::Arena]);
    options.timed_iterations = 1_000_000;
    options.timed_limit_ms = 600_000;
    let wants_end = Cell::new(false);
    let asked = Cell::new(Instant::now());
    let mut on_event = |event: &Event| {
        if matches!(event, Event::Step { .. }) && !wants_end.get() {
            asked.set(Instant::now());
            wants_end.set(true);
        }
    };
    let record = run_in_child(&child(&[]), &program, &options, Patience::default(), &|| wants_end.get(), &mut on_event);
    assert_eq!((record.outcome, record.outcome.exit_code()), (Outcome::Cancelled, 7), "{:?}", record.error);
    assert!(asked.get().elapsed() < Duration::from_secs(5), "it stopped by itself");
}

#[test]
fn a_hung_kernel_is_ended_by_the_parent() {
    let program = graph_with_everything();
    let patience = Patience { silence: Duration::from_millis(1500) };
    let command = child(&[("FAKE_CUDA_HANG", "cuStreamSynchronize:12")]);
    let record = run_in_child(&command, &program, &quick_on_fake(&[Regime::Arena]), patience, &|| false, &mut |_| ());
    let error = record.error.expect("it hangs");
    assert_eq!(record.outcome, Outcome::DeviceFailed);
    assert!(error.message.contains("has not answered for 1.5 s") && error.remedy.contains("hangs"), "{error:?}");
}

#[test]
fn a_cancelled_run_that_hangs_is_killed() {
    let program = graph_with_everything();
    let command = child(&[("FAKE_CUDA_HANG", "cuStreamSynchronize:12")]);
    let began = Instant::now();
    let is_cancelled = || began.elapsed() > Duration::from_millis(300);
    let record = run_in_child(&command, &program, &quick_on_fake(&[Regime::Arena]), Patience::default(), &is_cancelled, &mut |_| ());
    assert_eq!(record.outcome, Outcome::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_child_that_dies_is_reported_with_its_last_words() {
    let record = run(&child(&[("FAKE_CUDA_ABORT", "cuLaunchKernel:20")]), &quick_on_fake(&[Regime::Arena]));
    let error = record.error.expect("it died");
    assert_eq!(record.outcome, Outcome::DeviceFailed);
    assert!(error.message.contains("ended by signal 6") && !error.remedy.is_empty(), "{error:?}");
}

#[test]
fn a_probe_that_dies_or_cannot_start_is_no_answer() {
    let died = probe_in_child(&child(&[("FAKE_CUDA_ABORT", "cuInit:1")]), Some(&fake_driver()));
    assert_eq!(died.outcome, ProbeOutcome::NoAnswer);
    assert!(died.message.contains("signal 6"), "{died:?}");
    let absent = ChildCommand { program: "/nowhere/arenascope".into(), ..child(&[]) };
    assert_eq!(probe_in_child(&absent, None).outcome, ProbeOutcome::NoAnswer);
    let record = run(&absent, &quick(&[Regime::Arena]));
    assert!(record.error.is_some_and(|error| error.message.contains("cannot be started")));
}

#[test]
fn a_request_that_makes_no_sense_is_refused() {
    for text in ["", "{}\n", "cancel\n"] {
        let command = child(&[]);
        let mut process =
            std::process::Command::new(&command.program).arg("run-gpu").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        std::io::Write::write_all(&mut process.stdin.take().expect("piped"), text.as_bytes()).expect("it reads");
        let output = process.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(2), "{text:?}");
        let event: Event = serde_json::from_slice(&output.stdout).expect("one event");
        assert!(matches!(event, Event::Error { .. }), "{event:?}");
    }
}
