//! Draws egui's output into pixels without a GPU: PNG export and pictures in tests.
//!
//! Problem: textured triangles with vertex colours, blended in order into premultiplied RGBA.
//! Method: per row, the span of a triangle is solved from its three edges with the top-left
//! rule, so that triangles that share an edge never blend a pixel twice; two triangles that form
//! an upright rectangle of one colour are filled row by row. Blending is in gamma space, as on
//! the GPU backends. Time: O(pixels covered); space: the picture and the textures.
//! Paint callbacks, wrap modes and mipmaps are absent: nothing in this program uses them.

use std::collections::HashMap;
use std::path::Path;

use egui::epaint::{ImageData, ImageDelta, Mesh, Primitive, Vertex};
use egui::{ClippedPrimitive, ColorImage, Context, FullOutput, Pos2, Rect, TextureFilter, TextureId, TexturesDelta};

/// One premultiplied pixel.
type Pixel = [u8; 4];

/// Keeps the textures of one context and draws its frames.
#[derive(Default)]
pub struct CpuRenderer {
    textures: HashMap<TextureId, Texture>,
    /// Freed by the last frame, which still draws with them.
    freed: Vec<TextureId>,
}

impl CpuRenderer {
    /// Takes over new and changed textures and forgets freed ones; empties `delta`.
    #[expect(clippy::iter_over_hash_type, reason = "textures do not depend on each other")]
    pub fn apply(&mut self, delta: &mut TexturesDelta) {
        for id in self.freed.drain(..) {
            self.textures.remove(&id);
        }
        for (id, images) in delta.set.drain() {
            for image in images {
                self.update(id, &image);
            }
        }
        self.freed.extend(delta.free.drain());
    }

    /// Draws one frame at the size and scale of `ctx`.
    ///
    /// Apply the frame's `textures_delta` first. [`straight_rgba`] gives the bytes of the picture.
    ///
    /// # Errors
    /// When the frame is empty or too large, or uses a texture that was never set.
    pub fn render(&mut self, ctx: &Context, output: &FullOutput) -> Result<ColorImage, String> {
        let per_point = output.pixels_per_point;
        let size = ctx.content_rect().size() * per_point;
        let [width, height] = [size.x, size.y].map(|side| whole(side.round()));
        if width == 0 || height == 0 || width.saturating_mul(height) > MOST_PIXELS {
            return Err(format!("cannot draw a picture of {width} × {height} pixels"));
        }
        let primitives = ctx.tessellate(output.shapes.clone(), per_point);
        let mut canvas = Canvas { width, height, pixels: vec![[0; 4]; width * height] };
        self.paint(&mut canvas, per_point, &primitives)?;
        Ok(ColorImage::from_rgba_premultiplied([width, height], canvas.pixels.as_flattened()))
    }

    fn paint(&self, canvas: &mut Canvas, per_point: f32, primitives: &[ClippedPrimitive]) -> Result<(), String> {
        for clipped in primitives {
            let Primitive::Mesh(mesh) = &clipped.primitive else { continue };
            let texture = self.textures.get(&mesh.texture_id).ok_or_else(|| format!("texture {:?} was never set", mesh.texture_id))?;
            let clip = Clip::new(clipped.clip_rect, per_point, canvas);
            paint_mesh(canvas, clip, per_point, mesh, texture);
        }
        Ok(())
    }

    fn update(&mut self, id: TextureId, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        let [width, height] = image.size;
        let pixels = image.pixels.iter().map(|colour| colour.to_array());
        let Some([left, top]) = delta.pos else {
            let linear = delta.options.magnification == TextureFilter::Linear;
            let texture = Texture { width, height, pixels: pixels.collect(), linear };
            self.textures.insert(id, texture);
            return;
        };
        let Some(texture) = self.textures.get_mut(&id) else { return };
        let pixels: Vec<Pixel> = pixels.collect();
        for (row, line) in pixels.chunks_exact(width.max(1)).enumerate() {
            let start = (top + row) * texture.width + left;
            if let Some(target) = texture.pixels.get_mut(start..start + width) {
                target.copy_from_slice(line);
            }
        }
    }
}

