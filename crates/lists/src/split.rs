//! Splits bytes into records, in bounded memory.
//!
//! A record keeps its bytes unchanged, including quotes, so that the output can repeat the input's columns exactly. The `csv` crate
//! returns fields, not bytes, and grows without bound on a line of 1 GB; hence this splitter. `\n`, `\r\n` and a lone `\r` end a
//! record, except within quotes. A quote that opens by mistake does not swallow rows ([`span`]).

mod span;

use std::borrow::Cow;

use self::span::Span;
use crate::FileFault;

/// Longest record, in bytes. Longer ones are binary data, or a quote that was never closed.
pub const RECORD_MAX: usize = 1 << 20;

/// End of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eol {
    /// End of the input.
    End,
    Lf,
    CrLf,
    /// `\r`, from old Macintosh programs.
    Cr,
}

impl Eol {
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::End => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }

    /// Its number in the work file: its place in the declaration.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The line end of this number.
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Lf,
            2 => Self::CrLf,
            3 => Self::Cr,
            _ => Self::End,
        }
    }
}

/// How a CSV separates and quotes its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub delimiter: u8,
    /// Whether a backslash within quotes makes the next byte literal.
    pub backslash: bool,
}

impl Dialect {
    /// RFC 4180, with this separator.
    pub fn separated(delimiter: u8) -> Self {
        Self { delimiter, backslash: false }
    }
}

/// Place of a record, whose bytes are unchanged and without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitRecord {
    /// Place in the text.
    from: usize,
    to: usize,
    pub end: Eol,
    /// First and last line, counted from 1.
    pub line: u64,
    pub last_line: u64,
    /// Whether one half of a quote is in it by mistake: quotes mean nothing then.
    pub stray: bool,
    /// Whether several of its lines have an address of their own.
    pub spans_addresses: bool,
}

/// Splits text that comes in pieces.
#[derive(Debug)]
pub struct Splitter {
    /// Dialect of CSV; `None` if quotes have no meaning.
    dialect: Option<Dialect>,
    text: Vec<u8>,
    ended: bool,
    /// Separators of a record; `None` before the first.
    separators: Option<usize>,
    /// Whether a quote opened by mistake, and its other half may follow.
    halved: bool,
    /// Where a long search for the end of a quote ended in vain: quotes before it are searched no longer than a [`Span`], as lines
    /// that each open another quote would take quadratic time.
    doubtful: usize,
    line: u64,
    /// Start of the current record.
    from: usize,
    scan: RecordScan,
    /// Lines looked at, again and again where a quote has no end.
    #[cfg(test)]
    looks: u64,
}

/// Progress within the current record.
#[derive(Debug, Default)]
struct RecordScan {
    /// Start of the current line.
    line_from: usize,
    /// Where to search its end.
    looked: usize,
    open: bool,
    torn: bool,
    span: Span,
}

impl RecordScan {
    fn at(place: usize) -> Self {
        Self { line_from: place, looked: place, ..Self::default() }
    }
}

impl Splitter {
    /// A splitter for lines (`None`) or for CSV.
    pub fn new(dialect: Option<Dialect>) -> Self {
        Self {
            dialect,
            text: Vec::new(),
            ended: false,
            separators: None,
            halved: false,
            doubtful: 0,
            line: 0,
            from: 0,
            scan: RecordScan::at(0),
            #[cfg(test)]
            looks: 0,
        }
    }

    /// The same, told the separators of a record: the first one may be a title.
    pub(crate) fn of_rows(dialect: Option<Dialect>, separators: Option<usize>) -> Self {
        Self { separators, ..Self::new(dialect) }
    }

    /// Text to which the next piece is appended.
    pub fn text(&mut self) -> &mut Vec<u8> {
        self.text.drain(..self.from);
        let RecordScan { line_from, looked, span, .. } = &mut self.scan;
        *line_from -= self.from;
        *looked -= self.from;
        span.move_back(self.from);
        self.doubtful = self.doubtful.saturating_sub(self.from);
        self.from = 0;
        &mut self.text
    }

    /// Declares that no piece follows.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns the next record; `None` if it needs another piece, or after the last.
    ///
    /// # Errors
    /// [`FileFault`], again and again: a record is too long, or a quote is never closed.
    pub fn next_record(&mut self) -> Result<Option<SplitRecord>, FileFault> {
        loop {
            let Some((at, end)) = self.line_end() else {
                let is_long = self.text.len() - self.from > RECORD_MAX;
                if is_long || (self.ended && self.scan.open) {
                    return self.in_vain(is_long).map(Some);
                }
                return Ok(None);
            };
            self.line_read(at, end);
            if at - self.from > RECORD_MAX {
                return self.in_vain(true).map(Some);
            }
            if let Some(first) = self.stray(at) {
                return Ok(Some(self.take(first, true)));
            }
            if !self.scan.open {
                return Ok(Some(self.take((at, end), false)));
            }
        }
    }

