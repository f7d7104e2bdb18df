//! The samples teach what their descriptions say: every number of `sample-graphs/README.md` about them.

use serde_json::{Value, json};

use crate::program::{plan_json, run, sample};

const MIB: u64 = 1 << 20;

/// Plans a sample and compares the named keys of the report.
fn expect(file: &str, options: &[&str], wanted: Value) {
    let (_, report) = plan_json(file, options);
    for (key, value) in wanted.as_object().expect("wanted keys are an object") {
        assert_eq!(&report[key], value, "{file} {options:?}: {key}");
    }
}

#[test]
fn three_tensors_take_12_mib_because_relu_works_in_place() {
    let naive = 16 * MIB;
    expect(
        "article_three_tensors.json",
        &["--strategy", "slots-by-birth"],
        json!({"naive_bytes": naive, "arena_bytes": 12 * MIB, "slots": 2, "valid": true}),
    );
    expect(
        "article_three_tensors.json",
        &["--in-place", "off"],
        json!({"naive_bytes": naive, "peak_live_bytes": 16 * MIB, "arena_bytes": 16 * MIB, "proved_optimal": true}),
    );
}

#[test]
fn three_tensors_make_the_printed_algorithm_overlap() {
    let (code, report) = plan_json("article_three_tensors.json", &["--strategy", "article-printed"]);
    assert_eq!((code, &report["valid"]), (1, &json!(false)));
    let text = run(&["plan", &sample("article_three_tensors.json"), "--strategy", "article-printed"]);
    assert_eq!(text.code, 1);
    assert!(text.stdout.contains("INVALID") && text.stdout.contains("share bytes 65536 to 4194304"), "{}", text.stdout);
}

#[test]
fn the_free_list_ends_with_three_slots() {
    let wanted = json!({"naive_bytes": 20 * MIB, "arena_bytes": 12 * MIB, "peak_live_bytes": 12 * MIB, "slots": 3, "proved_optimal": true});
    expect("refcount_free_list.json", &["--strategy", "refcount"], wanted);
}

#[test]
fn only_the_last_reader_may_work_in_place() {
    expect("inplace_trap.json", &["--strategy", "refcount"], json!({"naive_bytes": 16 * MIB, "arena_bytes": 8 * MIB, "buffers": 2, "slots": 2}));
    expect("inplace_trap.json", &["--strategy", "slots-by-birth", "--in-place", "off"], json!({"arena_bytes": 12 * MIB, "buffers": 4, "slots": 3}));
}

#[test]
fn sharing_among_equal_sizes_only_needs_a_slot_more() {
    let naive = 26 * MIB;
    expect(
        "memory_sharing.json",
        &["--strategy", "refcount"],
        json!({"naive_bytes": naive, "arena_bytes": 12 * MIB, "slots": 2, "proved_optimal": true}),
    );
    expect("memory_sharing.json", &["--strategy", "refcount", "--share", "equal"], json!({"arena_bytes": 14 * MIB, "slots": 3}));
}

#[test]
fn two_branches_share_three_slots() {
    let wanted = json!({"naive_bytes": 32 * MIB, "arena_bytes": 12 * MIB, "slots": 3, "proved_optimal": true});
    expect("parallel_branches.json", &["--strategy", "slots-by-birth"], wanted);
}

#[test]
fn training_keeps_the_hidden_layer_for_the_backward_pass() {
    expect("two_layer_perceptron_training.json", &[], json!({"peak_live_bytes": 9 * MIB, "arena_bytes": 9 * MIB, "valid": true}));
    let (_, off) = plan_json("two_layer_perceptron_training.json", &["--in-place", "off"]);
    assert!(off["peak_live_bytes"].as_u64() > Some(9 * MIB), "{off}");
}

/// Source: the values of the reference planner that came with the models; `greedy` is what a plain largest-first
/// best-fit planner reaches, so `auto` must not need more.
#[test]
fn real_models_have_their_reference_numbers() {
    for (file, dims, naive, peak_off, peak_on, greedy) in [
        ("mobilenet_v2.onnx", &[][..], 52_011_392, 9_633_792, 6_021_120, 6_021_120),
        ("resnet50.onnx", &[], 105_787_392, 9_633_792, 7_225_344, 7_225_344),
        ("bert_base.onnx", &["batch=2", "seq=128"], 560_558_300, 10_354_688, 7_208_960, 7_208_960),
        ("gpt2.onnx", &["batch=1", "seq=256"], 882_999_876, 13_631_504, 10_485_776, 11_272_208),
        ("unet.onnx", &["batch=1", "h=64", "w=64", "seq=77"], 8_188_216_757_u64, 1_084_229_688, 551_553_080, 551_553_080_u64),
    ] {
        let mut options = vec!["--align", "1"];
        options.extend(dims.iter().flat_map(|dim| ["--dim", dim]));
        let (code, on) = plan_json(file, &options);
        assert_eq!((code, &on["naive_bytes"], &on["peak_live_bytes"]), (0, &json!(naive), &json!(peak_on)), "{file}");
        assert!(on["arena_bytes"].as_u64() <= Some(greedy), "{file}: {}", on["arena_bytes"]);
        options.extend(["--in-place", "off"]);
        expect(file, &options, json!({"naive_bytes": naive, "peak_live_bytes": peak_off}));
    }
}

/// Source: MiniMalloc's challenging set; the largest sum of live sizes of A and K is the capacity in the file name.
#[test]
fn minimalloc_problems_have_a_bound_of_one_mebibyte() {
    for (file, buffers) in [("minimalloc_A.1048576.csv", 154), ("minimalloc_K.1048576.csv", 454)] {
        expect(file, &[], json!({"format": "minimalloc-csv", "buffers": buffers, "lower_bound_bytes": MIB, "valid": true, "static_bytes": 0}));
    }
}

#[test]
fn descriptions_are_shown_by_inspect() {
    for file in
        ["article_three_tensors", "refcount_free_list", "inplace_trap", "memory_sharing", "parallel_branches", "two_layer_perceptron_training"]
    {
        let shown = run(&["inspect", &sample(&format!("{file}.json")), "--json"]);
        let report: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert!(report["title"].as_str().is_some_and(|title| title.len() > 10), "{file}");
        assert!(report["description"].as_str().is_some_and(|text| text.len() > 200), "{file}");
        assert_eq!(report["warnings"], json!([]), "{file}");
    }
}
