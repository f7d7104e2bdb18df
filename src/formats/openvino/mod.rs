//! OpenVINO's model graphs: layers with the shape of every port, and the edges between ports.
//!
//! Shapes are in the file; of an open dimension the user says the number, and `ops::rule` what follows from it. Bodies
//! of `If`, `Loop` and `TensorIterator` are graphs inside their layer. The weights' own file is not needed.

mod ops;

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;
use arenascope_planner::workload::{Source, Warning, Workload};
use roxmltree::{Document, Node, ParsingOptions};

use crate::detect::{Origin, ReadOptions};
use crate::dims::{Chosen, DEFAULT_BATCH, DEFAULT_OTHER};
use crate::error::{FormatError, clean, one_line, one_message};
use crate::open_shapes::{Input, complete};

/// The format's short name.
pub const FORMAT: &str = "openvino";

/// Bodies inside each other.
const MAX_DEPTH: usize = 8;
/// Passes over layers that stand before what they read.
const MAX_PASSES: usize = 32;
/// Elements and texts of one file.
const MAX_NODES: u32 = 50_000_000;
/// Elements with more constants than this are no index or shape.
const MAX_SMALL: u64 = 4096;

/// Ops whose result depends on chance or on state.
const UNSTEADY: &[&str] = &["Multinomial", "RandomUniform", "ReadValue", "Assign"];

/// Whether a text is such a graph.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.contains("<net ") && (text.contains("<layers") || text.contains("version="))
}

/// Reads a graph. Time and space O(file).
pub(crate) fn read(origin: &Origin, text: &str, options: &ReadOptions) -> Result<Workload, FormatError> {
    let parsing = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, parsing).map_err(|error| FormatError::Line {
        path: origin.path.clone(),
        line: u64::from(error.pos().row),
        what: one_line(&error.to_string()),
        advice: "save the model again".to_owned(),
    })?;
    let net = document.root_element();
    let mut warnings = Vec::new();
    let mut chosen = Chosen::new(&options.dims);
    let graph = graph(origin, net, &mut warnings, Some(&mut chosen), 0)?;
    let (symbolic_dims, about_dims) = chosen.finish();
    warnings.extend(about_dims);
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: clean(net.attribute("name").unwrap_or_default()),
        description: format!("IR version {}", clean(net.attribute("version").unwrap_or("unknown"))),
        source: Source::Graph(Arc::new(graph)),
        constraints: None,
        observed: None,
        symbolic_dims,
        warnings,
    })
}

/// One layer as the file has it.
struct Layer<'d, 'i> {
    node: Node<'d, 'i>,
    id: &'d str,
    kind: &'d str,
    name: &'d str,
}

fn broken(origin: &Origin, node: Node<'_, '_>, what: impl Into<String>) -> FormatError {
    let line = u64::from(node.document().text_pos_at(node.range().start).row);
    FormatError::Line { path: origin.path.clone(), line, what: what.into(), advice: "save the model again".to_owned() }
}

