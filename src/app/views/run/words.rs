//! Regimes, devices and outcomes in words.

use arenascope_gpu::device::{DeviceDescription, DeviceKind};
use arenascope_gpu::protocol::{DeviceChoice, Mode, Outcome, RegimeReport, RegimeStatus, Waits};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;

use crate::draw::Tone;
use crate::text;
use crate::theme::Icon;

/// A regime as a person reads it.
#[must_use]
pub(super) fn regime_name(regime: Regime) -> &'static str {
    match regime {
        Regime::AllLive => "All live, nothing reused",
        Regime::PerTensor => "Allocate and free per buffer",
        Regime::Pool => "Stream-ordered pool",
        Regime::Caching => "Caching allocator",
        Regime::Arena => "Static arena",
        Regime::ArenaGraph => "Static arena, replayed",
    }
}

/// What a regime does, in a sentence.
#[must_use]
pub(super) fn regime_help(regime: Regime) -> &'static str {
    match regime {
        Regime::AllLive => "Every buffer has a block of its own throughout the run.",
        Regime::PerTensor => "Every buffer is allocated before its first step and freed after its last one, by the device's own allocator.",
        Regime::Pool => "The same from the driver's stream-ordered pool.",
        Regime::Caching => "The same from a caching allocator by PyTorch's rules, which keeps freed blocks.",
        Regime::Arena => "One block, laid out by the plan.",
        Regime::ArenaGraph => "One block, laid out by the plan; all launches of an iteration are recorded once and replayed.",
    }
}

/// Why a regime cannot be run on a kind of device, on so many streams.
#[must_use]
pub(super) fn unsupported(regime: Regime, is_cpu: bool, streams: u32) -> Option<&'static str> {
    match regime {
        Regime::PerTensor | Regime::Pool | Regime::Caching if streams > 1 => {
            Some("It takes and gives blocks in the order of one stream: with several, a block could change hands while it is in use.")
        }
        Regime::Pool if is_cpu => Some("The CPU has no stream-ordered pool."),
        Regime::ArenaGraph if is_cpu => Some("The CPU has no graph of launches to replay."),
        _ => None,
    }
}

/// A device as a choice.
#[must_use]
pub(super) fn device_name(choice: DeviceChoice, described: Option<&DeviceDescription>) -> String {
    match (choice, described) {
        (DeviceChoice::Cpu, _) => "CPU".to_owned(),
        (DeviceChoice::Gpu(_), Some(device)) => device.name.clone(),
        (DeviceChoice::Gpu(index), None) => format!("GPU {index}"),
    }
}

/// A kind of device.
#[must_use]
pub(super) fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Simulated => "simulated, not a GPU",
    }
}

/// Bytes with a sign; `0 B` without.
#[must_use]
pub(super) fn signed_bytes(bytes: i64) -> String {
    match bytes {
        0 => "0 B".to_owned(),
        bytes if bytes < 0 => format!("−{}", text::bytes(bytes.unsigned_abs())),
        bytes => format!("+{}", text::bytes(bytes.unsigned_abs())),
    }
}

/// Milliseconds with three significant digits.
#[must_use]
pub(super) fn milliseconds(ms: f64) -> String {
    match ms {
        ms if !ms.is_finite() || ms < 0.0 => text::NONE.to_owned(),
        0.0 => "0".to_owned(),
        ms if ms < 0.1 => format!("{:.1} µs", ms * 1e3),
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 99.95 => format!("{ms:.1} ms"),
        ms => text::time(ms / 1e3),
    }
}

/// A small share as two digits and a power of ten: `6.0e-7`.
#[must_use]
pub(super) fn share(share: f64) -> String {
    if share.is_finite() { format!("{share:.1e}") } else { "no number".to_owned() }
}

/// A mode as a choice.
#[must_use]
pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Integrity => "Integrity",
        Mode::Compute => "Compute",
    }
}

/// What a stream waits for.
#[must_use]
pub(super) fn waits_name(waits: Waits) -> &'static str {
    match waits {
        Waits::Graph => "graph",
        Waits::Plan => "plan",
    }
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    /// Good, bad or neither.
    pub(super) tone: Tone,
    /// Its sign.
    pub(super) icon: Icon,
    /// In a few words.
    pub(super) title: String,
    /// The rest.
    pub(super) detail: String,
}

