//! The toolbar while the Run view is shown: what the next run is asked for, and the button that starts it.

use arenascope_gpu::protocol::{DeviceChoice, Mode, Waits};
use arenascope_gpu::regimes::Regime;
use arenascope_planner::units::parse_bytes;
use egui::{Align, Layout, RichText, Ui};

use super::arithmetic::Computable;
use super::settings::{NO_BRANCHES, RunSettings, Scale, blocked, described};
use super::words::{device_name, kind_name, mode_name, regime_help, regime_name, unsupported, waits_name};
use super::{RunCommand, RunState};
use crate::command::{Command, CommandSender};
use crate::draw::{Tone, badge, button, icon_button, primary_button};
use crate::jobs::JobKind;
use crate::panels::toolbar::drop_down;
use crate::session::Planned;
use crate::state::State;
use crate::text;
use crate::theme::{Icon, Tokens, space};

/// Timed iterations that are offered.
const ITERATIONS: [u32; 5] = [0, 20, 50, 200, 1000];
/// Factors that are offered.
const TIMES: [u64; 6] = [1, 4, 16, 64, 256, 1024];
/// Budgets that are offered, bytes.
const BUDGETS: [u64; 6] = [256 << 20, 1 << 30, 4 << 30, 8 << 30, 16 << 30, 64 << 30];
/// Streams that are offered.
const STREAMS: [u32; 3] = [1, 2, 4];
/// Width of a menu with sentences in it.
const MENU: f32 = 330.0;
/// Why most settings have no choice in compute mode.
const ONLY_THE_ARENA: &str = "Compute mode runs the arena once, as it is, on one stream.";
/// Characters of the file's name that are shown: alone, and beside the settings.
const NAME: [usize; 2] = [26, 16];
/// Width from which the file's name is shown.
const NAME_FROM: f32 = 1180.0;

/// Draws the bar.
pub(crate) fn run_toolbar_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    let frame = egui::Frame::new().fill(t.bg1).inner_margin(egui::Margin::symmetric(12, 0));
    egui::Panel::top("run-toolbar").exact_size(space::TOOLBAR).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::LABEL_GAP;
            let view = &state.views.run;
            let has_settings = state.session.is_some() && state.devices.is_some();
            if (!has_settings || ui.available_width() > NAME_FROM)
                && let Some(name) = state.session.as_ref().map(|session| &session.name).or_else(|| view.shown().map(|shown| &shown.record.file))
            {
                ui.label(Icon::FILE.text(15.0, t.text2));
                ui.label(RichText::new(text::middle_cut(name, NAME[usize::from(has_settings)])).font(t.body_strong()).color(t.text));
                if has_settings {
                    ui.separator();
                }
            }
            if has_settings {
                settings_ui(ui, t, state, commands);
                start_ui(ui, t, state, commands);
            }
            if view.shown().is_some_and(|shown| shown.is_simulated()) {
                badge(ui, t, Tone::Warn, Icon::WARNING, "simulated")
                    .on_hover_text("These numbers come from an imitation of a driver, not from a GPU.");
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| files_ui(ui, t, view, commands));
        });
    });
}

fn files_ui(ui: &mut Ui, t: &'static Tokens, view: &RunState, commands: &CommandSender) {
    if view.shown().is_some() {
        let save = button(ui, t, Some(Icon::FLOPPY_DISK), "Save").on_hover_text("Write this run to a file that can be opened again (Ctrl+E)");
        if save.clicked() {
            commands.send(Command::ExportDialog);
        }
    }
    let open =
        if ui.available_width() > 80.0 { button(ui, t, Some(Icon::FOLDER_OPEN), "Open") } else { icon_button(ui, t, Icon::FOLDER_OPEN, "Open") };
    if open.on_hover_text("Open a recorded run or another file (Ctrl+O)").clicked() {
        commands.send(Command::OpenDialog);
    }
}

