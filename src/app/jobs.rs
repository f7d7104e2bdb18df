//! Work off the UI thread: one worker, a queue, progress out, cancel in.
//!
//! A job that panics becomes a failed event, never a dead window.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arenascope_gpu::probe::ProbeReport;
use arenascope_planner::control::{Control, Progress};
use arenascope_planner::workload::Workload;

use crate::insight::Insight;
use crate::orders::OrderTable;
use crate::samples::Thumbnail;
use crate::session::Planned;
use crate::views::interference::NodeLayout;
use crate::views::run::Recording;
use crate::views::strategies::{Comparison, Difference};

/// What a job is for; a new one of a kind replaces the old one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum JobKind {
    /// Asking the person for a file.
    Pick,
    /// Asking the person where to write.
    PickExport,
    /// Reading a file.
    Load,
    /// Making and checking a plan.
    Plan,
    /// Laying out the interference graph.
    Layout,
    /// Writing a file.
    Export,
    /// Drawing small pictures of the samples.
    Thumbnails,
    /// Running all strategies.
    Compare,
    /// Checking and drawing a better plan of a search that still runs.
    Better,
    /// Working out what the plan's numbers mean.
    Explain,
    /// Comparing the plan with another one.
    Difference,
    /// Measuring the peak of every order.
    Orders,
    /// Looking for devices.
    Probe,
    /// Running the plan on a device.
    Run,
}

impl JobKind {
    /// Whether it must not wait for a plan that is being made.
    fn is_beside(self) -> bool {
        self.is_quiet() || self == Self::Orders
    }

    /// Whether it belongs to what is shown, so that nobody asked for it and nobody can cancel it alone.
    #[must_use]
    pub fn is_quiet(self) -> bool {
        matches!(self, Self::Better | Self::Explain | Self::Difference)
    }
}

/// What a job gives back.
#[derive(Debug)]
pub enum Outcome {
    /// The person chose a file, or none; and how long that took.
    Picked(Option<PathBuf>, std::time::Duration),
    /// A file was read.
    Loaded(Result<Arc<Workload>, String>),
    /// A plan was made and checked.
    Planned(Result<Arc<Planned>, String>),
    /// The interference graph was laid out.
    LaidOut(Result<Arc<NodeLayout>, String>),
    /// A file was written.
    Exported(Result<PathBuf, String>),
    /// All strategies were run.
    Compared(Result<Arc<Comparison>, String>),
    /// A better plan was checked, while the search goes on.
    Better(Result<Arc<Planned>, String>),
    /// What a plan's numbers mean was worked out.
    Explained(Result<(Arc<Planned>, Arc<Insight>), String>),
    /// Two plans were compared.
    Differs(Result<Arc<Difference>, String>),
    /// The orders were measured.
    Ordered(Result<Arc<OrderTable>, String>),
    /// A recorded run was read in place of a model.
    Recorded(Result<Arc<Recording>, String>),
    /// The devices are known.
    Probed(Arc<ProbeReport>),
    /// The plan was run, to whatever end.
    Ran(Result<Arc<Recording>, String>),
    /// The samples' small pictures were made.
    Thumbnails(Vec<Thumbnail>),
}

/// A finished job.
#[derive(Debug)]
pub struct Event {
    serial: u64,
    /// The revision of the document that the job was started for.
    pub revision: u64,
    /// Which kind of job.
    pub kind: JobKind,
    /// What came of it.
    pub outcome: Outcome,
}

/// A job as the window shows it.
#[derive(Clone, Debug)]
pub struct Running {
    /// Which kind of job.
    pub kind: JobKind,
    /// What it does, for people.
    pub label: String,
    /// When it was started.
    pub since: Instant,
    /// The last progress.
    pub progress: Option<Progress>,
}

