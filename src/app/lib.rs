//! The window: linked views of a memory plan.

pub mod cpu_renderer;
pub mod draw;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
