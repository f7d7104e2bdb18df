//! What `run` is asked for, understood: device, regimes, scale, limits.

use std::path::PathBuf;
use std::time::Duration;

use arenascope_gpu::program::Plant;
use arenascope_gpu::protocol::{DeviceChoice, Mode, RunOptions, Waits};
use arenascope_gpu::regimes::Regime;
use arenascope_planner::units::parse_bytes;

use crate::cli_args::RunArgs;
use crate::cli_request::{Job, ProblemOverrides, UsageError, extension, file_and_job, overrides};

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceWish {
    /// The first GPU that works, else the CPU.
    Auto,
    /// This one and no other.
    This(DeviceChoice),
}

/// By how much to multiply a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// So that the arena is large enough to be seen.
    Auto,
    Times(u64),
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct RunRequest {
    pub(crate) file: PathBuf,
    /// The plan to run; one is made without it.
    pub(crate) plan_file: Option<PathBuf>,
    pub(crate) job: Job,
    pub(crate) overrides: ProblemOverrides,
    pub(crate) device: DeviceWish,
    /// Everything but the device.
    pub(crate) options: RunOptions,
    pub(crate) scale: Scale,
    pub(crate) plant: Option<Plant>,
    pub(crate) stop_after: Option<Duration>,
    pub(crate) watchdog: Duration,
    pub(crate) output: Option<PathBuf>,
    pub(crate) json: bool,
}

/// The request of a command line.
pub(crate) fn run_request(args: RunArgs) -> Result<RunRequest, UsageError> {
    if args.checks == 0 {
        return Err(UsageError("--checks: at least one iteration must be checked".to_owned()));
    }
    if let Some(output) = args.output.as_ref().filter(|output| extension(output) != "json") {
        return Err(UsageError(format!("--output: `{}` does not end in .json", output.display())));
    }
    let budget_bytes = args.budget.as_deref().map(parse_bytes).transpose().map_err(|message| UsageError(format!("--budget: {message}")))?;
    let plant = args.plant.as_deref().map(plant).transpose()?;
    let mut options = RunOptions {
        checked_iterations: args.checks,
        timed_iterations: args.iterations,
        budget_bytes,
        footprint: args.footprint,
        mode: mode(&args.mode)?,
        streams: streams(args.streams)?,
        waits: waits(&args.waits)?,
        gpu_lib: args.gpu_lib.map(|path| path.display().to_string()),
        ..RunOptions::default()
    };
    if options.mode == Mode::Compute {
        let unused = [
            ("--streams", args.streams != 1),
            ("--regimes", args.regimes.is_some()),
            ("--scale", args.scale != "1"),
            ("--footprint", args.footprint),
        ];
        if let Some((option, _)) = unused.into_iter().find(|(_, is_given)| *is_given) {
            return Err(UsageError(format!("{option}: not with --mode compute, which runs the arena once as it is")));
        }
    }
    options.regimes = match (args.regimes.as_deref(), plant) {
        (Some(list), _) => regimes(list)?,
        // A broken plan shows only where its offsets are used.
        (None, Some(_)) => vec![Regime::Arena],
        // Only these hold all of their memory throughout, so that no block changes hands between streams.
        (None, None) if options.streams > 1 => vec![Regime::AllLive, Regime::Arena, Regime::ArenaGraph],
        (None, None) => options.regimes,
    };
    let overrides = overrides(&args.plan.problem)?;
    let (file, job) = file_and_job(args.files, args.plan)?;
    Ok(RunRequest {
        file,
        plan_file: args.plan_file,
        overrides,
        job,
        device: device(&args.device)?,
        options,
        scale: scale(&args.scale)?,
        plant,
        stop_after: args.stop_after.map(|seconds| duration("--stop-after", seconds)).transpose()?,
        watchdog: duration("--watchdog", args.watchdog)?,
        output: args.output,
        json: args.json,
    })
}

fn device(text: &str) -> Result<DeviceWish, UsageError> {
    let index = |text: &str| text.parse().ok().map(|index| DeviceWish::This(DeviceChoice::Gpu(index)));
    let wish = match text {
        "auto" => Some(DeviceWish::Auto),
        "cpu" => Some(DeviceWish::This(DeviceChoice::Cpu)),
        "gpu" => Some(DeviceWish::This(DeviceChoice::Gpu(0))),
        other => other.strip_prefix("gpu:").and_then(index),
    };
    wish.ok_or_else(|| UsageError(format!("--device: `{text}` is none of auto, cpu, gpu, gpu:N")))
}

