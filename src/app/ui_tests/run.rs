//! The Run view: devices, runs in child processes, recordings, and what the view says when a run goes wrong.
//!
//! The child is this test program itself, started with the one ignored test that plays it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::device::{Device, DeviceKind};
use arenascope_gpu::parent::{ChildCommand, Patience};
use arenascope_gpu::probe::{ProbeOutcome, ProbeReport};
use arenascope_gpu::program::{Plant, Program};
use arenascope_gpu::protocol::{DeviceChoice, Event, Outcome, Request, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_planner::check::CheckedPlan;
use egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::{opened, planned, sample, window};
use crate::app::App;
use crate::command::Command;
use crate::jobs::{JobKind, Jobs};
use crate::selection::Item;
use crate::theme::ThemeKind;
use crate::views::Pane;
use crate::views::run::{DeviceAccess, Recording, RunCommand, RunSettings, Scale};

/// Say to the children what they are to be.
const RUN_PART: &str = "RUN_VIEW_TEST_RUN";
const PROBE_PART: &str = "RUN_VIEW_TEST_PROBE";

#[test]
#[ignore = "the process that the other tests start; it plays the probe"]
fn child_that_probes() {
    let report = match std::env::var(PROBE_PART).expect("only the other tests start this one").as_str() {
        "none" => ProbeReport::failure(ProbeOutcome::NoDriver, ""),
        "one" => {
            let mut device = CpuDevice::new().description().clone();
            (device.kind, device.name) = (DeviceKind::Simulated, "Pretended GPU".to_owned());
            ProbeReport::ready(vec![device])
        }
        other => panic!("no part is called {other}"),
    };
    say(&serde_json::to_string(&report).expect("plain data"));
}

#[test]
#[ignore = "the process that the other tests start; it plays the device"]
fn child_that_runs() {
    let tell = |event: &Event| say(&serde_json::to_string(event).expect("plain data"));
    let at_second_step = |event: &Event| matches!(event, Event::Step { step: 1, .. });
    match std::env::var(RUN_PART).expect("only the other tests start this one").as_str() {
        "cpu" => _ = arenascope_gpu::child::run_gpu(),
        "simulated" => pretend(tell),
        "dies" => pretend(|event| {
            tell(event);
            if at_second_step(event) {
                std::process::abort();
            }
        }),
        "hangs" => pretend(|event| {
            tell(event);
            if at_second_step(event) {
                std::thread::sleep(Duration::from_secs(600));
            }
        }),
        "out-of-memory" => tell(&Event::Error {
            outcome: Outcome::DoesNotFit,
            message: "out of memory: 4096 bytes were asked for".to_owned(),
            remedy: "close other programs, or run with a smaller --scale".to_owned(),
        }),
        other => panic!("no part is called {other}"),
    }
}

#[expect(clippy::print_stdout, reason = "the protocol between the two processes")]
fn say(line: &str) {
    println!("{line}");
}

/// Runs on the CPU and calls it a simulated device.
fn pretend(mut hear: impl FnMut(&Event)) {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a request");
    let request: Request = serde_json::from_str(&line).expect("a request");
    let mut emit = |event: &Event| {
        let mut event = event.clone();
        if let Event::Device { device, .. } = &mut event {
            (device.kind, device.name) = (DeviceKind::Simulated, "Pretended GPU".to_owned());
        }
        hear(&event);
        true
    };
    arenascope_gpu::run::run(&mut CpuDevice::new(), &request.program, &request.options, &|| false, &mut emit);
}

/// Children with these parts.
pub(super) fn access(run: &str, probe: &str) -> DeviceAccess {
    let arguments = |test: &str| {
        let name = format!("ui_tests::run::{test}");
        [name.as_str(), "--exact", "--ignored", "--nocapture", "--quiet"].map(str::to_owned).to_vec()
    };
    let command = ChildCommand {
        program: std::env::current_exe().expect("a test knows where it is"),
        run_arguments: arguments("child_that_runs"),
        info_arguments: arguments("child_that_probes"),
        environment: vec![(RUN_PART.to_owned(), run.to_owned()), (PROBE_PART.to_owned(), probe.to_owned())],
    };
    DeviceAccess { command, gpu_lib: None, patience: Patience { silence: Duration::from_secs(2) } }
}

/// Settings for runs of a second.
pub(super) fn quick() -> RunSettings {
    RunSettings { iterations: 6, scale: Scale::Times(1), budget_bytes: Some(3 << 30), ..RunSettings::default() }
}

/// The Run view of a sample, with these children.
pub(super) fn run_view(file: &str, run: &str, probe: &str) -> Harness<'static, App> {
    let mut harness = opened(file, ThemeKind::Dark);
    harness.state_mut().state.devices = Some(access(run, probe));
    harness.state().send(Command::Run(RunCommand::Set(quick())));
    harness.state().send(Command::Maximise(Some(Pane::Run)));
    harness.run_steps(4);
    harness
}

