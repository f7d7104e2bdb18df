//! Random problems and graphs, brute force, and the one property check that tests, benches and fuzz targets share.
//!
//! Everything here is for small inputs and is a function of its seed.

use std::sync::Arc;

use crate::alias::{AliasSettings, Io};
use crate::bounds::lower_bound;
use crate::check::{CheckReport, check};
use crate::control::Control;
use crate::generate::{Kind, generate};
use crate::graph::{Dtype, Graph, GraphParts, InPlace, Op, Role, Tensor};
use crate::ids::TensorId;
use crate::interference::Interference;
use crate::lifetimes::Lifetime;
use crate::plan::{Plan, Status};
use crate::prepare::{GraphContext, PrepareSettings, Prepared, prepare};
use crate::problem::Problem;
use crate::replay::replay;
use crate::solve::{AUTO, Share, SolveError, SolveOptions, solve, strategies};
use crate::units::Align;
use crate::workload::{Source, Workload};

/// Buffers up to which a problem is compared with [`smallest_arena`]: 5,040 permutations.
const BRUTE_FORCE_LIMIT: usize = 7;

/// A generated problem, its sizes as they are.
///
/// # Panics
/// If its sizes leave the range of a problem.
#[must_use]
pub fn generated_problem(kind: Kind, n_buffers: usize, seed: u64) -> Problem {
    let buffers = generate(kind, n_buffers, seed);
    Problem::new(buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), Align::ONE).expect("generated sizes add up")
}

/// A problem of 1 to `max_buffers` buffers, at least 1.
#[must_use]
pub fn random_problem(seed: u64, max_buffers: usize) -> Problem {
    let mut rng = fastrand::Rng::with_seed(seed);
    let align = [1, 1, 64, 3][rng.usize(0..4)];
    let n_steps = rng.u64(1..=40);
    let max_bytes = [4, 100, 5_000][rng.usize(0..3)];
    let buffers = (0..rng.usize(1..=max_buffers)).map(|_| {
        let start = rng.u64(0..n_steps);
        let n_live = if rng.u32(0..4) == 0 { rng.u64(1..=n_steps) } else { rng.u64(1..=4) };
        (rng.u64(1..=max_bytes), Lifetime { start, end: start + n_live })
    });
    Problem::new(buffers, Align::new(align).unwrap_or(Align::ONE)).expect("small sizes and lifetimes of at least one step")
}

/// A graph of 1 to `max_ops` ops with views, in-place ops, constants, several outputs and readers.
#[must_use]
pub fn random_graph(seed: u64, max_ops: usize) -> Graph {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut ops: Vec<Op> = Vec::new();
    for role in [Role::GraphInput, Role::GraphInput, Role::Parameter, Role::OptimizerState] {
        add_tensor(&mut tensors, 8 * rng.u64(1..=4), role);
    }
    for _ in 0..rng.usize(1..=max_ops) {
        add_random_op(&mut rng, &mut tensors, &mut ops);
    }
    Graph::new(GraphParts { tensors, ops }).expect("every op reads what came before it")
}

fn add_tensor(tensors: &mut Vec<Tensor>, bytes: u64, role: Role) -> TensorId {
    let id = TensorId::new(tensors.len());
    let (name, shape) = (format!("t{}", tensors.len()), Some(vec![bytes]));
    tensors.push(Tensor { name, dtype: Dtype::U8, shape, bytes: Some(bytes), role, unknown_because: String::new() });
    id
}

fn add_random_op(rng: &mut fastrand::Rng, tensors: &mut Vec<Tensor>, ops: &mut Vec<Op>) {
    let n_known = tensors.len();
    let recent = |rng: &mut fastrand::Rng| TensorId::new(if rng.bool() { n_known - 1 - rng.usize(0..n_known.min(4)) } else { rng.usize(0..n_known) });
    let inputs: Vec<TensorId> = (0..rng.usize(1..=3)).map(|_| recent(rng)).collect();
    let input_bytes = tensors[inputs[0].index()].bytes.unwrap_or(8);
    let kind = rng.u32(0..6);
    let n_outputs = if kind == 5 { 2 } else { 1 };
    let outputs: Vec<TensorId> = (0..n_outputs)
        .map(|_| {
            let bytes = if kind != 4 { input_bytes } else { 8 * rng.u64(0..=4) };
            let role = if rng.u32(0..8) == 0 { Role::GraphOutput } else { Role::Activation };
            add_tensor(tensors, bytes, role)
        })
        .collect();
    ops.push(Op {
        name: format!("op{}", ops.len()),
        kind: ["View", "AnyInput", "AnyInput", "Pair", "Plain", "Split"][kind as usize].to_owned(),
        views: if kind == 0 { vec![(inputs[0], outputs[0])] } else { Vec::new() },
        in_place: match kind {
            1 | 2 => InPlace::AnyInput,
            // Some views and splits claim more than they may have.
            0 if rng.bool() => InPlace::AnyInput,
            3 | 5 if rng.bool() => InPlace::Pairs(outputs.iter().map(|&output| (inputs[0], output)).collect()),
            _ => InPlace::No,
        },
        foldable: rng.u32(0..4) > 0,
        bodies: Vec::new(),
        inputs,
        outputs,
    });
}

