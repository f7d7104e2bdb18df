//! Which tensors share storage: views, in-place results, graph inputs and outputs, constants.

use arenascope_planner::alias::{AliasSettings, Io, JoinKind, Storage};
use arenascope_planner::graph::{InPlace, Role};
use arenascope_planner::lifetimes::Lifetime;

use crate::sketch::{Sketch, buffers, context, in_place, plan, storage};

fn arena_io() -> AliasSettings {
    AliasSettings { in_place: true, io: Io::Arena }
}

fn from_input() -> Sketch {
    Sketch::default().source("x", 8, Role::GraphInput)
}

#[test]
fn views_share_also_without_in_place() {
    let sketch = from_input().op("Conv", &["x"], "a", 8).op("Reshape", &["a"], "v", 8).op("Relu", &["v"], "r", 8).output("Conv", &["r"], "y", 8);
    let prepared = sketch.prepare(in_place(false));
    assert_eq!(buffers(&prepared), [vec!["a", "v"], vec!["r"]]);
    let join = context(&prepared).map.joins[0];
    assert_eq!((join.kind, join.output), (JoinKind::View, sketch.id("v")));
    assert_eq!(prepared.naive_bytes, 24);
}

#[test]
fn a_view_keeps_its_storage_alive_and_untouched() {
    let sketch =
        from_input().op("Conv", &["x"], "a", 8).op("Reshape", &["a"], "v", 8).op("Relu", &["a"], "r", 8).output("Concat", &["v", "r"], "y", 16);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!(buffers(&prepared), [vec!["a", "v"], vec!["r"]]);
    assert_eq!(prepared.problem.buffers()[0].lifetime, Lifetime { start: 0, end: 4 });
}

#[test]
fn a_view_of_an_input_or_output_is_static_with_static_io() {
    let sketch = from_input().op("Reshape", &["x"], "v", 8).op("Conv", &["v"], "a", 8).output("Reshape", &["a"], "y", 8);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!((prepared.problem.n_buffers(), prepared.static_bytes), (0, 16));
    assert_eq!(storage(&prepared, &sketch, "a"), Storage::Static);
    assert_eq!(plan("auto", &prepared).arena_bytes, 0);
}

#[test]
fn inputs_live_from_the_start_and_outputs_to_the_end_in_the_arena() {
    let sketch = from_input().op("Conv", &["x"], "a", 8).output("Conv", &["a"], "y", 8).op("Conv", &["a"], "b", 8).op("Conv", &["b"], "c", 8);
    let prepared = sketch.prepare(arena_io());
    assert_eq!(buffers(&prepared), [vec!["x"], vec!["a"], vec!["y"], vec!["b"], vec!["c"]]);
    let lifetimes: Vec<(u64, u64)> = prepared.problem.buffers().iter().map(|buffer| (buffer.lifetime.start, buffer.lifetime.end)).collect();
    assert_eq!(lifetimes, [(0, 1), (0, 3), (1, 4), (2, 4), (3, 4)]);
}

#[test]
fn no_op_overwrites_a_graph_input_or_output() {
    let sketch = from_input().op("Relu", &["x"], "a", 8).output("Relu", &["a"], "y", 8).op("Relu", &["y"], "b", 8);
    let prepared = sketch.prepare(arena_io());
    assert_eq!(buffers(&prepared), [vec!["x"], vec!["a", "y"], vec!["b"]]);
}

#[test]
fn what_is_made_from_constants_alone_is_static_unless_it_is_random() {
    let sketch = from_input()
        .source("w", 8, Role::Parameter)
        .op("Relu", &["w"], "folded", 8)
        .op("Reshape", &["folded"], "folded_view", 8)
        .op("RandomNormal", &["w"], "noise", 8)
        .op("Add", &["folded_view", "noise"], "sum", 8)
        .output("Add", &["sum", "x"], "y", 8);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!(storage(&prepared, &sketch, "folded_view"), Storage::Static);
    assert_eq!(buffers(&prepared), [vec!["noise", "sum"]]);
    assert_eq!((prepared.naive_bytes, prepared.static_bytes), (16, 8 + 8 + 8 + 8));
}

#[test]
fn in_place_needs_the_exact_size_and_takes_the_first_input_that_qualifies() {
    let sketch = from_input()
        .op("Conv", &["x"], "small", 4)
        .op("Conv", &["x"], "first", 8)
        .op("Conv", &["x"], "second", 8)
        .op("Add", &["small", "first"], "sum", 8)
        .op("Mul", &["second", "sum"], "product", 8)
        .output("Conv", &["product"], "y", 8);
    assert_eq!(buffers(&sketch.prepare(in_place(true))), [vec!["small"], vec!["first", "sum"], vec!["second", "product"]]);
}

#[test]
fn an_op_list_may_name_its_own_in_place_pairs_and_an_input_is_given_away_once() {
    let mut sketch = from_input().op("Conv", &["x"], "a", 8).op("Conv", &["x"], "b", 8).op("Fused", &["a", "b"], "c", 8);
    let (a, b, c) = (sketch.id("a"), sketch.id("b"), sketch.id("c"));
    sketch.last_op().in_place = InPlace::Pairs(vec![(b, c), (a, c)]);
    let sketch = sketch.output("Conv", &["c"], "y", 8);
    assert_eq!(buffers(&sketch.prepare(in_place(true))), [vec!["a"], vec!["b", "c"]]);
}

#[test]
fn empty_tensors_and_optimizer_state_are_not_planned() {
    let sketch = from_input().source("momentum", 8, Role::OptimizerState).op("Conv", &["x"], "nothing", 0).op("Relu", &["momentum"], "m", 8);
    let prepared = sketch.prepare(in_place(true));
    assert_eq!(storage(&prepared, &sketch, "nothing"), Storage::Empty);
    assert_eq!(buffers(&prepared), [vec!["m"]]);
}
