//! Removal of secrets from texts, as they are, percent-encoded, or escaped as in JSON: a host may quote what it was sent in the
//! form of its own logs.

/// Maximum length of a text that is searched, in bytes. The rest is omitted; messages are far shorter.
const TEXT_MAX: usize = 16 << 10;

/// Text that no message may contain.
pub(super) struct HiddenText {
    text: String,
    /// Whether more follows that differs each time, as after the head of a signed token.
    goes_on: bool,
}

impl HiddenText {
    pub(super) fn whole(text: &str) -> Self {
        Self { text: text.to_owned(), goes_on: false }
    }

    /// Beginning of a signed token: the letters, digits, hyphens, underscores and dots behind it belong to it.
    pub(super) fn head_of_token(text: &str) -> Self {
        Self { text: text.to_owned(), goes_on: true }
    }

    /// Returns the longest end of this text in `quoted`, if it begins there.
    fn end_in(&self, quoted: &[u8]) -> Option<usize> {
        Quoting::ALL.into_iter().filter_map(|quoting| self.end_as(quoting, quoted)).max().filter(|end| *end > 0)
    }

    fn end_as(&self, quoting: Quoting, quoted: &[u8]) -> Option<usize> {
        let (mut end, mut rest) = (0, self.text.as_bytes());
        while !rest.is_empty() {
            let next = quoting.next(&quoted[end..])?;
            rest = rest.strip_prefix(next.bytes())?;
            end += next.length;
        }
        let of_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        while self.goes_on
            && let Some(next) = quoting.next(&quoted[end..]).filter(|next| next.bytes().iter().all(of_token))
        {
            end += next.length;
        }
        Some(end)
    }
}

/// Form in which a text is quoted.
#[derive(Clone, Copy)]
enum Quoting {
    Plain,
    /// Bytes as `%2F`.
    Percent,
    /// The same, with `+` for a space.
    Form,
    /// Characters as `\/` or `\u002f`.
    Json,
}

/// Next character or byte of a quoted text.
struct Unit {
    decoded: [u8; 4],
    count: usize,
    /// Length in the quoted text.
    length: usize,
}

impl Unit {
    fn byte(byte: u8, length: usize) -> Self {
        Self { decoded: [byte, 0, 0, 0], count: 1, length }
    }

    fn character(character: char, length: usize) -> Self {
        let mut decoded = [0; 4];
        let count = character.encode_utf8(&mut decoded).len();
        Self { decoded, count, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.decoded[..self.count]
    }
}

impl Quoting {
    const ALL: [Self; 4] = [Self::Plain, Self::Percent, Self::Form, Self::Json];

    /// Decodes what a quoted text begins with; `None` at its end.
    fn next(self, quoted: &[u8]) -> Option<Unit> {
        let escaped = match (self, quoted) {
            (Self::Percent | Self::Form, [b'%', rest @ ..]) => {
                hex(rest, 2).and_then(|byte| u8::try_from(byte).ok()).map(|byte| Unit::byte(byte, 3))
            }
            (Self::Form, [b'+', ..]) => Some(Unit::byte(b' ', 1)),
            (Self::Json, [b'\\', rest @ ..]) => json_escape(rest),
            _ => None,
        };
        escaped.or_else(|| Some(Unit::byte(*quoted.first()?, 1)))
    }
}

/// Decodes what follows a backslash.
fn json_escape(rest: &[u8]) -> Option<Unit> {
    let plain = |byte| Some(Unit::byte(byte, 2));
    match rest {
        [b'u', rest @ ..] => {
            let first = hex(rest, 4)?;
            if let Some(character) = char::from_u32(first) {
                return Some(Unit::character(character, 6));
            }
            let second = hex(rest.get(4..)?.strip_prefix(b"\\u")?, 4)?;
            let units = [first, second].map(|unit| u16::try_from(unit).unwrap_or_default());
            let character = char::decode_utf16(units).next()?.ok()?;
            Some(Unit::character(character, 12))
        }
        [byte @ (b'"' | b'\\' | b'/'), ..] => plain(*byte),
        _ => None,
    }
}

/// Reads hexadecimal digits.
fn hex(text: &[u8], digits: usize) -> Option<u32> {
    let mut digits = text.get(..digits)?.iter().map(|byte| char::from(*byte).to_digit(16));
    digits.try_fold(0, |sum, digit| Some(sum << 4 | digit?))
}

/// Replaces secrets in a text.
pub(super) fn redact(text: &str, secrets: &[HiddenText]) -> String {
    let mut clean = String::new();
    let mut hidden = 0;
    for (at, character) in text.char_indices().take_while(|(at, _)| *at < TEXT_MAX) {
        // A secret may begin within another one, and end behind it.
        if let Some(end) = secrets.iter().filter_map(|secret| secret.end_in(&text.as_bytes()[at..])).max() {
            if at >= hidden {
                clean.push_str("(redacted)");
            }
            hidden = hidden.max(at + end);
        }
        if at >= hidden {
            clean.push(character);
        }
    }
    clean
}