fn settings_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    let view = &state.views.run;
    let probe = view.probe.value().map(|probe| &**probe);
    let settings = &view.settings;
    let device = settings.device(probe);
    let set = |settings: RunSettings| commands.send(Command::Run(RunCommand::Set(settings)));
    let shown = text::middle_cut(&device_name(device, described(probe, device)), 22);
    drop_down(ui, t, "Device", &shown, 76.0, |ui| device_choices(ui, t, view, commands));
    mode_ui(ui, t, state, &set);
    streams_ui(ui, t, state, &set);
    let is_computing = settings.mode == Mode::Compute;
    let n = settings.regimes_of_run().len();
    drop_down(ui, t, "Regimes", &format!("{n} of {}", Regime::ALL.len()), 52.0, |ui| {
        if is_computing {
            note(ui, t, ONLY_THE_ARENA);
            return;
        }
        for regime in Regime::ALL {
            let why_not = unsupported(regime, device == DeviceChoice::Cpu, settings.streams_of_run());
            let is_last = n == 1 && settings.regimes.contains(&regime);
            let mut on = settings.regimes.contains(&regime);
            let choice = ui.add_enabled(why_not.is_none() && !is_last, egui::Checkbox::new(&mut on, regime_name(regime)));
            let choice =
                choice.on_hover_text(regime_help(regime)).on_disabled_hover_text(why_not.unwrap_or("One way of getting memory is the least."));
            if choice.changed() {
                set(settings.clone().with_regime(regime, on));
            }
        }
    });
    drop_down(ui, t, "Iterations", &text::count(settings.iterations.into()), 44.0, |ui| {
        ui.label(RichText::new("Timed, after three that are checked").font(t.body()).color(t.text2));
        for choice in ITERATIONS {
            if ui.selectable_label(choice == settings.iterations, text::count(choice.into())).clicked() {
                set(RunSettings { iterations: choice, ..settings.clone() });
            }
        }
    });
    scale_ui(ui, t, state, device, &set);
    budget_ui(ui, t, settings, &set);
    let mut footprint = settings.footprint;
    let response = ui.add_enabled(!is_computing, egui::Checkbox::new(&mut footprint, RichText::new("Footprint").font(t.body())));
    let response = response.on_disabled_hover_text("What is computed may leave bytes as they were, so that none can be counted as written.");
    if response.on_hover_text("After every step the device counts the bytes of the arena that have been written").changed() {
        set(RunSettings { footprint, ..settings.clone() });
    }
}

/// A sentence in a menu, in as many lines as it needs.
fn note(ui: &mut Ui, t: &Tokens, words: &str) {
    coloured_note(ui, t, words, t.text2);
}

fn coloured_note(ui: &mut Ui, t: &Tokens, words: &str, colour: egui::Color32) {
    ui.set_max_width(MENU);
    // Menus stretch what is in them, and would stretch the words as well.
    ui.with_layout(Layout::top_down(Align::LEFT), |ui| ui.add(egui::Label::new(RichText::new(words).font(t.body()).color(colour)).wrap()));
}

/// What is done with the tensors; why the ops cannot be computed stands below the choice.
fn mode_ui(ui: &mut Ui, t: &'static Tokens, state: &State, set: &dyn Fn(RunSettings)) {
    let view = &state.views.run;
    let settings = &view.settings;
    drop_down(ui, t, "Mode", mode_name(settings.mode), 62.0, |ui| {
        if ui.selectable_label(settings.mode == Mode::Integrity, mode_name(Mode::Integrity)).clicked() {
            set(RunSettings { mode: Mode::Integrity, ..settings.clone() });
        }
        note(ui, t, "Every tensor carries a pattern, and every read is checked. Any op can run.");
        let computable = state.session.as_ref().and_then(|session| session.shown()).map(|planned| view.arithmetic.of(planned));
        let choice = egui::Button::selectable(settings.mode == Mode::Compute, mode_name(Mode::Compute));
        if ui.add_enabled(computable == Some(Computable::Yes), choice).clicked() {
            set(RunSettings { mode: Mode::Compute, ..settings.clone() });
        }
        match computable {
            Some(Computable::Yes) => {
                note(ui, t, "The ops are computed in the arena, and every read is compared with a run in which every tensor has memory of its own.");
            }
            Some(Computable::No(why)) => coloured_note(ui, t, &why, t.warn),
            Some(Computable::Unknown) => note(ui, t, "Looking at the ops…"),
            None => note(ui, t, "There is no plan yet."),
        }
    });
}

