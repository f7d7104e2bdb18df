//! Orders to run a graph in: the file's own, two classical ones, and two that look for a low peak.
//!
//! One file per method. Which op may write in place depends on the order, so the peak of an order is that of the
//! problem it gives, with all its sharing decisions made anew.

mod breadth_first;
mod depth_first;
mod exact;
mod live;
mod min_peak;
mod walk;

use std::str::FromStr;

pub use exact::{MAX_LOOKS, MAX_SET_BYTES, MAX_SETS};

use self::exact::Exact;
use self::live::LiveModel;
use self::min_peak::Found;
use crate::alias::AliasSettings;
use crate::control::Control;
use crate::graph::Graph;
use crate::links::{OpLinks, Reachability};
use crate::schedule::Schedule;
use crate::units::Align;

/// How to order the ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Order {
    /// The file's order, or the topological order closest to it.
    #[default]
    File,
    /// Each branch to its end before the next one begins.
    DepthFirst,
    /// Level by level.
    BreadthFirst,
    /// The lowest peak that a search finds.
    MinPeak,
    /// The lowest peak there is, where the graph is narrow enough.
    Exact,
}

/// An order that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown order `{0}`; use file, depth-first, breadth-first, min-peak or exact")]
pub struct UnknownOrder(String);

impl Order {
    /// All orders, in the order shown to people.
    pub const ALL: [Self; 5] = [Self::File, Self::DepthFirst, Self::BreadthFirst, Self::MinPeak, Self::Exact];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::DepthFirst => "depth-first",
            Self::BreadthFirst => "breadth-first",
            Self::MinPeak => "min-peak",
            Self::Exact => "exact",
        }
    }

    /// One sentence about it.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::File => "The order of the file, repaired if it is not topological",
            Self::DepthFirst => "Each branch to its end before the next one begins",
            Self::BreadthFirst => "Level by level, every op as early as possible",
            Self::MinPeak => "The order with the lowest peak that a search finds",
            Self::Exact => "The order with the lowest peak there is, for narrow graphs; else min-peak, with a warning",
        }
    }
}

impl FromStr for Order {
    type Err = UnknownOrder;

    fn from_str(text: &str) -> Result<Self, UnknownOrder> {
        Self::ALL.into_iter().find(|order| order.name() == text).ok_or_else(|| UnknownOrder(text.to_owned()))
    }
}

/// What decides an order beside the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderSettings {
    /// How tensors become buffers: in-place results make some orders cheaper.
    pub alias: AliasSettings,
    /// What every size is rounded to.
    pub align: Align,
    /// The seed of the search of `min-peak`.
    pub seed: u64,
}

/// A schedule, and how it came about.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// The method that gave the schedule; not the one asked for if that one could not.
    pub order: Order,
    /// The order of the ops.
    pub schedule: Schedule,
    /// Whether no order has a lower peak; `false` if that is not known.
    pub is_lowest: bool,
    /// Why another method was used, or what limits the result; without a full stop.
    pub note: Option<String>,
}

/// Makes a schedule. The file's order costs what [`Schedule::new`] does; the others what their modules say.
#[must_use]
pub fn order_graph(graph: &Graph, order: Order, settings: OrderSettings, control: &Control<'_>) -> Ordered {
    let file = Schedule::new(graph);
    let plain = |order: Order, schedule: Schedule| Ordered { order, schedule, is_lowest: false, note: None };
    let schedule_of = |order| Schedule::in_order(graph, order).expect("every method gives a topological order");
    match order {
        Order::File => plain(order, file),
        Order::DepthFirst => plain(order, schedule_of(depth_first::depth_first(&OpLinks::new(graph)))),
        Order::BreadthFirst => plain(order, schedule_of(breadth_first::breadth_first(&OpLinks::new(graph), file.order()))),
        Order::MinPeak | Order::Exact => {
            let (found, is_lowest, note) = search(graph, order, &file, settings, control);
            let schedule = schedule_of(found.order);
            // The model and the sharing rules can disagree on irregular graphs; the file's order is then the fallback.
            let is_worse = |schedule: &Schedule| peak_of(graph, schedule, settings) > peak_of(graph, &file, settings);
            let schedule = if is_worse(&schedule) { file } else { schedule };
            let order = if order == Order::Exact && !is_lowest { Order::MinPeak } else { order };
            Ordered { order, schedule, is_lowest, note }
        }
    }
}

fn search(graph: &Graph, order: Order, file: &Schedule, settings: OrderSettings, control: &Control<'_>) -> (Found, bool, Option<String>) {
    let links = OpLinks::new(graph);
    let model = LiveModel::new(graph, file, settings.alias, settings.align);
    let reach = Reachability::new(&links, file.order());
    let bound_bytes = if model.is_regular { exact::bound_over_ops(&model, reach.as_ref()) } else { 0 };
    let found = min_peak::min_peak(&links, &model, file.order(), bound_bytes, settings.seed, control);
    let is_lowest = model.is_regular && found.peak_bytes == bound_bytes;
    if is_lowest || order == Order::MinPeak {
        return (found, is_lowest, None);
    }
    if !model.is_regular {
        let note = "order exact: an in-place result is larger than what it replaces, or a storage is begun by several ops, so that memory depends on more than what has run; min-peak is used";
        return (found, false, Some(note.to_owned()));
    }
    match exact::exact(&links, &model, found, bound_bytes, control) {
        Exact::Proved(found) => (found, true, None),
        Exact::Stopped(found) => {
            (found, false, Some("order exact: stopped before the lowest peak was proved; the best order so far is used".to_owned()))
        }
        Exact::Limit(found, n_sets) => {
            let note = format!(
                "order exact: the graph is too wide, {n_sets} sets of ops were not enough; the best order so far is used, perhaps not the lowest"
            );
            (found, false, Some(note))
        }
    }
}

/// The peak of the problem that a schedule gives. Time O((tensors + reads) log tensors).
#[must_use]
pub fn peak_of(graph: &Graph, schedule: &Schedule, settings: OrderSettings) -> u64 {
    let map = crate::alias::share_buffers(graph, schedule, settings.alias);
    let sizes = map.buffers.iter().map(|buffer| (buffer.bytes, buffer.lifetime));
    crate::problem::Problem::new(sizes, settings.align).map_or(u64::MAX, |problem| crate::bounds::peak_live_bytes(&problem).0)
}

/// One order and its peak.
#[derive(Clone, Debug)]
pub struct OrderPeak {
    /// The order asked for.
    pub asked: Order,
    /// What came of it.
    pub ordered: Ordered,
    /// The largest sum of live bytes.
    pub peak_bytes: u64,
}

/// Makes `orders` and measures the peak of each.
#[must_use]
pub fn compare_orders(graph: &Graph, orders: &[Order], settings: OrderSettings, control: &Control<'_>) -> Vec<OrderPeak> {
    let peak = |&asked: &Order| {
        let ordered = order_graph(graph, asked, settings, control);
        let peak_bytes = peak_of(graph, &ordered.schedule, settings);
        OrderPeak { asked, ordered, peak_bytes }
    };
    orders.iter().map(peak).collect()
}

#[cfg(test)]
mod tests;
