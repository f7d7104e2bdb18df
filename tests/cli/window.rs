//! The window command where there is no display, and pictures of single views.

use crate::program::{run_in, sample};

/// The first bytes of every PNG file.
const PNG: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];

#[test]
fn without_a_display_the_window_becomes_a_summary_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &[&sample("article_three_tensors.json")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["no display", "12,582,912 B", "article_three_tensors.window.png"] {
        assert!(run.stdout.contains(part), "no `{part}` in {}", run.stdout);
    }
    let picture = std::fs::read(folder.path().join("article_three_tensors.window.png")).unwrap();
    assert!(picture.starts_with(&PNG) && picture.len() > 10_000, "{} bytes", picture.len());
}

#[test]
fn without_a_display_and_a_file_there_is_nothing_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &[]);
    assert_eq!((run.code, run.stderr.lines().count(), run.stdout.as_str()), (1, 1, ""), "{}", run.stderr);
    assert!(run.stderr.contains("no display"), "{}", run.stderr);
}

#[test]
fn a_wrong_file_is_refused_with_or_without_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &["no-such-model.onnx"]);
    assert_eq!((run.code, run.stderr.lines().count()), (1, 1), "{}", run.stderr);
}

#[test]
fn a_recorded_run_is_drawn_to_a_file_and_a_model_has_no_run_to_draw() {
    let folder = tempfile::tempdir().unwrap();
    let model = sample("article_three_tensors.json");
    let recorded = run_in(folder.path(), &["run", &model, "--device", "cpu", "--iterations", "5", "-o", "mine.json"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let run = run_in(folder.path(), &["render", "mine.json", "-o", "run.png", "--view", "run", "--size", "960x600"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(std::fs::read(folder.path().join("run.png")).unwrap().starts_with(&PNG));
    let other = run_in(folder.path(), &["render", "mine.json", "-o", "arena.png", "--view", "arena"]);
    assert!(other.code == 1 && other.stderr.contains("--view run"), "{}", other.stderr);
    let none = run_in(folder.path(), &["render", &model, "-o", "none.png", "--view", "run"]);
    assert!(none.code == 1 && none.stderr.contains("arenascope run -o run.json"), "{}", none.stderr);
    let opened = run_in(folder.path(), &["mine.json"]);
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    assert!(
        opened.stdout.contains("no display") && opened.stdout.contains("clean") && opened.stdout.contains("mine.window.png"),
        "{}",
        opened.stdout
    );
}

#[test]
fn single_views_are_drawn_to_files_of_the_size_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let model = sample("article_three_tensors.json");
    for view in ["lifetimes", "arena", "memory", "interference", "table", "window"] {
        for theme in ["light", "dark"] {
            let run = run_in(folder.path(), &["render", &model, "-o", "view.png", "--view", view, "--theme", theme, "--size", "640x400"]);
            assert_eq!(run.code, 0, "{view} {theme}: {}", run.stderr);
            let picture = std::fs::read(folder.path().join("view.png")).unwrap();
            let side = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
            assert!(picture.starts_with(&PNG), "{view} {theme}");
            assert_eq!((side(16), side(20)), (640, 400), "{view} {theme}");
        }
    }
}