/// What came of a run.
#[must_use]
pub(super) fn verdict(record: &RunRecord) -> Verdict {
    let make = |tone, icon, title: &str, detail: String| Verdict { tone, icon, title: title.to_owned(), detail };
    let error = record.error.as_ref().map(|error| {
        let remedy = if error.remedy.is_empty() { String::new() } else { format!(". What may help: {}", for_window(&error.remedy)) };
        format!("{}{remedy}.", capital(&error.message))
    });
    match record.outcome {
        Outcome::Clean => make(Tone::Ok, Icon::SEAL_CHECK, "No tensor was overwritten", clean_detail(record)),
        Outcome::Clobbered => {
            let title = text::counted(record.n_findings, "wrong read", "wrong reads");
            make(
                Tone::Err,
                Icon::WARNING_OCTAGON,
                &title,
                "A read found other bytes than its writer had written. The Findings name the tensor, the op and the culprit.".to_owned(),
            )
        }
        Outcome::DoesNotFit => make(Tone::Err, Icon::WARNING_OCTAGON, "It does not fit", error.unwrap_or_else(|| does_not_fit(record))),
        Outcome::NoDevice => make(Tone::Err, Icon::WARNING_CIRCLE, "There is no device to run on", error.unwrap_or_default()),
        Outcome::DeviceFailed => {
            let failed = record.regimes.iter().find(|report| report.status == RegimeStatus::Failed);
            let note = failed.map(|report| format!("{}: {}.", regime_name(report.regime), report.note));
            make(Tone::Err, Icon::WARNING_OCTAGON, "The device failed", error.or(note).unwrap_or_default())
        }
        Outcome::Cancelled => {
            let n = record.regimes.len() as u64;
            let detail = match record.options.mode {
                Mode::Integrity => format!("What had been measured by then is shown: {}.", text::counted(n, "regime", "regimes")),
                Mode::Compute => "Nothing had been compared to its end by then.".to_owned(),
            };
            make(Tone::Warn, Icon::STOP, "Cancelled", detail)
        }
    }
}

fn clean_detail(record: &RunRecord) -> String {
    if let Some(report) = &record.compute {
        return format!(
            "{} in each of {}, equal bit for bit to a run in which every tensor has memory of its own. {} within {:.0e} of 64-bit arithmetic.",
            text::counted(report.n_reads, "read", "reads"),
            text::counted(record.options.checked_iterations.into(), "iteration", "iterations"),
            text::counted(report.n_samples, "result", "results"),
            report.tolerance
        );
    }
    let ran = || record.regimes.iter().filter(|report| report.status == RegimeStatus::Ran);
    let iterations = u64::from(record.options.checked_iterations);
    let reads = ran().map(|report| report.n_checks).sum::<u64>().saturating_mul(iterations);
    format!(
        "{}, {} in each of {}, 0 wrong words.",
        text::counted(reads, "read checked", "reads checked"),
        text::counted(iterations, "iteration", "iterations"),
        text::counted(ran().count() as u64, "regime", "regimes")
    )
}

fn does_not_fit(record: &RunRecord) -> String {
    let skipped: Vec<&RegimeReport> = record.regimes.iter().filter(|report| report.regime.is_arena() && !report.note.is_empty()).collect();
    skipped.first().map_or_else(String::new, |report| format!("{}.", capital(&report.note)))
}

/// A remedy with the window's controls in place of the command line's options.
pub(super) fn for_window(remedy: &str) -> String {
    let words = remedy.replace("`run --mode integrity` runs", "Integrity mode runs").replace("with --device cpu", "on the CPU");
    words.replace("with --align 8 or more", "with an alignment of 8 B or more").replace("--scale", "scale").replace("--budget", "the budget")
}

/// The same sentence with a capital letter at its start.
#[must_use]
pub(super) fn capital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// When a run began: a date and a time in UTC; empty if unknown.
#[must_use]
pub(super) fn date(unix_seconds: u64) -> String {
    if unix_seconds == 0 {
        return String::new();
    }
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Howard Hinnant's civil_from_days: the calendar repeats every 400 years, which begin in March.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(date(1_796_083_200), "2026-12-01 00:00 UTC");
    }

    #[test]
    fn signed_bytes_and_milliseconds_have_one_form_each() {
        assert_eq!([signed_bytes(0), signed_bytes(2048), signed_bytes(-1)], ["0 B", "+2.00 KiB", "−1 B"]);
        assert_eq!(
            [milliseconds(0.0412), milliseconds(3.914), milliseconds(27.1), milliseconds(2500.0)],
            ["41.2 µs", "3.91 ms", "27.1 ms", "2.50 s"]
        );
        assert_eq!(milliseconds(f64::NAN), text::NONE);
    }
}
