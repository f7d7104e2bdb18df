//! ExecuTorch programs: the ops of a compiled model, and the plan that its compiler made.
//!
//! A program is a list of instructions over values. A tensor is written by the first instruction that names it, unless
//! it is an input, a constant or state; memory is planned per memory id, with an offset for each tensor.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek};
use std::sync::Arc;

use arenascope_planner::control::Control;
use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;
use arenascope_planner::workload::{ObservedPlan, Source, Warning, Workload};

use crate::detect::Origin;
use crate::error::{FormatError, clean, one_message};
use crate::flat_tables::{FlatFile, Table};
use crate::oplist::classes::{Class, class_of};

/// The format's short name.
pub const FORMAT: &str = "executorch";

/// Kinds of a value, by their number in the schema.
const TENSOR: u8 = 5;
const TENSOR_LIST: u8 = 10;
const OPTIONAL_TENSOR_LIST: u8 = 11;

/// Tensors that arguments may stand for altogether: many instructions may share one long list.
const MAX_ARGUMENTS: usize = 1 << 24;

/// A value of a program, as far as memory is concerned.
enum Value {
    Tensor(TensorId),
    List(Vec<i32>),
    Other,
}

/// One place in planned memory.
#[derive(Clone, Copy)]
struct Place {
    memory: u32,
    offset: u64,
}

/// Reads a program. Time and space in proportion to its tables, not to its weights.
pub(crate) fn read<R: Read + Seek>(origin: &Origin, source: R, control: &Control<'_>) -> Result<Workload, FormatError> {
    if control.is_stopped() {
        return Err(FormatError::Stopped { path: origin.path.clone() });
    }
    let file = FlatFile::new(origin, source);
    let root = file.root()?;
    let plans = root.tables(1)?;
    let Some(plan) = plans.first().copied() else { return Err(root.damaged("the program holds no execution plan")) };
    let mut program = Program::default();
    if plans.len() > 1 {
        program.warnings.push(Warning::general(format!("the program has {} methods; the first is planned", plans.len())));
    }
    program.values(plan)?;
    program.roles(plan)?;
    program.instructions(plan)?;
    program.outputs(plan)?;
    let observed = program.observed(plan)?;
    let graph = Graph::new(GraphParts { tensors: program.tensors, ops: program.ops });
    let graph = graph.map_err(|error| FormatError::Graph { path: origin.path.clone(), reason: one_message(&error.to_string()) })?;
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: clean(&plan.text(0)?),
        description: format!("schema version {}", root.u32(0, 0)?),
        source: Source::Graph(Arc::new(graph)),
        constraints: None,
        observed,
        symbolic_dims: Vec::new(),
        warnings: program.warnings,
    })
}

#[derive(Default)]
struct Program {
    /// Tensors that arguments have stood for so far.
    n_arguments: usize,
    values: Vec<Value>,
    tensors: Vec<Tensor>,
    places: Vec<Option<Place>>,
    is_written: Vec<bool>,
    ops: Vec<Op>,
    warnings: Vec<Warning>,
}

impl Program {
    fn values(&mut self, plan: Table<'_, '_>) -> Result<(), FormatError> {
        for (position, value) in plan.tables(2)?.into_iter().enumerate() {
            let kind = value.u8(0, 0)?;
            let value = match (kind, value.table(1)?) {
                (TENSOR, Some(table)) => {
                    let id = TensorId::new(self.tensors.len());
                    self.tensor(position, table)?;
                    Value::Tensor(id)
                }
                (TENSOR_LIST | OPTIONAL_TENSOR_LIST, Some(table)) => Value::List(table.ints(0)?.unwrap_or_default()),
                _ => Value::Other,
            };
            self.values.push(value);
        }
        self.is_written = vec![false; self.tensors.len()];
        Ok(())
    }

