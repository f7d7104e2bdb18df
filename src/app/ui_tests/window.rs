//! Opening, selecting, switching, flipping, cancelling.

use arenascope_planner::ids::BufferId;
use egui::Key;
use egui_kittest::kittest::Queryable;

use super::{opened, planned, sample, window};
use crate::command::Command;
use crate::jobs::{JobKind, Jobs};
use crate::selection::{Highlight, Item};
use crate::theme::ThemeKind;

#[test]
fn the_first_screen_opens_a_sample_with_one_click() {
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.get_by_label("Open sample Three tensors").click();
    harness.run_steps(4);
    assert_eq!(planned(&harness).summary.arena_bytes, 12 << 20);
}

#[test]
fn the_dialog_opens_a_file_and_remembers_it() {
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, Some(sample("mobilenet_v2.onnx")));
    harness.get_by_label("Open a file").click();
    harness.run_steps(4);
    assert_eq!(planned(&harness).summary.naive_bytes, 52_011_392);
    assert_eq!(harness.state().state.settings.recent.len(), 1);
}

#[test]
fn without_a_dialog_the_path_field_appears_and_opens_a_file() {
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.get_by_label("Open a file").click();
    harness.run_steps(4);
    assert!(harness.state().state.path_field.is_some(), "the fallback is shown");
    let field = harness.get_by_role(egui::accesskit::Role::TextInput);
    field.focus();
    field.type_text(&sample("inplace_trap.json").display().to_string());
    harness.run_steps(3);
    harness.get_by_label("Open").click();
    harness.run_steps(4);
    assert!(planned(&harness).is_valid());
}

#[test]
fn a_file_that_cannot_be_read_says_so_and_leaves_a_way_out() {
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(sample("no_such_file.onnx")));
    harness.run_steps(4);
    harness.get_by_label_contains("no_such_file.onnx could not be opened");
    harness.get_by_label("Open another file").click();
    harness.run_steps(3);
    assert!(harness.state().state.session.is_none());
}

#[test]
fn what_is_selected_in_one_view_is_highlighted_in_all() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.get_by_label_contains("buffer #2 ").click();
    harness.run_steps(4);
    let plan = planned(&harness);
    let selection = &harness.state().state.selection;
    assert_eq!(selection.selected(), Some(Item::Buffer(BufferId(2))));
    assert!(selection.highlight_buffer(BufferId(2), &plan) >= Highlight::Selected, "hovered counts more than selected");
    assert_eq!(selection.highlight_buffer(BufferId(3), &plan), Highlight::Related, "it is live at the same step");
    assert_eq!(selection.highlight_buffer(BufferId(40), &plan), Highlight::None);
    let op = plan.prepared.context.as_ref().and_then(|context| context.graph.producer(context.map.buffers[2].tensors[0])).expect("an op writes it");
    assert_eq!(selection.highlight(Item::Op(op), &plan), Highlight::Related);
}

#[test]
fn clicking_a_rectangle_of_the_arena_selects_its_buffer() {
    let mut harness = opened("article_three_tensors.json", ThemeKind::Light);
    let chart = harness.get_by_label_contains("Arena chart").rect();
    // The lower third of the plot, near its right end, belongs to B at offset 0.
    let at = egui::pos2(chart.right() - 40.0, chart.bottom() - 20.0);
    harness.hover_at(at);
    harness.run_steps(2);
    assert_eq!(harness.state().state.selection.hovered(), Some(Item::Buffer(BufferId(1))));
    harness.drag_at(at);
    harness.drop_at(at);
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(BufferId(1))));
    harness.key_press(Key::Escape);
    harness.run_steps(2);
    assert_eq!(harness.state().state.selection.selected(), None);
}

#[test]
fn another_strategy_is_planned_in_the_background_and_shown() {
    let mut harness = opened("article_three_tensors.json", ThemeKind::Dark);
    harness.get_by_label("Strategy").click();
    harness.run_steps(3);
    harness.get_by_label("slots-by-birth").click_accesskit();
    harness.run_steps(4);
    let plan = planned(&harness);
    assert_eq!((plan.plan.strategy.as_str(), plan.summary.slots), ("slots-by-birth", Some(2)));
    harness.state().send(Command::SetInPlace(false));
    harness.run_steps(3);
    assert_eq!(planned(&harness).summary.arena_bytes, 16 << 20, "without in-place A, B and C are live together");
}

