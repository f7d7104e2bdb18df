//! Short names for tensors: the least that tells one from the others in the same file.

use std::collections::{HashMap, HashSet};

/// A prefix that this share of the scoped names has in common tells nothing: 9 in 10, by eye.
///
/// The network's last ops often stand outside the scope of all the others, hence not all.
const SHARED_NUMERATOR: usize = 9;
const SHARED_DENOMINATOR: usize = 10;

/// Names shortened to their last two scopes, one scope more where that is not unique.
///
/// What nearly all names share and the suffix `_output_0` are dropped, and a container whose
/// child repeats its name is left out: `/features/features.2/conv/conv.1/conv.1.0/Conv_output_0`
/// becomes `2/conv.1`. The result has one name per input, in order, all different.
///
/// Problem: the shortest unique suffix per name, by whole scopes. Method: rounds; in each
/// round every name that is still open offers a longer candidate, and takes it if nobody
/// else wants it. Time and space: O(total characters × scopes of the deepest name).
#[must_use]
pub fn short_names(names: &[&str]) -> Vec<String> {
    let mut parsed: Vec<Scoped<'_>> = names.iter().map(|name| Scoped::parse(name)).collect();
    drop_shared_scopes(&mut parsed);
    drop_shared_stem(&mut parsed);
    let mut chosen: Vec<Option<String>> = vec![None; names.len()];
    let mut taken: HashSet<String> = HashSet::with_capacity(names.len());
    let mut open: Vec<usize> = (0..names.len()).collect();
    for round in 0.. {
        let offers: Vec<(usize, Option<String>)> = open.iter().map(|&idx| (idx, parsed[idx].candidate(round))).collect();
        let mut wanted: HashMap<&str, usize> = HashMap::with_capacity(offers.len());
        for offer in offers.iter().filter_map(|(_, offer)| offer.as_deref()) {
            *wanted.entry(offer).or_default() += 1;
        }
        let (mut still_open, mut decided) = (Vec::new(), Vec::new());
        for (idx, offer) in &offers {
            match offer {
                Some(text) if wanted[text.as_str()] == 1 && !taken.contains(text) => decided.push((*idx, text.clone())),
                Some(_) => still_open.push(*idx),
                None => {}
            }
        }
        for (idx, text) in decided {
            taken.insert(text.clone());
            chosen[idx] = Some(text);
        }
        open = still_open;
        if open.is_empty() {
            break;
        }
    }
    with_numbers(names, chosen, taken)
}

/// Gives names that occur twice in the file, or that another's short form equals, a number.
fn with_numbers(names: &[&str], chosen: Vec<Option<String>>, mut taken: HashSet<String>) -> Vec<String> {
    let mut next: HashMap<&str, usize> = HashMap::new();
    let mut out = Vec::with_capacity(names.len());
    for (&name, short) in names.iter().zip(chosen) {
        let number = next.entry(name).or_insert(1);
        let mut text = short;
        while text.is_none() {
            let offer = if *number == 1 { name.to_owned() } else { format!("{name} ({number})") };
            *number += 1;
            text = taken.insert(offer.clone()).then_some(offer);
        }
        out.extend(text);
    }
    out
}

struct Scoped<'a> {
    full: &'a str,
    /// Scopes as written, outermost first.
    raw: Vec<&'a str>,
    /// Scopes without containers that their child repeats.
    scopes: Vec<&'a str>,
    /// The last part; lower case if scopes stand before it.
    leaf: String,
}

impl<'a> Scoped<'a> {
    fn parse(full: &'a str) -> Self {
        let first = full.split(';').next().unwrap_or(full);
        let mut raw: Vec<&str> = first.split('/').filter(|part| !part.is_empty()).collect();
        let last = raw.pop().unwrap_or(first);
        let last = last.strip_suffix("_output_0").unwrap_or(last);
        let leaf = if raw.is_empty() { last.to_owned() } else { last.to_lowercase() };
        Self { full, scopes: collapse(&raw), raw, leaf }
    }

