//! Numbers for the dimensions that a model leaves open.

use std::collections::{BTreeMap, HashMap};

use arenascope_planner::workload::{SymbolicDim, Warning};

use super::model::{Dim, GraphDef, Type};
use crate::dims::{Chosen, DEFAULT_BATCH, DEFAULT_OTHER};

/// Turns declared dimensions into numbers and remembers what it had to assume.
pub(super) struct Binder<'o> {
    numbers: Chosen<'o>,
    /// For each symbol, the places that have it, as `input:axis`.
    places: HashMap<String, Vec<String>>,
    values: BTreeMap<String, u64>,
}

impl<'o> Binder<'o> {
    pub(super) fn new(options: &'o [(String, u64)], graph: &GraphDef) -> Self {
        let mut places: HashMap<String, Vec<String>> = HashMap::new();
        for input in &graph.inputs {
            let Type::Tensor { dims: Some(dims), .. } = &input.ty else { continue };
            for (axis, dim) in dims.iter().enumerate() {
                if let Dim::Symbol(name) = dim {
                    places.entry(name.clone()).or_default().push(format!("{}:{axis}", input.name));
                }
            }
        }
        Self { numbers: Chosen::new(options), places, values: BTreeMap::new() }
    }

    /// The user's number for a name; the last one given counts.
    pub(super) fn chosen(&mut self, name: &str) -> Option<u64> {
        self.numbers.number(name)
    }

    /// The number of one dimension of an input.
    pub(super) fn number(&mut self, input: &str, axis: usize, dim: &Dim) -> u64 {
        match dim {
            Dim::Value(value) if *value >= 0 => value.unsigned_abs(),
            Dim::Symbol(name) if is_name(name) => self.symbol(name),
            Dim::Value(_) | Dim::Open | Dim::Symbol(_) => self.numbers.axis(input, axis, if axis == 0 { DEFAULT_BATCH } else { DEFAULT_OTHER }),
        }
    }

    fn symbol(&mut self, name: &str) -> u64 {
        if let Some(&value) = self.values.get(name) {
            return value;
        }
        let mut chosen = self.chosen(name);
        for place in self.places.get(name).cloned().unwrap_or_default() {
            chosen = chosen.or(self.chosen(&place));
        }
        if chosen.is_none()
            && let Some(value) = self.expression(name)
        {
            self.values.insert(name.to_owned(), value);
            return value;
        }
        let value = self.numbers.record(name, chosen, if is_batch_like(name) { DEFAULT_BATCH } else { DEFAULT_OTHER });
        self.values.insert(name.to_owned(), value);
        value
    }

    /// A symbol that is a sum or product of others, as exporters write `past + 1`.
    fn expression(&mut self, text: &str) -> Option<u64> {
        if !text.contains(['+', '*']) {
            return None;
        }
        let is_symbol = |factor: &str| {
            factor.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && factor.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let is_factor = |factor: &str| is_symbol(factor) || factor.parse::<u64>().is_ok();
        let terms: Vec<Vec<&str>> = text.split('+').map(|term| term.split('*').map(str::trim).collect()).collect();
        if terms.iter().flatten().any(|factor| !is_factor(factor)) {
            return None;
        }
        let mut sum = 0_u64;
        for term in terms {
            let mut product = 1_u64;
            for factor in term {
                let value = factor.parse().unwrap_or_else(|_| self.symbol(factor));
                product = product.checked_mul(value)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// The open dimensions, and what to tell about them.
    pub(super) fn finish(self) -> (Vec<SymbolicDim>, Vec<Warning>) {
        self.numbers.finish()
    }
}

/// Exporters write `?` or `None` where there is no name; such dimensions have nothing in common.
fn is_name(symbol: &str) -> bool {
    symbol.chars().any(char::is_alphanumeric) && !symbol.eq_ignore_ascii_case("none")
}

fn is_batch_like(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("batch") || matches!(lower.as_str(), "b" | "bs" | "bsz" | "n" | "nb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::model::ValueInfo;

    fn bound(options: &[(&str, u64)], dims: Vec<Dim>) -> (Vec<u64>, Vec<Warning>) {
        let options: Vec<(String, u64)> = options.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let input = ValueInfo { name: "x".to_owned(), ty: Type::Tensor { data_type: 1, dims: Some(dims.clone()) } };
        let mut binder = Binder::new(&options, &GraphDef { inputs: vec![input], ..GraphDef::default() });
        let numbers = dims.iter().enumerate().map(|(axis, dim)| binder.number("x", axis, dim)).collect();
        (numbers, binder.finish().1)
    }

    #[test]
    fn open_dimensions_take_the_users_number_then_the_star_then_a_default() {
        let dims = || vec![Dim::Symbol("batch".into()), Dim::Value(3), Dim::Symbol("h".into()), Dim::Open, Dim::Value(-1)];
        let (numbers, warnings) = bound(&[], dims());
        assert_eq!(numbers, [1, 3, 128, 128, 128]);
        assert_eq!(warnings.len(), 4);
        let (numbers, warnings) = bound(&[("h", 64), ("x:3", 32), ("*", 7)], dims());
        assert_eq!(numbers, [7, 3, 64, 32, 7]);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn an_axis_binds_its_symbol_and_sums_follow_their_terms() {
        let dims = vec![Dim::Symbol("past".into()), Dim::Symbol("past + 1".into()), Dim::Symbol("2*past+seq".into())];
        let (numbers, _) = bound(&[("x:0", 10), ("seq", 4)], dims);
        assert_eq!(numbers, [10, 11, 24]);
    }

    #[test]
    fn a_number_for_a_dimension_that_does_not_exist_is_pointed_out() {
        let (_, warnings) = bound(&[("height", 4)], vec![Dim::Symbol("h".into())]);
        assert!(warnings.iter().any(|warning| warning.message.contains("height=4 has no effect") && warning.message.contains("h")), "{warnings:?}");
    }
}
