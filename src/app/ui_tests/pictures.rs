//! Pictures of every drawn view, compared with those in `snapshots`.

use egui_kittest::{SnapshotOptions, SnapshotResults};

use super::opened;
use crate::command::Command;
use crate::theme::ThemeKind;
use crate::views::Pane;

/// Compares one view, alone in a small window, in dark and light.
fn picture_of(results: &mut SnapshotResults, pane: Pane, file: &str, before: impl Fn() -> Vec<Command>) {
    for (theme, suffix) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        let mut harness = opened(file, theme);
        harness.set_size(egui::vec2(960.0, 600.0));
        harness.state().send(Command::Maximise(Some(pane)));
        for command in before() {
            harness.state().send(command);
        }
        harness.run_steps(5);
        let stem = file.split('.').next().unwrap_or(file);
        let name = format!("{}-{stem}-{suffix}", pane.title().to_lowercase());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ui_tests/snapshots");
        harness.snapshot_options(name, &SnapshotOptions::default().output_path(folder));
        results.extend_harness(&mut harness);
    }
}

#[test]
fn lifetimes_look_as_they_did() {
    let mut results = SnapshotResults::new();
    picture_of(&mut results, Pane::Lifetimes, "article_three_tensors.json", Vec::new);
    picture_of(&mut results, Pane::Lifetimes, "mobilenet_v2.onnx", Vec::new);
}

#[test]
fn the_arena_looks_as_it_did() {
    let mut results = SnapshotResults::new();
    picture_of(&mut results, Pane::Arena, "article_three_tensors.json", || vec![Command::SetStrategy("article-printed".to_owned())]);
    picture_of(&mut results, Pane::Arena, "mobilenet_v2.onnx", || vec![Command::ZoomSteps { at: 40.0, factor: 3.0 }, Command::NextBuffer]);
}

#[test]
fn buffers_that_could_be_lower_look_as_they_did() {
    let mut results = SnapshotResults::new();
    picture_of(&mut results, Pane::Arena, "parallel_branches.json", || vec![Command::SetStrategy("naive".to_owned())]);
}

#[test]
fn memory_looks_as_it_did() {
    let mut results = SnapshotResults::new();
    picture_of(&mut results, Pane::Memory, "article_three_tensors.json", Vec::new);
    picture_of(&mut results, Pane::Memory, "mobilenet_v2.onnx", Vec::new);
}

#[test]
fn interference_looks_as_it_did() {
    let mut results = SnapshotResults::new();
    picture_of(&mut results, Pane::Interference, "article_three_tensors.json", Vec::new);
    picture_of(&mut results, Pane::Interference, "mobilenet_v2.onnx", Vec::new);
}
