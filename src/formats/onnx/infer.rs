//! The shape pass: every value of a graph in one walk, with numbers only.
//!
//! Problem: sizes of all tensors, given numbers for the open dimensions.
//! Method: ops in an order in which every producer comes first; for each a rule gives type and shape of its outputs,
//! and their elements where these are few and known, because shapes, axes and bounds are computed inside models too.
//! Bodies of `If`, `Loop` and `Scan` and the model's own functions are walked the same way.
//! Guarantee: a shape is right or unknown with a reason; nothing is guessed.
//! Time O(ops + elements followed), both bounded; space O(values + elements followed).

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::graph::Graph;

use super::call::{Call, CallAttributes, Facts};
use super::control_flow;
use super::model::{Function, GraphDef, Model, Node, Opset};
use super::names::body_graph;
use super::rules;
use super::tensor_facts::tensor_fact;
use super::value::{Fact, Gap};
use crate::error::one_line;

/// Elements that may be followed altogether: 128 MiB of numbers. Beyond, only shapes are.
const MAX_FOLLOWED: u64 = 1 << 24;
/// Ops walked inside bodies and functions, which may unfold to far more than the file holds.
const MAX_INNER_OPS: usize = 500_000;
/// Bodies and functions inside each other.
const MAX_DEPTH: usize = 32;

/// Facts by name, and those of the graph around.
pub(super) struct Scope<'m, 'p> {
    pub(super) parent: Option<&'p Scope<'m, 'p>>,
    pub(super) facts: HashMap<&'m str, Fact>,
    /// The operator sets in force.
    pub(super) opsets: &'m [Opset],
    /// Inside a function: the attributes of the call.
    pub(super) attributes: Option<&'p CallAttributes<'m>>,
}

impl<'m> Scope<'m, '_> {
    pub(super) fn find(&self, name: &str) -> Option<&Fact> {
        let mut scope = Some(self);
        while let Some(at) = scope {
            if let Some(fact) = at.facts.get(name) {
                return Some(fact);
            }
            scope = at.parent;
        }
        None
    }

    pub(super) fn version(&self, domain: &str) -> i64 {
        let same = |opset: &&Opset| opset.domain == domain || is_standard(domain) && is_standard(&opset.domain);
        self.opsets.iter().find(same).map_or(if is_standard(domain) { 1 } else { 0 }, |opset| opset.version)
    }
}

/// Whether a domain is that of the standard operators.
pub(super) fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

/// The state of the walk.
pub(super) struct Pass<'m> {
    functions: HashMap<(&'m str, &'m str), &'m Function>,
    followed: u64,
    n_inner_ops: usize,
    depth: usize,
    /// The bodies that the last op ran, each walked with what it was handed.
    pub(super) bodies: Vec<Arc<Graph>>,
    model: &'m Model,
    /// What the walk had to decide, as pairs of an op and a remark.
    pub(super) remarks: Vec<(String, String)>,
}

