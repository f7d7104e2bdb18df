//! The window: linked views of a memory plan.
//!
//! [`launch`] opens it or draws it to a file; [`app`] draws a frame; [`state`] is everything it knows;
//! [`command`] is everything a person can do, and [`apply`] the one place that does it;
//! [`views`] and [`panels`] draw, with [`draw`] and [`theme`] for how things look.

pub mod app;
pub mod apply;
mod apply_run;
pub mod axis;
pub mod better;
pub mod colours;
pub mod command;
pub mod cpu_renderer;
pub mod ctx;
pub mod curve_index;
pub mod dialog;
pub mod draw;
pub mod export;
pub mod insight;
pub mod jobs;
pub mod lanes;
pub mod launch;
pub mod model;
pub mod orders;
pub mod panels;
mod planning;
pub mod rects;
pub mod samples;
pub mod selection;
pub mod session;
pub mod small_picture;
pub mod state;
pub mod svg;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
#[cfg(test)]
mod ui_tests;
pub mod views;

pub use apply_run::read_recorded_run;
pub use launch::{LaunchSettings, WindowError, render_to_file, run_window};
