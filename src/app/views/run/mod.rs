//! The Run view: executes a checked plan on a device and lays measured memory over planned memory.

mod arithmetic;
mod computed;
mod findings;
mod footprint;
mod frame;
mod job;
mod latency;
mod overlay;
mod recording;
mod regimes;
mod residual;
mod runs;
mod settings;
mod side;
mod streams;
mod toolbar;
mod words;

use std::sync::Arc;

use arenascope_gpu::probe::ProbeReport;
use arenascope_gpu::protocol::Mode;
use arenascope_gpu::regimes::Regime;
use egui::{Rect, RichText, Sense, Stroke, Ui, UiBuilder, vec2};

use crate::axis::{Axis, Range};
use crate::command::Command;
use crate::curve_index::CurveIndex;
use crate::draw::{Action, Notice, badge, notice, progress_card};
use crate::session::{Planned, Stage};
use crate::text;
use crate::theme::{Icon, motion, space};
use crate::views::chart::step_value;
pub(crate) use frame::RunCtx;
pub use job::{DeviceAccess, Live, RunOrder, probe, run};
pub use recording::{Kinship, Recording, is_recorded_run};
pub use settings::{RunSettings, Scale, blocked};
pub(crate) use toolbar::run_toolbar_ui;

/// Width from which the device stands at the right instead of at the foot.
const SIDE_FROM: f32 = 1100.0;
/// Most recordings kept; the oldest ones go first.
const MAX_RECORDINGS: usize = 24;
/// Height from which the times of steps stand below the residual instead of in its place.
const BOTH_FROM: f32 = 560.0;

/// What a person can ask of this view.
#[derive(Clone, PartialEq, Debug)]
pub enum RunCommand {
    /// Look for devices.
    Probe,
    /// Run the plan.
    Start,
    /// Stop the run and keep what it has.
    Stop,
    /// Change what is asked for.
    Set(RunSettings),
    /// Show a recording.
    Show(usize),
    /// Lay a recording over the one that is shown, or none.
    Against(Option<usize>),
    /// Take a recording out of the list.
    Forget(usize),
    /// Let go of the message about a run that could not begin.
    Dismiss,
}

/// A measured curve for charts of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    /// Bytes over the plan's steps, times `times`.
    pub(crate) curve: &'a CurveIndex,
    /// By how much the plan was multiplied.
    pub(crate) times: u64,
    /// Which way of getting memory.
    pub(crate) what: &'static str,
}

/// What stands at the foot of the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tab {
    Regimes,
    Times,
    Streams,
    Findings,
    Footprint,
    Runs,
    Device,
}

/// What stands below the overlay where there is room for one chart only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lower {
    Residual,
    StepTimes,
}

/// State of the view.
#[derive(Debug)]
pub struct RunState {
    /// What the next run is asked for.
    pub settings: RunSettings,
    /// The devices.
    pub probe: Stage<ProbeReport>,
    /// Why the last run could not begin.
    pub failure: Option<String>,
    recordings: Vec<Arc<Recording>>,
    /// By recording, what it has to do with the plan for which this was worked out.
    kin: Vec<Kinship>,
    kin_of: Option<(usize, usize)>,
    n_changes: usize,
    n_runs: u64,
    shown: Option<usize>,
    against: Option<usize>,
    live: Live,
    regime: Regime,
    /// Regimes whose measured line is drawn beside the one that is looked at.
    beside: Vec<Regime>,
    tab: Tab,
    lower: Lower,
    links: findings::Links,
    arithmetic: arithmetic::Arithmetic,
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            settings: RunSettings::default(),
            probe: Stage::Empty,
            failure: None,
            recordings: Vec::new(),
            kin: Vec::new(),
            kin_of: None,
            n_changes: 0,
            n_runs: 0,
            shown: None,
            against: None,
            live: Live::default(),
            regime: Regime::Arena,
            beside: vec![Regime::Arena],
            tab: Tab::Regimes,
            lower: Lower::Residual,
            links: findings::Links::default(),
            arithmetic: arithmetic::Arithmetic::default(),
        }
    }
}

impl RunState {
    /// The recording that is shown.
    #[must_use]
    pub fn shown(&self) -> Option<&Arc<Recording>> {
        self.recordings.get(self.shown?)
    }

