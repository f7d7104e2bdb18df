//! From a parsed model to a workload: tensors with roles, ops with their storage rules, then the shape pass.

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::arithmetic::ArithmeticTable;
use arenascope_planner::control::{Control, Progress};
use arenascope_planner::graph::{Dtype, Graph, GraphParts, Op, Role};
use arenascope_planner::ids::TensorId;
use arenascope_planner::schedule::Schedule;
use arenascope_planner::workload::{Source, SymbolicDim, Warning, Workload};

use super::FORMAT;
use super::arithmetic::{arithmetic, elements};
use super::bind::Binder;
use super::infer::{Pass, Scope, is_standard};
use super::model::{GraphDef, Model, Node, Type};
use super::names::{Names, is_constant, settle, weight_role};
use super::tensor_facts::tensor_fact;
use super::value::{Data, Fact, Gap, dtype_of};
use crate::detect::{Origin, ReadOptions};
use crate::error::{FormatError, clean, one_line, one_message};

/// Ops between two looks at the caller's wish to stop.
const OPS_PER_POLL: usize = 256;
/// Unknown tensors named in the warning that sums up what follows from others.
const MAX_NAMED: usize = 12;

/// Makes a workload of a model.
pub(super) fn workload(origin: &Origin, model: &Model, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    let Some(graph) = &model.graph else {
        return Err(FormatError::Damaged { path: origin.path.clone(), offset: 0, what: "the model holds no graph".to_owned() });
    };
    let mut builder = Builder::new(origin, model, graph);
    builder.sources(options)?;
    builder.constants()?;
    builder.ops();
    builder.graph_outputs();
    builder.infer(control)?;
    builder.finish()
}

struct Builder<'m> {
    origin: &'m Origin,
    model: &'m Model,
    graph: &'m GraphDef,
    names: Names<'m>,
    ops: Vec<Op>,
    /// The node of each op, by op id.
    nodes: Vec<&'m Node>,
    scope: Scope<'m, 'm>,
    symbolic_dims: Vec<SymbolicDim>,
    warnings: Vec<Warning>,
    arithmetic: ArithmeticTable,
}

impl<'m> Builder<'m> {
    fn new(origin: &'m Origin, model: &'m Model, graph: &'m GraphDef) -> Self {
        Self {
            origin,
            model,
            graph,
            names: Names::default(),
            ops: Vec::new(),
            nodes: Vec::new(),
            scope: Scope { parent: None, facts: HashMap::new(), opsets: &model.opsets, attributes: None },
            symbolic_dims: Vec::new(),
            warnings: Vec::new(),
            arithmetic: ArithmeticTable::default(),
        }
    }

    fn source(&mut self, name: &'m str, role: Role, fact: Fact) -> Result<(), FormatError> {
        if self.names.ids.contains_key(name) {
            return Err(FormatError::Entry {
                path: self.origin.path.clone(),
                place: format!("tensor `{}`", one_line(name)),
                what: "the file defines it twice".to_owned(),
                advice: "export the model again".to_owned(),
            });
        }
        self.names.id(name, role);
        self.scope.facts.insert(name, fact);
        Ok(())
    }

    /// Graph inputs and initialisers. Old files list initialisers as inputs too: those are parameters.
    fn sources(&mut self, options: &ReadOptions) -> Result<(), FormatError> {
        let graph = self.graph;
        let weights: std::collections::HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        let mut binder = Binder::new(&options.dims, graph);
        for input in graph.inputs.iter().filter(|input| !weights.contains(input.name.as_str())) {
            let fact = input_fact(&input.name, &input.ty, &mut binder);
            if fact.shape.is_none() {
                let message = format!("the size of this graph input is not known: {}; no total counts it", fact.because);
                self.warnings.push(Warning::at(one_line(&input.name), message));
            }
            self.source(&input.name, Role::GraphInput, fact)?;
        }
        let (dims, warnings) = binder.finish();
        self.symbolic_dims = dims;
        self.warnings.extend(warnings);
        for tensor in &graph.initializers {
            let fact = tensor_fact(tensor);
            let role = weight_role(&fact);
            self.source(&tensor.name, role, fact)?;
        }
        Ok(())
    }

