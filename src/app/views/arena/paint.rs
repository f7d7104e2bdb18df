//! Painting the arena: holes, rectangles, labels, limits, faults.

use std::ops::ControlFlow;

use arenascope_planner::check::Violation;
use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;
use egui::{Align2, Color32, Mesh, Rect, Shape, Stroke, Ui, pos2, vec2};

use super::{Hidden, LANE, Scene, pools};
use crate::axis::Scale;
use crate::ctx::ViewCtx;
use crate::draw::{Detail, Pixels, RectBatch, could_be_lower, dashed_line, ghost, hole, over_capacity, pattern, tag, violation};
use crate::lanes::Lane;
use crate::model::BeforeKind;
use crate::rects::ChartRect;
use crate::selection::{Highlight, Item};
use crate::text;
use crate::theme::{Pattern, stroke};
use crate::views::chart::{Chart, step_value, to_whole};
use crate::views::lifetimes::{MAX_MARKS, mark, shows_mark};
use crate::views::strategies::Move;

/// Most rectangles drawn one by one; of more, the longest.
const MAX_RECTS: usize = 50_000;
/// Most holes hatched.
const MAX_HOLES: usize = 2_000;
/// Most overlaps, or buffers beyond the capacity, that are drawn, and overlaps with a warning sign.
const MAX_FAULTS: usize = 500;
const MAX_SIGNS: usize = 8;
/// Most labels per chart, largest first.
const MAX_LABELS: usize = 300;
/// Smallest rectangle with a label.
const LABEL_FROM: egui::Vec2 = vec2(24.0, 12.0);
/// Height from which the size stands below the name, and the offset below that.
const SIZE_FROM: f32 = 34.0;
const OFFSET_FROM: f32 = 48.0;
/// Smallest rectangle that is marked if it could be lower, and most marks with a triangle.
const LOWER_FROM: egui::Vec2 = vec2(3.0, 5.0);
const MAX_LOWER: usize = 400;
/// Smallest rectangle that shows its second channel.
const PATTERN_FROM: egui::Vec2 = vec2(24.0, 14.0);

struct Drawn {
    rect: Rect,
    of: ChartRect,
    fill: Color32,
    highlight: Highlight,
}

/// Paints everything; returns what could not be shown in full.
pub(super) fn scene(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>) -> Hidden {
    byte_grid(ui, ctx, chart, scene);
    if !scene.is_lanes && !scene.is_before {
        holes(ctx, chart, &scene.y);
    }
    let steps = chart.visible_steps();
    let (low, high) = (to_whole(scene.y.range().start.floor()), to_whole(scene.y.range().end.ceil()));
    let n_visible = scene.index.count(steps, low, high, MAX_RECTS);
    let (drawn, lower, mut hidden) = rectangles(ctx, chart, scene, (steps, low, high), n_visible);
    lower_marks(ctx, chart, &lower);
    labels(ctx, chart, scene, &drawn);
    if !scene.is_lanes && !scene.is_before {
        ghosts(ctx, chart, scene);
    }
    for drawn in drawn.iter().filter(|drawn| shows_mark(drawn.rect, drawn.highlight)).take(MAX_MARKS) {
        mark(&chart.painter, ctx, drawn.rect, drawn.highlight);
    }
    if !scene.is_lanes && !scene.is_before {
        beyond_capacity(ctx, chart, &scene.y);
        faults(ctx, chart, &scene.y);
        if ctx.planned.model.lanes.lanes().is_empty() {
            limits(ctx, chart, &scene.y);
        } else {
            pools::limits(ctx, chart, &scene.y);
        }
    }
    if n_visible >= MAX_RECTS {
        hidden.n_left_out = scene.index.rects().len().saturating_sub(MAX_RECTS) as u64;
    }
    hidden
}

fn pixel_rect(chart: &Chart, y: &Scale, life: Lifetime, low: u64, high: u64) -> Rect {
    let x = &chart.x;
    Rect::from_min_max(
        pos2(x.pixel(step_value(life.start)), y.pixel(step_value(high))),
        pos2(x.pixel(step_value(life.end)), y.pixel(step_value(low))),
    )
}