    /// The offer of a round: two scopes, two and the leaf, three scopes, …, the full name.
    fn candidate(&self, round: usize) -> Option<String> {
        if self.scopes.len() < 2 {
            return match round {
                0 => Some(join(&self.scopes, Some(&self.leaf))),
                _ => self.raw_candidate(round - 1),
            };
        }
        let keep = 2 + round / 2;
        if keep <= self.scopes.len() {
            let leaf = (round % 2 == 1).then_some(self.leaf.as_str());
            return Some(join(last(&self.scopes, keep), leaf));
        }
        self.raw_candidate(round - 2 * (self.scopes.len() - 1))
    }

    fn raw_candidate(&self, round: usize) -> Option<String> {
        let keep = 1 + round;
        if keep <= self.raw.len() {
            return Some(join(last(&self.raw, keep), Some(&self.leaf)));
        }
        (keep == self.raw.len() + 1).then(|| self.full.to_owned())
    }
}

fn last<'s, 'a>(parts: &'s [&'a str], keep: usize) -> &'s [&'a str] {
    &parts[parts.len() - keep.min(parts.len())..]
}

fn join(parts: &[&str], leaf: Option<&str>) -> String {
    let mut text = parts.join("/");
    if let Some(leaf) = leaf {
        if !text.is_empty() {
            text.push('/');
        }
        text.push_str(leaf);
    }
    text
}

/// Of each chain `conv`, `conv.1`, `conv.1.0` keeps the first part that has an index.
fn collapse<'a>(raw: &[&'a str]) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::with_capacity(raw.len());
    let mut before = "";
    for &part in raw {
        let child = !before.is_empty() && part.strip_prefix(before).is_some_and(|rest| rest.starts_with('.'));
        match out.last_mut() {
            Some(kept) if child && !kept.contains('.') => *kept = part,
            Some(_) if child => {}
            _ => out.push(part),
        }
        before = part;
    }
    out
}

/// The value that nearly all of `values` have, if there is one.
fn shared<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut total = 0;
    // Boyer-Moore: the only value that can have a majority.
    let (mut leader, mut votes) = (None, 0_usize);
    for value in values.clone() {
        total += 1;
        if votes == 0 {
            leader = Some(value);
        }
        votes = if leader == Some(value) { votes + 1 } else { votes - 1 };
    }
    let leader = leader?;
    let n = values.filter(|value| *value == leader).count();
    (total > 1 && n * SHARED_DENOMINATOR >= total * SHARED_NUMERATOR).then_some(leader)
}

