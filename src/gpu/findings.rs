//! What a run found: which read was wrong, where, and whose write did it.
//!
//! The device says only how many words of which read differ. The culprits come from the program: the writes between
//! the producer and the reader whose ranges meet the wrong bytes. On several streams these are all writes that are
//! neither over before the producer begins nor begin after the read.

use serde::{Deserialize, Serialize};

use crate::pattern::WordReport;
use crate::program::{Check, Home, Program};
use crate::regimes::Regime;
use crate::streams::Streams;

/// A write that explains a wrong read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Culprit {
    /// The tensor that was written.
    pub tensor: String,
    /// The op that wrote it.
    pub op: String,
    /// The step, as an index into the program.
    pub step: usize,
    /// Whether it begins at the same byte as the tensor that it destroyed.
    pub is_at_same_offset: bool,
}

/// One wrong read, or a wrong byte where nothing should ever be written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The regime in which it was found.
    pub regime: Regime,
    /// The tensor that was not what it should have been; empty for a gap.
    pub tensor: String,
    /// The op that read it; empty for a gap and for graph outputs after the last step.
    pub reader: String,
    /// The step that read it, as an index into the program; `None` for a gap and after the last step.
    pub step: Option<usize>,
    /// The op that had written it; empty if it was there before step 0.
    pub producer: String,
    /// Words that differed, per checked iteration, rounded up.
    pub words_wrong: u64,
    /// Words of the tensor.
    pub words: u64,
    /// First wrong byte, from the tensor's begin; from the arena's begin for a gap.
    pub from_byte: u64,
    /// One past the last wrong byte.
    pub to_byte: u64,
    /// Writes that explain it, the latest first.
    pub culprits: Vec<Culprit>,
    /// All of this in one sentence.
    pub message: String,
}

/// The findings of one regime, from the device's reports: first one per check, then one per gap.
///
/// Checks have been made in so many `iterations`, gaps were looked at once.
pub(crate) fn findings(
    program: &Program,
    regime: Regime,
    (checks, gaps): (&[Check], &[(u64, u64)]),
    reports: &[WordReport],
    (iterations, streams): (u32, Option<&Streams>),
) -> Vec<Finding> {
    let (of_checks, of_gaps) = reports.split_at(checks.len().min(reports.len()));
    let reads = checks.iter().zip(of_checks).filter(|(_, report)| report.n_wrong > 0);
    let mut found: Vec<Finding> = reads
        .map(|(check, report)| wrong_read(program, regime, *check, per_iteration(*report, if streams.is_some() { 1 } else { iterations }), streams))
        .collect();
    let canaries = gaps.iter().zip(of_gaps).filter(|(_, report)| report.n_wrong > 0);
    found.extend(canaries.map(|(&gap, report)| wrong_gap(program, regime, gap, *report)));
    found
}

fn per_iteration(report: WordReport, iterations: u32) -> WordReport {
    WordReport { n_wrong: report.n_wrong.div_ceil(iterations.max(1)), ..report }
}

fn wrong_bytes(report: WordReport, bytes: u64) -> (u64, u64) {
    (u64::from(report.first) * 4, (u64::from(report.last) * 4 + 4).min(bytes))
}

fn wrong_read(program: &Program, regime: Regime, check: Check, report: WordReport, streams: Option<&Streams>) -> Finding {
    let value = &program.values[check.value];
    let (from_byte, to_byte) = wrong_bytes(report, value.bytes);
    let op = |step: Option<usize>| step.map_or_else(String::new, |step| program.steps[step].op.clone());
    let culprits = match streams {
        _ if !regime.is_arena() => Vec::new(),
        None => culprits(program, check, from_byte, to_byte),
        Some(streams) => unordered_culprits(program, check, from_byte, to_byte, streams),
    };
    let mut finding = Finding {
        regime,
        tensor: value.name.clone(),
        reader: op(check.step),
        step: check.step,
        producer: op(program.values[value.tag as usize].written_at),
        // On streams not every iteration shows it.
        words_wrong: if streams.is_some() { u64::from(report.n_wrong).min(value.bytes.div_ceil(4)) } else { u64::from(report.n_wrong) },
        words: value.bytes.div_ceil(4),
        from_byte,
        to_byte,
        culprits,
        message: String::new(),
    };
    finding.message = sentence(&finding, streams.is_some());
    finding
}

