//! The window driven as a person would, through its accessibility tree; pictures of the views.

mod files;
mod pictures;
mod reasons;
mod run;
mod run_modes;
mod window;

use std::path::PathBuf;
use std::sync::Arc;

use egui_kittest::Harness;

use crate::app::App;
use crate::command::Command;
use crate::dialog::FilePicker;
use crate::jobs::Jobs;
use crate::session::Planned;
use crate::state::{Settings, State};
use crate::testing::CpuTestRenderer;
use crate::theme::{self, ThemeKind};

/// A picker that answers what the test wants.
#[derive(Debug)]
struct Answer(Option<PathBuf>);

impl FilePicker for Answer {
    fn open(&self) -> Option<PathBuf> {
        self.0.clone()
    }

    fn save(&self, _suggestion: &str) -> Option<PathBuf> {
        self.0.clone()
    }
}

/// A sample file of the repository.
fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sample-graphs").join(name)
}

/// A window of 1440 × 900 with these jobs, showing nothing yet.
fn window(jobs: Jobs, theme: ThemeKind, picked: Option<PathBuf>) -> Harness<'static, App> {
    let settings = Settings { theme, reduce_motion: true, ..Settings::default() };
    let state = State::new(settings, jobs);
    let ctx_app = move |ctx: &egui::Context| App::new(ctx, state, Arc::new(Answer(picked)));
    let ctx = egui::Context::default();
    let app = ctx_app(&ctx);
    let mut harness = Harness::builder()
        .with_size(egui::vec2(1440.0, 900.0))
        .renderer(CpuTestRenderer::default())
        .with_context_setup(move |ctx| theme::install(ctx, theme))
        .build_ui_state(
            |ui, app: &mut App| {
                let ctx = ui.ctx().clone();
                app.update(&ctx);
                app.draw(ui);
            },
            app,
        );
    harness.run_steps(3);
    harness
}

/// A window whose jobs run at once, with a file open.
fn opened(name: &str, theme: ThemeKind) -> Harness<'static, App> {
    let mut harness = window(Jobs::inline(), theme, None);
    harness.state().send(Command::Open(sample(name)));
    harness.run_steps(4);
    harness
}

fn planned(harness: &Harness<'static, App>) -> Arc<Planned> {
    let session = harness.state().state.session.as_ref().expect("a file is open");
    Arc::clone(session.shown().expect("a plan is shown"))
}
