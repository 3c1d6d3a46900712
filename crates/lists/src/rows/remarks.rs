//! What is odd about a text, with the line where it begins.

use serde::{Deserialize, Serialize};

/// Count of an oddity, and its first occurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oddity {
    pub count: u64,
    /// First line, counted from 1; 0 if there is none.
    pub line: u64,
}

impl Oddity {
    /// Counts an occurrence.
    pub fn meet(&mut self, line: u64) {
        if self.count == 0 {
            self.line = line;
        }
        self.count += 1;
    }

    /// Counts the occurrences of another part of the file.
    pub(crate) fn join(&mut self, other: Self) {
        if self.count == 0 || (other.count > 0 && other.line < self.line) {
            self.line = other.line;
        }
        self.count += other.count;
    }
}

/// Oddities of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextRemarks {
    /// Lines that were not UTF-8.
    pub foreign: Oddity,
    /// Rows with NUL characters.
    pub nuls: Oddity,
    /// Rows with characters that nobody sees around an address.
    pub hidden: Oddity,
    /// Blank rows before the last row that is not.
    pub blank: Oddity,
    /// Rows in which a quote opens by mistake.
    pub stray: Oddity,
    /// Rows that go over several lines with addresses, as if a quote were never closed.
    pub spanned: Oddity,
    /// Cells of a workbook, and addresses behind its links, that could not be read, by rows.
    pub unreadable: Oddity,
}

/// Number of the current line in a text that comes in pieces; `\n`, `\r\n` and `\r` end a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineCount {
    ended: u64,
    after_return: bool,
}

impl LineCount {
    pub(crate) fn add(&mut self, text: &[u8]) {
        for at in memchr::memchr2_iter(b'\n', b'\r', text) {
            let after_return = if at == 0 { self.after_return } else { text[at - 1] == b'\r' };
            self.ended += u64::from(text[at] == b'\r' || !after_return);
        }
        if let Some(last) = text.last() {
            self.after_return = *last == b'\r';
        }
    }

    /// Number of the line that the next byte belongs to, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.ended + 1
    }
}
