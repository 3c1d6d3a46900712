//! The text of a reply as it is kept: without codes, printable, capped. Two blanks stand where a line ended.

use super::{Enhanced, Reply, TEXT_MAX_BYTES, charset};

/// What joins two lines; inside a line, blanks become one.
const LINE_END: &str = "  ";

/// What ends a text that was cut: its reader does not know what else it said.
const CUT: char = '…';

/// The text of the lines so far and what was found at their beginnings.
#[derive(Clone, Debug)]
pub(super) struct ReplyText {
    enhanced: Option<Enhanced>,
    kept: String,
    /// Whether the text has reached its cap.
    cut: bool,
    pub(super) nonconforming: bool,
}

impl ReplyText {
    /// The text of the first line of a reply, which alone decides about the enhanced code. It has the reply's class (RFC 3463
    /// §2), or is the 4 by which a server makes a permanent code temporary.
    pub(super) fn first(code: u16, line: &[u8]) -> Self {
        let belongs = |class: u8| u16::from(class) == code / 100 || (class == 4 && code >= 500);
        let found = enhanced(line).filter(|(found, _)| belongs(found.class));
        let (enhanced, rest) = match found {
            Some((enhanced, rest)) => (Some(enhanced), rest),
            None => (None, line),
        };
        let kept = String::with_capacity(rest.len().min(TEXT_MAX_BYTES));
        let mut first = Self { enhanced, kept, cut: false, nonconforming: false };
        first.append(rest);
        first
    }

    /// A further line. Servers repeat the enhanced code on each line (RFC 2034 §4); it is kept once.
    pub(super) fn push(&mut self, line: &[u8]) {
        let repeated = enhanced(line).filter(|(found, _)| self.enhanced == Some(*found));
        self.append(repeated.map_or(line, |(_, rest)| rest));
    }

    pub(super) fn into_reply(self, code: u16) -> Reply {
        let mut text = self.kept;
        text.truncate(text.trim_end().len());
        if self.cut {
            text.truncate(text.floor_char_boundary(TEXT_MAX_BYTES - CUT.len_utf8()));
            text.push(CUT);
        }
        Reply { code, enhanced: self.enhanced, text, nonconforming: self.nonconforming }
    }

    fn append(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if !self.kept.is_empty() {
            LINE_END.chars().for_each(|blank| self.put(blank));
        }
        let is_plain = line.iter().all(|byte| (b' '..=b'~').contains(byte));
        if !is_plain || line.windows(LINE_END.len()).any(|blanks| blanks == LINE_END.as_bytes()) {
            self.append_unclean(line);
        } else if !self.cut {
            let room = TEXT_MAX_BYTES - self.kept.len();
            self.cut = line.len() > room;
            let kept = &line[..line.len().min(room)];
            self.kept.push_str(std::str::from_utf8(kept).unwrap_or_default());
        }
    }

    /// RFC 5321 §4.2 allows HT and printable US-ASCII; UTF-8 and older encodings are kept because people write them.
    fn append_unclean(&mut self, line: &[u8]) {
        for char in charset::decoded(line).chars() {
            self.nonconforming |= !char.is_ascii() || (char.is_control() && char != '\t');
            let char = printable(char);
            if char != ' ' || !self.kept.ends_with(' ') {
                self.put(char);
            }
        }
    }

    /// Adds a character if it fits as a whole. After one that did not, none does: what is kept is a prefix.
    fn put(&mut self, char: char) {
        self.cut |= self.kept.len() + char.len_utf8() > TEXT_MAX_BYTES;
        if !self.cut {
            self.kept.push(char);
        }
    }
}

/// A character as it may be shown. Controls, and what breaks or reorders a line (Unicode's "Trojan Source" characters),
/// become `?`; a tab becomes a blank. Bytes of no encoding stay U+FFFD.
fn printable(char: char) -> char {
    match char {
        '\t' => ' ',
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => '?',
        char if char.is_control() => '?',
        char => char,
    }
}

/// An enhanced code at the start of a line (RFC 3463 §2) and the text after it.
///
/// Cisco gateways write `#5.1.0`. What goes on as a fourth number or as a word (`5.1.2.3`, `5.1.1a`) is none.
fn enhanced(line: &[u8]) -> Option<(Enhanced, &[u8])> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"#").unwrap_or(line);
    let (class @ (b'2' | b'4' | b'5'), rest) = line.split_first()? else {
        return None;
    };
    let (subject, rest) = number(rest.strip_prefix(b".")?)?;
    let (detail, rest) = number(rest.strip_prefix(b".")?)?;
    let ends = match rest {
        [] => true,
        [b'.', next, ..] => !next.is_ascii_alphanumeric(),
        [next, ..] => !next.is_ascii_alphanumeric() && *next != b'_',
    };
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    ends.then_some((Enhanced { class: class - b'0', subject, detail }, rest))
}

/// One to three digits.
fn number(text: &[u8]) -> Option<(u16, &[u8])> {
    let len = text.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=3).contains(&len) {
        return None;
    }
    let (digits, rest) = text.split_at(len);
    Some((digits.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0')), rest))
}