fn child<'d, 'i>(node: Node<'d, 'i>, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn ports<'d, 'i>(layer: Node<'d, 'i>, side: &'static str) -> impl Iterator<Item = Node<'d, 'i>> {
    child(layer, side).into_iter().flat_map(|side| side.children().filter(|port| port.has_tag_name("port")))
}

/// A graph; `chosen` has numbers for the open dimensions of its inputs, which graphs inside ops get from outside.
fn graph(
    origin: &Origin,
    net: Node<'_, '_>,
    warnings: &mut Vec<Warning>,
    chosen: Option<&mut Chosen<'_>>,
    depth: usize,
) -> Result<Graph, FormatError> {
    let Some(layers) = child(net, "layers") else { return Err(broken(origin, net, "no `layers` in the graph")) };
    let layers: Vec<Layer<'_, '_>> = layers.children().filter(|layer| layer.has_tag_name("layer")).map(layer).collect();
    let mut builder = Builder { origin, tensors: Vec::new(), declared: Vec::new(), by_port: HashMap::new(), sources: HashMap::new(), warnings };
    for layer in &layers {
        builder.outputs(layer);
    }
    if let Some(edges) = child(net, "edges") {
        for edge in edges.children().filter(|edge| edge.has_tag_name("edge")) {
            builder.edge(edge)?;
        }
    }
    if let Some(chosen) = chosen {
        builder.bind(&layers, chosen);
        builder.follow(&layers);
    }
    builder.note_unknown();
    let mut ops = Vec::new();
    for layer in &layers {
        match layer.kind {
            "Parameter" | "Const" => {}
            "Result" => builder.result(layer),
            _ => ops.push(builder.op(layer, depth)?),
        }
    }
    let parts = GraphParts { tensors: builder.tensors, ops };
    Graph::new(parts).map_err(|error| FormatError::Graph { path: origin.path.clone(), reason: one_message(&error.to_string()) })
}

fn layer<'d, 'i>(node: Node<'d, 'i>) -> Layer<'d, 'i> {
    let text = |name: &str| node.attribute(name).unwrap_or_default();
    Layer { node, id: text("id"), kind: text("type"), name: text("name") }
}

struct Builder<'b, 'd> {
    origin: &'b Origin,
    tensors: Vec<Tensor>,
    /// The dimensions of each tensor as the file has them.
    declared: Vec<Vec<Option<u64>>>,
    /// The tensor of an output, by the ids of layer and port.
    by_port: HashMap<(&'d str, &'d str), TensorId>,
    /// The tensor that an input reads, by the ids of layer and port.
    sources: HashMap<(&'d str, &'d str), TensorId>,
    warnings: &'b mut Vec<Warning>,
}

impl<'d> Builder<'_, 'd> {
    fn outputs(&mut self, layer: &Layer<'d, '_>) {
        let n_ports = ports(layer.node, "output").count();
        for (position, port) in ports(layer.node, "output").enumerate() {
            let id = TensorId::new(self.tensors.len());
            let name = if n_ports == 1 { clean(layer.name) } else { format!("{}.{position}", clean(layer.name)) };
            let (tensor, declared) = tensor(name, port, layer.kind);
            self.tensors.push(tensor);
            self.declared.push(declared);
            self.by_port.insert((layer.id, port.attribute("id").unwrap_or_default()), id);
        }
    }

    /// Gives the open dimensions of the graph's inputs their numbers.
    fn bind(&mut self, layers: &[Layer<'d, '_>], chosen: &mut Chosen<'_>) {
        for layer in layers.iter().filter(|layer| layer.kind == "Parameter") {
            for id in self.layer_outputs(layer) {
                let declared = &self.declared[id.index()];
                if declared.contains(&None) {
                    let name = self.tensors[id.index()].name.clone();
                    let default = |axis: usize| if axis == 0 { DEFAULT_BATCH } else { DEFAULT_OTHER };
                    let number = |(axis, dim): (usize, &Option<u64>)| dim.unwrap_or_else(|| chosen.axis(&name, axis, default(axis)));
                    let shape: Vec<u64> = declared.iter().enumerate().map(number).collect();
                    self.set(id, shape);
                }
            }
        }
    }

    /// Works out the open dimensions of all other tensors. Layers usually stand after those that they read; every pass
    /// that gets on is followed by another one.
    fn follow(&mut self, layers: &[Layer<'d, '_>]) {
        let mut is_settled = vec![false; layers.len()];
        for _ in 0..MAX_PASSES {
            let mut gets_on = false;
            for (layer, is_settled) in layers.iter().zip(&mut is_settled) {
                if !*is_settled {
                    *is_settled = self.follow_layer(layer);
                    gets_on |= *is_settled;
                }
            }
            if !gets_on {
                break;
            }
        }
    }

    /// Works out the outputs of a layer, once the shapes of its inputs are known; `true` if nothing more is to come.
    fn follow_layer(&mut self, layer: &Layer<'d, '_>) -> bool {
        let mut open = self.layer_outputs(layer);
        open.retain(|output| self.tensors[output.index()].shape.is_none());
        if open.is_empty() {
            return true;
        }
        let given = self.inputs(layer);
        if let Some(unknown) = given.iter().flatten().find(|input| self.tensors[input.index()].shape.is_none()) {
            let because = format!("it follows from `{}`, whose shape is not known", one_line(&self.tensors[unknown.index()].name));
            for output in open {
                self.tensors[output.index()].unknown_because.clone_from(&because);
            }
            return false;
        }
        let input = |tensor: TensorId| {
            let index = tensor.index();
            Some(Input { dims: self.tensors[index].shape.as_deref()?, declared: &self.declared[index] })
        };
        let inputs: Option<Vec<Input<'_>>> = given.iter().map(|&tensor| input(tensor?)).collect();
        let shape = |output: &TensorId| {
            let declared = &self.declared[output.index()];
            let inputs = inputs.as_deref().ok_or_else(|| "an input of its layer is not connected".to_owned())?;
            ops::rule(layer.node, declared, inputs)
                .and_then(|rule| complete(&rule, declared, inputs))
                .ok_or_else(|| format!("how its shape follows from the open dimensions is not known for {}", one_line(layer.kind)))
        };
        let shapes: Vec<Result<Vec<u64>, String>> = open.iter().map(shape).collect();
        for (output, shape) in open.into_iter().zip(shapes) {
            match shape {
                Ok(shape) => self.set(output, shape),
                Err(because) => self.tensors[output.index()].unknown_because = because,
            }
        }
        true
    }

    fn set(&mut self, id: TensorId, shape: Vec<u64>) {
        let tensor = &mut self.tensors[id.index()];
        tensor.bytes = tensor.dtype.bytes_of(&shape);
        if tensor.bytes.is_some() {
            tensor.unknown_because.clear();
        } else if tensor.dtype.bytes_of(&[1]).is_some() {
            tensor.unknown_because = "its size is more than 64 bits can count".to_owned();
        }
        tensor.shape = Some(shape);
    }

    fn note_unknown(&mut self) {
        for tensor in self.tensors.iter().filter(|tensor| tensor.bytes.is_none()) {
            let message = format!("the size of `{}` is not known: {}; no total counts it", one_line(&tensor.name), tensor.unknown_because);
            self.warnings.push(Warning::at(one_line(&tensor.name), message));
        }
    }

    fn layer_outputs(&self, layer: &Layer<'d, '_>) -> Vec<TensorId> {
        ports(layer.node, "output").filter_map(|port| self.by_port.get(&(layer.id, port.attribute("id").unwrap_or_default())).copied()).collect()
    }

    fn edge(&mut self, edge: Node<'d, '_>) -> Result<(), FormatError> {
        let text = |name: &str| edge.attribute(name).unwrap_or_default();
        let from = (text("from-layer"), text("from-port"));
        let Some(&tensor) = self.by_port.get(&from) else {
            return Err(broken(self.origin, edge, format!("layer {} has no output port {}", one_line(from.0), one_line(from.1))));
        };
        self.sources.insert((text("to-layer"), text("to-port")), tensor);
        Ok(())
    }

    fn inputs(&self, layer: &Layer<'d, '_>) -> Vec<Option<TensorId>> {
        ports(layer.node, "input").map(|port| self.sources.get(&(layer.id, port.attribute("id").unwrap_or_default())).copied()).collect()
    }

    /// What the caller gets; a weight or an input that is also a result stays what it is.
    fn result(&mut self, layer: &Layer<'d, '_>) {
        for id in self.inputs(layer).into_iter().flatten() {
            let tensor = &mut self.tensors[id.index()];
            if !tensor.role.is_source() {
                tensor.role = Role::GraphOutput;
            }
        }
    }

    fn op(&mut self, layer: &Layer<'d, '_>, depth: usize) -> Result<Op, FormatError> {
        let kind = clean(layer.kind);
        let given = self.inputs(layer);
        let outputs = self.layer_outputs(layer);
        let inputs: Vec<TensorId> = given.iter().copied().flatten().collect();
        if given.contains(&None) {
            self.warnings.push(Warning::at(one_line(layer.name), "an input of this layer is not connected"));
        }
        let is_view = ops::is_view(layer.kind);
        let view = given.first().copied().flatten().zip(outputs.first().copied()).filter(|_| is_view);
        let mut bodies = Vec::new();
        for body in layer.node.children().filter(|child| matches!(child.tag_name().name(), "body" | "then_body" | "else_body")) {
            if depth >= MAX_DEPTH {
                return Err(broken(self.origin, body, format!("bodies are nested more than {MAX_DEPTH} deep")));
            }
            bodies.push(Arc::new(graph(self.origin, body, self.warnings, None, depth + 1)?));
        }
        Ok(Op {
            name: if layer.name.is_empty() { format!("{kind}_{}", clean(layer.id)) } else { clean(layer.name) },
            in_place: if ops::is_in_place(layer.kind) { InPlace::AnyInput } else { InPlace::No },
            foldable: !UNSTEADY.contains(&layer.kind) && !inputs.is_empty(),
            views: view.into_iter().collect(),
            kind,
            inputs,
            outputs,
            bodies,
        })
    }
}

