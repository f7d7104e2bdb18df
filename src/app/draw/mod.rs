//! Marks shared by all pictures: exact rectangles, hatches, outlines, tags and controls.
//!
//! Nothing here knows about buffers; everything takes the tokens of the theme.

mod batch;
mod controls;
mod hatch;
mod label;
mod line;
mod notice;
mod pixels;
mod row;
#[cfg(test)]
mod sheet;
mod state;

pub use batch::{Detail, RectBatch};
pub use controls::{button, icon_button, icon_toggle, keycap, primary_button, segmented, small_button, tool_button};
pub use hatch::{Hatch, cross_hatch, dots, hatch, pattern};
pub use label::{Tone, badge, callout, paint_badge, paint_icon, pill, tag, text_backed};
pub use line::{dashed_line, dashed_rect, dashed_runs, polyline, steps};
pub use notice::{Action, Notice, notice, progress_card};
pub use pixels::Pixels;
pub use row::{chosen_edge, row_ground};
pub use state::{Outline, could_be_lower, ghost, hole, outline, over_capacity, pinned, search_tag, violation};
