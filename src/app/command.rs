//! Everything a person can do, as values: one table serves menus, shortcuts, tooltips and tests.

use std::cell::RefCell;
use std::path::PathBuf;

use arenascope_planner::alias::Io;
use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::units::Align;
use egui::{Key, KeyboardShortcut, Modifiers};

use crate::axis::{Glide, Range};
use crate::model::RowOrder;
use crate::selection::Item;
use crate::state::{ColourBy, Sample};
use crate::theme::ThemeKind;
use crate::views::Pane;
use crate::views::run::RunCommand;
use crate::views::strategies::Against;
use arenascope_planner::lifetimes::Lifetime;

/// One change that a person asks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Ask for a file with the system's dialog.
    OpenDialog,
    /// Show the field for a path.
    OpenByPath,
    /// Read a file.
    Open(PathBuf),
    /// Read a built-in sample.
    OpenSample(Sample),
    /// Close the document and show the first screen.
    CloseFile,
    /// Forget the recent files.
    ClearRecent,
    /// Write the plan or a picture: ask where with the system's dialog.
    ExportDialog,
    /// Write the plan; the extension decides the kind.
    Export(PathBuf),
    /// Stop the job that runs.
    CancelJob,
    /// Lay out the interference graph.
    LayOutInterference,
    /// Plan again with the same settings.
    Replan,
    /// Use another strategy.
    SetStrategy(String),
    /// Use another alignment.
    SetAlign(Align),
    /// Switch in-place results.
    SetInPlace(bool),
    /// Move graph inputs and outputs in or out of the arena.
    SetIo(Io),
    /// Run the ops in another order.
    SetOrder(Order),
    /// Keep other ops able to run side by side.
    SetParallel(Parallel),
    /// Measure the peak of every order.
    MeasureOrders,
    /// Go back to the settings before the last change.
    Undo,
    /// Bring back the settings that were undone.
    Redo,
    /// Draw a capacity line, or none.
    SetCapacity(Option<u64>),
    /// Colour by something else.
    SetColour(ColourBy),
    /// Use another theme.
    SetTheme(ThemeKind),
    /// Use the theme after this one.
    NextTheme,
    /// Show the memory before or after planning.
    SetBefore(bool),
    /// Flip between before and after.
    FlipBefore,
    /// Show slots instead of offsets.
    SetSlotLanes(bool),
    /// Sort the lifetimes.
    SetRowOrder(RowOrder),
    /// Select an item.
    Select(Item),
    /// Mark a range of steps.
    MarkSteps(Option<Lifetime>),
    /// Let go of what is selected, marked or asked.
    Clear,
    /// Select the buffer born next.
    NextBuffer,
    /// Select the buffer born before.
    PreviousBuffer,
    /// Show the peak step.
    GoToPeak,
    /// Show everything.
    Fit,
    /// Show the selection; once more shows everything.
    ZoomToSelection,
    /// Show a range of steps.
    ShowSteps(Range, Glide),
    /// Zoom in or out of the steps around one of them.
    ZoomSteps {
        /// The step that stays where it is.
        at: f64,
        /// Above 1 shows less.
        factor: f64,
    },
    /// Zoom in on the middle.
    ZoomIn,
    /// Zoom out from the middle.
    ZoomOut,
    /// Move by a part of what is shown, at once.
    PanSteps(f64),
    /// Move a quarter of a view to the left.
    PanLeft,
    /// Move a quarter of a view to the right.
    PanRight,
    /// Show a range of bytes in the Arena view.
    ShowBytes(Range, Glide),
    /// Zoom the bytes of the Arena view around one of them.
    ZoomBytes {
        /// The byte that stays where it is.
        at: f64,
        /// Above 1 shows less.
        factor: f64,
    },
    /// Let the plain wheel zoom, or scroll.
    SetWheelZooms(bool),
    /// Show one view alone, or all of them again.
    Maximise(Option<Pane>),
    /// Bring a view at the foot of the window to the front.
    ShowFoot(Pane),
    /// Run all strategies.
    CompareStrategies,
    /// Show what differs from another plan, or stop showing it.
    CompareWith(Option<Against>),
    /// Put all views back where they were at first.
    ResetLayout,
    /// Put the cursor into the table's filter.
    Find,
    /// Filter the table.
    SetFilter(String),
    /// Probe, run, stop, recordings.
    Run(RunCommand),
    /// Show or hide the list of keys.
    ToggleHelp,
    /// Close the window.
    Quit,
}

