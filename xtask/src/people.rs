//! Local parts as people choose them, and as hands make them up on a keyboard: the labelled sets of the gibberish model.

use probity_core::rng::Rng;

use crate::names::{Names, Region};

const HOME_ROW: &[u8] = b"asdfghjkl";
const ROWS: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];
const LEFT: &[u8] = b"qwertasdfgzxcvb";
const RIGHT: &[u8] = b"yuiophjklnm";
const VOWELS: &[u8] = b"aeiouy";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const ALNUM: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8] = b"0123456789abcdef";

/// The ways in which hands mash.
pub(crate) const MASHES: [&str; 9] =
    ["home_row", "one_row", "alternating", "walk", "chunks", "letters", "alnum", "hex", "letters_digits"];

fn pick<'i, T>(items: &'i [T], rng: &mut Rng) -> &'i T {
    &items[rng.below(items.len())]
}

fn letters(of: &[u8], count: usize, rng: &mut Rng) -> String {
    (0..count).map(|_| char::from(*pick(of, rng))).collect()
}

fn digits(count: usize, rng: &mut Rng) -> String {
    letters(b"0123456789", count, rng)
}

/// A mash of one kind (an index of [`MASHES`]).
pub(crate) fn mash(kind: usize, rng: &mut Rng) -> String {
    let length = 6 + rng.below(9);
    match MASHES[kind] {
        "home_row" => letters(HOME_ROW, length, rng),
        "one_row" => {
            let row = ROWS[rng.below(3)];
            letters(row, length, rng)
        }
        "alternating" => (0..length).map(|n| char::from(*pick(if n % 2 == 0 { LEFT } else { RIGHT }, rng))).collect(),
        "walk" => walk(length, rng),
        "chunks" => {
            let size = 2 + rng.below(3);
            let chunk = letters(ROWS[rng.below(3)], size, rng);
            (0..=length).map(|n| char::from(chunk.as_bytes()[n % size])).collect()
        }
        "letters" => letters(LETTERS, length, rng),
        "alnum" => letters(ALNUM, length + 2, rng),
        "hex" => letters(HEX, 2 * length - 4, rng),
        _ => letters(LETTERS, length - 2, rng) + &digits(1 + rng.below(4), rng),
    }
}

/// Fingers that run along the rows, now and then to another one.
fn walk(length: usize, rng: &mut Rng) -> String {
    let (mut row, mut at, mut right) = (rng.below(3), rng.below(7), rng.below(2) == 0);
    let mut text = String::new();
    for _ in 0..length {
        text.push(char::from(ROWS[row][at % ROWS[row].len()]));
        at = if right { at + 1 } else { at + ROWS[row].len() - 1 } % ROWS[row].len();
        if rng.below(6) == 0 {
            (row, right) = (rng.below(3), !right);
        }
    }
    text
}

/// A local part of a person of this region.
pub(crate) fn person(region: &Region, words: &[String], rng: &mut Rng) -> String {
    let (first, last) = (pick(&region.given, rng), pick(&region.last, rng));
    let (f, l) = (&first[..1], &last[..1]);
    let year = 1940 + rng.below(72);
    let dot = *pick(&[".", "_", "-", ""], rng);
    match rng.below(24) {
        0..=3 => format!("{first}.{last}"),
        4 => format!("{first}{dot}{last}"),
        5 | 6 => format!("{f}{last}"),
        7 => format!("{f}.{last}"),
        8 => format!("{last}{f}"),
        9 => format!("{last}{dot}{first}"),
        10 => first.clone(),
        11 => last.clone(),
        12 => format!("{first}{year}"),
        13 => format!("{first}{dot}{last}{:02}", year % 100),
        14 => format!("{f}{last}{}", rng.below(1000)),
        15 => format!("{f}{dot}{l}"),
        16 => format!("{f}{}{l}", char::from(*pick(LETTERS, rng))) + &format!("{}", year % 100),
        17 => format!("{f}{}{last}", char::from(*pick(LETTERS, rng))),
        18 => nickname(first, rng),
        19 => format!("{}{}{}", pick(words, rng), pick(words, rng), rng.below(100)),
        20 => format!("{first}{dot}{}", pick(words, rng)),
        21 => format!("{first}{l}{}", rng.below(100)),
        22 => format!("{first}.{}.{last}", pick(&region.given, rng)),
        _ => pick(words, rng).clone(),
    }
}

/// The first syllables of a name, with what is hung on them.
fn nickname(name: &str, rng: &mut Rng) -> String {
    let vowel = name.bytes().skip(1).position(|b| VOWELS.contains(&b)).map_or(name.len(), |at| at + 2);
    let stem = &name[..(vowel + 1).min(name.len())];
    let end = *pick(&["y", "ie", "i", "o", "a", "ster", "inho", "ek", "chen", "ka", "", "xx"], rng);
    format!("{stem}{end}{}", if rng.below(2) == 0 { String::new() } else { format!("{}", rng.below(100)) })
}

/// `count` people of every region in turn, with the region's name.
pub(crate) fn people<'n>(names: &'n Names, words: &[String], count: usize, rng: &mut Rng) -> Vec<(&'n str, String)> {
    let regions: Vec<_> = names.0.iter().collect();
    (0..count)
        .map(|n| {
            let (name, region) = regions[n % regions.len()];
            (name.as_str(), person(region, words, rng))
        })
        .collect()
}
