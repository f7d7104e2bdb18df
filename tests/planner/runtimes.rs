//! What runtimes would do with a graph: strategies that walk it with reference counts.

use arenascope_planner::graph::Role;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::testing::{prepare_graph, random_graph};
use arenascope_planner::units::Align;

use crate::sketch::{MIB, Sketch, in_place, names, parallel_branches, plan};

/// A chain of ops that cannot work in place, with outputs of these sizes.
fn chain(sizes: &[u64]) -> Prepared {
    let mut sketch = Sketch::default().source("t0", 1, Role::GraphInput);
    for (index, &bytes) in sizes.iter().enumerate() {
        sketch = sketch.op("Conv", &[&format!("t{index}")], &format!("t{}", index + 1), bytes);
    }
    sketch.output("Conv", &[&format!("t{}", sizes.len())], "out", 1).prepare(in_place(true))
}

fn arenas(prepared: &Prepared, strategies: [&str; 2]) -> [u64; 2] {
    strategies.map(|strategy| plan(strategy, prepared).arena_bytes)
}

#[test]
fn a_block_that_waits_for_its_next_buffer_stays_reserved_in_ort_pattern() {
    let prepared = chain(&[4, 3, 2, 4]);
    let ort = plan("ort-pattern", &prepared);
    assert_eq!((ort.offsets, ort.arena_bytes), (vec![0, 4, 7, 0], 9));
    assert_eq!(plan("first-fit", &prepared).arena_bytes, 7);
}

#[test]
fn ort_pattern_reuses_the_block_that_died_last() {
    // Both of the first two are dead when the last is born; equal sizes only.
    let prepared = chain(&[8, 8, 5, 8]);
    assert_eq!(plan("ort-pattern", &prepared).offsets, [0, 8, 0, 8]);
}

#[test]
fn ort_pattern_and_mxnet_each_beat_the_other_somewhere() {
    let pairs = [("ort-pattern", "mxnet"), ("mxnet", "ort-pattern"), ("mxnet", "mxnet-co-share")];
    let graphs: Vec<Prepared> = (0..200).map(|seed| prepare_graph(random_graph(seed, 40), Align::ONE, in_place(true))).collect();
    for (better, worse) in pairs {
        let is_better = |prepared: &Prepared| {
            let [one, two] = arenas(prepared, [better, worse]);
            one < two
        };
        assert!(graphs.iter().any(is_better), "{better} is never smaller than {worse}");
    }
}

#[test]
fn mxnet_keeps_a_small_buffer_out_of_a_slot_of_more_than_sixteen_times_its_size() {
    assert_eq!(arenas(&chain(&[64, 10, 3, 60]), ["mxnet", "refcount"]), [64 + 10 + 3, 64 + 60]);
    // At 16 times it is still taken, and so is one of a 16th, which grows.
    assert_eq!(plan("mxnet", &chain(&[48, 10, 3])).n_slots(), Some(2));
    assert_eq!(plan("mxnet", &chain(&[3, 10, 48])).n_slots(), Some(2));
    assert_eq!(plan("mxnet", &chain(&[3, 10, 64])).n_slots(), Some(3));
}

#[test]
fn co_share_keeps_the_slots_of_the_longest_path_to_itself() {
    let w = 4 * MIB;
    let prepared = parallel_branches(w).prepare(in_place(true));
    assert!(branches_share(&prepared, &plan("mxnet", &prepared)));
    let co_share = plan("mxnet-co-share", &prepared);
    assert!(!branches_share(&prepared, &co_share));
    assert_eq!((co_share.n_slots(), co_share.arena_bytes), (Some(4), 4 * w));
}

/// Whether a slot holds one of A2 to A4 and one of A5 to A7.
fn branches_share(prepared: &Prepared, plan: &Plan) -> bool {
    let slots_of = |branch: [&str; 3]| {
        let is_there = move |&id: &_| names(prepared, id).iter().any(|name| branch.contains(name));
        prepared.problem.ids().filter(is_there).map(|id| plan.slot(id)).collect::<Vec<_>>()
    };
    let other = slots_of(["A5", "A6", "A7"]);
    slots_of(["A2", "A3", "A4"]).iter().any(|slot| other.contains(slot))
}
