//! Checks ignored values and names byte by byte, without keeping them.

/// State within a word, a number (RFC 8259 §6) or a text (§7). Unpaired surrogates pass: the grammar allows them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// In `null`, `true` or `false`: the remaining bytes.
    Word(&'static [u8]),
    /// After the minus of a number.
    Minus,
    /// After a leading zero, which no digit may follow.
    Zero,
    Whole,
    Point,
    Fraction,
    /// After the `e`.
    Mark,
    /// After the exponent's sign.
    Sign,
    Exponent,
    Text,
    /// After a backslash.
    Escape,
    /// This many hexadecimal digits must follow.
    Hex(u8),
    /// Within a character: the bounds of the next byte, and the number of bytes behind it (RFC 3629 §4).
    Character(u8, u8, u8),
    /// After the closing quote.
    Closed,
}

/// Whether a JSON value can begin with this byte.
pub(super) fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[') || Token::begin(byte).is_some()
}

impl Token {
    /// State after the first byte; `None` if that begins neither a word, a number nor a text.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        Some(match byte {
            b'n' => Self::Word(b"ull"),
            b't' => Self::Word(b"rue"),
            b'f' => Self::Word(b"alse"),
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            b'1'..=b'9' => Self::Whole,
            b'"' => Self::Text,
            _ => return None,
        })
    }

    /// State after another byte; `None` if the token ended before it.
    ///
    /// # Errors
    /// The byte is invalid here.
    pub(super) fn step(self, byte: u8) -> Result<Option<Self>, ()> {
        Ok(Some(match (self, byte) {
            (Self::Text, b'"') => Self::Closed,
            (Self::Text, b'\\') => Self::Escape,
            (Self::Text, 0x20..=0x7f) | (Self::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                Self::Text
            }
            (Self::Text, 0xc2..=0xdf) => Self::Character(0x80, 0xbf, 0),
            (Self::Text, 0xe0) => Self::Character(0xa0, 0xbf, 1),
            (Self::Text, 0xed) => Self::Character(0x80, 0x9f, 1),
            (Self::Text, 0xe1..=0xef) => Self::Character(0x80, 0xbf, 1),
            (Self::Text, 0xf0) => Self::Character(0x90, 0xbf, 2),
            (Self::Text, 0xf1..=0xf3) => Self::Character(0x80, 0xbf, 2),
            (Self::Text, 0xf4) => Self::Character(0x80, 0x8f, 2),
            (Self::Character(from, to, 0), byte) if (from..=to).contains(&byte) => Self::Text,
            (Self::Character(from, to, left), byte) if (from..=to).contains(&byte) => {
                Self::Character(0x80, 0xbf, left - 1)
            }
            (Self::Escape, b'u') => Self::Hex(4),
            (Self::Hex(1), byte) if byte.is_ascii_hexdigit() => Self::Text,
            (Self::Hex(left), byte) if byte.is_ascii_hexdigit() => Self::Hex(left - 1),
            (Self::Word([next, left @ ..]), byte) if *next == byte => Self::Word(left),
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Mark,
            (Self::Mark, b'+' | b'-') => Self::Sign,
            (Self::Mark | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            (Self::Word([]) | Self::Zero | Self::Whole | Self::Fraction | Self::Exponent | Self::Closed, _) => {
                return Ok(None);
            }
            _ => return Err(()),
        }))
    }
}
