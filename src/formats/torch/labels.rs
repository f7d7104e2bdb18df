//! The allocating line of a stack: the first place that the user wrote, in a few words.
//!
//! A stack of a snapshot begins inside the allocator, goes through the framework's C++ and Python, and ends in the
//! user's script. What a reader looks for is the innermost line of their own; for stacks of the backward pass, which
//! have no Python, it is the operator.

use arenascope_planner::stacks::{Frame, FrameId, StackTable};

/// Folders of installed packages: Python files below them are not the user's own.
const INSTALLED: [&str; 3] = ["site-packages", "dist-packages", "lib/python"];
/// What begins the name of an operator's entry in C++.
const OPERATOR: &str = "at::_ops::";

/// The allocating line of a stack, innermost frame first; empty for an empty stack.
pub(super) fn allocating_line(stacks: &StackTable, frames: &[FrameId]) -> String {
    let frames = || frames.iter().map(|&id| stacks.frame(id));
    let is_python = |frame: &Frame| stacks.text(frame.file).ends_with(".py");
    let is_installed = |frame: &Frame| INSTALLED.iter().any(|folder| stacks.text(frame.file).contains(folder));
    let own = frames().find(|frame| is_python(frame) && !is_installed(frame));
    if let Some(frame) = own.or_else(|| frames().find(is_python)) {
        return line(stacks, frame);
    }
    let operators = frames().filter_map(|frame| stacks.text(frame.function).strip_prefix(OPERATOR)?.split("::").next().map(str::to_owned));
    if let Some(operator) = { operators }.next() {
        return format!("aten::{operator} (no Python frame)");
    }
    let known = frames().find(|frame| !matches!(stacks.text(frame.file), "" | "??"));
    known.or_else(|| frames().next()).map(|frame| line(stacks, frame)).unwrap_or_default()
}

/// `folder/file.py:12 function`, or the function alone.
fn line(stacks: &StackTable, frame: Frame) -> String {
    let (file, function) = (stacks.text(frame.file), stacks.text(frame.function));
    let function = crate::error::one_line(function);
    if matches!(file, "" | "??") {
        return function;
    }
    let start = file.rmatch_indices(['/', '\\']).nth(1).map_or(0, |(position, _)| position + 1);
    let short = crate::error::one_line(file.get(start..).unwrap_or(file));
    if frame.line == 0 { format!("{short} {function}") } else { format!("{short}:{} {function}", frame.line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(frames: &[(&str, &str, u32)]) -> String {
        let mut stacks = StackTable::default();
        let ids: Vec<FrameId> = frames
            .iter()
            .map(|&(function, file, line)| {
                let frame = Frame { function: stacks.text_id(function), file: stacks.text_id(file), line };
                stacks.frame_id(frame)
            })
            .collect();
        allocating_line(&stacks, &ids)
    }

    #[test]
    fn the_users_own_line_comes_before_the_frameworks() {
        let allocator = ("c10::malloc", "CUDACachingAllocator.cpp", 0);
        let library = ("forward", "/env/lib/python3.12/site-packages/torch/nn/modules/linear.py", 134);
        assert_eq!(line_of(&[allocator, library, ("attention", "/home/me/model/attention.py", 12)]), "model/attention.py:12 attention");
        assert_eq!(line_of(&[allocator, library]), "modules/linear.py:134 forward");
        assert_eq!(line_of(&[allocator, ("at::_ops::add_Tensor::call(at::Tensor const&)", "??", 0)]), "aten::add_Tensor (no Python frame)");
        assert_eq!(line_of(&[allocator]), "CUDACachingAllocator.cpp c10::malloc");
        assert_eq!(line_of(&[("start", "??", 0)]), "start");
        assert_eq!(line_of(&[]), "");
    }
}
