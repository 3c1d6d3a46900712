//! What a server says: bytes to [`Reply`].
//!
//! [`ReplyParser`] is fed with whatever pieces the network delivers; how the bytes are cut never changes what comes out.
//! It is lenient where servers are known to be sloppy and where leniency cannot change a meaning (a bare LF, no text, a
//! tab for the blank, 8-bit text): such replies are marked [`Reply::nonconforming`]. It is strict where guessing could
//! shift an answer to another question: a line without a code, a code that changes inside one reply, too long a line
//! or reply. Such an error is final; a parser that has failed swallows the rest of the stream.
//!
//! Nothing that is kept is larger than a line and a text of 512 bytes, however long the server talks. The text is safe
//! to print: no controls, no invalid UTF-8, no characters that reorder what is shown around them.

mod charset;
mod text;

use text::ReplyText;

/// The longest line in bytes, its line end included. RFC 5321 §4.5.3.1.5 asks for 512; real servers reach 1,000.
pub const LINE_MAX_BYTES: usize = 2_000;
/// The most lines of one reply. The longest honest EHLO answers have about 20.
pub const REPLY_MAX_LINES: u32 = 100;
/// The most bytes of one reply.
pub const REPLY_MAX_BYTES: usize = 16 * 1024;
/// The longest text that is kept of a reply, in bytes.
pub const TEXT_MAX_BYTES: usize = 512;

/// An enhanced status code (RFC 3463): `class.subject.detail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Enhanced {
    /// 2, 4 or 5.
    pub class: u8,
    /// What the status is about: 1 address, 2 mailbox, 3 system, 4 network, 5 protocol, 6 content, 7 policy.
    pub subject: u16,
    /// The detail within the subject.
    pub detail: u16,
}

impl std::fmt::Display for Enhanced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

/// One complete reply of a server, single-line or multi-line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The three digits, 200 to 599.
    pub code: u16,
    /// The enhanced code of the first line, if it starts with one.
    pub enhanced: Option<Enhanced>,
    /// The text of all lines without codes, joined by one blank, printable, at most 512 bytes.
    pub text: String,
    /// Whether the server broke a rule that we could forgive (bare LF, 8-bit text, ...).
    pub nonconforming: bool,
}

impl Reply {
    /// Whether the code says yes (2xx).
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// Whether the code says no for good (5xx).
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }
}

/// Why a stream of bytes is not a stream of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum ReplyError {
    /// A line is longer than [`LINE_MAX_BYTES`].
    #[error("a reply line is too long")]
    LineTooLong,
    /// A reply has more than [`REPLY_MAX_LINES`] lines.
    #[error("a reply has too many lines")]
    TooManyLines,
    /// A reply is longer than [`REPLY_MAX_BYTES`].
    #[error("a reply is too long")]
    TooLong,
    /// A line does not start with a code of 200 to 599.
    #[error("a line without a reply code")]
    BadCode,
    /// The lines of one reply have different codes.
    #[error("a reply whose code changes")]
    CodeChanged,
}

impl ReplyError {
    /// The error as a fixed text, for evidence and metrics.
    pub fn what(self) -> &'static str {
        match self {
            Self::LineTooLong => "a reply line is too long",
            Self::TooManyLines => "a reply has too many lines",
            Self::TooLong => "a reply is too long",
            Self::BadCode => "a line without a reply code",
            Self::CodeChanged => "a reply whose code changes",
        }
    }
}

/// A reply of which not all lines have come.
#[derive(Clone, Debug)]
struct Unfinished {
    code: u16,
    text: ReplyText,
    lines: u32,
    bytes: usize,
}

/// Cuts a stream of bytes into replies.
#[derive(Clone, Debug, Default)]
pub struct ReplyParser {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    unfinished: Option<Unfinished>,
    failed: bool,
}

