//! The one place where commands and job results change the state.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arenascope_formats::ReadOptions;
use arenascope_planner::ids::BufferId;

use crate::apply_run;
use crate::axis::{Axis, Glide, Range};
use crate::better::Better;
use crate::command::Command;
use crate::dialog::FilePicker;
use crate::export;
use crate::jobs::{Event, JobKind, Outcome};
use crate::model::RowOrder;
use crate::planning;
use crate::samples::{SAMPLES, thumbnails};
use crate::selection::Item;
use crate::session::{PlanOptions, Planned, Session, Stage, make_plan_showing};
use crate::state::{ColourBy, Notice, PathField, Sample, State};
use crate::theme::ThemeKind;
use crate::views::{Pane, interference, strategies};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Status;
use arenascope_planner::solve::{AUTO, find_strategy};

/// A dialog that answers "no file" faster than this was not shown at all.
const NO_DIALOG: Duration = Duration::from_millis(150);

/// From this many tensors or buffers on, a quick plan is shown while `auto` still searches.
const PREVIEW_FROM: usize = 5_000;

/// The strategy of the first picture of a large file.
const PREVIEW: &str = "lowest-floor";

/// How many files are remembered.
const MAX_RECENT: usize = 8;

/// Zoom of one key press.
const KEY_ZOOM: f64 = 1.5;

/// Part of a view that one key press pans.
const KEY_PAN: f64 = 0.25;

/// Carries out a command.
pub fn apply(state: &mut State, picker: &Arc<dyn FilePicker>, command: Command) {
    match command {
        Command::OpenDialog => pick(state, picker),
        Command::OpenByPath => state.path_field = Some(PathField { text: String::new(), is_export: false }),
        Command::Open(path) => open(state, &path),
        Command::OpenSample(sample) => open_sample(state, sample),
        Command::CloseFile => {
            state.views.maximised = None;
            close(state);
        }
        Command::ClearRecent => state.settings.recent.clear(),
        Command::ExportDialog => pick_export(state, picker),
        Command::Export(path) => export_to(state, path),
        Command::CancelJob => cancel(state),
        Command::LayOutInterference => lay_out(state),
        Command::CompareStrategies => compare(state),
        Command::CompareWith(against) => planning::compare_with(state, against),
        Command::MeasureOrders => planning::measure_orders(state),
        Command::Undo => planning::undo(state),
        Command::Redo => planning::redo(state),
        Command::Run(command) => apply_run::apply_run(state, command),
        Command::Quit => state.quit = true,
        command => apply_to_view(state, command),
    }
}

fn apply_to_view(state: &mut State, command: Command) {
    match command {
        Command::Replan => replan(state, |_| ()),
        Command::SetStrategy(name) => replan(state, |options| options.strategy = name),
        Command::SetAlign(align) => replan(state, |options| *options = options.clone().with_align(align)),
        Command::SetInPlace(on) => replan(state, |options| *options = options.clone().with_in_place(on)),
        Command::SetIo(io) => replan(state, |options| *options = options.clone().with_io(io)),
        Command::SetOrder(order) => replan(state, |options| *options = options.clone().with_order(order)),
        Command::SetParallel(parallel) => replan(state, |options| *options = options.clone().with_parallel(parallel)),
        Command::SetCapacity(bytes) => replan(state, |options| options.prepare.capacity_bytes = bytes),
        Command::SetColour(colour) => set_colour(state, colour),
        Command::SetTheme(theme) => state.settings.theme = theme,
        Command::NextTheme => state.settings.theme = next_theme(state.settings.theme),
        Command::SetWheelZooms(on) => state.settings.wheel_zooms = on,
        Command::SetBefore(on) => show_before(state, on),
        Command::FlipBefore => show_before(state, !state.show_before),
        Command::SetSlotLanes(on) => state.slot_lanes = on,
        Command::SetRowOrder(order) => state.views.lifetimes.order = order,
        Command::Maximise(pane) => state.views.maximised = pane,
        Command::ShowFoot(pane) => state.views.shows_strategies = pane == Pane::Strategies,
        Command::ResetLayout => state.views.reset_layout(),
        Command::Find => state.views.start_search(),
        Command::SetFilter(filter) => state.views.table.set_filter(filter),
        Command::ToggleHelp => state.show_help = !state.show_help,
        command => navigate(state, command),
    }
}

