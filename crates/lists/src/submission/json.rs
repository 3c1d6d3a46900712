//! `{"emails": [...], "webhook_url": ...}`, read piece by piece (RFC 8259).
//!
//! One automaton checks the grammar of the whole body. It holds its grammar state, a bit for each open bracket, and the part of one
//! text from earlier pieces. Relevant texts (member names, elements, the URL) are examined once complete, so a cut within one
//! changes nothing; ignored content is checked byte by byte and never kept. Members may come in any order. A repeated member is
//! rejected, as everywhere in this API, because implementations differ in the value they take (RFC 8259 §4).

mod skip;
mod text;

use self::skip::{Number, Passing, SkipStep};
use self::text::{Scratch, TextFault};
use super::{ADDRESS_MAX_BYTES, DEPTH_MAX, SubmissionFault, WEBHOOK_URL_MAX_BYTES};

const TOO_LONG: &str = "may have at most 1024 bytes";
const URL_TOO_LONG: &str = "may have at most 2048 bytes";
const EMAILS: &str = "emails";

/// Grammar state of the reader.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Before the object.
    Start,
    /// Before a required value.
    Value,
    /// After `[`: a value or `]`.
    First,
    /// After `{`: a name or `}`.
    FirstName,
    /// After a comma in an object.
    Name,
    /// After a name.
    Colon,
    /// After a value.
    After,
    /// In a kept text; whether the last byte was a backslash that escapes the next.
    Text { what: TextUse, escaped: bool },
    /// In an ignored text.
    Passing(Passing),
    /// In `null`, `true` or `false`: the remaining bytes.
    Word(&'static [u8]),
    /// In a number.
    Number(Number),
    /// After the object.
    End,
}

/// Purpose of a kept text.
#[derive(Clone, Copy, Debug)]
enum TextUse {
    Name,
    Element,
    Url,
}

/// Members of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Emails,
    WebhookUrl,
    /// The earlier spelling, which still counts if the current one gives no URL.
    LegacyUrl,
    Other,
}

impl Member {
    fn of(name: &[u8]) -> Self {
        match name {
            b"emails" => Self::Emails,
            b"webhook_url" => Self::WebhookUrl,
            b"webhookUrl" => Self::LegacyUrl,
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Emails => EMAILS,
            Self::WebhookUrl => "webhook_url",
            Self::LegacyUrl => "webhookUrl",
            Self::Other => "a member",
        }
    }
}

/// Role of a value in the submission.
enum Role {
    Emails,
    Element,
    Url,
    Ignored,
}

/// Open brackets: a bit for each, 1 for an object, the innermost lowest.
#[derive(Debug, Default)]
struct Nest {
    objects: u32,
    depth: usize,
}

const _: () = assert!(DEPTH_MAX <= 32, "a bit for each");

impl Nest {
    fn open(&mut self, object: bool) -> Result<(), SubmissionFault> {
        if self.depth == DEPTH_MAX {
            return Err(SubmissionFault::TooDeep);
        }
        self.objects = self.objects << 1 | u32::from(object);
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.objects >>= 1;
        self.depth -= 1;
    }

    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }
}

#[derive(Debug)]
pub(super) struct JsonReader {
    at: At,
    nest: Nest,
    /// Current member of the object.
    member: Member,
    /// Relevant members seen; each at most once.
    seen: Vec<Member>,
    webhook_url: Option<String>,
    legacy_url: Option<String>,
    rows: usize,
    rows_max: usize,
    /// Bytes of the body before the current one.
    offset: u64,
    scratch: Scratch,
}

impl JsonReader {
    pub(super) fn new(rows_max: usize) -> Self {
        Self {
            at: At::Start,
            nest: Nest::default(),
            member: Member::Other,
            seen: Vec::new(),
            webhook_url: None,
            legacy_url: None,
            rows: 0,
            rows_max,
            offset: 0,
            scratch: Scratch::default(),
        }
    }