    /// The first line of a record without an end, if a quote opens in it by mistake.
    fn in_vain(&mut self, is_long: bool) -> Result<SplitRecord, FileFault> {
        let line = self.line + 1;
        match self.scan.span.stray(self.scan.torn, true) {
            Some(first) => Ok(self.take(first, true)),
            None if is_long => Err(FileFault::RecordTooLong(line)),
            None => Err(FileFault::OpenQuote(line)),
        }
    }

    /// End of the first line of the record so far, which ends here, if a quote opens in that line by mistake.
    fn stray(&self, at: usize) -> Option<(usize, Eol)> {
        let RecordScan { open, torn, span, .. } = &self.scan;
        if *open {
            let is_doubtful = self.from < self.doubtful;
            return span.stray(*torn, is_doubtful).filter(|_| span.is_long());
        }
        // A record of several columns that is complete is right, whatever its texts look like.
        let complete =
            || self.separators != Some(0) && self.separators == self.separators_of(&self.text[self.from..at]);
        span.stray(*torn, false).filter(|_| *torn || !complete())
    }

    fn separators_of(&self, record: &[u8]) -> Option<usize> {
        self.dialect.map(|dialect| fields(record, dialect).count() - 1)
    }

    /// Finds the end of the current line: its place and kind. The end of the input ends a line that is not empty.
    fn line_end(&mut self) -> Option<(usize, Eol)> {
        let found = memchr::memchr2(b'\n', b'\r', &self.text[self.scan.looked..]).map(|at| self.scan.looked + at);
        let Some(at) = found else {
            self.scan.looked = self.text.len();
            return (self.ended && self.scan.line_from < self.text.len()).then_some((self.text.len(), Eol::End));
        };
        match (self.text[at], self.text.get(at + 1)) {
            (b'\n', _) => Some((at, Eol::Lf)),
            (_, Some(b'\n')) => Some((at, Eol::CrLf)),
            (_, None) if !self.ended => {
                self.scan.looked = at;
                None
            }
            _ => Some((at, Eol::Cr)),
        }
    }

    /// Takes note of the line that ends here.
    fn line_read(&mut self, at: usize, end: Eol) {
        let next = at + end.bytes().len();
        #[cfg(test)]
        {
            self.looks += 1;
        }
        let scan = &mut self.scan;
        if let Some(dialect) = self.dialect {
            let line = &self.text[scan.line_from..at];
            let was_open = scan.open;
            scan.open = ends_quoted(line, dialect, scan.open, &mut scan.torn);
            if was_open || scan.open {
                scan.span.add(line, (at, end), dialect, self.separators);
            }
        }
        (scan.line_from, scan.looked) = (next, next);
    }

    /// Ends the current record here.
    fn take(&mut self, (at, end): (usize, Eol), opens: bool) -> SplitRecord {
        let (from, line) = (self.from, self.line + 1);
        let lines = if opens || self.dialect.is_none() { 1 } else { self.scan.span.lines.max(1) };
        if opens && self.scan.span.is_beyond() {
            self.doubtful = self.doubtful.max(self.scan.line_from);
        }
        let stray = opens || (lines == 1 && (self.closes(from, at) || self.is_misquoted(from, at)));
        let spans_addresses = lines > 1 && self.scan.span.has_addresses();
        self.halved |= opens;
        self.line += lines;
        self.from = at + end.bytes().len();
        let bytes = &self.text[from..at];
        if self.separators.is_none() && lines == 1 && !bytes.trim_ascii().is_empty() {
            self.separators = self.separators_of(bytes);
        }
        self.scan = RecordScan::at(self.from);
        SplitRecord { from, to: at, end, line, last_line: self.line, stray, spans_addresses }
    }

    /// Whether this line has the cells of a row only if quotes mean nothing: one closes within a field.
    fn is_misquoted(&self, from: usize, at: usize) -> bool {
        let (Some(dialect), Some(separators)) = (self.dialect.filter(|_| self.scan.torn), self.separators) else {
            return false;
        };
        let line = &self.text[from..at];
        let literally = memchr::memchr_iter(dialect.delimiter, line).count();
        separators > 0 && literally == separators && self.separators_of(line) != Some(separators)
    }

