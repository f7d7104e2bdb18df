//! Synthetic planning problems: seeded, so that a size and a seed name an instance.
//!
//! Problem: instances that look like real ones, of any size.
//! Method: one buffer is born per step; lifetimes and sizes are drawn from the distributions below.
//! Guarantee: the same kind, size and seed give the same buffers.
//! Time and space O(n).
//! Source: the project's own; the distributions imitate inference, training and dense loads.
//!
//! ```text
//! ml     #.....   mostly short lives,   train  ######   every fourth forward output lives
//!        .##...   a few long ones              .####.   until its mirror step in the
//!        ..####                                ..##..   backward half
//! ```

use std::str::FromStr;

use crate::lifetimes::Lifetime;
use crate::workload::BareBuffer;

/// What kind of problem to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// Inference: 80 % live 1 + Exp(3) steps, 17 % 5 + Exp(100), 3 % 200 + Exp(2000); 50 to 120 live at once.
    Ml,
    /// Training: a quarter of the forward outputs live until their mirror step, the rest 1 + Exp(3) steps.
    Train,
    /// Dense: both ends uniform, sizes uniform up to 1 MiB; half of all buffers are live at once.
    Uni,
}

/// A kind that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{0}`; use ml, train or uni")]
pub struct UnknownKind(String);

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Ml, Self::Train, Self::Uni];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ml => "ml",
            Self::Train => "train",
            Self::Uni => "uni",
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// `n` buffers of a kind, named by their position.
#[must_use]
pub fn generate(kind: Kind, n: usize, seed: u64) -> Vec<BareBuffer> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let n_steps = n as u64;
    (0..n_steps)
        .map(|step| {
            let (lifetime, size_bytes) = match kind {
                Kind::Ml => (from(step, inference_steps(&mut rng)), log_normal_size(&mut rng)),
                Kind::Train => (from(step, training_steps(&mut rng, step, n_steps)), log_normal_size(&mut rng)),
                Kind::Uni => (uniform_lifetime(&mut rng, n_steps), rng.u64(1..=MAX_UNIFORM_BYTES)),
            };
            BareBuffer { name: step.to_string(), size_bytes, lifetime }
        })
        .collect()
}

/// Largest size of a dense problem, bytes; chosen to give heights of a few hundred GiB at a million buffers.
const MAX_UNIFORM_BYTES: u64 = 1 << 20;
/// Largest size drawn from the log-normal distribution, bytes; large activations of real models.
const MAX_LOG_NORMAL_BYTES: u64 = 256 << 20;

fn from(start: u64, n_steps: u64) -> Lifetime {
    Lifetime { start, end: start + n_steps }
}

fn inference_steps(rng: &mut fastrand::Rng) -> u64 {
    match rng.u32(0..100) {
        0..80 => 1 + exponential(rng, 3.0),
        80..97 => 5 + exponential(rng, 100.0),
        _ => 200 + exponential(rng, 2000.0),
    }
}

fn training_steps(rng: &mut fastrand::Rng, step: u64, n_steps: u64) -> u64 {
    let is_kept = rng.u32(0..4) == 0;
    if is_kept && step < n_steps / 2 { n_steps - 2 * step } else { 1 + exponential(rng, 3.0) }
}

fn uniform_lifetime(rng: &mut fastrand::Rng, n_steps: u64) -> Lifetime {
    let (one, two) = (rng.u64(0..n_steps), rng.u64(0..n_steps));
    Lifetime { start: one.min(two), end: one.max(two) + 1 }
}

/// An exponentially distributed number of steps, rounded down.
fn exponential(rng: &mut fastrand::Rng, mean: f64) -> u64 {
    floor_u64(-mean * (1.0 - rng.f64()).ln())
}

/// 64 bytes times a log-normal(6, 2.2) number, by the method of Box and Muller.
fn log_normal_size(rng: &mut fastrand::Rng) -> u64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * rng.f64()).cos();
    floor_u64(64.0 * (6.0 + 2.2 * normal).exp()).clamp(1, MAX_LOG_NORMAL_BYTES)
}

#[expect(clippy::cast_possible_truncation, reason = "rounding down is meant, and the cast saturates")]
fn floor_u64(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interference::Interference;
    use crate::testing::generated_problem;

    fn clique(kind: Kind, n: usize) -> usize {
        let problem = generated_problem(kind, n, 7);
        Interference::new(&problem).largest_clique().0
    }

    #[test]
    fn a_seed_names_an_instance() {
        for kind in Kind::ALL {
            assert_eq!(generate(kind, 500, 3), generate(kind, 500, 3));
            assert_ne!(generate(kind, 500, 3), generate(kind, 500, 4));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("mlx".parse::<Kind>().expect_err("no such kind").to_string(), "unknown kind `mlx`; use ml, train or uni");
    }

    #[test]
    fn each_kind_has_the_crowd_it_promises() {
        assert!((50..=130).contains(&clique(Kind::Ml, 20_000)));
        assert!((1_000..=1_500).contains(&clique(Kind::Train, 10_000)));
        assert!((450..=560).contains(&clique(Kind::Uni, 1_000)));
    }
}