#[test]
fn the_article_as_printed_is_shown_with_its_overlap() {
    let mut harness = opened("article_three_tensors.json", ThemeKind::Dark);
    harness.state().send(Command::SetStrategy("article-printed".to_owned()));
    harness.run_steps(4);
    assert!(!planned(&harness).is_valid());
    harness.get_by_label("1 overlap");
}

#[test]
fn before_and_after_flip_with_one_key() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    assert!(harness.query_all_by_label_contains("after · ").count() > 0);
    harness.key_press(Key::B);
    harness.run_steps(3);
    assert!(harness.state().state.show_before);
    assert!(harness.query_all_by_label_contains("every tensor in its own block").count() > 0);
    harness.get_by_label("After").click();
    harness.run_steps(3);
    assert!(!harness.state().state.show_before);
}

#[test]
fn the_table_sorts_and_filters() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.state().send(Command::SetFilter(">4MiB".to_owned()));
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label_contains("buffer #").count(), 1, "one buffer is larger than 4 MiB");
    harness.state().send(Command::SetFilter("nothing is called this".to_owned()));
    harness.run_steps(3);
    harness.get_by_label_contains("No buffer matches");
    harness.get_by_label("Clear the filter").click();
    harness.run_steps(3);
    harness.get_by_label("Sort by size").click();
    harness.run_steps(3);
    harness.get_by_label("Sort by size").click();
    harness.run_steps(3);
    harness.get_by_label_contains("buffer #3 ");
}

#[test]
fn a_running_job_can_be_cancelled_and_the_last_plan_stays() {
    let mut harness = window(Jobs::held(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(sample("article_three_tensors.json")));
    for _ in 0..3 {
        harness.run_steps(2);
        harness.state_mut().state.jobs.run_held();
    }
    harness.run_steps(2);
    assert_eq!(planned(&harness).plan.strategy, "lowest-floor");
    harness.state().send(Command::SetStrategy("naive".to_owned()));
    harness.run_steps(2);
    assert!(harness.state().state.jobs.running(JobKind::Plan).is_some());
    assert_eq!(planned(&harness).plan.strategy, "lowest-floor", "the last plan stays while the next is made");
    harness.state().send(Command::CancelJob);
    harness.run_steps(2);
    harness.state_mut().state.jobs.run_held();
    harness.run_steps(2);
    assert!(harness.state().state.jobs.running(JobKind::Plan).is_none());
    let session = harness.state().state.session.as_ref().expect("the file is still open");
    assert_eq!(session.options.strategy, "auto", "the settings are those of the plan that is shown");
    assert_eq!(planned(&harness).plan.strategy, "lowest-floor");
}

#[test]
fn a_job_on_a_thread_stops_when_asked() {
    let mut jobs = Jobs::threaded(|| ());
    let (started, has_started) = std::sync::mpsc::channel();
    let (stopped, has_stopped) = std::sync::mpsc::channel();
    let work = move |control: &arenascope_planner::control::Control<'_>| {
        started.send(()).expect("the test waits");
        while !control.is_stopped() {
            std::thread::yield_now();
        }
        stopped.send(()).expect("the test waits");
        crate::jobs::Outcome::Exported(Err("stopped".to_owned()))
    };
    jobs.submit(JobKind::Export, 0, "endless", Box::new(work));
    has_started.recv().expect("the job starts");
    jobs.cancel(JobKind::Export);
    has_stopped.recv().expect("the job stops");
    assert!(jobs.take_events().is_empty(), "the result of a cancelled job is dropped");
}

#[test]
fn a_job_that_panics_becomes_a_message() {
    let mut jobs = Jobs::inline();
    jobs.submit(JobKind::Plan, 0, "broken", Box::new(|_| panic!("a broken job")));
    let events = jobs.take_events();
    assert!(matches!(&events[0].outcome, crate::jobs::Outcome::Planned(Err(message)) if message.contains("a broken job")));
}

