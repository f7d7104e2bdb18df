//! What a piece of work costs: processor time and peak memory, as the kernel counts them.
//!
//! The planner's bench includes this file too, so that both print the same kind of figure.

use std::fs;
use std::time::Instant;

/// What some work cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    /// Processor seconds of all threads, per run; wall seconds where the kernel does not say.
    pub(crate) cpu_seconds: f64,
    /// Largest resident memory of the process while it ran, in bytes; `None` where the kernel does not say.
    ///
    /// Memory that earlier work in the same process freed may still be counted.
    pub(crate) peak_bytes: Option<u64>,
}

/// Processor time after which short work is not run again: a hundred of the kernel's units of 1 to 10 ms would be
/// better, and take longer than anyone waits.
const ENOUGH_SECONDS: f64 = 0.1;

/// How often short work is run at most.
const MAX_RUNS: u32 = 200;

/// Runs `work` until it has taken long enough to be counted, and returns its last result and what one run cost.
pub(crate) fn measure<T>(mut work: impl FnMut() -> T) -> (T, Cost) {
    // Forgets the peak so far; where that is refused, the figure is that of the whole process.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let wall = Instant::now();
    let cpu = cpu_seconds();
    let mut n_runs = 0;
    loop {
        let result = work();
        n_runs += 1;
        let seconds = cpu.zip(cpu_seconds()).map_or_else(|| wall.elapsed().as_secs_f64(), |(before, after)| after - before);
        if seconds >= ENOUGH_SECONDS || wall.elapsed().as_secs_f64() >= 2.0 * ENOUGH_SECONDS || n_runs == MAX_RUNS {
            let seconds = if seconds > 0.0 { seconds } else { wall.elapsed().as_secs_f64() };
            return (result, Cost { cpu_seconds: seconds / f64::from(n_runs), peak_bytes: peak_bytes() });
        }
    }
}

/// Processor seconds of this process so far: the finer of what is known of this thread and of all threads.
fn cpu_seconds() -> Option<f64> {
    /// Units of the figures in `/proc/self/stat` per second; fixed in the kernel's interface.
    const TICKS_PER_SECOND: f64 = 100.0;
    let thread = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let thread = thread.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).map(|nanoseconds| nanoseconds / 1e9);
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain blanks; utime and stime are the 12th and 13th field after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(thread.unwrap_or(0.0).max(ticks / TICKS_PER_SECOND))
}

fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
