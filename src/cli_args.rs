//! The command line as typed: what each command takes, before any of it is understood.
//!
//! [`crate::cli_request`] turns this into requests; nothing else reads these types.

use std::path::PathBuf;

use arenascope_planner::order::Order;
use arenascope_planner::solve::{AUTO, strategies};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// See where every tensor of a model lives, and why.
///
/// Opens the window. Without a display it prints the plan and draws the window to NAME.window.png in the working
/// directory.
#[derive(Parser, Debug)]
#[command(name = "arenascope", version, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done; 1 the run failed, the plan is invalid or does not fit; 2 wrong usage.
`run` adds 3 a tensor was clobbered, 4 does not fit, 5 no usable device, 6 device error, 7 cancelled.")]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The model or planning problem to open; several files if they belong together, as the two texts of an XLA dump do.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Plan a file and print a summary.
    Plan {
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        plan: PlanArgs,
        /// Keep the places of a plan, as written by `export -o PLAN.json`, where buffers did not change; say what moved.
        #[arg(long, value_name = "PLAN", conflicts_with = "strategy")]
        keep: Option<PathBuf>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Run all strategies on a file and print them as one table.
    Compare {
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        problem: ProblemArgs,
        #[command(flatten)]
        solve: SolveArgs,
        /// Compare only these strategies (repeatable).
        #[arg(long, value_name = "NAME", value_parser = strategy_names())]
        strategy: Vec<String>,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Measure strategies on many files: true bound, arena, gap, processor time, memory.
    Bench {
        /// The files to plan, without rounding unless --align is given; generated problems if there are none.
        files: Vec<PathBuf>,
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        problem: ProblemArgs,
        #[command(flatten)]
        solve: SolveArgs,
        /// Measure these strategies (repeatable) [default: auto].
        #[arg(long, value_name = "NAME", value_parser = strategy_names())]
        strategy: Vec<String>,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Check a plan against the file it was made for: exit 0 if it is valid, else 1 with every fault listed.
    Check {
        /// The file that was planned.
        file: PathBuf,
        /// The plan, as written by `export -o PLAN.json`.
        plan: PathBuf,
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        problem: ProblemArgs,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Say what is in a file: ops by type, tensors by role and dtype, bytes, open dimensions, warnings; of a memory
    /// trace its peaks, fragmentation, failures, and what one arena would need.
    Inspect {
        #[command(flatten)]
        files: FileArgs,
        /// Of a memory trace: say whether so many bytes, such as 2GiB, would fit at the peak and at the end.
        #[arg(long, value_name = "BYTES")]
        fits: Option<String>,
        /// Show only these tensors: a position, such as 128, or a part of the name.
        #[arg(long, value_name = "INDEX|NAME")]
        find: Option<String>,
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        problem: ProblemArgs,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Compare the peaks of all orders in which the ops could run.
    Orders {
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        problem: ProblemArgs,
        /// The seed of the search for a low peak [default: 0].
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Stop the searches after so many seconds in all and keep the best orders.
        #[arg(long, value_name = "SECONDS")]
        time_limit: Option<f64>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Say why a buffer is where it is, what the peak is made of, and what would lower it.
    Explain {
        #[command(flatten)]
        files: FileArgs,
        /// What to explain: a tensor's name, #N for a buffer, or @BYTE for a byte of the arena; without it, the peak.
        #[arg(long, value_name = "NAME|#N|@BYTE")]
        tensor: Option<String>,
        /// Explain this plan, as written by `export -o PLAN.json`, instead of making one.
        #[arg(long = "plan", value_name = "PLAN", conflicts_with = "strategy")]
        plan_file: Option<PathBuf>,
        #[command(flatten)]
        plan: PlanArgs,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Compare two plans: what moved, grew, appeared, vanished.
    Diff {
        /// The plan to start from, as written by `export -o PLAN.json`.
        old: PathBuf,
        /// The plan to compare with it.
        new: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Draw a view to a picture, without a display.
    Render {
        #[command(flatten)]
        files: FileArgs,
        /// The picture to write (.png or .svg).
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
        /// What to draw.
        #[arg(long, value_parser = VIEWS, default_value = "window")]
        view: String,
        /// Width and height in pixels.
        #[arg(long, value_name = "WxH", default_value = "1440x900")]
        size: String,
        /// The colours to draw it in.
        #[arg(long, value_parser = THEMES, default_value = "dark")]
        theme: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Write the plan as .json, .csv, .dsa.json, C header (.h) or into a copy of the model (.tflite), or the graph as .dot.
    Export {
        #[command(flatten)]
        files: FileArgs,
        /// The file to write; its extension says what.
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Plan a file for each value of a dimension and print how its memory grows.
    Sweep {
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        plan: PlanArgs,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Draw the figures as a chart as well (.svg).
        #[arg(short, long, value_name = "OUT")]
        output: Option<PathBuf>,
    },
    /// Execute the plan on a device, check every read, and print measured memory against planned.
    Run(Box<RunArgs>),
    /// Say which devices can run a plan, or why none can.
    Devices {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// A driver library to use in place of the installed one.
        #[arg(long, value_name = "PATH", hide = true)]
        gpu_lib: Option<PathBuf>,
    },
    /// The child process of a run: reads a request, opens the device, writes events.
    #[command(hide = true)]
    RunGpu,
    /// The child process of `devices`.
    #[command(hide = true)]
    GpuInfo {
        /// A driver library to use in place of the installed one.
        #[arg(long, value_name = "PATH")]
        gpu_lib: Option<PathBuf>,
    },
    /// Write a synthetic planning problem as CSV.
    Generate {
        /// What the lifetimes look like.
        kind: KindArg,
        /// How many buffers.
        n: usize,
        /// The same seed gives the same problem.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// The CSV file to write.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// What a command works on.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// The model, problem or trace; several files if they belong together, as the two texts of an XLA dump do, or a folder.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Everything that decides one plan.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The algorithm that makes the plan [default: auto].
    #[arg(long, value_name = "NAME", value_parser = strategy_names())]
    pub(crate) strategy: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// What `run` takes.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Run this plan, as written by `export -o PLAN.json`, in place of making one.
    #[arg(long = "plan", value_name = "PLAN")]
    pub(crate) plan_file: Option<PathBuf>,
    /// Where to run: `cpu`, `gpu`, `gpu:1`; `auto` is the first GPU that works, else the CPU.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: String,
    /// Ways of getting memory to compare, separated by commas [default: all]: all-live, per-tensor, pool, caching, arena, arena-graph.
    #[arg(long, value_name = "LIST")]
    pub(crate) regimes: Option<String>,
    /// Iterations that are checked, at least 1.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) checks: u32,
    /// Iterations that are timed per regime; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) iterations: u32,
    /// The most memory that a regime may take, such as 8GiB [default: half of what is free].
    #[arg(long, value_name = "BYTES")]
    pub(crate) budget: Option<String>,
    /// Multiply all sizes and offsets; `auto` makes the arena at least 256 MiB.
    #[arg(long, value_name = "K", default_value = "1")]
    pub(crate) scale: String,
    /// What is done with the tensors: `integrity` writes and checks patterns, `compute` runs the ops.
    #[arg(long, value_name = "MODE", default_value = "integrity")]
    pub(crate) mode: String,
    /// Spread the ops over so many streams, 1 to 8.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) streams: u32,
    /// What makes a stream wait for another: the `graph` alone, or also the order that the `plan` adds to it.
    #[arg(long, value_name = "RULE", default_value = "plan")]
    pub(crate) waits: String,
    /// Look at the arena's own bytes after every step.
    #[arg(long)]
    pub(crate) footprint: bool,
    /// Break the plan on purpose: overlap, too-small, early-free, in-place or view.
    #[arg(long, value_name = "BUG")]
    pub(crate) plant: Option<String>,
    /// Cancel the run after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) stop_after: Option<f64>,
    /// End the run if the device says nothing for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) watchdog: f64,
    /// Save the recorded run (.json).
    #[arg(short, long, value_name = "RUN.json")]
    pub(crate) output: Option<PathBuf>,
    /// Print the recorded run as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// A driver library to use in place of the installed one.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) gpu_lib: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

/// What a reader needs to know beside the file.
#[derive(Args, Debug)]
pub(crate) struct ReadArgs {
    /// The number for an open dimension (repeatable); NAME is the dimension, `input:axis`, a scalar graph input, or `*` for
    /// all others. In `sweep` one of them is a range, such as batch=1..64 or seq=128..4096:128.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) dim: Vec<String>,
    /// The device of a memory trace, as the file numbers them (-1 is the host) [default: the one with most events].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) trace_device: Option<i64>,
    /// The size of a tensor whose size the file does not tell, such as mask=4KiB (repeatable).
    #[arg(long, value_name = "NAME=BYTES")]
    pub(crate) bytes: Vec<String>,
}

/// What decides the planning problem.
#[derive(Args, Debug)]
pub(crate) struct ProblemArgs {
    /// What every offset and size is rounded to, such as 64 or 64KiB [default: 64].
    #[arg(long, value_name = "BYTES")]
    pub(crate) align: Option<String>,
    /// The largest arena wanted, such as 8GiB; a plan that does not fit ends with exit code 1 (in `run`, which does not run it, 4).
    #[arg(long, value_name = "BYTES")]
    pub(crate) capacity: Option<String>,
    /// Whether an op may write over an input that nobody reads afterwards [default: on].
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    pub(crate) in_place: Option<SwitchArg>,
    /// Whether graph inputs and outputs are the caller's memory or part of the arena [default: static].
    #[arg(long, value_enum, value_name = "static|arena", hide_possible_values = true)]
    pub(crate) io: Option<IoArg>,
    /// Whether the arena of the graphs inside an op (If, Loop, Scan) counts as a workspace of that op [default: on].
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    pub(crate) subgraphs: Option<SwitchArg>,
    /// The order in which the ops run [default: file].
    #[arg(long, value_name = "NAME", value_parser = order_names())]
    pub(crate) order: Option<String>,
    /// Which ops must be able to run side by side: off, ancestors, or paths=K for the K longest paths [default: off].
    #[arg(long, value_name = "off|paths=K|ancestors")]
    pub(crate) parallel: Option<String>,
}

/// What decides how a strategy works.
#[derive(Args, Debug)]
pub(crate) struct SolveArgs {
    /// Whether `refcount` may resize a slot or takes only slots of the same size [default: any].
    #[arg(long, value_enum, value_name = "any|equal", hide_possible_values = true)]
    pub(crate) share: Option<ShareArg>,
    /// Stop a strategy after so many seconds and keep its best plan; `auto`, `exact` and `peak-repair` search until then.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time_limit: Option<f64>,
    /// The seed of strategies that use chance [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How many threads a strategy may use [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SwitchArg {
    On,
    Off,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IoArg {
    Static,
    Arena,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShareArg {
    Any,
    Equal,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KindArg {
    /// Short lifetimes with a few long ones, as in inference.
    Ml,
    /// Activations that live until the backward pass.
    Train,
    /// Uniform lifetimes and sizes: dense.
    Uni,
}

/// The views that can be drawn: the whole window, or one of its panes by its title.
const VIEWS: [&str; 9] = ["window", "lifetimes", "arena", "memory", "interference", "inspector", "table", "strategies", "run"];

/// The themes that there are.
const THEMES: [&str; 3] = ["light", "dark", "projector"];

fn order_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Order::ALL.map(|order| PossibleValue::new(order.name()).help(order.summary())))
}

/// Every strategy with its sentence, so that help and suggestions follow the planner's table.
fn strategy_names() -> PossibleValuesParser {
    let auto = PossibleValue::new(AUTO).help("The best checked plan of those that suit the size");
    PossibleValuesParser::new(
        std::iter::once(auto).chain(strategies().iter().map(|strategy| PossibleValue::new(strategy.name).help(strategy.summary))),
    )
}
