//! CPU time of the UI thread per frame, without drawing to a screen.
//!
//! `cargo bench -p arenascope-app --bench frames -- FILE [WIDTHxHEIGHT]` reads and plans FILE, then prints what a frame
//! costs while the whole run is shown, while it zooms and pans, and while the pointer moves over the charts.
//! The figure is the thread's own CPU time as the kernel counts it, for laying out and tessellating a frame.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use arenascope_app::app::App;
use arenascope_app::command::Command;
use arenascope_app::jobs::Jobs;
use arenascope_app::launch::NoPicker;
use arenascope_app::state::{Settings, State};

/// Frames per figure.
const FRAMES: u32 = 60;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(file) = arguments.next() else {
        say("usage: frames FILE [WIDTHxHEIGHT]");
        return Ok(());
    };
    let size = arguments.next().unwrap_or_else(|| "1440x900".to_owned());
    let (width, height) = size.split_once('x').context("the size is WIDTHxHEIGHT")?;
    let screen = egui::vec2(width.parse()?, height.parse()?);
    let settings = Settings { reduce_motion: true, ..Settings::default() };
    let ctx = egui::Context::default();
    let app = App::new(&ctx, State::new(settings, Jobs::inline()), Arc::new(NoPicker));
    let mut bench = Bench { ctx, app, screen, now: 0.0, pointer: None };
    bench.app.send(Command::Open(PathBuf::from(file)));
    let first = bench.cpu(1, |_, _| ())?;
    say(&format!("open, plan and first frame {first:9.2} ms"));
    bench.cpu(5, |_, _| ())?;
    let planned = bench.app.state.planned().context("the file could not be planned")?;
    say(&format!("{} buffers", planned.prepared.problem.n_buffers()));
    let full = bench.app.state.steps.full();
    let figures = [
        ("whole run", bench.cpu(FRAMES, |_, _| ())?),
        ("pointer moves", bench.cpu(FRAMES, |bench, frame| bench.pointer = Some(egui::pos2(100.0 + 12.0 * small(frame), 450.0)))?),
        ("zooming in", bench.cpu(FRAMES, |bench, _| bench.app.send(Command::ZoomSteps { at: full.at(0.4), factor: 1.06 }))?),
        ("panning", bench.cpu(FRAMES, |bench, frame| bench.app.send(Command::PanSteps(if frame < FRAMES / 2 { 0.1 } else { -0.1 })))?),
        ("zooming out", bench.cpu(FRAMES, |bench, _| bench.app.send(Command::ZoomSteps { at: full.at(0.4), factor: 0.94 }))?),
    ];
    for (what, milliseconds) in figures {
        say(&format!("{what:26} {milliseconds:9.2} ms per frame"));
    }
    Ok(())
}

struct Bench {
    ctx: egui::Context,
    app: App,
    screen: egui::Vec2,
    now: f64,
    pointer: Option<egui::Pos2>,
}

impl Bench {
    /// Milliseconds of CPU time per frame over `n` frames.
    fn cpu(&mut self, n: u32, mut before: impl FnMut(&mut Self, u32)) -> anyhow::Result<f64> {
        let start = thread_cpu_ns()?;
        for frame in 0..n {
            before(self, frame);
            self.frame();
        }
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        let elapsed = (thread_cpu_ns()? - start) as f64;
        Ok(elapsed / 1e6 / f64::from(n))
    }

    fn frame(&mut self) {
        self.now += 1.0 / 60.0;
        let events = self.pointer.map(egui::Event::PointerMoved).into_iter().collect();
        let screen_rect = Some(egui::Rect::from_min_size(egui::Pos2::ZERO, self.screen));
        let input = egui::RawInput { screen_rect, time: Some(self.now), events, ..egui::RawInput::default() };
        let Self { ctx, app, .. } = self;
        let mut output = ctx.run_ui(input, |ui| {
            let ctx = ui.ctx().clone();
            app.update(&ctx);
            app.draw(ui);
        });
        output.textures_delta.clear();
        let primitives = ctx.tessellate(output.shapes, output.pixels_per_point);
        std::hint::black_box(primitives);
    }
}

fn small(frame: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a frame number below 60")]
    let value = frame as f32;
    value
}

/// Nanoseconds that this thread has been on a CPU.
fn thread_cpu_ns() -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("this figure needs Linux")?;
    text.split_whitespace().next().context("an empty figure")?.parse().context("a figure")
}

#[expect(clippy::print_stdout, reason = "a program that prints its figures")]
fn say(line: &str) {
    println!("{line}");
}
