//! Rigid bodies: what a placement moves as one piece, with everything that decides where it may go.
//!
//! Problem: alignments, fixed offsets, gaps, views and in-place groups each say something about single buffers; a
//! strategy wants shapes to place.
//! Method: join families (the module `families`); a body is the union of what its members must keep, as rectangles of
//! steps and bytes counted from its first byte. Alignments of all members become one rule "offset = residue modulo
//! step" (Chinese remainders).
//! Guarantee: a placement of bodies without overlaps, at allowed offsets, honours every rule of the problem but pools.
//! Time O(n log n + Σ members² of the families), space O(n).
//!
//! ```text
//! byte 7 AAAA....      A [0, 4) with 8 bytes, its view B [2, 8) at byte 4:
//!      4 AABBBBBB      one body of two rectangles; bytes 0 to 3
//!      0 AAAA....      are free from step 4 on
//! ```

use std::collections::BTreeSet;

use crate::constraints::{ConstraintError, Constraints, Gap};
use crate::families::{Family, families};
use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::problem::Buffer;
use crate::units::Align;

/// Offsets and sizes end here, as sums of sizes do.
const MAX_BYTE: u64 = 1 << 62;
/// Larger alignments are refused, so that offsets do not overflow.
const MAX_STEP: u64 = 1 << 32;

/// Bytes that must be kept during some steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The buffer from whose offset the bytes are counted.
    pub buffer: BufferId,
    /// The steps.
    pub lifetime: Lifetime,
    /// The first byte.
    pub from_byte: u64,
    /// One past the last byte.
    pub to_byte: u64,
}

impl Piece {
    /// How many bytes are kept.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.to_byte - self.from_byte
    }
}

/// Buffers that are placed as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Body {
    /// A member at the body's first byte.
    pub(crate) root: BufferId,
    /// From the first byte to the end of the highest member.
    pub(crate) bytes: u64,
    /// From the first step of any member to the last one's end.
    pub(crate) lifetime: Lifetime,
    /// Where it must be.
    pub(crate) pin: Option<u64>,
    /// Its offset must be `residue` modulo `step`; of no meaning with a pin.
    step: u64,
    residue: u64,
    members: (u32, u32),
    pieces: (u32, u32),
    /// Whether its pieces begin and end one after the other, as those of a single buffer do.
    is_in_order: bool,
}

/// The bodies of a problem, by root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bodies {
    bodies: Vec<Body>,
    members: Vec<(BufferId, u64)>,
    pieces: Vec<Piece>,
    /// The pools that each body may be in, the best first; empty if there is one pool.
    pools: Vec<Box<[PoolId]>>,
    max_chunk_bytes: Option<u64>,
}

impl Bodies {
    /// One body per buffer.
    pub(crate) fn plain(buffers: &[Buffer], align: Align) -> Self {
        let constraints = Constraints::default();
        Self::new(buffers, align, &constraints, &BTreeSet::new(), Vec::new()).expect("no rules contradict nothing")
    }

    /// The bodies of `buffers`, whose sizes are final; `exact` lists those that the problem's alignment leaves alone.
    pub(crate) fn new(
        buffers: &[Buffer],
        align: Align,
        constraints: &Constraints,
        exact: &BTreeSet<BufferId>,
        families: Vec<Family>,
    ) -> Result<Self, ConstraintError> {
        let is_member: BTreeSet<BufferId> = families.iter().flatten().map(|&(id, _)| id).collect();
        let singles = (0..buffers.len()).map(BufferId::new).filter(|id| is_member.is_empty() || !is_member.contains(id));
        let n = buffers.len();
        let pools = Vec::new();
        let max_chunk_bytes = constraints.max_chunk_bytes;
        let mut all = Self { bodies: Vec::with_capacity(n), members: Vec::with_capacity(n), pieces: Vec::with_capacity(n), pools, max_chunk_bytes };
        let mut builder = Builder { buffers, align, constraints, exact, all: &mut all };
        for single in singles {
            builder.add(&[(single, 0)])?;
        }
        for family in &families {
            builder.add(family)?;
        }
        all.sort_by_root();
        if constraints.pools.len() > 1 {
            all.pools = all.bodies.iter().map(|body| allowed_pools(all.members_of(body), constraints)).collect::<Result<_, _>>()?;
        }
        Ok(all)
    }

