//! Carrying out what belongs to the Run view: probing, running, stopping, recordings.

use std::path::Path;
use std::sync::Arc;

use arenascope_formats::atomic::write_atomically;
use arenascope_gpu::probe::{ProbeOutcome, ProbeReport};
use arenascope_planner::control::Control;

use crate::apply::notify;
use crate::axis::{Axis, Range};
use crate::export::Picture;
use crate::jobs::{JobKind, Outcome};
use crate::launch::{Document, render_document};
use crate::session::Planned;
use crate::state::State;
use crate::views::Pane;
use crate::views::chart::step_value;
use crate::views::run::{Live, Recording, RunCommand, RunOrder, blocked, is_recorded_run, probe, run};

/// Bytes of a file that are looked at to tell whether it is a recorded run.
const HEAD_BYTES: u64 = 512;

/// Largest recorded run that is opened, bytes.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Carries out a command of the Run view.
pub(crate) fn apply_run(state: &mut State, command: RunCommand) {
    match command {
        RunCommand::Probe => start_probe(state),
        RunCommand::Start => start(state),
        RunCommand::Stop => state.jobs.stop(JobKind::Run),
        RunCommand::Set(settings) => state.views.run.settings = settings,
        RunCommand::Show(index) => state.views.run.show(index),
        RunCommand::Against(index) => state.views.run.compare_with(index),
        RunCommand::Forget(index) => state.views.run.forget(index),
        RunCommand::Dismiss => state.views.run.failure = None,
    }
    fit_steps(state);
}

fn start_probe(state: &mut State) {
    let Some(access) = state.devices.clone() else { return };
    state.views.run.probe.start();
    let work = move |_: &Control<'_>| Outcome::Probed(Arc::new(probe(&access)));
    state.jobs.submit(JobKind::Probe, 0, "Looking for devices", Box::new(work));
}

fn start(state: &mut State) {
    let planned = state.session.as_ref().filter(|session| !session.planned.is_running()).and_then(|session| session.shown().cloned());
    let (Some(planned), Some(access)) = (planned, state.devices.clone()) else { return };
    state.views.maximised = Some(Pane::Run);
    if blocked(&planned).is_some() || state.jobs.running(JobKind::Run).is_some() {
        return;
    }
    let view = &mut state.views.run;
    let probe = view.probe.value().cloned();
    let settings = &view.settings;
    let device = settings.device(probe.as_deref());
    let options = settings.options(device);
    let times = settings.times(device, planned.plan.arena_bytes);
    let live = Live::default();
    let order = RunOrder { planned, access, options, times, name: view.next_name(), live: live.clone() };
    view.begin(live);
    let work = move |control: &Control<'_>| Outcome::Ran(run(&order, control));
    state.jobs.submit(JobKind::Run, 0, "Starting the run", Box::new(work));
}

/// Takes what a probe found.
pub(crate) fn probed(state: &mut State, report: Arc<ProbeReport>) {
    state.views.run.probe.finish(Ok(report));
}

/// What a probe that broke counts as.
pub(crate) fn broken_probe(message: &str) -> Outcome {
    Outcome::Probed(Arc::new(ProbeReport::failure(ProbeOutcome::NoAnswer, message)))
}

/// Takes a run that has ended.
pub(crate) fn ran(state: &mut State, result: Result<Arc<Recording>, String>) {
    state.views.run.end(result);
}

/// Takes a recorded run that was opened.
pub(crate) fn opened(state: &mut State, result: Result<Arc<Recording>, String>) {
    match result {
        Ok(recording) => {
            state.views.run.add(recording);
            state.views.maximised = Some(Pane::Run);
            fit_steps(state);
        }
        Err(message) => notify(state, message, true),
    }
}

/// Without a file the steps are those of the run that is shown.
fn fit_steps(state: &mut State) {
    if state.session.is_none()
        && let Some(steps) = state.views.run.shown().map(|recording| recording.steps)
    {
        let full = Range::new(step_value(steps.start), step_value(steps.end));
        if state.steps.full() != full {
            state.steps = Axis::new(full, 2.0);
        }
    }
}

/// The recorded run in a file; `None` if the file is something else.
#[must_use]
pub fn read_recorded_run(path: &Path) -> Option<Result<Arc<Recording>, String>> {
    use std::io::Read;
    let file = std::fs::File::open(path).ok()?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    if !is_recorded_run(&head) {
        return None;
    }
    let shown = path.display();
    let name = path.file_name().map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if bytes > MAX_RECORD_BYTES {
        return Some(Err(format!("{shown}: {} is too large for a recorded run; the limit is 1 GiB", crate::text::bytes(bytes))));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"));
    Some(text.and_then(|text| Recording::from_json(name, &text).map_err(|message| format!("{shown}: {message}"))))
}

/// Writes the run that is shown to a file in the background; `false` if none is.
pub(crate) fn save_run(state: &mut State, path: &Path) -> bool {
    let Some(recording) = state.views.run.shown().cloned() else { return false };
    let path = path.to_owned();
    let work = move |_: &Control<'_>| {
        let written = write_atomically(&path, recording.record.to_json().as_bytes());
        Outcome::Exported(written.map(|()| path.clone()).map_err(|error| format!("the run could not be saved: {}: {error}", path.display())))
    };
    state.jobs.submit(JobKind::Export, 0, "Writing", Box::new(work));
    true
}

/// Draws the run that is shown to a picture in the background; `false` if none is, or another kind of file is meant.
pub(crate) fn draw_run(state: &mut State, path: &Path, planned: Option<&Arc<Planned>>) -> bool {
    let is_picture = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png") || extension.eq_ignore_ascii_case("svg"));
    let shown = state.views.run.shown().filter(|_| is_picture && state.views.maximised == Some(Pane::Run));
    let Some(recording) = shown.cloned() else { return false };
    let (path, planned) = (path.to_owned(), planned.cloned());
    let picture = Picture { settings: state.settings.clone(), view: Some(Pane::Run), size: (1440, 900) };
    let work = move |_: &Control<'_>| {
        let drawn = render_document(&Document::Recorded(recording, planned), &picture, &path);
        Outcome::Exported(drawn.map(|()| path.clone()).map_err(|error| format!("{error:#}")))
    };
    state.jobs.submit(JobKind::Export, 0, "Drawing", Box::new(work));
    true
}