fn navigate(state: &mut State, command: Command) {
    let quick = glide(state, Glide::Quick);
    match command {
        Command::Select(item) => select(state, Some(item)),
        Command::MarkSteps(range) => state.selection.steps = range,
        Command::Clear => clear(state),
        Command::NextBuffer => walk(state, 1),
        Command::PreviousBuffer => walk(state, -1),
        Command::GoToPeak => go_to_peak(state),
        Command::Fit => fit(state),
        Command::ZoomToSelection => zoom_to_selection(state),
        Command::ShowSteps(range, how) => state.steps.show(range, glide(state, how)),
        Command::ZoomSteps { at, factor } => state.steps.zoom(at, factor, quick),
        Command::ZoomIn => state.steps.zoom(state.steps.target().at(0.5), KEY_ZOOM, quick),
        Command::ZoomOut => state.steps.zoom(state.steps.target().at(0.5), 1.0 / KEY_ZOOM, quick),
        Command::PanSteps(part) => state.steps.pan(part, Glide::Jump),
        Command::PanLeft => state.steps.pan(-KEY_PAN, quick),
        Command::PanRight => state.steps.pan(KEY_PAN, quick),
        Command::ShowBytes(range, how) => state.bytes.show(range, glide(state, how)),
        Command::ZoomBytes { at, factor } => state.bytes.zoom(at, factor, quick),
        _ => unreachable!("every other command is handled by its own stage"),
    }
}

/// Takes the results of finished jobs.
pub fn take_events(state: &mut State) {
    for event in state.jobs.take_events() {
        take_event(state, event);
    }
    planning::take_better(state);
}

fn take_event(state: &mut State, event: Event) {
    match event.outcome {
        Outcome::Picked(Some(path), _) if event.kind == JobKind::Pick => open(state, &path),
        Outcome::Picked(Some(path), _) => export_to(state, path),
        Outcome::Picked(None, took) => {
            if took < NO_DIALOG {
                let is_export = event.kind == JobKind::PickExport;
                let text = if is_export { suggested_export(state) } else { String::new() };
                state.path_field.get_or_insert(PathField { text, is_export });
                notify(state, "no file dialog is available here; type the path", false);
            }
        }
        Outcome::Loaded(result) => loaded(state, result),
        Outcome::Planned(result) => planned(state, event.revision, result),
        Outcome::Compared(result) => {
            state.views.strategies.take(result);
            planning::work_out_difference(state);
        }
        Outcome::Better(Ok(plan)) => planning::better_planned(state, event.revision, plan),
        Outcome::Explained(Ok((planned, insight))) => _ = planned.insight.set(insight),
        Outcome::Differs(Ok(difference)) => state.views.strategies.take_difference(difference),
        Outcome::Ordered(result) => {
            if let Some(session) = &mut state.session {
                session.orders.finish(result);
            }
        }
        Outcome::Better(Err(message)) | Outcome::Explained(Err(message)) | Outcome::Differs(Err(message)) => notify(state, message, true),
        Outcome::Thumbnails(thumbnails) => state.views.thumbnails = thumbnails,
        Outcome::LaidOut(result) => state.views.interference.take_layout(result),
        Outcome::Recorded(result) => {
            drop_pending(state);
            apply_run::opened(state, result);
        }
        Outcome::Probed(report) => apply_run::probed(state, report),
        Outcome::Ran(result) => apply_run::ran(state, result),
        Outcome::Exported(Ok(path)) => notify(state, format!("wrote {}", path.display()), false),
        Outcome::Exported(Err(message)) => notify(state, message, true),
    }
}

pub(crate) fn notify(state: &mut State, text: impl Into<String>, is_error: bool) {
    state.notice = Some(Notice { text: text.into(), is_error });
}

