//! The parent's side of a run: starts the child, sends the request, reads events, and ends what does not end itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::probe::{ProbeOutcome, ProbeReport};
use crate::program::Program;
use crate::protocol::{CANCEL, Event, Outcome, Request, RunOptions, SCHEMA};
use crate::record::{RunError, RunRecord};

/// How long a probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// How long a cancelled child may take to stop by itself.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
/// How often the parent looks up from waiting.
const TICK: Duration = Duration::from_millis(50);
/// How much of the child's last words is kept, bytes.
const MAX_LAST_WORDS: u64 = 64 << 10;

/// How to start a child.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChildCommand {
    /// The program, usually this one.
    pub program: PathBuf,
    /// Arguments that lead to [`crate::child::run_gpu`].
    pub run_arguments: Vec<String>,
    /// Arguments that lead to [`crate::child::gpu_info`].
    pub info_arguments: Vec<String>,
    /// Further environment variables.
    pub environment: Vec<(String, String)>,
}

impl ChildCommand {
    /// The program itself with its hidden commands.
    ///
    /// # Errors
    /// The system does not say where the program is.
    pub fn own() -> std::io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            run_arguments: vec!["run-gpu".to_owned()],
            info_arguments: vec!["gpu-info".to_owned()],
            environment: Vec::new(),
        })
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl+C is for the parent, which asks the child to stop in order; a child whose parent is gone stops by itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

/// How long to wait for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// A child that says nothing for so long hangs and is killed.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: Duration::from_secs(60) }
    }
}

/// Runs a program in a child to its end, whatever end that is.
///
/// `is_cancelled` is asked every few milliseconds; `on_event` sees every event as it arrives.
#[must_use]
pub fn run_in_child(
    command: &ChildCommand,
    program: &Program,
    options: &RunOptions,
    patience: Patience,
    is_cancelled: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(&Event),
) -> RunRecord {
    let mut record = RunRecord::new(program, options);
    let mut running = match Running::start(command, program, options) {
        Ok(running) => running,
        Err(error) => {
            let message = format!("the process that opens the device cannot be started: {error}");
            record.error = Some(RunError { message, remedy: "check that the program's own file is still in place".to_owned() });
            return record;
        }
    };
    let mut heard = Instant::now();
    let mut cancelled_at: Option<Instant> = None;
    loop {
        match running.events.recv_timeout(TICK) {
            Ok(event) => {
                heard = Instant::now();
                on_event(&event);
                if record.add(&event) {
                    running.wait();
                    return record;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                match cancelled_at {
                    Some(_) => record.outcome = Outcome::Cancelled,
                    None => record.error = Some(running.last_words()),
                }
                return record;
            }
        }
        if cancelled_at.is_none() && is_cancelled() {
            running.cancel();
            cancelled_at = Some(Instant::now());
        }
        if cancelled_at.is_some_and(|at| at.elapsed() > CANCEL_LIMIT) {
            running.kill();
            record.outcome = Outcome::Cancelled;
            return record;
        }
        if heard.elapsed() > patience.silence {
            running.kill();
            let message = format!("the device has not answered for {} s; the run was ended", patience.silence.as_secs_f64());
            let remedy = "a kernel or the driver hangs: restart the machine if `arenascope devices` does not answer either".to_owned();
            record.error = Some(RunError { message, remedy });
            return record;
        }
    }
}

/// Asks a child which GPUs work.
#[must_use]
pub fn probe_in_child(command: &ChildCommand, gpu_lib: Option<&Path>) -> ProbeReport {
    let no_answer = |why: &str| ProbeReport::failure(ProbeOutcome::NoAnswer, why);
    let mut arguments = command.info_arguments.clone();
    if let Some(gpu_lib) = gpu_lib {
        arguments.extend(["--gpu-lib".to_owned(), gpu_lib.display().to_string()]);
    }
    let mut child = match command.command(&arguments).spawn() {
        Ok(child) => child,
        Err(error) => return no_answer(&format!("the probe cannot be started: {error}")),
    };
    let Some(output) = child.stdout.take() else { return no_answer("the probe has no output") };
    let (sender, receiver) = channel();
    // Libraries that a driver loads sometimes write lines of their own.
    let read = move || {
        let lines = BufReader::new(output.take(MAX_LAST_WORDS)).lines().map_while(Result::ok);
        let _ = sender.send(lines.filter_map(|line| serde_json::from_str(&line).ok()).next());
    };
    if std::thread::Builder::new().name("probe".to_owned()).spawn(read).is_err() {
        return no_answer("no thread to read its answer");
    }
    let report = receiver.recv_timeout(PROBE_LIMIT);
    let _ = child.kill();
    let status = child.wait();
    match report {
        Err(_) => no_answer(&format!("no answer within {} s", PROBE_LIMIT.as_secs())),
        Ok(report) => report.unwrap_or_else(|| no_answer(&status.map_or_else(|error| error.to_string(), ended_how))),
    }
}

struct Running {
    child: Child,
    events: Receiver<Event>,
    words: Receiver<String>,
}

impl Running {
    fn start(command: &ChildCommand, program: &Program, options: &RunOptions) -> std::io::Result<Self> {
        let mut child = command.command(&command.run_arguments).spawn()?;
        let request = Request { schema: SCHEMA, program: program.clone(), options: options.clone() };
        let mut line = serde_json::to_string(&request)?;
        line.push('\n');
        // A child that has died already shows at its output, with its last words.
        let _ = child.stdin.as_mut().map(|input| input.write_all(line.as_bytes()).and_then(|()| input.flush()));
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (event_sender, events) = channel();
        let read_events = move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines().map_while(Result::ok));
            for event in lines.filter_map(|line| serde_json::from_str::<Event>(&line).ok()) {
                if event_sender.send(event).is_err() {
                    return;
                }
            }
        };
        let (word_sender, words) = channel();
        let read_words = move || {
            let mut text = Vec::new();
            if let Some(errors) = errors {
                let mut errors = errors.take(MAX_LAST_WORDS);
                let _ = errors.read_to_end(&mut text);
                // A child that writes on must not block on a full pipe.
                let _ = std::io::copy(&mut errors.into_inner(), &mut std::io::sink());
            }
            let _ = word_sender.send(String::from_utf8_lossy(&text).into_owned());
        };
        std::thread::Builder::new().name("run events".to_owned()).spawn(read_events)?;
        std::thread::Builder::new().name("run errors".to_owned()).spawn(read_words)?;
        Ok(Self { child, events, words })
    }

    fn cancel(&mut self) {
        if let Some(input) = self.child.stdin.as_mut() {
            let _ = input.write_all(format!("{CANCEL}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for a child that has said its last word; kills it if even that takes long.
    fn wait(&mut self) -> Option<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < CANCEL_LIMIT {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
        self.kill();
        None
    }

    /// How a child ended that did not say so itself.
    fn last_words(&mut self) -> RunError {
        let how = self.wait().map_or_else(|| "it closed its output and was ended".to_owned(), ended_how);
        let words = self.words.recv_timeout(TICK).unwrap_or_default();
        let words = words.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()));
        RunError {
            message: format!("the process that opened the device ended without an answer ({how}){words}"),
            remedy: "run it again; if it repeats, `arenascope devices` says whether the device still works".to_owned(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn ended_how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("ended by signal {signal}");
    }
    status.code().map_or_else(|| "ended".to_owned(), |code| format!("exit code {code}"))
}
