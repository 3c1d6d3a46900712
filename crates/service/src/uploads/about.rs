//! What is known of a file besides its rows.

use probity_lists::COLUMNS_MAX;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Separated columns.
    Csv,
    /// One address a line.
    Txt,
    /// One JSON object a line; rows have one cell, the line.
    Jsonl,
    /// A workbook.
    Xlsx,
}

/// What is known of a file. Kept as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What it was called; empty where it was pasted.
    pub name: String,
    pub kind: Kind,
    /// How it was encoded; none for workbooks.
    pub(crate) encoding: Option<String>,
    /// Whether some rows were no UTF-8 and were read as Windows-1252.
    pub(crate) windows_1252: bool,
    /// What separated its columns.
    pub(crate) delimiter: Option<char>,
    /// The sheet that was read, and all that can be seen.
    pub(crate) sheet: Option<String>,
    pub(crate) sheets: Vec<String>,
    /// How many columns the widest row has.
    pub width: usize,
    /// The cells of the first row; of JSON lines, the names of their fields.
    pub(crate) first: Vec<String>,
}

impl About {
    pub(crate) fn new(name: String, kind: Kind) -> Self {
        Self {
            name,
            kind,
            encoding: None,
            windows_1252: false,
            delimiter: None,
            sheet: None,
            sheets: Vec::new(),
            width: 0,
            first: Vec::new(),
        }
    }

    /// The names of the columns: those of the header, or of the fields; what has none is called by its number.
    pub fn columns(&self, header: bool) -> Vec<String> {
        let named = header || self.kind == Kind::Jsonl;
        let name =
            |column: usize| self.first.get(column).map(|name| name.trim()).filter(|name| named && !name.is_empty());
        (0..self.width)
            .map(|column| name(column).map_or_else(|| format!("column {}", column + 1), str::to_owned))
            .collect()
    }

    /// Whether rows are JSON objects.
    pub fn is_json(&self) -> bool {
        self.kind == Kind::Jsonl
    }

    /// Notes the fields of a JSON line that are new.
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
