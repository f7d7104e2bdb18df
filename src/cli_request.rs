//! What the command line asks for, understood: typed values, defaults filled in, contradictions refused.

use std::path::PathBuf;
use std::time::Duration;

use arenascope_formats::ReadOptions;
use arenascope_planner::alias::Io;
use arenascope_planner::generate::Kind;
use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::prepare::PrepareSettings;
use arenascope_planner::solve::{AUTO, Share, SolveOptions};
use arenascope_planner::units::{Align, parse_bytes};

use crate::cli_args::{Command, CommandLine, FileArgs, IoArg, KindArg, PlanArgs, ProblemArgs, ReadArgs, ShareArg, SolveArgs, SwitchArg};
use crate::cli_run_request::{RunRequest, run_request};
use crate::cli_sweep::Range;

/// The most buffers that `generate` makes: they take a few gigabytes while they are made.
const MAX_GENERATED: usize = 10_000_000;

/// A command line that is well formed but makes no sense; exit code 2.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError(pub(crate) String);

/// How to make one plan.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) read: ReadOptions,
    pub(crate) prepare: PrepareSettings,
    pub(crate) strategy: String,
    pub(crate) run: RunLimits,
}

/// How a strategy works, and for how long at most.
#[derive(Clone, Debug)]
pub(crate) struct RunLimits {
    pub(crate) solve: SolveOptions,
    pub(crate) time_limit: Option<Duration>,
}

/// Settings of the problem that a command line gives explicitly; a plan file brings its own for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProblemOverrides {
    pub(crate) align: Option<Align>,
    pub(crate) capacity_bytes: Option<u64>,
    pub(crate) in_place: Option<bool>,
    pub(crate) io: Option<Io>,
    pub(crate) subgraphs: Option<bool>,
    pub(crate) order: Option<Order>,
    pub(crate) parallel: Option<Parallel>,
}

impl ProblemOverrides {
    /// `base` with everything that was given explicitly.
    pub(crate) fn over(self, base: PrepareSettings) -> PrepareSettings {
        let mut settings = base;
        settings.align = self.align.unwrap_or(base.align);
        settings.alias.in_place = self.in_place.unwrap_or(base.alias.in_place);
        settings.alias.io = self.io.unwrap_or(base.alias.io);
        settings.subgraphs = self.subgraphs.unwrap_or(base.subgraphs);
        settings.capacity_bytes = self.capacity_bytes.or(base.capacity_bytes);
        settings.order = self.order.unwrap_or(base.order);
        settings.parallel = self.parallel.unwrap_or(base.parallel);
        settings
    }
}

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportKind {
    Plan(PlanKind),
    Dot,
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanKind {
    Json,
    Csv,
    Dsa,
    Header,
    Tflite,
}

/// A picture to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) view: String,
    pub(crate) size: (u32, u32),
    pub(crate) theme: String,
    pub(crate) output: PathBuf,
}

/// Where the plan to explain comes from.
#[derive(Debug)]
pub(crate) enum PlanToExplain {
    Made(Job),
    File { plan: PathBuf, read: ReadOptions, overrides: ProblemOverrides },
}

/// One thing to do.
#[derive(Debug)]
pub(crate) enum Request {
    Window { file: Option<PathBuf>, job: Job },
    Plan { file: PathBuf, job: Job, keep: Option<PathBuf>, json: bool },
    Compare { file: PathBuf, read: ReadOptions, prepare: PrepareSettings, run: RunLimits, only: Vec<String>, json: bool },
    Bench { files: Vec<PathBuf>, read: ReadOptions, prepare: PrepareSettings, run: RunLimits, only: Vec<String>, json: bool },
    Check { file: PathBuf, plan: PathBuf, read: ReadOptions, overrides: ProblemOverrides, json: bool },
    Inspect { file: PathBuf, find: Option<String>, read: ReadOptions, prepare: PrepareSettings, fits: Option<u64>, json: bool },
    Orders { file: PathBuf, read: ReadOptions, prepare: PrepareSettings, time_limit: Option<Duration>, json: bool },
    Explain { file: PathBuf, tensor: Option<String>, plan: PlanToExplain, json: bool },
    Diff { old: PathBuf, new: PathBuf, json: bool },
    Render { file: PathBuf, job: Job, picture: Picture },
    Export { file: PathBuf, job: Job, kind: ExportKind, output: PathBuf },
    Sweep { file: PathBuf, job: Job, range: Range, json: bool, output: Option<PathBuf> },
    Run(Box<RunRequest>),
    Devices { json: bool, gpu_lib: Option<PathBuf> },
    RunGpu,
    GpuInfo { gpu_lib: Option<PathBuf> },
    Generate { kind: Kind, n: usize, seed: u64, output: PathBuf },
}