/// Over how many streams the ops are spread, and what makes one wait for another.
fn streams_ui(ui: &mut Ui, t: &'static Tokens, state: &State, set: &dyn Fn(RunSettings)) {
    let settings = &state.views.run.settings;
    let n = settings.streams_of_run();
    let shown = if n > 1 { format!("{n}, {}", waits_name(settings.waits)) } else { n.to_string() };
    drop_down(ui, t, "Streams", &shown, 56.0, |ui| {
        if settings.mode == Mode::Compute {
            note(ui, t, ONLY_THE_ARENA);
            return;
        }
        let has_graph = state.planned().is_none_or(|planned| planned.prepared.context.is_some());
        note(ui, t, if has_graph { "The longest path of ops runs on the first, the others on the rest." } else { NO_BRANCHES });
        for choice in STREAMS {
            let label = egui::Button::selectable(settings.streams == choice, text::counted(choice.into(), "stream", "streams"));
            if ui.add_enabled(has_graph || choice == 1, label).clicked() {
                set(RunSettings { streams: choice, ..settings.clone() });
            }
        }
        if n > 1 {
            ui.separator();
            note(ui, t, "An op waits for another stream where");
            for (waits, words) in [(Waits::Plan, "plan: graph or plan need it"), (Waits::Graph, "graph: the graph alone needs it")] {
                if ui.selectable_label(settings.waits == waits, words).clicked() {
                    set(RunSettings { waits, ..settings.clone() });
                }
            }
            note(ui, t, "With the graph's waits alone, a plan that passes bytes between branches is clobbered, and the run shows where.");
        }
    });
}

fn device_choices(ui: &mut Ui, t: &'static Tokens, view: &RunState, commands: &CommandSender) {
    let set = |settings: RunSettings| commands.send(Command::Run(RunCommand::Set(settings)));
    let probe = view.probe.value();
    let choose = |device: Option<DeviceChoice>| set(RunSettings { device, ..view.settings.clone() });
    if ui.selectable_label(view.settings.device.is_none(), "auto: the first GPU that works, else the CPU").clicked() {
        choose(None);
    }
    if ui.selectable_label(view.settings.device == Some(DeviceChoice::Cpu), "CPU").clicked() {
        choose(Some(DeviceChoice::Cpu));
    }
    for device in probe.iter().flat_map(|probe| &probe.devices) {
        let choice = DeviceChoice::Gpu(device.index);
        let text = format!("{}  ·  {}  ·  {} free", device.name, kind_name(device.kind), text::bytes(device.free_bytes));
        if ui.selectable_label(view.settings.device == Some(choice), text).clicked() {
            choose(Some(choice));
        }
    }
    ui.separator();
    match probe {
        Some(probe) if probe.devices.is_empty() => {
            ui.label(RichText::new(format!("No GPU: {}.", probe.message)).font(t.body()).color(t.text2));
        }
        Some(_) => {}
        None => {
            ui.label(RichText::new("Looking for GPUs…").font(t.body()).color(t.text2));
        }
    }
    if ui.selectable_label(false, "Look for GPUs again").clicked() {
        commands.send(Command::Run(RunCommand::Probe));
    }
}

