//! Description of a file, without its rows.

use probity_contract::error::ApiError;
use probity_lists::COLUMNS_MAX;
use probity_lists::absent::has_address;
use probity_lists::kinds::ColumnKind;
use probity_lists::remarks::TextRemarks;
use serde::{Deserialize, Serialize};

/// Maximum number of recorded runs of rows in a guessed encoding. A few rows of another origin form as many runs; in a file with
/// more, all later rows count as guesses.
const GUESSES_MAX: usize = 500;

/// Maximum number of recorded rows that do not begin in the next line. Lines of rows after more of them are unknown.
const LINES_MAX: usize = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Separated columns.
    #[default]
    Csv,
    /// One address per line.
    Txt,
    /// One JSON object per line. Each row has one cell: the line.
    Jsonl,
    Xlsx,
}

/// Description of a file, stored as JSON.
#[expect(clippy::struct_excessive_bools, reason = "each is a finding about the text")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// File name; empty if the list was pasted.
    pub name: String,
    pub kind: FileKind,
    /// Encoding; `None` for workbooks.
    pub encoding: Option<String>,
    /// Whether some rows were not UTF-8 and were read as Windows-1252.
    pub windows_1252: bool,
    /// Whether the encoding was guessed.
    #[serde(default)]
    pub guessed: bool,
    /// Rows with a guessed encoding, numbered from 0: the first and the last of each run.
    #[serde(default)]
    pub(super) guesses: Vec<(i64, i64)>,
    /// Irregularities of the text.
    #[serde(default)]
    pub remarks: TextRemarks,
    pub delimiter: Option<char>,
    /// Whether lines end with a line feed only.
    #[serde(default)]
    pub line_feeds: bool,
    /// Whether lines end with a carriage return only.
    #[serde(default)]
    pub returns: bool,
    /// Whether every field is in quotes.
    #[serde(default)]
    pub is_quoted: bool,
    /// Records above the header, such as a title, without their ends.
    #[serde(default)]
    pub above: Vec<String>,
    /// Whether each row was one quoted cell, whose content was parsed again.
    #[serde(default)]
    pub is_wrapped: bool,
    /// Whether a text created from the file needs a byte order mark; unknown for files read by older versions.
    #[serde(default)]
    pub wants_mark: Option<bool>,
    /// Rows that do not begin in the line after the previous row: their numbers from 0, with their lines or, in a sheet, its
    /// rows.
    #[serde(default)]
    pub(super) lines: Vec<(i64, i64)>,
    /// Whether a user chose the encoding.
    #[serde(default)]
    pub encoding_chosen: bool,
    /// First row that was not UTF-8, numbered from 0.
    #[serde(default)]
    pub foreign_row: Option<i64>,
    /// Sheet that was read, and all visible sheets.
    pub sheet: Option<String>,
    pub sheets: Vec<String>,
    /// Number of columns in the widest row.
    pub width: usize,
    /// Cells of the first row; for JSON lines, the names of their fields.
    pub first: Vec<String>,
    /// Number of cells with an address in each column; trailing columns may be missing.
    #[serde(default)]
    pub addresses: Vec<i64>,
    /// Kinds of the columns; missing ones are text.
    #[serde(default)]
    pub kinds: Vec<ColumnKind>,
}

impl FileFacts {
    pub fn new(name: String, kind: FileKind) -> Self {
        Self { name, kind, ..Self::default() }
    }

    /// Returns whether a text created from the file needs a byte order mark, without which its usual readers mistake UTF-8 for
    /// another encoding.
    pub fn wants_bom(&self) -> bool {
        let older = || self.windows_1252 || self.encoding.as_deref().is_some_and(|encoding| encoding != "utf-8");
        self.wants_mark.unwrap_or_else(older)
    }

    /// Returns the names of the columns: those of the header or the fields, or a number for a column without a name.
    pub fn columns(&self, header: bool) -> Vec<String> {
        let named = header || self.kind == FileKind::Jsonl;
        let name =
            |column: usize| self.first.get(column).map(|name| name.trim()).filter(|name| named && !name.is_empty());
        (0..self.width)
            .map(|column| name(column).map_or_else(|| format!("column {}", column + 1), str::to_owned))
            .collect()
    }

    /// Returns the kind of a column.
    pub fn kind_of(&self, column: usize) -> ColumnKind {
        self.kinds.get(column).copied().unwrap_or_default()
    }

    /// Records the next row, whose encoding was guessed.
    pub(super) fn add_guess(&mut self, row: i64) {
        let until = if self.guesses.len() + 1 == GUESSES_MAX { i64::MAX } else { row };
        match self.guesses.last_mut() {
            Some((_, last)) if *last >= row - 1 => *last = row.max(*last),
            _ => self.guesses.push((row, until)),
        }
    }

