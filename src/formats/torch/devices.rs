//! Which of several devices is read: a workload has one address space.

use arenascope_planner::workload::Warning;

use super::Reading;
use crate::error::FormatError;

/// A device of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Device {
    /// How the file numbers it.
    pub(super) number: i64,
    /// Its name in messages.
    pub(super) name: String,
    pub(super) n_events: u64,
    /// Bytes in use at the end: the measure where no events are recorded.
    pub(super) bytes: u64,
}

/// The device asked for, or the one with most events (then most bytes, then the lowest number), and a warning that
/// names the others.
pub(super) fn choose(reading: &Reading<'_>, devices: &[Device]) -> Result<(i64, Option<Warning>), FormatError> {
    let listed = || devices.iter().map(|device| format!("{} ({} events)", device.name, device.n_events)).collect::<Vec<_>>().join(", ");
    if let Some(asked) = reading.options.device {
        if devices.iter().any(|device| device.number == asked) {
            return Ok((asked, None));
        }
        let what = format!("no device {asked}; the file has {}", if devices.is_empty() { "none".to_owned() } else { listed() });
        return Err(reading.entry("device", what, "name one of these"));
    }
    let best = devices.iter().max_by_key(|device| (device.n_events, device.bytes, std::cmp::Reverse(device.number)));
    let number = best.map_or(0, |device| device.number);
    let used = devices.iter().filter(|device| device.n_events > 0 || device.bytes > 0).count();
    let name = best.map_or("", |device| &device.name);
    let warning =
        (used > 1).then(|| Warning::general(format!("several devices: {}; {name} is read, choose another with --trace-device N", listed())));
    Ok((number, warning))
}
