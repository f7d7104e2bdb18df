//! Device memory that is host memory: blocks by address, nothing outside of them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

/// Blocks begin at multiples of this, bytes, as a driver's do.
const ALIGN: usize = 256;

/// All blocks, by their first byte.
#[derive(Default)]
pub(crate) struct Memory {
    blocks: BTreeMap<u64, usize>,
}

impl Memory {
    /// A new block; `None` if the host has no memory either.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Option<u64> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout is not empty.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            return None;
        }
        let address = pointer.expose_provenance() as u64;
        self.blocks.insert(address, bytes.max(1));
        Some(address)
    }

    /// Frees the block at an address and gives its size; `None` if there is no such block.
    pub(crate) fn release(&mut self, address: u64) -> Option<usize> {
        let bytes = self.blocks.remove(&address)?;
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: the block was allocated with this layout and has just been forgotten.
        unsafe { dealloc(pointer(address), layout) };
        Some(bytes)
    }

    /// The block that an address is in, as begin and end.
    pub(crate) fn block_at(&self, address: u64) -> Option<(u64, u64)> {
        let (&begin, &bytes) = self.blocks.range(..=address).next_back()?;
        let end = begin + bytes as u64;
        (address < end).then_some((begin, end))
    }

    /// Whether a range is inside one block.
    pub(crate) fn holds(&self, address: u64, bytes: usize) -> bool {
        self.block_at(address).is_some_and(|(_, end)| address.checked_add(bytes as u64).is_some_and(|to| to <= end))
    }

    /// Reads a number of 1 to 8 bytes; the caller has checked that they are in a block and aligned.
    pub(crate) fn load(&self, address: u64, bytes: usize) -> u64 {
        debug_assert!(self.holds(address, bytes));
        let mut value = [0_u8; 8];
        // SAFETY: the bytes are inside a live block, by the caller's check.
        unsafe { std::ptr::copy_nonoverlapping(pointer(address), value.as_mut_ptr(), bytes) };
        u64::from_le_bytes(value)
    }

    /// Writes a number of 1 to 8 bytes; the caller has checked that they are in a block and aligned.
    pub(crate) fn store(&mut self, address: u64, bytes: usize, value: u64) {
        debug_assert!(self.holds(address, bytes));
        // SAFETY: the bytes are inside a live block, by the caller's check, and nobody else looks at them now.
        unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), pointer(address), bytes) };
    }
}

fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}
