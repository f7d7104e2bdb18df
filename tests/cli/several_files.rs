//! Files that belong together, given together: the texts of an XLA dump, a model and its weights, a folder.

use std::path::Path;

use serde_json::Value;

use crate::program::run;

fn copied(folder: &Path, from: &str, name: &str) -> String {
    let to = folder.join(name);
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(from), &to).expect("a file of the tests");
    to.display().to_string()
}

fn plan(args: &[&str]) -> Value {
    let report = run(&[&["plan", "--json", "--align", "1"], args].concat());
    assert_eq!(report.code, 0, "{args:?}: {}", report.stderr);
    serde_json::from_str(&report.stdout).expect("one JSON object")
}

#[test]
fn the_texts_of_a_dump_may_lie_anywhere() {
    let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let assignment = copied(one.path(), "tests/data/xla/cnn_fwd.buffer-assignment.txt", "cnn_fwd.buffer-assignment.txt");
    let ranges = copied(two.path(), "tests/data/xla/cnn_fwd.live-range.txt", "cnn_fwd.live-range.txt");
    let beside = plan(&["tests/data/xla/cnn_fwd.buffer-assignment.txt"]);
    for files in [[assignment.as_str(), &ranges], [&ranges, &assignment]] {
        let together = plan(&files);
        for key in ["buffers", "naive_bytes", "peak_live_bytes", "arena_bytes", "observed_bytes"] {
            assert_eq!(together[key], beside[key], "{key}");
        }
    }
    let picture = one.path().join("arena.svg").display().to_string();
    assert_eq!(run(&["render", &assignment, &ranges, "--view", "arena", "-o", &picture]).code, 0);
    let text = run(&["inspect", &assignment, &ranges]).stdout;
    assert!(text.contains("plan found in the file, by XLA"), "{text}");
}

#[test]
fn files_of_weights_beside_a_model_are_not_needed_and_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = copied(folder.path(), "tests/data/onnx/light_squeezenet.onnx", "model.onnx");
    let weights = folder.path().join("model.onnx.data");
    std::fs::write(&weights, [0; 64]).expect("a file");
    let alone = plan(&[&model]);
    let weights = weights.display().to_string();
    for args in [vec![model.as_str(), &weights], vec![weights.as_str(), &model], vec![folder.path().to_str().expect("a plain path")]] {
        assert_eq!(plan(&args)["arena_bytes"], alone["arena_bytes"], "{args:?}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let models = ["tests/data/onnx/light_squeezenet.onnx", "sample-graphs/mobilenet_v2.onnx"];
    let report = run(&[&["compare"], models.as_slice()].concat());
    assert!(
        report.code == 1 && report.stderr.contains("2 could be a model") && report.stderr.contains("do not belong together"),
        "{}",
        report.stderr
    );
    let absent = run(&["plan", models[0], "absent.data"]);
    assert!(absent.code == 1 && absent.stderr.contains("absent.data"), "{}", absent.stderr);
}