/// The work of a job. It polls the control at bounded intervals.
pub type Work = Box<dyn FnOnce(&Control<'_>) -> Outcome + Send>;

struct Entry {
    running: Running,
    serial: u64,
    cancel: Arc<AtomicBool>,
    progress: Arc<Mutex<Option<Progress>>>,
}

struct Order {
    serial: u64,
    revision: u64,
    kind: JobKind,
    cancel: Arc<AtomicBool>,
    progress: Arc<Mutex<Option<Progress>>>,
    work: Work,
}

/// Where jobs run.
enum Executor {
    /// On worker threads, woken through channels.
    Threads { long: Sender<Order>, beside: Sender<Order>, dialogs: Sender<Order>, probes: Sender<Order>, runs: Sender<Order> },
    /// In `submit` itself: headless pictures and tests.
    Inline,
    /// When `run_held` is called: tests of what is shown meanwhile.
    Held(Vec<Order>),
}

/// All jobs of the window.
pub struct Jobs {
    executor: Executor,
    events: Receiver<Event>,
    finished: Sender<Event>,
    entries: Vec<Entry>,
    n_submitted: u64,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").field("running", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Jobs on worker threads; `wake` is called whenever the window should look.
    #[must_use]
    pub fn threaded(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let (finished, events) = channel();
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let worker = |name: &str| {
            let (orders, queue) = channel::<Order>();
            let (finished, wake) = (finished.clone(), Arc::clone(&wake));
            let body = move || {
                for order in queue {
                    let event = execute(order, &*wake);
                    if finished.send(event).is_err() {
                        return;
                    }
                    wake();
                }
            };
            std::thread::Builder::new().name(name.to_owned()).spawn(body).map(|_| orders)
        };
        match (worker("planning"), worker("explaining"), worker("dialogs"), worker("probing"), worker("running")) {
            (Ok(long), Ok(beside), Ok(dialogs), Ok(probes), Ok(runs)) => {
                let executor = Executor::Threads { long, beside, dialogs, probes, runs };
                Self { executor, events, finished, entries: Vec::new(), n_submitted: 0 }
            }
            _ => Self { executor: Executor::Inline, events, finished, entries: Vec::new(), n_submitted: 0 },
        }
    }

    /// Jobs that run at once, in the caller.
    #[must_use]
    pub fn inline() -> Self {
        let (finished, events) = channel();
        Self { executor: Executor::Inline, events, finished, entries: Vec::new(), n_submitted: 0 }
    }

    /// Jobs that wait for [`Jobs::run_held`].
    #[must_use]
    pub fn held() -> Self {
        let (finished, events) = channel();
        Self { executor: Executor::Held(Vec::new()), events, finished, entries: Vec::new(), n_submitted: 0 }
    }

    /// Starts a job; a running one of the same kind is cancelled and its result dropped.
    pub fn submit(&mut self, kind: JobKind, revision: u64, label: impl Into<String>, work: Work) {
        self.cancel(kind);
        self.n_submitted += 1;
        let serial = self.n_submitted;
        let cancel = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Mutex::new(None));
        let running = Running { kind, label: label.into(), since: Instant::now(), progress: None };
        self.entries.push(Entry { running, serial, cancel: Arc::clone(&cancel), progress: Arc::clone(&progress) });
        let order = Order { serial, revision, kind, cancel, progress, work };
        let refused = match &mut self.executor {
            Executor::Threads { dialogs, .. } if matches!(kind, JobKind::Pick | JobKind::PickExport) => dialogs.send(order).err(),
            Executor::Threads { beside, .. } if kind.is_beside() => beside.send(order).err(),
            Executor::Threads { probes, .. } if kind == JobKind::Probe => probes.send(order).err(),
            Executor::Threads { runs, .. } if kind == JobKind::Run => runs.send(order).err(),
            Executor::Threads { long, .. } => long.send(order).err(),
            Executor::Held(orders) => {
                orders.push(order);
                None
            }
            Executor::Inline => Some(std::sync::mpsc::SendError(order)),
        };
        if let Some(std::sync::mpsc::SendError(order)) = refused {
            // The receiver lives in `self`, so this cannot fail.
            _ = self.finished.send(execute(order, &|| ()));
        }
    }

    /// Runs the jobs that wait, if this is that kind of executor.
    pub fn run_held(&mut self) {
        if let Executor::Held(orders) = &mut self.executor {
            for order in std::mem::take(orders) {
                _ = self.finished.send(execute(order, &|| ()));
            }
        }
    }

    /// Runs the waiting jobs of one kind; the others go on waiting.
    #[cfg(test)]
    pub(crate) fn run_held_of(&mut self, kind: JobKind) {
        if let Executor::Held(orders) = &mut self.executor {
            let (now, later) = std::mem::take(orders).into_iter().partition(|order| order.kind == kind);
            *orders = later;
            let now: Vec<Order> = now;
            for order in now {
                _ = self.finished.send(execute(order, &|| ()));
            }
        }
    }

    /// Asks the job of a kind to stop and forgets it; its result is dropped.
    pub fn cancel(&mut self, kind: JobKind) {
        for entry in self.entries.iter().filter(|entry| entry.running.kind == kind) {
            entry.cancel.store(true, Ordering::Relaxed);
        }
        self.entries.retain(|entry| entry.running.kind != kind);
        if let Executor::Held(orders) = &mut self.executor {
            orders.retain(|order| order.kind != kind);
        }
    }

    /// Asks the job of a kind to stop, and waits for what it has by then.
    pub fn stop(&mut self, kind: JobKind) {
        for entry in self.entries.iter().filter(|entry| entry.running.kind == kind) {
            entry.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the job of a kind was asked to stop and has not ended yet.
    #[must_use]
    pub fn is_stopping(&self, kind: JobKind) -> bool {
        self.entries.iter().any(|entry| entry.running.kind == kind && entry.cancel.load(Ordering::Relaxed))
    }

    /// The results that arrived since the last call, those of cancelled jobs left out.
    pub fn take_events(&mut self) -> Vec<Event> {
        for entry in &mut self.entries {
            let progress = entry.progress.lock().unwrap_or_else(PoisonError::into_inner);
            entry.running.progress.clone_from(&progress);
        }
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            let wanted = |entry: &Entry| entry.serial == event.serial;
            if self.entries.iter().any(wanted) {
                self.entries.retain(|entry| !wanted(entry));
                events.push(event);
            }
        }
        events
    }

    /// The job of a kind, if one runs.
    #[must_use]
    pub fn running(&self, kind: JobKind) -> Option<&Running> {
        self.entries.iter().map(|entry| &entry.running).find(|running| running.kind == kind)
    }

    /// All running jobs, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Running> {
        self.entries.iter().map(|entry| &entry.running)
    }
}

