//! Pictures and windows in tests, drawn on the CPU.

use egui::{FullOutput, TexturesDelta};
use egui_kittest::TestRenderer;

use crate::cpu_renderer::{CpuRenderer, straight_rgba};

/// The renderer to give to `Harness::builder().renderer(…)`.
#[derive(Default)]
pub(crate) struct CpuTestRenderer(CpuRenderer);

impl TestRenderer for CpuTestRenderer {
    fn handle_delta(&mut self, delta: &mut TexturesDelta) {
        self.0.apply(delta);
    }

    fn render(&mut self, ctx: &egui::Context, output: &FullOutput) -> Result<image::RgbaImage, String> {
        let image = self.0.render(ctx, output)?;
        let [width, height] = image.size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        image::RgbaImage::from_raw(width, height, straight_rgba(&image)).ok_or_else(|| "picture size".to_owned())
    }
}