    /// The name of the next run.
    pub fn next_name(&mut self) -> String {
        self.n_runs += 1;
        format!("run {}", self.n_runs)
    }

    /// A run begins, and says in `live` what has arrived.
    pub fn begin(&mut self, live: Live) {
        self.live = live;
        self.failure = None;
    }

    /// A run has ended.
    pub fn end(&mut self, result: Result<Arc<Recording>, String>) {
        self.live = Live::default();
        match result {
            Ok(recording) => self.add(recording),
            Err(message) => self.failure = Some(message),
        }
    }

    /// Adds a recording and shows it.
    pub fn add(&mut self, recording: Arc<Recording>) {
        if self.recordings.len() == MAX_RECORDINGS {
            self.forget(0);
        }
        self.failure = None;
        self.tab = if recording.record.n_findings > 0 { Tab::Findings } else { Tab::Regimes };
        self.recordings.push(recording);
        self.n_changes += 1;
        self.show(self.recordings.len() - 1);
    }

    /// Shows another recording.
    pub fn show(&mut self, index: usize) {
        if index < self.recordings.len() {
            if self.against == Some(index) {
                self.against = self.shown;
            }
            self.shown = Some(index);
        }
    }

    /// Lays another recording over the one that is shown.
    pub fn compare_with(&mut self, index: Option<usize>) {
        self.against = index.filter(|&index| index < self.recordings.len() && Some(index) != self.shown);
    }

    /// Takes a recording out of the list.
    pub fn forget(&mut self, index: usize) {
        if index < self.recordings.len() {
            self.recordings.remove(index);
            self.n_changes += 1;
            let moved = |at: Option<usize>| at.filter(|&at| at != index).map(|at| if at > index { at - 1 } else { at });
            (self.shown, self.against) = (moved(self.shown), moved(self.against));
            self.shown = self.shown.or(self.recordings.len().checked_sub(1));
            self.against = self.against.filter(|&at| Some(at) != self.shown);
        }
    }

    /// Another document is opened: its own runs are shown, those of others stay in the list.
    pub fn forget_document(&mut self) {
        (self.shown, self.against, self.failure, self.kin_of) = (None, None, None, None);
    }

    /// Draws the view.
    pub(crate) fn ui(&mut self, ui: &mut Ui, ctx: &RunCtx<'_>) {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        self.ask_for_devices(ctx);
        self.refresh(ctx.planned);
        if let Some(planned) = ctx.planned.filter(|_| ctx.has_devices) {
            self.arithmetic.update(planned, ui.ctx());
        }
        let area = ui.available_rect_before_wrap();
        let has_side = area.width() >= SIDE_FROM;
        let right = if has_side { space::RIGHT_COLUMN[0] } else { 0.0 };
        let main = area.with_max_x(area.right() - right);
        let running = ctx.running.and_then(|_| self.live.get());
        let recording = running.or_else(|| self.shown().cloned());
        if has_side {
            let side = area.with_min_x(main.right());
            ui.painter().vline(side.left(), side.y_range(), Stroke::new(1.0, ctx.tokens.line));
            let mut child = ui.new_child(UiBuilder::new().max_rect(side.with_min_x(side.left() + 1.0)));
            side::side_ui(&mut child, ctx, self, recording.as_deref());
        }
        let mut child = ui.new_child(UiBuilder::new().max_rect(main));
        child.set_clip_rect(main.intersect(ui.clip_rect()));
        child.spacing_mut().item_spacing = egui::Vec2::ZERO;
        let is_stranger = ctx.running.is_none() && ctx.planned.is_some() && self.shown_kinship() == Some(Kinship::Stranger);
        match recording.as_deref().filter(|_| is_stranger) {
            Some(stranger) => {
                let own = Axis::new(Range::new(step_value(stranger.steps.start), step_value(stranger.steps.end)), 2.0);
                let apart = RunCtx { planned: None, steps: &own, is_linked: false, ..*ctx };
                self.main_ui(&mut child, &apart, Some(stranger), !has_side);
            }
            None => self.main_ui(&mut child, ctx, recording.as_deref(), !has_side),
        }
        ui.advance_cursor_after_rect(area);
    }

    fn ask_for_devices(&mut self, ctx: &RunCtx<'_>) {
        if ctx.has_devices && matches!(self.probe, Stage::Empty) {
            self.probe.start();
            ctx.send(Command::Run(RunCommand::Probe));
        }
    }