fn execute(order: Order, wake: &(dyn Fn() + Sync)) -> Event {
    let Order { serial, revision, kind, cancel, progress, work } = order;
    let should_stop = || cancel.load(Ordering::Relaxed);
    let report = |news: Progress| {
        *progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
        wake();
    };
    let control = Control::new(&should_stop, &report);
    let outcome = catch_unwind(AssertUnwindSafe(|| work(&control))).unwrap_or_else(|panic| failed(kind, &panic_message(&*panic)));
    Event { serial, revision, kind, outcome }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the program made a mistake: {}; please report it with the file", text.unwrap_or("no details"))
}

fn failed(kind: JobKind, message: &str) -> Outcome {
    match kind {
        JobKind::Pick | JobKind::PickExport => Outcome::Picked(None, std::time::Duration::ZERO),
        JobKind::Load => Outcome::Loaded(Err(message.to_owned())),
        JobKind::Plan => Outcome::Planned(Err(message.to_owned())),
        JobKind::Layout => Outcome::LaidOut(Err(message.to_owned())),
        JobKind::Export => Outcome::Exported(Err(message.to_owned())),
        JobKind::Thumbnails => Outcome::Thumbnails(Vec::new()),
        JobKind::Compare => Outcome::Compared(Err(message.to_owned())),
        JobKind::Better => Outcome::Better(Err(message.to_owned())),
        JobKind::Explain => Outcome::Explained(Err(message.to_owned())),
        JobKind::Difference => Outcome::Differs(Err(message.to_owned())),
        JobKind::Orders => Outcome::Ordered(Err(message.to_owned())),
        JobKind::Probe => crate::apply_run::broken_probe(message),
        JobKind::Run => Outcome::Ran(Err(message.to_owned())),
    }
}
