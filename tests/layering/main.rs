//! The arrows between the crates, and the rules of the tree, as `src/ARCHITECTURE.md` draws them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all packages that `package` needs to be built, itself excluded.
fn dependencies(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "--package", package])
        .current_dir(root())
        .output()
        .expect("cargo runs these tests");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("cargo prints text");
    lines.lines().filter_map(|line| line.split_whitespace().next()).filter(|&name| name != package).map(str::to_owned).collect()
}

/// Those of `packages` that are ours, by the ending of their name.
fn ours(packages: &BTreeSet<String>) -> Vec<&str> {
    packages.iter().filter_map(|name| name.strip_prefix("arenascope-")).collect()
}

/// All files below `folder` with the given extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is part of the repository") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lists_any(packages: &BTreeSet<String>, prefixes: &[&str]) -> Vec<String> {
    packages.iter().filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))).cloned().collect()
}

#[test]
fn planner_knows_no_other_crate_of_ours() {
    assert_eq!(ours(&dependencies("arenascope-planner")), [""; 0]);
}

#[test]
fn planner_does_no_input_or_output_and_knows_no_format() {
    let found = lists_any(&dependencies("arenascope-planner"), &["serde", "csv", "flate2", "prost", "tempfile", "clap", "anyhow", "egui", "eframe"]);
    assert_eq!(found, [""; 0]);
    // A bench measures, so it has to read files and clocks.
    let is_bench = |file: &PathBuf| file.starts_with(root().join("src/planner/benches"));
    for file in files(&root().join("src/planner"), "rs").into_iter().filter(|file| !is_bench(file)) {
        for word in ["std::fs", "std::net", "std::time::Instant", "SystemTime"] {
            assert!(!text(&file).contains(word), "{} uses {word}", file.display());
        }
    }
}

#[test]
fn formats_know_only_the_planner() {
    let packages = dependencies("arenascope-formats");
    assert_eq!(ours(&packages), ["planner"]);
    assert_eq!(lists_any(&packages, &["egui", "eframe", "clap", "anyhow"]), [""; 0]);
}

#[test]
fn devices_know_only_the_planner() {
    let packages = dependencies("arenascope-gpu");
    assert_eq!(ours(&packages), ["planner"]);
    assert_eq!(lists_any(&packages, &["egui", "eframe", "clap", "anyhow"]), [""; 0]);
}

#[test]
fn only_devices_know_the_driver() {
    for package in ["arenascope-planner", "arenascope-formats"] {
        assert_eq!(lists_any(&dependencies(package), &["cudarc"]), [""; 0], "{package}");
    }
    let entries = std::fs::read_dir(root().join("src")).expect("src is part of the repository");
    let own =
        entries.map(|entry| entry.expect("src can be listed").path()).filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    for file in own.chain(files(&root().join("src/planner"), "rs")).chain(files(&root().join("src/formats"), "rs")) {
        assert!(!text(&file).contains("cudarc") && !text(&file).contains("libloading"), "{} knows the driver", file.display());
    }
}

#[test]
fn unsafe_is_allowed_where_a_driver_is_and_nowhere_else() {
    let allows = |manifest: &Path| text(manifest).contains("unsafe_code = \"allow\"");
    let manifests: Vec<PathBuf> = files(&root().join("src"), "toml").into_iter().chain(files(&root().join("tests"), "toml")).collect();
    let allowed: Vec<&PathBuf> = manifests.iter().filter(|manifest| allows(manifest)).collect();
    assert_eq!(allowed, [&root().join("src/gpu/Cargo.toml"), &root().join("tests/fake-cuda/Cargo.toml")]);
}

#[test]
fn the_window_knows_planner_formats_and_the_parents_side_of_devices() {
    let packages = dependencies("arenascope-app");
    assert_eq!(ours(&packages), ["formats", "gpu", "planner"]);
    assert!(packages.contains("egui") && !packages.contains("clap"));
    // A driver is opened in a child process only; tests play that child.
    let is_test = |file: &PathBuf| file.starts_with(root().join("src/app/ui_tests"));
    for file in files(&root().join("src/app"), "rs").into_iter().filter(|file| !is_test(file)) {
        for word in ["cudarc", "libloading", "arenascope_gpu::cuda", "arenascope_gpu::cpu", "arenascope_gpu::child", "arenascope_gpu::run::"] {
            assert!(!text(&file).contains(word), "{} names {word}", file.display());
        }
    }
}

#[test]
fn only_the_window_names_egui() {
    for folder in ["src/planner", "src/formats"] {
        for file in files(&root().join(folder), "rs") {
            assert!(!text(&file).contains("egui::") && !text(&file).contains("eframe"), "{}", file.display());
        }
    }
}

#[test]
fn one_file_of_the_command_line_knows_the_window() {
    for entry in std::fs::read_dir(root().join("src")).expect("src is part of the repository") {
        let path = entry.expect("src can be listed").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let knows = text(&path).contains("arenascope_app");
            assert_eq!(knows, path.ends_with("cli_window.rs"), "{}", path.display());
        }
    }
}

#[test]
fn the_checkers_share_no_code_with_what_they_check() {
    let planner = root().join("src/planner");
    let imports = |file: &str, module: &str| {
        // What a checker's own tests build is no code of the checker.
        let text = text(&planner.join(file));
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        code.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| line.contains(module))
    };
    assert!(!imports("check.rs", "crate::solve"), "check.rs uses solve");
    assert!(!imports("replay.rs", "crate::solve"), "replay.rs uses solve");
    assert!(!imports("replay.rs", "crate::lifetimes"), "replay.rs uses lifetimes");
    for file in files(&planner.join("solve"), "rs") {
        assert!(!text(&file).contains("crate::replay"), "{} uses replay", file.display());
    }
}

#[test]
fn every_folder_in_src_is_a_crate() {
    for entry in std::fs::read_dir(root().join("src")).expect("src is part of the repository") {
        let path = entry.expect("src can be listed").path();
        if path.is_dir() {
            assert!(path.join("Cargo.toml").is_file() && path.join("lib.rs").is_file(), "{} is no crate", path.display());
        }
    }
}

#[test]
fn the_visible_top_level_is_fixed() {
    let known = [
        "Cargo.lock",
        "Cargo.toml",
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "assets",
        "rustfmt.toml",
        "sample-graphs",
        "src",
        "tests",
    ];
    for name in known {
        assert!(root().join(name).exists(), "{name} is missing");
    }
    // A source archive has no history to ask, and nothing but what is in it.
    let Ok(output) = Command::new("git").args(["ls-files"]).current_dir(root()).output() else { return };
    let listed = String::from_utf8_lossy(&output.stdout);
    let top: BTreeSet<&str> = listed.lines().filter_map(|path| path.split('/').next()).filter(|name| !name.starts_with('.')).collect();
    let unknown: Vec<&&str> = top.iter().filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} do not belong there");
}

#[test]
fn the_bird_s_eye_view_stays_short() {
    assert!(text(&root().join("src/ARCHITECTURE.md")).lines().count() < 200);
}
