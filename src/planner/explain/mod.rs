//! Why a buffer is where it is, whether it could be lower, and what would lower the peak.

mod peak;
mod place;
mod ruled;

pub use peak::{Change, PeakReport, Saving, explain_peak, reorder_saving};
pub use place::{BetterPool, Blocker, LowerRange, PlaceReport, explain_place, explain_place_among, lower_offsets};

#[cfg(test)]
mod tests;
