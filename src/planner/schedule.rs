//! The order in which ops run: the file's own if it is topological, else a stable topological order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

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

    /// A schedule that runs the ops in `order`; `None` unless that names every op once, after what it reads.
    ///
    /// Time O(ops + reads).
    #[must_use]
    pub fn in_order(graph: &Graph, order: Vec<OpId>) -> Option<Self> {
        let mut step_of = vec![usize::MAX; graph.ops().len()];
        for (step, op) in order.iter().enumerate() {
            let slot = step_of.get_mut(op.index())?;
            if *slot != usize::MAX {
                return None;
            }
            *slot = step;
        }
        let follows = |op: OpId| {
            let sources = graph.op(op).inputs.iter().filter_map(|&input| graph.producer(input));
            sources.into_iter().all(|source| step_of[source.index()] < step_of[op.index()])
        };
        (order.len() == step_of.len() && order.iter().all(|&op| follows(op))).then(|| Self::from_order(order))
    }

    /// A schedule from the names of its ops, as a plan file lists them; `None` if they give no order of this graph.
    ///
    /// Where several ops have one name, the first of them that has all it reads is meant.
    /// Time O((ops + reads) · ops of one name).
    #[must_use]
    pub fn from_names(graph: &Graph, names: &[String]) -> Option<Self> {
        let mut named: HashMap<&str, Vec<OpId>> = HashMap::new();
        for id in graph.op_ids().rev() {
            named.entry(&graph.op(id).name).or_default().push(id);
        }
        let mut is_done = vec![false; graph.ops().len()];
        let mut order = Vec::with_capacity(names.len());
        for name in names {
            let waiting = named.get_mut(name.as_str())?;
            let is_ready = |op: OpId| graph.op(op).inputs.iter().all(|&input| graph.producer(input).is_none_or(|source| is_done[source.index()]));
            let at = waiting.iter().rposition(|&op| is_ready(op))?;
            let op = waiting.remove(at);
            is_done[op.index()] = true;
            order.push(op);
        }
        Self::in_order(graph, order)
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

    #[test]
    fn takes_only_orders_that_name_every_op_after_what_it_reads() {
        let t = |name: &str, role| tensor(name, 4, role);
        let tensors = vec![t("in", Role::GraphInput), t("a", Role::Activation), t("b", Role::Activation)];
        let ids: Vec<TensorId> = (0..3).map(TensorId::new).collect();
        let ops = vec![op("same", "Relu", &[ids[0]], &[ids[1]]), op("same", "Relu", &[ids[1]], &[ids[2]])];
        let graph = Graph::new(GraphParts { tensors, ops }).expect("a valid graph");
        let of = |order: &[u32]| Schedule::in_order(&graph, order.iter().map(|&op| OpId(op)).collect());
        assert_eq!(of(&[0, 1]).map(|schedule| schedule.is_file_order()), Some(true));
        assert!([&[1, 0][..], &[0], &[0, 0], &[0, 1, 2]].into_iter().all(|order| of(order).is_none()));
        let names = |names: &[&str]| Schedule::from_names(&graph, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["same", "same"]).map(|schedule| schedule.order().to_vec()), Some(vec![OpId(0), OpId(1)]));
        assert!(names(&["same"]).is_none() && names(&["same", "other"]).is_none());
    }
}
