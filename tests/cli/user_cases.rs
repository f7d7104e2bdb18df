//! What people asked for in public, as they would do it on the command line.

use serde_json::{Value, json};

use crate::program::{run, run_in, sample, temporary};

/// The absolute path of a file of the tests.
fn data(name: &str) -> String {
    let path: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/data", name].iter().collect();
    path.to_str().expect("the repository has a plain path").to_owned()
}

fn json_of(args: &[&str]) -> Value {
    let run = run(args);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", run.stdout, run.stderr))
}

/// "A warning names value number 128: which tensor is that?"
#[test]
fn a_tensor_is_found_by_its_number_and_by_its_name() {
    let file = sample("mobilenet_v2.onnx");
    let by_number = json_of(&["inspect", &file, "--find", "128", "--json"]);
    assert_eq!((by_number.as_array().map(Vec::len), &by_number[0]["index"]), (Some(1), &json!(128)));
    let name = by_number[0]["name"].as_str().expect("a name");
    let by_name = json_of(&["inspect", &file, "--find", name, "--json"]);
    assert!(by_name.as_array().is_some_and(|found| found.contains(&by_number[0])), "{by_name}");
    let text = run(&["inspect", &file, "--find", "128"]);
    assert!(text.code == 0 && text.stdout.contains(name), "{}{}", text.stdout, text.stderr);
    let absent = run(&["inspect", &file, "--find", "no such tensor"]);
    assert_eq!((absent.code, absent.stderr.lines().count()), (1, 1), "{}", absent.stderr);
}

/// "The arena size is found by trial and error." Source: what TensorFlow Lite Micro allocates for these models.
#[test]
fn the_arena_of_a_microcontroller_model_is_known_before_it_is_flashed() {
    for (model, head) in [("person_detect", 55_296), ("micro_speech_quantized", 5_968), ("hello_world_int8", 32)] {
        let file = data(&format!("tflite/{model}.tflite"));
        let report = json_of(&["plan", &file, "--io", "arena", "--in-place", "off", "--align", "16", "--json"]);
        assert_eq!((&report["arena_bytes"], &report["proved_optimal"]), (&json!(head), &json!(true)), "{model}");
        let folder = tempfile::tempdir().unwrap();
        let options = ["--io", "arena", "--in-place", "off", "--align", "16"];
        let written = run_in(folder.path(), &[&["export", file.as_str(), "-o", "plan.h"][..], &options].concat());
        assert_eq!(written.code, 0, "{}", written.stderr);
        assert!(std::fs::read_to_string(folder.path().join("plan.h")).unwrap().contains(&format!("((size_t){head}ULL)")), "{model}");
        let planned = run_in(folder.path(), &[&["export", file.as_str(), "-o", "planned.tflite"][..], &options].concat());
        assert_eq!(planned.code, 0, "{}", planned.stderr);
        let again = run_in(folder.path(), &[&["plan", "planned.tflite", "--json"][..], &options].concat());
        let again: Value = serde_json::from_str(&again.stdout).unwrap();
        assert!(again["observed_bytes"].as_u64().is_some_and(|bytes| bytes <= head), "{model}: {again}");
    }
}

/// "Making the arena larger changes the missing bytes in confusing steps."
#[test]
fn a_capacity_says_how_much_is_missing_at_each_size() {
    let file = data("tflite/person_detect.tflite");
    for (capacity, missing) in [(35_120_u64, Some("20,176 B missing")), (55_295, Some("1 B missing")), (55_296, None)] {
        let text = capacity.to_string();
        let run = run(&["plan", &file, "--io", "arena", "--in-place", "off", "--align", "16", "--capacity", &text]);
        assert_eq!(run.code, i32::from(missing.is_some()), "{}", run.stdout);
        assert!(missing.is_none_or(|missing| run.stdout.contains(missing)), "{}", run.stdout);
    }
    let log =
        b"0 (id=0): size=9216, offset=0, first_used=0 last_used=1\nFailed to resize buffer. Requested: 55296, available 35120, missing: 20176\n";
    let (_folder, path) = temporary("serial.log", log);
    let report = json_of(&["inspect", &path, "--json"]);
    assert_eq!((&report["format"], &report["observed"]["arena_bytes"]), (&json!("tflm-plan"), &json!(9216)));
    assert!(report["warnings"][0].as_str().is_some_and(|text| text.contains("missing: 20176")), "{report}");
}

/// "The compiler's cache setting does not cap scratch; the error comes only at run time."
#[test]
fn the_memory_that_a_compiler_planned_is_seen_before_the_run() {
    let report = json_of(&["inspect", &data("tflite/person_detect_vela.tflite"), "--json"]);
    assert_eq!((&report["observed"]["arena_bytes"], &report["observed"]["valid"]), (&json!(74_464), &json!(true)));
    assert!(report["warnings"].to_string().contains("scratch memory of 74464 bytes"), "{report}");
    let program = json_of(&["inspect", &data("executorch/tinycnn_fwd.pte"), "--json"]);
    assert_eq!((&program["observed"]["arena_bytes"], &program["observed"]["valid"]), (&json!(442_368), &json!(true)));
}

