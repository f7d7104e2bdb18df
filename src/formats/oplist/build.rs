//! From the entries of an op list to a validated graph: names resolved, sizes and roles filled in.

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::arithmetic::ArithmeticTable;
use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;
use arenascope_planner::units::parse_bytes;
use arenascope_planner::workload::{Source, Warning, Workload};

use super::FORMAT;
use super::arithmetic::arithmetic;
use super::classes::{Class, class_of};
use super::entries::{FileEntry, OpEntry, Reference, Size, TensorEntry};
use crate::detect::Origin;
use crate::error::{FormatError, one_line};
use crate::json_fault;

/// The value of `format`.
const VERSION: &str = "op-list-v1";
/// Fields that exporters add and that mean nothing here.
const KNOWN_EXTRAS: &[&str] = &["loss", "gradients", "version"];

/// Reads an op list. Time and space O(tensors + reads).
pub(crate) fn read(origin: &Origin, text: &str) -> Result<Workload, FormatError> {
    let file = parse(origin, text)?;
    let mut builder = Builder::new(origin, &file)?;
    let outputs = builder.outputs(&file)?;
    let ops = file.ops.iter().enumerate().map(|(index, op)| builder.op(index, op)).collect::<Result<Vec<Op>, _>>()?;
    builder.roles(&file, &ops, &outputs)?;
    let Builder { tensors, warnings, .. } = builder;
    let known = ops.iter().map(|op| arithmetic(&op.kind, &tensors, &op.inputs, &op.outputs)).collect();
    let table = ArithmeticTable { ops: known, ..ArithmeticTable::default() };
    let graph = Graph::new(GraphParts { tensors, ops }).map(|graph| graph.with_arithmetic(Arc::new(table)));
    let graph = graph.map_err(|error| FormatError::Graph { path: origin.path.clone(), reason: one_line(&error.to_string()) })?;
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: file.title.or(file.model).unwrap_or_default(),
        description: file.description.or(file.producer).unwrap_or_default(),
        source: Source::Graph(Arc::new(graph)),
        constraints: None,
        observed: None,
        symbolic_dims: Vec::new(),
        warnings,
    })
}

fn parse(origin: &Origin, text: &str) -> Result<FileEntry, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let file: FileEntry = serde_json::from_str(text).map_err(|error| {
        let what = format!("column {}: {}", error.column(), json_fault::what(&error));
        let advice = match error.classify() {
            serde_json::error::Category::Eof => "the file is cut off: export or download it again",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "correct the JSON there",
            serde_json::error::Category::Data => match kind(text).as_deref() {
                Some("plan") => "this is a plan: give the model, and the plan to `check`",
                Some("run") => "this is a recorded run: open it in the window, or draw it with `render --view run`",
                _ => "an op list has `format`, `tensors` and `ops`",
            },
        };
        FormatError::Line { path: origin.path.clone(), line: error.line().max(1) as u64, what, advice: advice.to_owned() }
    })?;
    if file.format == VERSION {
        return Ok(file);
    }
    let what = format!("`{}` is not `{VERSION}`", one_line(&file.format));
    Err(FormatError::Entry {
        path: origin.path.clone(),
        place: "field `format`".to_owned(),
        what,
        advice: format!("write \"format\": \"{VERSION}\""),
    })
}

/// The field `kind` of the program's own files: `plan` or `run`.
fn kind(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_json::from_str::<Kind>(text).ok().map(|file| file.kind)
}

struct Builder<'a> {
    origin: &'a Origin,
    tensors: Vec<Tensor>,
    by_id: HashMap<u64, TensorId>,
    by_name: HashMap<String, TensorId>,
    /// The storage that each tensor says it shares, by tensor id; `None` if it says nothing.
    alias_of: Vec<Option<Option<TensorId>>>,
    /// The tensor at the end of each chain of `alias_of`, by tensor id.
    roots: Vec<TensorId>,
    warnings: Vec<Warning>,
}

