//! What is checked and not kept: texts and numbers of members that do not matter, byte by byte.

/// What a byte does to a text or a number.
pub(super) enum Step<T> {
    /// It belongs to it.
    On(T),
    /// It ends it. A quote is a text's own end; a number's end is a byte of what follows.
    Over,
    /// It cannot stand here.
    Wrong,
}

/// Whether a value of JSON can begin with this byte.
pub(super) fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// A place within a number (RFC 8259 §6).
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// Behind the minus.
    Minus,
    /// Behind a leading zero, which no digit follows.
    Zero,
    /// Among the digits before the point.
    Whole,
    /// Behind the point.
    Point,
    /// Among the digits behind the point.
    Fraction,
    /// Behind the `e`.
    Mark,
    /// Behind the exponent's sign.
    Sign,
    /// Among the exponent's digits.
    Exponent,
}

impl Number {
    /// The first byte: a minus or a digit.
    pub(super) fn begin(byte: u8) -> Self {
        match byte {
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            _ => Self::Whole,
        }
    }

    pub(super) fn step(self, byte: u8) -> Step<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Step::On(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Step::On(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => Step::On(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Step::On(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Step::On(Self::Mark),
            (Self::Mark, b'+' | b'-') => Step::On(Self::Sign),
            (Self::Mark | Self::Sign | Self::Exponent, b'0'..=b'9') => Step::On(Self::Exponent),
            (Self::Zero | Self::Whole | Self::Fraction | Self::Exponent, _) => Step::Over,
            _ => Step::Wrong,
        }
    }
}

/// A place within a text (RFC 8259 §7). Halves of surrogate pairs pass: the grammar has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    name: bool,
    escape: Escape,
    utf8: Utf8,
}

#[derive(Clone, Copy, Debug)]
enum Escape {
    None,
    /// Behind the backslash.
    Begun,
    /// This many hexadecimal digits must follow.
    Hex(u8),
}

impl Passing {
    /// Behind the opening quote of a name or a value.
    pub(super) fn new(name: bool) -> Self {
        Self { name, escape: Escape::None, utf8: Utf8::default() }
    }

    /// Whether it is the name of a member.
    pub(super) fn is_name(self) -> bool {
        self.name
    }

    pub(super) fn step(mut self, byte: u8) -> Step<Self> {
        self.escape = match (self.escape, byte) {
            (Escape::None, b'"') if self.utf8.is_whole() => return Step::Over,
            (Escape::None, b'\\') if self.utf8.is_whole() => Escape::Begun,
            (Escape::None, 0..=0x1f) => return Step::Wrong,
            (Escape::None, _) if self.utf8.step(byte) => Escape::None,
            (Escape::Begun, b'u') => Escape::Hex(4),
            (Escape::Begun, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Escape::None,
            (Escape::Hex(1), _) if byte.is_ascii_hexdigit() => Escape::None,
            (Escape::Hex(left), _) if byte.is_ascii_hexdigit() => Escape::Hex(left - 1),
            _ => return Step::Wrong,
        };
        Step::On(self)
    }
}

/// A place within a character of UTF-8 (RFC 3629 §4): how many bytes must follow, and between which the next must be.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    left: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    fn is_whole(self) -> bool {
        self.left == 0
    }

    fn step(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let fits = (self.low..=self.high).contains(&byte);
            *self = Self { left: self.left - 1, low: 0x80, high: 0xbf };
            return fits;
        }
        let (left, low, high) = match byte {
            0..=0x7f => return true,
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => return false,
        };
        *self = Self { left, low, high };
        true
    }
}