fn scale(text: &str) -> Result<Scale, UsageError> {
    if text == "auto" {
        return Ok(Scale::Auto);
    }
    let times = text.parse().ok().filter(|&times: &u64| times > 0);
    times.map(Scale::Times).ok_or_else(|| UsageError(format!("--scale: `{text}` is neither auto nor a whole number above 0")))
}

fn regimes(list: &str) -> Result<Vec<Regime>, UsageError> {
    let known = || Regime::ALL.map(Regime::name).join(", ");
    let regime = |name: &str| {
        let found = Regime::ALL.into_iter().find(|regime| regime.name() == name);
        found.ok_or_else(|| UsageError(format!("--regimes: `{name}` is none of {}", known())))
    };
    list.split(',').map(|name| regime(name.trim())).collect()
}

fn mode(name: &str) -> Result<Mode, UsageError> {
    match name {
        "integrity" => Ok(Mode::Integrity),
        "compute" => Ok(Mode::Compute),
        other => Err(UsageError(format!("--mode: `{other}` is neither integrity nor compute"))),
    }
}

fn streams(n: u32) -> Result<u32, UsageError> {
    /// More than any graph here has branches, and few enough for every device.
    const MAX_STREAMS: u32 = 8;
    if (1..=MAX_STREAMS).contains(&n) { Ok(n) } else { Err(UsageError(format!("--streams: {n} is not a number from 1 to {MAX_STREAMS}"))) }
}

fn waits(name: &str) -> Result<Waits, UsageError> {
    match name {
        "graph" => Ok(Waits::Graph),
        "plan" => Ok(Waits::Plan),
        other => Err(UsageError(format!("--waits: `{other}` is neither graph nor plan"))),
    }
}

fn plant(name: &str) -> Result<Plant, UsageError> {
    let found = Plant::ALL.into_iter().find(|plant| plant.name() == name);
    found.ok_or_else(|| UsageError(format!("--plant: `{name}` is none of {}", Plant::ALL.map(Plant::name).join(", "))))
}

fn duration(option: &str, seconds: f64) -> Result<Duration, UsageError> {
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| UsageError(format!("{option}: `{seconds}` is not a number of seconds above 0")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli_args::{Command, CommandLine};

    fn request(args: &str) -> Result<RunRequest, UsageError> {
        let line = CommandLine::try_parse_from(["arenascope", "run"].into_iter().chain(args.split_whitespace())).expect("well formed");
        let Some(Command::Run(args)) = line.command else { panic!("not a run") };
        run_request(*args)
    }

    #[test]
    fn options_become_a_request() {
        let request =
            request("m.onnx --device gpu:1 --regimes arena,all-live --scale auto --budget 2GiB --checks 5 --iterations 0 -o r.json").expect("sound");
        assert_eq!((request.device, request.scale), (DeviceWish::This(DeviceChoice::Gpu(1)), Scale::Auto));
        assert_eq!(request.options.regimes, [Regime::Arena, Regime::AllLive]);
        assert_eq!((request.options.budget_bytes, request.options.checked_iterations, request.options.timed_iterations), (Some(2 << 30), 5, 0));
    }

    #[test]
    fn a_planted_bug_runs_in_the_arena_alone() {
        assert_eq!(request("m --plant early-free").expect("sound").options.regimes, [Regime::Arena]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_option_named() {
        for (line, option) in [
            ("m --device tpu", "--device"),
            ("m --device gpu:x", "--device"),
            ("m --regimes arena,magic", "--regimes"),
            ("m --checks 0", "--checks"),
            ("m --budget lots", "--budget"),
            ("m --scale 0", "--scale"),
            ("m --plant typo", "--plant"),
            ("m --mode magic", "--mode"),
            ("m --mode compute --scale 2", "--scale"),
            ("m --streams 0", "--streams"),
            ("m --streams 9", "--streams"),
            ("m --waits never", "--waits"),
            ("m --stop-after 0", "--stop-after"),
            ("m --watchdog nan", "--watchdog"),
            ("m -o run.txt", "--output"),
        ] {
            let UsageError(message) = request(line).expect_err(line);
            assert!(message.starts_with(option), "{line}: {message}");
        }
    }
}
