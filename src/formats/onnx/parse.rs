//! The messages of an ONNX file, read in one pass; weights, texts and metadata are skipped.

use std::io::{Read, Seek};

use arenascope_planner::control::Control;

use super::model::{Attribute, AttributeValue, Dim, Function, GraphDef, Model, Node, Opset, TensorDef, Type, ValueInfo};
use super::tensor_data::tensor;
use super::wire::{Field, Reader, Wire};
use crate::error::FormatError;

/// Graphs inside graphs; real models have three or four.
const MAX_DEPTH: usize = 24;
/// Entries of all kinds; keeps memory within a multiple of any real model's.
const MAX_ENTRIES: usize = 2_000_000;
/// Numbers kept of a list attribute; longer ones are tree ensembles and tables, which decide no shape.
pub(super) const MAX_LIST: usize = 4096;
/// Dimensions of a tensor; ONNX runtimes stop at 8 or 32.
pub(super) const MAX_RANK: usize = 64;

/// Reads the model's structure.
pub(super) fn model<R: Read + Seek>(reader: &mut Reader<'_, R>, control: &Control<'_>) -> Result<Model, FormatError> {
    let mut parser = Parser { reader, control, n_entries: 0 };
    let end = parser.reader.end();
    let mut model = Model::default();
    while let Some(field) = parser.reader.field(end)? {
        match (field.number, field.wire) {
            (1, Wire::Varint) => model.ir_version = parser.reader.int(end)?,
            (2, Wire::Length) => model.producer = parser.reader.text(end)?,
            (3, Wire::Length) => model.producer_version = parser.reader.text(end)?,
            (6, Wire::Length) => model.doc = parser.reader.short_text(end)?.unwrap_or_default(),
            (7, Wire::Length) => {
                let graph_end = parser.reader.length(end)?;
                model.graph = Some(parser.graph(graph_end, 0)?);
            }
            (8, Wire::Length) => {
                let opset_end = parser.reader.length(end)?;
                model.opsets.push(parser.opset(opset_end)?);
            }
            (25, Wire::Length) => {
                let function_end = parser.reader.length(end)?;
                model.functions.push(parser.function(function_end)?);
            }
            _ => parser.reader.skip(field.wire, end)?,
        }
    }
    Ok(model)
}

struct Parser<'r, 'a, R> {
    reader: &'r mut Reader<'a, R>,
    control: &'r Control<'r>,
    n_entries: usize,
}

impl<R: Read + Seek> Parser<'_, '_, R> {
    /// Counts an entry; refuses files that unfold to more than any model needs.
    fn count(&mut self) -> Result<(), FormatError> {
        self.n_entries += 1;
        if self.n_entries > MAX_ENTRIES {
            return Err(self.reader.damaged(self.reader.at(), format!("more than {MAX_ENTRIES} entries")));
        }
        if self.n_entries.is_multiple_of(1024) && self.control.is_stopped() {
            return Err(FormatError::Stopped { path: self.reader.path().to_owned() });
        }
        Ok(())
    }