/// The tensor of a port, with its dimensions as the file has them.
fn tensor(name: String, port: Node<'_, '_>, kind: &str) -> (Tensor, Vec<Option<u64>>) {
    let precision = port.attribute("precision").unwrap_or_default();
    let dtype = dtype(precision);
    let dims = port.children().filter(|dim| dim.has_tag_name("dim"));
    let declared: Vec<Option<u64>> = dims.map(|dim| dim.text().and_then(|text| text.trim().parse().ok())).collect();
    let shape: Option<Vec<u64>> = declared.iter().copied().collect();
    let bytes = shape.as_ref().and_then(|shape| dtype.bytes_of(shape));
    let unknown_because = match (&shape, bytes) {
        (_, Some(_)) => String::new(),
        (None, None) => "the file leaves a dimension of it open".to_owned(),
        (Some(_), None) if dtype.bytes_of(&[1]).is_some() => "its size is more than 64 bits can count".to_owned(),
        (Some(_), None) => format!("nothing is known of the size of `{}`", one_line(precision)),
    };
    let elements = shape.as_ref().and_then(|shape| shape.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim)));
    let is_small = elements.is_some_and(|elements| elements <= MAX_SMALL) && matches!(dtype, Dtype::I64 | Dtype::I32 | Dtype::Bool);
    let role = match kind {
        "Parameter" => Role::GraphInput,
        "Const" if is_small => Role::Constant,
        "Const" => Role::Parameter,
        _ => Role::Activation,
    };
    (Tensor { name, dtype, shape, bytes, role, unknown_because }, declared)
}

/// An element type by the name that ports give it.
fn dtype(precision: &str) -> Dtype {
    match precision.to_ascii_uppercase().as_str() {
        "FP64" | "F64" => Dtype::F64,
        "FP32" | "F32" => Dtype::F32,
        "FP16" | "F16" => Dtype::F16,
        "BF16" => Dtype::BF16,
        "F8E4M3" => Dtype::F8E4M3,
        "F8E5M2" => Dtype::F8E5M2,
        "F8E8M0" => Dtype::F8E8M0,
        "F4E2M1" | "NF4" => Dtype::F4E2M1,
        "I64" => Dtype::I64,
        "I32" => Dtype::I32,
        "I16" => Dtype::I16,
        "I8" => Dtype::I8,
        "I4" => Dtype::I4,
        "U64" => Dtype::U64,
        "U32" => Dtype::U32,
        "U16" => Dtype::U16,
        "U8" => Dtype::U8,
        "U4" => Dtype::U4,
        "U2" => Dtype::U2,
        "BOOL" | "BOOLEAN" => Dtype::Bool,
        "STRING" => Dtype::String,
        _ => Dtype::Unknown,
    }
}