pub(super) fn shown(harness: &Harness<'static, App>) -> Arc<Recording> {
    Arc::clone(harness.state().state.views.run.shown().expect("a run is shown"))
}

/// A run of a sample's plan in this process, with a bug planted or not.
pub(super) fn recorded(file: &Path, plant: Option<Plant>) -> RunRecord {
    let regimes = vec![Regime::AllLive, Regime::PerTensor, Regime::Caching, Regime::Arena];
    executed(file, plant, &RunOptions { regimes, timed_iterations: 3, footprint: true, budget_bytes: Some(3 << 30), ..RunOptions::default() })
}

/// A run of a sample's plan on the CPU in this process.
pub(super) fn executed(file: &Path, plant: Option<Plant>, options: &RunOptions) -> RunRecord {
    let control = arenascope_planner::control::Control::unattended();
    let workload = Arc::new(arenascope_formats::read(file, &arenascope_formats::ReadOptions::default(), &control).expect("a sample"));
    let planned = crate::session::make_plan(&workload, &crate::session::PlanOptions::default(), &control).expect("it can be planned");
    let checked = CheckedPlan::new(Arc::clone(&planned.prepared.problem), Arc::clone(&planned.plan)).expect("a valid plan");
    let context = planned.prepared.context.as_deref();
    let program = Program::new(&workload.file, &checked, context).expect("it can be run");
    let program = program.equipped(&checked, context, options).expect("it can be run in this way");
    let program = match plant {
        Some(plant) => program.planted(plant).expect("there is room for the bug").program,
        None => program,
    };
    let mut record = RunRecord::new(&program, options);
    let mut emit = |event: &Event| {
        record.add(event);
        true
    };
    arenascope_gpu::run::run(&mut CpuDevice::new(), &program, options, &|| false, &mut emit);
    record
}

/// The same in a file.
pub(super) fn saved(folder: &tempfile::TempDir, name: &str, record: &RunRecord) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, record.to_json()).expect("writable");
    path
}

fn small() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu/small.json")
}

/// Draws frames until something has happened, or fails after half a minute.
pub(super) fn wait_until(harness: &mut Harness<'static, App>, what: &str, mut has_happened: impl FnMut(&App) -> bool) {
    let began = Instant::now();
    while !has_happened(harness.state()) {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
        harness.run_steps(1);
    }
    harness.run_steps(2);
}

#[test]
fn without_a_gpu_the_view_says_why_and_what_would_help_and_the_cpu_still_runs() {
    let mut harness = run_view("article_three_tensors.json", "cpu", "none");
    harness.get_by_label("No NVIDIA driver was found.");
    harness.get_by_label_contains("install NVIDIA's driver 470 or newer (no toolkit is needed), or run the plan on the CPU");
    harness.get_by_label("Run on CPU").click();
    harness.run_steps(4);
    let recording = shown(&harness);
    assert_eq!((recording.record.outcome, recording.record.n_findings), (Outcome::Clean, 0), "{:?}", recording.record.error);
    assert_eq!(recording.record.arena_bytes, 12 << 20);
    harness.get_by_label("No tensor was overwritten");
}

