//! How long iterations took: percentiles and spread.

use serde::{Deserialize, Serialize};

/// Statistics of a number of iterations, milliseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Every iteration in order, for drawing them one by one.
    pub samples_ms: Vec<f64>,
    /// The middle one.
    pub p50_ms: f64,
    /// 95 % took no longer.
    pub p95_ms: f64,
    /// 99 % took no longer.
    pub p99_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The standard deviation of the sample; 0 for a single one.
    pub std_ms: f64,
}

impl Latency {
    /// The statistics of `samples_ms`; `None` without any.
    #[must_use]
    pub fn of(samples_ms: Vec<f64>) -> Option<Self> {
        let n = samples_ms.len();
        if n == 0 {
            return None;
        }
        let mut sorted = samples_ms.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        // Nearest rank: the smallest sample that is at least as long as that share of all samples.
        let rank = |percent: usize| sorted[(n * percent).div_ceil(100).clamp(1, n) - 1];
        let mean = samples_ms.iter().sum::<f64>() / n as f64;
        let squares: f64 = samples_ms.iter().map(|sample| (sample - mean).powi(2)).sum();
        let std_ms = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { p50_ms: rank(50), p95_ms: rank(95), p99_ms: rank(99), mean_ms: mean, std_ms, samples_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_of_the_nearest_rank() {
        let latency = Latency::of((1..=200).rev().map(f64::from).collect()).expect("samples");
        assert_eq!((latency.p50_ms, latency.p95_ms, latency.p99_ms), (100.0, 190.0, 198.0));
        assert!((latency.std_ms - 57.879).abs() < 0.001);
        assert_eq!(Latency::of(Vec::new()), None);
        assert_eq!(Latency::of(vec![3.0]).map(|one| (one.p99_ms, one.std_ms)), Some((3.0, 0.0)));
    }
}