fn glide(state: &State, wanted: Glide) -> Glide {
    if state.settings.reduce_motion { Glide::Jump } else { wanted }
}

/// While plans are compared, `Difference` is one of the colours; any other one replaces it.
fn set_colour(state: &mut State, colour: ColourBy) {
    state.views.strategies.colour_difference(colour == ColourBy::Difference);
    if colour != ColourBy::Difference {
        state.settings.colour = Some(colour);
    }
}

fn next_theme(theme: ThemeKind) -> ThemeKind {
    let at = ThemeKind::ALL.iter().position(|&other| other == theme).unwrap_or(0);
    ThemeKind::ALL[(at + 1) % ThemeKind::ALL.len()]
}

fn pick(state: &mut State, picker: &Arc<dyn FilePicker>) {
    let picker = Arc::clone(picker);
    state.jobs.submit(JobKind::Pick, 0, "Waiting for the file dialog", Box::new(move |_| picked(|| picker.open())));
}

fn pick_export(state: &mut State, picker: &Arc<dyn FilePicker>) {
    let picker = Arc::clone(picker);
    let suggestion = suggested_export(state);
    let work = move |_: &arenascope_planner::control::Control<'_>| picked(|| picker.save(&suggestion));
    state.jobs.submit(JobKind::PickExport, 0, "Waiting for the file dialog", Box::new(work));
}

/// The file name that an export is offered under.
fn suggested_export(state: &State) -> String {
    let stem = state.session.as_ref().map_or_else(|| "plan".to_owned(), |session| export::stem(&session.name));
    if let Some(recording) = state.views.run.shown().filter(|_| state.views.maximised == Some(Pane::Run)) {
        return format!("{}.run.json", export::stem(&recording.record.file));
    }
    format!("{stem}.plan.json")
}

fn picked(ask: impl FnOnce() -> Option<PathBuf>) -> Outcome {
    let started = std::time::Instant::now();
    let path = ask();
    Outcome::Picked(path, started.elapsed())
}

fn open(state: &mut State, path: &Path) {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    state.settings.recent.retain(|recent| recent != path);
    state.settings.recent.insert(0, std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    state.settings.recent.dedup();
    state.settings.recent.truncate(MAX_RECENT);
    let name = begin(state, Some(path), name);
    let (path, read) = (path.to_owned(), state.next_read.clone());
    // They belong to this file only.
    state.next_read.beside.clear();
    let work = move |control: &arenascope_planner::control::Control<'_>| {
        if let Some(recorded) = apply_run::read_recorded_run(&path) {
            return Outcome::Recorded(recorded);
        }
        Outcome::Loaded(arenascope_formats::read(&path, &read, control).map(Arc::new).map_err(|error| error.to_string()))
    };
    state.jobs.submit(JobKind::Load, 0, format!("Reading {name}"), Box::new(work));
}

fn open_sample(state: &mut State, sample: Sample) {
    let Some(built_in) = SAMPLES.get(sample.index) else { return };
    begin(state, None, built_in.file.to_owned());
    let work = move |_: &arenascope_planner::control::Control<'_>| {
        Outcome::Loaded(
            arenascope_formats::read_bytes(built_in.file, built_in.bytes, &ReadOptions::default()).map(Arc::new).map_err(|error| error.to_string()),
        )
    };
    state.jobs.submit(JobKind::Load, 0, format!("Reading {}", built_in.file), Box::new(work));
}

/// Begins to read a document; the open one stays until the new one is there.
fn begin(state: &mut State, path: Option<&Path>, name: String) -> String {
    state.path_field = None;
    state.opening = Some(Session::new(path, name.clone(), state.next_read.clone(), state.next_options.clone()));
    if find_strategy(&state.next_options.strategy).is_some_and(|strategy| !strategy.is_safe) {
        AUTO.clone_into(&mut state.next_options.strategy);
    }
    if state.session.as_ref().is_none_or(|session| session.shown().is_none()) {
        close(state);
        state.session = state.opening.take();
    }
    name
}

