//! The shipped kernels compute what the host computes, at every alignment and for every tail.

use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::device::{Device, Epoch, Range};
use arenascope_gpu::pattern::{CANARY, POISON, WordReport};

use crate::support::fake_device;

/// Everything that a device reports about one range under a few operations.
fn observe(device: &mut dyn Device, shift: u64, bytes: u64) -> (Vec<WordReport>, (u64, u64), (u64, u64)) {
    let room = 4096;
    let block = device.allocate(room).expect("4 KiB");
    let range = Range { address: block + shift, bytes };
    device.prepare_reports(5).expect("reports");
    device.fill_constant(Range { address: block, bytes: room }, POISON).expect("poison");
    let before = device.footprint(Range { address: block, bytes: room }).expect("a scan");
    device.fill(range, 3, Epoch::Current).expect("a fill");
    device.check(range, 3, Epoch::Current, 0).expect("a check");
    device.check(range, 4, Epoch::Current, 1).expect("a check");
    device.next_epoch().expect("an epoch");
    device.check(range, 3, Epoch::Current, 2).expect("a check");
    device.fill(range, 3, Epoch::Fixed).expect("a fill");
    device.check(range, 3, Epoch::Fixed, 3).expect("a check");
    let after = device.footprint(Range { address: block, bytes: room }).expect("a scan");
    device.fill_constant(range, CANARY).expect("a canary");
    device.check_constant(Range { address: block, bytes: room }, CANARY, 4).expect("a check");
    let reports = device.reports().expect("reports");
    device.release(block).expect("a block");
    (reports, before, after)
}

#[test]
fn kernels_and_host_agree_at_every_alignment_and_tail() {
    let (_guard, mut fake) = fake_device();
    let mut cpu = CpuDevice::new();
    for (shift, bytes) in [(0, 1), (0, 4), (0, 1024), (0, 1027), (1, 8), (2, 515), (3, 3), (4, 1001), (8, 4000), (5, 2), (0, 4096)] {
        let (expected, seen) = (observe(&mut cpu, shift, bytes), observe(&mut fake, shift, bytes));
        assert_eq!(seen, expected, "{bytes} bytes from {shift}");
        assert_eq!((seen.0[0], seen.0[3]), (WordReport::CLEAN, WordReport::CLEAN));
        assert_eq!((seen.1, seen.2), ((0, 0), (bytes, shift + bytes)));
        if bytes >= 4 {
            let n_words = u32::try_from(bytes.div_ceil(4)).expect("small");
            assert!(seen.0[1].n_wrong + 1 >= n_words && seen.0[2].n_wrong + 1 >= n_words, "{:?}", seen.0);
        }
    }
}