    /// Whether this line has the other half of a quote that opened by mistake. The first line with quotes has it, or none has.
    fn closes(&mut self, from: usize, at: usize) -> bool {
        let line = &self.text[from..at];
        let Some(dialect) = self.dialect.filter(|_| self.halved && memchr::memchr(b'"', line).is_some()) else {
            return false;
        };
        self.halved = false;
        fields(line, dialect).any(ends_half)
    }

    /// Bytes of the record that was returned last.
    pub fn bytes(&self, record: &SplitRecord) -> &[u8] {
        &self.text[record.from..record.to]
    }
}

/// Whether a quoted field still is, or is again, open after this line of a record. `torn`: a quote closes within a field, which no
/// program writes.
fn ends_quoted(line: &[u8], dialect: Dialect, open: bool, torn: &mut bool) -> bool {
    if !open && memchr::memchr(b'"', line).is_none() {
        return false;
    }
    let mut state = if open { SplitState::Quoted } else { SplitState::Start };
    for byte in line {
        let next = state.after(*byte, dialect);
        *torn |= state == SplitState::Closing && next == SplitState::Bare;
        state = next;
    }
    matches!(state, SplitState::Quoted | SplitState::Escaped)
}

/// Whether a quote closes within a field of this record, or not at all.
pub(crate) fn is_torn(record: &[u8], dialect: Dialect) -> bool {
    let mut torn = false;
    ends_quoted(record, dialect, false, &mut torn) || torn
}

/// Reader's position in a CSV record (RFC 4180, read leniently: a quote opens only at the start of a field).
#[derive(Clone, Copy, PartialEq, Eq)]
enum SplitState {
    Start,
    Bare,
    Quoted,
    /// A backslash within quotes.
    Escaped,
    /// A quote within quotes: the end, or the first half of a doubled one.
    Closing,
}

impl SplitState {
    fn after(self, byte: u8, dialect: Dialect) -> Self {
        match (self, byte) {
            (Self::Quoted, b'\\') if dialect.backslash => Self::Escaped,
            (Self::Quoted, b'"') => Self::Closing,
            (Self::Start | Self::Closing, b'"') | (Self::Quoted | Self::Escaped, _) => Self::Quoted,
            (_, byte) if byte == dialect.delimiter => Self::Start,
            _ => Self::Bare,
        }
    }
}

/// Raw fields of one record: with their quotes.
pub fn fields(record: &[u8], dialect: Dialect) -> Fields<'_> {
    Fields { rest: Some(record), dialect }
}

/// See [`fields`].
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
    dialect: Dialect,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = if rest.first() == Some(&b'"') {
            let mut state = SplitState::Start;
            rest.iter().position(|byte| {
                state = state.after(*byte, self.dialect);
                state == SplitState::Start
            })
        } else {
            memchr::memchr(self.dialect.delimiter, rest)
        };
        let (field, rest) = match end {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(field)
    }
}

/// Fields of a record with half of a quote by mistake. The last of `most` has all others.
pub fn literal_fields(record: &[u8], delimiter: u8, most: usize) -> impl Iterator<Item = &[u8]> {
    record.splitn(most, move |byte| *byte == delimiter).map(|field| match field {
        [b'"', rest @ ..] if !rest.ends_with(b"\"") => rest,
        [b'"', inner @ .., b'"'] => inner,
        [rest @ .., _] if ends_half(field) => rest,
        _ => field,
    })
}

/// Whether a raw field ends with a quote and does not begin with one.
pub(crate) fn ends_half(field: &[u8]) -> bool {
    field.len() > 1 && field.ends_with(b"\"") && !field.starts_with(b"\"")
}

/// Content of a raw field.
pub fn unquote(field: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    let Some(inner) = field.strip_prefix(b"\"") else { return Cow::Borrowed(field) };
    let plain = |inner: &[u8]| memchr::memchr2(b'"', if dialect.backslash { b'\\' } else { b'"' }, inner).is_none();
    if let Some(inner) = inner.strip_suffix(b"\"").filter(|inner| plain(inner)) {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut state = SplitState::Quoted;
    for byte in inner {
        let next = state.after(*byte, Dialect { delimiter: 0, ..dialect });
        let doubled = state == SplitState::Closing && *byte == b'"';
        if doubled || !matches!(next, SplitState::Closing | SplitState::Escaped) {
            // A backslash stays before anything that needs none.
            if state == SplitState::Escaped && !matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        state = next;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
