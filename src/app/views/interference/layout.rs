//! Where the nodes of the interference graph stand.
//!
//! Problem: place nodes so that edges are short, no two nodes touch, and the picture fills a panel.
//! Method: interval graphs are long chains with stars, which a free force layout stretches into a thread. So the
//! nodes start on a path that runs by birth in rows, left to right and back; each is tied to its place there by a
//! weak spring, while edges pull and charges push; what still overlaps is pushed apart. The path keeps all
//! components inside one frame, so none has to be packed afterwards.
//! Guarantee: deterministic; no two nodes overlap.
//! Time O(ticks × (n log n + edges)), space O(n + edges).
//! Source: force layout of d3-force (velocity Verlet, Barnes and Hut's tree) through the crate `fjadra`.
//!
//! ```text
//! 0 - 1 - 2 - 3      rows by birth, every second one backwards,
//!             |      then forces bend the path into stars
//! 7 - 6 - 5 - 4
//! ```

use std::sync::Arc;

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::ids::BufferId;
use arenascope_planner::interference::conflict_graph;
use arenascope_planner::problem::Problem;
use fjadra::{Link, ManyBody, Node, SimulationBuilder};

use super::model::{MAX_EDGES, MAX_NODES, radius};
use crate::model::RowOrder;
use crate::session::Planned;

/// Width over height of the frame, the panel's usual shape.
const ASPECT: f64 = 1.25;
/// Side of the square that a node gets on the path, points; chosen by eye for 53 nodes in the panel.
const CELL: f64 = 32.0;
/// Free space between two nodes, points.
const GAP: f64 = 3.0;
/// Work units (nodes and a quarter of the edges, times ticks) that take about a second.
const WORK: usize = 60_000;
/// Fewest and most ticks.
const TICKS: [usize; 2] = [60, 300];
/// How strongly a node is tied to its place on the path; chosen by eye.
const TIE: f64 = 0.06;
/// From this many neighbours on, and more than a sixteenth of all, a node is a hub; chosen by eye.
const HUB: usize = 24;
/// A spring stronger than this makes the simulation swing up instead of settling.
const FIRMEST: f64 = 0.9;
/// How strongly two nodes push each other; chosen by eye.
const CHARGE: f64 = -40.0;

/// What is said of a layout that was cancelled; the window never shows it.
const STOPPED: &str = "stopped";

/// Node positions of the interference graph.
#[derive(Debug)]
pub struct NodeLayout {
    /// What was laid out.
    pub(super) problem: Arc<Problem>,
    /// Centres by buffer, points, inside `[0, size]`.
    pub(super) positions: Vec<[f32; 2]>,
    /// Radii by buffer, points.
    pub(super) radii: Vec<f32>,
    /// Pairs of buffers that are live together, the smaller id first.
    pub(super) edges: Vec<(u32, u32)>,
    /// Width and height of the drawing, points.
    pub(super) size: [f32; 2],
}

impl NodeLayout {
    /// Whether it shows the buffers of `problem`: the same sizes and lifetimes, whatever the plan.
    pub(super) fn is_of(&self, problem: &Arc<Problem>) -> bool {
        Arc::ptr_eq(&self.problem, problem) || self.problem.buffers() == problem.buffers()
    }
}