    fn sort_by_root(&mut self) {
        if !self.bodies.is_sorted_by_key(|body| body.root) {
            self.bodies.sort_unstable_by_key(|body| body.root);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bodies.len()
    }

    pub(crate) fn get(&self, index: usize) -> &Body {
        &self.bodies[index]
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Body> {
        self.bodies.iter()
    }

    /// The members with their distance from the body's first byte.
    pub(crate) fn members_of(&self, body: &Body) -> &[(BufferId, u64)] {
        &self.members[body.members.0 as usize..body.members.1 as usize]
    }

    /// What must be kept: disjoint rectangles, counted from the body's first byte.
    pub(crate) fn pieces_of(&self, body: &Body) -> &[Piece] {
        &self.pieces[body.pieces.0 as usize..body.pieces.1 as usize]
    }

    /// The pieces that are kept at a step of a range. Time O(log pieces) and one per piece found, except for bodies of
    /// which pieces lie above one another.
    pub(crate) fn pieces_during(&self, body: &Body, range: Lifetime) -> impl Iterator<Item = &Piece> {
        let mut pieces = self.pieces_of(body);
        if body.is_in_order {
            let first = pieces.partition_point(|piece| piece.lifetime.end <= range.start);
            let end = pieces.partition_point(|piece| piece.lifetime.start < range.end);
            pieces = &pieces[first..end.max(first)];
        }
        pieces.iter().filter(move |piece| piece.lifetime.overlaps(range))
    }

    /// The steps from the first to the last that a range has in common with what a body keeps.
    pub(crate) fn common_steps(&self, body: &Body, range: Lifetime) -> Option<Lifetime> {
        let shared = self
            .pieces_during(body, range)
            .map(|piece| Lifetime { start: piece.lifetime.start.max(range.start), end: piece.lifetime.end.min(range.end) });
        shared.reduce(|one, two| Lifetime { start: one.start.min(two.start), end: one.end.max(two.end) })
    }

    /// The pools that a body may be in, the best first; empty if there is one pool.
    pub(crate) fn pools_of(&self, index: usize) -> &[PoolId] {
        self.pools.get(index).map_or(&[], |pools| pools)
    }

    /// The lowest offset from `at` on that suits the alignments and the chunks; for bodies without a pin.
    pub(crate) fn next_offset(&self, body: &Body, at: u64) -> u64 {
        let aligned = |at: u64| at + (body.step + body.residue - at % body.step) % body.step;
        let offset = aligned(at);
        match self.max_chunk_bytes {
            Some(chunk) if offset % chunk + body.bytes > chunk => aligned(offset - offset % chunk + chunk),
            _ => offset,
        }
    }

    /// Whether a body may be at `offset` as far as its pin, the alignments and the chunks are concerned.
    pub(crate) fn allows(&self, body: &Body, offset: u64) -> bool {
        body.pin.map_or_else(|| self.next_offset(body, offset) == offset, |pin| pin == offset)
    }
}

/// The pools that all members allow, in the order of the first that has one.
fn allowed_pools(members: &[(BufferId, u64)], constraints: &Constraints) -> Result<Box<[PoolId]>, ConstraintError> {
    let mut allowed: Option<Vec<PoolId>> = None;
    for wanted in members.iter().filter_map(|(id, _)| constraints.preferences.get(id)) {
        match &mut allowed {
            None => allowed = Some(wanted.clone()),
            Some(allowed) => allowed.retain(|pool| wanted.contains(pool)),
        }
    }
    let mut allowed = allowed.unwrap_or_else(|| (0..constraints.pools.len()).map(PoolId::new).collect());
    if members.iter().any(|(id, _)| constraints.pins.contains_key(id)) {
        allowed.truncate(1);
    }
    if allowed.is_empty() { Err(ConstraintError::NoPool { buffer: members[0].0 }) } else { Ok(allowed.into()) }
}

struct Builder<'a> {
    buffers: &'a [Buffer],
    align: Align,
    constraints: &'a Constraints,
    exact: &'a BTreeSet<BufferId>,
    all: &'a mut Bodies,
}

impl Builder<'_> {
    fn add(&mut self, family: &[(BufferId, u64)]) -> Result<(), ConstraintError> {
        let root = family[0].0;
        let (first_member, first_piece) = (self.all.members.len(), self.all.pieces.len());
        self.all.members.extend_from_slice(family);
        self.add_pieces(root, family)?;
        let pieces = &self.all.pieces[first_piece..];
        let lifetime = Lifetime {
            start: pieces.iter().map(|piece| piece.lifetime.start).min().unwrap_or(0),
            end: pieces.iter().map(|piece| piece.lifetime.end).max().unwrap_or(0),
        };
        let bytes = family.iter().map(|&(id, at)| at + self.buffers[id.index()].bytes).max().unwrap_or(0);
        let pin = self.pin(family, bytes)?;
        let (step, residue) = self.grid(family)?;
        let range = |first: usize, end: usize| (BufferId::new(first).0, BufferId::new(end).0);
        let (members, pieces) = (range(first_member, self.all.members.len()), range(first_piece, self.all.pieces.len()));
        let is_in_order = self.all.pieces[first_piece..].windows(2).all(|pair| pair[0].lifetime.end <= pair[1].lifetime.start);
        let body = Body { root, bytes, lifetime, pin, step, residue, members, pieces, is_in_order };
        self.check_grid(&body)?;
        self.all.bodies.push(body);
        Ok(())
    }

