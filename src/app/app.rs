//! The window: takes results, carries out commands, draws the frame and the views.

use std::sync::Arc;

use egui::{Context, Ui};

use crate::apply::{apply, take_events};
use crate::colours::Colours;
use crate::command::{Command, CommandSender, pressed};
use crate::ctx::ViewCtx;
use crate::dialog::FilePicker;
use crate::draw::{Action, Notice, notice, progress_card};
use crate::jobs::{JobKind, Running};
use crate::panels::{help, menu_bar, path_field, status_bar, toolbar, welcome};
use crate::session::{Planned, Stage};
use crate::state::{Settings, State};
use crate::text;
use crate::theme::{self, Icon, ThemeKind, Tokens, motion};
use crate::views::run::{RunCtx, run_toolbar_ui};
use crate::views::{Pane, Views, memory, ruler};

/// The key under which the settings are kept.
const SETTINGS: &str = "settings";

/// The program's window.
#[derive(Debug)]
pub struct App {
    /// All state.
    pub state: State,
    commands: CommandSender,
    colours: Colours,
    picker: Arc<dyn FilePicker>,
    installed: Option<ThemeKind>,
    title: String,
}

impl App {
    /// A window with this state.
    #[must_use]
    pub fn new(ctx: &Context, state: State, picker: Arc<dyn FilePicker>) -> Self {
        theme::install(ctx, state.settings.theme);
        let installed = Some(state.settings.theme);
        Self { state, commands: CommandSender::default(), colours: Colours::default(), picker, installed, title: String::new() }
    }

    /// Carries out a command before the next frame is drawn.
    pub fn send(&self, command: Command) {
        self.commands.send(command);
    }

    /// Everything that changes the state: results of jobs, commands, motions.
    pub fn update(&mut self, ctx: &Context) {
        take_events(&mut self.state);
        self.take_dropped_files(ctx);
        for command in pressed(ctx, self.state.session.is_some()) {
            self.commands.send(command);
        }
        // Inline jobs finish inside `apply`, and their results may bring further work.
        for _ in 0..4 {
            for command in self.commands.take() {
                apply(&mut self.state, &self.picker, command);
            }
            take_events(&mut self.state);
        }
        self.begin_frame(ctx);
    }