    fn opset(&mut self, end: u64) -> Result<Opset, FormatError> {
        self.count()?;
        let mut opset = Opset::default();
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Length) => opset.domain = self.reader.text(end)?,
                (2, Wire::Varint) => opset.version = self.reader.int(end)?,
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(opset)
    }

    fn graph(&mut self, end: u64, depth: usize) -> Result<GraphDef, FormatError> {
        if depth > MAX_DEPTH {
            return Err(self.reader.damaged(self.reader.at(), format!("graphs nested more than {MAX_DEPTH} deep")));
        }
        let mut graph = GraphDef::default();
        while let Some(field) = self.reader.field(end)? {
            if field.wire != Wire::Length {
                self.reader.skip(field.wire, end)?;
                continue;
            }
            match field.number {
                2 => graph.name = self.reader.text(end)?,
                1 | 5 | 11 | 12 | 15 => {
                    self.count()?;
                    let inner = self.reader.length(end)?;
                    match field.number {
                        1 => graph.nodes.push(self.node(inner, depth)?),
                        5 => graph.initializers.push(tensor(self.reader, inner)?),
                        11 => graph.inputs.push(self.value_info(inner)?),
                        12 => graph.outputs.push(self.value_info(inner)?),
                        _ => graph.initializers.push(self.sparse(inner)?),
                    }
                }
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(graph)
    }

    /// A sparse initialiser: counted with its dense dimensions.
    fn sparse(&mut self, end: u64) -> Result<TensorDef, FormatError> {
        let mut values = TensorDef::default();
        let mut dims = Vec::new();
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Length) => {
                    let inner = self.reader.length(end)?;
                    values = tensor(self.reader, inner)?;
                }
                (3, _) => ints(self.reader, field, end, MAX_RANK, &mut dims)?,
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(TensorDef { dims, data: None, ..values })
    }

    fn node(&mut self, end: u64, depth: usize) -> Result<Node, FormatError> {
        let mut node = Node::default();
        while let Some(field) = self.reader.field(end)? {
            if field.wire != Wire::Length {
                self.reader.skip(field.wire, end)?;
                continue;
            }
            match field.number {
                1 | 2 => {
                    self.count()?;
                    let name = self.reader.text(end)?;
                    if field.number == 1 { node.inputs.push(name) } else { node.outputs.push(name) }
                }
                3 => node.name = self.reader.text(end)?,
                4 => node.kind = self.reader.text(end)?,
                5 => {
                    self.count()?;
                    let inner = self.reader.length(end)?;
                    node.attributes.push(self.attribute(inner, depth)?);
                }
                7 => node.domain = self.reader.text(end)?,
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(node)
    }

    fn attribute(&mut self, end: u64, depth: usize) -> Result<Attribute, FormatError> {
        let mut parts = AttributeParts::default();
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Length) => parts.name = self.reader.text(end)?,
                (21, Wire::Length) => parts.reference = self.reader.text(end)?,
                (20, Wire::Varint) => parts.kind = self.reader.int(end)?,
                (2, Wire::Fixed32) => parts.float = Some(f64::from(self.reader.f32(end)?)),
                (3, Wire::Varint) => parts.int = Some(self.reader.int(end)?),
                (4, Wire::Length) => parts.text = self.reader.short_text(end)?,
                (5, Wire::Length) => {
                    let inner = self.reader.length(end)?;
                    parts.tensor = Some(Box::new(tensor(self.reader, inner)?));
                }
                (6 | 11, Wire::Length) => {
                    self.count()?;
                    let inner = self.reader.length(end)?;
                    parts.graphs.push(self.graph(inner, depth + 1)?);
                }
                (7, _) => floats(self.reader, field, end, MAX_LIST, &mut parts.floats)?,
                (8, _) => ints(self.reader, field, end, MAX_LIST, &mut parts.ints)?,
                (9, Wire::Length) => {
                    parts.n_texts += 1;
                    self.reader.skip(field.wire, end)?;
                }
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(parts.into_attribute())
    }

    fn function(&mut self, end: u64) -> Result<Function, FormatError> {
        self.count()?;
        let mut function = Function::default();
        while let Some(field) = self.reader.field(end)? {
            if field.wire != Wire::Length {
                self.reader.skip(field.wire, end)?;
                continue;
            }
            match field.number {
                1 => function.name = self.reader.text(end)?,
                4 => function.inputs.push(self.counted_text(end)?),
                5 => function.outputs.push(self.counted_text(end)?),
                7 => {
                    self.count()?;
                    let inner = self.reader.length(end)?;
                    function.nodes.push(self.node(inner, 0)?);
                }
                9 => {
                    let inner = self.reader.length(end)?;
                    function.opsets.push(self.opset(inner)?);
                }
                10 => function.domain = self.reader.text(end)?,
                11 => {
                    self.count()?;
                    let inner = self.reader.length(end)?;
                    function.defaults.push(self.attribute(inner, 0)?);
                }
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(function)
    }

    fn counted_text(&mut self, end: u64) -> Result<String, FormatError> {
        self.count()?;
        self.reader.text(end)
    }

    fn value_info(&mut self, end: u64) -> Result<ValueInfo, FormatError> {
        let mut info = ValueInfo::default();
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Length) => info.name = self.reader.text(end)?,
                (2, Wire::Length) => {
                    let inner = self.reader.length(end)?;
                    info.ty = self.value_type(inner)?;
                }
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(info)
    }

    fn value_type(&mut self, end: u64) -> Result<Type, FormatError> {
        let mut ty = Type::None;
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Length) => {
                    let inner = self.reader.length(end)?;
                    ty = self.tensor_type(inner)?;
                    continue;
                }
                (4, _) => ty = Type::Other("a sequence"),
                (5, _) => ty = Type::Other("a map"),
                (8, _) => ty = Type::Other("a sparse tensor"),
                (9, _) => ty = Type::Other("an optional"),
                _ => {}
            }
            self.reader.skip(field.wire, end)?;
        }
        Ok(ty)
    }

    fn tensor_type(&mut self, end: u64) -> Result<Type, FormatError> {
        let (mut data_type, mut dims) = (0, None);
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Varint) => data_type = self.reader.int(end)?,
                (2, Wire::Length) => {
                    let inner = self.reader.length(end)?;
                    dims = Some(self.dims(inner)?);
                }
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(Type::Tensor { data_type, dims })
    }

    fn dims(&mut self, end: u64) -> Result<Vec<Dim>, FormatError> {
        let mut dims = Vec::new();
        while let Some(field) = self.reader.field(end)? {
            if (field.number, field.wire) != (1, Wire::Length) {
                self.reader.skip(field.wire, end)?;
                continue;
            }
            let inner = self.reader.length(end)?;
            if dims.len() == MAX_RANK {
                return Err(self.reader.damaged(self.reader.at(), format!("a tensor with more than {MAX_RANK} dimensions")));
            }
            dims.push(self.dim(inner)?);
        }
        Ok(dims)
    }

    fn dim(&mut self, end: u64) -> Result<Dim, FormatError> {
        let mut dim = Dim::Open;
        while let Some(field) = self.reader.field(end)? {
            match (field.number, field.wire) {
                (1, Wire::Varint) => dim = Dim::Value(self.reader.int(end)?),
                (2, Wire::Length) => dim = Dim::Symbol(self.reader.text(end)?),
                _ => self.reader.skip(field.wire, end)?,
            }
        }
        Ok(if dim == Dim::Symbol(String::new()) { Dim::Open } else { dim })
    }
}