impl TryFrom<CommandLine> for Request {
    type Error = UsageError;

    fn try_from(line: CommandLine) -> Result<Self, UsageError> {
        Ok(match line.command {
            None => {
                let mut job = job(line.plan)?;
                let mut files = line.files.into_iter();
                let file = files.next();
                job.read.beside = files.collect();
                Self::Window { file, job }
            }
            Some(Command::Plan { files, plan, keep, json }) => {
                let (file, job) = file_and_job(files, plan)?;
                Self::Plan { file, job, keep, json }
            }
            Some(Command::Compare { files, read, problem, solve, strategy, json }) => {
                let (file, read) = file_and_options(files, &read)?;
                Self::Compare { file, read, prepare: settings(&problem)?, run: limits(&solve)?, only: strategy, json }
            }
            Some(Command::Bench { files, read, problem, solve, strategy, json }) => {
                // Published bounds and heights are exact bytes.
                let exact = PrepareSettings { align: Align::ONE, ..PrepareSettings::default() };
                let prepare = overrides(&problem)?.over(exact);
                Self::Bench { files, read: read_options(&read)?, prepare, run: limits(&solve)?, only: strategy, json }
            }
            Some(Command::Check { file, plan, read, problem, json }) => {
                Self::Check { file, plan, read: read_options(&read)?, overrides: overrides(&problem)?, json }
            }
            Some(Command::Inspect { files, fits, find, read, problem, json }) => {
                let fits = fits.as_deref().map(parse_bytes).transpose().map_err(|message| UsageError(format!("--fits: {message}")))?;
                let (file, read) = file_and_options(files, &read)?;
                Self::Inspect { file, find, read, prepare: settings(&problem)?, fits, json }
            }
            Some(Command::Orders { files, read, problem, seed, time_limit: limit, json }) => {
                let mut prepare = settings(&problem)?;
                prepare.order_seed = seed.unwrap_or(prepare.order_seed);
                let (file, read) = file_and_options(files, &read)?;
                Self::Orders { file, read, prepare, time_limit: time_limit(limit)?, json }
            }
            Some(Command::Explain { files, tensor, plan_file: None, plan, json }) => {
                let (file, job) = file_and_job(files, plan)?;
                Self::Explain { file, tensor, plan: PlanToExplain::Made(job), json }
            }
            Some(Command::Explain { files, tensor, plan_file: Some(plan_file), plan, json }) => {
                let (file, read) = file_and_options(files, &plan.read)?;
                let plan = PlanToExplain::File { plan: plan_file, read, overrides: overrides(&plan.problem)? };
                Self::Explain { file, tensor, plan, json }
            }
            Some(Command::Diff { old, new, json }) => Self::Diff { old, new, json },
            Some(Command::Render { files, output, view, size, theme, plan }) => {
                let (file, job) = file_and_job(files, plan)?;
                Self::Render { file, job, picture: picture(output, view, &size, theme)? }
            }
            Some(Command::Export { files, output, plan }) => {
                let (file, job) = file_and_job(files, plan)?;
                Self::Export { file, job, kind: export_kind(&output)?, output }
            }
            Some(Command::Sweep { files, mut plan, json, output }) => {
                let range = take_range(&mut plan.read)?;
                if let Some(output) = output.as_ref().filter(|output| extension(output) != "svg") {
                    return Err(UsageError(format!("--output: `{}` does not end in .svg", output.display())));
                }
                let (file, job) = file_and_job(files, plan)?;
                Self::Sweep { file, job, range, json, output }
            }
            Some(Command::Run(args)) => Self::Run(Box::new(run_request(*args)?)),
            Some(Command::Devices { json, gpu_lib }) => Self::Devices { json, gpu_lib },
            Some(Command::RunGpu) => Self::RunGpu,
            Some(Command::GpuInfo { gpu_lib }) => Self::GpuInfo { gpu_lib },
            Some(Command::Generate { n, .. }) if n > MAX_GENERATED => {
                return Err(UsageError(format!("N: a problem of {n} buffers is more than this program makes; give {MAX_GENERATED} or less")));
            }
            Some(Command::Generate { kind, n, seed, output }) => Self::Generate { kind: generated_kind(kind), n, seed, output },
        })
    }
}

