//! A local part as the model reads it: its symbols, and counts of its form.

use unicode_normalization::UnicodeNormalization;

use crate::facts::suggest::cost::near;

/// Kinds of symbols: the gap (what is neither letter nor digit, and the ends), 26 letters, and the digit.
pub const SYMBOLS: usize = 28;
/// Three symbols in a row.
pub const TRIPLES: usize = SYMBOLS.pow(3);
/// What stands for no letter and no digit.
const GAP: u8 = 0;
/// What stands for every digit.
const DIGIT: u8 = 27;
/// Symbols of a local part that are read; longer ones are judged by their beginning.
const READ_MAX: usize = 40;
/// Gaps before the first symbol, so that a triple can end with it.
const BEFORE: usize = 2;
/// Gaps behind the last symbol, so that a triple can begin behind it.
const AFTER: usize = 4;

/// The names of the counts of form, in the order of [`Signs::form`].
pub const FORM: [&str; 15] = [
    "letters",
    "letters_1_to_4",
    "letters_5",
    "letters_6",
    "letters_7",
    "letters_8",
    "letters_9_to_11",
    "digits",
    "has_digits",
    "has_gap",
    "has_gaps",
    "switches",
    "all_letters",
    "near_keys",
    "repeats",
];

/// The symbols of a local part without its `+` note.
#[derive(Clone, Debug)]
pub struct Signs {
    symbols: [u8; BEFORE + READ_MAX + AFTER],
    /// Symbols that were read; the array has the gaps of both ends besides.
    read: usize,
}

impl Signs {
    /// `None` where nothing can be judged: no Latin letter, or letters of another script.
    pub fn of(local: &str) -> Option<Self> {
        let base = local.split('+').next().unwrap_or(local);
        let mut signs = Self { symbols: [GAP; BEFORE + READ_MAX + AFTER], read: 0 };
        if base.is_ascii() {
            base.bytes().for_each(|byte| signs.push(byte));
        } else {
            for c in base.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
                signs.push_latin(c)?;
            }
        }
        signs.symbols().iter().any(|symbol| is_letter(*symbol)).then_some(signs)
    }

    /// For every symbol and the end: the triple that ends with it, and the triple behind it, as numbers below [`TRIPLES`].
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let triple = |s: &[u8]| (usize::from(s[0]) * SYMBOLS + usize::from(s[1])) * SYMBOLS + usize::from(s[2]);
        self.symbols[..BEFORE + self.read + AFTER].windows(6).map(move |six| (triple(&six[..3]), triple(&six[3..])))
    }

    /// Number of letters.
    pub fn letters(&self) -> usize {
        self.count(is_letter)
    }

    fn count(&self, is: fn(u8) -> bool) -> usize {
        self.symbols().iter().filter(|symbol| is(**symbol)).count()
    }

    /// Counts of form, by the order of [`FORM`]; each is of the size of one.
    pub fn form(&self) -> [f32; FORM.len()] {
        let (letters, digits, gaps) = (self.letters(), self.count(|s| s == DIGIT), self.count(|s| s == GAP));
        let turns = |pair: &&[u8]| pair[0] != GAP && pair[1] != GAP && is_letter(pair[0]) != is_letter(pair[1]);
        let switches = self.symbols().windows(2).filter(turns).count();
        [
            as_f32(letters.min(24)) / 8.0,
            flag(letters <= 4),
            flag(letters == 5),
            flag(letters == 6),
            flag(letters == 7),
            flag(letters == 8),
            flag((9..=11).contains(&letters)),
            as_f32(digits.min(6)) / 3.0,
            flag(digits > 0),
            flag(gaps > 0),
            flag(gaps > 1),
            as_f32(switches.min(5)) / 2.0,
            flag(digits == 0 && gaps == 0),
            as_f32(self.near_keys().saturating_sub(2).min(6)) / 3.0,
            as_f32(self.repeats().min(4)) / 2.0,
        ]
    }

    /// Most letters in a row each of which touches the one before on a keyboard.
    fn near_keys(&self) -> usize {
        let key = |symbol: u8| if is_letter(symbol) { symbol - 1 + b'a' } else { b' ' };
        let touch = |pair: &[u8]| is_letter(pair[1]) && near(key(pair[0]), key(pair[1]));
        longest(self.symbols().windows(2).map(touch)) + 1
    }

    /// How often a piece of two to four letters follows itself (`asdasd` once, `lkjlkjlkj` twice).
    fn repeats(&self) -> usize {
        let same = |period: usize| {
            let symbols = self.symbols();
            longest(symbols.iter().zip(symbols.iter().skip(period)).map(|(a, b)| a == b && is_letter(*a)))
        };
        (2..=4).map(|period| same(period) / period).max().unwrap_or(0)
    }

    fn symbols(&self) -> &[u8] {
        &self.symbols[BEFORE..BEFORE + self.read]
    }

    /// Adds an ASCII sign; gaps in a row are one, and none begins the text.
    fn push(&mut self, byte: u8) {
        let symbol = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => letter - b'a' + 1,
            b'0'..=b'9' => DIGIT,
            _ => GAP,
        };
        let follows_gap = self.symbols[BEFORE + self.read - 1] == GAP;
        if self.read < READ_MAX && !(symbol == GAP && follows_gap) {
            self.symbols[BEFORE + self.read] = symbol;
            self.read += 1;
        }
    }

    /// Latin letters as they are written without their own signs; `None` for another script.
    fn push_latin(&mut self, c: char) -> Option<()> {
        let plain = match c.to_lowercase().next().unwrap_or(c) {
            'ł' => "l",
            'đ' | 'ð' => "d",
            'ø' | 'œ' => "o",
            'ß' => "ss",
            'æ' => "ae",
            'ı' => "i",
            'þ' => "th",
            'ħ' => "h",
            'ŋ' => "n",
            'ə' => "e",
            ascii if ascii.is_ascii() => {
                self.push(u8::try_from(ascii).ok()?);
                return Some(());
            }
            _ => return None,
        };
        plain.bytes().for_each(|byte| self.push(byte));
        Some(())
    }
}