#[test]
fn a_gpu_is_chosen_by_itself_and_its_memory_is_shown() {
    let mut harness = run_view("article_three_tensors.json", "simulated", "one");
    harness.get_by_label("Run on Pretended GPU");
    assert_eq!(harness.state().state.views.run.settings.device(None), DeviceChoice::Cpu, "without an answer it is the CPU");
    harness.key_press(Key::F5);
    harness.run_steps(4);
    assert_eq!(shown(&harness).record.options.device, DeviceChoice::Gpu(0));
    assert!(shown(&harness).is_simulated());
    harness.get_by_label("simulated");
}

#[test]
fn a_plan_with_faults_is_not_run_and_the_view_says_so() {
    let mut harness = run_view("article_three_tensors.json", "cpu", "none");
    harness.state().send(Command::SetStrategy("article-printed".to_owned()));
    harness.run_steps(4);
    harness.get_by_label("This plan cannot be run");
    harness.get_by_label_contains("this plan has faults");
    harness.key_press(Key::F5);
    harness.run_steps(3);
    assert!(harness.state().state.views.run.shown().is_none());
}

#[test]
fn steps_of_a_run_are_linked_with_every_other_view() {
    let mut harness = run_view("mobilenet_v2.onnx", "cpu", "none");
    harness.key_press(Key::F5);
    harness.run_steps(4);
    let recording = shown(&harness);
    let (report, curves) = recording.regime(Regime::Arena).expect("it ran");
    assert_eq!((report.predicted_peak_bytes, curves.n_unexplained), (6_021_120, 0));
    assert_eq!(recording.steps, planned(&harness).model.steps);
    assert_eq!(recording.live.as_ref().map(|live| live.max().0), Some(planned(&harness).summary.peak_live_bytes));
    let chart = harness.get_by_label_contains("Run chart").rect();
    harness.drag_at(chart.center());
    harness.drop_at(chart.center());
    harness.run_steps(3);
    let Some(Item::Step(step)) = harness.state().state.selection.selected() else { panic!("a step is selected") };
    let shown = harness.state().state.steps.shown();
    assert!((shown.at(0.45)..shown.at(0.55)).contains(&crate::views::chart::step_value(step)), "{step}");
    harness.hover_at(egui::pos2(2.0, 2.0));
    harness.state().send(Command::Select(Item::Step(70)));
    harness.run_steps(4);
    assert!(harness.query_all_by_label_contains("live buffers of the plan").count() == 1);
    let live = recording.record.live_curve[70];
    harness.get_by_label(&format!("live buffers of the plan: {}", crate::text::bytes(live)));
    harness.get_by_label("Explore").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Step(70)), "the selection is the same in all views");
    assert_eq!(harness.state().state.views.maximised, None);
}

#[test]
fn a_regime_is_looked_at_and_kept_by_a_click() {
    let mut harness = run_view("mobilenet_v2.onnx", "cpu", "none");
    harness.key_press(Key::F5);
    harness.run_steps(4);
    harness.get_by_label("regime caching").click();
    harness.run_steps(3);
    harness.get_by_label_contains("Run chart: Caching allocator");
    harness.get_by_label("Keep the line of all-live").click();
    harness.run_steps(3);
    harness.get_by_label("Times tab").click();
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label_contains("times of ").count(), 4, "pool and replay need a GPU");
    assert_eq!(shown(&harness).regime(Regime::Arena).and_then(|(report, _)| report.latency.clone()).map(|latency| latency.samples_ms.len()), Some(6));
}