impl<'a> Builder<'a> {
    fn new(origin: &'a Origin, file: &FileEntry) -> Result<Self, FormatError> {
        let mut builder = Self {
            origin,
            tensors: Vec::new(),
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            alias_of: Vec::new(),
            roots: Vec::new(),
            warnings: Vec::new(),
        };
        builder.warn_of_unknown_fields("file", file.other.keys());
        for entry in &file.tensors {
            builder.tensor(entry)?;
        }
        for (index, entry) in file.tensors.iter().enumerate() {
            let said = match &entry.alias_of {
                None => None,
                Some(None) => Some(None),
                Some(Some(base)) => Some(Some(builder.find(base, &format!("tensor `{}`", builder.tensors[index].name), "alias_of")?)),
            };
            builder.alias_of.push(said);
        }
        builder.roots = storage_roots(&builder.alias_of);
        Ok(builder)
    }

    fn broken(&self, place: impl AsRef<str>, what: impl Into<String>, advice: &str) -> FormatError {
        FormatError::Entry { path: self.origin.path.clone(), place: one_line(place.as_ref()), what: what.into(), advice: advice.to_owned() }
    }

    fn warn_of_unknown_fields<'k>(&mut self, place: &str, keys: impl Iterator<Item = &'k String>) {
        for key in keys.filter(|key| !KNOWN_EXTRAS.contains(&key.as_str())) {
            self.warnings.push(Warning::at(one_line(place), format!("field `{}` means nothing here and is not used", one_line(key))));
        }
    }

    fn tensor(&mut self, entry: &TensorEntry) -> Result<(), FormatError> {
        let index = self.tensors.len();
        let name = match (&entry.name, entry.id) {
            (Some(name), _) => one_line(name),
            (None, Some(id)) => format!("t{id}"),
            (None, None) => return Err(self.broken(format!("tensor {index}"), "it has neither `id` nor `name`", "give it a name")),
        };
        let place = format!("tensor `{name}`");
        self.warn_of_unknown_fields(&place, entry.other.keys());
        let dtype = match &entry.dtype {
            None => Dtype::Unknown,
            Some(text) => {
                dtype(text).ok_or_else(|| self.broken(&place, format!("unknown dtype `{}`", one_line(text)), "write for example `float32`"))?
            }
        };
        let bytes = self.size(entry, dtype, &place)?;
        let unknown_because = if bytes.is_some() { String::new() } else { "the file gives neither `bytes` nor both `dtype` and `shape`".to_owned() };
        if bytes.is_none() {
            self.warnings.push(Warning::at(&place, "its size is not known: give `bytes`, or `dtype` and `shape`; no total counts it"));
        }
        let id = TensorId::new(index);
        if let Some(number) = entry.id
            && self.by_id.insert(number, id).is_some()
        {
            return Err(self.broken(&place, format!("a second tensor with id {number}"), "give each its own id"));
        }
        let named_twice = self.by_name.insert(name.clone(), id).is_some();
        if named_twice && entry.id.is_none() {
            return Err(self.broken(&place, "a second tensor with this name", "give each its own name, or ids"));
        }
        let role = entry.kind.as_deref().map_or(Ok(Role::Activation), |kind| self.role(kind, &place))?;
        self.tensors.push(Tensor { name, dtype, shape: entry.shape.clone(), bytes, role, unknown_because });
        Ok(())
    }

    fn size(&mut self, entry: &TensorEntry, dtype: Dtype, place: &str) -> Result<Option<u64>, FormatError> {
        let derived = match &entry.shape {
            Some(shape) if dtype.bits().is_some() => {
                let overflow = || self.broken(place, format!("{} × {shape:?} is more than 64-bit bytes", dtype.name()), "correct its shape");
                Some(dtype.bytes_of(shape).ok_or_else(overflow)?)
            }
            _ => None,
        };
        let given = match &entry.bytes {
            None => return Ok(derived),
            Some(Size::Bytes(bytes)) => *bytes,
            Some(Size::Text(text)) => parse_bytes(text).map_err(|what| self.broken(place, one_line(&what), "write for example 4096 or \"4 KiB\""))?,
        };
        if let Some(derived) = derived.filter(|&derived| derived != given) {
            self.warnings.push(Warning::at(place, format!("`bytes` says {given}, dtype and shape make {derived}; {given} is used")));
        }
        Ok(Some(given))
    }

    fn role(&self, kind: &str, place: &str) -> Result<Role, FormatError> {
        Ok(match kind {
            "parameter" => Role::Parameter,
            "constant" => Role::Constant,
            "buffer" | "optimizer_state" => Role::OptimizerState,
            "input" => Role::GraphInput,
            "output" => Role::GraphOutput,
            "activation" => Role::Activation,
            "gradient" => Role::Gradient,
            "workspace" => Role::Workspace,
            other => {
                let known = "use parameter, buffer, constant, optimizer_state, input, output, activation, gradient or workspace";
                return Err(self.broken(place, format!("unknown kind `{}`", one_line(other)), known));
            }
        })
    }

    fn find(&self, reference: &Reference, place: &str, field: &str) -> Result<TensorId, FormatError> {
        let found = match reference {
            Reference::Id(id) => self.by_id.get(id),
            Reference::Name(name) => self.by_name.get(&one_line(name)),
        };
        let what = || format!("`{field}` names tensor `{}`, which `tensors` does not list", one_line(&reference.to_string()));
        found.copied().ok_or_else(|| self.broken(place, what(), "add it to `tensors` or correct the name"))
    }

    fn outputs(&self, file: &FileEntry) -> Result<Vec<TensorId>, FormatError> {
        file.outputs.iter().map(|output| self.find(output, "the file", "outputs")).collect()
    }

    fn op(&mut self, index: usize, entry: &OpEntry) -> Result<Op, FormatError> {
        let kind = one_line(&entry.op);
        let name = entry.name.as_deref().map_or_else(|| format!("{kind}_{index}"), one_line);
        let place = format!("op `{name}`");
        self.warn_of_unknown_fields(&place, entry.other.keys());
        let all = |list: &[Reference], field: &str| list.iter().map(|tensor| self.find(tensor, &place, field)).collect::<Result<Vec<_>, _>>();
        let (inputs, outputs) = (all(&entry.inputs, "inputs")?, all(&entry.outputs, "outputs")?);
        let class = class_of(&entry.op);
        let views = self.views(&place, class, &inputs, &outputs)?;
        let in_place = match &entry.in_place {
            Some(pairs) => InPlace::Pairs(self.pairs(&place, pairs)?),
            None if class == Class::InPlace => InPlace::AnyInput,
            None => InPlace::No,
        };
        // An op that reads nothing makes its output anew in each run, as PyTorch's `ones` and `arange` do.
        let foldable = class != Class::Random && !inputs.is_empty();
        Ok(Op { name, kind, inputs, outputs, views, in_place, foldable, bodies: Vec::new() })
    }

    fn pairs(&self, place: &str, pairs: &[(Reference, Reference)]) -> Result<Vec<(TensorId, TensorId)>, FormatError> {
        pairs.iter().map(|(input, output)| Ok((self.find(input, place, "in_place")?, self.find(output, place, "in_place")?))).collect()
    }

    fn views(&self, place: &str, class: Class, inputs: &[TensorId], outputs: &[TensorId]) -> Result<Vec<(TensorId, TensorId)>, FormatError> {
        let mut views = Vec::new();
        for (index, &output) in outputs.iter().enumerate() {
            match self.alias_of[output.index()] {
                Some(None) => {}
                Some(Some(base)) => views.push((self.view_source(place, base, output, inputs)?, output)),
                None if class == Class::View && index == 0 => views.extend(inputs.first().map(|&input| (input, output))),
                None => {}
            }
        }
        Ok(views)
    }

    /// The op's own input that holds the storage of `base`: `base` itself, or a view of it.
    fn view_source(&self, place: &str, base: TensorId, output: TensorId, inputs: &[TensorId]) -> Result<TensorId, FormatError> {
        let root = self.roots[base.index()];
        let source = inputs.iter().find(|&&input| input == base).or_else(|| inputs.iter().find(|&&input| self.roots[input.index()] == root));
        let name = |id: TensorId| &self.tensors[id.index()].name;
        let what = || format!("its output `{}` says that it shares storage with `{}`, which the op does not read", name(output), name(base));
        source.copied().ok_or_else(|| self.broken(place, what(), "add it to `inputs` or set `alias_of` to null"))
    }

    /// Fills in the roles that the file leaves open.
    fn roles(&mut self, file: &FileEntry, ops: &[Op], outputs: &[TensorId]) -> Result<(), FormatError> {
        let mut is_written = vec![false; self.tensors.len()];
        for output in ops.iter().flat_map(|op| &op.outputs) {
            is_written[output.index()] = true;
        }
        for (index, entry) in file.tensors.iter().enumerate() {
            if entry.kind.is_none() && !is_written[index] {
                self.tensors[index].role = Role::GraphInput;
            }
        }
        for input in &file.inputs {
            let id = self.find(input, "the file", "inputs")?;
            let tensor = &mut self.tensors[id.index()];
            if !tensor.role.is_source() {
                tensor.role = Role::GraphInput;
            }
        }
        for output in outputs.iter().filter(|output| is_written[output.index()]) {
            let tensor = &mut self.tensors[output.index()];
            if !tensor.role.is_source() {
                tensor.role = Role::GraphOutput;
            }
        }
        for (index, tensor) in self.tensors.iter().enumerate() {
            if tensor.role == Role::GraphOutput && !is_written[index] {
                let place = format!("tensor `{}`", tensor.name);
                return Err(self.broken(place, "it is an output, but no op writes it", "add the op that does, or make it an input"));
            }
        }
        Ok(())
    }
}

