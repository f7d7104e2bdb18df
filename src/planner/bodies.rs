//! Memory of the graphs inside ops: the arena of a body, planned for itself, is a workspace of its op.
//!
//! A body runs as a whole within one step of the graph around it, so that its own plan is independent of that graph's.
//! Of several bodies (the branches of a condition) one runs at a time: the largest arena counts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::alias::{AliasSettings, Io, share_buffers};
use crate::control::Control;
use crate::graph::{Dtype, Graph, GraphParts, Role, Tensor};
use crate::ids::TensorId;
use crate::prepare::PrepareSettings;
use crate::problem::{Problem, ProblemError};
use crate::schedule::Schedule;
use crate::solve::{SolveOptions, solve};

/// The strategy that plans bodies: good, and without chance or time limits.
const STRATEGY: &str = "lowest-floor";

/// The graph with a workspace tensor behind the outputs of every op whose bodies need memory; all other ids stay.
///
/// Time: that of planning every body once, however many ops run it.
///
/// # Errors
/// Sizes inside a body that cannot be rounded or summed.
pub(crate) fn with_body_arenas(graph: &Arc<Graph>, settings: PrepareSettings) -> Result<Arc<Graph>, ProblemError> {
    BodyArenas { settings, planned: HashMap::new() }.widen(graph)
}

/// The arenas of the bodies that have been planned.
struct BodyArenas {
    settings: PrepareSettings,
    /// By the address of a body, which its op keeps alive.
    planned: HashMap<*const Graph, u64>,
}

impl BodyArenas {
    fn widen(&mut self, graph: &Arc<Graph>) -> Result<Arc<Graph>, ProblemError> {
        let mut parts: Option<GraphParts> = None;
        for id in graph.op_ids().filter(|&id| !graph.op(id).bodies.is_empty()) {
            let op = graph.op(id);
            let mut bytes = 0;
            for body in &op.bodies {
                bytes = bytes.max(self.arena_bytes(body)?);
            }
            if bytes == 0 {
                continue;
            }
            let parts = parts.get_or_insert_with(|| GraphParts { tensors: graph.tensors().to_vec(), ops: graph.ops().to_vec() });
            let workspace = TensorId::new(parts.tensors.len());
            parts.tensors.push(Tensor {
                name: format!("{} (inside)", op.name),
                dtype: Dtype::U8,
                shape: Some(vec![bytes]),
                bytes: Some(bytes),
                role: Role::Workspace,
                unknown_because: String::new(),
            });
            parts.ops[id.index()].outputs.push(workspace);
        }
        // Only the total can overflow, and then the graph is planned without what its bodies need.
        let widened = parts.and_then(|parts| Graph::new(parts).ok()).map(|widened| match graph.arithmetic_table() {
            Some(table) => widened.with_arithmetic(Arc::clone(table)),
            None => widened,
        });
        Ok(widened.map_or_else(|| Arc::clone(graph), Arc::new))
    }

    /// The arena of one body with all that is inside it; what it reads and gives belongs to the graph around it.
    fn arena_bytes(&mut self, body: &Arc<Graph>) -> Result<u64, ProblemError> {
        if let Some(&bytes) = self.planned.get(&Arc::as_ptr(body)) {
            return Ok(bytes);
        }
        let graph = self.widen(body)?;
        let schedule = Schedule::new(&graph);
        let map = share_buffers(&graph, &schedule, AliasSettings { io: Io::Static, ..self.settings.alias });
        let problem = Problem::new(map.buffers.iter().map(|buffer| (buffer.bytes, buffer.lifetime)), self.settings.align)?;
        let plan = solve(STRATEGY, &problem, None, &SolveOptions::default(), &Control::unattended());
        let bytes = plan.map_or_else(|_| problem.total_bytes(), |plan| plan.arena_bytes);
        self.planned.insert(Arc::as_ptr(body), bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests_support::{op, tensor};
    use crate::units::Align;

    /// Two activations of `bytes` each that are live together.
    fn body(bytes: u64) -> Arc<Graph> {
        let t: Vec<TensorId> = (0..4).map(TensorId::new).collect();
        let tensors = vec![
            tensor("x", bytes, Role::GraphInput),
            tensor("a", bytes, Role::Activation),
            tensor("b", bytes, Role::Activation),
            tensor("y", bytes, Role::GraphOutput),
        ];
        let ops = vec![op("one", "Conv", &[t[0]], &[t[1]]), op("two", "Conv", &[t[1]], &[t[2]]), op("three", "Conv", &[t[2]], &[t[3]])];
        Arc::new(Graph::new(GraphParts { tensors, ops }).expect("a chain"))
    }

    #[test]
    fn the_larger_branch_becomes_a_workspace_of_its_op() {
        let t: Vec<TensorId> = (0..2).map(TensorId::new).collect();
        let mut branch = op("if", "If", &[t[0]], &[t[1]]);
        branch.bodies = vec![body(10), body(30)];
        let tensors = vec![tensor("x", 8, Role::GraphInput), tensor("y", 8, Role::GraphOutput)];
        let graph = Arc::new(Graph::new(GraphParts { tensors, ops: vec![branch] }).expect("one op"));
        let settings = PrepareSettings { align: Align::ONE, ..PrepareSettings::default() };
        let planned = with_body_arenas(&graph, settings).expect("small sizes");
        assert_eq!(planned.tensors().len(), 3);
        assert_eq!((planned.tensors()[2].bytes, planned.tensors()[2].role), (Some(60), Role::Workspace));
        assert_eq!(planned.producer(TensorId::new(2)), Some(crate::ids::OpId::new(0)));
    }
}
