//! A frame as SVG: the same shapes as on the screen, with text as text and its fonts inside the file.
//!
//! Every shape that egui can paint is written, except pictures from textures and callbacks, which no view uses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use egui::epaint::{CircleShape, ClippedShape, ColorMode, PathShape, RectShape, TextShape};
use egui::{Color32, FontFamily, Mesh, Pos2, Rect, Shape, Stroke, StrokeKind};

use crate::theme::font_file;

/// Writes shapes as an SVG document of `size` points.
#[must_use]
pub fn to_svg(shapes: &[ClippedShape], size: egui::Vec2) -> String {
    let mut svg = Svg::default();
    for clipped in shapes {
        svg.clipped(clipped, Rect::from_min_size(Pos2::ZERO, size));
    }
    let mut text = String::new();
    let (width, height) = (size.x, size.y);
    _ = writeln!(text, r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#);
    _ = writeln!(text, "<defs><style>{}text{{white-space:pre}}</style>{}</defs>", svg.font_faces(), svg.clips);
    text.push_str(&svg.body);
    text.push_str("</svg>\n");
    text
}

#[derive(Default)]
struct Svg {
    body: String,
    clips: String,
    clip_ids: BTreeMap<[i32; 4], usize>,
    fonts: BTreeMap<String, ()>,
}

impl Svg {
    fn clipped(&mut self, clipped: &ClippedShape, page: Rect) {
        let clip = clipped.clip_rect.intersect(page);
        let bounds = clipped.shape.visual_bounding_rect();
        if !clip.is_positive() || !bounds.intersects(clip) {
            return;
        }
        if clip.contains_rect(bounds) {
            self.shape(&clipped.shape);
            return;
        }
        let id = self.clip_id(clip);
        let start = self.body.len();
        _ = writeln!(self.body, r#"<g clip-path="url(#c{id})">"#);
        let filled = self.body.len();
        self.shape(&clipped.shape);
        if self.body.len() == filled {
            self.body.truncate(start);
        } else {
            self.body.push_str("</g>\n");
        }
    }

    fn clip_id(&mut self, clip: Rect) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "a page is at most 16384 points wide, in eighths")]
        let key = [clip.left(), clip.top(), clip.right(), clip.bottom()].map(|edge| (edge * 8.0).round() as i32);
        let next = self.clip_ids.len();
        let id = *self.clip_ids.entry(key).or_insert(next);
        if id == next {
            _ = write!(self.clips, r#"<clipPath id="c{id}">{}</clipPath>"#, rect_element(clip, 0.0, ""));
        }
        id
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Noop | Shape::Callback(_) => {}
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| self.shape(shape)),
            Shape::Circle(CircleShape { center, radius, fill, stroke }) => {
                _ = writeln!(self.body, r#"<circle cx="{}" cy="{}" r="{}"{}{}/>"#, n(center.x), n(center.y), n(*radius), fill_of(*fill), stroke_of(*stroke));
            }
            Shape::Ellipse(ellipse) => {
                let (c, r) = (ellipse.center, ellipse.radius);
                _ = writeln!(self.body, r#"<ellipse cx="{}" cy="{}" rx="{}" ry="{}"{}{}/>"#, n(c.x), n(c.y), n(r.x), n(r.y), fill_of(ellipse.fill), stroke_of(ellipse.stroke));
            }
            Shape::LineSegment { points, stroke } => self.path(points, false, Color32::TRANSPARENT, *stroke),
            Shape::Path(path) => self.path_shape(path),
            Shape::Band(band) => self.band(band),
            Shape::Rect(rect) => self.rect(rect),
            Shape::Text(text) => self.text(text),
            Shape::Mesh(mesh) => self.mesh(mesh),
            Shape::QuadraticBezier(curve) => self.path(&curve.flatten(Some(0.1)), curve.closed, curve.fill, plain(&curve.stroke)),
            Shape::CubicBezier(curve) => self.path(&curve.flatten(Some(0.1)), curve.closed, curve.fill, plain(&curve.stroke)),
        }
    }

    fn path_shape(&mut self, path: &PathShape) {
        self.path(&path.points, path.closed, path.fill, plain(&path.stroke));
    }

    fn path(&mut self, points: &[Pos2], closed: bool, fill: Color32, stroke: Stroke) {
        if points.len() < 2 || (fill == Color32::TRANSPARENT && (stroke.width <= 0.0 || stroke.color == Color32::TRANSPARENT)) {
            return;
        }
        let name = if closed { "polygon" } else { "polyline" };
        _ = writeln!(self.body, r#"<{name} points="{}"{}{}/>"#, points_of(points), fill_of(fill), stroke_of(stroke));
    }

    /// A band is the area between its upper and its lower edge.
    fn band(&mut self, band: &egui::epaint::BandShape) {
        let upper = band.points.iter().map(|point| Pos2::new(point.x, point.y.max));
        let lower = band.points.iter().rev().map(|point| Pos2::new(point.x, point.y.min));
        let outline: Vec<Pos2> = upper.chain(lower).collect();
        self.path(&outline, true, band.fill, Stroke::NONE);
    }

    fn rect(&mut self, shape: &RectShape) {
        let RectShape { rect, corner_radius, fill, stroke, stroke_kind, blur_width, .. } = shape;
        if *blur_width > 0.0 || !rect.is_positive() {
            // Shadows only lift things that float; a page has none.
            return;
        }
        let half = stroke.width / 2.0;
        let rect = match stroke_kind {
            _ if stroke.is_empty() => *rect,
            StrokeKind::Inside => rect.shrink(half),
            StrokeKind::Middle => *rect,
            StrokeKind::Outside => rect.expand(half),
        };
        let style = format!("{}{}", fill_of(*fill), stroke_of(*stroke));
        _ = writeln!(self.body, "{}", rect_element(rect, f32::from(corner_radius.nw), &style));
    }

    fn text(&mut self, text: &TextShape) {
        for placed in &text.galley.rows {
            let Some(first) = placed.row.glyphs.first() else { continue };
            let Some(section) = text.galley.job.sections.first() else { continue };
            let words: String = placed.row.glyphs.iter().map(|glyph| glyph.chr).collect();
            if words.trim().is_empty() {
                continue;
            }
            let own = if section.format.color == Color32::PLACEHOLDER { text.fallback_color } else { section.format.color };
            let colour = text.override_text_color.unwrap_or(own).gamma_multiply(text.opacity_factor);
            let at = text.pos + placed.pos.to_vec2() + first.pos.to_vec2();
            let family = self.family(&section.format.font_id.family);
            let length = placed.row.glyphs.last().map_or(0.0, |last| last.pos.x + last.advance_width - first.pos.x);
            _ = writeln!(
                self.body,
                r#"<text x="{}" y="{}" font-family="{family}" font-size="{}" textLength="{}" lengthAdjust="spacingAndGlyphs"{}>{}</text>"#,
                n(at.x),
                n(at.y),
                section.format.font_id.size,
                n(length),
                fill_of(colour),
                escape(&words)
            );
        }
    }

    fn family(&mut self, family: &FontFamily) -> String {
        let name = match family {
            FontFamily::Proportional => "regular".to_owned(),
            FontFamily::Monospace => return "Hack, monospace".to_owned(),
            FontFamily::Name(name) => name.to_string(),
        };
        self.fonts.insert(name.clone(), ());
        self.fonts.insert("icons".to_owned(), ());
        format!("as-{name}, as-icons, sans-serif")
    }

    fn font_faces(&self) -> String {
        let mut css = String::new();
        for name in self.fonts.keys() {
            if let Some(bytes) = font_file(name) {
                let data = base64::engine::general_purpose::STANDARD.encode(bytes);
                _ = write!(css, "@font-face{{font-family:as-{name};src:url(data:font/ttf;base64,{data})}}");
            }
        }
        css
    }

    /// Triangles of one colour each; pairs that form a rectangle become one, and neighbours of one colour one path.
    fn mesh(&mut self, mesh: &Mesh) {
        let mut colour = Color32::TRANSPARENT;
        let mut path = String::new();
        let mut at = 0;
        while at + 3 <= mesh.indices.len() {
            let corner = |index: usize| &mesh.vertices[mesh.indices[index] as usize];
            let quad = (at + 6 <= mesh.indices.len()).then(|| quad_of(&std::array::from_fn(|k| corner(at + k).pos))).flatten();
            let here = mix3([corner(at).color, corner(at + 1).color, corner(at + 2).color]);
            if here != colour {
                self.flush(&mut path, colour);
                colour = here;
            }
            if let Some(rect) = quad {
                _ = write!(path, "M{} {}h{}v{}h{}z", n(rect.left()), n(rect.top()), n(rect.width()), n(rect.height()), n(-rect.width()));
                at += 6;
            } else {
                let [a, b, c] = std::array::from_fn(|k| corner(at + k).pos);
                _ = write!(path, "M{} {}L{} {}L{} {}z", n(a.x), n(a.y), n(b.x), n(b.y), n(c.x), n(c.y));
                at += 3;
            }
        }
        self.flush(&mut path, colour);
    }

    fn flush(&mut self, path: &mut String, colour: Color32) {
        if !path.is_empty() && colour.a() > 0 {
            _ = writeln!(self.body, r#"<path d="{path}"{}/>"#, fill_of(colour));
        }
        path.clear();
    }
}

/// The rectangle that two triangles form, if they do.
fn quad_of(corners: &[Pos2; 6]) -> Option<Rect> {
    let bounds = Rect::from_points(corners);
    let on_edge = |p: &Pos2| (p.x == bounds.left() || p.x == bounds.right()) && (p.y == bounds.top() || p.y == bounds.bottom());
    let area = |a: Pos2, b: Pos2, c: Pos2| ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)).abs() / 2.0;
    let covered = area(corners[0], corners[1], corners[2]) + area(corners[3], corners[4], corners[5]);
    (corners.iter().all(on_edge) && (covered - bounds.area()).abs() <= 1e-3 * bounds.area().max(1.0)).then_some(bounds)
}

