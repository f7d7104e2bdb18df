//! The Run view: computing, several streams, the empty context.

use std::time::Duration;

use arenascope_gpu::program::Plant;
use arenascope_gpu::protocol::{Mode, Outcome, RunOptions, Waits};
use arenascope_gpu::regimes::Regime;
use egui::Key;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::run::{executed, quick, run_view, saved, shown};
use super::{opened, planned, sample};
use crate::app::App;
use crate::command::Command;
use crate::selection::Item;
use crate::theme::ThemeKind;
use crate::views::run::{RunCommand, RunSettings};

/// The Run view of a sample on the CPU, whose arithmetic may take its time.
fn patient_view(file: &str) -> Harness<'static, App> {
    let mut harness = run_view(file, "cpu", "none");
    harness.state_mut().state.devices.as_mut().expect("set").patience.silence = Duration::from_secs(60);
    harness
}

/// Opens a drop-down of the toolbar.
fn open_menu(harness: &mut Harness<'static, App>, name: &str) {
    harness.get_by_role_and_label(Role::ComboBox, name).click();
    harness.run_steps(3);
}

/// Opens the modes and draws frames until something is said of computing.
fn open_modes(harness: &mut Harness<'static, App>) {
    open_menu(harness, "Mode");
    let began = std::time::Instant::now();
    while harness.query_by_label("Looking at the ops…").is_some() {
        assert!(began.elapsed() < Duration::from_secs(30), "no answer");
        std::thread::sleep(Duration::from_millis(10));
        harness.run_steps(1);
    }
    harness.run_steps(2);
}

fn set(harness: &mut Harness<'static, App>, settings: RunSettings) {
    harness.state().send(Command::Run(RunCommand::Set(settings)));
    harness.run_steps(2);
}

fn run(harness: &mut Harness<'static, App>) {
    harness.key_press(Key::F5);
    harness.run_steps(4);
}

#[test]
fn a_model_is_computed_and_the_report_leads_to_its_tensors() {
    let mut harness = patient_view("two_layer_perceptron_training.json");
    set(&mut harness, RunSettings { iterations: 2, ..quick() });
    open_modes(&mut harness);
    harness.get_by_role_and_label(Role::Button, "Compute").click();
    harness.run_steps(3);
    run(&mut harness);
    let recording = shown(&harness);
    let record = &recording.record;
    assert_eq!((record.outcome, record.options.mode, record.options.regimes.as_slice()), (Outcome::Clean, Mode::Compute, [Regime::Arena].as_slice()));
    let report = record.compute.as_ref().expect("it computed");
    assert_eq!((report.n_kernels, report.n_reads, report.n_following, report.n_samples), (13, 32, 0, 3073));
    for words in ["13 launches per iteration", "32 compared bit for bit", "3,073 results compared, each kernel", "equal bit for bit"] {
        harness.get_all_by_label_contains(words).next().unwrap_or_else(|| panic!("no `{words}`"));
    }
    harness.get_by_label("worst error 6.0e-7 of 1e-5 allowed");
    harness.get_by_label_contains("−0.0847051   −0.0730424   1.36621e−4");
    harness.get_all_by_label("dW2").next().expect("a link").click();
    harness.run_steps(3);
    let plan = planned(&harness);
    let graph = &plan.prepared.context.as_ref().expect("a graph").graph;
    assert!(matches!(harness.state().state.selection.selected(), Some(Item::Tensor(tensor)) if graph.tensor(tensor).name == "dW2"));
    assert!(harness.query_by_label("Regimes tab").is_none(), "there are none in this mode");
    harness.get_by_label("Times tab").click();
    harness.run_steps(3);
    harness.get_by_label_contains("times of computing: p50");
    harness.get_by_label("Findings (0) tab").click();
    harness.run_steps(3);
    harness.get_all_by_label_contains("32 reads per iteration, each compared bit for bit").next().expect("what was looked at");
}

#[test]
fn a_clobbered_read_of_a_run_that_computes_is_a_finding_and_what_follows_from_it_is_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = RunOptions { mode: Mode::Compute, checked_iterations: 1, timed_iterations: 0, ..RunOptions::default() };
    let record = executed(&sample("two_layer_perceptron_training.json"), Some(Plant::Overlap), &options);
    assert_eq!(record.compute.as_ref().map(|report| report.n_following), Some(10));
    let path = saved(&folder, "clobbered.json", &record);
    let mut harness = opened("two_layer_perceptron_training.json", ThemeKind::Dark);
    harness.state().send(Command::Open(path));
    harness.run_steps(4);
    harness.get_all_by_label("2 wrong reads").next().expect("the badge and the verdict");
    harness.get_by_label_contains("wrong only because they were computed from a wrong read");
    harness.get_by_label_contains("finding 0: `log_p`, read by `loss_backward`");
    harness.get_by_label_contains("10 further wrong reads follow from these");
    harness.get_by_label("no iteration was timed");
    harness.get_all_by_label("log_p").next().expect("a link").click();
    harness.run_steps(3);
    let plan = planned(&harness);
    let graph = &plan.prepared.context.as_ref().expect("a graph").graph;
    assert!(matches!(harness.state().state.selection.selected(), Some(Item::Tensor(tensor)) if graph.tensor(tensor).name == "log_p"));
}

