//! All state of the window. Only [`crate::apply`] changes it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Range};
use crate::jobs::Jobs;
use crate::selection::Selection;
use crate::session::{PlanOptions, Planned, Session};
use crate::theme::ThemeKind;
use crate::views::Views;
use crate::views::run::DeviceAccess;

/// What colours a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum ColourBy {
    /// What it is for.
    Role,
    /// How large it is.
    Size,
    /// The slot it is in, or a small set of hues by place in an offset plan.
    Slot,
    /// The type of the op that writes it.
    Op,
    /// Whether it moved between two plans; while plans are compared.
    Difference,
}

impl ColourBy {
    /// Those that every plan has.
    pub const ALL: [Self; 4] = [Self::Role, Self::Size, Self::Slot, Self::Op];

    /// The word in the toolbar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::Size => "Size",
            Self::Slot => "Slot",
            Self::Op => "Op type",
            Self::Difference => "Moves",
        }
    }
}

/// A built-in sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Sample {
    /// Its position in [`crate::samples::SAMPLES`].
    pub index: usize,
}

/// What is kept between runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Of this structure; another number is not read.
    pub version: u32,
    /// The theme.
    pub theme: ThemeKind,
    /// The colouring; `None` picks one by what the file has.
    pub colour: Option<ColourBy>,
    /// Whether the plain wheel zooms instead of scrolling.
    pub wheel_zooms: bool,
    /// Whether nothing glides.
    pub reduce_motion: bool,
    /// Files opened before, the last one first.
    pub recent: Vec<PathBuf>,
}

impl Settings {
    /// The version of this structure.
    pub const VERSION: u32 = 1;
}

impl Default for Settings {
    fn default() -> Self {
        Self { version: Self::VERSION, theme: ThemeKind::Dark, colour: None, wheel_zooms: false, reduce_motion: false, recent: Vec::new() }
    }
}

/// A short message at the foot of the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// What happened.
    pub text: String,
    /// Whether it is bad.
    pub is_error: bool,
}

/// The field that stands in for a file dialog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathField {
    /// What was typed.
    pub text: String,
    /// Whether a file is to be written instead of read.
    pub is_export: bool,
}

/// All state of the window.
#[derive(Debug)]
pub struct State {
    /// What is kept between runs.
    pub settings: Settings,
    /// The open document.
    pub session: Option<Session>,
    /// A document that is being read while another one is still shown.
    pub opening: Option<Session>,
    /// The options with which the next file is opened.
    pub next_options: PlanOptions,
    /// How the next file is read.
    pub next_read: arenascope_formats::ReadOptions,
    /// What is selected and hovered.
    pub selection: Selection,
    /// The visible steps, shared by all charts.
    pub steps: Axis,
    /// The visible bytes of the Arena view.
    pub bytes: Axis,
    /// Whether the memory before planning is shown.
    pub show_before: bool,
    /// Whether the Arena view shows slots instead of offsets.
    pub slot_lanes: bool,
    /// Work in the background.
    pub jobs: Jobs,
    /// How devices are reached; `None` where no process may be started.
    pub devices: Option<DeviceAccess>,
    /// The views' own state.
    pub views: Views,
    /// The last message.
    pub notice: Option<Notice>,
    /// The path field, while it is shown.
    pub path_field: Option<PathField>,
    /// Whether the list of keys is shown.
    pub show_help: bool,
    /// Whether the window should close.
    pub quit: bool,
}

impl State {
    /// The first screen.
    #[must_use]
    pub fn new(settings: Settings, jobs: Jobs) -> Self {
        Self {
            settings,
            session: None,
            opening: None,
            next_options: PlanOptions::default(),
            next_read: arenascope_formats::ReadOptions::default(),
            selection: Selection::default(),
            steps: Axis::new(Range::new(0.0, 1.0), 1.0),
            bytes: Axis::new(Range::new(0.0, 1.0), 1.0),
            show_before: false,
            slot_lanes: false,
            jobs,
            devices: None,
            views: Views::default(),
            notice: None,
            path_field: None,
            show_help: false,
            quit: false,
        }
    }

    /// The plan to show, if there is one.
    #[must_use]
    pub fn planned(&self) -> Option<&Planned> {
        self.session.as_ref()?.shown().map(|planned| &**planned)
    }

    /// Whether the shown plan is one that its search found on the way, or a quick one shown meanwhile, and the search goes on.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.planned.is_running() && session.shows_best)
    }

    /// The colouring in force: the difference while plans are compared, or the chosen one, or slot in slot lanes, or role
    /// if the buffers have several, else size.
    #[must_use]
    pub fn colour_by(&self) -> ColourBy {
        if self.planned().is_some_and(|planned| self.views.strategies.colours_difference(planned)) {
            return ColourBy::Difference;
        }
        let shows_lanes = self.slot_lanes && !self.show_before && self.planned().is_some_and(|planned| planned.plan.slots.is_some());
        let chosen = self.settings.colour.filter(|&colour| colour != ColourBy::Difference);
        chosen.unwrap_or_else(|| if shows_lanes { ColourBy::Slot } else { default_colour(self.planned()) })
    }
}

fn default_colour(planned: Option<&Planned>) -> ColourBy {
    let roles = planned.map_or(&[][..], |planned| &planned.model.roles);
    let several = roles.first().is_some_and(|first| roles.iter().any(|role| role != first));
    if several { ColourBy::Role } else { ColourBy::Size }
}