/// Lays out the graph; runs on a worker thread.
///
/// # Errors
/// A sentence: the graph is too large to be drawn, or the caller stopped the work.
pub fn lay_out(planned: &Arc<Planned>, control: &Control<'_>) -> Result<Arc<NodeLayout>, String> {
    let problem = &planned.prepared.problem;
    let n = problem.n_buffers();
    let Some(graph) = conflict_graph(problem, MAX_NODES, MAX_EDGES) else {
        let conflicts = planned.model.n_conflicts;
        return Err(format!("{n} buffers with {conflicts} conflicts are too many to draw; the limits are {MAX_NODES} and {MAX_EDGES}"));
    };
    let edges: Vec<(u32, u32)> = graph.raw_edges().iter().map(|edge| (graph[edge.source()].0, graph[edge.target()].0)).collect();
    let largest = planned.model.largest_bytes;
    let radii: Vec<f64> = problem.buffers().iter().map(|buffer| f64::from(radius(buffer.bytes, largest))).collect();
    let mut positions = simulate(planned.model.order(RowOrder::Birth), &edges, control)?;
    separate(&mut positions, &radii, control);
    if control.is_stopped() {
        return Err(STOPPED.to_owned());
    }
    let size = shift_to_origin(&mut positions, &radii);
    Ok(Arc::new(NodeLayout {
        problem: Arc::clone(problem),
        positions: positions.iter().map(|at| at.map(narrow)).collect(),
        radii: radii.into_iter().map(narrow).collect(),
        edges,
        size: size.map(narrow),
    }))
}

#[expect(clippy::cast_possible_truncation, reason = "points on a drawing of a few thousand")]
fn narrow(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_precision_loss, reason = "at most a few thousand nodes")]
fn real(n: usize) -> f64 {
    n as f64
}

/// Places on the path, by buffer.
fn path(order: &[BufferId]) -> Vec<[f64; 2]> {
    let n = order.len();
    let columns = whole_columns(n);
    let mut places = vec![[0.0; 2]; n];
    for (at, id) in order.iter().enumerate() {
        let (row, column) = (at / columns, at % columns);
        let column = if row % 2 == 0 { column } else { columns - 1 - column };
        places[id.index()] = [real(column) * CELL, real(row) * CELL];
    }
    places
}

fn whole_columns(n: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    let columns = (real(n) * ASPECT).sqrt().ceil() as usize;
    columns.max(1)
}

fn simulate(order: &[BufferId], edges: &[(u32, u32)], control: &Control<'_>) -> Result<Vec<[f64; 2]>, String> {
    let places = path(order);
    let n = places.len();
    if n < 2 {
        return Ok(places);
    }
    let n_ticks = (WORK / (n + edges.len() / 4)).clamp(TICKS[0], TICKS[1]);
    // Each node is followed by the fixed end of its tie.
    let nodes = places.iter().map(|&[x, y]| Node::default().position(x, y));
    let ends = places.iter().map(|&[x, y]| Node::default().fixed_position(x, y));
    let mut degree = vec![0_usize; n];
    for &(a, b) in edges {
        degree[a as usize] += 1;
        degree[b as usize] += 1;
    }
    // A buffer that lives nearly throughout would pull all others to one point; its edges are drawn, but do not pull.
    let hub = HUB.max(n / 16);
    let all_degrees = degree.clone();
    let pulls: Vec<(usize, usize)> =
        edges.iter().map(|&(a, b)| (a as usize, b as usize)).filter(|&(a, b)| all_degrees[a] <= hub && all_degrees[b] <= hub).collect();
    degree.fill(0);
    for &(a, b) in &pulls {
        degree[a] += 1;
        degree[b] += 1;
    }
    // A tie must hold a node of many edges as firmly as one of few; the crate divides by the degree.
    let firmness: Vec<f64> = degree.iter().map(|&degree| (TIE * real(degree + 2)).min(FIRMEST)).collect();
    // The push of a tie's end must not be zero: the tree divides by the sum.
    let push = move |_, at: usize| if at < n { CHARGE } else { -1e-3 };
    let mut simulation = SimulationBuilder::default()
        .with_alpha(0.6)
        .with_alpha_decay(1.0 - 0.002_f64.powf(1.0 / real(n_ticks)))
        .build(nodes.chain(ends))
        .add_force("charge", ManyBody::new().strength(push))
        .add_force("edges", Link::new(pulls).distance(CELL * 0.8))
        .add_force("ties", Link::new((0..n).map(|at| (at, n + at))).distance(0.0).strength(move |_: &(_, _), at: usize| firmness[at]));
    for tick in 0..n_ticks {
        if control.is_stopped() {
            return Err(STOPPED.to_owned());
        }
        if tick % 16 == 0 {
            control.report(Progress { what: "Laying out the graph".to_owned(), fraction: Some(real(tick) / real(n_ticks)), best_arena_bytes: None });
        }
        simulation.tick(1);
    }
    let placed: Vec<[f64; 2]> = simulation.positions().take(n).collect();
    // A force that got out of hand must not lose a node.
    Ok(placed.into_iter().zip(places).map(|(at, place)| if at.iter().all(|value| value.is_finite()) { at } else { place }).collect())
}

