//! Opening the window, and drawing it without one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use arenascope_formats::ReadOptions;
use arenascope_formats::atomic::write_atomically;
use arenascope_planner::prepare::PrepareSettings;
use arenascope_planner::solve::SolveOptions;

use crate::app::{App, stored_settings};
use crate::apply;
use crate::apply_run::{self, read_recorded_run};
use crate::command::Command;
use crate::cpu_renderer::{CpuRenderer, write_png};
use crate::dialog::{FilePicker, SystemPicker};
use crate::export::Picture;
use crate::jobs::Jobs;
use crate::session::{PlanOptions, Planned, Session, Stage};
use crate::state::{Settings, State};
use crate::svg::to_svg;
use crate::theme::ThemeKind;
use crate::views::Pane;
use crate::views::run::{DeviceAccess, Recording};

/// The window's size when it is first opened.
const FIRST_SIZE: [f32; 2] = [1440.0, 900.0];

/// What the command line says about how to read and plan.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// How the file is read.
    pub read: ReadOptions,
    /// Alignment, sharing and capacity.
    pub prepare: PrepareSettings,
    /// The strategy's name, or `auto`.
    pub strategy: String,
    /// Seed, threads, sharing of slots.
    pub solve: SolveOptions,
    /// When to stop and take the best so far.
    pub time_limit: Option<Duration>,
}

impl LaunchSettings {
    fn options(&self) -> PlanOptions {
        PlanOptions { strategy: self.strategy.clone(), prepare: self.prepare, solve: self.solve, time_limit: self.time_limit }
    }
}

/// Why no window was opened.
#[derive(Debug)]
pub enum WindowError {
    /// There is no display to open it on.
    NoDisplay(String),
    /// Something else went wrong.
    Other(String),
}

impl std::fmt::Display for WindowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoDisplay(why) => write!(f, "no display: {why}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WindowError {}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// [`WindowError::NoDisplay`] where no window can be opened.
pub fn run_window(path: Option<&Path>, launch: &LaunchSettings) -> Result<(), WindowError> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "linux") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("WAYLAND_SOCKET") {
        return Err(WindowError::NoDisplay("neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned()));
    }
    let viewport = egui::ViewportBuilder::default()
        .with_title("Arenascope")
        .with_app_id("arenascope")
        .with_inner_size(FIRST_SIZE)
        .with_min_inner_size(crate::theme::space::SMALLEST_WINDOW)
        .with_icon(icon())
        .with_drag_and_drop(true);
    let options = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
    let (path, launch) = (path.map(Path::to_owned), launch.clone());
    let result = eframe::run_native("arenascope", options, Box::new(move |creation| Ok(Box::new(window_app(creation, path.as_deref(), &launch)))));
    result.map_err(|error| match error {
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) | eframe::Error::OpenGL(_) | eframe::Error::NoGlutinConfigs(..) => {
            WindowError::NoDisplay(error.to_string())
        }
        other => WindowError::Other(other.to_string()),
    })
}

fn window_app(creation: &eframe::CreationContext<'_>, path: Option<&Path>, launch: &LaunchSettings) -> App {
    let ctx = creation.egui_ctx.clone();
    let jobs = Jobs::threaded(move || ctx.request_repaint());
    let state = first_state(stored_settings(creation.storage), jobs, launch);
    let mut app = App::new(&creation.egui_ctx, state, Arc::new(SystemPicker));
    app.state.devices = DeviceAccess::own().ok();
    match path {
        Some(path) => app.send(Command::Open(path.to_owned())),
        None => apply::make_thumbnails(&mut app.state),
    }
    app
}

fn first_state(settings: Settings, jobs: Jobs, launch: &LaunchSettings) -> State {
    let mut state = State::new(settings, jobs);
    state.next_options = launch.options();
    state.next_read = launch.read.clone();
    state
}

fn icon() -> egui::IconData {
    eframe::icon_data::from_png_bytes(include_bytes!("../../assets/icon/icon-256.png")).unwrap_or_default()
}

/// A picker that never shows a dialog, for windows that nobody sees.
#[derive(Debug, Default)]
pub struct NoPicker;

impl FilePicker for NoPicker {
    fn open(&self) -> Option<PathBuf> {
        None
    }

    fn save(&self, _suggestion: &str) -> Option<PathBuf> {
        None
    }
}

/// What a picture shows.
#[derive(Clone, Debug)]
pub enum Document {
    /// The first screen.
    Welcome,
    /// A plan that is already made.
    Planned(Arc<Planned>),
    /// A recorded run, with the plan it belongs to if that is at hand.
    Recorded(Arc<Recording>, Option<Arc<Planned>>),
}

