//! Naive total, peak and number of buffers of every model, exactly as the rules of the README give them.

use arenascope_planner::alias::Io;
use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::solve::{AUTO, SolveOptions, solve};

use crate::support::{models, open_model, path, prepared, totals};

/// A reference's variant and the settings that make it.
const VARIANTS: [(&str, bool, Io); 4] = [
    ("internal_view", false, Io::Static),
    ("internal_inplace_view", true, Io::Static),
    ("io_view", false, Io::Arena),
    ("io_inplace_view", true, Io::Arena),
];

#[test]
fn every_total_is_the_references() {
    for (name, model) in models() {
        let workload = open_model(&model);
        for (variant, in_place, io) in VARIANTS {
            assert_eq!(totals(&workload, in_place, io), model.variants[variant], "{name}: {variant}");
        }
        assert_eq!(
            totals(&workload, true, Io::Static).naive,
            model.variants["internal"].naive,
            "{name}: the naive total counts each tensor for itself"
        );
    }
}

#[test]
fn the_published_figures_of_two_models_are_met() {
    let models = models();
    let of = |name: &str, in_place: bool| totals(&open_model(&models[name]), in_place, Io::Static);
    assert_eq!((of("mobilenet_v2_static", false).naive, of("mobilenet_v2_static", false).peak), (52_011_392, 9_633_792));
    assert_eq!(of("mobilenet_v2_static", true).peak, 6_021_120);
    assert_eq!((of("unet_dyn", false).naive, of("unet_dyn", false).peak), (8_188_216_757, 1_084_229_688));
    assert_eq!(of("unet_dyn", true).peak, 551_553_080);
}

#[test]
fn auto_needs_at_most_what_largest_first_best_fit_needs() {
    let text = std::fs::read_to_string(path("tests/data/onnx/reference.json")).expect("the reference is part of the tests");
    let reference: serde_json::Value = serde_json::from_str(&text).expect("the reference is well-formed");
    for (name, model) in models() {
        let prepared = prepared(&open_model(&model), true, Io::Static);
        let plan = solve(AUTO, &prepared.problem, prepared.context.as_deref(), &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert!(check(&prepared.problem, &plan).is_valid(), "{name}");
        let weak = reference["models"][&name]["variants"]["internal_inplace_view"]["greedy_by_size"].as_u64().expect("a number of bytes");
        assert!(plan.arena_bytes <= weak, "{name}: {} bytes, but a weak planner needs {weak}", plan.arena_bytes);
    }
}
