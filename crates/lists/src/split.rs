//! Splits bytes into records, in bounded memory.
//!
//! A record keeps its bytes unchanged, including quotes, so that the output can repeat the input's columns exactly. The `csv` crate
//! returns fields, not bytes, and grows without bound on a line of 1 GB; hence this splitter.

use std::borrow::Cow;
use std::io::{self, BufRead};

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

    /// Its number in the work file.
    pub fn code(self) -> u8 {
        match self {
            Self::End => 0,
            Self::Lf => 1,
            Self::CrLf => 2,
            Self::Cr => 3,
        }
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

/// Reason why there is no next record.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// Longer than [`RECORD_MAX`].
    #[error("line {0} is longer than {RECORD_MAX} bytes, or a quote opened there is never closed")]
    TooLong(u64),
    /// The input ends within quotes.
    #[error("the quote opened in line {0} is never closed")]
    OpenQuote(u64),
    /// The input cannot be read.
    #[error("cannot read the input")]
    Io(#[from] io::Error),
}

pub struct Splitter<R> {
    from: R,
    /// Separator of CSV; `None` if quotes have no meaning.
    delimiter: Option<u8>,
    end: u8,
    line: u64,
}

impl<R: BufRead> Splitter<R> {
    /// A splitter for lines (`delimiter` `None`) or for CSV. `end` is the byte that ends a line.
    pub fn new(from: R, delimiter: Option<u8>, end: u8) -> Self {
        Self { from, delimiter, end, line: 0 }
    }

    /// Reads the next record into `record`, without its end; returns the end and the number of its first line.
    pub fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<(Eol, u64)>, SplitError> {
        record.clear();
        let began = self.line + 1;
        let mut quoted = false;
        loop {
            let from = record.len();
            let ended = self.line_into(record, began)?;
            if record.len() == from && !ended {
                return match (from, quoted) {
                    (_, true) => Err(SplitError::OpenQuote(began)),
                    (0, false) => Ok(None),
                    (_, false) => Ok(Some((Eol::End, began))),
                };
            }
            if let Some(delimiter) = self.delimiter {
                quoted = ends_quoted(&record[from..], delimiter, quoted);
            }
            if quoted && ended {
                continue;
            }
            if quoted {
                return Err(SplitError::OpenQuote(began));
            }
            return Ok(Some((strip(record, ended, self.end), began)));
        }
    }

    /// Appends one line with its end; returns whether it had one.
    fn line_into(&mut self, record: &mut Vec<u8>, began: u64) -> Result<bool, SplitError> {
        loop {
            let available = match self.from.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if available.is_empty() {
                self.line += u64::from(!record.is_empty());
                return Ok(false);
            }
            let found = memchr::memchr(self.end, available);
            let used = found.map_or(available.len(), |at| at + 1);
            if record.len() + used > RECORD_MAX {
                return Err(SplitError::TooLong(began));
            }
            record.extend_from_slice(&available[..used]);
            self.from.consume(used);
            if found.is_some() {
                self.line += 1;
                return Ok(true);
            }
        }
    }
}

fn strip(record: &mut Vec<u8>, ended: bool, end: u8) -> Eol {
    if !ended {
        return Eol::End;
    }
    record.pop();
    if end == b'\r' {
        return Eol::Cr;
    }
    if record.last() == Some(&b'\r') {
        record.pop();
        return Eol::CrLf;
    }
    Eol::Lf
}

/// Whether a quoted field is still open after this piece of a record.
fn ends_quoted(piece: &[u8], delimiter: u8, open: bool) -> bool {
    if !open && memchr::memchr(b'"', piece).is_none() {
        return false;
    }
    let mut state = if open { State::Quoted } else { State::Start };
    for byte in piece {
        state = state.after(*byte, delimiter);
    }
    state == State::Quoted
}

/// Reader's position in a CSV record (RFC 4180, read leniently: a quote opens only at the start of a field).
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Bare,
    Quoted,
    /// A quote within quotes: the end, or the first half of a doubled one.
    Closing,
}

