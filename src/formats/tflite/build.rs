//! From the tables of a TFLite file to a graph.

use std::sync::Arc;

use arenascope_planner::graph::{Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;
use arenascope_planner::workload::{ObservedPlan, Source, Warning, Workload};

use super::FORMAT;
use super::open::bind;
use super::ops::{is_in_place, is_steady, is_view};
use super::schema::{Model, Operator, SubGraph, TensorDef};
use crate::detect::Origin;
use crate::dims::Chosen;
use crate::error::{FormatError, clean, one_line, one_message};

/// Graphs inside each other.
const MAX_DEPTH: usize = 16;

/// Makes a workload of the file's first graph.
pub(super) fn workload(origin: &Origin, model: &Model, dims: &[(String, u64)]) -> Result<Workload, FormatError> {
    let n_graphs = model.subgraphs.len();
    let (made, is_begun) = (vec![None; n_graphs], vec![false; n_graphs]);
    let mut builder = Builder { origin, model, warnings: Vec::new(), made, is_begun, chosen: Chosen::new(dims), is_rebound: false };
    let Some(first) = model.subgraphs.first() else {
        return Err(FormatError::Damaged { path: origin.path.clone(), offset: 0, what: "the model holds no graph".to_owned() });
    };
    let graph = builder.graph(0, 0)?;
    let reached = builder.made.iter().filter(|made| made.is_some()).count();
    if reached < model.subgraphs.len() {
        let message = format!("the file holds {} graphs; the first and those that it runs are planned", model.subgraphs.len());
        builder.warnings.push(Warning::general(message));
    }
    let observed = builder.observed(first);
    let (symbolic_dims, about_dims) = builder.chosen.finish();
    builder.warnings.extend(about_dims);
    let made_by = if model.description.trim().is_empty() { String::new() } else { format!("{}, ", one_message(model.description.trim())) };
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: clean(&first.name),
        description: format!("{made_by}schema version {}", model.version),
        source: Source::Graph(graph),
        constraints: None,
        observed,
        symbolic_dims,
        warnings: builder.warnings,
    })
}

struct Builder<'m> {
    origin: &'m Origin,
    model: &'m Model,
    warnings: Vec<Warning>,
    /// Graphs that are done, by their position in the file.
    made: Vec<Option<Arc<Graph>>>,
    /// Graphs that are done or being made: a graph inside itself would never end.
    is_begun: Vec<bool>,
    /// Numbers for open axes.
    chosen: Chosen<'m>,
    /// Whether an open axis has another number than the stored one.
    is_rebound: bool,
}