/// The first file and how to read it: the others belong to it.
fn file_and_options(args: FileArgs, read: &ReadArgs) -> Result<(PathBuf, ReadOptions), UsageError> {
    let mut files = args.files.into_iter();
    let Some(file) = files.next() else { return Err(UsageError("no file is given".to_owned())) };
    Ok((file, ReadOptions { beside: files.collect(), ..read_options(read)? }))
}

/// As [`file_and_options`], for commands that make one plan.
pub(crate) fn file_and_job(args: FileArgs, plan: PlanArgs) -> Result<(PathBuf, Job), UsageError> {
    let (file, read) = file_and_options(args, &plan.read)?;
    Ok((file, Job { read, ..job(plan)? }))
}

fn job(args: PlanArgs) -> Result<Job, UsageError> {
    let strategy = args.strategy.unwrap_or_else(|| AUTO.to_owned());
    let run = limits(&args.solve)?;
    let prepare = PrepareSettings { order_seed: run.solve.seed, ..settings(&args.problem)? };
    Ok(Job { read: read_options(&args.read)?, prepare, strategy, run })
}

fn read_options(args: &ReadArgs) -> Result<ReadOptions, UsageError> {
    Ok(ReadOptions {
        dims: args.dim.iter().map(|dim| dimension(dim)).collect::<Result<_, _>>()?,
        bytes: args.bytes.iter().map(|size| tensor_size(size)).collect::<Result<_, _>>()?,
        device: args.trace_device,
        beside: Vec::new(),
    })
}

fn tensor_size(text: &str) -> Result<(String, u64), UsageError> {
    let (name, size) = text
        .rsplit_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| UsageError(format!("--bytes: `{text}` is not NAME=BYTES; write for example --bytes mask=4KiB")))?;
    let bytes = parse_bytes(size).map_err(|message| UsageError(format!("--bytes: {message}")))?;
    Ok((name.to_owned(), bytes))
}

/// The one dimension that is a range; the others stay.
fn take_range(args: &mut ReadArgs) -> Result<Range, UsageError> {
    let is_range = |dim: &String| dim.rsplit_once('=').is_some_and(|(_, value)| value.contains(".."));
    let (ranges, others): (Vec<String>, Vec<String>) = args.dim.drain(..).partition(is_range);
    args.dim = others;
    let [range] = ranges.as_slice() else {
        return Err(UsageError(format!("--dim: {} ranges are given, but a sweep needs one, such as --dim batch=1..64", ranges.len())));
    };
    Range::parse(range).map_err(UsageError)
}

/// Names may contain `=` themselves, so the last one divides.
fn dimension(text: &str) -> Result<(String, u64), UsageError> {
    let parsed = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    parsed.ok_or_else(|| UsageError(format!("--dim: `{text}` is not NAME=VALUE with a whole number; write for example --dim batch=4")))
}

fn settings(args: &ProblemArgs) -> Result<PrepareSettings, UsageError> {
    Ok(overrides(args)?.over(PrepareSettings::default()))
}