    fn begin_frame(&mut self, ctx: &Context) {
        if self.installed != Some(self.state.settings.theme) {
            theme::install(ctx, self.state.settings.theme);
            self.installed = Some(self.state.settings.theme);
            ctx.request_repaint();
        }
        let planned = self.state.session.as_ref().and_then(|session| session.shown().cloned());
        if self.state.selection.begin_frame(planned.as_deref()) {
            ctx.request_repaint();
        }
        if let Some(planned) = &planned {
            let difference = self.state.views.strategies.difference(planned);
            self.colours.update(planned, difference, self.state.colour_by(), self.state.settings.theme.tokens());
        }
        let now = ctx.input(|input| input.time);
        let moving = self.state.steps.animate(now) | self.state.bytes.animate(now);
        if moving {
            ctx.request_repaint();
        }
        if self.state.jobs.all().next().is_some() {
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
        self.set_title(ctx);
        if self.state.quit {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
    }

    fn set_title(&mut self, ctx: &Context) {
        let title = self.state.session.as_ref().map_or_else(|| "Arenascope".to_owned(), |session| format!("{} – Arenascope", session.name));
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Several files that are dropped together belong together: a model and its weights, or the texts of a dump.
    fn take_dropped_files(&mut self, ctx: &Context) {
        let mut dropped = ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>()).into_iter();
        if let Some(path) = dropped.next() {
            self.state.next_read.beside = dropped.collect();
            self.commands.send(Command::Open(path));
        }
    }

    /// Draws the window.
    pub fn draw(&mut self, ui: &mut Ui) {
        let t = self.state.settings.theme.tokens();
        menu_bar::menu_bar_ui(ui, t, &self.commands, self.state.session.is_some(), self.state.views.maximised);
        status_bar::status_bar_ui(ui, t, &self.state, &self.commands);
        if self.shows_run() {
            run_toolbar_ui(ui, t, &self.state, &self.commands);
        } else if let Some(session) = &self.state.session {
            toolbar::toolbar_ui(ui, t, &self.state, session, &self.commands);
        }
        egui::CentralPanel::no_frame().show(ui, |ui| self.work_area(ui, t));
        let ctx = ui.ctx().clone();
        if let Some(path) = &mut self.state.path_field {
            path_field::path_field_ui(&ctx, t, path, &self.commands);
        }
        if self.state.show_help {
            help::help_ui(&ctx, t, &self.commands);
        }
        drop_hint(&ctx, t);
        if !self.commands.is_empty() {
            ctx.request_repaint();
        }
    }

    /// Whether the Run view fills the window: with a file, or for a recorded run alone.
    fn shows_run(&self) -> bool {
        let has_data = self.state.planned().is_some() || (self.state.session.is_none() && self.state.views.run.shown().is_some());
        self.state.views.maximised == Some(Pane::Run) && has_data
    }

    /// Draws the Run view.
    fn run_ui(&mut self, ui: &mut Ui) {
        let State { settings, session, selection, steps, views, jobs, devices, .. } = &mut self.state;
        let ctx = RunCtx {
            tokens: settings.theme.tokens(),
            planned: session.as_ref().and_then(|session| session.shown()),
            selection,
            steps,
            wheel_zooms: settings.wheel_zooms,
            commands: &self.commands,
            running: jobs.running(JobKind::Run),
            is_linked: true,
            has_devices: devices.is_some(),
        };
        views.run.ui(ui, &ctx);
    }

    fn work_area(&mut self, ui: &mut Ui, t: &'static Tokens) {
        if self.shows_run() {
            ui.painter().rect_filled(ui.available_rect_before_wrap(), 0.0, t.bg1);
            self.run_ui(ui);
            return;
        }
        let Some(session) = &self.state.session else {
            welcome::welcome_ui(ui, t, &self.state, &self.commands);
            return;
        };
        let rect = ui.available_rect_before_wrap();
        ui.painter().rect_filled(rect, 0.0, t.bg1);
        if let Some(planned) = session.shown().cloned() {
            self.views_ui(ui, &planned);
        } else if let Some(message) = failure(&session.workload, &session.planned) {
            let title = format!("{} could not be opened", session.name);
            failed_ui(ui, t, &title, &message, &self.commands);
        }
        // A search whose best plan is shown says so in the status bar; a card would hide the plan.
        let planning = self.state.jobs.running(JobKind::Plan).filter(|_| !self.state.is_searching());
        let running = self.state.jobs.running(JobKind::Load).or(planning);
        if let Some(running) = running.filter(|running| running.since.elapsed().as_secs_f64() >= motion::QUIET) {
            progress_ui(ui, t, rect, running, &self.commands);
        } else if let (Some(_), Stage::Failed(message, Some(_))) = (session_of(&self.state), planned_stage(&self.state)) {
            let message = message.clone();
            failed_ui(ui, t, "This plan could not be made", &message, &self.commands);
        }
    }

    fn views_ui(&mut self, ui: &mut Ui, planned: &Arc<Planned>) {
        if planned.prepared.problem.n_buffers() == 0 {
            nothing_ui(ui, self.state.settings.theme.tokens(), planned, &self.commands);
            return;
        }
        let Self { state, commands, colours, .. } = self;
        let colour_by = state.colour_by();
        let State { settings, session, selection, steps, bytes, show_before, slot_lanes, views, .. } = state;
        let Some(session) = session else { return };
        let difference = views.strategies.difference(planned).cloned();
        let ctx = ViewCtx {
            tokens: settings.theme.tokens(),
            planned,
            difference: difference.as_ref(),
            options: &session.options,
            selection,
            steps,
            bytes,
            show_before: *show_before,
            slot_lanes: *slot_lanes,
            wheel_zooms: settings.wheel_zooms,
            colour_by,
            colours,
            maximised: views.maximised,
            is_stale: session.planned.is_running(),
            commands,
        };
        match views.maximised {
            Some(pane) => pane_ui(ui, &ctx, views, pane),
            None => {
                let mut docking = std::mem::take(&mut views.docking);
                docking.ui(ui, ctx.tokens, &mut |ui, pane| pane_ui(ui, &ctx, views, pane));
                views.docking = docking;
            }
        }
    }
}

fn session_of(state: &State) -> Option<&crate::session::Session> {
    state.session.as_ref()
}

fn planned_stage(state: &State) -> &Stage<Planned> {
    const EMPTY: &Stage<Planned> = &Stage::Empty;
    state.session.as_ref().map_or(EMPTY, |session| &session.planned)
}

/// Draws one view into the space it has.
pub fn pane_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, views: &mut Views, pane: Pane) {
    ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
    match pane {
        Pane::Lifetimes => {
            ruler::ruler_ui(ui, ctx);
            views.lifetimes.ui(ui, ctx);
        }
        Pane::Arena => {
            if views.maximised == Some(Pane::Arena) {
                ruler::ruler_ui(ui, ctx);
            }
            views.arena.ui(ui, ctx);
        }
        Pane::Memory => memory::memory_ui(ui, ctx, views.run.measured(ctx.planned)),
        Pane::Interference => views.interference.ui(ui, ctx),
        Pane::Inspector => views.inspector.ui(ui, ctx),
        Pane::Table if views.shows_strategies && views.maximised.is_none() => views.strategies.ui(ui, ctx),
        Pane::Table => views.table.ui(ui, ctx),
        Pane::Strategies => views.strategies.ui(ui, ctx),
        // It is never docked: `App` draws it over all others.
        Pane::Run => {}
    }
}

fn failure(workload: &Stage<arenascope_planner::workload::Workload>, planned: &Stage<Planned>) -> Option<String> {
    match (workload, planned) {
        (Stage::Failed(message, _), _) | (_, Stage::Failed(message, _)) => Some(message.clone()),
        _ => None,
    }
}

/// A file without anything to plan.
fn nothing_ui(ui: &mut Ui, t: &'static Tokens, planned: &Planned, commands: &CommandSender) {
    let unknown = planned.summary.unknown_tensors;
    let detail = match (unknown, planned.summary.static_bytes) {
        (0, 0) => "The file has no buffers.".to_owned(),
        (0, bytes) => format!("Everything in it is static: {}.", text::bytes(bytes)),
        (unknown, _) => {
            format!("{} of unknown size; the warnings of `arenascope inspect` say why.", text::counted(unknown, "tensor is", "tensors are"))
        }
    };
    let actions = [Action::primary("Open another file")];
    let words = Notice { icon: Icon::STACK, failed: false, title: "There is nothing to plan here", detail: &detail, actions: &actions };
    if notice(ui, t, ui.max_rect(), &words).is_some() {
        commands.send(Command::CloseFile);
    }
}

fn failed_ui(ui: &mut Ui, t: &'static Tokens, title: &str, message: &str, commands: &CommandSender) {
    let rect = ui.max_rect();
    ui.painter().rect_filled(rect, 0.0, t.bg1);
    let actions = [Action::new("Copy details").with_icon(Icon::COPY), Action::primary("Open another file")];
    match notice(ui, t, rect, &Notice::failed(title, message, &actions)) {
        Some(0) => ui.ctx().copy_text(format!("{title}: {message}")),
        Some(_) => commands.send(Command::CloseFile),
        None => {}
    }
}

fn progress_ui(ui: &mut Ui, t: &'static Tokens, rect: egui::Rect, running: &Running, commands: &CommandSender) {
    let progress = running.progress.as_ref();
    let title = progress.map_or(running.label.as_str(), |progress| progress.what.as_str());
    let best = progress.and_then(|progress| progress.best_arena_bytes).map_or_else(String::new, |bytes| format!("{} so far · ", text::bytes(bytes)));
    let figure = format!("{best}{}", text::time(running.since.elapsed().as_secs_f64()));
    #[expect(clippy::cast_possible_truncation, reason = "a share of a progress line")]
    let fraction = progress.and_then(|progress| progress.fraction).map(|fraction| fraction as f32);
    if progress_card(ui, t, rect, title, &figure, fraction) {
        commands.send(Command::CancelJob);
    }
}

/// A frame over everything while a file hangs over the window.
fn drop_hint(ctx: &Context, t: &'static Tokens) {
    if ctx.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let n = ctx.input(|input| input.raw.hovered_files.len() as u64);
    let words = if n > 1 { format!("Drop to open {} files together", text::count(n)) } else { "Drop to open".to_owned() };
    let painter = ctx.layer_painter(egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop-hint")));
    let rect = ctx.content_rect().shrink(8.0);
    painter.rect_filled(rect, theme::radius::DROP, theme::alpha(t.accentbg, 0.7));
    painter.text(rect.center(), egui::Align2::CENTER_CENTER, words, t.display(), t.text);
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.update(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.draw(ui);
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        eframe::set_value(storage, SETTINGS, &self.state.settings);
    }

    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        self.state.settings.theme.tokens().bg0.to_normalized_gamma_f32()
    }
}

/// The settings kept by an earlier run; the defaults if there are none or of another version.
#[must_use]
pub fn stored_settings(storage: Option<&dyn eframe::Storage>) -> Settings {
    let stored: Option<Settings> = storage.and_then(|storage| eframe::get_value(storage, SETTINGS));
    stored.filter(|settings| settings.version == Settings::VERSION).unwrap_or_default()
}
