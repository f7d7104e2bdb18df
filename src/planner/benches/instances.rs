//! What strategies reach on instances, and what that costs.
//!
//! `cargo bench -p arenascope-planner --bench instances -- [--strategy NAME]… [--seed N] [FILE.csv]…` prints a row for each
//! instance and strategy: the true bound (largest sum of sizes live at one step), the arena, the gap between the two,
//! processor seconds, and the peak memory of a process that does nothing else. Files have a header and the columns
//! `lower`, `upper` and `size`; without files the instances are generated ones. Nothing is rounded (alignment 1).
//! Without `--strategy` it is `auto`; `--strategy all` runs every strategy.

use std::process::Command;

use arenascope_planner::bounds::lower_bound;
use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::problem::Problem;
use arenascope_planner::solve::{AUTO, SolveOptions, solve, strategies};
use arenascope_planner::units::Align;

#[path = "../../cli_measure.rs"]
mod cli_measure;

/// Generated instances, as `kind:buffers:seed`.
const GENERATED: [&str; 8] = ["ml:1000:1", "ml:10000:1", "ml:100000:1", "train:1000:1", "train:10000:1", "uni:200:1", "uni:1000:1", "uni:3000:1"];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    if let Some((instance, strategy)) = &arguments.row {
        say(&row(instance, strategy, arguments.seed)?);
        return Ok(());
    }
    say(&format!("{:28} {:22} {:>16} {:>16} {:>10} {:>12} {:>10}", "instance", "strategy", "true bound", "arena", "gap", "CPU s", "peak MiB"));
    for instance in &arguments.instances {
        for strategy in &arguments.strategies {
            // A process for each row, so that none has another one's memory.
            let seed = arguments.seed.to_string();
            let child = Command::new(std::env::current_exe()?).args(["--row", instance, strategy, "--seed", &seed]).output()?;
            let text = if child.status.success() { child.stdout } else { child.stderr };
            say(String::from_utf8_lossy(&text).trim_end());
        }
    }
    Ok(())
}

/// What is asked for.
struct Arguments {
    instances: Vec<String>,
    strategies: Vec<String>,
    seed: u64,
    /// The one row that this process is to measure.
    row: Option<(String, String)>,
}

impl Arguments {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut read = Self { instances: Vec::new(), strategies: Vec::new(), seed: 0, row: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => {}
                "--seed" => read.seed = value()?.parse()?,
                "--row" => read.row = Some((value()?, value()?)),
                "--strategy" => match value()?.as_str() {
                    "all" => read.strategies.extend(strategies().iter().map(|strategy| strategy.name.to_owned())),
                    name => read.strategies.push(name.to_owned()),
                },
                _ => read.instances.push(argument),
            }
        }
        if read.instances.is_empty() {
            read.instances = GENERATED.map(str::to_owned).to_vec();
        }
        if read.strategies.is_empty() {
            read.strategies.push(AUTO.to_owned());
        }
        Ok(read)
    }
}

/// Plans one instance with one strategy, as a line of the table.
fn row(instance: &str, strategy: &str, seed: u64) -> Result<String, Failure> {
    let problem = problem(instance).map_err(|error| format!("{instance}: {error}"))?;
    let bound = lower_bound(&problem).bytes;
    let options = SolveOptions { seed, ..SolveOptions::default() };
    let (plan, cost) = cli_measure::measure(|| solve(strategy, &problem, None, &options, &Control::unattended()));
    let name = instance.rsplit('/').next().unwrap_or(instance);
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return Ok(format!("{name:28} {strategy:22} {bound:16} {error}")),
    };
    let verdict = if check(&problem, &plan).is_valid() { "" } else { "  INVALID" };
    let gap = if bound == 0 { 0.0 } else { (plan.arena_bytes as f64 / bound as f64 - 1.0) * 100.0 };
    let peak = cost.peak_bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20)));
    let arena = plan.arena_bytes;
    Ok(format!("{name:28} {strategy:22} {bound:16} {arena:16} {gap:8.3} % {:12.6} {peak:>10}{verdict}", cost.cpu_seconds))
}

/// The problem in a file, or a generated one.
fn problem(instance: &str) -> Result<Problem, Failure> {
    let fields: Vec<&str> = instance.split(':').collect();
    if let [kind, n, seed] = fields[..]
        && let Ok(kind) = kind.parse::<Kind>()
    {
        let buffers = generate(kind, n.parse()?, seed.parse()?);
        return Ok(Problem::new(buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), Align::ONE)?);
    }
    let text = std::fs::read_to_string(instance)?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or("").split(',').map(str::trim).collect();
    let column = |name: &str| head.iter().position(|&field| field == name).ok_or_else(|| format!("no column `{name}`"));
    let columns = [column("lower")?, column("upper")?, column("size")?];
    let mut buffers = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |column: usize| fields.get(column).and_then(|field| field.parse::<u64>().ok()).ok_or_else(|| format!("`{line}`: no number"));
        let [start, end, size] = [number(columns[0])?, number(columns[1])?, number(columns[2])?];
        buffers.push((size, Lifetime { start, end }));
    }
    Ok(Problem::new(buffers, Align::ONE)?)
}

#[expect(clippy::print_stdout, reason = "a program that prints its figures")]
fn say(line: &str) {
    println!("{line}");
}
