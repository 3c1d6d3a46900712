//! Description of a file, apart from its rows.

use probity_contract::error::ApiError;
use probity_lists::COLUMNS_MAX;
use probity_lists::absent::has_address;
use probity_lists::remarks::TextRemarks;
use serde::{Deserialize, Serialize};

use crate::uploads::kinds::ColumnKind;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Separated columns.
    Csv,
    /// One address per line.
    Txt,
    /// One JSON object per line. Each row has one cell: the line.
    Jsonl,
    Xlsx,
}

/// Description of a file, stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// File name; empty if the list was pasted.
    pub name: String,
    pub kind: FileKind,
    /// Encoding; `None` for workbooks.
    pub encoding: Option<String>,
    /// Whether some rows were not UTF-8 and were read as Windows-1252.
    pub windows_1252: bool,
    /// Whether the encoding is a guess.
    #[serde(default)]
    pub guessed: bool,
    /// What was odd about the text.
    #[serde(default)]
    pub remarks: TextRemarks,
    pub delimiter: Option<char>,
    /// Whether lines end with a line feed alone.
    #[serde(default)]
    pub line_feeds: bool,
    /// Sheet that was read, and all visible sheets.
    pub sheet: Option<String>,
    pub sheets: Vec<String>,
    /// Number of columns in the widest row.
    pub width: usize,
    /// Cells of the first row; for JSON lines, the names of their fields.
    pub first: Vec<String>,
    /// Number of cells with an address in each column, in which columns at the end may be missing.
    #[serde(default)]
    pub addresses: Vec<i64>,
    /// Kinds of the columns; those beyond the end are texts.
    #[serde(default)]
    pub kinds: Vec<ColumnKind>,
}

impl FileFacts {
    pub fn new(name: String, kind: FileKind) -> Self {
        Self {
            name,
            kind,
            encoding: None,
            windows_1252: false,
            guessed: false,
            remarks: TextRemarks::default(),
            delimiter: None,
            line_feeds: false,
            sheet: None,
            sheets: Vec::new(),
            width: 0,
            first: Vec::new(),
            addresses: Vec::new(),
            kinds: Vec::new(),
        }
    }

    /// Whether a text that is made of the file needs a byte order mark: the programs that read it would take UTF-8 for another
    /// encoding.
    pub fn wants_bom(&self) -> bool {
        self.windows_1252 || self.encoding.as_deref().is_some_and(|encoding| encoding != "utf-8")
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

    /// Returns the column with the most addresses, and their number; `None` if no column has any.
    pub fn fullest(&self) -> Option<(usize, i64)> {
        let counts = self.addresses.iter().copied().enumerate().rev();
        counts.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0)
    }

    /// Whether rows are JSON objects.
    pub fn is_json(&self) -> bool {
        self.kind == FileKind::Jsonl
    }

    /// Adds the fields of a JSON line that are new.
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