impl Builder<'_> {
    fn graph(&mut self, index: usize, depth: usize) -> Result<Arc<Graph>, FormatError> {
        let model = self.model;
        self.is_begun[index] = true;
        let def = &model.subgraphs[index];
        let mut tensors: Vec<Tensor> = def.tensors.iter().enumerate().map(|(position, tensor)| self.tensor(position, tensor)).collect();
        if depth == 0 {
            self.is_rebound = bind(def, &mut tensors, &mut self.chosen);
        }
        self.roles(def, &mut tensors)?;
        let mut ops = Vec::with_capacity(def.operators.len());
        for (position, operator) in def.operators.iter().enumerate() {
            ops.push(self.op(def, position, operator, &tensors, depth)?);
        }
        self.note_unknown(&tensors, &ops);
        let graph = Graph::new(GraphParts { tensors, ops });
        let graph = graph.map_err(|error| FormatError::Graph { path: self.origin.path.clone(), reason: one_message(&error.to_string()) })?;
        let graph = Arc::new(graph);
        self.made[index] = Some(Arc::clone(&graph));
        Ok(graph)
    }

    fn tensor(&mut self, position: usize, def: &TensorDef) -> Tensor {
        let name = if def.name.is_empty() { format!("tensor {position}") } else { clean(&def.name) };
        let shape: Option<Vec<u64>> = def.shape.iter().map(|&dim| u64::try_from(dim).ok()).collect();
        let bytes = shape.as_ref().and_then(|shape| def.dtype.bytes_of(shape));
        let unknown_because = match (bytes, &shape) {
            (Some(_), _) => String::new(),
            (None, _) if !def.type_remark.is_empty() => def.type_remark.to_owned(),
            (None, None) => format!("the file gives it the shape {:?}", def.shape),
            (None, Some(_)) => "its size is more than 64 bits can count".to_owned(),
        };
        Tensor { name, dtype: def.dtype, shape, bytes, role: Role::Activation, unknown_because }
    }

    /// Weights and variables first; what is left of the inputs and outputs are the caller's.
    fn roles(&mut self, def: &SubGraph, tensors: &mut [Tensor]) -> Result<(), FormatError> {
        let mut is_written = vec![false; tensors.len()];
        for operator in &def.operators {
            for &output in &operator.outputs {
                if let Some(index) = self.index(output, tensors.len())? {
                    is_written[index] = true;
                }
            }
        }
        for (tensor, definition) in tensors.iter_mut().zip(&def.tensors) {
            let has_data = usize::try_from(definition.buffer).ok().and_then(|buffer| self.model.has_data.get(buffer));
            if definition.is_variable {
                tensor.role = Role::OptimizerState;
            } else if definition.buffer != 0 && has_data == Some(&true) {
                tensor.role = Role::Parameter;
            }
        }
        for &input in &def.inputs {
            let Some(index) = self.index(input, tensors.len())? else { continue };
            if tensors[index].role == Role::Activation {
                tensors[index].role = Role::GraphInput;
            }
        }
        for &output in &def.outputs {
            let Some(index) = self.index(output, tensors.len())? else { continue };
            if tensors[index].role == Role::Activation && is_written[index] {
                tensors[index].role = Role::GraphOutput;
            }
        }
        self.ownerless(def, tensors, &is_written)
    }

    /// Tensors that an op names as inputs although nothing fills them: empty ones are constants, others are scratch
    /// memory of compiled ops, which their compiler lets overlap the graph's own tensors.
    fn ownerless(&mut self, def: &SubGraph, tensors: &mut [Tensor], is_written: &[bool]) -> Result<(), FormatError> {
        for operator in &def.operators {
            for &input in &operator.inputs {
                let Some(index) = self.index(input, tensors.len())? else { continue };
                if tensors[index].role != Role::Activation || is_written[index] {
                    continue;
                }
                if tensors[index].bytes == Some(0) {
                    tensors[index].role = Role::Constant;
                } else {
                    tensors[index].role = Role::Workspace;
                    let bytes = tensors[index].bytes.map_or_else(|| "an unknown number of".to_owned(), |bytes| bytes.to_string());
                    let message = format!("nothing fills it before it is read: scratch memory of {bytes} bytes, which no total counts");
                    self.warnings.push(Warning::at(one_line(&tensors[index].name), message));
                }
            }
        }
        Ok(())
    }

    /// A tensor's position; `None` for −1, an optional tensor that is left out.
    fn index(&self, number: i32, n_tensors: usize) -> Result<Option<usize>, FormatError> {
        if number == -1 {
            return Ok(None);
        }
        let index = usize::try_from(number).ok().filter(|&index| index < n_tensors);
        index.map(Some).ok_or_else(|| FormatError::Damaged {
            path: self.origin.path.clone(),
            offset: 0,
            what: format!("an op or the graph names tensor {number}, but there are {n_tensors}"),
        })
    }

    fn op(&mut self, def: &SubGraph, position: usize, operator: &Operator, tensors: &[Tensor], depth: usize) -> Result<Op, FormatError> {
        let kind = clean(&operator.kind);
        let ids = |numbers: &[i32]| -> Result<Vec<TensorId>, FormatError> {
            let found: Result<Vec<Option<usize>>, FormatError> = numbers.iter().map(|&number| self.index(number, def.tensors.len())).collect();
            Ok(found?.into_iter().flatten().map(TensorId::new).collect())
        };
        let inputs: Vec<TensorId> = ids(&operator.inputs)?.into_iter().filter(|input| tensors[input.index()].role != Role::Workspace).collect();
        let (outputs, overwritten): (Vec<TensorId>, Vec<TensorId>) =
            ids(&operator.outputs)?.into_iter().partition(|output| !tensors[output.index()].role.is_source());
        for output in overwritten {
            self.warnings.push(Warning::at(
                one_line(&tensors[output.index()].name),
                format!("op {position} ({kind}) writes it although it is not the graph's to write"),
            ));
        }
        let first = |numbers: &[i32]| numbers.first().and_then(|&number| usize::try_from(number).ok()).map(TensorId::new);
        let view = first(&operator.inputs).zip(outputs.first().copied()).filter(|(input, _)| is_view(&kind) && inputs.contains(input));
        let bodies = self.bodies(position, operator, depth)?;
        if self.is_rebound && depth == 0 && !bodies.is_empty() {
            let message = "the graphs inside it keep their stored shapes, whatever --dim says";
            self.warnings.push(Warning::at(format!("op {position}"), message));
        }
        Ok(Op {
            name: format!("{kind}_{position}"),
            in_place: if is_in_place(&kind) { InPlace::AnyInput } else { InPlace::No },
            foldable: is_steady(&kind) && !inputs.is_empty(),
            views: view.into_iter().collect(),
            kind,
            inputs,
            outputs,
            bodies,
        })
    }

    fn bodies(&mut self, position: usize, operator: &Operator, depth: usize) -> Result<Vec<Arc<Graph>>, FormatError> {
        let mut bodies = Vec::new();
        for &number in &operator.graphs {
            let index = usize::try_from(number).ok().filter(|&index| index < self.model.subgraphs.len());
            match index.map(|index| (index, self.made[index].clone(), self.is_begun[index])) {
                Some((_, Some(made), _)) => bodies.push(made),
                Some((index, None, false)) if depth < MAX_DEPTH => bodies.push(self.graph(index, depth + 1)?),
                _ => {
                    let message = format!("it runs graph {number}, which is not in the file, or runs itself; its memory is not counted");
                    self.warnings.push(Warning::at(format!("op {position}"), message));
                }
            }
        }
        Ok(bodies)
    }

    fn note_unknown(&mut self, tensors: &[Tensor], ops: &[Op]) {
        for output in ops.iter().flat_map(|op| &op.outputs) {
            let tensor = &tensors[output.index()];
            if tensor.bytes.is_none() {
                let message = format!("its size is not known: {}; no total counts it", tensor.unknown_because);
                self.warnings.push(Warning::at(one_line(&tensor.name), message));
            }
        }
    }

    fn observed(&mut self, first: &SubGraph) -> Option<ObservedPlan> {
        let plan = self.model.offline.as_ref()?;
        if self.is_rebound {
            self.warnings.push(Warning::general("the plan in the file is for its stored shapes and not shown: --dim asks for others"));
            return None;
        }
        // Compilers write 1 where the runtime's documentation asks for the graph's position, 0; the runtime looks at neither.
        if plan.offsets.len() != first.tensors.len() {
            let (places, has) = (plan.offsets.len(), first.tensors.len());
            let message = format!("the plan in the file (for graph {}) places {places} tensors, but the graph has {has}", plan.subgraph);
            self.warnings.push(Warning::general(message));
        }
        let place = |index: usize| plan.offsets.get(index).and_then(|&offset| u64::try_from(offset).ok());
        let offsets: Vec<Option<u64>> = (0..first.tensors.len()).map(place).collect();
        let is_used = offsets.iter().any(Option::is_some);
        is_used.then(|| ObservedPlan { tool: "the file's offline plan".to_owned(), offsets, arena_bytes: None })
    }
}