/// The end of each tensor's chain of `alias_of`, in time O(tensors); tensors on a circle keep themselves.
fn storage_roots(alias_of: &[Option<Option<TensorId>>]) -> Vec<TensorId> {
    let mut roots: Vec<Option<TensorId>> = vec![None; alias_of.len()];
    for first in (0..alias_of.len()).map(TensorId::new) {
        let mut chain = Vec::new();
        let mut at = first;
        let root = loop {
            if let Some(root) = roots[at.index()] {
                break root;
            }
            // Provisional, so that a circle ends here.
            roots[at.index()] = Some(at);
            chain.push(at);
            match alias_of[at.index()] {
                Some(Some(base)) => at = base,
                _ => break at,
            }
        };
        for tensor in chain {
            roots[tensor.index()] = Some(root);
        }
    }
    roots.into_iter().enumerate().map(|(index, root)| root.unwrap_or_else(|| TensorId::new(index))).collect()
}

/// An element type by the names that PyTorch, NumPy and this program give it.
fn dtype(text: &str) -> Option<Dtype> {
    let lower = text.to_ascii_lowercase();
    let name = lower.strip_prefix("torch.").unwrap_or(&lower);
    let own = Dtype::SIZED.into_iter().find(|dtype| dtype.name() == name);
    own.or(match name {
        "float64" | "double" => Some(Dtype::F64),
        "float32" | "float" => Some(Dtype::F32),
        "float16" | "half" => Some(Dtype::F16),
        "bfloat16" => Some(Dtype::BF16),
        "float8_e4m3fn" | "float8_e4m3fnuz" | "float8_e4m3" => Some(Dtype::F8E4M3),
        "float8_e5m2" | "float8_e5m2fnuz" => Some(Dtype::F8E5M2),
        "float8_e8m0fnu" => Some(Dtype::F8E8M0),
        "float4_e2m1fn_x2" | "uint8" | "byte" => Some(Dtype::U8),
        "int64" | "long" => Some(Dtype::I64),
        "int32" | "int" => Some(Dtype::I32),
        "int16" | "short" => Some(Dtype::I16),
        "int8" => Some(Dtype::I8),
        "int4" => Some(Dtype::I4),
        "uint64" => Some(Dtype::U64),
        "uint32" => Some(Dtype::U32),
        "uint16" => Some(Dtype::U16),
        "uint4" => Some(Dtype::U4),
        "boolean" => Some(Dtype::Bool),
        "complex64" => Some(Dtype::C64),
        "complex128" => Some(Dtype::C128),
        "string" => Some(Dtype::String),
        "unknown" => Some(Dtype::Unknown),
        _ => None,
    })
}