#[test]
fn a_cancelled_run_keeps_what_it_has_and_the_window_stays_alive() {
    let mut harness = window(Jobs::threaded(|| ()), ThemeKind::Dark, None);
    harness.state_mut().state.devices = Some(access("cpu", "none"));
    harness.state().send(Command::Open(sample("article_three_tensors.json")));
    wait_until(&mut harness, "planning", |app| app.state.planned().is_some());
    let endless = RunSettings { iterations: 10_000_000, regimes: vec![Regime::AllLive, Regime::Arena], ..quick() };
    harness.state().send(Command::Run(RunCommand::Set(endless)));
    harness.state().send(Command::Run(RunCommand::Start));
    let is_timed = |app: &App| {
        let running = app.state.jobs.running(JobKind::Run);
        running.and_then(|running| running.progress.clone()).is_some_and(|progress| progress.what.contains("iterations"))
    };
    wait_until(&mut harness, "the first timed iteration", is_timed);
    let asked = Instant::now();
    harness.get_all_by_label("Cancel").next().expect("a button").click();
    harness.run_steps(2);
    assert!(harness.state().state.jobs.is_stopping(JobKind::Run));
    wait_until(&mut harness, "the end of the run", |app| app.state.jobs.running(JobKind::Run).is_none());
    assert!(asked.elapsed() < Duration::from_secs(5), "the child stopped by itself");
    assert_eq!(shown(&harness).record.outcome, Outcome::Cancelled);
    harness.get_all_by_label("Cancelled").next().expect("the verdict");
    harness.state().send(Command::SetStrategy("greedy-size".to_owned()));
    wait_until(&mut harness, "planning again", |app| app.state.planned().is_some_and(|planned| planned.plan.strategy == "greedy-size"));
}

#[test]
fn a_child_that_dies_hangs_or_has_no_memory_is_told_apart() {
    for (part, title, detail) in [
        ("dies", "The device failed", "ended by signal 6"),
        ("hangs", "The device failed", "has not answered for 2 s"),
        ("out-of-memory", "It does not fit", "4096 bytes were asked for"),
    ] {
        let mut harness = run_view("article_three_tensors.json", part, "one");
        harness.key_press(Key::F5);
        harness.run_steps(4);
        harness.get_all_by_label(title).next().unwrap_or_else(|| panic!("{part}: no `{title}`"));
        harness.get_all_by_label_contains(detail).next().unwrap_or_else(|| panic!("{part}: no `{detail}`"));
        harness.get_by_label("Run again");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_told_as_well() {
    let mut harness = run_view("article_three_tensors.json", "cpu", "none");
    harness.state_mut().state.devices.as_mut().expect("set").command.program = "/nowhere/arenascope".into();
    harness.key_press(Key::F5);
    harness.run_steps(4);
    harness.get_all_by_label_contains("cannot be started").next().expect("the reason");
}

#[test]
fn a_recorded_run_opens_beside_its_file_and_without_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = saved(&folder, "old.json", &recorded(&sample("mobilenet_v2.onnx"), None));
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Light);
    harness.state().send(Command::Open(path.clone()));
    harness.run_steps(4);
    assert_eq!(shown(&harness).kinship(&planned(&harness)), crate::views::run::Kinship::SamePlan);
    harness.get_by_label_contains("Run chart: Static arena, planned 5.74 MiB");
    assert!(harness.query_by_label("Footprint tab").is_some());
    let mut alone = window(Jobs::inline(), ThemeKind::Dark, None);
    alone.state().send(Command::Open(path));
    alone.run_steps(4);
    assert!(alone.state().state.session.is_none());
    alone.get_by_label_contains("Run chart: Static arena");
    assert_eq!(alone.state().state.steps.full(), harness.state().state.steps.full(), "the axis is the run's own");
}

#[test]
fn a_run_of_something_else_is_marked_and_not_linked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = saved(&folder, "other.json", &recorded(&small(), None));
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.state().send(Command::Open(path));
    harness.run_steps(4);
    harness.get_by_label_contains("which is not the file that is open");
    harness.state().send(Command::Maximise(None));
    harness.state().send(Command::Open(sample("article_three_tensors.json")));
    harness.run_steps(4);
    assert!(harness.state().state.views.run.shown().is_none(), "another document begins without a run");
}