/// A workload around a graph, without a file.
#[must_use]
pub fn workload_of(source: Source) -> Arc<Workload> {
    let (file, title, description) = (String::new(), String::new(), String::new());
    Arc::new(Workload {
        file,
        format: "generated",
        title,
        description,
        source,
        constraints: None,
        observed: None,
        symbolic_dims: Vec::new(),
        warnings: Vec::new(),
    })
}

/// A graph, prepared.
#[must_use]
pub fn prepare_graph(graph: Graph, align: Align, alias: AliasSettings) -> Prepared {
    let settings = PrepareSettings { align, alias, ..PrepareSettings::default() };
    prepare(&workload_of(Source::Graph(Arc::new(graph))), settings).expect("the sizes of a graph add up")
}

/// The smallest arena of any plan, by trying all orders; for at most ten buffers.
///
/// In a smallest plan let every buffer slide down as far as it goes: placing buffers by their offsets, each on top of
/// what it meets, gives that plan again. So some order of placing gives it.
/// Time O(n! · n²).
#[must_use]
pub fn smallest_arena(problem: &Problem) -> u64 {
    let mut order: Vec<usize> = (0..problem.n_buffers()).collect();
    let mut best = problem.total_bytes();
    permute(&mut order, 0, &mut |order| best = best.min(stacked_arena(problem, order)));
    best
}

fn permute(order: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == order.len() {
        visit(order);
    }
    for next in fixed..order.len() {
        order.swap(fixed, next);
        permute(order, fixed + 1, visit);
        order.swap(fixed, next);
    }
}

fn stacked_arena(problem: &Problem, order: &[usize]) -> u64 {
    let mut tops: Vec<(Lifetime, u64)> = Vec::new();
    for &index in order {
        let buffer = &problem.buffers()[index];
        let floor = tops.iter().filter(|(lifetime, _)| lifetime.overlaps(buffer.lifetime)).map(|&(_, top)| top).max().unwrap_or(0);
        tops.push((buffer.lifetime, floor + buffer.bytes));
    }
    tops.into_iter().map(|(_, top)| top).max().unwrap_or(0)
}

/// Makes the problem and the graph of `seed`, plans both with every strategy, and checks all that must hold.
///
/// # Errors
/// A sentence about the first thing that does not hold.
pub fn check_case(seed: u64) -> Result<(), String> {
    let max_buffers = if seed.is_multiple_of(2) { BRUTE_FORCE_LIMIT } else { 60 };
    check_problem(&random_problem(seed, max_buffers))?;
    let io = if seed.is_multiple_of(3) { Io::Arena } else { Io::Static };
    let alias = AliasSettings { in_place: !seed.is_multiple_of(5), io };
    let align = if seed.is_multiple_of(4) { Align::DEFAULT } else { Align::ONE };
    let max_ops = if seed.is_multiple_of(2) { 6 } else { 40 };
    let prepared = prepare_graph(random_graph(seed, max_ops), align, alias);
    check_strategies(&prepared.problem, prepared.context.as_deref())
}

/// Plans `problem` with every strategy that needs no graph, and checks all that must hold.
///
/// # Errors
/// A sentence about the first thing that does not hold.
pub fn check_problem(problem: &Problem) -> Result<(), String> {
    check_strategies(problem, None)
}

fn check_strategies(problem: &Problem, context: Option<&GraphContext>) -> Result<(), String> {
    let bound = lower_bound(problem).bytes;
    let smallest = (problem.n_buffers() <= BRUTE_FORCE_LIMIT).then(|| smallest_arena(problem));
    let mut best = u64::MAX;
    for strategy in strategies() {
        // Nothing else looks at how slots are shared.
        let shares: &[Share] = if strategy.name == "refcount" { &[Share::Any, Share::Equal] } else { &[Share::Any] };
        for &share in shares {
            let options = SolveOptions { share, ..SolveOptions::default() };
            let plan = match solve(strategy.name, problem, context, &options, &Control::unattended()) {
                Ok(plan) => plan,
                Err(SolveError::Unsupported { .. }) if strategy.needs_graph && context.is_none() => continue,
                Err(error) => return Err(format!("{}: {error}", strategy.name)),
            };
            let report = check_plan(problem, context, &plan).map_err(|fault| format!("{}: {fault}", strategy.name))?;
            if strategy.is_safe {
                if let Some(violation) = report.violations.first() {
                    return Err(format!("{}: {violation}", strategy.name));
                }
                check_size(&plan, bound, smallest).map_err(|fault| format!("{}: {fault}", strategy.name))?;
                best = best.min(plan.arena_bytes);
            }
            let is_fewest = strategy.name == "slots-by-birth" || (strategy.name == "refcount" && share == Share::Any);
            if is_fewest && plan.n_slots() != Some(Interference::new(problem).largest_clique().0) {
                return Err(format!("{} uses {:?} slots, not those of the largest clique", strategy.name, plan.n_slots()));
            }
            if strategy.name == "first-fit" {
                check_broken_plans(problem, context, &plan)?;
            }
        }
    }
    let auto = || solve(AUTO, problem, context, &SolveOptions::default(), &Control::unattended()).map_err(|error| error.to_string());
    let plan = auto()?;
    if plan.arena_bytes > best {
        return Err(format!("auto: {} bytes, but a strategy needs only {best}", plan.arena_bytes));
    }
    if plan != auto()? {
        return Err("auto: two runs give two plans".to_owned());
    }
    Ok(())
}

