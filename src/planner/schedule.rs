//! The order in which ops run: the file's own if it is topological, else a stable topological order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction;
use petgraph::graph::NodeIndex;

use crate::graph::Graph;
use crate::ids::OpId;

/// A topological order of a graph's ops; a step is a position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    order: Vec<OpId>,
    step_of: Vec<u32>,
    is_file_order: bool,
}

impl Schedule {
    /// The file's order if every op comes after what it reads, else the topological order closest to it.
    ///
    /// Method: Kahn's algorithm with a heap on the file position, so that among the ops that may run next the
    /// one that the file lists first runs first.
    /// Time O((ops + reads) log ops), space O(ops).
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let dependencies = graph.dependencies();
        let mut missing: Vec<usize> =
            graph.op_ids().map(|op| dependencies.edges_directed(NodeIndex::new(op.index()), Direction::Incoming).count()).collect();
        let mut ready: BinaryHeap<Reverse<OpId>> = graph.op_ids().filter(|op| missing[op.index()] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(Reverse(op)) = ready.pop() {
            order.push(op);
            for reader in dependencies.neighbors(NodeIndex::new(op.index())) {
                missing[reader.index()] -= 1;
                if missing[reader.index()] == 0 {
                    ready.push(Reverse(OpId::new(reader.index())));
                }
            }
        }
        assert_eq!(order.len(), missing.len(), "Graph::new refuses cycles");
        Self::from_order(order)
    }

    /// A schedule from an order that is known to be topological.
    fn from_order(order: Vec<OpId>) -> Self {
        let mut step_of = vec![0; order.len()];
        for (step, op) in (0_u32..).zip(&order) {
            step_of[op.index()] = step;
        }
        let is_file_order = order.is_sorted();
        Self { order, step_of, is_file_order }
    }

    /// The ops, first step first.
    #[must_use]
    pub fn order(&self) -> &[OpId] {
        &self.order
    }

    /// The step at which an op runs, counted from 0.
    #[must_use]
    pub fn step_of(&self, op: OpId) -> u64 {
        u64::from(self.step_of[op.index()])
    }

    /// The op that runs at a step.
    #[must_use]
    pub fn op_at(&self, step: u64) -> Option<OpId> {
        self.order.get(usize::try_from(step).ok()?).copied()
    }

    /// How many steps there are.
    #[must_use]
    pub fn n_steps(&self) -> u64 {
        self.order.len() as u64
    }

    /// Whether the file's own order is topological and was kept.
    #[must_use]
    pub fn is_file_order(&self) -> bool {
        self.is_file_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphParts;
    use crate::graph::Role;
    use crate::graph::tests_support::{op, tensor};
    use crate::ids::TensorId;

    #[test]
    fn keeps_a_topological_file_order_and_repairs_another_stably() {
        let t = |name: &str, role| tensor(name, 4, role);
        let tensors = vec![t("in", Role::GraphInput), t("a", Role::Activation), t("b", Role::Activation), t("c", Role::Activation)];
        let ids: Vec<TensorId> = (0..4).map(TensorId::new).collect();
        let ops = vec![op("c", "Add", &[ids[1], ids[2]], &[ids[3]]), op("b", "Relu", &[ids[0]], &[ids[2]]), op("a", "Relu", &[ids[0]], &[ids[1]])];
        let graph = Graph::new(GraphParts { tensors: tensors.clone(), ops: ops.clone() }).expect("a valid graph");
        let schedule = Schedule::new(&graph);
        assert!(!schedule.is_file_order());
        assert_eq!(schedule.order(), [OpId(1), OpId(2), OpId(0)]);
        assert_eq!(schedule.step_of(OpId(0)), 2);

        let sorted = vec![ops[1].clone(), ops[2].clone(), ops[0].clone()];
        let graph = Graph::new(GraphParts { tensors, ops: sorted }).expect("a valid graph");
        assert!(Schedule::new(&graph).is_file_order());
    }
}
