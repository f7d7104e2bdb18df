//! Asking for a file: the system's dialog, or whatever a test puts in its place.

use std::path::PathBuf;

/// Asks the person for a file. Called on a worker thread, may block as long as it likes.
pub trait FilePicker: Send + Sync + std::fmt::Debug {
    /// A file to read; `None` if the person chose none or no dialog can be shown.
    fn open(&self) -> Option<PathBuf>;
    /// Where to write; `suggestion` is a file name.
    fn save(&self, suggestion: &str) -> Option<PathBuf>;
}

/// The system's dialog, through the desktop portal.
#[derive(Debug, Default)]
pub struct SystemPicker;

impl FilePicker for SystemPicker {
    fn open(&self) -> Option<PathBuf> {
        let extensions: Vec<&str> = arenascope_formats::formats().iter().flat_map(|format| format.extensions).copied().collect();
        rfd::FileDialog::new().set_title("Open a model, a problem or a plan").add_filter("Models and problems", &extensions).add_filter("All files", &["*"]).pick_file()
    }

    fn save(&self, suggestion: &str) -> Option<PathBuf> {
        rfd::FileDialog::new()
            .set_title("Export")
            .set_file_name(suggestion)
            .add_filter("Plan, problem, graph or picture", &["json", "csv", "dot", "png", "svg"])
            .save_file()
    }
}
