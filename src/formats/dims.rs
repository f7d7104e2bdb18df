//! The user's numbers for dimensions that a file leaves open, and what is said about those that were assumed.

use arenascope_planner::workload::{SymbolicDim, Warning};

use crate::error::{clean, one_line};

/// The default of dimensions that look like a batch.
pub(crate) const DEFAULT_BATCH: u64 = 1;
/// The default of all others: a plausible length, and a multiple of what models divide by.
pub(crate) const DEFAULT_OTHER: u64 = 128;

/// Numbers by name, which of them were used, and the dimensions that got one.
pub(crate) struct Chosen<'o> {
    options: &'o [(String, u64)],
    used: Vec<bool>,
    dims: Vec<SymbolicDim>,
}

impl<'o> Chosen<'o> {
    pub(crate) fn new(options: &'o [(String, u64)]) -> Self {
        Self { options, used: vec![false; options.len()], dims: Vec::new() }
    }

    /// The user's number for a name; the last one given counts.
    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let index = self.options.iter().rposition(|(key, _)| key == name)?;
        for (used, (key, _)) in self.used.iter_mut().zip(self.options) {
            *used |= key == name;
        }
        Some(self.options[index].1)
    }

    /// Notes the number of an open dimension: the one chosen for it, the one for all others, or the default.
    pub(crate) fn record(&mut self, name: &str, chosen: Option<u64>, default: u64) -> u64 {
        let chosen = chosen.or_else(|| self.number("*"));
        let value = chosen.unwrap_or(default);
        self.dims.push(SymbolicDim { name: clean(name), value, is_default: chosen.is_none() });
        value
    }

    /// The number of an axis that has no name of its own: `input:axis`.
    pub(crate) fn axis(&mut self, input: &str, axis: usize, default: u64) -> u64 {
        let name = format!("{input}:{axis}");
        let chosen = self.number(&name);
        self.record(&name, chosen, default)
    }

    /// The open dimensions, and what to tell about them.
    pub(crate) fn finish(self) -> (Vec<SymbolicDim>, Vec<Warning>) {
        let assumed = self.dims.iter().filter(|dim| dim.is_default).map(|dim| {
            let name = one_line(&dim.name);
            Warning::general(format!("the file leaves dimension `{name}` open; {} is assumed (set it with --dim {name}=N)", dim.value))
        });
        let known: Vec<String> = self.dims.iter().map(|dim| one_line(&dim.name)).collect();
        let known = if known.is_empty() { "no open dimension".to_owned() } else { known.join(", ") };
        let unused = self.options.iter().zip(&self.used).filter(|((name, _), used)| !**used && name != "*");
        let unused =
            unused.map(|((name, value), _)| Warning::general(format!("--dim {}={value} has no effect: the file has {known}", one_line(name))));
        let warnings = assumed.chain(unused).collect();
        (self.dims, warnings)
    }
}
