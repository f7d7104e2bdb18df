//! Which devices work: each is opened, and the kernels are compiled on it.

use std::path::Path;

use cudarc::driver::result;

use super::context::{Context, code_of};
use super::library;
use crate::device::DeviceError;
use crate::probe::{ProbeOutcome, ProbeReport, outcome_of_code};

/// Opens the driver and every device, and says which work; the first failure speaks if none does.
#[must_use]
pub fn probe(gpu_lib: Option<&Path>) -> ProbeReport {
    let count = match library::open(gpu_lib).and_then(|()| count()) {
        Ok(count) => count,
        Err(report) => return report,
    };
    let mut ready = Vec::new();
    let mut failure = None;
    for index in 0..count {
        match Context::open(index) {
            Ok(context) => ready.push(context.description.clone()),
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    match failure {
        Some(error) if ready.is_empty() => report_of(&error),
        _ => ProbeReport::ready(ready),
    }
}

/// How many devices there are, at least one.
pub(super) fn count() -> Result<u32, ProbeReport> {
    let of_error = |error: result::DriverError| ProbeReport::failure(outcome_of_code(code_of(error)), &super::context::words_of(error));
    result::init().map_err(of_error)?;
    let count = result::device::get_count().map_err(of_error)?;
    u32::try_from(count).ok().filter(|&count| count > 0).ok_or_else(|| ProbeReport::failure(ProbeOutcome::NoDevice, ""))
}

/// A failure to open a device in the words of the probe.
pub(super) fn report_of(error: &DeviceError) -> ProbeReport {
    match error {
        DeviceError::Failed { code, message, .. } => ProbeReport::failure(outcome_of_code(*code), message),
        DeviceError::OutOfMemory { .. } => ProbeReport::failure(ProbeOutcome::OutOfMemory, ""),
        other => ProbeReport::failure(ProbeOutcome::Failed, &other.to_string()),
    }
}
