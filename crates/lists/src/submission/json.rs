//! `{"emails": [...], "webhook_url": ..., "name": ...}`, read piece by piece (RFC 8259).
//!
//! One automaton checks the grammar of the whole body. It holds its grammar state, the kind of each open bracket, and the part of
//! one text from earlier pieces. Relevant texts (member names, elements, the URL) are examined once complete, so a cut within one
//! changes nothing; ignored content is checked byte by byte and never kept, which no reader that waits for whole values can do.
//! Members may come in any order. A repeated member is rejected, as everywhere in this API, because implementations differ in the
//! value they take (RFC 8259 §4).

mod text;
mod token;

use self::text::{closing_quote, content};
use self::token::{Token, begins_value};
use super::{ADDRESS_MAX_BYTES, Blocks, DEPTH_MAX, NAME_MAX_BYTES, SubmissionFault, WEBHOOK_URL_MAX_BYTES};

const TOO_LONG: &str = "may have at most 1024 bytes";
const URL_TOO_LONG: &str = "may have at most 2048 bytes";
const NAME_TOO_LONG: &str = "may have at most 200 characters";
/// Maximum number of unknown members that are named, and of characters of each.
const UNKNOWN_MAX: usize = 5;
const UNKNOWN_CHARS_MAX: usize = 40;
/// Maximum bytes of an escaped byte (`\u0041`).
const ESCAPED_BYTES_MAX: usize = 6;

/// Relevant members of the object. The earlier spelling of the URL still counts if the current one gives none.
const MEMBERS: [&str; 4] = ["emails", "webhook_url", "webhookUrl", "name"];
/// Places of three of them.
const EMAILS: usize = 0;
const WEBHOOK_URL: usize = 1;
const NAME: usize = 3;

/// Grammar state of the reader.
#[derive(Clone, Copy, Debug)]
enum JsonState {
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
    Text { escaped: bool },
    /// In an ignored name or value.
    Ignored(Token),
    /// After the object.
    End,
}

/// Role of a name or a value in the submission.
#[derive(Clone, Copy)]
enum Role {
    Name,
    Emails,
    Element,
    Url,
    /// Name of the list.
    Title,
    Ignored,
}

/// Members of the object besides the addresses.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) webhook_url: Option<String>,
    pub(super) name: Option<String>,
    /// Names of the first members that are not known.
    pub(super) unknown: Vec<String>,
}

#[derive(Debug)]
pub(super) struct JsonReader {
    at: JsonState,
    /// Open brackets, the innermost last: whether each is an object.
    nest: Vec<bool>,
    /// Whether the current text is a name.
    in_name: bool,
    /// Current member of the object, if it is relevant.
    member: Option<usize>,
    /// Whether each relevant member was seen.
    seen: [bool; MEMBERS.len()],
    /// Elements of `emails` so far.
    element: usize,
    members: Members,
    /// Bytes of the body before the current one.
    offset: usize,
    /// Part of a kept text from earlier pieces, with its opening quote.
    raw: Vec<u8>,
}

impl JsonReader {
    pub(super) fn new() -> Self {
        Self {
            at: JsonState::Start,
            nest: Vec::with_capacity(DEPTH_MAX),
            in_name: false,
            member: None,
            seen: [false; MEMBERS.len()],
            element: 0,
            members: Members::default(),
            offset: 0,
            raw: Vec::new(),
        }
    }