/// A picture of 16,384 × 16,384: 1 GiB of pixels.
const MOST_PIXELS: usize = 1 << 28;

/// Writes a picture as PNG: first beside the target, then in its place.
///
/// # Errors
/// When the folder cannot be written or the disk is full; the target is then as before.
pub fn write_png(path: &Path, image: &ColorImage) -> anyhow::Result<()> {
    Ok(arenascope_formats::atomic::write_atomically(path, &encode_png(image)?)?)
}

/// The bytes of a PNG file with straight alpha.
///
/// # Errors
/// When the picture has no pixels or more than PNG allows.
pub fn encode_png(image: &ColorImage) -> anyhow::Result<Vec<u8>> {
    let [width, height] = image.size;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&straight_rgba(image))?;
    writer.finish()?;
    Ok(bytes)
}

/// Red, green, blue and straight alpha of every pixel, row by row.
#[must_use]
pub fn straight_rgba(image: &ColorImage) -> Vec<u8> {
    image.pixels.iter().flat_map(|colour| colour.to_srgba_unmultiplied()).collect()
}

struct Texture {
    width: usize,
    height: usize,
    pixels: Vec<Pixel>,
    linear: bool,
}

impl Texture {
    /// The texel at a position from 0 to 1, as numbers from 0 to 255.
    fn sample(&self, uv: Pos2) -> [f32; 4] {
        let (x, y) = (uv.x * extent(self.width), uv.y * extent(self.height));
        if !self.linear {
            return self.texel(x.floor(), y.floor());
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (right_share, bottom_share) = (x - left, y - top);
        let upper = lerp(self.texel(left, top), self.texel(left + 1.0, top), right_share);
        let lower = lerp(self.texel(left, top + 1.0), self.texel(left + 1.0, top + 1.0), right_share);
        lerp(upper, lower, bottom_share)
    }

    fn texel(&self, x: f32, y: f32) -> [f32; 4] {
        let x = whole(x).min(self.width - 1);
        let y = whole(y).min(self.height - 1);
        self.pixels[y * self.width + x].map(f32::from)
    }
}

fn lerp(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    std::array::from_fn(|channel| a[channel] + (b[channel] - a[channel]) * t)
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Pixel>,
}

impl Canvas {
    fn row(&mut self, y: usize, from: usize, to: usize) -> &mut [Pixel] {
        let start = y * self.width;
        &mut self.pixels[start + from..start + to]
    }
}

/// Pixels that may be drawn: from the first up to but without the second.
#[derive(Clone, Copy)]
struct Clip {
    x: (usize, usize),
    y: (usize, usize),
}

impl Clip {
    fn new(rect: Rect, per_point: f32, canvas: &Canvas) -> Self {
        let side = |at: f32, most: usize| whole((at * per_point).round()).min(most);
        Self {
            x: (side(rect.min.x, canvas.width), side(rect.max.x, canvas.width)),
            y: (side(rect.min.y, canvas.height), side(rect.max.y, canvas.height)),
        }
    }

