//! The symbolic checker finds what the geometric one cannot see, and both agree on everything else.

use std::sync::Arc;

use arenascope_planner::alias::{AliasSettings, Io, Storage};
use arenascope_planner::check::check;
use arenascope_planner::graph::Role;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::GraphContext;
use arenascope_planner::problem::Problem;
use arenascope_planner::replay::{ReplayFault, replay};
use arenascope_planner::units::Align;

use crate::sketch::{Sketch, context, in_place, plan};

/// B = conv(A); C = sigmoid(B); F = conv(B); y = conv(C, F): C must not overwrite B.
fn trap() -> Sketch {
    Sketch::default().source("A", 8, Role::GraphInput).op("Conv", &["A"], "B", 8).op("Sigmoid", &["B"], "C", 8).op("Conv", &["B"], "F", 8).output(
        "Conv",
        &["C", "F"],
        "y",
        8,
    )
}

fn faults(context: &GraphContext, problem: &Problem, plan: &Plan) -> Vec<ReplayFault> {
    replay(context, problem, plan)
}

#[test]
fn replay_catches_an_unsafe_in_place_merge_that_check_cannot_see() {
    let sketch = trap();
    let prepared = sketch.prepare(in_place(true));
    let mut merged = context(&prepared).clone();
    merged.map.storage[sketch.id("C").index()] = merged.map.storage[sketch.id("B").index()];
    let life = |start, end| Lifetime { start, end };
    let problem = Problem::new([(8, life(0, 4)), (8, life(1, 4)), (8, life(2, 4))], Align::ONE).expect("a valid problem");
    let plan = Plan::from_offsets("merged", &problem, vec![0, 8, 16]);
    assert!(check(&problem, &plan).is_valid());
    let faults = faults(&merged, &problem, &plan);
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].step, faults[0].tensor, faults[0].culprit), (2, sketch.id("B"), Some(sketch.id("C"))));
    assert_eq!(faults[0].describe(&merged.graph), "step 2, op `op2`: bytes 0 to 8 of `B` hold `C`");
}

#[test]
fn replay_refuses_in_place_for_an_op_that_does_not_declare_it() {
    let sketch =
        Sketch::default().source("x", 8, Role::GraphInput).op("Conv", &["x"], "a", 8).op("Conv", &["a"], "b", 8).output("Conv", &["b"], "y", 8);
    let prepared = sketch.prepare(in_place(true));
    let mut merged = context(&prepared).clone();
    merged.map.storage[sketch.id("b").index()] = merged.map.storage[sketch.id("a").index()];
    let plan = plan("naive", &prepared);
    assert!(faults(context(&prepared), &prepared.problem, &plan).is_empty());
    let faults = faults(&merged, &prepared.problem, &plan);
    assert_eq!((faults.len(), faults[0].step, faults[0].tensor), (1, 1, sketch.id("a")));
}

#[test]
fn replay_catches_a_lifetime_that_ends_one_step_too_early() {
    let prepared = trap().prepare(in_place(true));
    let short = prepared.problem.buffers().iter().enumerate().map(|(index, buffer)| {
        let lifetime = buffer.lifetime;
        (buffer.size_bytes, if index == 0 { Lifetime { end: lifetime.end - 1, ..lifetime } } else { lifetime })
    });
    let short = Problem::new(short, Align::ONE).expect("a valid problem");
    let plan = Plan::from_offsets("short", &short, vec![0, 8, 0]);
    assert!(check(&short, &plan).is_valid());
    assert_eq!(faults(context(&prepared), &short, &plan).len(), 1);
}

#[test]
fn replay_looks_at_graph_outputs_once_more_at_the_end() {
    let sketch = Sketch::default().source("x", 8, Role::GraphInput).output("Conv", &["x"], "y", 8).op("Conv", &["x"], "z", 8);
    let prepared = sketch.prepare(AliasSettings { in_place: true, io: Io::Arena });
    let good = plan("auto", &prepared);
    assert!(faults(context(&prepared), &prepared.problem, &good).is_empty());
    let mut bad = good;
    let Storage::Planned(z) = context(&prepared).map.storage[sketch.id("z").index()] else { panic!("z is planned") };
    let Storage::Planned(y) = context(&prepared).map.storage[sketch.id("y").index()] else { panic!("y is planned") };
    bad.offsets[z.index()] = bad.offsets[y.index()];
    let found = faults(context(&prepared), &prepared.problem, &bad);
    assert_eq!((found.len(), found[0].step, found[0].tensor, found[0].culprit), (1, 2, sketch.id("y"), Some(sketch.id("z"))));
}

#[test]
fn a_tensor_read_before_it_was_written_is_a_fault_without_a_culprit() {
    let sketch = trap();
    let prepared = sketch.prepare(in_place(true));
    let mut moved = context(&prepared).clone();
    moved.graph = Arc::clone(&moved.graph);
    moved.map.storage[sketch.id("A").index()] = Storage::Planned(arenascope_planner::ids::BufferId(1));
    let plan = plan("naive", &prepared);
    let found = faults(&moved, &prepared.problem, &plan);
    assert!(found.iter().all(|fault| fault.tensor == sketch.id("A")), "{found:?}");
}