/// Lets go of a document that turned out to be none.
fn drop_pending(state: &mut State) {
    state.opening = None;
    if state.session.as_ref().is_some_and(|session| session.workload.is_running()) {
        close(state);
    }
}

fn close(state: &mut State) {
    let kinds = [JobKind::Load, JobKind::Plan, JobKind::Layout, JobKind::Compare, JobKind::Run];
    for kind in kinds.into_iter().chain([JobKind::Better, JobKind::Explain, JobKind::Difference, JobKind::Orders]) {
        state.jobs.cancel(kind);
    }
    state.session = None;
    state.selection = crate::selection::Selection::default();
    state.show_before = false;
    state.notice = None;
    state.views.forget_document();
}

fn cancel(state: &mut State) {
    let was_searching = state.is_searching();
    // A better plan that is being checked is kept: it is what there is.
    for kind in
        [JobKind::Pick, JobKind::PickExport, JobKind::Load, JobKind::Plan, JobKind::Layout, JobKind::Compare, JobKind::Orders, JobKind::Export]
    {
        state.jobs.cancel(kind);
    }
    state.jobs.stop(JobKind::Run);
    if state.opening.take().is_some() {
        notify(state, "cancelled", false);
        return;
    }
    if let Some(session) = &mut state.session {
        if session.workload.is_running() {
            close(state);
        } else if session.planned.is_running() {
            session.planned.give_up();
            if let Some(shown) = session.shown() {
                session.options = shown.options.clone();
            }
        }
    }
    if let Some(session) = &mut state.session {
        session.orders.give_up();
    }
    state.views.interference.give_up();
    state.views.strategies.give_up();
    notify(state, if was_searching { "stopped; the best plan so far is kept" } else { "cancelled" }, false);
}

fn loaded(state: &mut State, result: Result<Arc<arenascope_planner::workload::Workload>, String>) {
    if let Some(mut opening) = state.opening.take() {
        if let Err(message) = &result {
            notify(state, message.clone(), true);
            return;
        }
        opening.workload = Stage::Empty;
        close(state);
        state.session = Some(opening);
    }
    let Some(session) = &mut state.session else { return };
    session.workload.finish(result);
    let is_large = matches!(&session.workload, Stage::Ready(workload) if workload.n_items() >= PREVIEW_FROM);
    if is_large && session.options.strategy == AUTO {
        submit_plan(state, Some(PREVIEW));
    } else {
        replan(state, |_| ());
    }
}

/// Changes the options and plans again in the background; the shown plan stays until the new one is there.
fn replan(state: &mut State, change: impl FnOnce(&mut PlanOptions)) {
    let Some(session) = &mut state.session else { return };
    let before = session.options.clone();
    change(&mut session.options);
    if session.options != before {
        session.history.remember(&before);
    }
    submit_plan(state, None);
}

/// Plans in the background, with another strategy than the chosen one for a first picture.
pub(crate) fn submit_plan(state: &mut State, instead: Option<&str>) {
    let Some(session) = &mut state.session else { return };
    let Stage::Ready(workload) = &session.workload else { return };
    session.revision += 1;
    session.planned.start();
    session.better = Better::default();
    session.shows_best = false;
    let (workload, mut options, better) = (Arc::clone(workload), session.options.clone(), session.better.clone());
    if let Some(strategy) = instead {
        strategy.clone_into(&mut options.strategy);
    }
    let work = move |control: &arenascope_planner::control::Control<'_>| Outcome::Planned(make_plan_showing(&workload, &options, control, &better));
    state.jobs.submit(JobKind::Plan, session.revision, "Planning", Box::new(work));
}

/// Shows a plan as if it had just been made.
pub fn show_plan(state: &mut State, plan: Arc<Planned>) {
    let revision = state.session.as_ref().map_or(0, |session| session.revision);
    planned(state, revision, Ok(plan));
}