    /// Returns whether the encoding of a row was guessed.
    pub fn is_guess(&self, row: i64) -> bool {
        let at = self.guesses.partition_point(|(_, last)| *last < row);
        self.guesses.get(at).is_some_and(|(first, _)| *first <= row)
    }

    /// Records the line in which the next row begins, or its number in the sheet.
    pub(super) fn add_line(&mut self, row: i64, line: i64) {
        if self.lines.len() < LINES_MAX && self.line_of(row) != Some(line) {
            // After the maximum number of recorded rows, lines are unknown.
            let known = if self.lines.len() + 1 < LINES_MAX { line } else { 0 };
            self.lines.push((row, known));
        }
    }

    /// Returns the line in which a row begins, or its number in the sheet, if known.
    pub fn line_of(&self, row: i64) -> Option<i64> {
        let at = self.lines.partition_point(|(first, _)| *first <= row);
        match at.checked_sub(1).map(|at| self.lines[at]) {
            Some((_, 0)) => None,
            Some((first, line)) => Some(line + row - first),
            None => Some(row + 1 + i64::try_from(self.above.len()).unwrap_or_default()),
        }
    }

    /// Counts a cell if it has an address.
    pub(super) fn count_address(&mut self, column: usize, cell: &str) {
        if !has_address(cell) {
            return;
        }
        if self.addresses.len() <= column {
            self.addresses.resize(column + 1, 0);
        }
        self.addresses[column] += 1;
    }

    /// Returns the column with the most addresses and their number, if it has more than the chosen one, or if `none` of that
    /// one's are valid.
    pub fn better_column(&self, chosen: Option<i64>, none: bool) -> Option<(usize, i64)> {
        let chosen = chosen.and_then(|column| usize::try_from(column).ok())?;
        let of_chosen = self.addresses.get(chosen).copied().unwrap_or_default();
        let others = self.addresses.iter().copied().enumerate().rev().filter(|(column, _)| *column != chosen);
        let better = others.max_by_key(|(_, count)| *count);
        better.filter(|(_, count)| *count > if none { 0 } else { of_chosen })
    }

    /// Whether rows are JSON objects.
    pub fn is_json(&self) -> bool {
        self.kind == FileKind::Jsonl
    }

    /// Adds the new fields of a JSON line.
    pub(super) fn fields<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            if self.first.len() < COLUMNS_MAX && !self.first.iter().any(|known| known == name) {
                self.first.push(name.to_owned());
            }
        }
        self.width = self.first.len();
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are plain JSON")
    }

    pub fn of(bytes: &[u8]) -> Result<Self, ApiError> {
        serde_json::from_slice(bytes).map_err(ApiError::server_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_know_their_lines_as_far_as_lines_are_told_apart() {
        let mut about = FileFacts::new("list".into(), FileKind::Csv);
        for (row, line) in [(0, 3), (1, 4), (2, 7), (3, 8)] {
            about.add_line(row, line);
        }
        assert_eq!(about.lines, [(0, 3), (2, 7)]);
        assert_eq!([0, 1, 2, 3, 4].map(|row| about.line_of(row)), [3, 4, 7, 8, 9].map(Some));
        for row in 4..2_000 {
            about.add_line(row, 2 * row);
        }
        assert_eq!(about.lines.len(), LINES_MAX);
        assert_eq!((about.line_of(10), about.line_of(1_500)), (Some(20), None));
    }

    #[test]
    fn a_column_with_more_addresses_is_better() {
        let mut about = FileFacts::new("list".into(), FileKind::Csv);
        for (column, cell) in [(0, "a@x.org"), (1, "b@x.org"), (1, "c@x.org"), (2, "no address")] {
            about.count_address(column, cell);
        }
        let better = [Some(0), Some(1), Some(2), None].map(|chosen| about.better_column(chosen, false));
        assert_eq!(better, [Some((1, 2)), None, Some((1, 2)), None]);
        about.count_address(0, "d@x.org");
        assert_eq!([false, true].map(|none| about.better_column(Some(0), none)), [None, Some((1, 2))]);
    }

    #[test]
    fn guesses_are_runs_of_rows() {
        let mut about = FileFacts::new("list".into(), FileKind::Csv);
        for row in [1, 2, 5] {
            about.add_guess(row);
        }
        let of = |about: &FileFacts, rows: [i64; 7]| rows.map(|row| about.is_guess(row));
        let expected = [false, true, true, false, false, true, false];
        assert_eq!(of(&about, [0, 1, 2, 3, 4, 5, 6]), expected);
        assert_eq!(of(&FileFacts::of(&about.to_bytes()).unwrap(), [0, 1, 2, 3, 4, 5, 6]), expected);
        for row in (10..).step_by(2).take(2 * GUESSES_MAX) {
            about.add_guess(row);
        }
        assert_eq!(about.guesses.len(), GUESSES_MAX);
        assert!(!about.is_guess(11) && about.is_guess(i64::MAX));
    }
}