/// "Cannot reconstruct how the total comes about."
#[test]
fn the_parts_add_up_to_the_total() {
    let file = data("tflite/person_detect.tflite");
    let plan = json_of(&["plan", &file, "--json"]);
    let number = |key: &str| plan[key].as_u64().unwrap_or_else(|| panic!("{key}: {plan}"));
    assert_eq!(number("total_before"), number("static_bytes") + number("naive_bytes"));
    assert_eq!(number("total_after"), number("static_bytes") + number("arena_bytes"));
    let inspection = json_of(&["inspect", &file, "--align", "1", "--json"]);
    let roles = inspection["tensors_by_role"].as_array().expect("a list");
    let sum = |dynamic: bool| -> u64 {
        roles.iter().filter(|role| (role["role"] == "activation") == dynamic).filter_map(|role| role["bytes"].as_u64()).sum()
    };
    // A view of the output shares the output's storage, so that the activations are those beside it.
    let (fixed, made) = (inspection["static_bytes"].as_u64().unwrap(), inspection["naive_bytes"].as_u64().unwrap());
    assert!(fixed <= sum(false) && made <= sum(true) && fixed + made + 64 >= sum(false) + sum(true) - 64, "{inspection}");
}

/// "The planner reused a buffer that was still being read."
#[test]
fn overlaps_of_an_imported_plan_are_named() {
    let csv = b"id,lower,upper,size,offset\nscores,0,4,100,0\nweights,2,6,100,50\nlater,6,8,100,0\n";
    let (_folder, path) = temporary("printed.csv", csv);
    let report = json_of(&["inspect", &path, "--json"]);
    assert_eq!(report["observed"]["valid"], json!(false));
    let faults = report["observed"]["faults"].as_array().expect("a list");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].as_str().is_some_and(|fault| fault.contains("scores") && fault.contains("weights")), "{faults:?}");
    let text = run(&["inspect", &path]);
    assert!(text.stdout.contains("INVALID"), "{}", text.stdout);
}

/// "A 4-bit buffer was reused for an 8-bit tensor; two names for one storage got two offsets."
#[test]
fn packed_types_have_exact_sizes_and_aliases_one_place() {
    let graph = br#"{"format":"op-list-v1","tensors":[
        {"name":"x","dtype":"int4","shape":[3,3]},{"name":"packed","dtype":"int4","shape":[33,3]},
        {"name":"view","dtype":"int4","shape":[99]},{"name":"wide","dtype":"int8","shape":[99]}],
        "ops":[{"op":"matmul","inputs":["x"],"outputs":["packed"]},{"op":"reshape","inputs":["packed"],"outputs":["view"]},
        {"op":"relu","inputs":["view"],"outputs":["wide"]}]}"#;
    let (folder, path) = temporary("packed.json", graph);
    let written = run_in(folder.path(), &["export", &path, "-o", "plan.json", "--align", "1"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
    let buffers = plan["buffers"].as_array().expect("a list");
    let facts: Vec<(&Value, &Value)> = buffers.iter().map(|buffer| (&buffer["tensors"], &buffer["bytes"])).collect();
    assert_eq!(facts, [(&json!(["packed", "view"]), &json!(50)), (&json!(["wide"]), &json!(99))]);
    assert_eq!(plan["arena_bytes"], json!(149), "the 8-bit result does not fit over the 4-bit input");
    assert_eq!(run_in(folder.path(), &["check", &path, "plan.json"]).code, 0);
}

#[test]
fn memory_is_shown_as_a_function_of_a_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let file = data("onnx/mobilenet_v2_dyn.onnx");
    let fixed = ["--dim", "height=224", "--dim", "width=224"];
    let swept = run_in(folder.path(), &[&["sweep", file.as_str(), "--dim", "batch=1..5:2", "--json", "-o", "chart.svg"][..], &fixed].concat());
    let report: Value = serde_json::from_str(&swept.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", swept.stdout, swept.stderr));
    let values: Vec<(u64, u64)> = report["values"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|point| (point["value"].as_u64().unwrap(), point["arena_bytes"].as_u64().unwrap()))
        .collect();
    assert_eq!(values, [(1, 6_021_120), (3, 3 * 6_021_120), (5, 5 * 6_021_120)]);
    assert!(std::fs::read_to_string(folder.path().join("chart.svg")).unwrap().starts_with("<svg"));
    let wrong = run(&["sweep", &file, "--dim", "depth=1..2"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("depth"), "{}", wrong.stderr);
    let tight = run(&[&["sweep", file.as_str(), "--dim", "batch=1..2", "--capacity", "6021120"][..], &fixed].concat());
    let rows: Vec<&str> = tight.stdout.lines().rev().take(2).collect();
    assert!(tight.code == 1 && rows[0].ends_with("0.00 %  does not fit") && rows[1].ends_with("0.00 %"), "{}", tight.stdout);
}

#[test]
fn what_pytorch_exported_is_planned_with_its_backward_pass() {
    for name in ["exported_example", "exported_transformer_layer"] {
        let report = json_of(&["plan", &data(&format!("oplist/{name}.oplist.json")), "--json"]);
        assert_eq!((&report["valid"], &report["format"], &report["warnings"]), (&json!(true), &json!("op-list"), &json!([])), "{name}");
    }
}
