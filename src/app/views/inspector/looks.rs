//! The Interference, Inspector and Table views alone: drawn to pictures and driven through their names.

use std::sync::Arc;

use arenascope_planner::generate::Kind;
use arenascope_planner::ids::{BufferId, OpId};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::sample_plans::{bare, generated, sample, sample_with};
use crate::apply::{apply, take_events};
use crate::colours::Colours;
use crate::command::{Command, CommandSender};
use crate::ctx::ViewCtx;
use crate::dialog::FilePicker;
use crate::jobs::{JobKind, Jobs};
use crate::launch::{NoPicker, adopt};
use crate::selection::Item;
use crate::session::Planned;
use crate::state::{Settings, State};
use crate::testing::CpuTestRenderer;
use crate::theme::{ThemeKind, install, is_installed};
use crate::views::Pane;

/// One view with the state of a whole window.
struct Stage {
    state: State,
    colours: Colours,
    commands: CommandSender,
    pane: Pane,
}

impl Stage {
    fn frame(&mut self, ui: &mut egui::Ui) {
        let picker: Arc<dyn FilePicker> = Arc::new(NoPicker);
        for _ in 0..3 {
            for command in self.commands.take() {
                apply(&mut self.state, &picker, command);
            }
            take_events(&mut self.state);
        }
        let Some(planned) = self.state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
        let kind = self.state.settings.theme;
        self.state.selection.begin_frame(Some(&planned));
        let colour_by = self.state.colour_by();
        let difference = self.state.views.strategies.difference(&planned).cloned();
        self.colours.update(&planned, difference.as_ref(), colour_by, kind.tokens());
        let views = &mut self.state.views;
        let ctx = ViewCtx {
            tokens: kind.tokens(),
            planned: &planned,
            difference: difference.as_ref(),
            options: &planned.options,
            selection: &self.state.selection,
            steps: &self.state.steps,
            bytes: &self.state.bytes,
            show_before: false,
            slot_lanes: false,
            wheel_zooms: false,
            colour_by,
            colours: &self.colours,
            maximised: None,
            is_stale: false,
            commands: &self.commands,
        };
        ui.painter().rect_filled(ui.max_rect(), 0.0, kind.tokens().bg1);
        match self.pane {
            Pane::Interference => views.interference.ui(ui, &ctx),
            Pane::Inspector => views.inspector.ui(ui, &ctx),
            _ => views.table.ui(ui, &ctx),
        }
    }
}

fn stage(planned: &Arc<Planned>, pane: Pane, theme: ThemeKind, size: (f32, f32)) -> Harness<'static, Stage> {
    stage_with(Jobs::inline(), planned, pane, theme, size)
}

fn stage_with(jobs: Jobs, planned: &Arc<Planned>, pane: Pane, theme: ThemeKind, size: (f32, f32)) -> Harness<'static, Stage> {
    let mut state = State::new(Settings { theme, reduce_motion: true, ..Settings::default() }, jobs);
    adopt(&mut state, planned);
    let stage = Stage { state, colours: Colours::default(), commands: CommandSender::default(), pane };
    let mut harness = Harness::builder().with_size(egui::vec2(size.0, size.1)).renderer(CpuTestRenderer::default()).build_ui_state(
        move |ui, stage: &mut Stage| {
            if is_installed(ui.ctx()) {
                stage.frame(ui);
            } else {
                install(ui.ctx(), theme);
                ui.ctx().request_repaint();
            }
        },
        stage,
    );
    harness.run_steps(5);
    harness
}

fn select(harness: &mut Harness<'_, Stage>, item: Item) {
    harness.state_mut().commands.send(Command::Select(item));
    harness.run_steps(4);
}

/// Keeps a picture in the build folder, to be looked at.
fn save(harness: &mut Harness<'_, Stage>, name: &str) {
    let picture = harness.render().expect("a picture");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    if folder.is_dir() {
        picture.save(folder.join(format!("look-{name}.png"))).expect("written");
    }
}

/// Bare buffers of which one meets no other.
fn chain() -> Arc<Planned> {
    bare(&[(4 << 20, 0, 2), (1 << 20, 1, 3), (64, 9, 10)])
}