impl<'m> Pass<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let functions = model.functions.iter().map(|function| ((function.domain.as_str(), function.name.as_str()), function)).collect();
        Self { functions, followed: 0, n_inner_ops: 0, depth: 0, bodies: Vec::new(), model, remarks: Vec::new() }
    }

    /// The facts of an op's outputs, by position.
    pub(super) fn outputs(&mut self, node: &'m Node, scope: &Scope<'m, '_>) -> Vec<Fact> {
        let facts = self.rule(node, scope);
        let missing = |gap: &Gap| Fact::unknown(gap.clone());
        let mut outputs = match facts {
            Ok(facts) => facts,
            Err(gap) => node.outputs.iter().map(|_| missing(&gap)).collect(),
        };
        let absent = Gap::from(format!("`{}` gives no such output", one_line(&node.kind)));
        outputs.truncate(node.outputs.len());
        outputs.resize_with(node.outputs.len(), || missing(&absent));
        for fact in &outputs {
            let n_items = fact.items.as_ref().map_or(0, |items| items.len() as u64);
            self.followed = self.followed.saturating_add(fact.data.as_ref().map_or(0, |data| data.len() as u64)).saturating_add(n_items);
        }
        outputs
    }

    fn rule(&mut self, node: &'m Node, scope: &Scope<'m, '_>) -> Facts {
        if let Some(&function) = self.functions.get(&(node.domain.as_str(), node.kind.as_str())) {
            return self.function(node, function, scope);
        }
        if is_standard(&node.domain)
            && let Some(rule) = control_flow::rule(&node.kind)
        {
            return rule(self, node, scope);
        }
        let Some(rule) = rules::find(&node.domain, &node.kind) else {
            let domain = if is_standard(&node.domain) { String::new() } else { format!(" of `{}`", one_line(&node.domain)) };
            return Err(Gap::from(format!("no shape rule for the operator `{}`{domain}", one_line(&node.kind))));
        };
        rule(&self.call(node, scope))
    }

    /// An op as its rule sees it.
    pub(super) fn call<'s>(&self, node: &'m Node, scope: &'s Scope<'m, '_>) -> Call<'s> {
        let input = |name: &String| match name.as_str() {
            "" => None,
            name => Some(scope.find(name).cloned().unwrap_or_else(|| Fact::unknown(Gap::from(format!("`{}` is not in the graph", one_line(name)))))),
        };
        Call {
            node,
            inputs: node.inputs.iter().map(input).collect(),
            opset: scope.version(&node.domain),
            outer: scope.attributes,
            may_evaluate: self.followed < MAX_FOLLOWED,
        }
    }

    /// A call of one of the model's own functions: its body with the call's inputs and attributes.
    fn function(&mut self, node: &'m Node, function: &'m Function, scope: &Scope<'m, '_>) -> Facts {
        let mut attributes: CallAttributes<'m> = function.defaults.iter().map(|attribute| (attribute.name.as_str(), &attribute.value)).collect();
        for attribute in &node.attributes {
            let outer = scope.attributes.and_then(|outer| outer.get(attribute.reference.as_str()).copied());
            if let Some(value) = if attribute.reference.is_empty() { Some(&attribute.value) } else { outer } {
                attributes.insert(&attribute.name, value);
            }
        }
        let mut facts = HashMap::new();
        for (index, name) in function.inputs.iter().enumerate() {
            let given = node.inputs.get(index).filter(|given| !given.is_empty());
            if let Some(fact) = given.and_then(|given| scope.find(given)) {
                facts.insert(name.as_str(), fact.clone());
            }
        }
        let opsets = if function.opsets.is_empty() { scope.opsets } else { &function.opsets };
        let mut inner = Scope { parent: None, facts, opsets, attributes: Some(&attributes) };
        // A function is shown as one op, which then runs what its parts run.
        let bodies = self.walk(&function.nodes, &mut inner)?;
        self.bodies.extend(bodies.into_iter().flatten());
        Ok(function.outputs.iter().map(|name| result(&inner, name)).collect())
    }

    /// The outputs of a body whose inputs have these facts.
    pub(super) fn body(&mut self, body: &'m GraphDef, scope: &Scope<'m, '_>, inputs: Vec<Fact>) -> Facts {
        let mut facts: HashMap<&'m str, Fact> = body.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor_fact(tensor))).collect();
        facts.extend(body.inputs.iter().map(|input| input.name.as_str()).zip(inputs));
        let mut inner = Scope { parent: Some(scope), facts, opsets: scope.opsets, attributes: scope.attributes };
        let bodies = self.walk(&body.nodes, &mut inner)?;
        self.bodies.extend(body_graph(self.model, body, &inner, bodies).map(Arc::new));
        Ok(body.outputs.iter().map(|output| result(&inner, &output.name)).collect())
    }

    /// The facts of all values of some nodes into `scope`; the bodies that each node runs.
    fn walk(&mut self, nodes: &'m [Node], scope: &mut Scope<'m, '_>) -> Result<Vec<Vec<Arc<Graph>>>, Gap> {
        if self.depth >= MAX_DEPTH {
            return Err(Gap::from(format!("bodies and functions are nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let around = std::mem::take(&mut self.bodies);
        let mut bodies = Vec::with_capacity(nodes.len());
        for node in nodes {
            self.n_inner_ops += 1;
            if self.n_inner_ops > MAX_INNER_OPS {
                self.depth -= 1;
                self.bodies = around;
                return Err(Gap::from(format!("bodies and functions unfold to more than {MAX_INNER_OPS} ops")));
            }
            let outputs = self.outputs(node, scope);
            bodies.push(std::mem::take(&mut self.bodies));
            scope.facts.extend(node.outputs.iter().map(String::as_str).zip(outputs).filter(|(name, _)| !name.is_empty()));
        }
        self.depth -= 1;
        self.bodies = around;
        Ok(bodies)
    }
}

fn result(scope: &Scope<'_, '_>, name: &str) -> Fact {
    scope.find(name).cloned().unwrap_or_else(|| Fact::unknown(Gap::from(format!("its body does not make `{}`", one_line(name)))))
}
