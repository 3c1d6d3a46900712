//! Lines of a quoted field that look like rows: a quote that was opened by mistake swallows them.

use super::{Dialect, Eol};
use crate::column::looks_like_address;

/// Lines after which a field is examined before its end: the notes of an address book are shorter, or not built like rows.
const LINES_MAX: u64 = 32;
/// Lines that each need an address, as so few could have as many separators by chance. Of more, half of them need one.
const FEW_LINES: u64 = 4;

/// Lines of the current record, from the one in which a quote opens.
#[derive(Debug, Default)]
pub(super) struct Span {
    pub(super) lines: u64,
    /// End of the first line.
    first: Option<(usize, Eol)>,
    /// Whether a line so far differs from a row.
    differs: bool,
    /// Lines examined so far that have an address.
    addressed: u64,
    /// Whether rows have one column: a line is an address then.
    single: bool,
}

impl Span {
    pub(super) fn add(&mut self, line: &[u8], end: (usize, Eol), dialect: Dialect, separators: Option<usize>) {
        self.lines += 1;
        self.first.get_or_insert(end);
        if self.lines > LINES_MAX {
            return;
        }
        self.single = separators == Some(0);
        let found = memchr::memchr_iter(dialect.delimiter, line).count();
        let text = String::from_utf8_lossy(line);
        let addressed =
            text.split(char::from(dialect.delimiter)).any(|cell| looks_like_address(cell.trim().trim_matches('"')));
        self.addressed += u64::from(addressed);
        self.differs |= separators != Some(found) || (self.single && !addressed);
    }

    /// Whether several lines have an address, as rows have.
    pub(super) fn has_addresses(&self) -> bool {
        self.addressed > 1
    }

    pub(super) fn move_back(&mut self, bytes: usize) {
        if let Some((at, _)) = &mut self.first {
            *at -= bytes;
        }
    }

    /// Whether enough lines were examined.
    pub(super) fn is_long(&self) -> bool {
        self.lines == LINES_MAX
    }

    /// Whether there are more lines than are examined.
    pub(super) fn is_beyond(&self) -> bool {
        self.lines > LINES_MAX
    }

    /// End of the first line, if its quote opens by mistake. `torn`: a quote closes where none should. `open`: the field has no
    /// end.
    pub(super) fn stray(&self, torn: bool, open: bool) -> Option<(usize, Eol)> {
        let least = if self.single { 3 } else { 2 };
        let examined = self.lines.min(LINES_MAX);
        let needed = if examined > FEW_LINES { examined / 2 } else { examined };
        let sure = torn || open || self.addressed >= needed;
        self.first.filter(|_| !self.differs && self.lines >= least && sure)
    }
}