    fn is_empty(self) -> bool {
        self.x.0 >= self.x.1 || self.y.0 >= self.y.1
    }
}

fn paint_mesh(canvas: &mut Canvas, clip: Clip, per_point: f32, mesh: &Mesh, texture: &Texture) {
    if clip.is_empty() {
        return;
    }
    let vertex = |idx: u32| -> Option<Vertex> {
        let mut vertex = *mesh.vertices.get(usize::try_from(idx).ok()?)?;
        vertex.pos = (vertex.pos.to_vec2() * per_point).to_pos2();
        Some(vertex)
    };
    let mut rest = mesh.indices.as_slice();
    while let [a, b, c, after @ ..] = rest {
        let (Some(v0), Some(v1), Some(v2)) = (vertex(*a), vertex(*b), vertex(*c)) else { return };
        rest = after;
        if let [d, e, f, after @ ..] = rest
            && let Some(corner) = fourth_corner([*a, *b, *c], [*d, *e, *f]).and_then(vertex)
            && let Some((rect, colour)) = solid_quad([v0, v1, v2, corner], texture)
        {
            fill_rect(canvas, clip, rect, colour);
            rest = after;
            continue;
        }
        fill_triangle(canvas, clip, [v0, v1, v2], texture);
    }
}

/// The corner that makes the two triangles of a quad as egui writes it (0 1 2, 2 1 3).
fn fourth_corner([_, b, c]: [u32; 3], [d, e, f]: [u32; 3]) -> Option<u32> {
    (d == c && e == b).then_some(f)
}

/// Bounds and colour of four corners that form an upright rectangle of one colour.
fn solid_quad(v: [Vertex; 4], texture: &Texture) -> Option<(Rect, Pixel)> {
    let [a, b, c, d] = v;
    let flat = v.iter().all(|p| p.color == a.color && p.uv == a.uv);
    let (p, q, r, s) = (a.pos, b.pos, c.pos, d.pos);
    let upright = (p.y == q.y && p.x == r.x && s.x == q.x && s.y == r.y) || (p.x == q.x && p.y == r.y && s.y == q.y && s.x == r.x);
    (flat && upright).then(|| (Rect::from_two_pos(p, s), shade(&a, texture)))
}

/// The colour of a vertex times its texel.
fn shade(vertex: &Vertex, texture: &Texture) -> Pixel {
    let texel = texture.sample(vertex.uv);
    let colour = vertex.color.to_array();
    std::array::from_fn(|i| byte(f32::from(colour[i]) * texel[i] / 255.0))
}

/// Fills the pixels whose centres lie in `rect`: left and upper edge included.
fn fill_rect(canvas: &mut Canvas, clip: Clip, rect: Rect, colour: Pixel) {
    let first = |at: f32| whole((at - 0.5).ceil());
    let (left, right) = (first(rect.min.x).max(clip.x.0), first(rect.max.x).min(clip.x.1));
    let (top, bottom) = (first(rect.min.y).max(clip.y.0), first(rect.max.y).min(clip.y.1));
    if left < right && colour != [0; 4] {
        for y in top..bottom {
            fill_span(canvas.row(y, left, right), colour);
        }
    }
}

fn fill_span(span: &mut [Pixel], colour: Pixel) {
    if colour[3] == 255 {
        span.fill(colour);
    } else {
        for pixel in span {
            blend(pixel, colour);
        }
    }
}

/// A directed edge; the triangle lies where its value is positive.
struct Edge {
    from: (f64, f64),
    dx: f64,
    dy: f64,
    /// Whether a pixel centre exactly on the edge belongs to the triangle.
    inclusive: bool,
}

impl Edge {
    fn new(a: Pos2, b: Pos2) -> Self {
        let from = (f64::from(a.x), f64::from(a.y));
        let (dx, dy) = (f64::from(b.x) - from.0, f64::from(b.y) - from.1);
        Self { from, dx, dy, inclusive: (dy == 0.0 && dx > 0.0) || dy < 0.0 }
    }

    /// Twice the area of the triangle between the edge and a point.
    fn value(&self, x: f64, y: f64) -> f64 {
        self.dx * (y - self.from.1) - self.dy * (x - self.from.0)
    }

