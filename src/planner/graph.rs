//! A model graph: ops, the tensors they read and write, and what is known of each.
//!
//! [`Graph::new`] validates once; what follows may rely on it.
//! A graph says *what may* share storage (views, in-place); [`crate::alias`] decides what does.

use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::arithmetic::{Arithmetic, ArithmeticTable, Elements};
pub use crate::dtype::Dtype;
use crate::ids::{OpId, TensorId};

/// What a tensor is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Role {
    /// A trained weight.
    Parameter,
    /// A value fixed in the file.
    Constant,
    /// Fed by the caller.
    GraphInput,
    /// Returned to the caller.
    GraphOutput,
    /// An op's output that lives inside the graph.
    Activation,
    /// A derivative made by the backward pass.
    Gradient,
    /// State that an optimizer keeps between runs, or other persistent state.
    OptimizerState,
    /// Scratch memory of one op.
    Workspace,
    /// A block of a memory trace that is older than the recording: what it holds is not known.
    PreExisting,
}

impl Role {
    /// All roles, dynamic ones first.
    pub const ALL: [Self; 9] = [
        Self::Activation,
        Self::Gradient,
        Self::Workspace,
        Self::PreExisting,
        Self::Parameter,
        Self::Constant,
        Self::GraphInput,
        Self::GraphOutput,
        Self::OptimizerState,
    ];

    /// The name used in the window and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Constant => "constant",
            Self::GraphInput => "graph input",
            Self::GraphOutput => "graph output",
            Self::Activation => "activation",
            Self::Gradient => "gradient",
            Self::OptimizerState => "optimizer state",
            Self::Workspace => "workspace",
            Self::PreExisting => "pre-existing",
        }
    }

    /// Whether a tensor of this role exists before the first op runs.
    #[must_use]
    pub fn is_source(self) -> bool {
        matches!(self, Self::Parameter | Self::Constant | Self::GraphInput | Self::OptimizerState)
    }
}

/// A value in the graph.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The name in the file; unique in no format, so ids identify.
    pub name: String,
    /// The element type.
    pub dtype: Dtype,
    /// The dimensions; `None` if the shape is not known.
    pub shape: Option<Vec<u64>>,
    /// Exact size in bytes before any alignment; `None` if it cannot be known.
    pub bytes: Option<u64>,
    /// What the tensor is for.
    pub role: Role,
    /// Why the size is unknown; empty if it is known.
    pub unknown_because: String,
}

/// Which inputs an op may overwrite with its output 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// None: the op reads its inputs after it has begun to write.
    No,
    /// Any, tried in order: an element-wise op.
    AnyInput,
    /// Just these pairs of an input and the output that may take its place.
    Pairs(Vec<(TensorId, TensorId)>),
}

/// One node of the graph.
#[derive(Clone, Debug)]
pub struct Op {
    /// The name in the file, or one made from kind and position.
    pub name: String,
    /// The op type, as the format spells it: `Conv`, `aten.relu`.
    pub kind: String,
    /// The tensors it reads, in the format's order; an omitted optional input is left out.
    pub inputs: Vec<TensorId>,
    /// The tensors it writes.
    pub outputs: Vec<TensorId>,
    /// Pairs of an input and the output that *is* the same storage: a view.
    pub views: Vec<(TensorId, TensorId)>,
    /// Where an output may take over an input's storage.
    pub in_place: InPlace,
    /// Whether an op that reads only constants gives a constant; false for random generators.
    pub foldable: bool,
    /// The graphs that the op runs inside itself, one at a time: branches, or the body of a loop.
    pub bodies: Vec<Arc<Graph>>,
}

/// What a graph is made from, before it is validated.
#[derive(Clone, Debug, Default)]
pub struct GraphParts {
    /// The tensors; their position is their id.
    pub tensors: Vec<Tensor>,
    /// The ops in file order; their position is their id.
    pub ops: Vec<Op>,
}

/// One rule of a graph that the input broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An op reads a tensor that nobody writes.
    #[error("op `{op}` reads `{tensor}`, which no op writes and which is no input, parameter or constant of the graph")]
    DanglingInput {
        /// The reader.
        op: String,
        /// The tensor without a source.
        tensor: String,
    },
    /// Two ops, or an op and the graph's own inputs, write one tensor.
    #[error("op `{op}` writes `{tensor}`, which {other} already provides; give one of them another name")]
    TwoProducers {
        /// The second writer.
        op: String,
        /// The tensor written twice.
        tensor: String,
        /// The first provider, in words.
        other: String,
    },
    /// The ops depend on each other in a circle.
    #[error("op `{op}` is part of a cycle through `{tensor}`; a schedule needs a graph without cycles")]
    Cycle {
        /// One op of the cycle.
        op: String,
        /// The tensor by which the cycle enters it.
        tensor: String,
    },
    /// The sizes do not fit into 64 bits.
    #[error("op `{op}`: the size of `{tensor}` brings the total to more than 64-bit bytes")]
    SizeOverflow {
        /// The producer, or the graph's inputs.
        op: String,
        /// The tensor at which the total overflows.
        tensor: String,
    },
    /// An op names a tensor that does not exist.
    #[error("op `{op}` refers to tensor {tensor}, but there are only {n_tensors} tensors")]
    NoSuchTensor {
        /// The op.
        op: String,
        /// The id that is out of range.
        tensor: TensorId,
        /// How many tensors there are.
        n_tensors: usize,
    },
    /// A view or in-place pair is not one of the op's own inputs and outputs.
    #[error("op `{op}` says that `{output}` shares storage with `{input}`, but they are not its output and its input")]
    ForeignPair {
        /// The op.
        op: String,
        /// The named input.
        input: String,
        /// The named output.
        output: String,
    },
}

