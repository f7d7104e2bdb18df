//! The child process: the one place that opens a driver. It reads a request, runs it, and writes events.
//!
//! A child may panic, hang, or take the device's context down with it; the parent survives all of that.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cpu::CpuDevice;
use crate::cuda::{CudaDevice, probe};
use crate::device::{Device, DeviceError};
use crate::protocol::{CANCEL, DeviceChoice, Event, Outcome, Request, SCHEMA};
use crate::run::run;

/// Wrong usage of a hidden command.
const USAGE: u8 = 2;

/// Runs a request from standard input and writes events to standard output; gives the exit code.
#[must_use]
pub fn run_gpu() -> u8 {
    let mut line = String::new();
    let request = std::io::stdin().lock().read_line(&mut line).ok().and_then(|_| serde_json::from_str::<Request>(&line).ok());
    let Some(request) = request.filter(|request| request.schema == SCHEMA && request.program.is_consistent()) else {
        emit(&Event::Error {
            outcome: Outcome::DeviceFailed,
            message: "the request is not one that this version understands".to_owned(),
            remedy: "start runs with `arenascope run`".to_owned(),
        });
        return USAGE;
    };
    let cancel = Arc::new(AtomicBool::new(false));
    watch_input(&cancel);
    let is_cancelled = || cancel.load(Ordering::Relaxed);
    let outcome = match open(&request) {
        Ok(mut device) => run(device.as_mut(), &request.program, &request.options, &is_cancelled, &mut emit),
        Err(error) => {
            let (message, remedy) = match error {
                DeviceError::Unusable { message, remedy } => (message, remedy),
                other => (other.to_string(), String::new()),
            };
            emit(&Event::Error { outcome: Outcome::NoDevice, message, remedy });
            Outcome::NoDevice
        }
    };
    outcome.exit_code()
}

/// Writes what the probe found to standard output as one line; gives the exit code.
#[must_use]
pub fn gpu_info(gpu_lib: Option<&Path>) -> u8 {
    let report = probe(gpu_lib);
    let line = serde_json::to_string(&report).expect("strings and numbers always serialise");
    u8::from(!write_line(&line))
}

fn open(request: &Request) -> Result<Box<dyn Device>, DeviceError> {
    match request.options.device {
        DeviceChoice::Cpu => Ok(Box::new(CpuDevice::new())),
        DeviceChoice::Gpu(index) => Ok(Box::new(CudaDevice::open(index, request.options.gpu_lib.as_deref().map(Path::new))?)),
    }
}

/// A line that says so, or the end of input because the parent is gone, cancels the run.
fn watch_input(cancel: &Arc<AtomicBool>) {
    let cancel = Arc::clone(cancel);
    let watch = move || {
        let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
        let _ = lines.any(|line| line.trim() == CANCEL);
        cancel.store(true, Ordering::Relaxed);
    };
    // Without the thread the parent still can kill the process.
    let _ = std::thread::Builder::new().name("cancel".to_owned()).spawn(watch);
}

fn emit(event: &Event) -> bool {
    serde_json::to_string(event).is_ok_and(|line| write_line(&line))
}

fn write_line(line: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()).is_ok()
}
