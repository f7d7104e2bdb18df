//! The peak of every order in which a graph's ops could run; worked out in a job.

use std::time::Instant;

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::order::{Order, OrderSettings, compare_orders};

use crate::session::Planned;

/// One order and what came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderRow {
    /// The order asked for.
    pub order: Order,
    /// The order that stands in for it where it could not be made; else the same.
    pub used: Order,
    /// The most live bytes.
    pub peak_bytes: u64,
    /// Whether no order has a lower peak.
    pub is_lowest: bool,
    /// How long it took to find.
    pub seconds: f64,
    /// What limits the result.
    pub note: Option<String>,
}

/// All orders of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderTable {
    settings: OrderSettings,
    /// The orders, in the order shown to people.
    pub rows: Vec<OrderRow>,
}

impl OrderTable {
    /// Makes every order and measures its peak, with all sharing decisions made anew.
    ///
    /// # Errors
    /// A file without a graph, or a stop.
    pub fn new(planned: &Planned, control: &Control<'_>) -> Result<Self, String> {
        let context = planned.prepared.context.as_deref().ok_or("the file has no graph, so that there is no order to choose")?;
        let settings = planned.options.prepare.order_settings();
        let mut rows = Vec::new();
        for order in Order::ALL {
            control.report(Progress { what: format!("Measuring the order {}", order.name()), fraction: None, best_arena_bytes: None });
            let begin = Instant::now();
            for peak in compare_orders(&context.graph, &[order], settings, control) {
                rows.push(OrderRow {
                    order,
                    used: peak.ordered.order,
                    peak_bytes: peak.peak_bytes,
                    is_lowest: peak.ordered.is_lowest,
                    seconds: begin.elapsed().as_secs_f64(),
                    note: peak.ordered.note,
                });
            }
            if control.is_stopped() {
                return Err("cancelled".to_owned());
            }
        }
        Ok(Self { settings, rows })
    }

    /// Whether the peaks hold for these settings.
    #[must_use]
    pub fn is_of(&self, settings: OrderSettings) -> bool {
        self.settings == settings
    }

    /// The peak of an order.
    #[must_use]
    pub fn row(&self, order: Order) -> Option<&OrderRow> {
        self.rows.iter().find(|row| row.order == order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare, sample};

    #[test]
    fn measures_what_planning_in_that_order_needs() {
        let planned = sample("parallel_branches.json");
        let table = OrderTable::new(&planned, &Control::unattended()).expect("a graph");
        assert_eq!(table.rows.len(), Order::ALL.len());
        let file = table.row(Order::File).expect("all are there");
        assert_eq!(file.peak_bytes, planned.summary.peak_live_bytes);
        let lowest = table.row(Order::MinPeak).expect("all are there");
        assert!(lowest.peak_bytes <= file.peak_bytes);
        assert!(table.is_of(planned.options.prepare.order_settings()));
    }

    #[test]
    fn a_file_without_a_graph_has_no_orders() {
        assert!(OrderTable::new(&bare(&[(64, 0, 1)]), &Control::unattended()).is_err());
    }
}