    fn add_pieces(&mut self, root: BufferId, family: &[(BufferId, u64)]) -> Result<(), ConstraintError> {
        let first = self.all.pieces.len();
        for &(id, at) in family {
            let buffer = &self.buffers[id.index()];
            let n_before = self.all.pieces.len();
            let gaps = sorted_gaps(id, buffer, self.constraints.gaps(id))?;
            let mut keep = |start: u64, end: u64, from: u64, to: u64| {
                if start < end && from < to {
                    let lifetime = Lifetime { start, end };
                    self.all.pieces.push(Piece { buffer: root, lifetime, from_byte: at + from, to_byte: at + to });
                }
            };
            let mut start = buffer.lifetime.start;
            for gap in gaps {
                keep(start, gap.lifetime.start, 0, buffer.bytes);
                if let Some((from, to)) = gap.window {
                    keep(gap.lifetime.start, gap.lifetime.end, from, to);
                }
                start = gap.lifetime.end;
            }
            keep(start, buffer.lifetime.end, 0, buffer.bytes);
            if self.all.pieces.len() == n_before {
                return Err(ConstraintError::NeverKept { buffer: id });
            }
        }
        if family.len() > 1 {
            let pieces = self.all.pieces.split_off(first);
            self.all.pieces.extend(union(root, pieces));
        }
        Ok(())
    }

    /// Where the members' pins put the first byte of the family.
    fn pin(&self, family: &[(BufferId, u64)], bytes: u64) -> Result<Option<u64>, ConstraintError> {
        let mut found = None;
        for &(id, at) in family {
            let Some(pin) = self.constraints.pinned(id) else { continue };
            let two_places = ConstraintError::TwoPlaces { buffer: id };
            let first = pin.checked_sub(at).ok_or_else(|| two_places.clone())?;
            if found.is_some_and(|found| found != first) {
                return Err(two_places);
            }
            if first.checked_add(bytes).is_none_or(|end| end > MAX_BYTE) {
                return Err(ConstraintError::TooFar { what: "a fixed buffer", to_byte: pin.saturating_add(bytes) });
            }
            found = Some(first);
        }
        Ok(found)
    }

    /// Step and residue of the offsets that suit every member.
    fn grid(&self, family: &[(BufferId, u64)]) -> Result<(u64, u64), ConstraintError> {
        let mut grid = (1_u64, 0_u64);
        for &(id, at) in family {
            for align in effective_aligns(id, self.align, self.constraints, self.exact) {
                let step = align.bytes();
                let residue = (step - at % step) % step;
                let joined = join_grids(grid, (step, residue)).filter(|&(step, _)| step <= MAX_STEP.max(self.align.bytes()));
                grid = joined.ok_or(ConstraintError::AlignsDisagree { buffer: id, align: step })?;
            }
        }
        Ok(grid)
    }

    fn check_grid(&self, body: &Body) -> Result<(), ConstraintError> {
        let buffer = body.root;
        if let Some(offset) = body.pin
            && offset % body.step != body.residue
        {
            return Err(ConstraintError::PinMisaligned { buffer, offset });
        }
        let Some(chunk_bytes) = self.constraints.max_chunk_bytes else { return Ok(()) };
        if body.pin.is_none() && !chunk_bytes.is_multiple_of(body.step) && !body.step.is_multiple_of(chunk_bytes) {
            return Err(ConstraintError::ChunkUnaligned { buffer, align: body.step, chunk_bytes });
        }
        let at = body.pin.unwrap_or(body.residue) % chunk_bytes;
        if at + body.bytes > chunk_bytes {
            return Err(ConstraintError::ChunkTooSmall { buffer, bytes: body.bytes, chunk_bytes });
        }
        Ok(())
    }
}

