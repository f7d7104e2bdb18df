//! Programs to run, the two devices to run them on, and what came out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arenascope_formats::{ReadOptions, read};
use arenascope_gpu::compute::ComputeError;
use arenascope_gpu::cpu::CpuDevice;
use arenascope_gpu::cuda::CudaDevice;
use arenascope_gpu::device::Device;
use arenascope_gpu::parent::ChildCommand;
use arenascope_gpu::program::Program;
use arenascope_gpu::protocol::{DeviceChoice, Event, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_gpu::run::run;
use arenascope_planner::alias::{AliasSettings, Io};
use arenascope_planner::check::CheckedPlan;
use arenascope_planner::control::Control;
use arenascope_planner::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use arenascope_planner::ids::TensorId;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::solve::{SolveOptions, solve};
use arenascope_planner::units::Align;
use arenascope_planner::workload::{Source, Workload};

/// The fake driver, which cargo builds beside this test.
pub(crate) fn fake_driver() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let folder = test.parent().expect("a file is in a folder");
    let name = format!("{}fake_cuda{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let places = [folder.join(&name), folder.with_file_name("").join(&name)];
    places.into_iter().find(|path| path.is_file()).expect("cargo builds the library with its own tests")
}

/// A child that runs on whatever its options say.
pub(crate) fn child(environment: &[(&str, &str)]) -> ChildCommand {
    ChildCommand {
        program: PathBuf::from(env!("CARGO_BIN_EXE_gpu-child")),
        run_arguments: vec!["run-gpu".to_owned()],
        info_arguments: vec!["gpu-info".to_owned()],
        environment: environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}

/// One checked iteration in these regimes, no timing.
pub(crate) fn quick(regimes: &[Regime]) -> RunOptions {
    RunOptions { regimes: regimes.to_vec(), checked_iterations: 1, timed_iterations: 0, budget_bytes: Some(3 << 30), ..RunOptions::default() }
}

/// The same on the fake driver.
pub(crate) fn quick_on_fake(regimes: &[Regime]) -> RunOptions {
    RunOptions { device: DeviceChoice::Gpu(0), gpu_lib: Some(fake_driver().display().to_string()), ..quick(regimes) }
}

/// Runs in this process.
pub(crate) fn run_on(device: &mut dyn Device, program: &Program, options: &RunOptions) -> RunRecord {
    let mut record = RunRecord::new(program, options);
    let mut emit = |event: &Event| {
        record.add(event);
        true
    };
    run(device, program, options, &|| false, &mut emit);
    record
}

pub(crate) fn run_on_cpu(program: &Program, options: &RunOptions) -> RunRecord {
    run_on(&mut CpuDevice::new(), program, options)
}

/// The fake driver in this process; the guard keeps other tests from measuring its memory meanwhile.
pub(crate) fn fake_device() -> (MutexGuard<'static, ()>, CudaDevice) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    (guard, CudaDevice::open(0, Some(&fake_driver())).expect("the fake driver works"))
}

/// A sample of the repository, planned.
pub(crate) fn sample(name: &str, settings: PrepareSettings) -> Program {
    let path = samples().join(name);
    let workload = read(&path, &ReadOptions::default(), &Control::unattended()).expect("samples can be read");
    program_of(workload, settings)
}

/// A workload, planned with the best strategy.
pub(crate) fn program_of(workload: Workload, settings: PrepareSettings) -> Program {
    program_if_any(workload, settings).expect("something to run")
}

/// The same; `None` for a graph of which nothing is planned.
pub(crate) fn program_if_any(workload: Workload, settings: PrepareSettings) -> Option<Program> {
    let prepared = prepare(&Arc::new(workload), settings).expect("samples can be planned");
    Program::new(&prepared.workload.file, &checked(&prepared), prepared.context.as_deref()).ok()
}

/// The two branches of the sample with matrices of `side` × `side`, planned and ready for streams.
pub(crate) fn parallel_branches(side: u64, parallel: Parallel) -> Program {
    let text = std::fs::read_to_string(samples().join("parallel_branches.json")).expect("samples can be read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("parallel_branches.json");
    std::fs::write(&path, text.replace("1024", &side.to_string())).expect("writable");
    let workload = read(&path, &ReadOptions::default(), &Control::unattended()).expect("still an op list");
    prepared_program(workload, PrepareSettings { parallel, ..PrepareSettings::default() }).expect("something to run")
}

/// A planned workload that is ready for streams; `None` if nothing of it is planned.
pub(crate) fn prepared_program(workload: Workload, settings: PrepareSettings) -> Option<Program> {
    let prepared = prepare(&Arc::new(workload), settings).expect("samples can be planned");
    let (checked, context) = (checked(&prepared), prepared.context.as_deref()?);
    Program::new(&prepared.workload.file, &checked, Some(context)).ok().map(|program| program.with_order(&checked, context))
}

/// A sample of the repository that can be computed, with some of its dimensions.
pub(crate) fn computable(name: &str, dims: &[(&str, u64)]) -> Result<Program, ComputeError> {
    computable_file(&samples().join(name), dims)
}

pub(crate) fn computable_file(path: &Path, dims: &[(&str, u64)]) -> Result<Program, ComputeError> {
    let dims = dims.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let workload = read(path, &ReadOptions { dims, ..ReadOptions::default() }, &Control::unattended()).expect("samples can be read");
    let prepared = prepare(&Arc::new(workload), PrepareSettings::default()).expect("samples can be planned");
    let (checked, context) = (checked(&prepared), prepared.context.as_deref().expect("a graph"));
    Program::new(&prepared.workload.file, &checked, Some(context)).expect("something to run").with_arithmetic(&checked, context)
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample-graphs")
}

fn checked(prepared: &Prepared) -> CheckedPlan {
    let plan =
        solve("auto", &prepared.problem, prepared.context.as_deref(), &SolveOptions::default(), &Control::unattended()).expect("auto always plans");
    CheckedPlan::new(Arc::clone(&prepared.problem), Arc::new(plan)).expect("auto's plans are valid")
}

/// A workload that is just a graph.
pub(crate) fn workload(graph: Graph) -> Workload {
    Workload {
        constraints: None,
        file: "graph".to_owned(),
        format: "op-list",
        title: String::new(),
        description: String::new(),
        source: Source::Graph(Arc::new(graph)),
        observed: None,
        symbolic_dims: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A graph under construction.
#[derive(Default)]
pub(crate) struct GraphBuilder {
    parts: GraphParts,
}

impl GraphBuilder {
    pub(crate) fn tensor(&mut self, name: &str, bytes: u64, role: Role) -> TensorId {
        let shape = Some(vec![bytes]);
        self.parts.tensors.push(Tensor { name: name.to_owned(), dtype: Dtype::U8, shape, bytes: Some(bytes), role, unknown_because: String::new() });
        TensorId::new(self.parts.tensors.len() - 1)
    }

    pub(crate) fn op(&mut self, name: &str, inputs: &[TensorId], outputs: &[TensorId]) -> &mut Op {
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        self.parts.ops.push(Op {
            name: name.to_owned(),
            kind: "op".to_owned(),
            inputs,
            outputs,
            views: Vec::new(),
            in_place: InPlace::No,
            foldable: true,
            bodies: Vec::new(),
        });
        self.parts.ops.last_mut().expect("just pushed")
    }

    pub(crate) fn build(self) -> Graph {
        Graph::new(self.parts).expect("the builder's callers make sound graphs")
    }
}

/// A random graph of `n_ops` ops with views, in-place ops, weights, several outputs, and sizes that are no multiples
/// of anything.
pub(crate) fn random_graph(rng: &mut fastrand::Rng, n_ops: usize) -> Graph {
    let mut builder = GraphBuilder::default();
    let mut made = vec![builder.tensor("input", rng.u64(100..1000), Role::GraphInput)];
    let weight = builder.tensor("weight", rng.u64(10..300), Role::Parameter);
    for index in 0..n_ops {
        let mut inputs: Vec<TensorId> = (0..rng.usize(1..=3)).map(|_| made[made.len().saturating_sub(rng.usize(1..=6))]).collect();
        inputs.dedup();
        let is_last = index + 1 == n_ops;
        let first_bytes = builder.parts.tensors[inputs[0].index()].bytes.unwrap_or(1);
        let shape = rng.u32(0..5);
        let bytes = if shape < 2 { first_bytes } else { rng.u64(8..1500) };
        let role = if is_last || rng.u32(0..12) == 0 { Role::GraphOutput } else { Role::Activation };
        let output = builder.tensor(&format!("t{index}"), bytes, role);
        if rng.bool() {
            inputs.push(weight);
        }
        let first = inputs[0];
        let mut outputs = vec![output];
        if shape > 2 && rng.u32(0..4) == 0 {
            let scratch = rng.u64(8..500);
            outputs.push(builder.tensor(&format!("scratch{index}"), scratch, Role::Workspace));
        }
        let op = builder.op(&format!("op{index}"), &inputs, &outputs);
        match shape {
            0 => op.views = vec![(first, output)],
            1 | 2 => op.in_place = InPlace::AnyInput,
            _ => {}
        }
        made.push(output);
    }
    builder.build()
}

/// Settings that keep random sizes as they are.
pub(crate) fn settings(io: Io) -> PrepareSettings {
    PrepareSettings { align: Align::new(8).expect("8 is not zero"), alias: AliasSettings { in_place: true, io }, ..PrepareSettings::default() }
}

/// A graph in which every kind of bug can be planted: a long read, two readers of one tensor, a view.
pub(crate) fn graph_with_everything() -> Program {
    let mut builder = GraphBuilder::default();
    let input = builder.tensor("input", 500, Role::GraphInput);
    let mut tensor = |name: &str, bytes| builder.tensor(name, bytes, Role::Activation);
    let (a, b, c, d, e, view) = (tensor("a", 800), tensor("b", 800), tensor("c", 404), tensor("d", 300), tensor("e", 800), tensor("view", 800));
    let output = builder.tensor("output", 64, Role::GraphOutput);
    builder.op("make a", &[input], &[a]);
    builder.op("make b", &[a], &[b]);
    builder.op("make c", &[b, a], &[c]);
    builder.op("make d", &[c], &[d]);
    builder.op("make e", &[d, a], &[e]).in_place = InPlace::AnyInput;
    builder.op("look at e", &[e], &[view]).views = vec![(e, view)];
    builder.op("make output", &[view, c], &[output]);
    program_of(workload(builder.build()), settings(Io::Static))
}
