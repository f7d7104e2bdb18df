//! Which devices can run a plan, or why none can.

use std::path::Path;

use anyhow::Context;
use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::device::{Device, DeviceDescription, DeviceKind};
use arenascope_gpu::parent::{ChildCommand, probe_in_child};
use arenascope_gpu::probe::ProbeReport;
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_print::{Set, binary_bytes, paragraph, table};

/// What `devices --json` prints.
#[derive(Serialize)]
struct DevicesJson {
    schema: u32,
    cpu: DeviceDescription,
    gpu: ProbeReport,
}

/// Asks a child process for GPUs and prints what it says, beside the CPU, which always works.
pub(crate) fn report(json: bool, gpu_lib: Option<&Path>) -> anyhow::Result<String> {
    let gpu = probe_in_child(&ChildCommand::own().context("the program's own file cannot be found")?, gpu_lib);
    let cpu = CpuDevice::new().description().clone();
    if json {
        return Ok(object(&DevicesJson { schema: 1, cpu, gpu }));
    }
    let mut rows = vec![row("cpu".to_owned(), &cpu)];
    rows.extend(gpu.devices.iter().map(|device| row(format!("gpu:{}", device.index), device)));
    let mut text = table(0, &[Set::Left, Set::Left, Set::Right, Set::Right, Set::Left], &rows);
    if gpu.devices.is_empty() {
        text.push_str(&format!("gpu  {}\n", gpu.message));
        text.push_str(&paragraph(5, 100, &gpu.remedy));
    }
    Ok(text)
}

/// The child process behind it.
pub(crate) fn child(gpu_lib: Option<&Path>) -> u8 {
    arenascope_gpu::child::gpu_info(gpu_lib)
}

fn row(name: String, device: &DeviceDescription) -> Vec<String> {
    let facts = match device.kind {
        DeviceKind::Cpu => String::new(),
        DeviceKind::Gpu => format!("compute capability {}, driver for CUDA {}", device.compute_capability, device.driver),
        DeviceKind::Simulated => "simulated: not a GPU".to_owned(),
    };
    let pools = if device.kind == DeviceKind::Gpu && !device.has_pools { ", no memory pools" } else { "" };
    vec![name, device.name.clone(), binary_bytes(device.total_bytes), format!("{} free", binary_bytes(device.free_bytes)), format!("{facts}{pools}")]
}
