//! The window and its pictures: the only file of the command line that knows the window's crate.

use std::path::{Path, PathBuf};

use anyhow::Context;
use arenascope_app::{LaunchSettings, WindowError, read_recorded_run};
use arenascope_gpu::record::RunRecord;

use crate::cli_request::{Job, Picture};

/// The picture that stands in for the window, in pixels: what the window itself opens with.
const WINDOW_SIZE: (u32, u32) = (1440, 900);

/// How opening the window ended.
pub(crate) enum Opened {
    /// It was shown, and the user closed it.
    Closed,
    /// There is nothing to show it on, and this is why.
    NoDisplay(String),
}

/// Opens the window, with a file if there is one, and returns when it is closed.
pub(crate) fn open_window(file: Option<&Path>, job: &Job) -> anyhow::Result<Opened> {
    match arenascope_app::run_window(file, &launch_settings(job)) {
        Ok(()) => Ok(Opened::Closed),
        Err(WindowError::NoDisplay(why)) => Ok(Opened::NoDisplay(why)),
        Err(error) => Err(error).context("the window cannot be opened"),
    }
}

/// Draws a view to a file and says where.
pub(crate) fn draw_picture(file: &Path, job: &Job, picture: &Picture) -> anyhow::Result<String> {
    arenascope_app::render_to_file(file, &launch_settings(job), &picture.view, picture.size, &picture.theme, &picture.output)?;
    let (width, height) = picture.size;
    Ok(format!(
        "{}: the {} at {width} × {height} pixels\n",
        picture.output.display(),
        if picture.view == "window" { "window".to_owned() } else { format!("{} view", picture.view) }
    ))
}

/// The recorded run in a file; `None` if the file is something else.
pub(crate) fn recorded_run(file: &Path) -> anyhow::Result<Option<RunRecord>> {
    let recorded = read_recorded_run(file).transpose().map_err(anyhow::Error::msg)?;
    Ok(recorded.map(|recording| recording.record.clone()))
}

/// Where the picture of a window goes that cannot be shown: the working directory.
pub(crate) fn window_picture(file: &Path) -> Picture {
    let stem = file.file_stem().unwrap_or(file.as_os_str()).to_owned();
    let mut name = stem;
    name.push(".window.png");
    Picture { view: "window".to_owned(), size: WINDOW_SIZE, theme: "dark".to_owned(), output: PathBuf::from(name) }
}

fn launch_settings(job: &Job) -> LaunchSettings {
    LaunchSettings {
        read: job.read.clone(),
        prepare: job.prepare,
        strategy: job.strategy.clone(),
        solve: job.run.solve,
        time_limit: job.run.time_limit,
    }
}
