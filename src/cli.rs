//! Runs what the command line asks for: each command is a report, a file, or the window.

use std::process::ExitCode;

use clap::Parser;

use crate::cli_args::CommandLine;
use crate::cli_plan::{load, make_plan};
use crate::cli_print::{print, print_failure};
use crate::cli_request::{ExportKind, Job, Request, UsageError};
use crate::cli_window::{Opened, draw_picture, open_window, recorded_run, window_picture};
use crate::{
    cli_bench, cli_check, cli_compare, cli_devices, cli_diff, cli_explain, cli_export, cli_find, cli_inspect, cli_json, cli_keep, cli_orders,
    cli_report, cli_run, cli_run_report, cli_sweep,
};

/// Wrong usage, as opposed to a run that failed.
const USAGE: u8 = 2;

/// How a run that came to its end turned out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The plan is invalid or does not fit; the report has been printed.
    Unusable,
    /// A run on a device, or its child process, ended with an exit code of its own.
    Code(u8),
}

impl From<bool> for Outcome {
    fn from(is_usable: bool) -> Self {
        if is_usable { Self::Done } else { Self::Unusable }
    }
}

/// The whole program: arguments in, report or window out, exit code back.
pub(crate) fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(message) => {
            // Help and version go to standard output and are no failure; a closed pipe is none either.
            let _ = message.print();
            return if message.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let request = match Request::try_from(line) {
        Ok(request) => request,
        Err(UsageError(message)) => {
            print_failure(&message);
            return ExitCode::from(USAGE);
        }
    };
    match answer(request) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Unusable) => ExitCode::FAILURE,
        Ok(Outcome::Code(code)) => ExitCode::from(code),
        Err(error) => {
            print_failure(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn answer(request: Request) -> anyhow::Result<Outcome> {
    match request {
        Request::Window { file, job } => window(file.as_deref(), &job),
        Request::Plan { file, job, keep, json } => {
            let prepared = load(&file, &job.read, job.prepare)?;
            let (planned, kept) = match &keep {
                None => (make_plan(&prepared, &job)?, None),
                Some(plan) => cli_keep::make_plan(&prepared, &job, plan).map(|(planned, report)| (planned, Some(report)))?,
            };
            print(&if json {
                cli_json::plan_report(&prepared, &planned, kept.as_ref())
            } else {
                cli_report::plan_report(&prepared, &planned) + &kept.map_or_else(String::new, |report| cli_keep::text(&prepared, &report))
            })?;
            Ok(planned.is_usable().into())
        }
        Request::Compare { file, read, prepare, run, only, json } => {
            let prepared = load(&file, &read, prepare)?;
            let rows = cli_compare::compare(&prepared, &run, &only);
            print(&if json { cli_compare::json_report(&rows) } else { cli_compare::text_report(&prepared, &rows) })?;
            Ok(cli_compare::is_success(&rows).into())
        }
        Request::Bench { files, read, prepare, run, only, json } => {
            let rows = cli_bench::bench(&files, &read, prepare, &run, &only)?;
            print(&if json { cli_bench::json_report(&rows) } else { cli_bench::text_report(&rows) })?;
            Ok(cli_bench::is_success(&rows).into())
        }
        Request::Check { file, plan, read, overrides, json } => {
            let (prepared, planned) = cli_check::check_plan(&file, &plan, &read, overrides)?;
            print(&if json { cli_check::json_report(&prepared, &planned) } else { cli_check::text_report(&prepared, &planned) })?;
            Ok(planned.is_usable().into())
        }
        Request::Inspect { file, find: Some(query), read, prepare, fits: _, json } => {
            let prepared = load(&file, &read, prepare)?;
            let found = cli_find::find(&prepared, &query);
            anyhow::ensure!(!found.is_empty(), "{}: no tensor has the position or the name `{query}`", file.display());
            print(&if json { cli_json::object(&found) } else { cli_find::text_report(&found) }).map(|()| Outcome::Done)
        }
        Request::Inspect { file, find: None, read, prepare, fits, json } => {
            let prepared = load(&file, &read, prepare)?;
            let inspection = cli_inspect::inspect(&prepared, fits);
            print(&if json { cli_inspect::json_report(&inspection) } else { cli_inspect::text_report(&prepared, &inspection) })?;
            Ok(Outcome::Done)
        }
        Request::Orders { file, read, prepare, time_limit, json } => {
            let orders = cli_orders::compare(&file, &read, prepare, time_limit)?;
            print(&if json { cli_orders::json_report(&orders) } else { cli_orders::text_report(&orders) }).map(|()| Outcome::Done)
        }
        Request::Explain { file, tensor, plan, json } => {
            let explained = cli_explain::explain(&file, tensor.as_deref(), plan)?;
            print(&if json { cli_explain::json_report(&explained) } else { cli_explain::text_report(&explained) }).map(|()| Outcome::Done)
        }
        Request::Diff { old, new, json } => {
            let (old, new) = (cli_check::read_plan(&old)?, cli_check::read_plan(&new)?);
            print(&if json { cli_diff::json_report(&old, &new) } else { cli_diff::text_report(&old, &new) }).map(|()| Outcome::Done)
        }
        Request::Render { file, job, picture } => print(&draw_picture(&file, &job, &picture)?).map(|()| Outcome::Done),
        Request::Export { file, job, kind, output } => {
            let prepared = load(&file, &job.read, job.prepare)?;
            let ExportKind::Plan(kind) = kind else {
                return print(&cli_export::export_dot(&prepared, &output)?).map(|()| Outcome::Done);
            };
            let planned = make_plan(&prepared, &job)?;
            print(&cli_export::export_plan(&prepared, &planned, kind, &file, &output)?)?;
            Ok(planned.is_usable().into())
        }
        Request::Sweep { file, job, range, json, output } => {
            let sweep = cli_sweep::sweep(&file, &job, &range)?;
            if let Some(output) = output {
                cli_sweep::draw(&sweep, &output)?;
            }
            print(&if json { cli_sweep::json_report(&sweep) } else { cli_sweep::text_report(&sweep) })?;
            Ok(cli_sweep::is_success(&sweep).into())
        }
        Request::Run(request) => cli_run::run(&request).map(Outcome::Code),
        Request::Devices { json, gpu_lib } => print(&cli_devices::report(json, gpu_lib.as_deref())?).map(|()| Outcome::Done),
        Request::RunGpu => Ok(Outcome::Code(cli_run::child())),
        Request::GpuInfo { gpu_lib } => Ok(Outcome::Code(cli_devices::child(gpu_lib.as_deref()))),
        Request::Generate { kind, n, seed, output } => print(&cli_export::export_generated(kind, n, seed, &output)?).map(|()| Outcome::Done),
    }
}

/// The window, or, where there is no display, what it would show: the summary, and a picture of it.
fn window(file: Option<&std::path::Path>, job: &Job) -> anyhow::Result<Outcome> {
    let Opened::NoDisplay(why) = open_window(file, job)? else { return Ok(Outcome::Done) };
    let Some(file) = file else {
        anyhow::bail!("there is no display to open a window on: {why}: name a file to plan it without one, or see --help");
    };
    if let Some(record) = recorded_run(file)? {
        print(&format!("there is no display to open a window on ({why}); here are the run and a picture of the window\n\n"))?;
        print(&cli_run_report::text_report(&record, None))?;
        let picture = draw_picture(file, job, &window_picture(file))?;
        return print(&format!("\n{picture}")).map(|()| Outcome::Done);
    }
    let prepared = load(file, &job.read, job.prepare)?;
    let planned = make_plan(&prepared, job)?;
    print(&format!("there is no display to open a window on ({why}); here are the plan and a picture of the window\n\n"))?;
    print(&cli_report::plan_report(&prepared, &planned))?;
    let picture = draw_picture(file, job, &window_picture(file))?;
    print(&format!("\n{picture}"))?;
    Ok(planned.is_usable().into())
}