/// What an offset of `id` must be a multiple of: the problem's alignment unless `exact`, and its own.
fn effective_aligns(id: BufferId, align: Align, constraints: &Constraints, exact: &BTreeSet<BufferId>) -> impl Iterator<Item = Align> {
    let general = (!exact.contains(&id)).then_some(align);
    general.into_iter().chain(constraints.align(id))
}

/// The numbers that are in both of two residue classes; `None` if there are none, or their step overflows.
fn join_grids(one: (u64, u64), two: (u64, u64)) -> Option<(u64, u64)> {
    let ((s1, r1), (s2, r2)) = ((i128::from(one.0), i128::from(one.1)), (i128::from(two.0), i128::from(two.1)));
    let (divisor, inverse) = bezout(s1, s2);
    if (r2 - r1) % divisor != 0 {
        return None;
    }
    let step = s1 / divisor * s2;
    let turns = ((r2 - r1) / divisor).rem_euclid(s2 / divisor) * inverse.rem_euclid(s2 / divisor) % (s2 / divisor);
    let residue = (r1 + s1 * turns).rem_euclid(step);
    Some((u64::try_from(step).ok()?, u64::try_from(residue).ok()?))
}

/// The greatest common divisor d of two positive numbers, and x with a·x = d modulo b (Euclid, extended).
fn bezout(a: i128, b: i128) -> (i128, i128) {
    let (mut r0, mut r1, mut x0, mut x1) = (a, b, 1, 0);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1, x0, x1) = (r1, r0 - quotient * r1, x1, x0 - quotient * x1);
    }
    (r0, x0)
}

/// The gaps in order, if they are inside the lifetime and do not meet; windows are within the size.
fn sorted_gaps(id: BufferId, buffer: &Buffer, gaps: &[Gap]) -> Result<Vec<Gap>, ConstraintError> {
    let life = buffer.lifetime;
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by_key(|gap| gap.lifetime);
    let mut earliest = life.start;
    for gap in &mut sorted {
        let Lifetime { start, end } = gap.lifetime;
        if start < earliest || start >= end || end > life.end {
            return Err(ConstraintError::BadGap { buffer: id, start, end, life_start: life.start, life_end: life.end });
        }
        earliest = end;
        if let Some((from, to)) = &mut gap.window {
            if *from > *to || *to > buffer.size_bytes {
                return Err(ConstraintError::BadWindow { buffer: id, from: *from, to: *to, size_bytes: buffer.size_bytes });
            }
            // What is kept up to the last byte keeps the rounding too: nobody else could use it.
            if *to == buffer.size_bytes {
                *to = buffer.bytes;
            }
        }
    }
    Ok(sorted)
}

/// The same bytes and steps as disjoint rectangles.
fn union(root: BufferId, mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_unstable_by_key(|piece| (piece.lifetime, piece.from_byte));
    let mut steps: Vec<u64> = pieces.iter().flat_map(|piece| [piece.lifetime.start, piece.lifetime.end]).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut live: Vec<Piece> = Vec::new();
    let mut open: Vec<Piece> = Vec::new();
    let mut closed = Vec::new();
    let mut born = pieces.into_iter().peekable();
    for step in steps {
        live.retain(|piece| piece.lifetime.end > step);
        while let Some(piece) = born.next_if(|piece| piece.lifetime.start <= step) {
            live.push(piece);
        }
        live.sort_unstable_by_key(|piece| piece.from_byte);
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for piece in &live {
            match ranges.last_mut() {
                Some(last) if piece.from_byte <= last.1 => last.1 = last.1.max(piece.to_byte),
                _ => ranges.push((piece.from_byte, piece.to_byte)),
            }
        }
        open.retain(|piece| {
            let stays = ranges.contains(&(piece.from_byte, piece.to_byte));
            if !stays {
                closed.push(Piece { lifetime: Lifetime { start: piece.lifetime.start, end: step }, ..*piece });
            }
            stays
        });
        for (from_byte, to_byte) in ranges {
            if !open.iter().any(|piece| (piece.from_byte, piece.to_byte) == (from_byte, to_byte)) {
                open.push(Piece { buffer: root, lifetime: Lifetime { start: step, end: u64::MAX }, from_byte, to_byte });
            }
        }
    }
    closed.sort_unstable_by_key(|piece| (piece.lifetime, piece.from_byte));
    closed
}

