//! A file's memory as a function of one dimension: naive total, bound and arena for each value.

use std::path::Path;

use anyhow::Context;
use arenascope_formats::atomic::write_atomically;
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_plan::{load, make_plan};
use crate::cli_print::{Set, binary_bytes, exact_bytes, grouped, percent, table};
use crate::cli_request::Job;

/// The most values of one sweep: each is a whole plan.
const MAX_VALUES: u64 = 4096;

/// A dimension and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    name: String,
    first: u64,
    last: u64,
    step: u64,
}

impl Range {
    /// `batch=1..64`, both ends included, or `seq=128..4096:128` with a step.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parsed = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).and_then(|(name, value)| {
            let (first, rest) = value.split_once("..")?;
            let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
            Some(Self { name: name.to_owned(), first: first.parse().ok()?, last: last.parse().ok()?, step: step.parse().ok()? })
        });
        let range = parsed.ok_or_else(|| format!("--dim: `{text}` is no range; write for example --dim batch=1..64 or seq=128..4096:128"))?;
        if range.first > range.last || range.step == 0 {
            return Err(format!("--dim: `{text}` is an empty range; its end comes first, or its step is 0"));
        }
        match (range.last - range.first) / range.step {
            count if count >= MAX_VALUES => Err(format!("--dim: `{text}` has more than {MAX_VALUES} values; give a larger step")),
            _ => Ok(range),
        }
    }

    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        (0..=(self.last - self.first) / self.step).map(|index| self.first + index * self.step)
    }
}

/// The figures of all values.
#[derive(Serialize)]
pub(crate) struct Sweep {
    schema: u32,
    file: String,
    dimension: String,
    strategy: String,
    values: Vec<Point>,
}

/// The figures of one value.
#[derive(Serialize)]
struct Point {
    value: u64,
    naive_bytes: u64,
    lower_bound_bytes: u64,
    arena_bytes: u64,
    static_bytes: u64,
    gap: f64,
    valid: bool,
    fits_capacity: bool,
}

/// Reads and plans the file for each value.
pub(crate) fn sweep(file: &Path, job: &Job, range: &Range) -> anyhow::Result<Sweep> {
    let mut values = Vec::new();
    for value in range.values() {
        let mut job = job.clone();
        job.read.dims.push((range.name.clone(), value));
        let place = || format!("{} = {value}", range.name);
        let prepared = load(file, &job.read, job.prepare).with_context(place)?;
        let format = prepared.workload.format;
        anyhow::ensure!(format == arenascope_formats::onnx::FORMAT, "files of format {format} leave no dimension open, so there is nothing to sweep");
        let known = &prepared.workload.symbolic_dims;
        let without_effect = format!("{}={value} has no effect", range.name);
        let is_used = !prepared.warnings.iter().any(|warning| warning.message.contains(&without_effect));
        anyhow::ensure!(
            is_used,
            "`{}` is no open dimension of this file; it has {}",
            range.name,
            if known.is_empty() { "none".to_owned() } else { known.iter().map(|dim| dim.name.as_str()).collect::<Vec<_>>().join(", ") }
        );
        let planned = make_plan(&prepared, &job).with_context(place)?;
        values.push(Point {
            value,
            naive_bytes: planned.summary.naive_bytes,
            lower_bound_bytes: planned.summary.lower_bound_bytes,
            arena_bytes: planned.summary.arena_bytes,
            static_bytes: planned.summary.static_bytes,
            gap: planned.summary.gap,
            valid: planned.is_valid(),
            fits_capacity: planned.summary.fits_capacity,
        });
    }
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Sweep { schema: 1, file: name, dimension: range.name.clone(), strategy: job.strategy.clone(), values })
}

/// Whether the plan of every value may be used.
pub(crate) fn is_success(sweep: &Sweep) -> bool {
    sweep.values.iter().all(|point| point.valid && point.fits_capacity)
}

/// One row per value; the last column says what is wrong with its plan.
pub(crate) fn text_report(sweep: &Sweep) -> String {
    let head = [sweep.dimension.as_str(), "before", "bound", "arena", "", "gap", ""].map(str::to_owned).to_vec();
    let row = |point: &Point| {
        let arena = binary_bytes(point.arena_bytes);
        let bytes = [point.naive_bytes, point.lower_bound_bytes, point.arena_bytes].map(exact_bytes);
        let [naive, bound, exact] = bytes;
        let fault = match (point.valid, point.fits_capacity) {
            (false, _) => "INVALID",
            (true, false) => "does not fit",
            (true, true) => "",
        };
        vec![grouped(point.value), naive, bound, exact, arena, percent(point.gap), fault.to_owned()]
    };
    let columns = [[Set::Right; 6].as_slice(), &[Set::Left]].concat();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(sweep.values.iter().map(row)).collect();
    format!("{}: planned for each value of {}\n\n{}", sweep.file, sweep.dimension, table(2, &columns, &rows))
}

/// The report for programs.
pub(crate) fn json_report(sweep: &Sweep) -> String {
    object(sweep)
}

/// The chart's size and margins, in pixels; chosen by eye.
const CHART: (f64, f64) = (960.0, 540.0);
const MARGIN: (f64, f64) = (110.0, 50.0);

/// A line of the chart: its name, its colour, and the figure that it shows.
type Line = (&'static str, &'static str, fn(&Point) -> u64);

/// The figures as lines over the values.
pub(crate) fn draw(sweep: &Sweep, output: &Path) -> anyhow::Result<()> {
    let (width, height) = (CHART.0 - 2.0 * MARGIN.0, CHART.1 - 2.0 * MARGIN.1);
    let first = sweep.values.first().map_or(0, |point| point.value);
    let span = sweep.values.last().map_or(1, |point| point.value - first).max(1);
    let top = sweep.values.iter().map(|point| point.naive_bytes.max(point.arena_bytes)).max().unwrap_or(1).max(1);
    let x = |value: u64| MARGIN.0 + width * ratio(value - first, span);
    let y = |bytes: u64| MARGIN.1 + height * (1.0 - ratio(bytes, top));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        CHART.0, CHART.1
    );
    for quarter in 0..=4_u64 {
        let bytes = top / 4 * quarter;
        let at = y(bytes);
        text.push_str(&format!("<line x1=\"{}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\n", MARGIN.0, MARGIN.0 + width));
        text.push_str(&format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n", MARGIN.0 - 8.0, at + 4.0, binary_bytes(bytes)));
    }
    let lines: [Line; 3] = [
        ("before", "#8a8a8a", |point| point.naive_bytes),
        ("arena", "#1f6feb", |point| point.arena_bytes),
        ("bound", "#c2410c", |point| point.lower_bound_bytes),
    ];
    for (index, (label, colour, bytes)) in (0_u32..).zip(lines) {
        let points: Vec<String> = sweep.values.iter().map(|point| format!("{:.1},{:.1}", x(point.value), y(bytes(point)))).collect();
        let dash = if label == "bound" { " stroke-dasharray=\"6 4\"" } else { "" };
        text.push_str(&format!("<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>\n", points.join(" ")));
        let at = MARGIN.0 + 90.0 * f64::from(index);
        text.push_str(&format!("<text x=\"{at}\" y=\"30\" fill=\"{colour}\">{label}</text>\n"));
    }
    for value in [first, first + span] {
        text.push_str(&format!("<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(value), CHART.1 - 26.0, grouped(value)));
    }
    text.push_str(&format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n</svg>\n",
        CHART.0 / 2.0,
        CHART.1 - 10.0,
        escaped(&sweep.dimension)
    ));
    write_atomically(output, text.as_bytes())?;
    Ok(())
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