    fn tensor(&mut self, position: usize, table: Table<'_, '_>) -> Result<(), FormatError> {
        let dtype = dtype(table.i8(0, 0)?);
        let sizes = table.ints(2)?.unwrap_or_default();
        let shape: Option<Vec<u64>> = sizes.iter().map(|&size| u64::try_from(size).ok()).collect();
        let bytes = shape.as_ref().and_then(|shape| dtype.bytes_of(shape));
        let is_constant = table.u32(5, 0)? != 0;
        let place = match table.table(6)? {
            Some(details) => {
                let (low, high) = (details.u32(1, 0)?, details.u32(2, 0)?);
                Some(Place { memory: details.u32(0, 0)?, offset: u64::from(high) << 32 | u64::from(low) })
            }
            None => None,
        };
        let role = match (is_constant, place) {
            (true, None) => Role::Parameter,
            (true, Some(_)) => Role::OptimizerState,
            (false, _) => Role::Activation,
        };
        let unknown_because = if bytes.is_some() { String::new() } else { "its element type or shape is not known".to_owned() };
        self.tensors.push(Tensor { name: format!("value {position}"), dtype, shape, bytes, role, unknown_because });
        self.places.push(place);
        Ok(())
    }

    fn roles(&mut self, plan: Table<'_, '_>) -> Result<(), FormatError> {
        for input in plan.ints(3)?.unwrap_or_default() {
            for id in self.tensors_of(&[input]) {
                let tensor = &mut self.tensors[id.index()];
                if tensor.role == Role::Activation {
                    tensor.role = Role::GraphInput;
                }
            }
        }
        Ok(())
    }

    /// The tensors that values stand for; lists hold positions of values again, one level deep.
    fn tensors_of(&mut self, numbers: &[i32]) -> Vec<TensorId> {
        if self.n_arguments > MAX_ARGUMENTS {
            return Vec::new();
        }
        let value = |number: &i32| usize::try_from(*number).ok().and_then(|index| self.values.get(index));
        let mut found = Vec::new();
        for number in numbers {
            match value(number) {
                Some(Value::Tensor(id)) => found.push(*id),
                Some(Value::List(items)) => found.extend(items.iter().filter_map(|item| match value(item) {
                    Some(Value::Tensor(id)) => Some(*id),
                    _ => None,
                })),
                Some(Value::Other) | None => {}
            }
            if found.len() > MAX_ARGUMENTS {
                break;
            }
        }
        self.n_arguments += found.len();
        if self.n_arguments > MAX_ARGUMENTS {
            self.warnings.push(Warning::general("its instructions name more tensors than are followed; what comes after is left out"));
        }
        found
    }

    fn instructions(&mut self, plan: Table<'_, '_>) -> Result<(), FormatError> {
        let operators = plan.tables(6)?.into_iter().map(operator_name).collect::<Result<Vec<String>, _>>()?;
        let mut jumps = 0_u64;
        for chain in plan.tables(5)? {
            for instruction in chain.tables(2)? {
                let kind = instruction.u8(0, 0)?;
                let Some(call) = instruction.table(1)? else { continue };
                match kind {
                    1 => {
                        let index = call.i32(0, 0)?;
                        let name = usize::try_from(index).ok().and_then(|index| operators.get(index)).cloned();
                        let name = name.ok_or_else(|| call.damaged(format!("an instruction names operator {index} of {}", operators.len())))?;
                        self.op(name, &call.ints(1)?.unwrap_or_default());
                    }
                    2 => self.op("delegate".to_owned(), &call.ints(1)?.unwrap_or_default()),
                    3 => self.op("move".to_owned(), &[call.i32(0, 0)?, call.i32(1, 0)?]),
                    4 => jumps += 1,
                    _ => {}
                }
            }
        }
        if jumps > 0 {
            let message = format!("the program jumps at {jumps} places; its instructions are planned in the order in which they stand");
            self.warnings.push(Warning::general(message));
        }
        Ok(())
    }

