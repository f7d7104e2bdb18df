//! The allocating line of a stack: the first place that the user wrote, in a few words.
//!
//! A stack of a snapshot begins inside the allocator, goes through the framework's C++ and Python, and ends in the
//! user's script. What a reader looks for is the innermost line of their own; for stacks of the backward pass, which
//! have no Python, it is the operator and the node of the backward graph.

use arenascope_planner::stacks::{Frame, FrameId, StackTable};

/// Folders of installed packages: Python files below them are not the user's own.
const INSTALLED: [&str; 3] = ["site-packages", "dist-packages", "lib/python"];
/// What begins the name of an operator's entry in C++.
const OPERATOR: &str = "at::_ops::";

/// What begins the names of operators that only get memory for another one.
const HELPERS: [&str; 6] = ["empty", "new_empty", "_empty", "resize_", "set_", "resolve_"];

/// The allocating line of a stack, innermost frame first; empty for an empty stack.
pub(super) fn allocating_line(stacks: &StackTable, frames: &[FrameId]) -> String {
    let frames = || frames.iter().map(|&id| stacks.frame(id));
    let is_python = |frame: &Frame| stacks.text(frame.file).ends_with(".py");
    let is_installed = |frame: &Frame| INSTALLED.iter().any(|folder| stacks.text(frame.file).contains(folder));
    let own = frames().find(|frame| is_python(frame) && !is_installed(frame));
    if let Some(frame) = own.or_else(|| frames().find(is_python)) {
        return line(stacks, frame);
    }
    let operators = || frames().filter_map(|frame| stacks.text(frame.function).strip_prefix(OPERATOR)?.split("::").next());
    if let Some(operator) = operators().find(|operator| !is_helper(operator)).or_else(|| operators().next()) {
        let node = frames().find_map(|frame| backward_node(stacks.text(frame.function)));
        return node.map_or_else(|| format!("aten::{operator}"), |node| format!("aten::{operator} in {node}"));
    }
    let known = frames().find(|frame| !matches!(stacks.text(frame.file), "" | "??"));
    known.or_else(|| frames().next()).map(|frame| line(stacks, frame)).unwrap_or_default()
}

/// Whether an operator, without its `aten::`, only gets memory for another one.
pub(super) fn is_helper(operator: &str) -> bool {
    HELPERS.iter().any(|helper| operator.starts_with(helper))
}

/// `MulBackward0` of `torch::autograd::generated::MulBackward0::apply(…)`.
fn backward_node(function: &str) -> Option<&str> {
    let (path, _) = function.split_once("::apply(")?;
    let node = path.strip_prefix("torch::autograd::")?.rsplit("::").next()?;
    (node != "Node").then_some(node)
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
        assert_eq!(line_of(&[allocator, ("at::_ops::add_Tensor::call(at::Tensor const&)", "??", 0)]), "aten::add_Tensor");
        let backward = [
            ("at::_ops::empty_strided::call()", "??", 0),
            ("at::_ops::sum::call()", "", 0),
            ("torch::autograd::generated::MulBackward0::apply(x)", "", 0),
        ];
        assert_eq!(line_of(&backward), "aten::sum in MulBackward0");
        assert_eq!(line_of(&[allocator]), "CUDACachingAllocator.cpp c10::malloc");
        assert_eq!(line_of(&[("start", "??", 0)]), "start");
        assert_eq!(line_of(&[]), "");
    }
}
