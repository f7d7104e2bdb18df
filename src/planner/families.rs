//! Families: buffers whose offsets hang together, because one lies in the other or both share a place.
//!
//! Problem: rules say "B is 16 bytes into A" and "C is where B is"; placing any of them places all.
//! Method: rules are edges with a distance; walk each connected set once, adding up distances; a buffer reached at two
//! different places is a contradiction.
//! Guarantee: exact. Time O(rules · log rules), space O(rules); buffers without such rules cost nothing.
//!
//! ```text
//! A [......]        B views A at 4, C in place with B:
//! B     [..]        family A 0, B 4, C 4
//! C     [..]
//! ```

use std::collections::BTreeMap;

use crate::constraints::{ConstraintError, Constraints};
use crate::ids::BufferId;

/// Members with their distance from the family's first byte, the first ones at 0; sorted by distance, then id.
pub(crate) type Family = Vec<(BufferId, u64)>;

/// The families of two members and more, by their smallest id.
pub(crate) fn families(constraints: &Constraints) -> Result<Vec<Family>, ConstraintError> {
    let mut edges: BTreeMap<BufferId, Vec<(BufferId, i128)>> = BTreeMap::new();
    let mut add = |from: BufferId, to: BufferId, distance: i128| {
        edges.entry(from).or_default().push((to, distance));
        edges.entry(to).or_default().push((from, -distance));
    };
    for (&view, sub) in &constraints.views {
        add(sub.of, view, i128::from(sub.at_byte));
    }
    for &(one, two) in &constraints.in_place {
        add(one, two, 0);
    }
    let mut place: BTreeMap<BufferId, i128> = BTreeMap::new();
    let mut found = Vec::new();
    for &first in edges.keys() {
        if place.contains_key(&first) {
            continue;
        }
        place.insert(first, 0);
        let mut members = vec![first];
        let mut next = 0;
        while let Some(&from) = members.get(next) {
            next += 1;
            for &(to, distance) in edges.get(&from).map_or(&[][..], Vec::as_slice) {
                let at = place[&from] + distance;
                match place.get(&to) {
                    Some(&known) if known != at => return Err(ConstraintError::TwoPlaces { buffer: to }),
                    Some(_) => {}
                    None => {
                        place.insert(to, at);
                        members.push(to);
                    }
                }
            }
        }
        found.push(from_lowest(members, &place)?);
    }
    Ok(found)
}

fn from_lowest(members: Vec<BufferId>, place: &BTreeMap<BufferId, i128>) -> Result<Family, ConstraintError> {
    let lowest = members.iter().map(|id| place[id]).min().unwrap_or(0);
    let from_lowest = |id: BufferId| {
        let distance = u64::try_from(place[&id] - lowest).map_err(|_| ConstraintError::TwoPlaces { buffer: id })?;
        Ok((id, distance))
    };
    let mut family: Family = members.into_iter().map(from_lowest).collect::<Result<_, _>>()?;
    family.sort_unstable_by_key(|&(id, distance)| (distance, id));
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_distances_along_views_and_groups() {
        let mut constraints = Constraints::default();
        constraints.set_view(BufferId(5), BufferId(2), 4).share_place(BufferId(5), BufferId(1)).set_view(BufferId(2), BufferId(9), 3);
        let expected = vec![(BufferId(9), 0), (BufferId(2), 3), (BufferId(1), 7), (BufferId(5), 7)];
        assert_eq!(families(&constraints), Ok(vec![expected]));
        constraints.share_place(BufferId(9), BufferId(1));
        assert!(matches!(families(&constraints), Err(ConstraintError::TwoPlaces { .. })));
    }
}