/// A validated graph: every read tensor has one source, no cycles, sizes that add up in 64 bits.
#[derive(Clone, Debug)]
pub struct Graph {
    tensors: Vec<Tensor>,
    ops: Vec<Op>,
    producer: Vec<Option<OpId>>,
    readers: Vec<Vec<OpId>>,
    dependencies: DiGraph<OpId, TensorId, u32>,
    arithmetic: Option<Arc<ArithmeticTable>>,
}

impl Graph {
    /// Checks `parts` and builds the producer and reader tables. Time and space O(tensors + ops + reads).
    ///
    /// # Errors
    /// The first rule that the input breaks, naming the op.
    pub fn new(parts: GraphParts) -> Result<Self, GraphError> {
        let GraphParts { tensors, ops } = parts;
        check_references(&tensors, &ops)?;
        let producer = producers(&tensors, &ops)?;
        let readers = readers(&tensors, &ops, &producer)?;
        check_total(&tensors, &ops, &producer)?;
        let dependencies = dependencies(&ops, &producer);
        check_acyclic(&dependencies, &tensors, &ops)?;
        Ok(Self { tensors, ops, producer, readers, dependencies, arithmetic: None })
    }

    /// The same graph with what its ops compute. Planning does not look at it.
    #[must_use]
    pub fn with_arithmetic(mut self, table: Arc<ArithmeticTable>) -> Self {
        self.arithmetic = Some(table);
        self
    }

    /// What is known of the arithmetic of all ops; `None` if the format tells none.
    #[must_use]
    pub fn arithmetic_table(&self) -> Option<&Arc<ArithmeticTable>> {
        self.arithmetic.as_ref()
    }

    /// What an op computes; `None` if that is not known.
    #[must_use]
    pub fn arithmetic(&self, op: OpId) -> Option<&Arithmetic> {
        self.arithmetic.as_ref()?.ops.get(op.index())?.as_ref()
    }

    /// The elements of a tensor that the file fixes; `None` for all others, and for large ones.
    #[must_use]
    pub fn elements(&self, tensor: TensorId) -> Option<&Elements> {
        self.arithmetic.as_ref()?.elements.get(&tensor)
    }

    /// The tensors, by id.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The ops, by id, in file order.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// One tensor.
    #[must_use]
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// One op.
    #[must_use]
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    /// The op that writes a tensor; `None` for inputs, parameters and constants.
    #[must_use]
    pub fn producer(&self, id: TensorId) -> Option<OpId> {
        self.producer[id.index()]
    }

    /// The ops that read a tensor, each once, in file order.
    #[must_use]
    pub fn readers(&self, id: TensorId) -> &[OpId] {
        &self.readers[id.index()]
    }

    /// Which op must run before which: an edge per read tensor that an op writes.
    #[must_use]
    pub fn dependencies(&self) -> &DiGraph<OpId, TensorId, u32> {
        &self.dependencies
    }

    /// All tensor ids in order.
    pub fn tensor_ids(&self) -> impl ExactSizeIterator<Item = TensorId> + use<> {
        (0..self.tensors.len()).map(TensorId::new)
    }

    /// All op ids in file order.
    pub fn op_ids(&self) -> impl ExactSizeIterator<Item = OpId> + DoubleEndedIterator + use<> {
        (0..self.ops.len()).map(OpId::new)
    }
}

fn check_references(tensors: &[Tensor], ops: &[Op]) -> Result<(), GraphError> {
    for op in ops {
        let pairs = match &op.in_place {
            InPlace::Pairs(pairs) => pairs.as_slice(),
            InPlace::No | InPlace::AnyInput => &[],
        };
        for &tensor in op.inputs.iter().chain(&op.outputs) {
            if tensor.index() >= tensors.len() {
                return Err(GraphError::NoSuchTensor { op: op.name.clone(), tensor, n_tensors: tensors.len() });
            }
        }
        for (input, output) in op.views.iter().chain(pairs) {
            if !op.inputs.contains(input) || !op.outputs.contains(output) {
                let name = |id: &TensorId| tensors.get(id.index()).map_or_else(|| id.to_string(), |tensor| tensor.name.clone());
                return Err(GraphError::ForeignPair { op: op.name.clone(), input: name(input), output: name(output) });
            }
        }
    }
    Ok(())
}

