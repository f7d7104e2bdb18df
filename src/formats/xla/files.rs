//! Which files of a dump belong together: XLA writes a pair of texts per module, with a common beginning.

use std::path::{Path, PathBuf};

const ASSIGNMENT: &str = "buffer-assignment";
const RANGES: &str = "live-range";
/// Files of a folder that are looked at: XLA writes a few per module.
pub(crate) const MAX_FOLDER_FILES: usize = 1 << 16;

/// A buffer assignment among names with their sizes, and the live ranges that belong to it, by position. Of several
/// modules the one with the longest text is taken.
pub(crate) fn pick(names: &[(String, u64)]) -> Option<(usize, Option<usize>)> {
    let assignments = names.iter().enumerate().filter(|(_, (name, _))| is_text(name, ASSIGNMENT));
    let (main, (name, _)) = assignments.max_by_key(|(index, (_, bytes))| (*bytes, std::cmp::Reverse(*index)))?;
    Some((main, partner(name, names, RANGES)))
}

/// The other text of a file's pair, beside it in its folder.
pub(crate) fn sibling(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let wanted = match () {
        () if name.contains(ASSIGNMENT) => RANGES,
        () if name.contains(RANGES) => ASSIGNMENT,
        () => return None,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<(String, u64)> =
        entries.take(MAX_FOLDER_FILES).filter_map(|entry| Some((entry.ok()?.file_name().to_str()?.to_owned(), 0))).collect();
    names.sort();
    partner(name, &names, wanted).map(|index| folder.join(&names[index].0))
}

fn is_text(name: &str, kind: &str) -> bool {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    last.contains(kind) && last.ends_with(".txt")
}

/// The file of a kind whose name begins most like `name`; modules are told apart by what stands before the first dot
/// or dash after their number.
fn partner(name: &str, names: &[(String, u64)], kind: &str) -> Option<usize> {
    let other = |text: &str| text.replace(ASSIGNMENT, "").replace(RANGES, "");
    let common = |text: &str| other(text).bytes().zip(other(name).bytes()).take_while(|(one, two)| one == two).count();
    let module = |text: &str| other(text).split(['.', '-']).next().unwrap_or_default().to_owned();
    let candidates = names.iter().enumerate().filter(|(_, (text, _))| is_text(text, kind) && module(text) == module(name));
    candidates.max_by_key(|(index, (text, _))| (common(text), std::cmp::Reverse(*index))).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_finds_its_own_live_ranges() {
        let names: Vec<(String, u64)> = [
            ("module_0001.jit_a.cpu_after_optimizations-buffer-assignment.txt", 10),
            ("module_0001.jit_a.cpu_after_optimizations-live-range.txt", 500),
            ("module_0002.jit_b.cpu_after_optimizations-buffer-assignment.txt", 99),
            ("module_0002.jit_b.cpu_after_optimizations-live-range.txt", 20),
            ("module_0002.jit_b.before_optimizations.txt", 1000),
        ]
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .to_vec();
        assert_eq!(pick(&names), Some((2, Some(3))));
        assert_eq!(pick(&names[..1]), Some((0, None)));
        assert_eq!(pick(&names[4..]), None);
    }
}
