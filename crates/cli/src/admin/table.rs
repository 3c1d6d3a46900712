use std::fmt::Write as _;

use crate::output::plain;

/// Formats a head and rows, each column as wide as its widest cell. Cells are untrusted text, so control characters are removed.
pub(crate) fn lines(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head)
        .chain(rows)
        .map(|row: Vec<String>| row.iter().map(|cell| plain(cell)).collect())
        .collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column).unwrap_or_default();
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
