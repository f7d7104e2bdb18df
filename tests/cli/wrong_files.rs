//! A wrong file gives one line, what, where and what to do, and exit code 1; never a panic.

use crate::program::{run, run_in, sample, temporary};

/// Every command that reads a model refuses `path` in one line that holds `part`.
fn refused(path: &str, part: &str) {
    for args in [&["plan", path][..], &["plan", path, "--json"], &["inspect", path], &["compare", path]] {
        let run = run(args);
        assert_eq!(run.code, 1, "{args:?}: {}{}", run.stdout, run.stderr);
        assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1), "{args:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("arenascope: ") && run.stderr.contains(part), "{args:?}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
}

#[test]
fn an_absent_file_and_a_folder_are_named() {
    refused("no-such-model.onnx", "no-such-model.onnx");
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path().to_str().unwrap(), "folder");
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    for name in ["model.onnx", "graph.json", "problem.csv"] {
        let (_folder, path) = temporary(name, b"");
        refused(&path, "empty");
    }
}

#[test]
fn text_is_no_model() {
    for name in ["model.onnx", "notes.txt"] {
        let (_folder, path) = temporary(name, b"Dear diary, today I planned no memory at all.\n");
        refused(&path, name);
    }
}

#[test]
fn a_truncated_model_is_refused() {
    let whole = std::fs::read(sample("mobilenet_v2.onnx")).unwrap();
    for keep in [1, 7, 100, whole.len() / 3, whole.len() - 1] {
        let (_folder, path) = temporary("cut.onnx", &whole[..keep]);
        let run = run(&["plan", &path]);
        assert!(run.code == 1 && run.stderr.lines().count() == 1, "{keep} bytes: {} {}{}", run.code, run.stdout, run.stderr);
    }
    let whole = std::fs::read(sample("inplace_trap.json")).unwrap();
    let (_folder, path) = temporary("cut.json", &whole[..whole.len() / 2]);
    refused(&path, "line");
}

#[test]
fn random_bytes_are_no_model() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    for name in ["noise.onnx", "noise.json", "noise.csv", "noise"] {
        let noise: Vec<u8> = (0..5000).map(|_| next()).collect();
        let (_folder, path) = temporary(name, &noise);
        refused(&path, name);
    }
}

#[test]
fn numbers_that_make_no_sense_name_the_line() {
    for (row, part) in [("b,0,2,-5", "line 2"), ("b,5,2,10", "line 2"), ("b,0,2,99999999999999999999999", "line 2"), ("b,0,2", "line 2")] {
        let (_folder, path) = temporary("problem.csv", format!("id,lower,upper,size\n{row}\n").as_bytes());
        refused(&path, part);
    }
}

#[test]
fn a_huge_sparse_file_is_refused_at_once() {
    let (_folder, path) = temporary("huge.onnx", b"");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
    let run = run(&["plan", &path]);
    assert!(run.code == 1 && run.stderr.lines().count() == 1, "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_file_that_is_no_plan_is_refused_by_check() {
    let model = sample("inplace_trap.json");
    let whole = std::fs::read(&model).unwrap();
    for bytes in [&b""[..], b"not JSON", b"{}", b"{\"schema\": 1}", b"\xff\xfe\x00", &whole] {
        let (folder, path) = temporary("plan.json", bytes);
        let run = run_in(folder.path(), &["check", &model, &path]);
        assert_eq!((run.code, run.stderr.lines().count(), run.stdout.as_str()), (1, 1, ""), "{bytes:?}: {}", run.stderr);
    }
    let run = run(&["check", &model, "no-such-plan.json"]);
    assert!(run.code == 1 && run.stderr.contains("no-such-plan.json"), "{}", run.stderr);
}

#[test]
fn a_plan_of_another_file_is_refused_by_check() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["export", &sample("inplace_trap.json"), "-o", "plan.json"]);
    let checked = run_in(folder.path(), &["check", &sample("parallel_branches.json"), "plan.json"]);
    assert_eq!((checked.code, checked.stderr.lines().count()), (1, 1), "{}{}", checked.stdout, checked.stderr);
}