impl State {
    fn after(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Closing,
            (Self::Start | Self::Closing, b'"') | (Self::Quoted, _) => Self::Quoted,
            (_, byte) if byte == delimiter => Self::Start,
            _ => Self::Bare,
        }
    }
}

/// Raw fields of one record: with their quotes.
pub fn fields(record: &[u8], delimiter: u8) -> Fields<'_> {
    Fields { rest: Some(record), delimiter }
}

/// See [`fields`].
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = if rest.first() == Some(&b'"') {
            let mut state = State::Start;
            rest.iter().position(|byte| {
                state = state.after(*byte, self.delimiter);
                state == State::Start
            })
        } else {
            memchr::memchr(self.delimiter, rest)
        };
        let (field, rest) = match end {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(field)
    }
}

/// Content of a raw field.
pub fn unquote(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(inner) = field.strip_prefix(b"\"") else { return Cow::Borrowed(field) };
    if inner.strip_suffix(b"\"").is_some_and(|inner| memchr::memchr(b'"', inner).is_none()) {
        return Cow::Borrowed(&inner[..inner.len() - 1]);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut state = State::Quoted;
    for byte in inner {
        let next = state.after(*byte, 0);
        let doubled = state == State::Closing && *byte == b'"';
        if doubled || next != State::Closing {
            out.push(*byte);
        }
        state = next;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn split(input: &[u8], delimiter: Option<u8>) -> Vec<(String, Eol)> {
        // A tiny buffer, so that records cross its boundaries.
        let mut splitter = Splitter::new(BufReader::with_capacity(3, input), delimiter, b'\n');
        let (mut record, mut all) = (Vec::new(), Vec::new());
        while let Some((eol, _)) = splitter.next(&mut record).unwrap() {
            all.push((String::from_utf8(record.clone()).unwrap(), eol));
        }
        all
    }

    #[test]
    fn records_keep_their_bytes() {
        let input = b"a,\"b\r\nc\",d\r\n\n\"x\"\"y\",z\nlast";
        let all = split(input, Some(b','));
        let expected = [("a,\"b\r\nc\",d", Eol::CrLf), ("", Eol::Lf), ("\"x\"\"y\",z", Eol::Lf), ("last", Eol::End)];
        assert_eq!(all, expected.map(|(text, eol)| (text.to_owned(), eol)));
        let again: Vec<u8> = all.iter().flat_map(|(text, eol)| [text.as_bytes(), eol.bytes()].concat()).collect();
        assert_eq!(again, input);
    }

    #[test]
    fn a_quote_within_a_field_opens_nothing() {
        assert_eq!(split(b"a 5\" disk,x\nb,y\n", Some(b',')).len(), 2);
        assert_eq!(split(b"\"open\nstill\n", None).len(), 2);
    }

    #[test]
    fn what_cannot_be_a_record_is_named_by_its_line() {
        let mut record = Vec::new();
        let mut open = Splitter::new(&b"a\n\"b\nc\n"[..], Some(b','), b'\n');
        open.next(&mut record).unwrap();
        assert!(matches!(open.next(&mut record), Err(SplitError::OpenQuote(2))));
        let long = [b"a\n".as_slice(), &vec![b'x'; RECORD_MAX + 1]].concat();
        let mut long = Splitter::new(&long[..], Some(b','), b'\n');
        long.next(&mut record).unwrap();
        assert!(matches!(long.next(&mut record), Err(SplitError::TooLong(2))));
    }

    #[test]
    fn fields_are_found_and_unquoted() {
        let record = b"a,\"b,\"\"c\"\"\",,\"d\"e,5\"";
        let raw: Vec<&[u8]> = fields(record, b',').collect();
        assert_eq!(raw, [&b"a"[..], b"\"b,\"\"c\"\"\"", b"", b"\"d\"e", b"5\""]);
        let texts: Vec<String> = raw.iter().map(|raw| String::from_utf8(unquote(raw).into_owned()).unwrap()).collect();
        assert_eq!(texts, ["a", "b,\"c\"", "", "de", "5\""]);
    }
}
