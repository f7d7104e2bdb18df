//! The child process of a run, alone: `run-gpu` and `gpu-info` as the program has them.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let gpu_lib = arguments.iter().position(|argument| argument == "--gpu-lib").and_then(|at| arguments.get(at + 1)).map(PathBuf::from);
    ExitCode::from(match arguments.first().map(String::as_str) {
        Some("run-gpu") => arenascope_gpu::child::run_gpu(),
        Some("gpu-info") => arenascope_gpu::child::gpu_info(gpu_lib.as_deref()),
        _ => 2,
    })
}
