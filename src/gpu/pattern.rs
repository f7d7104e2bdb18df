//! The bytes that a tensor carries during a run, computed as the kernels compute them.
//!
//! Problem: after an op has read a tensor, tell whether each byte is the one that its producer wrote, in this
//! iteration, without keeping a copy.
//! Method: word i of a tensor is a hash of (tag, epoch, i) with the top bit of every byte cleared; poison and canary
//! bytes have it set.
//! Guarantee: every written byte differs from poison and canary. Two different tensors agree in a word by chance once
//! in 2^28, in a single byte once in 128.
//! Time O(bytes), space O(1).
//! Source: the finaliser of MurmurHash3 (public domain, A. Appleby).

/// What the arena holds before anything is written.
pub const POISON: u32 = 0xdbdb_dbdb;
/// What gaps between buffers and the bytes after the arena's end hold throughout.
pub const CANARY: u32 = 0xcaca_caca;

fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// What all words of one tensor in one epoch are made from.
#[must_use]
pub fn seed_of(tag: u32, epoch: u32) -> u32 {
    mix(tag.wrapping_mul(0x9e37_79b1).wrapping_add(epoch.wrapping_mul(0x85eb_ca77)).wrapping_add(1))
}

/// Word `word` of a tensor.
#[must_use]
pub fn pattern(seed: u32, word: u64) -> u32 {
    let bytes = word.to_le_bytes();
    let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let high = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    mix(seed.wrapping_add(low.wrapping_mul(0x9e37_79b9)).wrapping_add(high.wrapping_mul(0x7feb_352d))) & 0x7f7f_7f7f
}

/// What a check found: how many words differ, and where the first and the last of them are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordReport {
    /// Words that differ, over all iterations since the reports were cleared.
    pub n_wrong: u32,
    /// Position of the first one in the tensor; `u32::MAX` without any.
    pub first: u32,
    /// Position of the last one; 0 without any.
    pub last: u32,
}

impl WordReport {
    /// Nothing differs.
    pub const CLEAN: Self = Self { n_wrong: 0, first: u32::MAX, last: 0 };

    fn add(&mut self, word: u64) {
        let word = u32::try_from(word).unwrap_or(u32::MAX);
        self.n_wrong = self.n_wrong.saturating_add(1);
        self.first = self.first.min(word);
        self.last = self.last.max(word);
    }
}

/// Writes `word_at(i)` for every word of `range`; the last word may be shorter.
pub fn fill_words(range: &mut [u8], word_at: impl Fn(u64) -> u32) {
    let (words, tail) = range.as_chunks_mut::<4>();
    let n_words = words.len() as u64;
    for (word, bytes) in (0..n_words).zip(words) {
        *bytes = word_at(word).to_le_bytes();
    }
    tail.copy_from_slice(&word_at(n_words).to_le_bytes()[..tail.len()]);
}

/// Compares every word of `range` with `word_at(i)`.
pub fn check_words(range: &[u8], report: &mut WordReport, word_at: impl Fn(u64) -> u32) {
    /// Words that are compared without looking which of them differ, so that the comparison is done many at a time.
    const STRIDE: usize = 1024;
    let (words, tail) = range.as_chunks::<4>();
    let mut first = 0_u64;
    for stride in words.chunks(STRIDE) {
        let differs = |(word, bytes): (u64, &[u8; 4])| u32::from_le_bytes(*bytes) ^ word_at(word);
        let any = (first..).zip(stride).map(differs).fold(0, |any, bits| any | bits);
        if any != 0 {
            (first..).zip(stride).filter(|&pair| differs(pair) != 0).for_each(|(word, _)| report.add(word));
        }
        first += stride.len() as u64;
    }
    if *tail != word_at(first).to_le_bytes()[..tail.len()] {
        report.add(first);
    }
}

/// Compares every word of `seen` with the same one of `wanted`.
pub fn compare_words(seen: &[u8], wanted: &[u8], report: &mut WordReport) {
    if seen == wanted {
        return;
    }
    for (word, _) in (0..).zip(seen.chunks(4).zip(wanted.chunks(4))).filter(|(_, (seen, wanted))| seen != wanted) {
        report.add(word);
    }
}

/// How many bytes of `range` are not poison, and one past the highest of them.
#[must_use]
pub fn touched(range: &[u8]) -> (u64, u64) {
    let poison = POISON.to_le_bytes()[0];
    let mut found = (0, 0);
    for (position, _) in (1_u64..).zip(range).filter(|&(_, &byte)| byte != poison) {
        found = (found.0 + 1, position);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_differ_from_poison_and_canary() {
        let mut bytes = vec![0; 4099];
        fill_words(&mut bytes, |word| pattern(seed_of(7, 3), word));
        assert!(bytes.iter().all(|&byte| byte < 0x80));
        assert_eq!(touched(&bytes), (4099, 4099));
    }

    #[test]
    fn a_single_wrong_byte_is_found_where_it_is() {
        let seed = seed_of(1, 1);
        let mut bytes = vec![0; 1001];
        fill_words(&mut bytes, |word| pattern(seed, word));
        bytes[1000] ^= 1;
        bytes[8] ^= 1;
        let mut report = WordReport::CLEAN;
        check_words(&bytes, &mut report, |word| pattern(seed, word));
        assert_eq!(report, WordReport { n_wrong: 2, first: 2, last: 250 });
    }

    #[test]
    fn another_tensor_and_another_epoch_differ_in_every_word() {
        let (one, two, three) = (seed_of(1, 1), seed_of(2, 1), seed_of(1, 2));
        for word in 0..1000 {
            assert!(pattern(one, word) != pattern(two, word) && pattern(one, word) != pattern(three, word));
        }
    }
}