/// A command as menus and shortcuts know it.
#[derive(Debug)]
pub struct Entry {
    /// What it does.
    pub command: Command,
    /// Its text in menus.
    pub text: &'static str,
    /// One sentence on hover.
    pub tooltip: &'static str,
    /// Its keys, the first one shown.
    pub keys: &'static [KeyboardShortcut],
    /// The menu it stands in; empty for none.
    pub menu: &'static str,
    /// Whether it makes sense only while a file is open.
    pub needs_file: bool,
}

const fn key(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn ctrl(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

const fn ctrl_shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

const fn entry(
    menu: &'static str,
    text: &'static str,
    command: Command,
    keys: &'static [KeyboardShortcut],
    needs_file: bool,
    tooltip: &'static str,
) -> Entry {
    Entry { command, text, tooltip, keys, menu, needs_file }
}

/// The menus in their order.
pub const MENUS: [&str; 5] = ["File", "Edit", "View", "Plan", "Help"];

/// Every command that menus, shortcuts and the help list show.
pub static COMMANDS: &[Entry] = &[
    entry("File", "Open…", Command::OpenDialog, &[ctrl(Key::O)], false, "Choose a model, a problem or a plan"),
    entry("File", "Open by path…", Command::OpenByPath, &[ctrl(Key::L)], false, "Type or paste the path of a file"),
    entry("File", "Export…", Command::ExportDialog, &[ctrl(Key::E)], true, "Write the plan as JSON or CSV, the graph as DOT, or the window as PNG"),
    entry("File", "Close file", Command::CloseFile, &[ctrl(Key::W)], true, "Go back to the first screen"),
    entry("File", "Quit", Command::Quit, &[ctrl(Key::Q)], false, "Close the window"),
    entry("Edit", "Undo", Command::Undo, &[ctrl(Key::Z)], true, "Go back to the settings before the last change, and plan with them"),
    entry("Edit", "Redo", Command::Redo, &[ctrl_shift(Key::Z), ctrl(Key::Y)], true, "Bring back the settings that were undone"),
    entry("Edit", "Find", Command::Find, &[ctrl(Key::F), key(Key::Slash)], true, "Filter the table by name, op, dtype, role, @step or >size"),
    entry("Edit", "Next buffer", Command::NextBuffer, &[key(Key::Period)], true, "Select the buffer born next"),
    entry("Edit", "Previous buffer", Command::PreviousBuffer, &[key(Key::Comma)], true, "Select the buffer born before"),
    entry("Edit", "Clear", Command::Clear, &[key(Key::Escape)], false, "Let go of the selection"),
    entry("View", "Before / after", Command::FlipBefore, &[key(Key::B)], true, "Flip between the memory before and after planning"),
    entry("View", "Peak", Command::GoToPeak, &[key(Key::P)], true, "Go to the step with the most live bytes"),
    entry("View", "Fit", Command::Fit, &[key(Key::Home)], true, "Show the whole run"),
    entry("View", "Zoom to selection", Command::ZoomToSelection, &[key(Key::F)], true, "Show the selected thing; once more shows everything"),
    entry("View", "Zoom in", Command::ZoomIn, &[key(Key::W)], true, "Show fewer steps"),
    entry("View", "Zoom out", Command::ZoomOut, &[key(Key::S)], true, "Show more steps"),
    entry("View", "Pan left", Command::PanLeft, &[key(Key::A), key(Key::ArrowLeft)], true, "Show earlier steps"),
    entry("View", "Pan right", Command::PanRight, &[key(Key::D), key(Key::ArrowRight)], true, "Show later steps"),
    entry(
        "View",
        "Run view",
        Command::Maximise(Some(Pane::Run)),
        &[key(Key::R)],
        true,
        "Execute the plan and lay measured memory over planned memory",
    ),
    entry("View", "Reset layout", Command::ResetLayout, &[], true, "Put all views back where they were at first"),
    entry("View", "Next theme", Command::NextTheme, &[ctrl(Key::T)], false, "Dark, light, projector"),
    entry("Plan", "Plan again", Command::Replan, &[ctrl(Key::R)], true, "Run the strategy once more"),
    entry("Plan", "Run", Command::Run(RunCommand::Start), &[key(Key::F5)], true, "Execute the plan on the chosen device and check every read"),
    entry("Plan", "Cancel", Command::CancelJob, &[shift(Key::Escape)], false, "Stop the work in the background and keep what there is"),
    entry("Help", "Keys", Command::ToggleHelp, &[key(Key::F1), shift(Key::Questionmark), key(Key::Questionmark)], false, "All keys and gestures"),
];

/// The table's entry of a command.
#[must_use]
pub fn entry_of(command: &Command) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.command == *command)
}