fn planned(state: &mut State, revision: u64, result: Result<Arc<Planned>, String>) {
    let Some(session) = state.session.as_mut().filter(|session| session.revision == revision) else { return };
    let is_first = session.shown().is_none();
    session.planned.finish(result);
    // What the search found on its way is now behind the plan.
    session.better = Better::default();
    let Some(planned) = session.shown().cloned() else { return };
    let is_preview = is_first && planned.options.strategy == PREVIEW && session.options.strategy == AUTO;
    take_over(state, &planned, is_first);
    if is_preview && planned.plan.status != Status::Optimal {
        submit_plan(state, None);
        if let Some(session) = &mut state.session {
            session.shows_best = true;
        }
    }
}

/// Fits axes, selection and views to a plan that is shown from now on, and has it explained.
pub(crate) fn take_over(state: &mut State, planned: &Arc<Planned>, is_first: bool) {
    let steps = range_of(planned.model.steps);
    if is_first {
        state.steps = Axis::new(steps, 2.0);
        state.bytes = Axis::new(byte_range(planned, state.show_before), 16.0);
    } else {
        state.steps.set_full(steps, 2.0);
        state.bytes.set_full(byte_range(planned, state.show_before), 16.0);
    }
    state.selection.replan(Some(planned));
    state.views.replan(planned);
    planning::explain(state, planned);
    planning::work_out_difference(state);
}

fn range_of(steps: Lifetime) -> Range {
    #[expect(clippy::cast_precision_loss, reason = "steps beyond 2^53 cannot be told apart on a screen")]
    Range::new(steps.start as f64, steps.end as f64)
}

/// From zero to a little above the tallest of arena, bound and capacity line, or the height before planning.
fn byte_range(planned: &Planned, before: bool) -> Range {
    let capacity = planned.summary.capacity_bytes.filter(|_| !before).unwrap_or(0);
    let lanes = planned.model.lanes.height();
    let top = if before {
        planned.model.before_bytes
    } else if lanes > 0 {
        lanes
    } else {
        planned.plan.arena_bytes.max(capacity).max(planned.summary.lower_bound_bytes)
    };
    #[expect(clippy::cast_precision_loss, reason = "bytes beyond 2^53 cannot be told apart on a screen")]
    Range::new(0.0, (top.max(1) as f64) * 1.08)
}

fn show_before(state: &mut State, on: bool) {
    state.show_before = on;
    if let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) {
        state.bytes = Axis::new(byte_range(&planned, on), 16.0);
    }
}

/// Lays out the interference graph of the shown plan in the background.
fn lay_out(state: &mut State) {
    let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
    let work = move |control: &arenascope_planner::control::Control<'_>| Outcome::LaidOut(interference::lay_out(&planned, control));
    state.jobs.submit(JobKind::Layout, 0, "Laying out the interference graph", Box::new(work));
}

/// Runs all strategies on the shown problem in the background.
fn compare(state: &mut State) {
    let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
    let work = move |control: &arenascope_planner::control::Control<'_>| Outcome::Compared(strategies::compare(&planned, control));
    state.jobs.submit(JobKind::Compare, 0, "Running all strategies", Box::new(work));
}

/// Makes the small pictures of the samples in the background.
pub fn make_thumbnails(state: &mut State) {
    let work = |control: &arenascope_planner::control::Control<'_>| Outcome::Thumbnails(thumbnails(control));
    state.jobs.submit(JobKind::Thumbnails, 0, "Drawing the samples", Box::new(work));
}

fn select(state: &mut State, item: Option<Item>) {
    let planned = state.session.as_ref().and_then(|session| session.shown().cloned());
    state.selection.select(item, planned.as_deref());
    if let Some(planned) = planned {
        state.views.reveal(&planned, state.selection.selected_buffer());
    }
}

fn clear(state: &mut State) {
    if state.path_field.take().is_some() || std::mem::take(&mut state.show_help) {
        return;
    }
    if state.selection.selected().is_none() && state.selection.steps.is_none() && state.views.maximised.take().is_some() {
        return;
    }
    let nothing_marked = state.selection.selected().is_none() && state.selection.steps.is_none();
    if nothing_marked && state.notice.take().is_none() {
        state.views.table.set_filter(String::new());
    }
    state.selection.steps = None;
    select(state, None);
}

