//! The teaching samples as graphs, with the numbers that their texts promise.

use arenascope_planner::bounds::lower_bound;
use arenascope_planner::check::{Violation, check};
use arenascope_planner::control::Control;
use arenascope_planner::graph::Role;
use arenascope_planner::ids::BufferId;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::solve::{Share, SolveOptions, solve};

use crate::sketch::{MIB, Sketch, buffers, context, in_place, names, parallel_branches, plan, plan_with};

fn three_tensors() -> Sketch {
    Sketch::default()
        .source("x", 4 * MIB, Role::GraphInput)
        .source("y", 8 * MIB, Role::GraphInput)
        .op("Conv", &["x"], "A", 4 * MIB)
        .op("Conv", &["y"], "B", 8 * MIB)
        .op("Relu", &["A"], "C", 4 * MIB)
        .output("Concat", &["B", "C"], "out", 12 * MIB)
}

fn free_list() -> Sketch {
    Sketch::default()
        .source("A", 4 * MIB, Role::GraphInput)
        .op("Conv", &["A"], "B", 4 * MIB)
        .op("Sigmoid", &["B"], "C", 4 * MIB)
        .op("Conv", &["B"], "F", 4 * MIB)
        .op("AveragePool", &["C"], "E", 4 * MIB)
        .op("Mul", &["E", "F"], "G", 4 * MIB)
        .output("Conv", &["G"], "H", 4 * MIB)
}

/// Tensor names by slot.
fn slots(prepared: &Prepared, options: SolveOptions) -> Vec<Vec<String>> {
    let plan = plan_with("refcount", prepared, options);
    let mut slots = vec![Vec::new(); plan.n_slots().expect("a slot plan")];
    for buffer in prepared.problem.ids() {
        let slot = plan.slot(buffer).expect("a slot plan");
        slots[slot.index()].extend(names(prepared, buffer).into_iter().map(str::to_owned));
    }
    slots
}

#[test]
fn three_tensors_need_12_mib_in_place_and_16_without() {
    let sketch = three_tensors();
    let on = sketch.prepare(in_place(true));
    assert_eq!((on.naive_bytes, buffers(&on)), (16 * MIB, vec![vec!["A", "C"], vec!["B"]]));
    let by_birth = plan("slots-by-birth", &on);
    assert_eq!((by_birth.arena_bytes, by_birth.n_slots()), (12 * MIB, Some(2)));
    let off = sketch.prepare(in_place(false));
    assert_eq!((plan("auto", &off).arena_bytes, lower_bound(&off.problem).buffers.len()), (16 * MIB, 3));
}

#[test]
fn the_printed_article_puts_b_64_kib_above_a_and_the_check_says_so() {
    let prepared = three_tensors().prepare(in_place(true));
    let plan = solve("article-printed", &prepared.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
    assert_eq!(plan.offsets, [0, 64 << 10]);
    let report = check(&prepared.problem, &plan);
    let overlap = Violation::Overlap { a: BufferId(0), b: BufferId(1), from_step: 1, to_step: 4, from_byte: 64 << 10, to_byte: 4 * MIB };
    assert_eq!((report.violations, report.n_overlaps), (vec![overlap], 1));
    let faults = arenascope_planner::replay::replay(context(&prepared), &prepared.problem, &plan);
    assert!(faults[0].describe(&context(&prepared).graph).contains("of `A` hold `B`"), "{}", faults[0].describe(&context(&prepared).graph));
}

#[test]
fn refcount_ends_with_exactly_the_slots_beg_c_and_f() {
    let prepared = free_list().prepare(in_place(true));
    assert_eq!(slots(&prepared, SolveOptions::default()), [vec!["B", "E", "G"], vec!["C"], vec!["F"]]);
}

#[test]
fn in_place_may_not_destroy_what_a_later_op_reads() {
    let sketch = Sketch::default()
        .source("A", 4, Role::GraphInput)
        .source("two", 4, Role::Constant)
        .op("Conv", &["A"], "B", 4)
        .op("Sigmoid", &["B"], "C", 4)
        .op("Add", &["B", "two"], "F", 4)
        .op("Mul", &["C", "F"], "G", 4)
        .output("Conv", &["G"], "out", 4);
    assert_eq!(buffers(&sketch.prepare(in_place(true))), [vec!["B", "F"], vec!["C", "G"]]);
}

#[test]
fn a_slot_is_resized_with_any_and_never_with_equal() {
    let sketch = Sketch::default()
        .source("image", 1, Role::GraphInput)
        .op("Conv", &["image"], "A", 2 * MIB)
        .op("Conv", &["A"], "B", 4 * MIB)
        .op("Conv", &["B"], "C", 8 * MIB)
        .op("Relu", &["C"], "D", 8 * MIB)
        .op("Conv", &["D"], "E", 4 * MIB)
        .output("Conv", &["E"], "out", 1);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!(slots(&prepared, SolveOptions::default()), [vec!["A", "C", "D"], vec!["B", "E"]]);
    let equal = SolveOptions { share: Share::Equal, ..SolveOptions::default() };
    assert_eq!(slots(&prepared, equal), [vec!["A"], vec!["B", "E"], vec!["C", "D"]]);
}

#[test]
fn two_branches_need_three_slots() {
    let prepared = parallel_branches(4 * MIB).prepare(in_place(true));
    let plan = plan("refcount", &prepared);
    assert_eq!((prepared.naive_bytes, plan.arena_bytes, plan.n_slots()), (32 * MIB, 12 * MIB, Some(3)));
}

#[test]
fn training_keeps_the_hidden_layer_for_the_backward_pass() {
    let sketch = Sketch::default()
        .source("x", MIB, Role::GraphInput)
        .source("W1", 16 * MIB, Role::Parameter)
        .source("W2", 16 * MIB, Role::Parameter)
        .op("MatMul", &["x", "W1"], "h_pre", 4 * MIB)
        .op("Relu", &["h_pre"], "h", 4 * MIB)
        .op("MatMul", &["h", "W2"], "logits", MIB)
        .output("Loss", &["logits"], "loss", 4)
        .op_of_role("LossBackward", &["logits"], "d_logits", MIB, Role::Gradient)
        .output("MatMul", &["h", "d_logits"], "dW2", 16 * MIB)
        .op("Reshape", &["W2"], "W2_t", 16 * MIB)
        .op_of_role("MatMul", &["d_logits", "W2_t"], "d_h", 4 * MIB, Role::Gradient)
        .op_of_role("ReluBackward", &["d_h", "h"], "d_h_pre", 4 * MIB, Role::Gradient)
        .output("MatMul", &["x", "d_h_pre"], "dW1", 16 * MIB);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!(buffers(&prepared)[0], ["h_pre", "h"]);
    assert_eq!(prepared.problem.buffer(BufferId(0)).lifetime.end, 9);
    assert_eq!(plan("auto", &prepared).arena_bytes, lower_bound(&prepared.problem).bytes);
}