    fn op(&mut self, kind: String, arguments: &[i32]) {
        let mut inputs: Vec<TensorId> = Vec::new();
        let mut outputs: Vec<TensorId> = Vec::new();
        let mut seen = HashSet::new();
        for id in self.tensors_of(arguments) {
            if !seen.insert(id) {
                continue;
            }
            let is_new = !self.tensors[id.index()].role.is_source() && !self.is_written[id.index()];
            if is_new { outputs.push(id) } else { inputs.push(id) }
        }
        for output in &outputs {
            self.is_written[output.index()] = true;
        }
        let class = class_of(&kind);
        // A view in a program is a view only if its compiler said so; all other ops have been made to copy.
        let is_view = kind.contains("et_view") || kind == "move";
        let view = inputs.first().copied().zip(outputs.first().copied()).filter(|_| is_view);
        self.ops.push(Op {
            name: format!("{kind}_{}", self.ops.len()),
            foldable: class != Class::Random && !inputs.is_empty(),
            in_place: if class == Class::InPlace { InPlace::AnyInput } else { InPlace::No },
            views: view.into_iter().collect(),
            bodies: Vec::new(),
            kind,
            inputs,
            outputs,
        });
    }

    fn outputs(&mut self, plan: Table<'_, '_>) -> Result<(), FormatError> {
        for id in self.tensors_of(&plan.ints(4)?.unwrap_or_default()) {
            if self.is_written[id.index()] {
                self.tensors[id.index()].role = Role::GraphOutput;
            }
        }
        Ok(())
    }

    fn observed(&mut self, plan: Table<'_, '_>) -> Result<Option<ObservedPlan>, FormatError> {
        let sizes = plan.longs(8)?.unwrap_or_default();
        let mut used: BTreeMap<u32, u64> = BTreeMap::new();
        for place in self.places.iter().flatten() {
            *used.entry(place.memory).or_default() += 1;
        }
        let size = |memory: u32| usize::try_from(memory).ok().and_then(|index| sizes.get(index)).and_then(|&bytes| u64::try_from(bytes).ok());
        let Some(memory) = used.keys().copied().max_by_key(|&memory| (size(memory), std::cmp::Reverse(memory))) else { return Ok(None) };
        if used.len() > 1 {
            let others: Vec<String> = used.keys().map(|&memory| format!("{memory} ({} bytes)", size(memory).unwrap_or(0))).collect();
            let message = format!("the compiler planned several memories: {}; its plan for memory {memory} is shown", others.join(", "));
            self.warnings.push(Warning::general(message));
        }
        let offsets = self.places.iter().map(|place| place.filter(|place| place.memory == memory).map(|place| place.offset)).collect();
        Ok(Some(ObservedPlan { tool: "ExecuTorch's compiler".to_owned(), offsets, arena_bytes: size(memory) }))
    }
}

fn operator_name(operator: Table<'_, '_>) -> Result<String, FormatError> {
    let (name, overload) = (clean(&operator.text(0)?), clean(&operator.text(1)?));
    Ok(if overload.is_empty() { name } else { format!("{name}.{overload}") })
}

/// An element type by its number in the schema.
fn dtype(number: i8) -> Dtype {
    match number {
        0 | 13 => Dtype::U8,
        1 | 12 => Dtype::I8,
        2 => Dtype::I16,
        3 | 14 => Dtype::I32,
        4 => Dtype::I64,
        5 => Dtype::F16,
        6 => Dtype::F32,
        7 => Dtype::F64,
        9 => Dtype::C64,
        10 => Dtype::C128,
        11 => Dtype::Bool,
        15 => Dtype::BF16,
        23 | 25 => Dtype::F8E5M2,
        24 | 26 => Dtype::F8E4M3,
        27 => Dtype::U16,
        28 => Dtype::U32,
        29 => Dtype::U64,
        _ => Dtype::Unknown,
    }
}