pub(crate) fn overrides(args: &ProblemArgs) -> Result<ProblemOverrides, UsageError> {
    let positive = |option: &str, text: &Option<String>| {
        let bytes = text.as_deref().map(parse_bytes).transpose().map_err(|message| UsageError(format!("{option}: {message}")))?;
        if bytes == Some(0) { Err(UsageError(format!("{option}: must be at least 1 byte"))) } else { Ok(bytes) }
    };
    Ok(ProblemOverrides {
        align: positive("--align", &args.align)?.and_then(Align::new),
        capacity_bytes: positive("--capacity", &args.capacity)?,
        subgraphs: args.subgraphs.map(|switch| switch == SwitchArg::On),
        in_place: args.in_place.map(|switch| switch == SwitchArg::On),
        io: args.io.map(|io| match io {
            IoArg::Static => Io::Static,
            IoArg::Arena => Io::Arena,
        }),
        order: args.order.as_deref().map(str::parse).transpose().map_err(|message| UsageError(format!("--order: {message}")))?,
        parallel: args.parallel.as_deref().map(str::parse).transpose().map_err(|message| UsageError(format!("--parallel: {message}")))?,
    })
}

fn limits(args: &SolveArgs) -> Result<RunLimits, UsageError> {
    let mut solve = SolveOptions::default();
    solve.seed = args.seed.unwrap_or(solve.seed);
    solve.threads = args.threads.unwrap_or(solve.threads);
    if let Some(share) = args.share {
        solve.share = match share {
            ShareArg::Any => Share::Any,
            ShareArg::Equal => Share::Equal,
        };
    }
    if solve.threads == 0 {
        return Err(UsageError("--threads: at least one thread is needed".to_owned()));
    }
    let time_limit = time_limit(args.time_limit)?;
    if time_limit.is_some() {
        // The clock decides, not the work.
        solve.max_nodes = Some(u64::MAX);
    }
    Ok(RunLimits { solve, time_limit })
}

fn time_limit(seconds: Option<f64>) -> Result<Option<Duration>, UsageError> {
    let limit = seconds.map(|seconds| {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or_else(|| UsageError(format!("--time-limit: `{seconds:?}` is not a number of seconds above 0 and below 10^19")))
    });
    limit.transpose()
}

fn picture(output: PathBuf, view: String, size: &str, theme: String) -> Result<Picture, UsageError> {
    if !matches!(extension(&output).as_str(), "png" | "svg") {
        return Err(UsageError(format!("--output: `{}` does not end in .png or .svg", output.display())));
    }
    Ok(Picture { view, size: picture_size(size)?, theme, output })
}

/// The smallest and largest side of a picture in pixels: a view below has no room for its axes, above its bytes run
/// into gigabytes.
const PICTURE_SIDE: std::ops::RangeInclusive<u32> = 64..=16_384;

fn picture_size(text: &str) -> Result<(u32, u32), UsageError> {
    let side = |text: &str| text.trim().parse().ok().filter(|side| PICTURE_SIDE.contains(side));
    let size = text.split_once(['x', 'X', '×']).and_then(|(width, height)| Some((side(width)?, side(height)?)));
    size.ok_or_else(|| UsageError(format!("--size: `{text}` is not WxH with sides from {} to {} pixels", PICTURE_SIDE.start(), PICTURE_SIDE.end())))
}

fn export_kind(output: &std::path::Path) -> Result<ExportKind, UsageError> {
    if output.to_str().is_some_and(|name| name.to_ascii_lowercase().ends_with(".dsa.json")) {
        return Ok(ExportKind::Plan(PlanKind::Dsa));
    }
    match extension(output).as_str() {
        "json" => Ok(ExportKind::Plan(PlanKind::Json)),
        "csv" => Ok(ExportKind::Plan(PlanKind::Csv)),
        "h" => Ok(ExportKind::Plan(PlanKind::Header)),
        "tflite" => Ok(ExportKind::Plan(PlanKind::Tflite)),
        "dot" => Ok(ExportKind::Dot),
        _ => Err(UsageError(format!(
            "--output: `{}` ends in none of .json, .csv, .dsa.json, .h, .tflite, .dot, so what to write is unclear",
            output.display()
        ))),
    }
}

pub(crate) fn extension(path: &std::path::Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase()
}

fn generated_kind(kind: KindArg) -> Kind {
    match kind {
        KindArg::Ml => Kind::Ml,
        KindArg::Train => Kind::Train,
        KindArg::Uni => Kind::Uni,
    }
}