/// Moves one buffer after the other onto another one, and compares the checkers on each broken plan.
fn check_broken_plans(problem: &Problem, context: Option<&GraphContext>, plan: &Plan) -> Result<(), String> {
    let n = problem.n_buffers();
    for (moved, onto) in (0..n).flat_map(|moved| [1, 2, 5].map(|distance| (moved, (moved + distance) % n))) {
        let mut offsets = plan.offsets.clone();
        let shift = problem.align().bytes() * (moved as u64 % 3);
        offsets[moved] = offsets[onto] + shift;
        check_plan(problem, context, &Plan::from_offsets("broken", problem, offsets)).map_err(|fault| format!("broken plan: {fault}"))?;
    }
    Ok(())
}

/// Checks a plan with both checkers and compares them; returns the geometric report.
fn check_plan(problem: &Problem, context: Option<&GraphContext>, plan: &Plan) -> Result<CheckReport, String> {
    let report = check(problem, plan);
    let is_met = |(index, one): (usize, &crate::problem::Buffer)| {
        let ends = |index: usize| plan.offsets[index] + problem.buffers()[index].bytes;
        let meets = |other: usize| {
            let two = &problem.buffers()[other];
            one.lifetime.overlaps(two.lifetime) && plan.offsets[index] < ends(other) && plan.offsets[other] < ends(index)
        };
        (index + 1..problem.n_buffers()).filter(|&other| meets(other)).count() as u64
    };
    let n_overlaps: u64 = problem.buffers().iter().enumerate().map(is_met).sum();
    if n_overlaps != report.n_overlaps {
        return Err(format!("check counts {} overlaps, all pairs give {n_overlaps}", report.n_overlaps));
    }
    if let Some(context) = context {
        let faults = replay(context, problem, plan);
        if faults.is_empty() != (report.n_overlaps == 0) {
            let what = faults.first().map_or_else(|| "nothing".to_owned(), |fault| fault.describe(&context.graph));
            return Err(format!("check finds {} overlaps, replay finds {what}", report.n_overlaps));
        }
    }
    Ok(report)
}

fn check_size(plan: &Plan, bound: u64, smallest: Option<u64>) -> Result<(), String> {
    let arena = plan.arena_bytes;
    if arena < bound {
        return Err(format!("an arena of {arena} bytes is below the bound of {bound}"));
    }
    // Only the search can prove that no plan reaches the bound.
    let is_proved = plan.status == Status::Optimal && plan.strategy == "exact";
    if !is_proved && (plan.status == Status::Optimal) != (arena == bound) {
        return Err(format!("status {} with an arena of {arena} and a bound of {bound}", plan.status.name()));
    }
    match smallest {
        Some(smallest) if is_proved && arena != smallest => Err(format!("brute force finds {smallest} bytes, below the proved minimum of {arena}")),
        Some(smallest) if smallest < bound => Err(format!("brute force finds {smallest} bytes below the bound of {bound}")),
        Some(smallest) if arena < smallest => Err(format!("an arena of {arena} bytes, below the optimum of {smallest}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tight_toys::{fits, tight_toy};

    #[test]
    fn every_strategy_passes_both_checkers_on_random_cases() {
        for seed in 0..400 {
            if let Err(fault) = check_case(seed) {
                panic!("seed {seed}: {fault}");
            }
        }
    }

    #[test]
    fn problems_whose_proved_minimum_is_above_the_bound_pass() {
        let mut n_above = 0;
        for toy in (0..600).map(tight_toy).filter(|toy| !fits(&toy.problem, &toy.problem.ids().collect::<Vec<_>>(), toy.capacity_bytes)) {
            let plan = solve("exact", &toy.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            assert_eq!((plan.status, plan.arena_bytes > toy.capacity_bytes), (Status::Optimal, true));
            assert_eq!(check_problem(&toy.problem), Ok(()));
            n_above += 1;
        }
        assert!(n_above > 5, "only {n_above} problems");
    }

    #[test]
    fn brute_force_finds_the_optimum_of_a_tight_square() {
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(2, life(0, 2)), (2, life(1, 3)), (2, life(2, 4)), (2, life(0, 1))], Align::ONE).expect("a valid problem");
        assert_eq!(smallest_arena(&problem), 4);
    }
}
