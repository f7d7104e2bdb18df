use super::*;
use crate::alias::Io;
use crate::ids::OpId;
use crate::testing::random_graph;

fn settings(seed: u64) -> OrderSettings {
    let io = if seed.is_multiple_of(3) { Io::Arena } else { Io::Static };
    let align = if seed.is_multiple_of(4) { Align::DEFAULT } else { Align::ONE };
    OrderSettings { alias: AliasSettings { in_place: !seed.is_multiple_of(5), io }, align, seed }
}

/// Calls `visit` with every topological order.
fn all_orders(links: &OpLinks, order: &mut Vec<OpId>, visit: &mut impl FnMut(&[OpId])) {
    let n = links.before.len();
    if order.len() == n {
        visit(order);
    }
    for op in (0..n).map(OpId::new) {
        let is_next = !order.contains(&op) && links.before[op.index()].iter().all(|source| order.contains(source));
        if is_next {
            order.push(op);
            all_orders(links, order, visit);
            order.pop();
        }
    }
}

#[test]
fn the_model_gives_the_peak_of_the_problem_for_any_order() {
    let mut n_regular = 0;
    for seed in 0..400 {
        let graph = random_graph(seed, 30);
        let settings = settings(seed);
        let (links, file) = (OpLinks::new(&graph), Schedule::new(&graph));
        let model = LiveModel::new(&graph, &file, settings.alias, settings.align);
        if !model.is_regular {
            continue;
        }
        n_regular += 1;
        let orders = [file.order().to_vec(), depth_first::depth_first(&links), breadth_first::breadth_first(&links, file.order())];
        for order in orders {
            let peak = model.peak(&order);
            let schedule = Schedule::in_order(&graph, order).expect("topological");
            assert_eq!(peak, peak_of(&graph, &schedule, settings), "seed {seed}");
        }
    }
    assert!(n_regular > 100, "{n_regular}");
}

#[test]
fn exact_is_the_best_of_all_permutations_and_min_peak_is_never_worse_than_the_file() {
    let (mut n_proved, mut n_better) = (0, 0);
    for seed in 0..300 {
        let graph = random_graph(seed, 8);
        let settings = settings(seed);
        let mut lowest = u64::MAX;
        all_orders(&OpLinks::new(&graph), &mut Vec::new(), &mut |order| {
            let schedule = Schedule::in_order(&graph, order.to_vec()).expect("topological");
            lowest = lowest.min(peak_of(&graph, &schedule, settings));
        });
        let peaks = compare_orders(&graph, &Order::ALL, settings, &Control::unattended());
        let peak = |order: Order| peaks.iter().find(|peak| peak.asked == order).expect("all were asked for");
        assert!(peaks.iter().all(|peak| peak.peak_bytes >= lowest), "seed {seed}");
        assert!(peak(Order::MinPeak).peak_bytes <= peak(Order::File).peak_bytes, "seed {seed}");
        let exact = peak(Order::Exact);
        if exact.ordered.is_lowest {
            assert_eq!(exact.peak_bytes, lowest, "seed {seed}");
            n_proved += 1;
            n_better += u32::from(lowest < peak(Order::File).peak_bytes);
        } else {
            assert!(exact.ordered.note.is_some(), "seed {seed}");
        }
    }
    assert!(n_proved > 100 && n_better > 5, "{n_proved} proved, {n_better} better than the file");
}

#[test]
fn the_search_without_its_bound_finds_the_same_peak() {
    for seed in 0..120 {
        let graph = random_graph(seed, 14);
        let settings = settings(seed);
        let (links, file) = (OpLinks::new(&graph), Schedule::new(&graph));
        let model = LiveModel::new(&graph, &file, settings.alias, settings.align);
        let control = Control::unattended();
        if !model.is_regular {
            continue;
        }
        let reach = Reachability::new(&links, file.order());
        let bound = exact::bound_over_ops(&model, reach.as_ref());
        let unknown = || Found { order: file.order().to_vec(), peak_bytes: u64::MAX };
        let (Exact::Proved(with), Exact::Proved(without)) =
            (exact::exact(&links, &model, unknown(), bound, &control), exact::exact(&links, &model, unknown(), 0, &control))
        else {
            panic!("seed {seed}: a small graph has few sets")
        };
        assert_eq!((with.peak_bytes, model.peak(&with.order)), (without.peak_bytes, without.peak_bytes), "seed {seed}");
        assert!(bound <= with.peak_bytes, "seed {seed}");
    }
}

#[test]
fn a_step_that_is_taken_back_leaves_no_trace() {
    for seed in 0..60 {
        let graph = random_graph(seed, 25);
        let settings = settings(seed);
        let (links, file) = (OpLinks::new(&graph), Schedule::new(&graph));
        let model = LiveModel::new(&graph, &file, settings.alias, settings.align);
        let mut walk = walk::Walk::new(&links, &model);
        for (n, &op) in file.order().iter().enumerate() {
            walk.run_free(u64::MAX, 3, usize::MAX);
            walk.take_back_to(n);
            walk.run(op);
        }
        assert_eq!(walk.peak_bytes(), model.peak(file.order()), "seed {seed}");
    }
}

#[test]
fn a_stopped_search_still_gives_an_order() {
    let graph = random_graph(7, 40);
    let stop = || true;
    let control = Control::new(&stop, &|_| ());
    for order in Order::ALL {
        let ordered = order_graph(&graph, order, settings(1), &control);
        assert_eq!(ordered.schedule.order().len(), graph.ops().len());
        assert_eq!(order.name().parse(), Ok(order));
    }
    assert!("fast".parse::<Order>().expect_err("no such order").to_string().contains("min-peak"));
}

#[test]
fn the_same_seed_gives_the_same_order() {
    for seed in 0..10 {
        let graph = random_graph(seed, 60);
        let order = || order_graph(&graph, Order::MinPeak, settings(seed), &Control::unattended()).schedule;
        assert_eq!(order(), order());
    }
}