/// Validates what is not about single bodies, and joins families.
pub(crate) fn check_tables(buffers: &[Buffer], constraints: &Constraints) -> Result<Vec<Family>, ConstraintError> {
    let n_buffers = buffers.len();
    let known = |rule: &'static str, buffer: BufferId| {
        if buffer.index() < n_buffers { Ok(()) } else { Err(ConstraintError::UnknownBuffer { rule, buffer, n_buffers }) }
    };
    constraints.aligns.keys().try_for_each(|&id| known("an alignment", id))?;
    constraints.pins.keys().try_for_each(|&id| known("a fixed offset", id))?;
    constraints.gaps.keys().try_for_each(|&id| known("a gap", id))?;
    constraints.preferences.keys().try_for_each(|&id| known("a choice of pools", id))?;
    constraints.in_place.iter().try_for_each(|&(one, two)| known("an in-place group", one).and_then(|()| known("an in-place group", two)))?;
    for (&view, sub) in &constraints.views {
        known("a view", view)?;
        known("a view", sub.of)?;
        let (bytes, of_bytes) = (buffers[view.index()].size_bytes, buffers[sub.of.index()].size_bytes);
        if sub.at_byte.checked_add(bytes).is_none_or(|end| end > of_bytes) {
            return Err(ConstraintError::ViewOutside { view, of: sub.of, at_byte: sub.at_byte, bytes, of_bytes });
        }
    }
    let n_pools = constraints.pools.len().max(1);
    let known_pool = |rule: &'static str, pool: PoolId| {
        if pool.index() < n_pools { Ok(()) } else { Err(ConstraintError::UnknownPool { rule, pool, n_pools }) }
    };
    constraints.preferences.values().flatten().try_for_each(|&pool| known_pool("a preferred place", pool))?;
    for reserved in &constraints.reserved {
        known_pool("a reserved range", reserved.pool)?;
        let (Lifetime { start, end }, from_byte, to_byte) = (reserved.lifetime, reserved.from_byte, reserved.to_byte);
        if start >= end || from_byte >= to_byte {
            return Err(ConstraintError::EmptyReserved { from_byte, to_byte, start, end });
        }
        if to_byte > MAX_BYTE {
            return Err(ConstraintError::TooFar { what: "a reserved range", to_byte });
        }
    }
    families(constraints)
}

/// Refuses fixed bodies that are in each other's way or on reserved bytes. Time O(k log k + meetings) for k of them.
pub(crate) fn check_pins(bodies: &Bodies, constraints: &Constraints) -> Result<(), ConstraintError> {
    let pool = |index: usize| bodies.pools_of(index).first().copied().unwrap_or(PoolId(0));
    let mut pinned: Vec<(PoolId, Piece)> = Vec::new();
    for (index, body) in bodies.iter().enumerate() {
        let Some(pin) = body.pin else { continue };
        let absolute = |piece: &Piece| Piece { from_byte: piece.from_byte + pin, to_byte: piece.to_byte + pin, ..*piece };
        pinned.extend(bodies.pieces_of(body).iter().map(|piece| (pool(index), absolute(piece))));
    }
    pinned.sort_unstable_by_key(|&(pool, piece)| (pool, piece.lifetime, piece.from_byte, piece.buffer));
    let meets = |from: u64, to: u64, piece: &Piece| from < piece.to_byte && piece.from_byte < to;
    let mut live: Vec<(PoolId, Piece)> = Vec::new();
    for (at, one) in pinned {
        live.retain(|(pool, other)| *pool == at && other.lifetime.end > one.lifetime.start);
        if let Some((_, other)) = live.iter().find(|(_, other)| other.buffer != one.buffer && meets(one.from_byte, one.to_byte, other)) {
            let (a, b) = (one.buffer.min(other.buffer), one.buffer.max(other.buffer));
            return Err(ConstraintError::PinsCollide { a, b, step: one.lifetime.start });
        }
        let blocking = |range: &&crate::constraints::Reserved| {
            range.pool == at && range.lifetime.overlaps(one.lifetime) && meets(range.from_byte, range.to_byte, &one)
        };
        if let Some(range) = constraints.reserved.iter().find(blocking) {
            let step = range.lifetime.start.max(one.lifetime.start);
            return Err(ConstraintError::PinOnReserved { buffer: one.buffer, step });
        }
        live.push((at, one));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_join_as_counting_says() {
        for (s1, s2) in (1..12_u64).flat_map(|s1| (1..12_u64).map(move |s2| (s1, s2))) {
            for (r1, r2) in (0..s1).flat_map(|r1| (0..s2).map(move |r2| (r1, r2))) {
                let expected = (0..s1 * s2).find(|n| n % s1 == r1 && n % s2 == r2);
                let joined = join_grids((s1, r1), (s2, r2));
                assert_eq!(joined.map(|(_, residue)| residue), expected, "{r1} mod {s1}, {r2} mod {s2}");
            }
        }
    }
}
