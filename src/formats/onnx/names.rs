//! Tensors by name, and the ops over them: what the model's graph and the bodies inside it have in common.

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;

use super::captured::captured;
use super::classes::{is_in_place, is_random, is_view};
use super::infer::{Scope, is_standard};
use super::model::{GraphDef, Model, Node};
use super::tensor_facts::tensor_fact;
use super::value::{Fact, MAX_ELEMENTS};
use crate::error::clean;

/// The tensors of one graph.
#[derive(Default)]
pub(super) struct Names<'m> {
    pub(super) tensors: Vec<Tensor>,
    pub(super) ids: HashMap<&'m str, TensorId>,
}

impl<'m> Names<'m> {
    /// The id of a name, made on first sight.
    pub(super) fn id(&mut self, name: &'m str, role: Role) -> TensorId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = TensorId::new(self.tensors.len());
        self.tensors.push(Tensor { name: clean(name), dtype: Dtype::Unknown, shape: None, bytes: None, role, unknown_because: String::new() });
        self.ids.insert(name, id);
        id
    }

    /// The op of a node; its outputs must have ids already, other names get them as tensors of role `foreign`.
    pub(super) fn op(&mut self, node: &'m Node, index: usize, scope: &Scope<'m, '_>, model: &Model, foreign: Role) -> Op {
        let mut inputs: Vec<TensorId> = Vec::new();
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            inputs.push(self.id(name, foreign));
        }
        for name in captured(node) {
            let id = self.id(name, foreign);
            if !inputs.contains(&id) {
                inputs.push(id);
            }
        }
        let outputs: Vec<TensorId> = node.outputs.iter().filter(|name| !name.is_empty()).map(|name| self.ids[name.as_str()]).collect();
        let opset = scope.version(&node.domain);
        let training = node.inputs.get(2).and_then(|name| scope.find(name.as_str()));
        let named = |names: &[String]| names.first().filter(|name| !name.is_empty()).map(|name| self.ids[name.as_str()]);
        let view = named(&node.inputs).zip(named(&node.outputs)).filter(|_| is_view(node, opset, training));
        let kind = if is_standard(&node.domain) { clean(&node.kind) } else { format!("{}:{}", clean(&node.domain), clean(&node.kind)) };
        let in_place = if is_in_place(node, opset) && named(&node.outputs).is_some() { InPlace::AnyInput } else { InPlace::No };
        Op {
            name: if node.name.is_empty() { format!("{kind}_{index}") } else { clean(&node.name) },
            kind,
            inputs,
            outputs,
            views: view.into_iter().collect(),
            in_place,
            foldable: !is_random(node, model),
            bodies: Vec::new(),
        }
    }
}

/// What an initialiser is: small whole numbers are shapes and indices, all else are weights.
pub(super) fn weight_role(fact: &Fact) -> Role {
    let is_small = fact.elements().is_some_and(|elements| elements <= MAX_ELEMENTS);
    if is_small && matches!(fact.dtype, Dtype::I64 | Dtype::I32 | Dtype::Bool) { Role::Constant } else { Role::Parameter }
}

/// `Constant` nodes are tensors, not ops.
pub(super) fn is_constant(node: &Node) -> bool {
    node.kind == "Constant" && is_standard(&node.domain)
}

/// Gives a tensor what the walk found out about it.
pub(super) fn settle(tensor: &mut Tensor, fact: Fact) {
    tensor.bytes = fact.bytes();
    tensor.dtype = fact.dtype;
    tensor.unknown_because = match (tensor.bytes, fact.dtype) {
        (Some(_), _) => String::new(),
        (None, Dtype::String) => "texts have no fixed size".to_owned(),
        (None, _) => fact.because,
    };
    tensor.shape = fact.shape;
}

/// The graph of a body that has been walked; `None` if it is no valid graph.
///
/// What it reads from outside and what its op hands in are inputs: the memory of both belongs to the graph around it.
pub(super) fn body_graph<'m>(model: &'m Model, def: &'m GraphDef, scope: &Scope<'m, '_>, bodies: Vec<Vec<Arc<Graph>>>) -> Option<Graph> {
    let mut names = Names::default();
    for tensor in &def.initializers {
        names.id(&tensor.name, weight_role(&tensor_fact(tensor)));
    }
    for input in &def.inputs {
        names.id(&input.name, Role::GraphInput);
    }
    for node in &def.nodes {
        let role = if is_constant(node) { Role::Constant } else { Role::Activation };
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            names.id(name, role);
        }
    }
    let mut ops = Vec::new();
    for (index, (node, bodies)) in def.nodes.iter().zip(bodies).filter(|(node, _)| !is_constant(node)).enumerate() {
        let op = names.op(node, index, scope, model, Role::GraphInput);
        ops.push(Op { bodies, ..op });
    }
    let mut is_written = vec![false; names.tensors.len()];
    for output in ops.iter().flat_map(|op| &op.outputs) {
        is_written[output.index()] = true;
    }
    for output in &def.outputs {
        if let Some(id) = names.ids.get(output.name.as_str()).filter(|id| is_written[id.index()]) {
            names.tensors[id.index()].role = Role::GraphOutput;
        }
    }
    let mut ids: Vec<(&str, TensorId)> = names.ids.iter().map(|(name, id)| (*name, *id)).collect();
    ids.sort_by_key(|(_, id)| *id);
    for (name, id) in ids {
        if let Some(fact) = scope.find(name) {
            settle(&mut names.tensors[id.index()], fact.clone());
        }
    }
    Graph::new(GraphParts { tensors: names.tensors, ops }).ok()
}
