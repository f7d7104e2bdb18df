//! What a person types into the table's filter, as conditions that all have to hold.
//!
//! Words match name, op, role or dtype; `role:gradient`, `op:Conv`, `dtype:f32`, `slot:2`, `#5`, `@12` (live at step
//! 12), `is:lower` (could be lower if nothing else moved), `>1MiB`, `<64KiB`. What is not yet complete, like `op:` or `>`, holds for every buffer while one types.

use arenascope_planner::ids::BufferId;
use arenascope_planner::units::parse_bytes;

use super::row::Row;
use crate::session::Planned;

/// One condition.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Term {
    /// Name, op, role or dtype contains it.
    Word(String),
    Role(String),
    Op(String),
    Dtype(String),
    Slot(u32),
    /// It could be lower if nothing else moved.
    CouldBeLower,
    Id(u32),
    LiveAt(u64),
    Larger(u64),
    AtLeast(u64),
    Smaller(u64),
    AtMost(u64),
}

/// Conditions that all have to hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Filter {
    terms: Vec<Term>,
}

impl Filter {
    /// Understands what was typed; whatever is no condition is a word.
    pub(super) fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut word = word.to_owned();
            // A person writes `>1 MiB` as well.
            if word.starts_with(['<', '>'])
                && let Some(unit) = words.next_if(|next| is_unit(next))
            {
                word.push_str(unit);
            }
            terms.extend(term(&word));
        }
        Self { terms }
    }

    /// Whether it holds for every buffer.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it holds for a buffer.
    pub(super) fn accepts(&self, planned: &Planned, id: BufferId) -> bool {
        let row = Row { planned, id };
        self.terms.iter().all(|term| accepts(term, &row))
    }
}

fn is_unit(word: &str) -> bool {
    ["b", "k", "m", "g", "t", "kib", "mib", "gib", "tib", "kb", "mb", "gb", "tb"].iter().any(|unit| word.eq_ignore_ascii_case(unit))
}

/// The condition of one word; `None` while it is incomplete.
fn term(word: &str) -> Option<Term> {
    let whole = || Some(Term::Word(word.to_owned()));
    if let Some((key, value)) = word.split_once(':') {
        let known: Option<fn(String) -> Term> = match key.to_ascii_lowercase().as_str() {
            "role" => Some(Term::Role),
            "op" => Some(Term::Op),
            "dtype" => Some(Term::Dtype),
            "is" if value.eq_ignore_ascii_case("lower") => return Some(Term::CouldBeLower),
            "is" if "lower".starts_with(&value.to_ascii_lowercase()) => return None,
            "slot" if value.is_empty() => return None,
            "slot" => return value.parse().map(Term::Slot).ok().or_else(whole),
            _ => None,
        };
        return match known {
            Some(_) if value.is_empty() => None,
            Some(make) => Some(make(value.to_owned())),
            None => whole(),
        };
    }
    let first = word.chars().next()?;
    let rest = &word[first.len_utf8()..];
    match first {
        '@' | '#' | '<' | '>' if rest.is_empty() || rest == "=" => None,
        '@' => rest.replace(',', "").parse().map(Term::LiveAt).ok().or_else(whole),
        '#' => rest.parse().map(Term::Id).ok().or_else(whole),
        '>' => compare(rest, Term::Larger, Term::AtLeast).or_else(whole),
        '<' => compare(rest, Term::Smaller, Term::AtMost).or_else(whole),
        _ => whole(),
    }
}

fn compare(rest: &str, strict: fn(u64) -> Term, or_equal: fn(u64) -> Term) -> Option<Term> {
    match rest.strip_prefix('=') {
        Some(rest) => parse_bytes(rest).ok().map(or_equal),
        None => parse_bytes(rest).ok().map(strict),
    }
}