/// The fields of an attribute as they come.
#[derive(Default)]
struct AttributeParts {
    name: String,
    reference: String,
    kind: i64,
    float: Option<f64>,
    int: Option<i64>,
    text: Option<String>,
    tensor: Option<Box<TensorDef>>,
    graphs: Vec<GraphDef>,
    floats: Vec<f64>,
    ints: Vec<i64>,
    n_texts: usize,
}

impl AttributeParts {
    /// Old files leave the kind out, and writers of plain proto3 leave zeros out: either must be enough.
    fn into_attribute(self) -> Attribute {
        let kind = match self.kind {
            0 if self.float.is_some() => 1,
            0 if self.int.is_some() => 2,
            0 if self.text.is_some() => 3,
            0 if self.tensor.is_some() => 4,
            0 if !self.graphs.is_empty() => 5,
            0 if !self.floats.is_empty() => 6,
            0 if !self.ints.is_empty() => 7,
            0 if self.n_texts > 0 => 8,
            kind => kind,
        };
        let mut graphs = self.graphs;
        let value = match kind {
            1 => AttributeValue::Float(self.float.unwrap_or(0.0)),
            2 => AttributeValue::Int(self.int.unwrap_or(0)),
            3 => AttributeValue::Text(self.text.unwrap_or_default()),
            4 => self.tensor.map_or(AttributeValue::Other, AttributeValue::Tensor),
            5 => graphs.pop().map_or(AttributeValue::Other, |graph| AttributeValue::Graph(Box::new(graph))),
            6 if self.floats.len() <= MAX_LIST => AttributeValue::Floats(self.floats),
            7 if self.ints.len() <= MAX_LIST => AttributeValue::Ints(self.ints),
            8 => AttributeValue::Texts(self.n_texts),
            10 => AttributeValue::Graphs(graphs),
            _ => AttributeValue::Other,
        };
        Attribute { name: self.name, reference: self.reference, value }
    }
}

/// Adds one number or a packed run of them; one past `limit` is kept as the sign that there were more.
pub(super) fn ints<R: Read + Seek>(reader: &mut Reader<'_, R>, field: Field, end: u64, limit: usize, into: &mut Vec<i64>) -> Result<(), FormatError> {
    match field.wire {
        Wire::Varint => push_limited(reader.int(end)?, limit, into),
        Wire::Length => {
            let run_end = reader.length(end)?;
            while reader.at() < run_end && into.len() <= limit {
                push_limited(reader.int(run_end)?, limit, into);
            }
            reader.go_to(run_end)?;
        }
        Wire::Fixed32 | Wire::Fixed64 => reader.skip(field.wire, end)?,
    }
    Ok(())
}

/// As [`ints`], for 32-bit floats.
pub(super) fn floats<R: Read + Seek>(
    reader: &mut Reader<'_, R>,
    field: Field,
    end: u64,
    limit: usize,
    into: &mut Vec<f64>,
) -> Result<(), FormatError> {
    match field.wire {
        Wire::Fixed32 => push_limited(f64::from(reader.f32(end)?), limit, into),
        Wire::Length => {
            let run_end = reader.length(end)?;
            while reader.at() < run_end && into.len() <= limit {
                push_limited(f64::from(reader.f32(run_end)?), limit, into);
            }
            reader.go_to(run_end)?;
        }
        Wire::Varint | Wire::Fixed64 => reader.skip(field.wire, end)?,
    }
    Ok(())
}

fn push_limited<T>(value: T, limit: usize, into: &mut Vec<T>) {
    if into.len() <= limit {
        into.push(value);
    }
}