fn scale_ui(ui: &mut Ui, t: &'static Tokens, state: &State, device: DeviceChoice, set: &dyn Fn(RunSettings)) {
    let settings = &state.views.run.settings;
    let arena = state.planned().map_or(0, |planned| planned.plan.arena_bytes);
    let times = settings.times(device, arena);
    let is_computing = settings.mode == Mode::Compute;
    let shown =
        if settings.scale == Scale::Auto && !is_computing { format!("auto × {}", text::count(times)) } else { format!("× {}", text::count(times)) };
    drop_down(ui, t, "Scale", &shown, 66.0, |ui| {
        if is_computing {
            note(ui, t, ONLY_THE_ARENA);
            return;
        }
        let words = "All sizes and offsets times this: a valid plan stays valid.\nA GPU hands out memory in 2 MiB granules, beside which a small arena cannot be seen.";
        ui.label(RichText::new(words).font(t.body()).color(t.text2));
        let auto = RunSettings { scale: Scale::Auto, ..settings.clone() };
        let text = format!(
            "auto: × {}, an arena of {}",
            text::count(auto.times(device, arena)),
            text::bytes(arena.saturating_mul(auto.times(device, arena)))
        );
        if ui.selectable_label(settings.scale == Scale::Auto, text).clicked() {
            set(auto);
        }
        for choice in TIMES {
            let text = format!("× {}, {}", text::count(choice), text::bytes(arena.saturating_mul(choice)));
            if ui.selectable_label(settings.scale == Scale::Times(choice), text).clicked() {
                set(RunSettings { scale: Scale::Times(choice), ..settings.clone() });
            }
        }
    });
}

fn budget_ui(ui: &mut Ui, t: &'static Tokens, settings: &RunSettings, set: &dyn Fn(RunSettings)) {
    let shown = settings.budget_bytes.map_or_else(|| "half".to_owned(), text::bytes);
    drop_down(ui, t, "Budget", &shown, 52.0, |ui| {
        let caption = ui.label(RichText::new("The most that one way of getting memory may take, for example 6GiB").font(t.body()).color(t.text2));
        let id = ui.scope_id().with("budget");
        let mut typed = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_default();
        let field = ui.add(egui::TextEdit::singleline(&mut typed).desired_width(180.0)).labelled_by(caption.id);
        match (typed.trim().is_empty(), parse_bytes(&typed)) {
            (false, Ok(bytes)) if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) => {
                set(RunSettings { budget_bytes: Some(bytes), ..settings.clone() });
                ui.close();
            }
            (false, Err(message)) => {
                ui.label(RichText::new(message).font(t.tick()).color(t.err));
            }
            _ => {}
        }
        ui.data_mut(|data| data.insert_temp(id, typed));
        if ui.selectable_label(settings.budget_bytes.is_none(), "half of what is free").clicked() {
            set(RunSettings { budget_bytes: None, ..settings.clone() });
        }
        for choice in BUDGETS {
            if ui.selectable_label(settings.budget_bytes == Some(choice), text::bytes(choice)).clicked() {
                set(RunSettings { budget_bytes: Some(choice), ..settings.clone() });
            }
        }
    });
}

/// Why a plan that can be run cannot be run with the present settings.
fn why_not_this_way(view: &RunState, planned: &Planned) -> Option<String> {
    let lacks_graph = view.settings.lacks_graph(planned).map(str::to_owned);
    lacks_graph.or_else(|| match view.arithmetic.of(planned) {
        Computable::No(why) if view.settings.mode == Mode::Compute => Some(why),
        _ => None,
    })
}

fn start_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    if state.jobs.running(JobKind::Run).is_some() {
        let is_stopping = state.jobs.is_stopping(JobKind::Run);
        let text = if is_stopping { "Stopping…" } else { "Cancel" };
        let stop = ui.add_enabled_ui(!is_stopping, |ui| button(ui, t, Some(Icon::STOP), text)).inner;
        if stop.on_hover_text("Stop now and keep what has been measured").clicked() {
            commands.send(Command::Run(RunCommand::Stop));
        }
        return;
    }
    let planned = state.planned();
    let why_not = match planned {
        None => Some("There is no plan yet.".to_owned()),
        Some(_) if state.session.as_ref().is_some_and(|session| session.planned.is_running()) => Some("The plan is being made.".to_owned()),
        Some(planned) => blocked(planned).or_else(|| why_not_this_way(&state.views.run, planned)),
    };
    let word = if state.views.run.shown().is_some() { "Run again" } else { "Run" };
    let start = ui.add_enabled_ui(why_not.is_none(), |ui| primary_button(ui, t, Some(Icon::PLAY), word)).inner;
    let start = start.on_disabled_hover_text(why_not.unwrap_or_default());
    if start.on_hover_text("Execute the plan and check every read (F5)").clicked() {
        commands.send(Command::Run(RunCommand::Start));
    }
}
