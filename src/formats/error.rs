//! What can be wrong with a file: one variant per rule that the input broke, one line per message.

/// Why a file could not be read or written. Every message is one line: what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The file does not exist or may not be read.
    #[error("cannot open `{path}`: {reason}; check the path and the permissions")]
    Unopenable {
        /// The path as given.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// The path names a folder, and what is meant in it is not clear.
    #[error("`{path}` is a folder without an XLA dump and with {n_known} files that could be a model or a problem; name a file in it")]
    Folder {
        /// The path as given.
        path: String,
        /// How many files in it are called like something that can be read.
        n_known: usize,
    },
    /// Several files were given that are not parts of one thing.
    #[error(
        "`{path}` and {} more: of {n_files} files {n_models} could be a model or a problem, and they do not belong together; give one, or the two texts of an XLA dump",
        n_files - 1
    )]
    Apart {
        /// The first path as given.
        path: String,
        /// How many were given.
        n_files: usize,
        /// How many of them are called like something that can be read.
        n_models: usize,
    },
    /// The file has no bytes.
    #[error("`{path}` is empty (0 bytes); export or download it again")]
    Empty {
        /// The path as given.
        path: String,
    },
    /// The medium failed in the middle of the file.
    #[error("`{path}`: byte {offset}: reading failed: {reason}; copy the file to another place and try again")]
    Unreadable {
        /// The path as given.
        path: String,
        /// Where in the file.
        offset: u64,
        /// What the system says.
        reason: String,
    },
    /// The content is of no kind that can be read.
    #[error(
        "`{path}`: {found}; give a model (.onnx, .tflite, .pte, .xml), an op list (.json), buffers with lifetimes (.csv, .json), a dump of XLA or a PyTorch memory snapshot (.pickle)"
    )]
    Unrecognised {
        /// The path as given.
        path: String,
        /// What the content looks like.
        found: String,
    },
    /// A text file that is read as a whole is larger than the reader's limit.
    #[error("`{path}`: {bytes} bytes are more than the {limit} that a text file may have; split it or use a binary format")]
    TooLarge {
        /// The path as given.
        path: String,
        /// Its size.
        bytes: u64,
        /// The reader's limit.
        limit: u64,
    },
    /// The bytes of a binary file do not mean what they must.
    #[error("`{path}`: byte {offset}: {what}; the file is damaged or of another kind: export or download it again")]
    Damaged {
        /// The path as given.
        path: String,
        /// Where in the file.
        offset: u64,
        /// The rule that is broken, with the numbers that disagree.
        what: String,
    },
    /// A pickle wants more than to be read.
    #[error(
        "`{path}`: byte {offset}: the pickle opcode {opcode} is refused: only plain data (dicts, lists, texts, numbers) is read, nothing is imported or called; write the file with torch.cuda.memory._dump_snapshot"
    )]
    Refused {
        /// The path as given.
        path: String,
        /// Where in the file.
        offset: u64,
        /// The opcode's name.
        opcode: &'static str,
    },
    /// A line of a text file breaks a rule.
    #[error("`{path}`: line {line}: {what}; {advice}")]
    Line {
        /// The path as given.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The rule that is broken.
        what: String,
        /// What to do about it.
        advice: String,
    },
    /// A named entry of a file breaks a rule.
    #[error("`{path}`: {place}: {what}; {advice}")]
    Entry {
        /// The path as given.
        path: String,
        /// The op, tensor or field.
        place: String,
        /// The rule that is broken.
        what: String,
        /// What to do about it.
        advice: String,
    },
    /// The file was read, but its ops and tensors do not form a graph.
    #[error("`{path}`: {reason}")]
    Graph {
        /// The path as given.
        path: String,
        /// The rule that is broken, as the planner says it.
        reason: String,
    },
    /// A plan file that does not fit the rules of plan files.
    #[error("plan file: {what}; {advice}")]
    Plan {
        /// The rule that is broken.
        what: String,
        /// What to do about it.
        advice: String,
    },
    /// A plan file without an offset for a buffer of the problem.
    #[error(
        "plan file: no offset for buffer `{name}` (id {id}, {bytes} bytes, one of {n_missing} missing); make the plan from the same file with the same options"
    )]
    PlanLacksBuffer {
        /// The first buffer that is missing.
        name: String,
        /// Its id.
        id: u32,
        /// Its size, rounded.
        bytes: u64,
        /// How many are missing.
        n_missing: usize,
    },
    /// A file could not be written.
    #[error("cannot write `{path}`: {reason}; check that the folder exists and has space")]
    Unwritable {
        /// The path as given.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("`{path}`: reading was stopped")]
    Stopped {
        /// The path as given.
        path: String,
    },
}

/// Text from a file as part of a one-line message: control characters escaped, long text cut.
pub(crate) fn one_line(text: &str) -> String {
    /// Chosen by eye: long enough for real names, short enough for a terminal.
    const MAX_CHARS: usize = 160;
    cut(text, MAX_CHARS)
}

/// As [`one_line`], for whole messages that end with advice.
pub(crate) fn one_message(text: &str) -> String {
    const MAX_CHARS: usize = 1000;
    cut(text, MAX_CHARS)
}

/// A name without control characters, at its full length.
pub(crate) fn clean(name: &str) -> String {
    cut(name, usize::MAX)
}

fn cut(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    for (position, c) in text.chars().enumerate() {
        if position == max_chars {
            line.push('…');
            break;
        }
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_name_with_line_breaks_stays_on_one_line() {
        assert_eq!(one_line("a\nb\u{0}"), "a\\nb\\u{0}");
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), 161);
    }
}
