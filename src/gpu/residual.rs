//! Why measured memory differs from planned memory: every byte of the difference gets a name.

use crate::device::DeviceKind;

/// What was held when memory was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Blocks that the device's allocator had given and not got back.
    pub n_blocks: u64,
    /// Bytes that a pool kept beyond what it had given.
    pub kept_bytes: u64,
}

/// Measured minus planned, split; the parts add up to the total, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Residual {
    /// Measured minus planned.
    pub total: i64,
    /// What a pool or a cache keeps beyond what it was asked for.
    pub kept: i64,
    /// Blocks end inside a granule of the device's memory.
    pub granularity: i64,
    /// What other programs took or gave back.
    pub others: i64,
    /// The rest, for which there is no reason.
    pub unexplained: i64,
}

/// The most that rounding to granules explains for so many blocks, bytes: one granule each, and some for the device.
#[must_use]
pub fn tolerance_bytes(kind: DeviceKind, n_blocks: u64) -> u64 {
    // A CPU's resident memory grows page by page and by what the process itself allocates meanwhile.
    let (granule, slack) = if kind == DeviceKind::Cpu { (4 << 10, 8 << 20) } else { (2 << 20, 2 << 20) };
    n_blocks.saturating_mul(granule).saturating_add(slack)
}

/// Splits what was measured at one moment; `noise_bytes` is what others are known to move.
#[must_use]
pub fn residual(kind: DeviceKind, measured_bytes: u64, planned_bytes: u64, held: Held, noise_bytes: u64) -> Residual {
    let total = signed(measured_bytes).saturating_sub(signed(planned_bytes));
    let kept = signed(held.kept_bytes).min(total.max(0));
    let mut rest = total - kept;
    let tolerance = signed(tolerance_bytes(kind, held.n_blocks));
    // Pages that were never touched are not resident, so a CPU may show less than was asked for.
    let lowest = if kind == DeviceKind::Cpu { -signed(planned_bytes) } else { -tolerance };
    let granularity = rest.clamp(lowest.min(tolerance), tolerance);
    rest -= granularity;
    let others = rest.clamp(-signed(noise_bytes), signed(noise_bytes));
    Residual { total, kept, granularity, others, unexplained: rest - others }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_granule_per_block_is_explained_and_what_lies_beyond_is_not() {
        let held = Held { n_blocks: 2, kept_bytes: 0 };
        let split = residual(DeviceKind::Gpu, 100 * MIB, 95 * MIB, held, 0);
        assert_eq!((split.total, split.granularity, split.unexplained), (5 << 20, 5 << 20, 0));
        let split = residual(DeviceKind::Gpu, 110 * MIB, 95 * MIB, held, MIB);
        assert_eq!((split.granularity, split.others, split.unexplained), (6 << 20, 1 << 20, 8 << 20));
    }

    #[test]
    fn what_a_pool_keeps_comes_first_and_the_parts_add_up() {
        for (measured, planned) in [(64, 10), (10, 64), (40, 40), (0, 3), (500, 1)] {
            for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
                let held = Held { n_blocks: 1, kept_bytes: 30 * MIB };
                let split = residual(kind, measured * MIB, planned * MIB, held, 2 * MIB);
                assert_eq!(split.total, split.kept + split.granularity + split.others + split.unexplained);
                assert!(split.kept <= 30 << 20 && split.kept <= split.total.max(0));
            }
        }
    }

    #[test]
    fn pages_that_were_never_touched_are_no_riddle_on_a_cpu() {
        let held = Held { n_blocks: 1, kept_bytes: 0 };
        assert_eq!(residual(DeviceKind::Cpu, 0, 90 * MIB, held, 0).unexplained, 0);
        assert_eq!(residual(DeviceKind::Gpu, 0, 90 * MIB, held, 0).unexplained, -(86 << 20));
    }
}