#[test]
fn a_clobbered_read_names_tensor_and_culprit_and_a_click_selects_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = recorded(&small(), Some(Plant::Overlap));
    assert_eq!(record.outcome, Outcome::Clobbered);
    let (tensor, culprit) = (record.findings[0].tensor.clone(), record.findings[0].culprits[0].clone());
    let path = saved(&folder, "clobbered.json", &record);
    let mut harness = opened("../tests/gpu/small.json", ThemeKind::Dark);
    harness.state().send(Command::Open(path));
    harness.run_steps(4);
    harness.get_by_label_contains("finding 0: ");
    harness.get_all_by_label(&tensor).next().expect("a link").click();
    harness.run_steps(3);
    let plan = planned(&harness);
    let graph = &plan.prepared.context.as_ref().expect("a graph").graph;
    let Some(Item::Tensor(selected)) = harness.state().state.selection.selected() else { panic!("a tensor is selected") };
    assert_eq!(graph.tensor(selected).name, tensor);
    harness.get_all_by_label(&format!("step {} {}", culprit.step, culprit.op)).next().expect("a link").click();
    harness.run_steps(3);
    assert!(matches!(harness.state().state.selection.selected(), Some(Item::Op(op)) if graph.op(op).name == culprit.op));
}

#[test]
fn two_runs_lie_over_each_other_with_a_table_of_what_differs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut record = recorded(&sample("mobilenet_v2.onnx"), None);
    let first = saved(&folder, "first.json", &record);
    let arena = record.regimes.iter_mut().find(|report| report.regime == Regime::Arena).expect("it ran");
    arena.measured_peak_bytes += 1 << 20;
    let second = saved(&folder, "second.json", &record);
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    for path in [first, second] {
        harness.state().send(Command::Open(path));
        harness.run_steps(4);
    }
    harness.get_by_label("Runs (2) tab").click();
    harness.run_steps(3);
    harness.get_by_label("Compare with first.json").click();
    harness.run_steps(3);
    harness.get_by_label("difference of arena: +1.00 MiB");
    harness.get_by_label("difference of all-live: ±0 B");
    harness.get_by_label("recording first.json").click();
    harness.run_steps(3);
    harness.get_by_label("difference of arena: −1.00 MiB");
    harness.get_by_label("Take second.json out of the list").click();
    harness.run_steps(3);
    assert!(harness.query_by_label("difference of arena: −1.00 MiB").is_none());
}

#[test]
fn a_run_is_saved_opened_again_and_drawn_and_a_full_disk_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = run_view("article_three_tensors.json", "cpu", "none");
    harness.key_press(Key::F5);
    harness.run_steps(4);
    let target = folder.path().join("mine.run.json");
    harness.state().send(Command::Export(target.clone()));
    harness.run_steps(3);
    let again = RunRecord::from_json(&std::fs::read_to_string(&target).expect("written")).expect("a recorded run");
    assert_eq!(again, shown(&harness).record);
    let picture = folder.path().join("mine.png");
    harness.state().send(Command::Export(picture.clone()));
    harness.run_steps(3);
    assert!(std::fs::read(picture).expect("drawn").starts_with(b"\x89PNG"));
    harness.state().send(Command::Export(folder.path().join("missing/folder/mine.run.json")));
    harness.run_steps(3);
    let notice = harness.state().state.notice.clone().expect("the reason is said");
    assert!(notice.is_error && notice.text.contains("could not be saved"), "{}", notice.text);
}

/// Pictures of a run that was recorded once, in a window whose file it belongs to.
#[test]
fn runs_look_as_they_did() {
    let mut results = egui_kittest::SnapshotResults::new();
    for (theme, suffix) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        for (file, tab) in [("article_three_tensors.json", "Regimes"), ("mobilenet_v2.onnx", "Times"), ("mobilenet_v2.onnx", "Footprint")] {
            let stem = file.split('.').next().unwrap_or(file);
            let mut harness = opened(file, theme);
            harness.set_size(egui::vec2(1180.0, 720.0));
            let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("ui_tests/recorded/{stem}.run.json"));
            harness.state().send(Command::Open(recorded));
            harness.run_steps(5);
            harness.get_by_label(&format!("{tab} tab")).click();
            harness.run_steps(3);
            harness.hover_at(egui::pos2(2.0, 2.0));
            harness.run_steps(3);
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ui_tests/snapshots");
            let name = format!("run-{stem}-{}-{suffix}", tab.to_lowercase());
            harness.snapshot_options(name, &egui_kittest::SnapshotOptions::default().output_path(folder));
            results.extend_harness(&mut harness);
        }
    }
}