/// The writes between the tensor's own write and the read that meet the wrong bytes, the latest first.
fn culprits(program: &Program, check: Check, from_byte: u64, to_byte: u64) -> Vec<Culprit> {
    let (home, begin, _) = program.range(check.value);
    let (from, to) = (begin + from_byte, begin + to_byte);
    let tag = program.values[check.value].tag as usize;
    let written_at = program.values[tag].written_at;
    let last = check.step.unwrap_or(program.steps.len() - 1);
    let mut culprits = Vec::new();
    for step in (written_at.unwrap_or(0)..=last).rev() {
        let writes = &program.steps[step].writes;
        // What the producer wrote before the tensor did no harm, nor does what comes after a read that is consumed.
        let own = writes.iter().position(|&value| Some(step) == written_at && value == tag).map_or(0, |at| at + 1);
        let is_late = check.is_consumed && Some(step) == check.step;
        for &other in writes[own..].iter().rev().filter(|_| !is_late) {
            let (other_home, other_begin, other_end) = program.range(other);
            if other_home == home && other_begin < to && other_end > from {
                let (tensor, op) = (program.values[other].name.clone(), program.steps[step].op.clone());
                culprits.push(Culprit { tensor, op, step, is_at_same_offset: other_begin == begin });
            }
        }
    }
    culprits
}

/// The writes that meet the wrong bytes and that no stream keeps from happening between the tensor's own write and the
/// read; those in the same stream as the read, or ordered with both, are among them only if they lie between.
fn unordered_culprits(program: &Program, check: Check, from_byte: u64, to_byte: u64, streams: &Streams) -> Vec<Culprit> {
    let (home, begin, _) = program.range(check.value);
    let (from, to) = (begin + from_byte, begin + to_byte);
    let tag = program.values[check.value].tag as usize;
    let written_at = program.values[tag].written_at;
    let is_early = |step: usize| written_at.is_some_and(|written| step == written || streams.precedes(step, written));
    let is_late = |step: usize| check.step.is_some_and(|read| (step == read && check.is_consumed) || streams.precedes(read, step));
    let mut culprits = Vec::new();
    for step in (0..program.steps.len()).rev().filter(|&step| !is_early(step) && !is_late(step)) {
        for &other in program.steps[step].writes.iter().rev().filter(|&&other| other != tag) {
            let (other_home, other_begin, other_end) = program.range(other);
            if other_home == home && other_begin < to && other_end > from {
                let (tensor, op) = (program.values[other].name.clone(), program.steps[step].op.clone());
                culprits.push(Culprit { tensor, op, step, is_at_same_offset: other_begin == begin });
            }
        }
    }
    culprits
}

fn sentence(finding: &Finding, has_streams: bool) -> String {
    let Finding { tensor, reader, words_wrong, words, from_byte, to_byte, .. } = finding;
    let place = if reader.is_empty() { "after the last step".to_owned() } else { format!("read by `{reader}`") };
    let bytes = format!("`{tensor}`, {place}: {words_wrong} wrong words of {words}, bytes {from_byte} to {to_byte}");
    let named = |culprit: &Culprit| {
        let where_it_is = if culprit.is_at_same_offset { "at the same offset" } else { "over these bytes" };
        let (op, tensor) = (&culprit.op, &culprit.tensor);
        if has_streams {
            format!("written by `{op}` (`{tensor}`), which lies {where_it_is} and which no wait keeps out of the time between")
        } else {
            format!("last written by `{op}` (`{tensor}`), which lies {where_it_is}")
        }
    };
    let why = match finding.culprits.as_slice() {
        [] if finding.regime.is_arena() => "no op wrote there since its producer: its offset in its storage, or its size, is wrong".to_owned(),
        [] => "each buffer has a block of its own here, so that no plan explains it".to_owned(),
        [only] => named(only),
        [first, others @ ..] => format!("{}; {} by {}", named(first), if has_streams { "or" } else { "before that" }, list(others)),
    };
    format!("{bytes}; {why}")
}

/// Up to four culprits by name.
fn list(culprits: &[Culprit]) -> String {
    const SHOWN: usize = 4;
    let names: Vec<String> = culprits.iter().take(SHOWN).map(|culprit| format!("`{}` (`{}`)", culprit.op, culprit.tensor)).collect();
    let more = culprits.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

fn wrong_gap(program: &Program, regime: Regime, (begin, end): (u64, u64), report: WordReport) -> Finding {
    let (from, to) = wrong_bytes(report, end - begin);
    let (from_byte, to_byte) = (begin + from, begin + to);
    let mut culprits = Vec::new();
    for (step, writes) in program.steps.iter().enumerate().rev() {
        for &value in &writes.writes {
            let (home, other_begin, other_end) = program.range(value);
            if home == Home::Arena && other_begin < to_byte && other_end > from_byte {
                let tensor = program.values[value].name.clone();
                culprits.push(Culprit { tensor, op: writes.op.clone(), step, is_at_same_offset: false });
            }
        }
    }
    let who = if culprits.is_empty() { "no tensor of the plan lies there".to_owned() } else { format!("written by {}", list(&culprits)) };
    let what = if begin >= program.arena_bytes { "after the arena's end" } else { "of the arena, which no buffer covers" };
    let message = format!("bytes {from_byte} to {to_byte} {what}, were overwritten; {who}");
    let (words_wrong, words) = (u64::from(report.n_wrong), (end - begin).div_ceil(4));
    let (tensor, reader, producer) = (String::new(), String::new(), String::new());
    Finding { regime, tensor, reader, step: None, producer, words_wrong, words, from_byte, to_byte, culprits, message }
}