    /// Works out what the recordings have to do with the plan, and shows the last one that belongs to it.
    fn refresh(&mut self, planned: Option<&Arc<Planned>>) {
        let key = Some((planned.map_or(0, |planned| Arc::as_ptr(planned).addr()), self.n_changes));
        if self.kin_of == key {
            return;
        }
        self.kin_of = key;
        let kinship = |recording: &Arc<Recording>| planned.map_or(Kinship::Stranger, |planned| recording.kinship(planned));
        self.kin = self.recordings.iter().map(kinship).collect();
        if self.shown.is_none() {
            self.shown = match planned {
                Some(_) => self.kin.iter().rposition(|&kin| kin > Kinship::Stranger),
                None => self.recordings.len().checked_sub(1),
            };
        }
    }

    /// What was measured for this plan in the regime that is looked at; `None` without a run of it.
    pub(crate) fn measured(&mut self, planned: &Arc<Planned>) -> Option<Measured<'_>> {
        self.refresh(Some(planned));
        if self.shown_kinship() != Some(Kinship::SamePlan) {
            return None;
        }
        let recording = self.shown()?;
        let (report, curves) = recording.regime(self.regime_of(recording)?)?;
        Some(Measured { curve: &curves.measured, times: recording.record.scale.max(1), what: words::regime_name(report.regime) })
    }

    /// What the recording that is shown has to do with the plan.
    fn shown_kinship(&self) -> Option<Kinship> {
        self.kin.get(self.shown?).copied()
    }

    /// The regime to draw: the one that is looked at, else the plan's own, else any that ran.
    fn regime_of(&self, recording: &Recording) -> Option<Regime> {
        let ran = |regime: &Regime| recording.regime(*regime).is_some();
        [self.regime, Regime::Arena].into_iter().find(ran).or_else(|| recording.ran().next().map(|(report, _)| report.regime))
    }

    fn main_ui(&mut self, ui: &mut Ui, ctx: &RunCtx<'_>, recording: Option<&Recording>, has_device_tab: bool) {
        let area = ui.max_rect();
        let tabs = self.tabs(recording, has_device_tab);
        let foot = if tabs.is_empty() { 0.0 } else { (area.height() * 0.36).clamp(150.0, 236.0) };
        let upper = area.with_max_y(area.bottom() - foot);
        let mut child = ui.new_child(UiBuilder::new().max_rect(upper));
        child.set_clip_rect(upper.intersect(ui.clip_rect()));
        child.spacing_mut().item_spacing = egui::Vec2::ZERO;
        match recording {
            Some(recording) if self.failure.is_none() => self.charts(&mut child, ctx, recording),
            _ => self.empty_ui(&mut child, ctx),
        }
        if ctx.running.is_some() {
            self.progress_ui(&mut child, ctx, upper, recording.is_some());
        }
        if !tabs.is_empty() {
            if !tabs.contains(&self.tab) {
                self.tab = tabs[0];
            }
            let lower = area.with_min_y(upper.bottom());
            let mut child = ui.new_child(UiBuilder::new().max_rect(lower));
            child.set_clip_rect(lower.intersect(ui.clip_rect()));
            child.spacing_mut().item_spacing = egui::Vec2::ZERO;
            self.foot_ui(&mut child, ctx, recording, &tabs);
        }
    }

    fn charts(&mut self, ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording) {
        if let Some(report) = &recording.record.compute {
            self.links.update(recording, ctx.planned);
            computed::computed_ui(ui, ctx, recording, report, &self.links);
            return;
        }
        let regime = self.regime_of(recording);
        if recording.is_computed() || regime.is_none() {
            // A run that goes on counts as failed until its end.
            if ctx.running.is_none() {
                overlay::nothing_ran(ui, ctx, recording);
            }
            return;
        }
        frame::ruler(ui, ctx);
        let Some(regime) = regime else { return };
        let height = ui.available_height();
        let has_times = recording.regime(regime).is_some_and(|(_, curves)| curves.step_ns.is_some());
        let small = (height * 0.17).clamp(56.0, 110.0) + space::PANEL_HEADER;
        let both = has_times && height >= BOTH_FROM;
        let below = if both { 2.0 * small } else { small };
        let against = self.against.and_then(|index| self.recordings.get(index)).map(|other| &**other);
        let lines = overlay::Lines { regime, beside: &self.beside, against };
        overlay::overlay_ui(ui, ctx, recording, &lines, (height - below).max(60.0));
        let small = small - space::PANEL_HEADER;
        if both {
            residual::residual_ui(ui, ctx, recording, regime, small, |_| ());
            residual::step_times_ui(ui, ctx, recording, regime, small, |_| ());
            return;
        }
        let shows_times = has_times && self.lower == Lower::StepTimes;
        let lower = &mut self.lower;
        let mut switch = |ui: &mut Ui| {
            if has_times {
                let options = [(Lower::Residual, "Residual"), (Lower::StepTimes, "Step times")];
                crate::draw::segmented(ui, ctx.tokens, lower, &options, space::CONTROL_SMALL);
            }
        };
        if shows_times {
            residual::step_times_ui(ui, ctx, recording, regime, small, &mut switch);
        } else {
            residual::residual_ui(ui, ctx, recording, regime, small, &mut switch);
        }
    }

    fn empty_ui(&self, ui: &mut Ui, ctx: &RunCtx<'_>) {
        let area = ui.max_rect();
        if ctx.running.is_some() {
            return;
        }
        if let Some(message) = &self.failure {
            let actions = [Action::new("Back"), Action::primary("Try again")];
            let words = Notice::failed("The run could not begin", message, &actions);
            match notice(ui, ctx.tokens, area, &words) {
                Some(0) => ctx.send(Command::Run(RunCommand::Dismiss)),
                Some(_) => ctx.send(Command::Run(RunCommand::Start)),
                None => {}
            }
            return;
        }
        let blocked = ctx.planned.and_then(|planned| blocked(planned));
        let open = Action::new("Open a recorded run").with_icon(Icon::FOLDER_OPEN);
        let clicked = match (ctx.planned, blocked) {
            (Some(_), None) if ctx.has_devices => {
                let device = self.settings.device(self.probe.value().map(|probe| &**probe));
                let name = words::device_name(device, settings::described(self.probe.value().map(|probe| &**probe), device));
                let start = format!("Run on {name}");
                let detail = match self.settings.mode {
                    Mode::Integrity => {
                        "A run executes every step, checks every read, and measures what memory the plan really takes beside five other ways of getting it."
                    }
                    Mode::Compute => {
                        "A run computes every op in the arena, and compares every read with a run in which every tensor has memory of its own."
                    }
                };
                let actions = [Action::primary(&start).with_icon(Icon::PLAY), open];
                let words = Notice { icon: Icon::PLAY, failed: false, title: "This plan has not been run yet", detail, actions: &actions };
                notice(ui, ctx.tokens, area, &words)
            }
            (_, blocked) => {
                let why = blocked.unwrap_or_else(|| "This picture starts no process: open a recorded run to see one.".to_owned());
                let words = Notice { icon: Icon::INFO, failed: false, title: "This plan cannot be run", detail: &why, actions: &[open] };
                notice(ui, ctx.tokens, area, &words).map(|_| 1)
            }
        };
        match clicked {
            Some(0) => ctx.send(Command::Run(RunCommand::Start)),
            Some(_) => ctx.send(Command::OpenDialog),
            None => {}
        }
    }

    fn progress_ui(&self, ui: &mut Ui, ctx: &RunCtx<'_>, area: Rect, over_data: bool) {
        let Some(running) = ctx.running else { return };
        let seconds = running.since.elapsed().as_secs_f64();
        if over_data && seconds < motion::QUIET {
            return;
        }
        let progress = running.progress.as_ref();
        let title = progress.map_or(running.label.as_str(), |progress| progress.what.as_str());
        #[expect(clippy::cast_possible_truncation, reason = "a share of a progress line")]
        let fraction = progress.and_then(|progress| progress.fraction).map(|fraction| fraction as f32);
        let live = self.live.get();
        let regimes = live.filter(|live| !live.is_computed()).map(|live| {
            let (n_done, n) = (live.record.regimes.len(), live.record.options.regimes.len());
            format!("{n_done} of {n} regimes · ")
        });
        let figure = format!("{}{}", regimes.unwrap_or_default(), text::time(seconds));
        if progress_card(ui, ctx.tokens, area, title, &figure, fraction) {
            ctx.send(Command::Run(RunCommand::Stop));
        }
    }

    fn tabs(&self, recording: Option<&Recording>, has_device_tab: bool) -> Vec<Tab> {
        let mut tabs = Vec::new();
        if let Some(recording) = recording.filter(|_| self.failure.is_none()) {
            if !recording.is_computed() {
                tabs.push(Tab::Regimes);
            }
            tabs.push(Tab::Times);
            if streams::reports(recording).next().is_some() {
                tabs.push(Tab::Streams);
            }
            tabs.push(Tab::Findings);
            if recording.footprint.is_some() {
                tabs.push(Tab::Footprint);
            }
        }
        if !self.recordings.is_empty() {
            tabs.push(Tab::Runs);
        }
        if has_device_tab {
            tabs.push(Tab::Device);
        }
        tabs
    }

    fn foot_ui(&mut self, ui: &mut Ui, ctx: &RunCtx<'_>, recording: Option<&Recording>, tabs: &[Tab]) {
        self.tab_bar(ui, ctx, recording, tabs);
        match (self.tab, recording) {
            (Tab::Regimes, Some(recording)) => {
                let looked_at = self.regime_of(recording);
                regimes::table(ui, ctx, recording, looked_at, &mut self.regime, &mut self.beside);
            }
            (Tab::Streams, Some(recording)) => streams::streams_ui(ui, ctx, recording),
            (Tab::Times, Some(recording)) => latency::times_ui(ui, ctx, recording),
            (Tab::Findings, Some(recording)) => {
                self.links.update(recording, ctx.planned);
                findings::findings_ui(ui, ctx, recording, &self.links);
            }
            (Tab::Footprint, Some(recording)) => footprint::footprint_ui(ui, ctx, recording),
            (Tab::Runs, _) => runs::runs_ui(ui, ctx, &self.recordings, &self.kin, (self.shown, self.against)),
            (Tab::Device, recording) => side::side_ui(ui, ctx, self, recording),
            (_, None) => {}
        }
    }

    fn tab_bar(&mut self, ui: &mut Ui, ctx: &RunCtx<'_>, recording: Option<&Recording>, tabs: &[Tab]) {
        let t = ctx.tokens;
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TAB_BAR), Sense::hover());
        ui.painter().rect_filled(rect, 0.0, t.bg2);
        ui.painter().hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
        let inner = rect.shrink2(vec2(12.0, 0.0));
        let mut bar = ui.new_child(UiBuilder::new().max_rect(inner).layout(egui::Layout::left_to_right(egui::Align::Center)));
        bar.spacing_mut().item_spacing.x = 18.0;
        // Where the right column is part of the foot, the verdict still has to be in sight.
        if let Some(recording) = recording.filter(|_| tabs.contains(&Tab::Device) && ctx.running.is_none() && bar.available_width() > 620.0) {
            let words = words::verdict(&recording.record);
            let mut right = bar.new_child(UiBuilder::new().max_rect(inner).layout(egui::Layout::right_to_left(egui::Align::Center)));
            badge(&mut right, t, words.tone, words.icon, &words.title).on_hover_text(&words.detail);
        }
        for &tab in tabs {
            let is_front = self.tab == tab;
            let name = match tab {
                Tab::Regimes => "Regimes".to_owned(),
                Tab::Times => "Times".to_owned(),
                Tab::Streams => "Streams".to_owned(),
                Tab::Findings => recording.map_or_else(String::new, |recording| format!("Findings ({})", text::count(recording.record.n_findings))),
                Tab::Footprint => "Footprint".to_owned(),
                Tab::Runs => format!("Runs ({})", self.recordings.len()),
                Tab::Device => "Device".to_owned(),
            };
            let is_bad = tab == Tab::Findings && recording.is_some_and(|recording| recording.record.n_findings > 0);
            let colour = match (is_bad, is_front) {
                (true, _) => t.err,
                (false, true) => t.text,
                (false, false) => t.text3,
            };
            let label = egui::Label::new(RichText::new(&name).font(t.body_strong()).color(colour)).selectable(false).sense(Sense::click());
            let response = bar.add(label);
            response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, is_front, format!("{name} tab")));
            if is_front {
                let line = response.rect.expand2(vec2(4.0, 0.0));
                bar.painter().hline(line.x_range(), rect.top() + 1.0, Stroke::new(2.0, t.accent));
            }
            if response.clicked() {
                self.tab = tab;
            }
        }
    }
}