/// The keys of a command as text, for menus and keycaps; empty if it has none.
#[must_use]
pub fn shortcut_text(ctx: &egui::Context, command: &Command) -> String {
    entry_of(command).and_then(|entry| entry.keys.first()).map_or_else(String::new, |keys| ctx.format_shortcut(keys))
}

/// Where views put their commands; the next frame begins by carrying them out.
#[derive(Debug, Default)]
pub struct CommandSender {
    queue: RefCell<Vec<Command>>,
}

impl CommandSender {
    /// Asks for a change.
    pub fn send(&self, command: Command) {
        self.queue.borrow_mut().push(command);
    }

    /// Takes what was asked for.
    pub fn take(&self) -> Vec<Command> {
        self.queue.take()
    }

    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.borrow().is_empty()
    }
}

/// The commands whose keys were pressed, unless a text field has the keyboard.
#[must_use]
pub fn pressed(ctx: &egui::Context, has_file: bool) -> Vec<Command> {
    let typing = ctx.memory(|memory| memory.focused().is_some()) && ctx.egui_wants_keyboard_input();
    let mut commands = Vec::new();
    // An open menu takes Escape for itself.
    let menu_is_open = egui::Popup::is_any_open(ctx);
    ctx.input_mut(|input| {
        if !typing {
            by_position(input);
        }
        for entry in COMMANDS.iter().filter(|entry| has_file || !entry.needs_file) {
            for keys in entry.keys {
                let plain = !keys.modifiers.command && !matches!(keys.logical_key, Key::Escape | Key::F1);
                let is_menus = menu_is_open && keys.logical_key == Key::Escape;
                if (!plain || !typing) && !is_menus && input.consume_shortcut(keys) {
                    commands.push(entry.command.clone());
                }
            }
        }
    });
    commands
}

/// Lets W, A, S and D mean the keys in those places, whatever letters the keyboard puts there.
fn by_position(input: &mut egui::InputState) {
    for event in &mut input.events {
        if let egui::Event::Key { key, physical_key: Some(place @ (Key::W | Key::A | Key::S | Key::D)), modifiers, .. } = event
            && modifiers.is_none()
        {
            *key = *place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_a_key_and_every_menu_exists() {
        let mut seen = Vec::new();
        for entry in COMMANDS {
            assert!(MENUS.contains(&entry.menu), "{}", entry.text);
            for keys in entry.keys {
                assert!(!seen.contains(keys), "{} uses a taken key", entry.text);
                seen.push(*keys);
            }
        }
    }
}
