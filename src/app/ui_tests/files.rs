//! Files that come into the window together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui_kittest::Harness;

use super::{planned, window};
use crate::app::App;
use crate::jobs::Jobs;
use crate::theme::ThemeKind;

/// A file as a desktop drops it.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

fn drop_files(harness: &mut Harness<'static, App>, paths: &[&Path]) {
    for path in paths {
        harness.input_mut().dropped_files.push(Arc::new(Dropped((*path).to_owned())));
    }
    harness.run_steps(4);
}

/// The two texts of an XLA module, each in a folder of its own, so that nothing but the drop brings them together.
#[test]
fn files_that_are_dropped_together_are_read_together() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/xla");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let apart = |name: &str, part: &str| {
        let to = folder.path().join(part);
        std::fs::create_dir_all(&to).expect("writable");
        std::fs::copy(data.join(name), to.join(name)).expect("copied");
        to.join(name)
    };
    let sizes = apart("cnn_fwd.buffer-assignment.txt", "sizes");
    let lifetimes = apart("cnn_fwd.live-range.txt", "lifetimes");
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    drop_files(&mut harness, &[&sizes]);
    assert_eq!(planned(&harness).prepared.problem.n_buffers(), 27, "blocks without a time");
    drop_files(&mut harness, &[&lifetimes, &sizes]);
    assert_eq!(planned(&harness).prepared.problem.n_buffers(), 14);
    assert!(harness.state().state.next_read.beside.is_empty(), "they belong to this file only");
    drop_files(&mut harness, &[&sizes]);
    assert_eq!(planned(&harness).prepared.problem.n_buffers(), 27, "the file before has nothing to do with it");
}