/// Pushes nodes apart until none overlap. Time O(n) per round with cells of one node's size.
fn separate(positions: &mut [[f64; 2]], radii: &[f64], control: &Control<'_>) {
    let widest = radii.iter().copied().fold(1.0, f64::max) * 2.0 + GAP;
    for round in 0..400 {
        // Rounds that move little may go on for long; a little more each time ends them.
        let push = 0.5 + f64::from(round) * 0.002;
        if control.is_stopped() || !separate_once(positions, radii, widest, push) {
            return;
        }
    }
    // Whatever is left stands too close to be solved by pushing: spread everything.
    let factor = worst_overlap(positions, radii, widest);
    for at in positions.iter_mut() {
        *at = at.map(|value| value * factor);
    }
}

/// Cells of a grid with the nodes in them, sorted by cell.
fn cells(positions: &[[f64; 2]], widest: f64) -> std::collections::BTreeMap<(i64, i64), Vec<usize>> {
    let mut cells: std::collections::BTreeMap<(i64, i64), Vec<usize>> = std::collections::BTreeMap::new();
    for (index, &at) in positions.iter().enumerate() {
        cells.entry(cell_of(at, widest)).or_default().push(index);
    }
    cells
}

#[expect(clippy::cast_possible_truncation, reason = "rounding down is meant, and the cast saturates")]
fn cell_of([x, y]: [f64; 2], widest: f64) -> (i64, i64) {
    ((x / widest).floor() as i64, (y / widest).floor() as i64)
}

/// Pairs of nodes in the same or adjacent cells.
fn close_pairs(positions: &[[f64; 2]], widest: f64) -> Vec<(usize, usize)> {
    let cells = cells(positions, widest);
    let mut pairs = Vec::new();
    for (index, &at) in positions.iter().enumerate() {
        let (column, row) = cell_of(at, widest);
        for near in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (column.saturating_add(dx), row.saturating_add(dy)))) {
            pairs.extend(cells.get(&near).into_iter().flatten().filter(|&&other| other > index).map(|&other| (index, other)));
        }
    }
    pairs
}

fn separate_once(positions: &mut [[f64; 2]], radii: &[f64], widest: f64, push: f64) -> bool {
    let mut moved = false;
    for (a, b) in close_pairs(positions, widest) {
        let wanted = radii[a] + radii[b] + GAP;
        let [mut dx, mut dy] = [positions[b][0] - positions[a][0], positions[b][1] - positions[a][1]];
        let mut distance = dx.hypot(dy);
        if distance >= wanted {
            continue;
        }
        if distance < 1e-6 {
            // Two nodes at one place part along a direction that depends on their ids alone.
            let angle = real(a * 7 + b * 13);
            (dx, dy, distance) = (angle.cos() * 1e-3, angle.sin() * 1e-3, 1e-3);
        }
        let by = (wanted - distance) / distance * push;
        for (node, sign) in [(a, -1.0), (b, 1.0)] {
            positions[node][0] += dx * by * sign;
            positions[node][1] += dy * by * sign;
        }
        moved = true;
    }
    moved
}