/// Reads and plans `file`, then draws a view of it (or the whole window) to `out`.
///
/// # Errors
/// A file that cannot be read, planned or written; an unknown view or theme.
pub fn render_to_file(file: &Path, launch: &LaunchSettings, view: &str, size: (u32, u32), theme: &str, out: &Path) -> anyhow::Result<()> {
    let (view, theme) = (view_named(view)?, theme_named(theme)?);
    let settings = Settings { theme, reduce_motion: true, ..Settings::default() };
    if let Some(recorded) = read_recorded_run(file) {
        if view.is_some_and(|view| view != Pane::Run) {
            bail!("{}: a recorded run is drawn with --view run", file.display());
        }
        let recording = recorded.map_err(anyhow::Error::msg)?;
        return render_document(&Document::Recorded(recording, None), &Picture { settings, view, size }, out);
    }
    if view == Some(Pane::Run) {
        bail!("{}: only a recorded run has something to draw with --view run; write one with `arenascope run -o run.json`", file.display());
    }
    let control = arenascope_planner::control::Control::unattended();
    let workload = Arc::new(arenascope_formats::read(file, &launch.read, &control)?);
    let planned = crate::session::make_plan(&workload, &launch.options(), &control).map_err(anyhow::Error::msg)?;
    render_document(&Document::Planned(planned), &Picture { settings, view, size }, out)
}

/// The theme of a name.
///
/// # Errors
/// A sentence with the names there are.
fn theme_named(name: &str) -> anyhow::Result<ThemeKind> {
    match name {
        "dark" => Ok(ThemeKind::Dark),
        "light" => Ok(ThemeKind::Light),
        "projector" => Ok(ThemeKind::Projector),
        other => bail!("unknown theme `{other}`; use dark, light or projector"),
    }
}

/// The view of a name; `None` is the whole window.
///
/// # Errors
/// A sentence with the names there are.
fn view_named(name: &str) -> anyhow::Result<Option<Pane>> {
    if name == "window" {
        return Ok(None);
    }
    let found = Pane::ALL.into_iter().find(|pane| pane.title().to_lowercase() == name);
    let names = || Pane::ALL.map(|pane| pane.title().to_lowercase()).join(", ");
    found.map(Some).with_context(|| format!("unknown view `{name}`; use window, {}", names()))
}

/// Draws a document to a PNG or SVG file, whole or not at all; the extension decides.
///
/// # Errors
/// A size that cannot be drawn, or a file that cannot be written.
pub fn render_document(document: &Document, picture: &Picture, out: &Path) -> anyhow::Result<()> {
    let (width, height) = picture.size;
    if !(64..=16_384).contains(&width) || !(64..=16_384).contains(&height) {
        bail!("cannot draw {width} × {height} pixels; use 64 to 16384 each way");
    }
    let mut drawn = draw(document, picture.settings.clone(), picture.view, picture.size);
    let is_svg = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    let written = if is_svg {
        write_atomically(out, drawn.svg().as_bytes()).map_err(anyhow::Error::from)
    } else {
        drawn.image().map_err(anyhow::Error::msg).and_then(|image| write_png(out, &image))
    };
    written.with_context(|| format!("cannot write {}", out.display()))
}

/// Frames drawn before the one that is kept: sizes of panels and tables settle in them.
const SETTLING_FRAMES: u32 = 4;

/// A frame that was drawn without a window.
struct Drawn {
    ctx: egui::Context,
    output: egui::FullOutput,
    renderer: CpuRenderer,
    size: egui::Vec2,
}

impl Drawn {
    fn image(&mut self) -> Result<egui::ColorImage, String> {
        self.renderer.render(&self.ctx, &self.output)
    }

    fn svg(&self) -> String {
        to_svg(&self.output.shapes, self.size)
    }
}

fn draw(document: &Document, settings: Settings, view: Option<Pane>, (width, height): (u32, u32)) -> Drawn {
    let ctx = egui::Context::default();
    let mut state = State::new(settings, Jobs::inline());
    match document {
        Document::Welcome => apply::make_thumbnails(&mut state),
        Document::Planned(planned) => adopt(&mut state, planned),
        Document::Recorded(recording, planned) => {
            if let Some(planned) = planned {
                adopt(&mut state, planned);
            }
            apply_run::opened(&mut state, Ok(Arc::clone(recording)));
        }
    }
    state.views.maximised = match document {
        Document::Recorded(..) => Some(Pane::Run),
        _ => view,
    };
    let mut app = App::new(&ctx, state, Arc::new(NoPicker));
    let mut renderer = CpuRenderer::default();
    #[expect(clippy::cast_precision_loss, reason = "at most 16384")]
    let size = egui::vec2(width as f32, height as f32);
    let mut frame = 0;
    loop {
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(f64::from(frame)),
            ..egui::RawInput::default()
        };
        let mut output = ctx.run_ui(input, |ui| {
            app.update(&ctx);
            app.draw(ui);
        });
        renderer.apply(&mut output.textures_delta);
        if frame == SETTLING_FRAMES {
            return Drawn { ctx, output, renderer, size };
        }
        frame += 1;
    }
}

/// Shows a plan that was made elsewhere.
pub fn adopt(state: &mut State, planned: &Arc<Planned>) {
    let workload = &planned.prepared.workload;
    let mut session = Session::new(None, workload.file.clone(), ReadOptions::default(), planned.options.clone());
    session.workload = Stage::Ready(Arc::clone(workload));
    state.session = Some(session);
    apply::show_plan(state, Arc::clone(planned));
}
