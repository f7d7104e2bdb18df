//! Writing what the window shows: plan, problem, graph, picture. The extension decides.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use arenascope_formats::atomic::write_atomically;
use arenascope_formats::c_header::plan_to_header;
use arenascope_formats::dot::{graph_to_dot, problem_to_dot};
use arenascope_formats::dsa::problem_to_json;
use arenascope_formats::minimalloc::plan_to_csv;
use arenascope_formats::plan_file::plan_to_json;
use arenascope_formats::tflite::with_plan;

use arenascope_planner::ids::BufferId;

use crate::launch::{Document, render_document};
use crate::session::Planned;
use crate::state::Settings;
use crate::views::Pane;

/// Most edges written for the interference graph of a bare problem: more is not drawn by any DOT tool.
const MAX_DOT_EDGES: usize = 20_000;

/// How a picture is drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Theme and colouring.
    pub settings: Settings,
    /// The view that fills it; `None` is the whole window.
    pub view: Option<Pane>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// The file name without its last extension.
#[must_use]
pub fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(|| "plan".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Writes `planned` to `path` as its extension says, whole or not at all; `source` is the file that was opened, if any.
///
/// # Errors
/// An extension that is none of ours, or a file that cannot be written.
pub fn write(planned: &Arc<Planned>, source: Option<&Path>, path: &Path, picture: &Picture) -> anyhow::Result<()> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let text = match extension.as_str() {
        "tflite" => return write_model(planned, source, path),
        "h" => plan_to_header(&planned.prepared, &planned.plan),
        "json" if path.to_string_lossy().ends_with(".dsa.json") => problem_to_json(&planned.prepared, Some(planned.plan.as_ref())),
        "json" => plan_to_json(&planned.prepared, &planned.plan),
        "csv" => plan_to_csv(&planned.prepared, &planned.plan),
        "dot" => match &planned.prepared.context {
            Some(context) => graph_to_dot(&context.graph),
            None => problem_to_dot(&planned.prepared.problem, |index| planned.prepared.buffer_name(BufferId::new(index)), MAX_DOT_EDGES),
        },
        "png" | "svg" => return render_document(&Document::Planned(Arc::clone(planned)), picture, path),
        other => bail!("cannot write `.{other}`; use .json, .csv, .h or .tflite for the plan, .dot for the graph, .png or .svg for a picture"),
    };
    write_atomically(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// A copy of the opened model with the plan in it.
fn write_model(planned: &Planned, source: Option<&Path>, path: &Path) -> anyhow::Result<()> {
    let source = source.context("a plan can be written only into a model that was opened from a file")?;
    let shown = source.display().to_string();
    let model = std::fs::read(source).with_context(|| shown.clone())?;
    let bytes = with_plan(&shown, &model, &planned.prepared, &planned.plan)?;
    write_atomically(path, &bytes).with_context(|| format!("cannot write {}", path.display()))
}