/// Drops outer scopes that nearly all names have, as long as a scope remains in those names.
fn drop_shared_scopes(parsed: &mut [Scoped<'_>]) {
    while let Some(scope) = shared(parsed.iter().filter_map(|name| name.scopes.first().copied())) {
        let scope = scope.to_owned();
        let bare = |name: &&Scoped<'_>| name.scopes.first() == Some(&scope.as_str()) && name.scopes.len() == 1;
        let total = parsed.iter().filter(|name| !name.scopes.is_empty()).count();
        if parsed.iter().filter(bare).count() * SHARED_DENOMINATOR > total {
            return;
        }
        for name in parsed.iter_mut().filter(|name| name.scopes.first() == Some(&scope.as_str())) {
            name.scopes.remove(0);
        }
    }
}

/// Drops the stem of `features.2` if nearly all outermost scopes have it.
fn drop_shared_stem(parsed: &mut [Scoped<'_>]) {
    let stem_of = |scope: &'_ str| scope.split_once('.').map_or(scope.len(), |(stem, _)| stem.len());
    let outer = |name: &Scoped<'_>| name.scopes.first().map(|scope| scope[..stem_of(scope)].to_owned());
    let stems: Vec<String> = parsed.iter().filter_map(outer).collect();
    let Some(stem) = shared(stems.iter().map(String::as_str)) else { return };
    for name in parsed {
        if let Some(scope) = name.scopes.first_mut()
            && let Some(rest) = scope.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'))
            && !rest.is_empty()
        {
            *scope = rest;
        }
    }
}

/// A long name cut in the middle to `most` characters, both ends kept.
#[must_use]
pub fn middle_cut(name: &str, most: usize) -> String {
    let n_chars = name.chars().count();
    if n_chars <= most {
        return name.to_owned();
    }
    let keep = most.saturating_sub(1);
    let head: String = name.chars().take(keep.div_ceil(2)).collect();
    let tail: String = name.chars().skip(n_chars - keep / 2).collect();
    format!("{head}…{tail}")
}

/// A long name cut in the middle so that `fits` accepts it; at worst `…`.
pub fn middle_cut_to_fit(name: &str, mut fits: impl FnMut(&str) -> bool) -> String {
    if fits(name) {
        return name.to_owned();
    }
    let (mut low, mut high) = (1, name.chars().count());
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if fits(&middle_cut(name, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    middle_cut(name, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_to_two_scopes_without_the_shared_part() {
        let names = [
            "/features/features.0/features.0.0/Conv_output_0",
            "/features/features.1/conv/conv.0/conv.0.0/Conv_output_0",
            "/features/features.1/conv/conv.1/Conv_output_0",
            "/features/features.2/conv/conv.1/conv.1.0/Conv_output_0",
            "/features/features.2/conv/conv.2/Conv_output_0",
        ];
        assert_eq!(short_names(&names), ["0/conv", "1/conv.0", "1/conv.1", "2/conv.1", "2/conv.2"]);
    }

    #[test]
    fn one_op_outside_the_shared_scope_does_not_lengthen_the_others() {
        let mut names: Vec<String> = (0..19).map(|i| format!("/features/features.{i}/conv/conv.1/Conv_output_0")).collect();
        names.push("/GlobalAveragePool_output_0".to_owned());
        names.push("/classifier/classifier.1/Gemm_output_0".to_owned());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names);
        assert_eq!(short[7], "7/conv.1");
        assert_eq!(short[19], "GlobalAveragePool");
        assert_eq!(short[20], "classifier.1/gemm");
    }

    #[test]
    fn takes_the_op_then_one_scope_more_when_two_are_not_unique() {
        let names = [
            "/bert/layer.0/attention/self/query/MatMul_output_0",
            "/bert/layer.0/attention/self/query/Add_output_0",
            "/bert/layer.0/output/dense/MatMul_output_0",
            "/bert/layer.1/output/dense/MatMul_output_0",
        ];
        assert_eq!(short_names(&names), ["self/query/matmul", "self/query/add", "0/output/dense", "1/output/dense"]);
    }

    #[test]
    fn is_unique_whatever_the_names() {
        for names in [
            &["a", "a", "a (2)", "b"][..],
            &["/x/y", "x/y", "x/y;z"],
            &["", "/", "//"],
            &["/s/conv/conv.1/conv.1.0/Conv", "/s/conv/conv.1/conv.1.1/Conv", "/s/conv/conv.1/Conv"],
            &["only/one/name"],
        ] {
            let short = short_names(names);
            let distinct: HashSet<&String> = short.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?} gave {short:?}");
        }
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(short_names(&["b12", "onnx::Conv_7", "输入"]), ["b12", "onnx::Conv_7", "输入"]);
        assert_eq!(short_names(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_hundred_thousand_names_take_little_time() {
        let names: Vec<String> = (0..100_000).map(|i| format!("/net/layer.{}/block/block.{}/Conv_output_0", i / 100, i % 100)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names);
        assert_eq!(short[12_345], "123/block.45");
    }

    #[test]
    fn cuts_long_names_in_the_middle() {
        assert_eq!(middle_cut("abcdefghij", 5), "ab…ij");
        assert_eq!(middle_cut("abcdefghij", 6), "abc…ij");
        assert_eq!(middle_cut("short", 10), "short");
        assert_eq!(middle_cut("张量名称很长", 3), "张…长");
        assert_eq!(middle_cut_to_fit("abcdefghij", |text| text.chars().count() <= 7), "abc…hij");
        assert_eq!(middle_cut_to_fit("abcdefghij", |_| false), "…");
    }
}