    /// `Constant` nodes are tensors, not ops.
    fn constants(&mut self) -> Result<(), FormatError> {
        let mut pass = Pass::new(self.model);
        for node in self.graph.nodes.iter().filter(|node| is_constant(node)) {
            let fact = pass.outputs(node, &self.scope).into_iter().next();
            if let (Some(name), Some(fact)) = (node.outputs.first().filter(|name| !name.is_empty()), fact) {
                self.source(name, Role::Constant, fact)?;
            }
        }
        Ok(())
    }

    fn ops(&mut self) {
        let (graph, model) = (self.graph, self.model);
        let nodes: Vec<&Node> = graph.nodes.iter().filter(|node| !is_constant(node)).collect();
        for name in nodes.iter().flat_map(|node| &node.outputs).filter(|name| !name.is_empty()) {
            self.names.id(name, Role::Activation);
        }
        for (index, node) in nodes.into_iter().enumerate() {
            let op = self.names.op(node, index, &self.scope, model, Role::Activation);
            self.ops.push(op);
            self.nodes.push(node);
        }
    }

    fn graph_outputs(&mut self) {
        let mut is_written = vec![false; self.names.tensors.len()];
        for output in self.ops.iter().flat_map(|op| &op.outputs) {
            is_written[output.index()] = true;
        }
        for output in &self.graph.outputs {
            match self.names.ids.get(output.name.as_str()) {
                Some(id) if is_written[id.index()] => self.names.tensors[id.index()].role = Role::GraphOutput,
                Some(id) if self.names.tensors[id.index()].role.is_source() => {}
                _ => self.warnings.push(Warning::at(one_line(&output.name), "the file names it as a graph output, but no op writes it")),
            }
        }
    }

    /// Walks the ops in a topological order; the file's own need not be one.
    fn infer(&mut self, control: &Control<'_>) -> Result<(), FormatError> {
        let graph = self.validated(GraphParts { tensors: self.names.tensors.clone(), ops: self.ops.clone() })?;
        let schedule = Schedule::new(&graph);
        let mut pass = Pass::new(self.model);
        self.arithmetic.ops = vec![None; self.ops.len()];
        let mut unknown = Unknown::default();
        for (step, &op) in schedule.order().iter().enumerate() {
            if step.is_multiple_of(OPS_PER_POLL) {
                self.poll(control, step)?;
            }
            let node = self.nodes[op.index()];
            let outputs = pass.outputs(node, &self.scope);
            let ids: Vec<Option<TensorId>> = node.inputs.iter().map(|name| self.names.ids.get(name.as_str()).copied()).collect();
            self.arithmetic.ops[op.index()] = arithmetic(&pass.call(node, &self.scope), &ids, &outputs);
            self.ops[op.index()].bodies = std::mem::take(&mut pass.bodies);
            unknown.note(&self.ops[op.index()].name, node, &outputs);
            self.scope.facts.extend(node.outputs.iter().map(String::as_str).zip(outputs).filter(|(name, _)| !name.is_empty()));
        }
        self.warnings.extend(pass.remarks.into_iter().map(|(place, remark)| Warning::at(one_line(&place), remark)));
        self.warnings.extend(unknown.into_warnings());
        Ok(())
    }

    fn poll(&self, control: &Control<'_>, step: usize) -> Result<(), FormatError> {
        if control.is_stopped() {
            return Err(FormatError::Stopped { path: self.origin.path.clone() });
        }
        #[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
        let fraction = step as f64 / self.ops.len().max(1) as f64;
        control.report(Progress {
            what: format!("working out the shapes of {}", self.origin.file),
            fraction: Some(fraction),
            best_arena_bytes: None,
        });
        Ok(())
    }

    fn validated(&self, parts: GraphParts) -> Result<Graph, FormatError> {
        Graph::new(parts).map_err(|error| FormatError::Graph { path: self.origin.path.clone(), reason: one_message(&error.to_string()) })
    }