/// The longest run of what holds.
fn longest(all: impl Iterator<Item = bool>) -> usize {
    all.fold((0, 0), |(most, run), holds| if holds { (most.max(run + 1), run + 1) } else { (most, 0) }).0
}

fn is_letter(symbol: u8) -> bool {
    symbol != GAP && symbol != DIGIT
}

fn flag(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

fn as_f32(count: usize) -> f32 {
    u16::try_from(count).map_or(f32::MAX, f32::from)
}

/// The sign of a symbol in the text form: `.` for the gap, `0` for the digit.
pub(super) fn letter_of(symbol: usize) -> char {
    match u8::try_from(symbol) {
        Ok(letter @ 1..DIGIT) => char::from(b'a' + letter - 1),
        Ok(DIGIT) => '0',
        _ => '.',
    }
}

/// The symbol of a sign in the text form.
pub(super) fn symbol_of(byte: u8) -> Option<usize> {
    match byte {
        b'.' => Some(usize::from(GAP)),
        b'0' => Some(usize::from(DIGIT)),
        b'a'..=b'z' => Some(usize::from(byte - b'a') + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(local: &str) -> Option<String> {
        let signs = Signs::of(local)?;
        Some(signs.symbols().iter().map(|symbol| letter_of(usize::from(*symbol))).collect())
    }

    #[test]
    fn local_parts_are_read_as_letters_digits_and_gaps() {
        for (local, expected) in [
            ("John.Smith7+news", Some("john.smith0")),
            ("__a--b", Some("a.b")),
            ("Müller", Some("muller")),
            ("Łukaß", Some("lukass")),
            ("13800", None),
            ("...", None),
            ("владимир", None),
            ("annaи", None),
            ("", None),
        ] {
            assert_eq!(read(local).as_deref(), expected, "{local}");
        }
        assert_eq!(read(&"ab".repeat(60)).map(|text| text.len()), Some(READ_MAX));
    }

    #[test]
    fn keys_that_touch_and_pieces_that_repeat_are_counted() {
        for (local, near_keys, repeats) in
            [("asdf12", 4, 0), ("maria", 1, 0), ("ertert", 3, 1), ("lkjlkjlkj7", 3, 2), ("coco", 1, 1), ("a", 1, 0)]
        {
            let signs = Signs::of(local).unwrap();
            assert_eq!((signs.near_keys(), signs.repeats()), (near_keys, repeats), "{local}");
        }
    }

    #[test]
    fn every_symbol_and_the_end_have_a_place() {
        let triple = |text: &str| text.bytes().fold(0, |sum, b| sum * SYMBOLS + symbol_of(b).unwrap());
        let places: Vec<_> = Signs::of("ab1").unwrap().places().collect();
        let expected = [("..a", "b0."), (".ab", "0.."), ("ab0", "..."), ("b0.", "...")];
        assert_eq!(places, expected.map(|(head, tail)| (triple(head), triple(tail))));
    }
}
