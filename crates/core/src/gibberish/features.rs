//! What the model looks at: the sums over letter triples, and counts of form.

use unicode_normalization::UnicodeNormalization;

use super::STEPS_PER_NAT;
use crate::suggest::cost::near;

/// 26 letters and "no letter".
pub(super) const LETTERS: usize = 27;
/// Letters of a local part that are looked at; longer ones are judged by their beginning.
const BYTES_MAX: usize = 64;
/// Triples in the window that may be the worst one.
const WINDOW: usize = 4;

/// The names of the features, in the order of [`Features`].
pub const FEATURES: &[&str; 16] = &[
    "odds_mean",
    "odds_sum",
    "odds_worst",
    "switches",
    "digits_between",
    "consonants",
    "near_pairs",
    "repeats",
    "no_vowel",
    "hex",
    "length",
    "home_row",
    "run",
    "short",
    "rare_pair",
    "one_row",
];

/// The numbers that a local part is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features(pub [f32; FEATURES.len()]);

/// A local part in lower-case ASCII without its `+` note.
struct Plain {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

impl Features {
    /// `None` where nothing can be judged: no Latin letter, or letters of another script.
    pub(super) fn of(local: &str, grams: &[i8]) -> Option<Self> {
        let plain = Plain::of(local)?;
        let text = &plain.bytes[..plain.len];
        let letters = text.iter().filter(|b| b.is_ascii_lowercase()).count();
        if letters == 0 {
            return None;
        }
        let odds = Odds::of(text, grams);
        let form = Form::of(text, letters);
        let count = as_f32(letters);
        Some(Self([
            odds.sum / as_f32(odds.triples),
            odds.sum.clamp(-30.0, 30.0) / 10.0,
            odds.worst,
            as_f32(form.switches.saturating_sub(1).min(6)),
            as_f32(form.digits_between.min(8)),
            as_f32(form.consonants.saturating_sub(3).min(6)),
            if letters >= 5 { as_f32(form.near_pairs) / count } else { 0.0 },
            as_f32(repeats(text).min(4)),
            flag(form.vowels == 0 && letters >= 4),
            flag(form.is_hex && form.switches >= 3 && text.len() >= 8),
            count.ln(),
            flag(form.home_row == letters && letters >= 5),
            as_f32(form.run.saturating_sub(3).min(6)),
            flag(letters < 5),
            as_f32(odds.rare.min(6)),
            flag(form.one_row && letters >= 6),
        ]))
    }
}

fn flag(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

fn as_f32(count: usize) -> f32 {
    u16::try_from(count).map_or(f32::MAX, f32::from)
}

impl Plain {
    fn of(local: &str) -> Option<Self> {
        let base = local.split('+').next().unwrap_or(local);
        let mut plain = Self { bytes: [0; BYTES_MAX], len: 0 };
        if base.is_ascii() {
            for byte in base.bytes() {
                plain.push(byte.to_ascii_lowercase());
            }
            return Some(plain);
        }
        for c in base.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
            plain.push_latin(c)?;
        }
        Some(plain)
    }

    fn push(&mut self, byte: u8) {
        if self.len < BYTES_MAX {
            self.bytes[self.len] = byte;
            self.len += 1;
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

/// Sums of log-odds, in nats.
struct Odds {
    sum: f32,
    worst: f32,
    triples: usize,
    rare: usize,
}

impl Odds {
    fn of(text: &[u8], grams: &[i8]) -> Self {
        let (mut first, mut second) = (0, 0);
        let mut last = [0_i32; WINDOW];
        let (mut sum, mut worst, mut triples, mut rare) = (0_i32, i32::MAX, 0_usize, 0_usize);
        for byte in text.iter().copied().chain([b'.']) {
            let third = if byte.is_ascii_lowercase() { usize::from(byte - b'a') + 1 } else { 0 };
            if second == 0 && third == 0 {
                continue;
            }
            let step = i32::from(grams[(first * LETTERS + second) * LETTERS + third]);
            sum += step;
            rare += usize::from(step < -16);
            last[triples % WINDOW] = step;
            triples += 1;
            if triples >= WINDOW {
                worst = worst.min(last.iter().sum());
            }
            (first, second) = if third == 0 { (0, 0) } else { (second, third) };
        }
        if triples < WINDOW {
            worst = sum;
        }
        let nats = |steps: i32| i16::try_from(steps).map_or(0.0, f32::from) / STEPS_PER_NAT;
        Self { sum: nats(sum), worst: nats(worst) / as_f32(WINDOW), triples: triples.max(1), rare }
    }
}

/// Counts of form.
#[derive(Default)]
struct Form {
    switches: usize,
    digits_between: usize,
    consonants: usize,
    near_pairs: usize,
    vowels: usize,
    home_row: usize,
    run: usize,
    is_hex: bool,
    one_row: bool,
}

impl Form {
    fn of(text: &[u8], letters: usize) -> Self {
        let mut form = Self { is_hex: true, one_row: true, ..Self::default() };
        let (mut consonants, mut run, mut previous, mut row, mut seen) = (0, 1, 0_u8, None, 0);
        for &byte in text {
            let is_letter = byte.is_ascii_lowercase();
            form.is_hex &= byte.is_ascii_hexdigit();
            form.switches += usize::from(switches(previous, byte));
            seen += usize::from(is_letter);
            form.digits_between += usize::from(byte.is_ascii_digit() && seen > 0 && seen < letters);
            let is_vowel = matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
            consonants = if is_letter && !is_vowel { consonants + 1 } else { 0 };
            form.consonants = form.consonants.max(consonants);
            form.vowels += usize::from(is_vowel);
            form.home_row += usize::from(matches!(byte, b'a' | b's' | b'd' | b'f' | b'g' | b'h' | b'j' | b'k' | b'l'));
            let is_near = is_letter && near(previous, byte);
            form.near_pairs += usize::from(is_near);
            run = if is_near { run + 1 } else { 1 };
            form.run = form.run.max(run);
            if is_letter {
                let this = row_of(byte);
                form.one_row &= row.is_none_or(|other| other == this);
                row = Some(this);
            }
            previous = byte;
        }
        form
    }
}

/// A letter after a digit or a digit after a letter.
fn switches(previous: u8, byte: u8) -> bool {
    (previous.is_ascii_lowercase() && byte.is_ascii_digit()) || (previous.is_ascii_digit() && byte.is_ascii_lowercase())
}

fn row_of(byte: u8) -> u8 {
    match byte {
        b'q' | b'w' | b'e' | b'r' | b't' | b'y' | b'u' | b'i' | b'o' | b'p' => 0,
        b'z' | b'x' | b'c' | b'v' | b'b' | b'n' | b'm' => 2,
        _ => 1,
    }
}

/// How often a piece of two to four letters follows itself (`asdasd` once, `lkjlkjlkj` twice).
fn repeats(text: &[u8]) -> usize {
    let mut most = 0;
    for period in 2..=4 {
        let same = text.windows(period + 1).filter(|w| w[0] == w[period] && w[0].is_ascii_lowercase()).count();
        if same + period >= text.len().saturating_sub(1) {
            most = most.max(same / period);
        }
    }
    most
}
