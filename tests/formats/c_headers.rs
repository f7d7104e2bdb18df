//! The C header compiles without a warning, and its numbers are the plan's.

use std::process::Command;
use std::sync::Arc;

use arenascope_formats::c_header::plan_to_header;
use arenascope_planner::alias::Io;
use arenascope_planner::control::Control;
use arenascope_planner::solve::{AUTO, SolveOptions, solve};

use crate::support::{open, parse, path, prepared};

/// Names that C does not take, that are alike once it does, and one that would end a comment.
const ODD: &str = r#"{"format":"op-list-v1","tensors":[
 {"name":"x","bytes":64},{"name":"a.b","bytes":64},{"name":"a/b","bytes":64},{"name":"*/ int evil;","bytes":64},{"name":"9\\\\","bytes":64},{"name":"größe","bytes":64}],
 "ops":[{"op":"matmul","inputs":["x"],"outputs":["a.b"]},{"op":"matmul","inputs":["a.b"],"outputs":["a/b"]},{"op":"matmul","inputs":["a/b"],"outputs":["*/ int evil;"]},
 {"op":"matmul","inputs":["*/ int evil;"],"outputs":["9\\\\"]},{"op":"matmul","inputs":["9\\\\"],"outputs":["größe"]}]}"#;

#[test]
fn headers_compile_and_their_offsets_lie_in_the_arena() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let models = [
        open(&path("sample-graphs/mobilenet_v2.onnx"), &[]).expect("a sample"),
        open(&path("sample-graphs/minimalloc_A.1048576.csv"), &[]).expect("a sample"),
        parse("2 odd-names.json", ODD.as_bytes()).expect("an op list"),
    ];
    for workload in models {
        let workload = Arc::new(workload);
        let prepared = prepared(&workload, true, Io::Static);
        let plan = solve(AUTO, &prepared.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        let header = plan_to_header(&prepared, &plan);
        std::fs::write(folder.path().join("plan.h"), &header).expect("the folder is writable");
        let prefix = header.split_once("#ifndef ARENA_").and_then(|(_, rest)| rest.split_once("_H")).expect("a guard").0;
        let constants: Vec<&str> =
            header.lines().filter_map(|line| line.strip_prefix("static const size_t ")?.split_once(' ').map(|(name, _)| name)).collect();
        let n_tensors = prepared.problem.ids().map(|id| prepared.buffer_tensors(id).len().max(1)).sum::<usize>();
        assert_eq!(constants.len(), n_tensors, "{}", workload.file);
        let checks: String = constants.iter().map(|name| format!("    if ({name} >= ARENA_{prefix}_BYTES) return 1;\n")).collect();
        let program = format!(
            "#include \"plan.h\"\n#include \"plan.h\"\nstatic char arena[64];\nint main(void) {{\n{checks}    if (ARENA_{prefix}_BYTES != {}u) return 2;\n    return ARENA_{prefix}_ADDRESS(arena, {}) == arena + {} ? 0 : 3;\n}}\n",
            plan.arena_bytes, constants[0], constants[0]
        );
        std::fs::write(folder.path().join("main.c"), program).expect("the folder is writable");
        let run = |program: &str, arguments: &[&str]| Command::new(program).args(arguments).current_dir(folder.path()).output();
        let Ok(compiled) = run("cc", &["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c"]) else {
            // Without a C compiler there is nothing that could take the header.
            return;
        };
        assert!(compiled.status.success(), "{}: {}", workload.file, String::from_utf8_lossy(&compiled.stderr));
        let ran = Command::new(folder.path().join("main")).status().expect("what was compiled runs");
        assert_eq!(ran.code(), Some(0), "{}", workload.file);
    }
}