impl ReplyParser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes off the front of `input` until one reply is complete or the stream has failed.
    ///
    /// `None` says that all of `input` is taken and more is needed. An error comes once; after it `input` is swallowed.
    pub fn next(&mut self, input: &mut &[u8]) -> Option<Result<Reply, ReplyError>> {
        self.next_with(input, |_, _| ())
    }

    /// As [`Self::next`]; shows each line to `seen` as it completes: its number within the reply, from 0, and the raw
    /// bytes after the code and its separator. (EHLO answers are read this way: a reply's text is capped.)
    pub fn next_with(
        &mut self,
        input: &mut &[u8],
        mut seen: impl FnMut(u32, &[u8]),
    ) -> Option<Result<Reply, ReplyError>> {
        while !input.is_empty() {
            if self.failed {
                *input = &[];
                return None;
            }
            let taken = match input.iter().position(|byte| *byte == b'\n') {
                Some(at) => {
                    let (line, rest) = input.split_at(at + 1);
                    *input = rest;
                    self.end_line(line, &mut seen)
                }
                None => self.hold(std::mem::take(input)).map(|()| None),
            };
            match taken {
                Ok(None) => {}
                Ok(Some(reply)) => return Some(Ok(reply)),
                Err(error) => {
                    *self = Self { failed: true, ..Self::default() };
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Whether the bytes so far end inside a line.
    pub fn is_inside_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// Whether the bytes so far end inside a reply.
    pub fn is_inside_reply(&self) -> bool {
        self.is_inside_line() || self.unfinished.is_some()
    }

    /// Keeps the beginning of a line. Its end is at least one byte more, so a full buffer is already too long.
    fn hold(&mut self, part: &[u8]) -> Result<(), ReplyError> {
        if self.line.len() + part.len() >= LINE_MAX_BYTES {
            return Err(ReplyError::LineTooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self, part: &[u8], seen: &mut impl FnMut(u32, &[u8])) -> Result<Option<Reply>, ReplyError> {
        if self.line.len() + part.len() > LINE_MAX_BYTES {
            return Err(ReplyError::LineTooLong);
        }
        if self.line.is_empty() {
            return self.take_line(part, seen);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(part);
        let taken = self.take_line(&line, seen);
        line.clear();
        self.line = line;
        taken
    }

    /// One whole line, LF included.
    fn take_line(&mut self, raw: &[u8], seen: &mut impl FnMut(u32, &[u8])) -> Result<Option<Reply>, ReplyError> {
        let line = ReplyLine::parse(raw)?;
        let mut reply = match self.unfinished.take() {
            None => Unfinished { code: line.code, text: ReplyText::first(line.code, line.text), lines: 0, bytes: 0 },
            Some(unfinished) if unfinished.code != line.code => {
                return Err(ReplyError::CodeChanged);
            }
            Some(mut unfinished) => {
                unfinished.text.push(line.text);
                unfinished
            }
        };
        seen(reply.lines, line.text);
        reply.lines += 1;
        reply.bytes += raw.len();
        reply.text.nonconforming |= line.nonconforming;
        if reply.lines > REPLY_MAX_LINES {
            return Err(ReplyError::TooManyLines);
        }
        if reply.bytes > REPLY_MAX_BYTES {
            return Err(ReplyError::TooLong);
        }
        if line.more {
            self.unfinished = Some(reply);
            return Ok(None);
        }
        Ok(Some(reply.text.into_reply(reply.code)))
    }
}

/// One line, taken apart.
struct ReplyLine<'a> {
    code: u16,
    /// Whether the reply goes on after this line.
    more: bool,
    text: &'a [u8],
    nonconforming: bool,
}

impl<'a> ReplyLine<'a> {
    /// `raw` ends in LF. RFC 5321 §4.2: `Reply-line = *( Reply-code "-" [ textstring ] CRLF ) Reply-code [ SP textstring ] CRLF`.
    fn parse(raw: &'a [u8]) -> Result<Self, ReplyError> {
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        let (line, bare_lf) = match line.strip_suffix(b"\r") {
            Some(line) => (line, false),
            None => (line, true),
        };
        let (digits, rest) = line.split_at_checked(3).ok_or(ReplyError::BadCode)?;
        if !digits.iter().all(u8::is_ascii_digit) || !(b'2'..=b'5').contains(&digits[0]) {
            return Err(ReplyError::BadCode);
        }
        let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        let (more, text, odd) = match rest.split_first() {
            None => (false, rest, false),
            Some((b' ', text)) => (false, text, false),
            Some((b'-', text)) => (true, text, false),
            Some((b'\t', text)) => (false, text, true),
            Some((b'0'..=b'9', _)) => return Err(ReplyError::BadCode),
            // `250OK`: what follows three digits and is no digit can only be text.
            Some(_) => (false, rest, true),
        };
        Ok(Self { code, more, text, nonconforming: bare_lf || odd })
    }
}

#[cfg(test)]
mod tests;