#[cfg(test)]
mod tests {
    use arenascope_planner::solve::strategies;
    use clap::Parser;

    use super::*;

    fn request(args: &str) -> Result<Request, UsageError> {
        let line = CommandLine::try_parse_from(std::iter::once("arenascope").chain(args.split_whitespace())).expect("well formed");
        Request::try_from(line)
    }

    #[test]
    fn the_argument_definitions_are_consistent() {
        <CommandLine as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_strategy_can_be_asked_for() {
        for name in std::iter::once(AUTO).chain(strategies().iter().map(|strategy| strategy.name)) {
            assert!(matches!(request(&format!("plan m --strategy {name}")), Ok(Request::Plan { job, .. }) if job.strategy == name));
        }
    }

    #[test]
    fn no_command_is_the_window() {
        assert!(matches!(request(""), Ok(Request::Window { file: None, .. })));
        assert!(matches!(request("model.onnx --align 1"), Ok(Request::Window { file: Some(_), .. })));
    }

    #[test]
    fn options_become_settings() {
        let line = "plan m.onnx --align 4KiB --capacity 8GiB --in-place off --io arena --dim batch=4 --dim x:0=7 --seed 3 --threads 2 --time-limit 1.5 --share equal";
        let Ok(Request::Plan { job, json: false, .. }) = request(line) else { panic!("not a plan") };
        assert_eq!(job.prepare.align.bytes(), 4096);
        assert_eq!(job.prepare.capacity_bytes, Some(8 << 30));
        assert!(!job.prepare.alias.in_place && job.prepare.alias.io == Io::Arena);
        assert_eq!(job.read.dims, [("batch".to_owned(), 4), ("x:0".to_owned(), 7)]);
        assert_eq!((job.run.solve.seed, job.run.solve.threads, job.run.time_limit), (3, 2, Some(Duration::from_millis(1500))));
        assert_eq!(job.strategy, "auto");
    }

    #[test]
    fn every_order_can_be_asked_for() {
        for order in Order::ALL {
            let line = format!("plan m --order {} --parallel paths=2 --seed 4", order.name());
            let Ok(Request::Plan { job, .. }) = request(&line) else { panic!("not a plan") };
            assert_eq!((job.prepare.order, job.prepare.parallel, job.prepare.order_seed), (order, Parallel::Paths(2), 4));
        }
        let explained = request("explain m --plan p.json --tensor A");
        assert!(matches!(explained, Ok(Request::Explain { plan: PlanToExplain::File { .. }, .. })));
        assert!(matches!(request("explain m"), Ok(Request::Explain { plan: PlanToExplain::Made(_), tensor: None, .. })));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_option_named() {
        for (line, option) in [
            ("plan m --align 0", "--align"),
            ("plan m --align lots", "--align"),
            ("plan m --capacity 3parsecs", "--capacity"),
            ("plan m --dim batch", "--dim"),
            ("plan m --dim =4", "--dim"),
            ("plan m --threads 0", "--threads"),
            ("plan m --time-limit 0", "--time-limit"),
            ("plan m --time-limit nan", "--time-limit"),
            ("plan m --parallel paths=0", "--parallel"),
            ("plan m --parallel some", "--parallel"),
            ("orders m --time-limit 0", "--time-limit"),
            ("render m -o m.jpg", "--output"),
            ("render m -o m.png --size 12", "--size"),
            ("render m -o m.png --size 1x1", "--size"),
            ("export m -o m.txt", "--output"),
            ("plan m --bytes mask", "--bytes"),
            ("plan m --bytes mask=lots", "--bytes"),
            ("sweep m", "--dim"),
            ("sweep m --dim batch=4", "--dim"),
            ("sweep m --dim batch=4..1", "--dim"),
            ("sweep m --dim a=1..2 --dim b=1..2", "--dim"),
            ("sweep m --dim a=1..2 -o a.png", "--output"),
        ] {
            let UsageError(message) = request(line).expect_err(line);
            assert!(message.starts_with(option), "{line}: {message}");
        }
    }
}
