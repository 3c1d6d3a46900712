//! Checks ignored texts and numbers byte by byte, without keeping them.

/// Effect of a byte on a text or a number.
pub(super) enum SkipStep<T> {
    /// It belongs to it.
    On(T),
    /// It ends it. A text ends with its own quote; a number ends before the byte that follows.
    Over,
    /// It is invalid here.
    Wrong,
}

/// Whether a JSON value can begin with this byte.
pub(super) fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// State within a number (RFC 8259 §6).
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// After the minus.
    Minus,
    /// After a leading zero, which no digit may follow.
    Zero,
    /// In the integer digits.
    Whole,
    /// After the point.
    Point,
    /// In the fraction's digits.
    Fraction,
    /// After the `e`.
    Mark,
    /// After the exponent's sign.
    Sign,
    /// In the exponent's digits.
    Exponent,
}

impl Number {
    /// First byte: a minus or a digit.
    pub(super) fn begin(byte: u8) -> Self {
        match byte {
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            _ => Self::Whole,
        }
    }

    pub(super) fn step(self, byte: u8) -> SkipStep<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => SkipStep::On(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => SkipStep::On(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => SkipStep::On(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => SkipStep::On(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => SkipStep::On(Self::Mark),
            (Self::Mark, b'+' | b'-') => SkipStep::On(Self::Sign),
            (Self::Mark | Self::Sign | Self::Exponent, b'0'..=b'9') => SkipStep::On(Self::Exponent),
            (Self::Zero | Self::Whole | Self::Fraction | Self::Exponent, _) => SkipStep::Over,
            _ => SkipStep::Wrong,
        }
    }
}

/// State within a text (RFC 8259 §7). Unpaired surrogates pass: the grammar allows them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    name: bool,
    escape: Escape,
    utf8: Utf8,
}

#[derive(Clone, Copy, Debug)]
enum Escape {
    None,
    /// After the backslash.
    Begun,
    /// This many hexadecimal digits must follow.
    Hex(u8),
}

impl Passing {
    /// After the opening quote of a name or a value.
    pub(super) fn new(name: bool) -> Self {
        Self { name, escape: Escape::None, utf8: Utf8::default() }
    }

    /// Whether it is the name of a member.
    pub(super) fn is_name(self) -> bool {
        self.name
    }

    pub(super) fn step(mut self, byte: u8) -> SkipStep<Self> {
        self.escape = match (self.escape, byte) {
            (Escape::None, b'"') if self.utf8.is_whole() => return SkipStep::Over,
            (Escape::None, b'\\') if self.utf8.is_whole() => Escape::Begun,
            (Escape::None, 0..=0x1f) => return SkipStep::Wrong,
            (Escape::None, _) if self.utf8.step(byte) => Escape::None,
            (Escape::Begun, b'u') => Escape::Hex(4),
            (Escape::Begun, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Escape::None,
            (Escape::Hex(1), _) if byte.is_ascii_hexdigit() => Escape::None,
            (Escape::Hex(left), _) if byte.is_ascii_hexdigit() => Escape::Hex(left - 1),
            _ => return SkipStep::Wrong,
        };
        SkipStep::On(self)
    }
}

/// Bytes of a UTF-8 character that is not whole yet.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    bytes: [u8; 4],
    count: u8,
}

impl Utf8 {
    fn is_whole(self) -> bool {
        self.count == 0
    }

    /// Adds a byte. Returns whether it fits to those before.
    fn step(&mut self, byte: u8) -> bool {
        if self.is_whole() && byte.is_ascii() {
            return true;
        }
        self.bytes[usize::from(self.count)] = byte;
        self.count += 1;
        match str::from_utf8(&self.bytes[..usize::from(self.count)]) {
            Ok(_) => {
                self.count = 0;
                true
            }
            Err(error) => error.error_len().is_none(),
        }
    }
}