fn mix3(colours: [Color32; 3]) -> Color32 {
    // Feathered edges fade to transparent; the strongest corner stands for the triangle.
    colours.into_iter().max_by_key(|colour| colour.a()).unwrap_or_default()
}

fn plain(stroke: &egui::epaint::PathStroke) -> Stroke {
    match &stroke.color {
        ColorMode::Solid(colour) => Stroke::new(stroke.width, *colour),
        ColorMode::UV(_) => Stroke::NONE,
    }
}

/// A number of points with at most two decimals.
fn n(value: f32) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn points_of(points: &[Pos2]) -> String {
    points.iter().map(|point| format!("{},{}", n(point.x), n(point.y))).collect::<Vec<_>>().join(" ")
}

fn rect_element(rect: Rect, corner: f32, style: &str) -> String {
    let radius = if corner > 0.0 { format!(r#" rx="{}""#, n(corner)) } else { String::new() };
    format!(r#"<rect x="{}" y="{}" width="{}" height="{}"{radius}{style}/>"#, n(rect.left()), n(rect.top()), n(rect.width()), n(rect.height()))
}

fn paint(attribute: &str, colour: Color32) -> String {
    let [r, g, b, a] = colour.to_srgba_unmultiplied();
    let opacity = if a == 255 { String::new() } else { format!(r#" {attribute}-opacity="{:.3}""#, f32::from(a) / 255.0) };
    format!(r##" {attribute}="#{r:02x}{g:02x}{b:02x}"{opacity}"##)
}

fn fill_of(colour: Color32) -> String {
    if colour.a() == 0 { r#" fill="none""#.to_owned() } else { paint("fill", colour) }
}

fn stroke_of(stroke: Stroke) -> String {
    if stroke.is_empty() { String::new() } else { format!(r#"{} stroke-width="{}""#, paint("stroke", stroke.color), n(stroke.width)) }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_of_a_mesh_become_one_path_per_colour() {
        let mut mesh = Mesh::default();
        let red = crate::theme::ThemeKind::Dark.tokens().err;
        mesh.add_colored_rect(Rect::from_min_max(Pos2::new(1.0, 2.0), Pos2::new(4.0, 8.0)), red);
        mesh.add_colored_rect(Rect::from_min_max(Pos2::new(5.0, 2.0), Pos2::new(6.0, 3.0)), red);
        let shape = ClippedShape { clip_rect: Rect::EVERYTHING, shape: Shape::mesh(mesh) };
        let svg = to_svg(&[shape], egui::vec2(20.0, 10.0));
        assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        assert!(svg.contains("M1 2h3v6h-3zM5 2h1v1h-1z"), "{svg}");
    }

    #[test]
    fn what_lies_outside_its_clip_is_left_out() {
        let rect = Shape::rect_filled(Rect::from_min_max(Pos2::new(50.0, 0.0), Pos2::new(60.0, 5.0)), 0.0, crate::theme::ThemeKind::Dark.tokens().err);
        let clip_rect = Rect::from_min_max(Pos2::ZERO, Pos2::new(10.0, 10.0));
        let svg = to_svg(&[ClippedShape { clip_rect, shape: rect }], egui::vec2(100.0, 10.0));
        assert!(!svg.contains("<rect"), "{svg}");
    }
}
