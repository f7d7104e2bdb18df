//! Graphs written down in a few lines, and the calls that every test makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arenascope_planner::alias::{AliasSettings, Io, Storage};
use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::{BufferId, TensorId};
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::{GraphContext, PrepareSettings, Prepared, prepare};
use arenascope_planner::problem::Problem;
use arenascope_planner::solve::{SolveOptions, solve};
use arenascope_planner::testing::{prepare_graph, workload_of};
use arenascope_planner::units::Align;
use arenascope_planner::workload::Source;

pub(crate) const MIB: u64 = 1 << 20;

/// In-place on or off with graph inputs and outputs static.
pub(crate) fn in_place(on: bool) -> AliasSettings {
    AliasSettings { in_place: on, io: Io::Static }
}

/// A graph in the making; tensors are known by name.
#[derive(Default, Clone)]
pub(crate) struct Sketch {
    parts: GraphParts,
    ids: BTreeMap<String, TensorId>,
}

impl Sketch {
    /// A graph input, parameter, constant or optimizer state.
    pub(crate) fn source(mut self, name: &str, bytes: u64, role: Role) -> Self {
        self.tensor(name, bytes, role);
        self
    }

    /// An op with one output, an activation. Relu, Sigmoid, Add and Mul may work in place, Reshape is a view.
    pub(crate) fn op(self, kind: &str, inputs: &[&str], output: &str, bytes: u64) -> Self {
        self.op_of_role(kind, inputs, output, bytes, Role::Activation)
    }

    /// An op whose output is returned to the caller.
    pub(crate) fn output(self, kind: &str, inputs: &[&str], output: &str, bytes: u64) -> Self {
        self.op_of_role(kind, inputs, output, bytes, Role::GraphOutput)
    }

    /// An op with an output of some role.
    pub(crate) fn op_of_role(mut self, kind: &str, inputs: &[&str], output: &str, bytes: u64, role: Role) -> Self {
        let output = self.tensor(output, bytes, role);
        let inputs: Vec<TensorId> = inputs.iter().map(|name| self.ids[*name]).collect();
        let is_elementwise = matches!(kind, "Relu" | "Sigmoid" | "Add" | "Mul");
        self.parts.ops.push(Op {
            name: format!("op{}", self.parts.ops.len()),
            kind: kind.to_owned(),
            views: if kind == "Reshape" { vec![(inputs[0], output)] } else { Vec::new() },
            in_place: if is_elementwise { InPlace::AnyInput } else { InPlace::No },
            foldable: kind != "RandomNormal",
            bodies: Vec::new(),
            inputs,
            outputs: vec![output],
        });
        self
    }

    /// The last op, to change what the kinds do not say.
    pub(crate) fn last_op(&mut self) -> &mut Op {
        self.parts.ops.last_mut().expect("the sketch has an op")
    }

    pub(crate) fn id(&self, name: &str) -> TensorId {
        self.ids[name]
    }

    /// The graph, prepared with an alignment of 1.
    pub(crate) fn prepare(&self, alias: AliasSettings) -> Prepared {
        prepare_graph(Graph::new(self.parts.clone()).expect("a valid sketch"), Align::ONE, alias)
    }

    /// The graph, prepared with other settings.
    pub(crate) fn prepare_with(&self, settings: PrepareSettings) -> Prepared {
        let graph = Graph::new(self.parts.clone()).expect("a valid sketch");
        prepare(&workload_of(Source::Graph(Arc::new(graph))), settings).expect("sizes that add up")
    }

    fn tensor(&mut self, name: &str, bytes: u64, role: Role) -> TensorId {
        let id = TensorId::new(self.parts.tensors.len());
        let tensor =
            Tensor { name: name.to_owned(), dtype: Dtype::U8, shape: Some(vec![bytes]), bytes: Some(bytes), role, unknown_because: String::new() };
        self.parts.tensors.push(tensor);
        self.ids.insert(name.to_owned(), id);
        id
    }
}

/// Two branches of three ops that meet, in alternating order; nothing works in place, and every tensor has `w` bytes.
pub(crate) fn parallel_branches(w: u64) -> Sketch {
    Sketch::default()
        .source("x", w, Role::GraphInput)
        .op("MatMul", &["x"], "A1", w)
        .op("MatMul", &["A1"], "A2", w)
        .op("MatMul", &["A1"], "A5", w)
        .op("MatMul", &["A2"], "A3", w)
        .op("MatMul", &["A5"], "A6", w)
        .op("MatMul", &["A3"], "A4", w)
        .op("MatMul", &["A6"], "A7", w)
        .op("MatMul", &["A4", "A7"], "A8", w)
        .output("MatMul", &["A8"], "out", w)
}

pub(crate) fn context(prepared: &Prepared) -> &GraphContext {
    prepared.context.as_ref().expect("a sketch is a graph")
}

/// The names of the tensors in each buffer, in order of birth.
pub(crate) fn buffers(prepared: &Prepared) -> Vec<Vec<&str>> {
    prepared.problem.ids().map(|buffer| names(prepared, buffer)).collect()
}

pub(crate) fn names(prepared: &Prepared, buffer: BufferId) -> Vec<&str> {
    prepared.buffer_tensors(buffer).iter().map(|&tensor| context(prepared).graph.tensor(tensor).name.as_str()).collect()
}

pub(crate) fn storage(prepared: &Prepared, sketch: &Sketch, name: &str) -> Storage {
    context(prepared).map.storage[sketch.id(name).index()]
}

/// A valid plan with a strategy.
pub(crate) fn plan(strategy: &str, prepared: &Prepared) -> Plan {
    plan_with(strategy, prepared, SolveOptions::default())
}

pub(crate) fn plan_with(strategy: &str, prepared: &Prepared, options: SolveOptions) -> Plan {
    let plan = solve(strategy, &prepared.problem, prepared.context.as_deref(), &options, &Control::unattended()).expect("a plan");
    assert!(check(&prepared.problem, &plan).is_valid(), "{strategy}: {:?}", check(&prepared.problem, &plan).violations);
    plan
}

/// A valid plan of a bare problem.
pub(crate) fn plan_bare(strategy: &str, problem: &Problem) -> Plan {
    let plan = solve(strategy, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
    assert!(check(problem, &plan).is_valid(), "{strategy}: {:?}", check(problem, &plan).violations);
    plan
}