#[test]
fn the_graph_is_drawn_and_a_node_can_be_named() {
    for (theme, word) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        let mut harness = stage(&sample("mobilenet_v2.onnx"), Pane::Interference, theme, (373.0, 378.0));
        harness.get_by_label_contains("Interference graph: 72 conflicts · largest clique 3");
        select(&mut harness, Item::Buffer(BufferId(4)));
        save(&mut harness, &format!("graph-mobilenet-{word}"));
        harness.get_by_label("Ego").click();
        harness.run_steps(3);
        harness.get_by_label_contains("Interference of #4: 2 neighbours");
        save(&mut harness, &format!("ego-mobilenet-{word}"));
    }
}

#[test]
fn other_graphs_fill_the_panel() {
    for (planned, name) in [
        (chain(), "chain"),
        (sample("two_layer_perceptron_training.json"), "training"),
        (sample("bert_base.onnx"), "bert"),
        (sample("article_three_tensors.json"), "article"),
    ] {
        let mut harness = stage(&planned, Pane::Interference, ThemeKind::Dark, (373.0, 378.0));
        save(&mut harness, &format!("graph-{name}"));
    }
    let mut wide = stage(&generated(Kind::Ml, 400), Pane::Interference, ThemeKind::Light, (1000.0, 600.0));
    save(&mut wide, "graph-wide");
}

#[test]
fn a_large_problem_shows_one_buffer_and_counts_the_others() {
    for (theme, word) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        let mut harness = stage(&generated(Kind::Ml, 20_000), Pane::Interference, theme, (373.0, 378.0));
        harness.get_by_label_contains("largest at the peak");
        harness.get_by_label_contains("not drawn");
        save(&mut harness, &format!("ego-large-{word}"));
    }
}

#[test]
fn a_slow_layout_can_be_cancelled_and_asked_for_again() {
    let mut harness = stage_with(Jobs::held(), &chain(), Pane::Interference, ThemeKind::Light, (373.0, 378.0));
    harness.run_steps(60);
    harness.get_by_label("Laying out the graph");
    save(&mut harness, "graph-loading");
    harness.get_by_label("Cancel").click();
    harness.run_steps(3);
    harness.get_by_label("The graph is not laid out");
    harness.get_by_label("Lay it out").click();
    harness.run_steps(3);
    harness.state_mut().state.jobs.run_held();
    harness.run_steps(3);
    assert!(harness.query_by_label("The graph is not laid out").is_none());
    assert!(harness.query_by_label("Laying out the graph").is_none());
}

#[test]
fn a_failed_layout_says_why_and_can_be_tried_again() {
    let mut harness = stage_with(Jobs::held(), &chain(), Pane::Interference, ThemeKind::Dark, (373.0, 378.0));
    harness.state_mut().state.views.interference.take_layout(Err("no memory for 12 nodes".to_owned()));
    harness.run_steps(2);
    harness.get_by_label("The graph could not be laid out");
    harness.get_by_label("no memory for 12 nodes");
    save(&mut harness, "graph-failed");
    harness.get_by_label("Try again").click();
    harness.run_steps(3);
    harness.state_mut().state.jobs.run_held();
    harness.run_steps(3);
    assert!(harness.query_by_label("The graph could not be laid out").is_none());
}

#[test]
fn the_layout_stays_when_only_the_strategy_changes() {
    let mut harness = stage(&sample("two_layer_perceptron_training.json"), Pane::Interference, ThemeKind::Dark, (373.0, 378.0));
    let jobs = std::mem::replace(&mut harness.state_mut().state.jobs, Jobs::held());
    drop(jobs);
    let again = sample_with("two_layer_perceptron_training.json", "slots-by-size");
    adopt(&mut harness.state_mut().state, &again);
    harness.run_steps(3);
    assert!(harness.state().state.jobs.running(JobKind::Layout).is_none(), "a layout was asked for");
}

#[test]
fn the_projector_theme_and_the_pointer() {
    let mobilenet = sample("mobilenet_v2.onnx");
    for (pane, size, name) in
        [(Pane::Interference, (373.0, 378.0), "graph"), (Pane::Inspector, (373.0, 600.0), "inspector"), (Pane::Table, (1066.0, 240.0), "table")]
    {
        let mut harness = stage(&mobilenet, pane, ThemeKind::Projector, size);
        select(&mut harness, Item::Buffer(BufferId(4)));
        harness.event(egui::Event::PointerMoved(egui::pos2(166.0, 94.0)));
        harness.run_steps(8);
        save(&mut harness, &format!("projector-{name}"));
    }
}

