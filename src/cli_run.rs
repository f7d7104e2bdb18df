//! Runs a plan on a device in a child process and reports what came of it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use arenascope_formats::atomic::write_atomically;
use arenascope_gpu::parent::{ChildCommand, Patience, probe_in_child, run_in_child};
use arenascope_gpu::program::Program;
use arenascope_gpu::protocol::{DeviceChoice, Outcome, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_planner::check::CheckedPlan;
use arenascope_planner::prepare::Prepared;

use crate::cli_check::{capacity_verdict, check_plan};
use crate::cli_plan::{Planned, load, make_plan};
use crate::cli_print::{counted, print, print_failure};
use crate::cli_run_report::text_report;
use crate::cli_run_request::{DeviceWish, RunRequest, Scale};

/// Plans, runs, prints, saves; gives the exit code.
pub(crate) fn run(request: &RunRequest) -> anyhow::Result<u8> {
    let (prepared, planned) = plan(request)?;
    if !planned.summary.fits_capacity {
        print_failure(&format!("the plan was not run: {}", capacity_verdict(&planned).trim_end().replace('\n', "; ")));
        return Ok(Outcome::DoesNotFit.exit_code());
    }
    let program = program(request, &prepared, planned)?;
    let command = ChildCommand::own().context("the program's own file cannot be found")?;
    let options = RunOptions { device: device(request, &command), ..request.options.clone() };
    let record = run_program(request, &command, &program, &options)?;
    if let Some(output) = &request.output {
        write_atomically(output, record.to_json().as_bytes())?;
    }
    print(&if request.json { record.to_json() } else { text_report(&record, request.output.as_deref()) })?;
    if let Some(error) = &record.error {
        let remedy = if error.remedy.is_empty() { String::new() } else { format!("; {}", error.remedy) };
        print_failure(&format!("{}{remedy}", error.message));
    }
    Ok(record.outcome.exit_code())
}

/// The child process behind it.
pub(crate) fn child() -> u8 {
    arenascope_gpu::child::run_gpu()
}

/// The plan, made or read.
fn plan(request: &RunRequest) -> anyhow::Result<(Prepared, Planned)> {
    if let Some(plan) = &request.plan_file {
        return check_plan(&request.file, plan, &request.job.read, request.overrides);
    }
    let prepared = load(&request.file, &request.job.read, request.job.prepare)?;
    let planned = make_plan(&prepared, &request.job)?;
    Ok((prepared, planned))
}

/// The plan as a program: checked, scaled, and broken if that is wanted.
fn program(request: &RunRequest, prepared: &Prepared, planned: Planned) -> anyhow::Result<Program> {
    let checked = CheckedPlan::new(Arc::clone(&prepared.problem), Arc::new(planned.plan)).map_err(|report| {
        let first = report.violations.first().map_or_else(String::new, |fault| format!(": {fault}"));
        anyhow::anyhow!("the plan is invalid and was not run{first}; {} in all", counted(report.n_violations, "fault"))
    })?;
    let program = Program::new(&prepared.workload.file, &checked, prepared.context.as_deref())?;
    let times = match request.scale {
        Scale::Auto => program.suggested_scale(),
        Scale::Times(times) => times,
    };
    let program = program.equipped(&checked, prepared.context.as_deref(), &request.options)?.scaled(times)?;
    Ok(match request.plant {
        Some(kind) => program.planted(kind)?.program,
        None => program,
    })
}

/// The device that is wanted; a GPU if there is one and nothing else was said.
fn device(request: &RunRequest, command: &ChildCommand) -> DeviceChoice {
    match request.device {
        DeviceWish::This(device) => device,
        DeviceWish::Auto => {
            let report = probe_in_child(command, request.options.gpu_lib.as_deref().map(std::path::Path::new));
            report.devices.first().map_or(DeviceChoice::Cpu, |device| DeviceChoice::Gpu(device.index))
        }
    }
}

/// Ctrl+C, and the time that was given, ask the child to stop.
fn run_program(request: &RunRequest, command: &ChildCommand, program: &Program, options: &RunOptions) -> anyhow::Result<RunRecord> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("Ctrl+C cannot be watched")?;
    let first_event: RefCell<Option<Instant>> = RefCell::new(None);
    let is_over = || {
        let began = *first_event.borrow();
        request.stop_after.is_some_and(|limit| began.is_some_and(|began| began.elapsed() >= limit))
    };
    let is_cancelled = || interrupted.load(Ordering::Relaxed) || is_over();
    let mut on_event = |_: &_| _ = first_event.borrow_mut().get_or_insert_with(Instant::now);
    Ok(run_in_child(command, program, options, Patience { silence: request.watchdog }, &is_cancelled, &mut on_event))
}