    /// Reads a piece; `blocks` receives each element, unescaped.
    pub(super) fn push(&mut self, piece: &[u8], blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            let used = match self.at {
                JsonState::Text { escaped } => self.text(rest, escaped, blocks)?,
                JsonState::Ignored(token) => self.ignored(rest, token)?,
                // RFC 8259 §2: white space around every token.
                _ if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') => 1,
                _ => self.sign(byte, blocks)?,
            };
            rest = &rest[used..];
            self.offset += used;
        }
        Ok(())
    }

    /// Ends the body; returns the other members.
    pub(super) fn finish(self) -> Result<Members, SubmissionFault> {
        if !matches!(self.at, JsonState::End) {
            return Err(SubmissionFault::Cut);
        }
        if !self.seen[EMAILS] {
            return Err(SubmissionFault::Member(MEMBERS[EMAILS], "is required"));
        }
        Ok(self.members)
    }

    /// Reads one byte that is not white space, between texts, words and numbers. A kept text begins with its quote, which is left.
    fn sign(&mut self, byte: u8, blocks: &Blocks) -> Result<usize, SubmissionFault> {
        let in_object = self.nest.last() == Some(&true);
        match (self.at, byte) {
            (JsonState::Start, b'{') => self.open(true)?,
            (JsonState::Start, _) if begins_value(byte) => return Err(SubmissionFault::NotAnObject),
            (JsonState::First | JsonState::After, b']') if !in_object => self.close()?,
            (JsonState::FirstName | JsonState::After, b'}') if in_object => self.close()?,
            (JsonState::After, b',') => self.at = if in_object { JsonState::Name } else { JsonState::Value },
            (JsonState::Colon, b':') => self.at = JsonState::Value,
            (JsonState::FirstName | JsonState::Name, b'"') => {
                self.in_name = true;
                if self.nest.len() == 1 {
                    return Ok(self.keep());
                }
                self.at = JsonState::Ignored(Token::Text);
            }
            (JsonState::Value | JsonState::First, _) if begins_value(byte) => {
                self.in_name = false;
                return self.value(byte, blocks);
            }
            _ => return Err(SubmissionFault::NotJson(self.offset)),
        }
        Ok(1)
    }

    fn open(&mut self, object: bool) -> Result<(), SubmissionFault> {
        if self.nest.len() == DEPTH_MAX {
            return Err(SubmissionFault::TooDeep);
        }
        self.nest.push(object);
        self.at = if object { JsonState::FirstName } else { JsonState::First };
        Ok(())
    }

    fn close(&mut self) -> Result<(), SubmissionFault> {
        // Only `emails` opens an array here.
        if self.nest.len() == 2 && self.member == Some(EMAILS) && self.element == 0 {
            return Err(SubmissionFault::Member(MEMBERS[EMAILS], "must have at least one address"));
        }
        self.nest.pop();
        self.at = if self.nest.is_empty() { JsonState::End } else { JsonState::After };
        Ok(())
    }

    fn role(&self) -> Role {
        match (self.nest.len(), self.member) {
            (1, _) if self.in_name => Role::Name,
            (1, Some(EMAILS)) => Role::Emails,
            (2, Some(EMAILS)) => Role::Element,
            (1, Some(NAME)) => Role::Title,
            (1, Some(_)) => Role::Url,
            _ => Role::Ignored,
        }
    }

    /// Reads the first byte of a value. Relevant members accept only the right type.
    fn value(&mut self, byte: u8, blocks: &Blocks) -> Result<usize, SubmissionFault> {
        let role = self.role();
        match (role, byte) {
            (Role::Emails, b'[') => self.open(false)?,
            (Role::Emails, _) => return Err(self.blame("must be an array of strings")),
            (Role::Element, _) => {
                blocks.room()?;
                return if byte == b'"' { Ok(self.keep()) } else { Err(self.blame("must be a string")) };
            }
            (Role::Url | Role::Title, b'"') => return Ok(self.keep()),
            (Role::Url | Role::Title, byte) if byte != b'n' => return Err(self.blame("must be a string or null")),
            _ => match Token::begin(byte) {
                Some(token) => self.at = JsonState::Ignored(token),
                None => self.open(byte == b'{')?,
            },
        }
        Ok(1)
    }

    /// Begins a kept text, of which no byte is read yet.
    fn keep(&mut self) -> usize {
        self.at = JsonState::Text { escaped: false };
        0
    }

    /// Reads as much of an ignored name or value as the piece has. A byte behind it is left for the next step.
    fn ignored(&mut self, rest: &[u8], mut token: Token) -> Result<usize, SubmissionFault> {
        for (at, &byte) in rest.iter().enumerate() {
            match token.step(byte) {
                Ok(Some(next)) => token = next,
                Ok(None) => {
                    self.at = if self.in_name { JsonState::Colon } else { JsonState::After };
                    return Ok(at);
                }
                Err(()) => return Err(SubmissionFault::NotJson(self.offset + at)),
            }
        }
        self.at = JsonState::Ignored(token);
        Ok(rest.len())
    }

    /// Reads as much of a kept text as the piece has. It is rejected at once if it is too long even when fully escaped.
    fn text(&mut self, rest: &[u8], escaped: bool, blocks: &mut Blocks) -> Result<usize, SubmissionFault> {
        let (max, too_long) = match self.role() {
            Role::Url => (WEBHOOK_URL_MAX_BYTES, URL_TOO_LONG),
            Role::Title => (NAME_MAX_BYTES, NAME_TOO_LONG),
            _ => (ADDRESS_MAX_BYTES, TOO_LONG),
        };
        let end = closing_quote(rest, usize::from(escaped || self.raw.is_empty()));
        let part = &rest[..end.map_or(rest.len(), |quote| quote + 1)];
        let quotes = 1 + usize::from(end.is_ok());
        if self.raw.len() + part.len() > max * ESCAPED_BYTES_MAX + quotes {
            return Err(self.blame(too_long));
        }
        let is_whole = self.raw.is_empty() && end.is_ok();
        if !is_whole {
            self.raw.extend_from_slice(part);
        }
        if let Err(escaped) = end {
            self.at = JsonState::Text { escaped };
            return Ok(part.len());
        }
        let raw = std::mem::take(&mut self.raw);
        let text = content(if is_whole { part } else { &raw }).map_err(|what| self.blame(what))?;
        if text.len() > max {
            return Err(self.blame(too_long));
        }
        self.kept(&text, blocks)?;
        self.raw = raw;
        self.raw.clear();
        Ok(part.len())
    }

    fn kept(&mut self, text: &str, blocks: &mut Blocks) -> Result<(), SubmissionFault> {
        match self.role() {
            Role::Name => return self.named(text),
            Role::Url if text.contains('\0') => {
                return Err(self.blame("must not contain the character U+0000"));
            }
            Role::Url if self.member == Some(WEBHOOK_URL) || self.members.webhook_url.is_none() => {
                self.members.webhook_url = Some(text.to_owned());
            }
            Role::Url => {}
            Role::Title => self.members.name = Some(text.to_owned()),
            _ => {
                blocks.keep(text);
                self.element += 1;
            }
        }
        self.at = JsonState::After;
        Ok(())
    }

    fn named(&mut self, name: &str) -> Result<(), SubmissionFault> {
        self.at = JsonState::Colon;
        self.member = MEMBERS.iter().position(|member| *member == name);
        let Some(member) = self.member else {
            if self.members.unknown.len() < UNKNOWN_MAX {
                self.members.unknown.push(name.chars().take(UNKNOWN_CHARS_MAX).collect());
            }
            return Ok(());
        };
        if std::mem::replace(&mut self.seen[member], true) {
            return Err(SubmissionFault::Member(MEMBERS[member], "is given twice; send it once"));
        }
        Ok(())
    }

    /// Error of the current name or value.
    fn blame(&self, what: &'static str) -> SubmissionFault {
        match (self.role(), self.member) {
            (Role::Element, _) => SubmissionFault::Element(self.element, what),
            (Role::Name, _) | (_, None) => SubmissionFault::Name(what),
            (_, Some(member)) => SubmissionFault::Member(MEMBERS[member], what),
        }
    }

    /// Bytes of the body in memory.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.raw.len()
    }
}