    /// Narrows the pixels `low..high` of a row to those whose centres are inside.
    fn narrow(&self, centre_y: f64, (low, high): (f64, f64)) -> (f64, f64) {
        let at_zero = self.value(0.5, centre_y);
        if self.dy == 0.0 {
            let inside = at_zero > 0.0 || (at_zero == 0.0 && self.inclusive);
            return if inside { (low, high) } else { (low, low) };
        }
        // The pixel position where the centre would lie exactly on the edge.
        let limit = at_zero / self.dy;
        let on_edge = limit == limit.floor();
        if self.dy > 0.0 {
            let end = if on_edge && !self.inclusive { limit } else { limit.floor() + 1.0 };
            (low, high.min(end))
        } else {
            let start = if on_edge && !self.inclusive { limit + 1.0 } else { limit.ceil() };
            (low.max(start), high)
        }
    }
}

fn fill_triangle(canvas: &mut Canvas, clip: Clip, mut v: [Vertex; 3], texture: &Texture) {
    let mut area = Edge::new(v[0].pos, v[1].pos).value(f64::from(v[2].pos.x), f64::from(v[2].pos.y));
    if area == 0.0 || !area.is_finite() {
        return;
    }
    if area < 0.0 {
        v.swap(1, 2);
        area = -area;
    }
    let edges = [Edge::new(v[1].pos, v[2].pos), Edge::new(v[2].pos, v[0].pos), Edge::new(v[0].pos, v[1].pos)];
    let bounds = Rect::from_points(&v.map(|vertex| vertex.pos));
    let top = whole((bounds.min.y - 0.5).floor()).max(clip.y.0);
    let bottom = whole((bounds.max.y + 0.5).ceil()).min(clip.y.1);
    let columns = (extent64(clip.x.0), extent64(clip.x.1));
    let same_texel = v.iter().all(|vertex| vertex.uv == v[0].uv);
    let flat = same_texel && v.iter().all(|vertex| vertex.color == v[0].color);
    let texel = same_texel.then(|| texture.sample(v[0].uv));
    let colour = shade(&v[0], texture);
    for y in top..bottom {
        let centre_y = extent64(y) + 0.5;
        let (low, high) = edges.iter().fold(columns, |span, edge| edge.narrow(centre_y, span));
        let (low, high) = (whole64(low), whole64(high));
        if low >= high {
            continue;
        }
        let span = canvas.row(y, low, high);
        if flat {
            fill_span(span, colour);
        } else {
            shade_span(span, (low, centre_y), &v, &edges, area, (texture, texel));
        }
    }
}

/// Blends a span with colours and texels interpolated between the corners.
fn shade_span(
    span: &mut [Pixel],
    (first_x, centre_y): (usize, f64),
    v: &[Vertex; 3],
    edges: &[Edge; 3],
    area: f64,
    (texture, texel): (&Texture, Option<[f32; 4]>),
) {
    let colours = v.map(|vertex| vertex.color.to_array().map(f32::from));
    for (idx, pixel) in span.iter_mut().enumerate() {
        let centre_x = extent64(first_x + idx) + 0.5;
        let w0 = single(edges[0].value(centre_x, centre_y) / area);
        let w1 = single(edges[1].value(centre_x, centre_y) / area);
        let w2 = 1.0 - w0 - w1;
        let texel = texel.unwrap_or_else(|| {
            let uv = v[0].uv.to_vec2() * w0 + v[1].uv.to_vec2() * w1 + v[2].uv.to_vec2() * w2;
            texture.sample(uv.to_pos2())
        });
        let colour = std::array::from_fn(|i| {
            let vertex_colour = colours[0][i] * w0 + colours[1][i] * w1 + colours[2][i] * w2;
            byte(vertex_colour * texel[i] / 255.0)
        });
        if colour != [0; 4] {
            blend(pixel, colour);
        }
    }
}

/// `source` over `pixel`, both premultiplied.
fn blend(pixel: &mut Pixel, source: Pixel) {
    let keep = 255 - u32::from(source[3]);
    for (below, above) in pixel.iter_mut().zip(source) {
        let scaled = u32::from(*below) * keep + 128;
        // Division by 255 with rounding, exact for 16 bits.
        let sum = u32::from(above) + ((scaled + (scaled >> 8)) >> 8);
        *below = u8::try_from(sum).unwrap_or(u8::MAX);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is wanted here")]
fn byte(value: f32) -> u8 {
    (value + 0.5) as u8
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is wanted here")]
fn whole(value: f32) -> usize {
    value as usize
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is wanted here")]
fn whole64(value: f64) -> usize {
    value as usize
}

#[expect(clippy::cast_precision_loss, reason = "sides of pictures are below 2^24")]
fn extent(pixels: usize) -> f32 {
    pixels as f32
}

#[expect(clippy::cast_precision_loss, reason = "sides of pictures are below 2^24")]
fn extent64(pixels: usize) -> f64 {
    pixels as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a weight from 0 to 1")]
fn single(weight: f64) -> f32 {
    weight as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Color32, RawInput, pos2, vec2};

    fn frame(per_point: f32, paint: impl Fn(&egui::Painter)) -> ColorImage {
        let ctx = Context::default();
        let mut input = RawInput { screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(40.0, 20.0))), ..RawInput::default() };
        if let Some(viewport) = input.viewports.get_mut(&input.viewport_id) {
            viewport.native_pixels_per_point = Some(per_point);
        }
        let mut renderer = CpuRenderer::default();
        let mut output = ctx.run_ui(input, |ui| paint(ui.painter()));
        renderer.apply(&mut output.textures_delta);
        renderer.render(&ctx, &output).expect("a picture")
    }

    #[test]
    fn a_quad_covers_exactly_its_pixels() {
        let image = frame(1.0, |painter| {
            let mut mesh = Mesh::default();
            mesh.add_colored_rect(Rect::from_min_max(pos2(2.0, 3.0), pos2(7.0, 9.0)), Color32::RED);
            painter.add(mesh);
        });
        let n_red = image.pixels.iter().filter(|&&pixel| pixel == Color32::RED).count();
        assert_eq!((image.size, n_red), ([40, 20], 30));
        assert_eq!(image[(2, 3)], Color32::RED);
        assert_ne!(image[(7, 8)], Color32::RED);
    }

    #[test]
    fn triangles_that_share_an_edge_blend_each_pixel_once() {
        let image = frame(1.0, |painter| {
            let mut mesh = Mesh::default();
            let half = Color32::RED.gamma_multiply(0.5);
            for p in [pos2(1.0, 1.0), pos2(21.3, 2.7), pos2(30.1, 17.9), pos2(3.3, 15.2)] {
                mesh.colored_vertex(p, half);
            }
            // Another order than that of a quad, so that both triangles are drawn as such.
            mesh.add_triangle(0, 1, 2);
            mesh.add_triangle(0, 2, 3);
            painter.add(mesh);
        });
        let mut shades: Vec<u8> = image.pixels.iter().map(|pixel| pixel.r()).collect();
        shades.sort_unstable();
        shades.dedup();
        assert_eq!(shades.len(), 2, "{shades:?}");
    }

    #[test]
    fn scale_multiplies_the_picture() {
        let image = frame(2.0, |painter| {
            painter.rect_filled(Rect::from_min_size(pos2(1.0, 1.0), vec2(2.0, 2.0)), 0.0, Color32::WHITE);
        });
        assert_eq!(image.size, [80, 40]);
        assert_eq!(image.pixels.iter().filter(|&&pixel| pixel == Color32::WHITE).count(), 16);
    }

    #[test]
    fn text_is_drawn() {
        let image = frame(1.0, |painter| {
            painter.text(pos2(2.0, 2.0), egui::Align2::LEFT_TOP, "M", egui::FontId::default(), Color32::WHITE);
        });
        assert!(image.pixels.iter().any(|pixel| pixel.r() > 200));
    }

    #[test]
    fn a_png_is_written_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("picture.png");
        let image = ColorImage::filled([3, 2], Color32::GREEN.gamma_multiply_u8(128));
        write_png(&path, &image).expect("written");
        let read = image::open(&path).expect("a png").to_rgba8();
        assert_eq!((read.dimensions(), read.get_pixel(2, 1).0[3]), ((3, 2), 128));
        assert!(write_png(&folder.path().join("absent/picture.png"), &image).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