fn rectangles(
    ctx: &ViewCtx<'_>,
    chart: &Chart,
    scene: &Scene<'_>,
    (steps, low, high): (Lifetime, u64, u64),
    n_visible: usize,
) -> (Vec<Drawn>, Vec<Rect>, Hidden) {
    let t = ctx.tokens;
    let detail = Detail::for_count(n_visible);
    let mut batch = RectBatch::new(&chart.painter, t, detail);
    batch.reserve(n_visible);
    let (mut drawn, mut lower) = (Vec::new(), Vec::new());
    let mut hidden = Hidden::default();
    let pixel = Pixels::of(&chart.painter).one();
    let mut n = 0;
    let clip = chart.plot.expand(40.0);
    scene.index.visit(steps, low, high, |of| {
        let rect = pixel_rect(chart, &scene.y, of.lifetime, of.low, of.high).intersect(clip);
        if rect.width() < pixel || rect.height() < pixel {
            hidden.n_small += 1;
            hidden.small_bytes += of.high - of.low;
        }
        let (fill, highlight) = of.buffer.map_or_else(|| (ctx.tokens.disabled, Highlight::None), |buffer| ctx.fill(buffer));
        let rect = batch.add(rect, fill);
        let pattern_of = of.buffer.map_or(Pattern::Plain, |buffer| ctx.colours.pattern(buffer));
        if detail == Detail::Full && pattern_of != Pattern::Plain && rect.width() >= PATTERN_FROM.x && rect.height() >= PATTERN_FROM.y {
            pattern(batch.mesh_mut(), t, rect, fill, pattern_of);
        }
        if rect.width() >= LOWER_FROM.x && rect.height() >= LOWER_FROM.y && of.buffer.is_some_and(|buffer| could_be_lower_here(ctx, scene, buffer)) {
            lower.push(rect);
        }
        if shows_mark(rect, highlight) || (detail == Detail::Full && rect.width() >= LABEL_FROM.x && rect.height() >= LABEL_FROM.y) {
            drawn.push(Drawn { rect, of: *of, fill, highlight });
        }
        n += 1;
        if n < MAX_RECTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    batch.paint(&chart.painter);
    (drawn, lower, hidden)
}

/// Whether a buffer could be lower in the picture that is drawn; lanes of slots are no offsets.
fn could_be_lower_here(ctx: &ViewCtx<'_>, scene: &Scene<'_>, buffer: BufferId) -> bool {
    let Some(insight) = ctx.planned.insight().filter(|_| !scene.is_lanes) else { return false };
    let lower = if scene.is_before { insight.before.as_ref() } else { Some(&insight.lower) };
    lower.is_some_and(|lower| lower.of(buffer).is_some())
}

/// Marks what could be lower: a foot and a triangle, or of many the foot alone.
fn lower_marks(ctx: &ViewCtx<'_>, chart: &Chart, rects: &[Rect]) {
    if rects.len() <= MAX_LOWER {
        rects.iter().for_each(|&rect| could_be_lower(&chart.painter, ctx.tokens, rect));
        return;
    }
    let mut mesh = Mesh::default();
    for rect in rects {
        mesh.add_colored_rect(rect.with_min_y(rect.bottom() - 2.0), ctx.tokens.warn);
    }
    chart.painter.add(Shape::mesh(mesh));
}

/// Where the selected and the hovered buffer are in the plan that this one is compared with.
fn ghosts(ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>) {
    let Some(difference) = ctx.difference else { return };
    let hovered = match ctx.selection.hovered() {
        Some(Item::Buffer(buffer)) => Some(buffer),
        _ => None,
    };
    let selected = ctx.selection.selected_buffer().filter(|&buffer| hovered != Some(buffer));
    for buffer in hovered.into_iter().chain(selected).filter(|&buffer| difference.move_of(buffer) != Move::Same) {
        let (Some((pool, offset)), Some(lifetime)) = (difference.place_of(buffer), ctx.planned.lifetime(buffer)) else { continue };
        let low = ctx.planned.model.lanes.place(pool, offset);
        let rect = pixel_rect(chart, &scene.y, lifetime, low, low + ctx.planned.prepared.problem.buffer(buffer).bytes);
        ghost(&chart.painter, ctx.tokens, rect, ctx.tokens.select);
    }
}

fn labels(ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>, drawn: &[Drawn]) {
    let mut order: Vec<&Drawn> = drawn.iter().filter(|drawn| drawn.rect.width() >= LABEL_FROM.x && drawn.rect.height() >= LABEL_FROM.y).collect();
    order.sort_by(|a, b| b.rect.area().total_cmp(&a.rect.area()));
    for drawn in order.into_iter().take(MAX_LABELS) {
        label(ctx, chart, scene, drawn);
    }
}

fn label(ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>, drawn: &Drawn) {
    let t = ctx.tokens;
    let visible = drawn.rect.intersect(chart.plot);
    if visible.width() < LABEL_FROM.x || visible.height() < LABEL_FROM.y {
        return;
    }
    let ink = if drawn.highlight == Highlight::None && ctx.selection.dims_others() { t.text3 } else { t.ink(drawn.fill) };
    let (name, index) = names(ctx, scene, &drawn.of);
    let painter = chart.painter.with_clip_rect(visible);
    let room = visible.width() - 8.0;
    let whole = painter.layout_no_wrap(name, t.tick_strong(), ink);
    let galley = if whole.size().x <= room { whole } else { painter.layout_no_wrap(index, t.tick_strong(), ink) };
    if galley.size().x > room {
        return;
    }
    let bytes =
        drawn.of.buffer.filter(|_| scene.is_lanes).map_or(drawn.of.high - drawn.of.low, |buffer| ctx.planned.prepared.problem.buffer(buffer).bytes);
    let tall = visible.height() >= SIZE_FROM;
    let top = if tall { visible.top() + 4.0 } else { visible.center().y - galley.size().y / 2.0 };
    painter.galley(pos2(visible.left() + 5.0, top), galley, ink);
    if !tall {
        return;
    }
    let size = painter.layout_no_wrap(text::bytes(bytes), t.tick_medium(), ink);
    if size.size().x <= room {
        painter.galley(pos2(visible.left() + 5.0, top + 14.0), size, ink);
    }
    let offset = drawn.of.buffer.filter(|_| !scene.is_before).map_or(drawn.of.low, |buffer| ctx.planned.plan.offset(buffer));
    let hex = painter.layout_no_wrap(text::hex(offset), t.mono_tick(), ink);
    if visible.height() >= OFFSET_FROM && hex.size().x <= room && !scene.is_lanes && visible.width() >= 100.0 {
        painter.galley(pos2(visible.left() + 5.0, top + 28.0), hex, ink);
    }
}

/// The name and the number of a rectangle: of its buffer, or of its tensor before planning.
fn names(ctx: &ViewCtx<'_>, scene: &Scene<'_>, of: &ChartRect) -> (String, String) {
    let model = &ctx.planned.model;
    let of_tensor = scene.is_before && model.before_kind == BeforeKind::Naive;
    match (of.buffer, &ctx.planned.prepared.context) {
        (_, Some(context)) if of_tensor => {
            let name = &context.graph.tensors()[of.item as usize].name;
            (text::middle_cut(name, 22), format!("t{}", of.item))
        }
        (Some(buffer), _) => (model.short[buffer.index()].clone(), format!("#{}", buffer.0)),
        _ => (String::new(), String::new()),
    }
}

fn holes(ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let (low, high) = (to_whole(y.range().start.floor()), to_whole(y.range().end.ceil()));
    let mut mesh = Mesh::default();
    let mut n = 0;
    ctx.planned.model.holes.visit(chart.visible_steps(), low, high, |of| {
        let rect = pixel_rect(chart, y, of.lifetime, of.low, of.high).intersect(chart.plot);
        if rect.width() >= 4.0 && rect.height() >= 4.0 {
            hole(&mut mesh, ctx.tokens, rect);
            n += 1;
        }
        if n < MAX_HOLES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    chart.painter.add(Shape::mesh(mesh));
}

/// The size of a slot: that of its largest buffer.
fn slot_bytes(ctx: &ViewCtx<'_>, slot: u64) -> u64 {
    ctx.planned.model.slot_bytes.get(usize::try_from(slot).unwrap_or(usize::MAX)).copied().unwrap_or(0)
}

fn byte_grid(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>) {
    let t = ctx.tokens;
    let pixels = Pixels::of(&chart.painter);
    if scene.is_lanes {
        for slot in 0..ctx.planned.plan.n_slots().unwrap_or(0) as u64 {
            let y = scene.y.pixel(step_value(slot * LANE) + step_value(LANE) / 2.0 - 0.5);
            chart.gutter_label(ui, ctx, y, &format!("{slot}: {}", text::bytes(slot_bytes(ctx, slot))));
        }
        return;
    }
    if !scene.is_before && !ctx.planned.model.lanes.lanes().is_empty() {
        return pools::grid(ui, ctx, chart, &scene.y);
    }
    let range = scene.y.range();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a plot is a few thousand points high")]
    let most = (chart.plot.height() / 28.0).clamp(2.0, 24.0) as usize;
    for tick in text::byte_ticks(to_whole(range.start), to_whole(range.end), most) {
        let at = pixels.centre(scene.y.pixel(step_value(tick.bytes)));
        chart.painter.hline(chart.plot.x_range(), at, Stroke::new(pixels.one(), t.grid));
        chart.gutter_label(ui, ctx, at, &tick.label);
    }
}

/// Overlaps, drawn where they are; the steps they cover are marked below.
fn faults(ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let steps = chart.visible_steps();
    let mut shared: Vec<Rect> = Vec::new();
    for fault in ctx.planned.report.violations.iter().take(MAX_FAULTS) {
        let Violation::Overlap { a, from_step, to_step, from_byte, to_byte, .. } = *fault else { continue };
        let place = |byte: u64| ctx.planned.model.lanes.place(ctx.planned.plan.pool(a), byte);
        let life = Lifetime { start: from_step, end: to_step };
        if life.overlaps(steps) {
            shared.push(pixel_rect(chart, y, life, place(from_byte), place(to_byte)));
            let (left, right) = (chart.x.pixel(step_value(from_step)), chart.x.pixel(step_value(to_step)));
            chart.painter.rect_filled(Rect::from_x_y_ranges(left..=right, chart.plot.bottom() - 3.0..=chart.plot.bottom()), 0.0, ctx.tokens.err);
        }
    }
    // The largest carry the sign; on all of them it would bury the picture.
    shared.sort_by(|a, b| b.area().total_cmp(&a.area()));
    for (index, rect) in shared.into_iter().enumerate() {
        violation(&chart.painter, ctx.tokens, rect, index < MAX_SIGNS);
    }
}

/// The lines of arena, bound and capacity with their tags.
fn limits(ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let t = ctx.tokens;
    let summary = &ctx.planned.summary;
    let (arena, bound) = (summary.arena_bytes, summary.lower_bound_bytes);
    let at = |bytes: u64| Pixels::of(&chart.painter).centre(y.pixel(step_value(bytes)));
    let line = |bytes: u64| [pos2(chart.plot.left(), at(bytes)), pos2(chart.plot.right(), at(bytes))];
    let mut taken: Vec<Rect> = Vec::new();
    let mut put = |bytes: u64, colour: Color32, words: &str| {
        // A tag that would lie on another one stands to its left.
        let near = taken.iter().filter(|other: &&Rect| (other.center().y - at(bytes)).abs() < other.height() + 2.0).map(|other| other.left());
        let right = near.fold(chart.plot.right() - 4.0, |right, left| right.min(left - 6.0));
        taken.push(tag(&chart.painter, t, pos2(right, at(bytes)), Align2::RIGHT_CENTER, colour, words));
    };
    let forced = format!("forced at step {}", text::count(ctx.planned.model.bound.step));
    let is_bound = arena == bound && ctx.planned.is_valid();
    dashed_line(&chart.painter, line(bound), stroke::CURVE, t.bound, stroke::DASH_BOUND);
    if !is_bound {
        chart.painter.hline(chart.plot.x_range(), at(arena), Stroke::new(stroke::CURVE, t.arena));
    }
    if let Some(capacity) = summary.capacity_bytes {
        chart.painter.hline(chart.plot.x_range(), at(capacity), Stroke::new(stroke::STRONG, t.capacity));
    }
    if is_bound {
        put(bound, t.bound, &format!("arena {} = lower bound, {forced}", text::bytes(arena)));
    } else {
        put(arena, t.arena, &format!("arena {}", text::bytes(arena)));
        put(bound, t.bound, &format!("lower bound {}, {forced}", text::bytes(bound)));
    }
    if let Some(capacity) = summary.capacity_bytes {
        put(capacity, t.capacity, &format!("capacity {}", text::bytes(capacity)));
    }
}

/// The parts of buffers that lie above the capacity, or above that of their pool.
fn beyond_capacity(ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let lanes = ctx.planned.model.lanes.lanes();
    let above = ctx.planned.summary.capacity_bytes.filter(|&capacity| lanes.is_empty() && capacity < ctx.planned.plan.arena_bytes);
    let in_pool = |lane: &Lane| {
        let capacity = lane.pool.capacity_bytes.filter(|&capacity| capacity < lane.pool.arena_bytes);
        capacity.map(|capacity| (lane.begin + capacity, lane.end))
    };
    for (from, to) in above.map(|capacity| (capacity, u64::MAX)).into_iter().chain(lanes.iter().filter_map(in_pool)) {
        let mut n = 0;
        ctx.planned.model.after.visit(chart.visible_steps(), from, to, |of| {
            over_capacity(&chart.painter, ctx.tokens, pixel_rect(chart, y, of.lifetime, of.low.max(from), of.high).intersect(chart.plot));
            n += 1;
            if n < MAX_FAULTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
}