/// By how much the drawing must grow so that the closest pair fits.
fn worst_overlap(positions: &[[f64; 2]], radii: &[f64], widest: f64) -> f64 {
    let need = |(a, b): (usize, usize)| {
        let distance = (positions[a][0] - positions[b][0]).hypot(positions[a][1] - positions[b][1]);
        (radii[a] + radii[b] + 0.1) / distance.max(1e-3)
    };
    close_pairs(positions, widest).into_iter().map(need).fold(1.0, f64::max)
}

/// Moves everything so that the drawing begins at the origin; returns its size.
fn shift_to_origin(positions: &mut [[f64; 2]], radii: &[f64]) -> [f64; 2] {
    let mut size = [0.0; 2];
    for (axis, size) in size.iter_mut().enumerate() {
        let low = positions.iter().zip(radii).map(|(at, radius)| at[axis] - radius).fold(f64::INFINITY, f64::min);
        let high = positions.iter().zip(radii).map(|(at, radius)| at[axis] + radius).fold(f64::NEG_INFINITY, f64::max);
        for at in positions.iter_mut() {
            at[axis] -= low;
        }
        *size = (high - low).max(0.0);
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare, generated};
    use arenascope_planner::generate::Kind;

    fn layout(planned: &Arc<Planned>) -> Arc<NodeLayout> {
        lay_out(planned, &Control::unattended()).expect("a layout")
    }

    fn smallest_gap(layout: &NodeLayout) -> f32 {
        let n = layout.positions.len();
        let gap = |a: usize, b: usize| {
            let [ax, ay] = layout.positions[a];
            let [bx, by] = layout.positions[b];
            (ax - bx).hypot(ay - by) - layout.radii[a] - layout.radii[b]
        };
        (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).map(|(a, b)| gap(a, b)).fold(f32::INFINITY, f32::min)
    }

    #[test]
    fn no_two_nodes_overlap_and_all_are_in_the_frame() {
        for planned in [generated(Kind::Ml, 120), generated(Kind::Uni, 60), bare(&[(64, 0, 2), (64, 1, 3), (64, 2, 4)])] {
            let layout = layout(&planned);
            assert!(smallest_gap(&layout) > 0.0, "{}", smallest_gap(&layout));
            for (&[x, y], radius) in layout.positions.iter().zip(&layout.radii) {
                assert!(x >= radius - 0.01 && y >= radius - 0.01 && x + radius <= layout.size[0] + 0.01 && y + radius <= layout.size[1] + 0.01);
            }
        }
    }

    #[test]
    fn the_same_problem_gives_the_same_picture() {
        let planned = generated(Kind::Ml, 80);
        assert_eq!(layout(&planned).positions, layout(&planned).positions);
    }

    #[test]
    fn a_layout_belongs_to_sizes_and_lifetimes() {
        let layout = layout(&bare(&[(64, 0, 2), (64, 1, 3)]));
        assert!(layout.is_of(&bare(&[(64, 0, 2), (64, 1, 3)]).prepared.problem));
        assert!(!layout.is_of(&bare(&[(64, 0, 2), (128, 1, 3)]).prepared.problem));
    }

    #[test]
    fn refuses_what_is_too_large_and_stops_when_asked() {
        let error = lay_out(&generated(Kind::Uni, 400), &Control::unattended()).expect_err("too many edges");
        assert!(error.contains("too many to draw"), "{error}");
        let stopped = lay_out(&generated(Kind::Ml, 80), &Control::new(&|| true, &|_| ()));
        assert_eq!(stopped.err().as_deref(), Some("stopped"));
    }

    #[test]
    fn nodes_at_one_place_are_parted() {
        let mut positions = vec![[5.0, 5.0]; 30];
        separate(&mut positions, &[6.0; 30], &Control::unattended());
        for a in 0..30 {
            for b in a + 1..30 {
                assert!((positions[a][0] - positions[b][0]).hypot(positions[a][1] - positions[b][1]) > 12.0);
            }
        }
    }
}