#[test]
fn keys_walk_zoom_and_fit() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    let full = harness.state().state.steps.full();
    harness.key_press(Key::Period);
    harness.run_steps(2);
    assert_eq!(harness.state().state.selection.selected_buffer(), Some(BufferId(0)));
    harness.key_press(Key::F);
    harness.run_steps(2);
    assert!(harness.state().state.steps.shown().len() < full.len());
    harness.key_press(Key::F);
    harness.run_steps(2);
    assert!(harness.state().state.steps.is_fit(), "the second press shows everything");
    harness.key_press(Key::P);
    harness.run_steps(2);
    let peak = planned(&harness).summary.peak_step;
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Step(peak)));
    harness.key_press(Key::Home);
    harness.run_steps(2);
    assert!(harness.state().state.steps.is_fit());
}

#[test]
fn all_strategies_stand_beside_each_other_and_one_click_switches() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.get_by_label("Strategies tab").click();
    harness.run_steps(4);
    harness.get_by_label("strategy lowest-floor");
    harness.state().send(Command::Maximise(Some(crate::views::Pane::Strategies)));
    harness.run_steps(3);
    harness.get_by_label("strategy slots-by-size").click();
    harness.run_steps(4);
    assert_eq!(planned(&harness).plan.strategy, "slots-by-size");
}

#[test]
fn a_failed_open_keeps_the_document_that_is_shown() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.state().send(Command::Open(sample("no_such_file.onnx")));
    harness.run_steps(4);
    assert_eq!(planned(&harness).summary.naive_bytes, 52_011_392);
    let notice = harness.state().state.notice.clone().expect("the reason is said");
    assert!(notice.is_error && notice.text.contains("no_such_file.onnx"), "{}", notice.text);
}

#[test]
fn without_a_dialog_an_export_is_written_to_a_typed_path() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("plan.json");
    let mut harness = opened("article_three_tensors.json", ThemeKind::Dark);
    harness.state().send(Command::ExportDialog);
    harness.run_steps(3);
    let field = harness.state().state.path_field.clone().expect("the field stands in for the dialog");
    assert_eq!((field.text.as_str(), field.is_export), ("article_three_tensors.plan.json", true));
    harness.state().send(Command::Export(target.clone()));
    harness.run_steps(3);
    let written = std::fs::read_to_string(target).expect("the plan was written");
    assert!(written.contains("\"kind\": \"plan\"") || written.contains("\"kind\":\"plan\""), "{written}");
    assert_eq!(planned(&harness).summary.arena_bytes, 12 << 20, "the document is still open");
}

#[test]
fn a_right_drag_zooms_into_the_steps_it_covers() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    let chart = harness.get_by_label_contains("Arena chart").rect();
    let (from, to) = (chart.left_center() + egui::vec2(200.0, 0.0), chart.left_center() + egui::vec2(400.0, 10.0));
    let press = |pressed: bool, pos: egui::Pos2| egui::Event::PointerButton {
        pos,
        button: egui::PointerButton::Secondary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    harness.hover_at(from);
    harness.run_steps(1);
    harness.event(press(true, from));
    harness.run_steps(1);
    for part in [0.3, 0.7, 1.0] {
        harness.hover_at(from + (to - from) * part);
        harness.run_steps(1);
    }
    harness.event(press(false, to));
    harness.run_steps(3);
    let (shown, full) = (harness.state().state.steps.shown(), harness.state().state.steps.full());
    let expected = full.len() * 200.0 / f64::from(chart.width());
    assert!((shown.len() - expected).abs() < 1.0, "{shown:?} of {full:?}, not {expected} steps");
}

#[test]
fn shift_with_the_wheel_zoom_zooms_bytes_alone() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    let chart = harness.get_by_label_contains("Arena chart").rect();
    harness.hover_at(chart.center());
    harness.run_steps(1);
    let modifiers = egui::Modifiers::COMMAND | egui::Modifiers::SHIFT;
    let wheel = egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Line,
        delta: egui::vec2(0.0, 3.0),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers,
    };
    harness.event(egui::Event::ModifiersChanged(modifiers));
    harness.event(wheel);
    harness.run_steps(12);
    assert!(harness.state().state.bytes.shown().len() < harness.state().state.bytes.full().len(), "bytes are zoomed");
    assert!(harness.state().state.steps.is_fit(), "steps are not");
}