fn accepts(term: &Term, row: &Row<'_>) -> bool {
    let bytes = row.size_bytes();
    match term {
        Term::Word(word) => [row.name(), row.short(), row.op(), row.role(), row.dtype()].into_iter().any(|text| contains(text, word)),
        Term::Role(role) => contains(row.role(), role) || contains(&row.role().replace(' ', "-"), role),
        Term::Op(op) => contains(row.op(), op),
        Term::Dtype(dtype) => contains(row.dtype(), dtype),
        Term::CouldBeLower => row.lower().is_some(),
        Term::Slot(slot) => row.slot() == Some(*slot),
        Term::Id(id) => row.id.0 == *id,
        Term::LiveAt(step) => row.lifetime().contains(*step),
        Term::Larger(limit) => bytes > *limit,
        Term::AtLeast(limit) => bytes >= *limit,
        Term::Smaller(limit) => bytes < *limit,
        Term::AtMost(limit) => bytes <= *limit,
    }
}

/// Whether `text` contains `part`, ASCII letters of either case being equal; without allocating.
fn contains(text: &str, part: &str) -> bool {
    part.is_empty() || text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare_with, sample};

    fn matches(planned: &Planned, text: &str) -> Vec<u32> {
        let filter = Filter::parse(text);
        planned.prepared.problem.ids().filter(|&id| filter.accepts(planned, id)).map(|id| id.0).collect()
    }

    #[test]
    fn understands_every_form() {
        for (text, terms) in [
            ("", vec![]),
            ("conv ReLU", vec![Term::Word("conv".into()), Term::Word("ReLU".into())]),
            ("role:gradient op:Conv dtype:f16", vec![Term::Role("gradient".into()), Term::Op("Conv".into()), Term::Dtype("f16".into())]),
            ("slot:2 #5 @1,200", vec![Term::Slot(2), Term::Id(5), Term::LiveAt(1200)]),
            (">1MiB <64KiB", vec![Term::Larger(1 << 20), Term::Smaller(64 << 10)]),
            (">= ", vec![]),
            (">=1 <=2k", vec![Term::AtLeast(1), Term::AtMost(2048)]),
            (">1 MiB x", vec![Term::Larger(1 << 20), Term::Word("x".into())]),
            ("op: role: slot: is: is:low @ # > <", vec![]),
            ("is:lower is:other", vec![Term::CouldBeLower, Term::Word("is:other".into())]),
            ("a:b @x #y >z", vec![Term::Word("a:b".into()), Term::Word("@x".into()), Term::Word("#y".into()), Term::Word(">z".into())]),
            ("量", vec![Term::Word("量".into())]),
        ] {
            assert_eq!(Filter::parse(text).terms, terms, "{text}");
        }
        assert!(Filter::parse(" @ ").is_empty());
    }

    #[test]
    fn all_conditions_hold_together() {
        let planned = bare_with(&[(64, 0, 2), (2048, 1, 3), (4096, 2, 5)], "slots-by-birth");
        assert_eq!(matches(&planned, "@1"), [0, 1]);
        assert_eq!(matches(&planned, "@2 >2KiB"), [2]);
        assert_eq!(matches(&planned, "<2KiB"), [0]);
        assert_eq!(matches(&planned, "#1"), [1]);
        assert_eq!(matches(&planned, "B2"), [2]);
        assert_eq!(matches(&planned, "activation"), [0, 1, 2]);
        assert_eq!(matches(&planned, "gradient"), Vec::<u32>::new());
    }

    #[test]
    fn finds_ops_and_dtypes_of_a_graph() {
        let planned = sample("article_three_tensors.json");
        assert_eq!(matches(&planned, "op:MATMUL dtype:f32 role:act").len(), planned.prepared.problem.n_buffers());
        assert!(matches(&planned, "op:conv").is_empty());
    }

    #[test]
    fn searches_without_regard_to_case() {
        assert!(contains("features/Conv_1", "conv"));
        assert!(!contains("ab", "abc"));
        assert!(contains("", ""));
    }
}