#[test]
fn an_op_without_a_kernel_is_named_and_nothing_is_started() {
    for (file, why) in [
        ("inplace_trap.json", "Op `make_B` (conv) cannot be computed: no kernel is known for it; Integrity mode runs every op."),
        ("minimalloc_A.1048576.csv", "The file has buffers but no graph, so that there is nothing to compute."),
    ] {
        let mut harness = patient_view(file);
        open_modes(&mut harness);
        harness.get_by_label(why);
        harness.get_by_role_and_label(Role::Button, "Compute").click();
        harness.run_steps(3);
        assert_eq!(harness.state().state.views.run.settings.mode, Mode::Integrity, "{file}: the choice is disabled");
        // A choice that was made for the file before.
        set(&mut harness, RunSettings { mode: Mode::Compute, ..quick() });
        run(&mut harness);
        assert!(harness.state().state.views.run.shown().is_none(), "{file}");
        harness.get_by_label("The run could not begin");
    }
}

#[test]
fn streams_and_their_waits_are_chosen_counted_and_timed() {
    let mut harness = patient_view("parallel_branches.json");
    open_menu(&mut harness, "Streams");
    harness.get_by_label("2 streams").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.views.run.settings.streams, 2);
    run(&mut harness);
    let recording = shown(&harness);
    let record = &recording.record;
    assert_eq!((record.outcome, record.options.streams, record.options.waits), (Outcome::Clean, 2, Waits::Plan));
    assert_eq!(record.options.regimes, [Regime::AllLive, Regime::Arena, Regime::ArenaGraph], "the others need the order of one stream");
    harness.get_by_label("Streams tab").click();
    harness.run_steps(3);
    harness.get_by_label("streams of arena: 2, 2 waits of the graph and 4 of the plan");
    harness.get_by_label("streams of all-live: 2, 2 waits of the graph and 0 of the plan");
    harness.get_by_label("Times tab").click();
    harness.run_steps(3);
    for times in ["times of arena: p50", "times of arena, one stream: p50", "times of arena, graph's waits alone: p50"] {
        harness.get_by_label_contains(times);
    }
    assert!(harness.query_by_label_contains("times of arena, with the plan's waits").is_none(), "that is the run itself");
}

#[test]
fn the_waits_of_the_graph_alone_clobber_a_plan_that_shares_between_branches() {
    let mut harness = patient_view("parallel_branches.json");
    set(&mut harness, RunSettings { streams: 2, ..quick() });
    open_menu(&mut harness, "Streams");
    harness.get_by_label("graph: the graph alone needs it").click();
    harness.run_steps(3);
    run(&mut harness);
    let recording = shown(&harness);
    assert_eq!((recording.record.outcome, recording.record.options.waits), (Outcome::Clobbered, Waits::Graph));
    let tensors: Vec<&str> = recording.record.findings.iter().map(|finding| finding.tensor.as_str()).collect();
    assert_eq!(tensors, ["A1", "A1", "A4", "A7"]);
    harness.get_by_label_contains("finding 0: `A1`, read by `make_A2`");
}

#[test]
fn a_bare_problem_stays_on_one_stream() {
    let mut harness = patient_view("minimalloc_A.1048576.csv");
    open_menu(&mut harness, "Streams");
    harness.get_by_label("The file has buffers but no graph, so that nothing says which ops may run side by side.");
    harness.get_by_label("4 streams").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.views.run.settings.streams, 1, "the choice is disabled");
}

#[test]
fn the_empty_context_has_a_band_in_the_baseline_and_a_row_of_its_own() {
    let mut harness = patient_view("article_three_tensors.json");
    run(&mut harness);
    let recording = shown(&harness);
    let record = &recording.record;
    let (empty, baseline) = (record.empty.expect("known").used_bytes, record.baseline.expect("known").used_bytes);
    assert_eq!(baseline, empty + record.own_bytes, "the bar is what was in use before the first regime");
    let (empty, baseline) = (crate::text::bytes(empty), crate::text::bytes(baseline));
    harness.get_by_label(&format!("baseline {baseline}, of which empty context {empty}"));
    harness.get_by_label(&format!("empty context: {empty}"));
    harness.get_by_label_contains("kernels and tables: ");
    assert!(harness.query_by_label_contains("context, kernels and tables").is_none());
}
