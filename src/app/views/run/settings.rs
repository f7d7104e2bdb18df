//! What a run is asked for in the window, and why there may be none.

use arenascope_gpu::device::DeviceDescription;
use arenascope_gpu::probe::ProbeReport;
use arenascope_gpu::program::{refusal, suggested_scale};
use arenascope_gpu::protocol::{DeviceChoice, RunOptions};
use arenascope_gpu::regimes::Regime;

use crate::session::Planned;

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
            (Scale::Times(times), _) => times.max(1),
            (Scale::Auto, DeviceChoice::Cpu) => 1,
            (Scale::Auto, DeviceChoice::Gpu(_)) => suggested_scale(arena_bytes),
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