    /// Reads a piece; `take` receives each element, unescaped and at most [`ADDRESS_MAX_BYTES`] long.
    pub(super) fn push(&mut self, piece: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            let used = match self.at {
                At::Text { what, escaped } => self.text(rest, what, escaped, take)?,
                At::Passing(passing) => self.pass(rest, passing)?,
                At::Number(number) => self.number(number, byte)?,
                At::Word(word) => self.word(word, byte)?,
                // RFC 8259 §2: white space around every token.
                _ if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') => 1,
                _ => self.sign(byte)?,
            };
            rest = &rest[used..];
            self.offset += u64::try_from(used).expect("a piece is no longer than 64 bits say");
        }
        Ok(())
    }

    /// Ends the body; returns the URL.
    pub(super) fn finish(self) -> Result<Option<String>, SubmissionFault> {
        if !matches!(self.at, At::End) {
            return Err(SubmissionFault::Cut);
        }
        if !self.seen.contains(&Member::Emails) {
            return Err(SubmissionFault::Member(EMAILS, "is required"));
        }
        Ok(self.webhook_url.or(self.legacy_url))
    }

    fn not_json(&self) -> SubmissionFault {
        SubmissionFault::NotJson(self.offset)
    }

    /// Reads one byte that is not white space, between texts, words and numbers.
    fn sign(&mut self, byte: u8) -> Result<usize, SubmissionFault> {
        let in_object = self.nest.in_object();
        match (self.at, byte) {
            (At::Start, b'{') => self.open(true)?,
            (At::Start, _) if skip::begins_value(byte) => return Err(SubmissionFault::NotAnObject),
            (At::First, b']') | (At::FirstName, b'}') => self.close()?,
            (At::After, b']') if !in_object => self.close()?,
            (At::After, b'}') if in_object => self.close()?,
            (At::After, b',') => self.at = if in_object { At::Name } else { At::Value },
            (At::FirstName | At::Name, b'"') if self.nest.depth == 1 => self.keep(TextUse::Name),
            (At::FirstName | At::Name, b'"') => self.at = At::Passing(Passing::new(true)),
            (At::Colon, b':') => self.at = At::Value,
            (At::Value | At::First, _) if skip::begins_value(byte) => self.value(byte)?,
            _ => return Err(self.not_json()),
        }
        Ok(1)
    }

    fn open(&mut self, object: bool) -> Result<(), SubmissionFault> {
        self.nest.open(object)?;
        self.at = if object { At::FirstName } else { At::First };
        Ok(())
    }

    fn close(&mut self) -> Result<(), SubmissionFault> {
        // Only `emails` opens an array here.
        if self.nest.depth == 2 && self.member == Member::Emails && self.rows == 0 {
            return Err(SubmissionFault::Member(EMAILS, "must have at least one address"));
        }
        self.nest.close();
        self.at = if self.nest.depth == 0 { At::End } else { At::After };
        Ok(())
    }

    fn role(&self) -> Role {
        match (self.nest.depth, self.member) {
            (1, Member::Emails) => Role::Emails,
            (2, Member::Emails) => Role::Element,
            (1, Member::WebhookUrl | Member::LegacyUrl) => Role::Url,
            _ => Role::Ignored,
        }
    }

    /// Reads the first byte of a value. Relevant members accept only the right type.
    fn value(&mut self, byte: u8) -> Result<(), SubmissionFault> {
        match (self.role(), byte) {
            (Role::Emails, b'[') => self.open(false),
            (Role::Emails, _) => Err(SubmissionFault::Member(EMAILS, "must be an array of strings")),
            (Role::Element, _) if self.rows == self.rows_max => Err(SubmissionFault::TooMany(self.rows_max)),
            (Role::Element, b'"') => {
                self.keep(TextUse::Element);
                Ok(())
            }
            (Role::Element, _) => Err(SubmissionFault::Element(self.rows, "must be a string")),
            (Role::Url, b'"') => {
                self.keep(TextUse::Url);
                Ok(())
            }
            (Role::Url, byte) if byte != b'n' => {
                Err(SubmissionFault::Member(self.member.name(), "must be a string or null"))
            }
            (Role::Url | Role::Ignored, byte) => self.ignore(byte),
        }
    }

    fn keep(&mut self, what: TextUse) {
        self.at = At::Text { what, escaped: false };
    }

    fn ignore(&mut self, byte: u8) -> Result<(), SubmissionFault> {
        self.at = match byte {
            b'{' => return self.open(true),
            b'[' => return self.open(false),
            b'"' => At::Passing(Passing::new(false)),
            b'n' => At::Word(b"ull"),
            b't' => At::Word(b"rue"),
            b'f' => At::Word(b"alse"),
            digit => At::Number(Number::begin(digit)),
        };
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], byte: u8) -> Result<usize, SubmissionFault> {
        match word.split_first() {
            Some((&next, left)) if next == byte => {
                self.at = if left.is_empty() { At::After } else { At::Word(left) };
                Ok(1)
            }
            _ => Err(self.not_json()),
        }
    }

    /// A number has no end mark: the byte after it is left for the next step.
    fn number(&mut self, number: Number, byte: u8) -> Result<usize, SubmissionFault> {
        match number.step(byte) {
            SkipStep::On(number) => {
                self.at = At::Number(number);
                Ok(1)
            }
            SkipStep::Over => {
                self.at = At::After;
                Ok(0)
            }
            SkipStep::Wrong => Err(self.not_json()),
        }
    }

    fn pass(&mut self, rest: &[u8], mut passing: Passing) -> Result<usize, SubmissionFault> {
        for (at, &byte) in rest.iter().enumerate() {
            match passing.step(byte) {
                SkipStep::On(next) => passing = next,
                SkipStep::Over => {
                    self.at = if passing.is_name() { At::Colon } else { At::After };
                    return Ok(at + 1);
                }
                SkipStep::Wrong => {
                    self.offset += u64::try_from(at).expect("a piece is no longer than 64 bits say");
                    return Err(self.not_json());
                }
            }
        }
        self.at = At::Passing(passing);
        Ok(rest.len())
    }

    /// Reads as much of a kept text as the piece has.
    fn text(
        &mut self,
        rest: &[u8],
        what: TextUse,
        escaped: bool,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, SubmissionFault> {
        let max = match what {
            TextUse::Name | TextUse::Element => ADDRESS_MAX_BYTES,
            TextUse::Url => WEBHOOK_URL_MAX_BYTES,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let (used, whole) = match text::closing_quote(rest, escaped) {
            Ok(quote) => (quote + 1, Some(scratch.whole(&rest[..quote], max))),
            Err(escaped) => {
                self.at = At::Text { what, escaped };
                scratch.add(rest, max).map_err(|fault| self.blame(what, fault))?;
                (rest.len(), None)
            }
        };
        if let Some(text) = whole {
            let text = text.map_err(|fault| self.blame(what, fault))?;
            self.ended(what, text, take)?;
            scratch.clear();
        }
        self.scratch = scratch;
        Ok(used)
    }

    fn ended(&mut self, what: TextUse, text: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), SubmissionFault> {
        self.at = At::After;
        match what {
            TextUse::Element => {
                take(text);
                self.rows += 1;
            }
            TextUse::Name => self.named(Member::of(text))?,
            TextUse::Url => self.url(text)?,
        }
        Ok(())
    }

    fn named(&mut self, member: Member) -> Result<(), SubmissionFault> {
        self.at = At::Colon;
        self.member = member;
        if member == Member::Other {
            return Ok(());
        }
        if self.seen.contains(&member) {
            return Err(SubmissionFault::Member(member.name(), "is given twice; send it once"));
        }
        self.seen.push(member);
        Ok(())
    }

    fn url(&mut self, text: &[u8]) -> Result<(), SubmissionFault> {
        let text = str::from_utf8(text).expect("a text is UTF-8 once it was looked at");
        if text.contains('\0') {
            return Err(SubmissionFault::Member(self.member.name(), "must not contain the character U+0000"));
        }
        let url = if self.member == Member::WebhookUrl { &mut self.webhook_url } else { &mut self.legacy_url };
        *url = Some(text.to_owned());
        Ok(())
    }

    fn blame(&self, what: TextUse, fault: TextFault) -> SubmissionFault {
        let message = match (fault, what) {
            (TextFault::TooLong, TextUse::Url) => URL_TOO_LONG,
            (TextFault::TooLong, _) => TOO_LONG,
            (fault, _) => fault.message(),
        };
        match what {
            TextUse::Name => SubmissionFault::Name(message),
            TextUse::Element => SubmissionFault::Element(self.rows, message),
            TextUse::Url => SubmissionFault::Member(self.member.name(), message),
        }
    }

    /// Bytes of the body in memory.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.scratch.held_bytes()
    }
}
