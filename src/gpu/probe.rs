//! Which GPUs can run a plan, or why none can: every outcome has its own sentence and remedy.

use serde::{Deserialize, Serialize};

use crate::device::{DeviceDescription, DeviceError};

/// What the probe came upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// At least one device works.
    Ready,
    /// No driver library.
    NoDriver,
    /// A library that lacks functions.
    Incomplete,
    /// A driver from before CUDA 11.4.
    TooOld,
    /// A toolkit's stub in place of the driver.
    Stub,
    /// A driver without a device.
    NoDevice,
    /// The driver's compiler library is missing.
    NoCompiler,
    /// The driver's compiler is switched off.
    CompilerDisabled,
    /// The kernels are too new for the driver's compiler.
    KernelsTooNew,
    /// Driver library and kernel module differ.
    Mismatch,
    /// The device is in use or not ready.
    Busy,
    /// Not enough memory for a context.
    OutOfMemory,
    /// Any other error.
    Failed,
    /// The probe did not answer in time, or died.
    NoAnswer,
}

/// What the probe says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProbeReport {
    /// In one word.
    pub outcome: ProbeOutcome,
    /// In a sentence.
    pub message: String,
    /// What would help; empty if all is well.
    pub remedy: String,
    /// The devices that work.
    pub devices: Vec<DeviceDescription>,
}

impl ProbeReport {
    /// An outcome without devices, in its own words; `detail` is the driver's.
    #[must_use]
    pub fn failure(outcome: ProbeOutcome, detail: &str) -> Self {
        let (message, remedy) = words(outcome);
        let message = if detail.is_empty() { message.to_owned() } else { format!("{message} ({detail})") };
        Self { outcome, message, remedy: remedy.to_owned(), devices: Vec::new() }
    }

    /// The devices that work.
    #[must_use]
    pub fn ready(devices: Vec<DeviceDescription>) -> Self {
        let plural = if devices.len() == 1 { "GPU is" } else { "GPUs are" };
        let message = format!("{} {plural} ready", devices.len());
        Self { outcome: ProbeOutcome::Ready, message, remedy: String::new(), devices }
    }

    /// The same as an error of a run that wanted a device.
    #[must_use]
    pub fn into_error(self) -> DeviceError {
        DeviceError::Unusable { message: self.message, remedy: self.remedy }
    }
}

/// Codes of the driver that mean that a device cannot be used at all.
#[must_use]
pub fn outcome_of_code(code: i32) -> ProbeOutcome {
    match code {
        2 => ProbeOutcome::OutOfMemory,
        3 | 34 => ProbeOutcome::Stub,
        46 | 802 => ProbeOutcome::Busy,
        100 | 101 => ProbeOutcome::NoDevice,
        221 => ProbeOutcome::NoCompiler,
        222 => ProbeOutcome::KernelsTooNew,
        223 => ProbeOutcome::CompilerDisabled,
        803 | 804 => ProbeOutcome::Mismatch,
        _ => ProbeOutcome::Failed,
    }
}

fn words(outcome: ProbeOutcome) -> (&'static str, &'static str) {
    match outcome {
        ProbeOutcome::Ready => ("a GPU is ready", ""),
        ProbeOutcome::NoDriver => {
            ("no NVIDIA driver was found", "install NVIDIA's driver 470 or newer (no toolkit is needed), or run the plan with --device cpu")
        }
        ProbeOutcome::Incomplete => ("the NVIDIA driver lacks functions that a run needs", "update the driver to 470 or newer"),
        ProbeOutcome::TooOld => ("the NVIDIA driver is too old", "update the driver to 470 or newer, which speaks CUDA 11.4"),
        ProbeOutcome::Stub => (
            "a toolkit's stub library was found in place of the driver",
            "remove the toolkit's `stubs` folder from the library path, or install the driver",
        ),
        ProbeOutcome::NoDevice => (
            "the NVIDIA driver is installed, but there is no GPU that it can use",
            "check that a GPU is plugged in and visible: CUDA_VISIBLE_DEVICES must not hide it, and a container must be started with access to it",
        ),
        ProbeOutcome::NoCompiler => (
            "the driver's compiler library is missing, so that kernels cannot be made",
            "install the driver's PTX JIT compiler library; a container needs the `compute` capability",
        ),
        ProbeOutcome::CompilerDisabled => ("the driver's compiler is switched off", "unset CUDA_DISABLE_PTX_JIT"),
        ProbeOutcome::KernelsTooNew => ("the driver's compiler is too old for the kernels", "update the driver to 470 or newer"),
        ProbeOutcome::Mismatch => ("the driver's library and its kernel module have different versions", "restart the machine after a driver update"),
        ProbeOutcome::Busy => ("the GPU is in use by another program or not ready yet", "wait, or set the GPU to shared compute mode"),
        ProbeOutcome::OutOfMemory => {
            ("the GPU has no memory left for a context, which takes a few hundred MiB", "close other programs that use the GPU")
        }
        ProbeOutcome::Failed => ("the NVIDIA driver failed", "the driver's own tools may say more; restarting the machine often helps"),
        ProbeOutcome::NoAnswer => ("the NVIDIA driver did not answer", "restart the machine, or run the plan with --device cpu"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_sentence_and_a_remedy_of_its_own() {
        let codes = [2, 3, 46, 100, 221, 222, 223, 803, 999];
        let outcomes = codes.map(outcome_of_code).into_iter().chain([
            ProbeOutcome::NoDriver,
            ProbeOutcome::Incomplete,
            ProbeOutcome::TooOld,
            ProbeOutcome::NoAnswer,
        ]);
        let mut sentences: Vec<String> = outcomes
            .map(|outcome| ProbeReport::failure(outcome, ""))
            .map(|report| {
                assert!(!report.remedy.is_empty(), "{report:?}");
                report.message
            })
            .collect();
        let n = sentences.len();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), n);
    }
}
