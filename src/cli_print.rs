//! Writes reports: the one place that prints, and the layout of numbers and tables as plain text.

use std::io::{ErrorKind, Write};

use anyhow::Context;
pub(crate) use arenascope_planner::units::{binary_bytes, grouped};

/// Writes a report to standard output.
///
/// A reader that has seen enough (`| head`) closes the pipe; that is no failure of ours.
///
/// # Errors
/// Standard output cannot be written for any other reason, such as a full disk.
pub(crate) fn print(report: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(report.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write the report"),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes one line about a failure to standard error; there is nowhere to report that this fails.
pub(crate) fn print_failure(message: &str) {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(std::io::stderr().lock(), "arenascope: {line}");
}

/// Exact bytes: `6,021,120 B`.
pub(crate) fn exact_bytes(bytes: u64) -> String {
    format!("{} B", grouped(bytes))
}

/// A share as percent with two decimals: `88.42 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Seconds with a unit that suits their size: `12 µs`, `3.2 ms`, `1.25 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        long if long >= 1.0 => format!("{long:.2} s"),
        medium if medium >= 1e-3 => format!("{:.1} ms", medium * 1e3),
        short => format!("{:.0} µs", short * 1e6),
    }
}

/// `count` and a noun that agrees with it: `1 op`, `139 ops`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// Text: flush left.
    Left,
    /// Numbers: flush right.
    Right,
}

/// Rows of cells as aligned columns, two spaces apart, each line indented by `indent` and without trailing blanks.
pub(crate) fn table(indent: usize, columns: &[Set], rows: &[Vec<String>]) -> String {
    let width_of = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width_of).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(columns).zip(&widths).map(|((cell, set), &width)| {
            // Not by `{cell:<width$}`: the formatter panics at widths over 65,535, and names may be longer.
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            match set {
                Set::Left => format!("{cell}{blanks}"),
                Set::Right => format!("{blanks}{cell}"),
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(&" ".repeat(indent));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A paragraph broken at blanks into lines of at most `width` characters, each indented by `indent`.
pub(crate) fn paragraph(indent: usize, width: usize, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a last line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{}{line}\n", " ".repeat(indent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_from_the_right() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (6_021_120, "6,021,120"), (u64::MAX, "18,446,744,073,709,551,615")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn bytes_use_the_largest_unit_that_leaves_one() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (6_021_120, "5.74 MiB"), (1 << 30, "1.00 GiB"), (u64::MAX, "16.00 EiB")]
        {
            assert_eq!(binary_bytes(bytes), text);
        }
    }

    #[test]
    fn columns_align_and_lines_end_without_blanks() {
        let rows = [vec!["a".to_owned(), "1".to_owned(), String::new()], vec!["bcd".to_owned(), "100".to_owned(), "x".to_owned()]];
        assert_eq!(table(1, &[Set::Left, Set::Right, Set::Left], &rows), " a      1\n bcd  100  x\n");
    }

    #[test]
    fn a_cell_may_be_longer_than_the_formatter_pads() {
        let long = "x".repeat(70_000);
        let rows = [vec![long.clone(), "1".to_owned()], vec!["a".to_owned(), "22".to_owned()]];
        assert_eq!(table(0, &[Set::Left, Set::Right], &rows), format!("{long}   1\na{}  22\n", " ".repeat(69_999)));
    }

    #[test]
    fn paragraphs_break_at_blanks() {
        assert_eq!(paragraph(2, 7, "one two three"), "  one two\n  three\n");
    }
}
