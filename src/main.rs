//! Arenascope: see where every tensor of a model lives, and why.
//!
//! Arguments become a headless report or the window; the exit code says how it went.

mod cli;
mod cli_args;
mod cli_bench;
mod cli_check;
mod cli_compare;
mod cli_devices;
mod cli_diff;
mod cli_explain;
mod cli_export;
mod cli_find;
mod cli_inspect;
mod cli_inspect_trace;
mod cli_json;
mod cli_keep;
mod cli_measure;
mod cli_orders;
mod cli_plan;
mod cli_print;
mod cli_report;
mod cli_request;
mod cli_run;
mod cli_run_report;
mod cli_run_request;
mod cli_sweep;
mod cli_window;

fn main() -> std::process::ExitCode {
    cli::run()
}
