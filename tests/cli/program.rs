//! Runs the built program and keeps what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a run of the program left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program in the root of the repository, where `sample-graphs` is.
pub(crate) fn run(args: &[&str]) -> Run {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), args)
}

/// Runs the program in `folder`, with no display to be found.
pub(crate) fn run_in(folder: &Path, args: &[&str]) -> Run {
    let output = command(folder, args).stdin(Stdio::null()).output().expect("the program was built with this test");
    Run {
        code: output.status.code().expect("the program ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("reports are text"),
        stderr: String::from_utf8(output.stderr).expect("messages are text"),
    }
}

/// The program, ready to start in `folder`.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arenascope"));
    command.args(args).current_dir(folder).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    command
}

/// The absolute path of a sample.
pub(crate) fn sample(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "sample-graphs", name].iter().collect();
    path.to_str().expect("the repository has a plain path").to_owned()
}

/// `plan --json` of a sample with further options, and the exit code.
pub(crate) fn plan_json(file: &str, options: &[&str]) -> (i32, Value) {
    let path = sample(file);
    let run = run(&[&["plan", path.as_str(), "--json"], options].concat());
    let value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{file} {options:?}: {error}: {}{}", run.stdout, run.stderr));
    (run.code, value)
}

/// A file with `bytes` in a folder of its own that lives as long as the first value.
pub(crate) fn temporary(name: &str, bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("the folder is writable");
    let path = path.to_str().expect("temporary folders have plain paths").to_owned();
    (folder, path)
}
