//! Columns of tables and fields of lists, read from objects as in the API.

use std::fmt::Write as _;

use probity_contract::timestamp::Timestamp;
use probity_mail::time::Millis;
use serde_json::Value;

use super::{folded, plain};

/// A column of a table, or a line of one object.
pub(crate) struct AnswerColumn {
    head: &'static str,
    cell: CellSource,
}

/// Source of a cell's text. Pointers are those of RFC 6901.
enum CellSource {
    /// A field, and the text if the field is null or missing.
    Field(&'static str, &'static str),
    /// A time, to the second, and the text if there is none.
    Time(&'static str, &'static str),
    /// Several fields.
    Made(fn(&Value) -> String),
}

/// A field, empty if it is null.
pub(crate) const fn at(head: &'static str, pointer: &'static str) -> AnswerColumn {
    at_or(head, pointer, "")
}

/// A field, with a text for null.
pub(crate) const fn at_or(head: &'static str, pointer: &'static str, otherwise: &'static str) -> AnswerColumn {
    AnswerColumn { head, cell: CellSource::Field(pointer, otherwise) }
}

/// A time, with a text for null.
pub(crate) const fn time_or(head: &'static str, pointer: &'static str, otherwise: &'static str) -> AnswerColumn {
    AnswerColumn { head, cell: CellSource::Time(pointer, otherwise) }
}

/// A time that is always present.
pub(crate) const fn time(head: &'static str, pointer: &'static str) -> AnswerColumn {
    time_or(head, pointer, "")
}

/// A text composed from several fields.
pub(crate) const fn made(head: &'static str, cell: fn(&Value) -> String) -> AnswerColumn {
    AnswerColumn { head, cell: CellSource::Made(cell) }
}

impl AnswerColumn {
    fn text(&self, of: &Value) -> String {
        match self.cell {
            CellSource::Field(pointer, otherwise) => field_or(of, pointer, otherwise),
            CellSource::Time(pointer, otherwise) => or(moment(of, pointer), otherwise),
            CellSource::Made(make) => make(of),
        }
    }
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}

/// Formats a value: texts without quotes, lists with commas, nothing for null.
pub(crate) fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Array(items)) => items.iter().map(|item| cell(Some(item))).collect::<Vec<_>>().join(", "),
        Some(other) => other.to_string(),
    }
}

/// Formats the field at a pointer.
pub(crate) fn field(of: &Value, pointer: &str) -> String {
    cell(of.pointer(pointer))
}

/// Formats the field at a pointer, or this text if it is missing, null or empty.
pub(crate) fn field_or(of: &Value, pointer: &str, otherwise: &str) -> String {
    or(field(of, pointer), otherwise)
}

/// Joins the names of the flags that are set in the object at a pointer.
pub(crate) fn set_flags(of: &Value, pointer: &str) -> String {
    let flags = of.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    flags.filter(|(_, is_set)| **is_set == true).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Formats the time at a pointer, to the second; empty if there is none.
pub(crate) fn moment(of: &Value, pointer: &str) -> String {
    let text = field(of, pointer);
    text.parse().map_or(text, |Timestamp(at)| moment_text(at))
}

/// Formats a time as RFC 3339 in UTC, to the second.
pub(crate) fn moment_text(at: Millis) -> String {
    let time = jiff::Timestamp::from_second(at.0.div_euclid(1000));
    time.map_or_else(|_| at.0.to_string(), |time| time.to_string())
}

/// Formats a head and a row per object.
pub(crate) fn rows<'a>(columns: &[AnswerColumn], objects: impl IntoIterator<Item = &'a Value>) -> String {
    let head: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let row = |of: &Value| columns.iter().map(|column| column.text(of)).collect();
    lines(&head, objects.into_iter().map(row))
}

/// Formats a row per entry of the object at a pointer: its name and its value.
pub(crate) fn entries(heads: [&str; 2], of: &Value, pointer: &str) -> String {
    let entries = of.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    lines(&heads, entries.map(|(name, value)| vec![name.clone(), cell(Some(value))]))
}

/// Formats a head and a row per object of the list at a pointer.
pub(crate) fn rows_at(columns: &[AnswerColumn], of: &Value, pointer: &str) -> String {
    rows(columns, of.pointer(pointer).and_then(Value::as_array).into_iter().flatten())
}

/// The same below a blank line; nothing without objects.
pub(crate) fn section(columns: &[AnswerColumn], of: &Value, pointer: &str) -> String {
    let is_empty = of.pointer(pointer).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty { String::new() } else { format!("\n{}", rows_at(columns, of, pointer)) }
}

/// Formats a table of one object, marked as removed.
pub(crate) fn removed(columns: &[AnswerColumn], of: &Value) -> String {
    format!("{}\n{} is removed\n", rows(columns, [of]), field(of, "/id"))
}

/// Minimum width of the names, so that consecutive answers align.
const NAMES_COLUMNS: usize = 16;

/// Formats a line per field of an object, without empty fields.
pub(crate) fn fields(columns: &[AnswerColumn], of: &Value) -> String {
    let shown = columns.iter().map(|column| (column.head, column.text(of))).filter(|(_, text)| !text.is_empty());
    let shown: Vec<_> = shown.collect();
    let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max(NAMES_COLUMNS);
    // A value too long for the terminal is wrapped in its own column.
    let line = |(name, text): (&str, String)| folded(&format!("{name:<width$}  "), &plain(&text), super::columns());
    shown.into_iter().map(line).collect()
}

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