fn producers(tensors: &[Tensor], ops: &[Op]) -> Result<Vec<Option<OpId>>, GraphError> {
    let mut producer: Vec<Option<OpId>> = vec![None; tensors.len()];
    for (index, op) in ops.iter().enumerate() {
        for &output in &op.outputs {
            let tensor = &tensors[output.index()];
            let other = match producer[output.index()] {
                Some(first) => Some(format!("op `{}`", ops[first.index()].name)),
                None if tensor.role.is_source() => Some(format!("the graph (as a {})", tensor.role.name())),
                None => None,
            };
            if let Some(other) = other {
                return Err(GraphError::TwoProducers { op: op.name.clone(), tensor: tensor.name.clone(), other });
            }
            producer[output.index()] = Some(OpId::new(index));
        }
    }
    Ok(producer)
}

fn readers(tensors: &[Tensor], ops: &[Op], producer: &[Option<OpId>]) -> Result<Vec<Vec<OpId>>, GraphError> {
    let mut readers: Vec<Vec<OpId>> = vec![Vec::new(); tensors.len()];
    for (index, op) in ops.iter().enumerate() {
        let id = OpId::new(index);
        for &input in &op.inputs {
            let tensor = &tensors[input.index()];
            if producer[input.index()].is_none() && !tensor.role.is_source() {
                return Err(GraphError::DanglingInput { op: op.name.clone(), tensor: tensor.name.clone() });
            }
            let list = &mut readers[input.index()];
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
    }
    Ok(readers)
}

/// Alignment can at most double a size, so the doubled total must fit as well.
fn check_total(tensors: &[Tensor], ops: &[Op], producer: &[Option<OpId>]) -> Result<(), GraphError> {
    let mut total = 0_u64;
    for (tensor, producer) in tensors.iter().zip(producer) {
        let next = total.checked_add(tensor.bytes.unwrap_or(0)).filter(|&sum| sum < u64::MAX / 4);
        total = next.ok_or_else(|| GraphError::SizeOverflow {
            op: producer.map_or_else(|| "graph inputs".to_owned(), |op| ops[op.index()].name.clone()),
            tensor: tensor.name.clone(),
        })?;
    }
    Ok(())
}

fn dependencies(ops: &[Op], producer: &[Option<OpId>]) -> DiGraph<OpId, TensorId, u32> {
    let mut graph = DiGraph::with_capacity(ops.len(), ops.len());
    for index in 0..ops.len() {
        graph.add_node(OpId::new(index));
    }
    for (index, op) in ops.iter().enumerate() {
        for &input in &op.inputs {
            if let Some(source) = producer[input.index()] {
                graph.add_edge(NodeIndex::new(source.index()), NodeIndex::new(index), input);
            }
        }
    }
    graph
}

fn check_acyclic(dependencies: &DiGraph<OpId, TensorId, u32>, tensors: &[Tensor], ops: &[Op]) -> Result<(), GraphError> {
    let Err(cycle) = petgraph::algo::toposort(dependencies, None) else { return Ok(()) };
    let node = cycle.node_id();
    let component = petgraph::algo::tarjan_scc(dependencies).into_iter().find(|nodes| nodes.contains(&node)).unwrap_or_default();
    let tensor = dependencies
        .edges_directed(node, petgraph::Direction::Incoming)
        .find(|edge| component.contains(&petgraph::visit::EdgeRef::source(edge)))
        .map_or_else(String::new, |edge| tensors[edge.weight().index()].name.clone());
    Err(GraphError::Cycle { op: ops[node.index()].name.clone(), tensor })
}

/// Short constructors for the crate's unit tests.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    /// A tensor of `bytes` bytes.
    pub(crate) fn tensor(name: &str, bytes: u64, role: Role) -> Tensor {
        Tensor { name: name.to_owned(), dtype: Dtype::U8, shape: Some(vec![bytes]), bytes: Some(bytes), role, unknown_because: String::new() }
    }

    /// An op that may work in place when its kind is `Relu` or `Add`, and is a view when it is `Reshape`.
    pub(crate) fn op(name: &str, kind: &str, inputs: &[TensorId], outputs: &[TensorId]) -> Op {
        Op {
            name: name.to_owned(),
            kind: kind.to_owned(),
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            views: if kind == "Reshape" { vec![(inputs[0], outputs[0])] } else { Vec::new() },
            in_place: if matches!(kind, "Relu" | "Add" | "Mul" | "Sigmoid") { InPlace::AnyInput } else { InPlace::No },
            foldable: kind != "RandomNormal",
            bodies: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::{op, tensor};
    use super::*;

    fn parts(tensors: Vec<Tensor>, ops: Vec<Op>) -> GraphParts {
        GraphParts { tensors, ops }
    }

    fn ids(n: usize) -> Vec<TensorId> {
        (0..n).map(TensorId::new).collect()
    }

    #[test]
    fn sub_byte_types_are_packed_over_the_whole_tensor() {
        assert_eq!(Dtype::I4.bytes_of(&[3, 3]), Some(5));
        assert_eq!(Dtype::U2.bytes_of(&[5]), Some(2));
        assert_eq!(Dtype::F32.bytes_of(&[]), Some(4));
        assert_eq!(Dtype::F32.bytes_of(&[u64::MAX, 0, u64::MAX]), Some(0));
        assert_eq!(Dtype::F32.bytes_of(&[u64::MAX]), None);
        assert_eq!(Dtype::String.bytes_of(&[2]), None);
        assert!(Dtype::SIZED.iter().all(|dtype| dtype.bits().is_some()));
    }

    #[test]
    fn rejects_an_input_without_a_source() {
        let t = ids(2);
        let error = Graph::new(parts(
            vec![tensor("ghost", 4, Role::Activation), tensor("y", 4, Role::Activation)],
            vec![op("relu", "Relu", &[t[0]], &[t[1]])],
        ))
        .expect_err("`ghost` has no producer");
        assert_eq!(error, GraphError::DanglingInput { op: "relu".into(), tensor: "ghost".into() });
    }

    #[test]
    fn rejects_two_producers_of_one_tensor() {
        let t = ids(2);
        let tensors = vec![tensor("x", 4, Role::GraphInput), tensor("y", 4, Role::Activation)];
        let twice = vec![op("first", "Relu", &[t[0]], &[t[1]]), op("second", "Relu", &[t[0]], &[t[1]])];
        let error = Graph::new(parts(tensors.clone(), twice)).expect_err("`y` is written twice");
        assert!(error.to_string().contains("`second` writes `y`") && error.to_string().contains("`first`"), "{error}");
        let over_input = vec![op("first", "Relu", &[t[0]], &[t[0]])];
        assert!(matches!(Graph::new(parts(tensors, over_input)), Err(GraphError::TwoProducers { .. })));
    }

    #[test]
    fn rejects_a_cycle_and_names_an_op_of_it() {
        let t = ids(3);
        let tensors = vec![tensor("x", 4, Role::GraphInput), tensor("a", 4, Role::Activation), tensor("b", 4, Role::Activation)];
        let ops = vec![op("start", "Relu", &[t[0]], &[]), op("fore", "Add", &[t[2]], &[t[1]]), op("back", "Add", &[t[1]], &[t[2]])];
        match Graph::new(parts(tensors, ops)).expect_err("fore and back form a cycle") {
            GraphError::Cycle { op, tensor } => {
                assert!(op == "fore" || op == "back", "{op}");
                assert!(tensor == "a" || tensor == "b", "{tensor}");
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn rejects_sizes_that_overflow_and_names_the_op() {
        let t = ids(3);
        let tensors =
            vec![tensor("x", 4, Role::GraphInput), tensor("a", u64::MAX / 5, Role::Activation), tensor("b", u64::MAX / 5, Role::Activation)];
        let ops = vec![op("fine", "Relu", &[t[0]], &[t[1]]), op("huge", "Relu", &[t[1]], &[t[2]])];
        assert_eq!(
            Graph::new(parts(tensors, ops)).expect_err("two fifths overflow a quarter"),
            GraphError::SizeOverflow { op: "huge".into(), tensor: "b".into() }
        );
    }

    #[test]
    fn rejects_a_pair_that_is_not_the_ops_own() {
        let t = ids(3);
        let tensors = vec![tensor("x", 4, Role::GraphInput), tensor("a", 4, Role::Activation), tensor("b", 4, Role::Activation)];
        let mut view = op("view", "Reshape", &[t[0]], &[t[1]]);
        view.views = vec![(t[0], t[2])];
        assert!(matches!(Graph::new(parts(tensors, vec![view])), Err(GraphError::ForeignPair { .. })));
    }

    #[test]
    fn an_op_that_reads_a_tensor_twice_is_one_reader() {
        let t = ids(2);
        let graph = Graph::new(parts(
            vec![tensor("x", 4, Role::GraphInput), tensor("y", 4, Role::GraphOutput)],
            vec![op("square", "Mul", &[t[0], t[0]], &[t[1]])],
        ))
        .expect("a valid graph");
        assert_eq!(graph.readers(t[0]), [OpId(0)]);
        assert_eq!(graph.producer(t[1]), Some(OpId(0)));
    }
}