#[test]
fn without_conflicts_the_view_says_so() {
    let mut harness = stage(&bare(&[(64, 0, 1), (64, 1, 2)]), Pane::Interference, ThemeKind::Dark, (373.0, 300.0));
    harness.get_by_label_contains("No two buffers are live at the same step");
    save(&mut harness, "graph-empty");
}

#[test]
fn the_inspector_tells_about_every_kind_of_thing() {
    let mobilenet = sample("mobilenet_v2.onnx");
    let op: OpId = mobilenet.op_at(46).expect("an op");
    for (theme, word) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        let mut harness = stage(&mobilenet, Pane::Inspector, theme, (373.0, 700.0));
        harness.get_by_label_contains("nothing is selected");
        save(&mut harness, &format!("inspector-plan-{word}"));
        for (item, name) in [(Item::Buffer(BufferId(4)), "buffer"), (Item::Step(46), "step"), (Item::Op(op), "op")] {
            select(&mut harness, item);
            save(&mut harness, &format!("inspector-{name}-{word}"));
        }
    }
    let mut harness = stage(&sample_with("article_three_tensors.json", "article-printed"), Pane::Inspector, ThemeKind::Light, (373.0, 700.0));
    harness.get_by_label_contains("This plan is not valid");
    save(&mut harness, "inspector-invalid");
    let mut harness = stage(&sample_with("two_layer_perceptron_training.json", "slots-by-size"), Pane::Inspector, ThemeKind::Dark, (373.0, 700.0));
    select(&mut harness, Item::Slot(arenascope_planner::ids::SlotId(0)));
    save(&mut harness, "inspector-slot");
    let mut harness = stage(&generated(Kind::Ml, 20_000), Pane::Inspector, ThemeKind::Dark, (373.0, 900.0));
    select(&mut harness, Item::Buffer(BufferId(12_000)));
    save(&mut harness, "inspector-large");
}

#[test]
fn links_of_the_inspector_lead_on() {
    let mut harness = stage(&sample("mobilenet_v2.onnx"), Pane::Inspector, ThemeKind::Dark, (373.0, 700.0));
    select(&mut harness, Item::Buffer(BufferId(4)));
    harness.get_by_label("#3").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(BufferId(3))));
    harness.get_by_label_contains("buffer #3");
}

#[test]
fn the_table_sorts_filters_and_selects() {
    let mut harness = stage(&sample("mobilenet_v2.onnx"), Pane::Table, ThemeKind::Dark, (1066.0, 300.0));
    harness.get_by_label("53 buffers · sorted by birth");
    harness.get_by_label("Sort by size").click();
    harness.run_steps(2);
    harness.get_by_label("Sort by size").click();
    harness.run_steps(2);
    harness.get_by_label("53 buffers · sorted by size, descending");
    harness.get_by_label("buffer #3 2/conv.0").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(BufferId(3))));
    harness.get_by_label("Filter the table").click();
    harness.run_steps(2);
    harness.get_by_label("Filter the table").type_text("2/conv <1.2MiB");
    harness.run_steps(3);
    harness.get_by_label("buffer #4 2/conv.1");
    assert!(harness.query_by_label("buffer #3 2/conv.0").is_none());
    save(&mut harness, "table-filtered");
    harness.get_by_label("Clear the filter").click();
    harness.run_steps(3);
    harness.get_by_label("buffer #3 2/conv.0");
}

#[test]
fn the_table_draws_and_says_when_nothing_matches() {
    for (theme, word) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        let mut harness = stage(&sample("mobilenet_v2.onnx"), Pane::Table, theme, (1066.0, 240.0));
        select(&mut harness, Item::Buffer(BufferId(30)));
        harness.get_by_label_contains("buffer #30 ");
        save(&mut harness, &format!("table-mobilenet-{word}"));
        harness.state_mut().commands.send(Command::SetFilter(">16GiB".to_owned()));
        harness.run_steps(3);
        harness.get_by_label("No buffer matches “>16GiB”");
        save(&mut harness, &format!("table-no-match-{word}"));
    }
    let mut harness = stage(&generated(Kind::Ml, 20_000), Pane::Table, ThemeKind::Dark, (1400.0, 500.0));
    select(&mut harness, Item::Buffer(BufferId(15_000)));
    harness.get_by_label_contains("buffer #15000 ");
    save(&mut harness, "table-large");
    let mut harness = stage(&sample("article_three_tensors.json"), Pane::Table, ThemeKind::Light, (700.0, 200.0));
    save(&mut harness, "table-narrow");
}
