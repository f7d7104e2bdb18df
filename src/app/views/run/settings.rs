//! What a run is asked for in the window, and why there may be none.

use arenascope_gpu::device::DeviceDescription;
use arenascope_gpu::probe::ProbeReport;
use arenascope_gpu::program::{refusal, suggested_scale};
use arenascope_gpu::protocol::{DeviceChoice, Mode, RunOptions, Waits};
use arenascope_gpu::regimes::Regime;

use super::words::unsupported;
use crate::session::Planned;

/// Why nothing of a bare problem can be computed.
pub(super) const NOTHING_TO_COMPUTE: &str = "The file has buffers but no graph, so that there is nothing to compute.";
/// Why a bare problem runs on one stream.
pub(super) const NO_BRANCHES: &str = "The file has buffers but no graph, so that nothing says which ops may run side by side.";

/// By how much a plan is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Not at all on a CPU; on a GPU so that the arena is large beside its granules.
    Auto,
    /// By this.
    Times(u64),
}

/// What a run is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSettings {
    /// Where; `None` is the first GPU that works, else the CPU.
    pub device: Option<DeviceChoice>,
    /// The ways of getting memory that are compared, in their usual order.
    pub regimes: Vec<Regime>,
    /// Timed iterations of each.
    pub iterations: u32,
    /// By how much the plan is multiplied.
    pub scale: Scale,
    /// The most memory that one of them may take, bytes; half of what is free without it.
    pub budget_bytes: Option<u64>,
    /// Whether the arena's bytes are looked at after every step.
    pub footprint: bool,
    /// What is done with the tensors.
    pub mode: Mode,
    /// Streams over which the ops are spread.
    pub streams: u32,
    /// What makes one stream wait for another.
    pub waits: Waits,
}

impl Default for RunSettings {
    fn default() -> Self {
        let options = RunOptions::default();
        Self {
            device: None,
            regimes: options.regimes,
            iterations: options.timed_iterations,
            scale: Scale::Auto,
            budget_bytes: None,
            footprint: false,
            mode: options.mode,
            streams: options.streams,
            waits: options.waits,
        }
    }
}

impl RunSettings {
    /// The device that is meant, as far as the probe has answered.
    #[must_use]
    pub fn device(&self, probe: Option<&ProbeReport>) -> DeviceChoice {
        let first = probe.and_then(|probe| probe.devices.first());
        self.device.unwrap_or_else(|| first.map_or(DeviceChoice::Cpu, |device| DeviceChoice::Gpu(device.index)))
    }

    /// The factor that is meant for an arena of that size.
    #[must_use]
    pub fn times(&self, device: DeviceChoice, arena_bytes: u64) -> u64 {
        match (self.scale, device) {
            // What is computed has the sizes of the file.
            _ if self.mode == Mode::Compute => 1,
            (Scale::Times(times), _) => times.max(1),
            (Scale::Auto, DeviceChoice::Cpu) => 1,
            (Scale::Auto, DeviceChoice::Gpu(_)) => suggested_scale(arena_bytes),
        }
    }

    /// The ways of getting memory that the next run takes: only the arena computes, and only what holds its memory
    /// throughout runs on several streams.
    #[must_use]
    pub fn regimes_of_run(&self) -> Vec<Regime> {
        if self.mode == Mode::Compute {
            return vec![Regime::Arena];
        }
        let fitting = self.regimes.iter().copied().filter(|&regime| unsupported(regime, false, self.streams_of_run()).is_none());
        let fitting: Vec<Regime> = fitting.collect();
        if fitting.is_empty() { vec![Regime::Arena] } else { fitting }
    }

    /// The streams that the next run takes: what computes runs on one.
    #[must_use]
    pub fn streams_of_run(&self) -> u32 {
        if self.mode == Mode::Compute { 1 } else { self.streams.max(1) }
    }

    /// What the child is asked for.
    #[must_use]
    pub fn options(&self, device: DeviceChoice) -> RunOptions {
        RunOptions {
            device,
            regimes: self.regimes_of_run(),
            timed_iterations: self.iterations,
            budget_bytes: self.budget_bytes,
            footprint: self.footprint && self.mode == Mode::Integrity,
            mode: self.mode,
            streams: self.streams_of_run(),
            waits: self.waits,
            ..RunOptions::default()
        }
    }

    /// Why a plan without a graph cannot be run this way; `None` if it can, or has a graph.
    #[must_use]
    pub(super) fn lacks_graph(&self, planned: &Planned) -> Option<&'static str> {
        match self.mode {
            _ if planned.prepared.context.is_some() => None,
            Mode::Compute => Some(NOTHING_TO_COMPUTE),
            Mode::Integrity => (self.streams > 1).then_some(NO_BRANCHES),
        }
    }

    /// The same with a regime in or out.
    #[must_use]
    pub fn with_regime(mut self, regime: Regime, on: bool) -> Self {
        self.regimes = Regime::ALL.into_iter().filter(|&other| if other == regime { on } else { self.regimes.contains(&other) }).collect();
        self
    }
}

/// What the probe says of a device.
#[must_use]
pub(super) fn described(probe: Option<&ProbeReport>, choice: DeviceChoice) -> Option<&DeviceDescription> {
    let DeviceChoice::Gpu(index) = choice else { return None };
    probe?.devices.iter().find(|device| device.index == index)
}

/// Why this plan cannot be run on any device; `None` if it can.
#[must_use]
pub fn blocked(planned: &Planned) -> Option<String> {
    if !planned.is_valid() {
        return Some("A device runs only what both checkers accept, and this plan has faults. Choose another strategy.".to_owned());
    }
    refusal(&planned.prepared.problem).map(|error| format!("{error}."))
}
