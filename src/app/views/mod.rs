//! The views and how they stand beside each other.

pub mod arena;
pub mod chart;
pub mod header;
pub mod inspector;
pub mod interference;
pub mod layout;
pub mod legend;
pub mod lifetimes;
pub mod memory;
pub mod minimap;
pub mod ruler;
pub mod run;
pub mod strategies;
pub mod table;

use arenascope_planner::ids::BufferId;

use crate::session::Planned;

/// One view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Serialize, serde::Deserialize)]
pub enum Pane {
    /// A bar per buffer.
    Lifetimes,
    /// The Gantt chart of the arena.
    Arena,
    /// Curves over the steps.
    Memory,
    /// Who interferes with whom.
    Interference,
    /// Everything known about the selection.
    Inspector,
    /// Every buffer as a row.
    Table,
    /// Every strategy as a row.
    Strategies,
    /// Measured memory over planned memory; always alone.
    Run,
}

impl Pane {
    /// All views.
    pub const ALL: [Self; 8] =
        [Self::Lifetimes, Self::Arena, Self::Memory, Self::Interference, Self::Inspector, Self::Table, Self::Strategies, Self::Run];

    /// The name in its header.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Lifetimes => "Lifetimes",
            Self::Arena => "Arena",
            Self::Memory => "Memory",
            Self::Interference => "Interference",
            Self::Inspector => "Inspector",
            Self::Table => "Table",
            Self::Strategies => "Strategies",
            Self::Run => "Run",
        }
    }

    /// What it shows and how to use it, for the help popover.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Lifetimes => {
                "A bar per buffer, from the step that first writes it to one past the step that last reads it. Two bars over one step interfere: they cannot share memory. Wheel scrolls, Ctrl+wheel zooms, drag pans, right-drag zooms into a range, Shift+drag marks steps."
            }
            Self::Arena => {
                "Steps to the right, bytes upwards: each rectangle is a buffer at its offset for as long as it lives. Hatched is space trapped below a live buffer; a yellow foot says that the buffer could be lower if nothing else moved. Several pools stand in lanes of their own. B flips to the memory before planning. Drag the numbers at the left, or use Shift with the zoom, for bytes alone."
            }
            Self::Memory => {
                "Live bytes at every step, the arena that the plan needs, the lower bound that no plan can beat, and the naive total that grows when nothing is shared. P goes to the peak."
            }
            Self::Interference => {
                "Every node is a buffer, every line says that two are live at the same step. A colour that no two neighbours share is a slot."
            }
            Self::Inspector => "Everything known about what is selected. Click a link to follow it.",
            Self::Strategies => {
                "All strategies on this input, with the same alignment and sharing. The yellow line is the lower bound: what stands to the right of it is waste. Click a row to use that strategy; Compare with… shows what differs from another plan, here and in the Arena."
            }
            Self::Table => {
                "Every buffer as a row. Click a heading to sort; filter by words, role:gradient, op:Conv, dtype:f32, is:lower, @step or >1MiB."
            }
            Self::Run => {
                "The plan executed on a device. The grey area is what was planned, the pink line what the device gave above its baseline, the pink band what granules of its memory and pools explain. Every read is checked: a tensor that was overwritten is named. Click a step to select it everywhere."
            }
        }
    }
}

/// The views' own state.
#[derive(Debug, Default)]
pub struct Views {
    /// Sorting and scrolling of the lifetimes.
    pub lifetimes: lifetimes::LifetimesState,
    /// The Arena view's gestures.
    pub arena: arena::ArenaState,
    /// Layout of the interference graph.
    pub interference: interference::InterferenceState,
    /// Sorting, filter and scrolling of the table.
    pub table: table::TableState,
    /// What all strategies reach.
    pub strategies: strategies::StrategiesState,
    /// Which of the two views at the foot is in front.
    pub shows_strategies: bool,
    /// Runs on devices.
    pub run: run::RunState,
    /// The Inspector's folds.
    pub inspector: inspector::InspectorState,
    /// How the views are docked.
    pub docking: layout::Docking,
    /// The view shown alone.
    pub maximised: Option<Pane>,
    /// Small pictures of the samples, once they are made.
    pub thumbnails: Vec<crate::samples::Thumbnail>,
}

impl Views {
    /// Puts all views back where they were at first.
    pub fn reset_layout(&mut self) {
        self.docking = layout::Docking::default();
        self.maximised = None;
    }

    /// Forgets what belongs to a document that was closed.
    pub fn forget_document(&mut self) {
        self.lifetimes = lifetimes::LifetimesState::default();
        self.arena = arena::ArenaState::default();
        self.interference = interference::InterferenceState::default();
        self.table = table::TableState::default();
        self.inspector = inspector::InspectorState::default();
        self.strategies = strategies::StrategiesState::default();
        self.run.forget_document();
    }

    /// Drops what belongs to the plan before this one.
    pub fn replan(&mut self, planned: &Planned) {
        self.interference.replan(planned);
        self.table.replan(planned);
    }

    /// Scrolls the views that scroll so that a buffer is visible.
    pub fn reveal(&mut self, planned: &Planned, buffer: Option<BufferId>) {
        if let Some(buffer) = buffer {
            self.lifetimes.reveal(planned, buffer);
            self.table.reveal(buffer);
        }
    }

    /// Puts the cursor into the table's filter.
    pub fn start_search(&mut self) {
        self.shows_strategies = false;
        self.docking.show(Pane::Table);
        if self.maximised.is_some() {
            self.maximised = Some(Pane::Table);
        }
        self.table.start_search();
    }
}