    fn finish(mut self) -> Result<Workload, FormatError> {
        for (name, id) in &mut self.names.ids.iter().map(|(name, id)| (*name, *id)).collect::<std::collections::BTreeMap<_, _>>() {
            let Some(fact) = self.scope.facts.remove(*name) else { continue };
            if let Some(values) = elements(&fact).filter(|_| self.names.tensors[id.index()].role.is_source()) {
                self.arithmetic.elements.insert(*id, values);
            }
            settle(&mut self.names.tensors[id.index()], fact);
        }
        self.warn_of_texts();
        let parts = GraphParts { tensors: std::mem::take(&mut self.names.tensors), ops: std::mem::take(&mut self.ops) };
        let graph = self.validated(parts)?.with_arithmetic(Arc::new(std::mem::take(&mut self.arithmetic)));
        Ok(Workload {
            file: self.origin.file.clone(),
            format: FORMAT,
            title: clean(&self.graph.name),
            description: description(self.model),
            source: Source::Graph(Arc::new(graph)),
            constraints: None,
            observed: None,
            symbolic_dims: self.symbolic_dims,
            warnings: self.warnings,
        })
    }

    fn warn_of_texts(&mut self) {
        for tensor in self.names.tensors.iter().filter(|tensor| tensor.dtype == Dtype::String) {
            self.warnings.push(Warning::at(one_line(&tensor.name), "it holds texts, which have no fixed size; no total counts it"));
        }
    }
}

fn input_fact(name: &str, ty: &Type, binder: &mut Binder<'_>) -> Fact {
    let known = match ty {
        Type::Tensor { data_type, dims: Some(dims) } => {
            let shape: Vec<u64> = dims.iter().enumerate().map(|(axis, dim)| binder.number(name, axis, dim)).collect();
            Fact::known(dtype_of(*data_type), shape)
        }
        Type::Tensor { dims: None, .. } => Err(Gap::from("the file does not say how many dimensions it has")),
        Type::Other(kind) => Err(Gap::from(format!("it is {kind}"))),
        Type::None => Err(Gap::from("the file gives it no type")),
    };
    let fact = known.unwrap_or_else(Fact::unknown);
    if fact.elements() != Some(1) {
        return fact;
    }
    match binder.chosen(name).and_then(|value| i64::try_from(value).ok()) {
        Some(value) if matches!(fact.dtype, Dtype::F32 | Dtype::F64) => fact.with(Some(Data::Floats(vec![super::value::to_float(value)]))),
        Some(value) => fact.with(Some(Data::Ints(vec![value]))),
        None => fact,
    }
}

fn description(model: &Model) -> String {
    let opset = model.opsets.iter().find(|opset| is_standard(&opset.domain)).map_or(0, |opset| opset.version);
    let producer = format!("{} {}", model.producer, model.producer_version);
    let made_by = if producer.trim().is_empty() { String::new() } else { format!("made by {}, ", clean(producer.trim())) };
    let doc = if model.doc.trim().is_empty() { String::new() } else { format!("; {}", one_message(model.doc.trim())) };
    format!("{made_by}IR version {}, operator set {opset}{doc}", model.ir_version)
}

/// Tensors without a known shape: where it begins, and what follows.
#[derive(Default)]
struct Unknown {
    warnings: Vec<Warning>,
    following: Vec<String>,
}

impl Unknown {
    fn note(&mut self, op: &str, node: &Node, outputs: &[Fact]) {
        let named = node.outputs.iter().zip(outputs).filter(|(name, fact)| !name.is_empty() && fact.shape.is_none() && fact.bytes().is_none());
        let mut origins: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, fact) in named {
            let shown = format!("`{}`", one_line(name));
            if fact.is_upstream {
                self.following.push(shown);
            } else if let Some((_, names)) = origins.iter_mut().find(|(because, _)| *because == fact.because) {
                names.push(shown);
            } else {
                origins.push((&fact.because, vec![shown]));
            }
        }
        for (because, names) in origins {
            let message = format!("the size of {} is not known: {because}; no total counts it", names.join(", "));
            self.warnings.push(Warning::at(one_line(op), message));
        }
    }

    fn into_warnings(mut self) -> Vec<Warning> {
        if !self.following.is_empty() {
            let named = self.following[..self.following.len().min(MAX_NAMED)].join(", ");
            let more = self.following.len().saturating_sub(MAX_NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            self.warnings.push(Warning::general(format!("not known because of these: {named}{more}; no total counts them")));
        }
        self.warnings
    }
}