/// Selects the buffer `by` places after the selected one in the order of birth.
fn walk(state: &mut State, by: i64) {
    let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
    let order = planned.model.order(RowOrder::Birth);
    let at = state.selection.selected_buffer().map(|buffer| i64::from(planned.model.row(RowOrder::Birth, buffer)));
    let last = i64::try_from(order.len()).unwrap_or(i64::MAX) - 1;
    let next = at.map_or(if by > 0 { 0 } else { last }, |at| (at + by).clamp(0, last));
    if let Some(&buffer) = usize::try_from(next).ok().and_then(|next| order.get(next)) {
        select(state, Some(Item::Buffer(buffer)));
        keep_in_sight(state, &planned, buffer);
    }
}

fn keep_in_sight(state: &mut State, planned: &Planned, buffer: BufferId) {
    let Some(life) = planned.lifetime(buffer).map(range_of) else { return };
    let shown = state.steps.target();
    if !shown.contains(life.start) || !shown.contains(life.end) {
        let centre = life.at(0.5);
        let half = (shown.len() / 2.0).max(life.len() * 0.6);
        state.steps.show(Range::new(centre - half, centre + half), glide(state, Glide::Calm));
    }
}

fn go_to_peak(state: &mut State) {
    let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
    let step = planned.summary.peak_step;
    let centre = range_of(Lifetime { start: step, end: step + 1 }).at(0.5);
    let full = state.steps.full().len();
    let half = (state.steps.target().len().min((full / 4.0).max(24.0))) / 2.0;
    state.steps.show(Range::new(centre - half, centre + half), glide(state, Glide::Calm));
    select(state, Some(Item::Step(step)));
}

fn fit(state: &mut State) {
    let how = glide(state, Glide::Calm);
    state.steps.fit(how);
    state.bytes.fit(how);
}

fn zoom_to_selection(state: &mut State) {
    let Some(planned) = state.session.as_ref().and_then(|session| session.shown().cloned()) else { return };
    let life = match state.selection.selected() {
        Some(Item::Step(step)) => Some(Lifetime { start: step, end: step + 1 }),
        Some(Item::Op(op)) => planned.step_of(op).map(|step| Lifetime { start: step, end: step + 1 }),
        _ => state.selection.selected_buffer().and_then(|buffer| planned.lifetime(buffer)),
    };
    let Some(life) = state.selection.steps.or(life).map(range_of) else { return fit(state) };
    let half = (life.len() * 1.5).max(6.0);
    let wanted = Range::new(life.at(0.5) - half, life.at(0.5) + half);
    let mut probe = state.steps.clone();
    probe.show(wanted, Glide::Jump);
    if probe.target() == state.steps.target() { fit(state) } else { state.steps.show(wanted, glide(state, Glide::Calm)) }
}

fn export_to(state: &mut State, path: PathBuf) {
    state.path_field = None;
    let is_run = path.to_string_lossy().ends_with(".run.json");
    let shows_run = state.views.maximised == Some(Pane::Run) && path.extension().is_some_and(|extension| extension == "json");
    if (is_run || shows_run) && apply_run::save_run(state, &path) {
        return;
    }
    let planned = state.session.as_ref().and_then(|session| session.shown().cloned());
    if apply_run::draw_run(state, &path, planned.as_ref()) {
        return;
    }
    let Some(planned) = planned else { return };
    let source = state.session.as_ref().and_then(|session| session.path.clone());
    let picture = export::Picture { settings: state.settings.clone(), view: None, size: (1440, 900) };
    let work = move |_: &arenascope_planner::control::Control<'_>| {
        Outcome::Exported(export::write(&planned, source.as_deref(), &path, &picture).map(|()| path.clone()).map_err(|error| format!("{error:#}")))
    };
    state.jobs.submit(JobKind::Export, 0, "Writing", Box::new(work));
}
