//! Local parts as people choose them, and as random typing produces them: the labeled sets of the gibberish model.

use probity_mail::rng::Rng;

use crate::names::{Names, Region};

const HOME_ROW: &[u8] = b"asdfghjkl";
const ROWS: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];
const LEFT: &[u8] = b"qwertasdfgzxcvb";
const RIGHT: &[u8] = b"yuiophjklnm";
const VOWELS: &[u8] = b"aeiouy";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const ALNUM: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8] = b"0123456789abcdef";

/// Kinds of mash.
pub(crate) const MASHES: [&str; 13] = [
    "home_row",
    "one_row",
    "alternating",
    "one_hand",
    "walk",
    "wander",
    "rolls",
    "chunks",
    "letters",
    "alnum",
    "hex",
    "letters_digits",
    "digits_inside",
];

fn pick<'i, T>(items: &'i [T], rng: &mut Rng) -> &'i T {
    &items[rng.below(items.len())]
}

fn letters(of: &[u8], count: usize, rng: &mut Rng) -> String {
    (0..count).map(|_| char::from(*pick(of, rng))).collect()
}

pub(crate) fn digits(count: usize, rng: &mut Rng) -> String {
    letters(b"0123456789", count, rng)
}

/// Returns mash of one kind (an index of [`MASHES`]); short ones are the most frequent.
pub(crate) fn mash(kind: usize, rng: &mut Rng) -> String {
    let length = 6 + rng.below(9).min(rng.below(9));
    mash_of(MASHES[kind], length, rng)
}

/// Returns mash of `length` characters.
pub(crate) fn mash_of(kind: &str, length: usize, rng: &mut Rng) -> String {
    match kind {
        "home_row" => letters(HOME_ROW, length, rng),
        "one_row" => {
            let row = ROWS[rng.below(3)];
            letters(row, length, rng)
        }
        "alternating" => (0..length).map(|n| char::from(*pick(if n % 2 == 0 { LEFT } else { RIGHT }, rng))).collect(),
        "one_hand" => {
            let hand = if rng.below(2) == 0 { LEFT } else { RIGHT };
            letters(hand, length, rng)
        }
        "walk" => walk(length, rng),
        "wander" => wander(length, rng),
        "rolls" => rolls(length, rng),
        "chunks" => {
            let size = 2 + rng.below(3);
            let chunk = letters(ROWS[rng.below(3)], size, rng);
            (0..=length).map(|n| char::from(chunk.as_bytes()[n % size])).collect()
        }
        "letters" => letters(LETTERS, length, rng),
        "alnum" => letters(ALNUM, length, rng),
        "hex" => letters(HEX, 2 * length - 4, rng),
        "letters_digits" => {
            let count = 1 + rng.below(3);
            mash_of(MASHES[rng.below(9)], length.saturating_sub(count).max(5), rng) + &digits(count, rng)
        }
        _ => {
            let (head, tail) = (2 + rng.below(3), 2 + rng.below(3));
            let inside = 1 + rng.below(3);
            letters(LETTERS, head, rng) + &digits(inside, rng) + &letters(LETTERS, tail, rng)
        }
    }
}

/// Simulates fingers that run along the rows, and sometimes change the row.
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

/// Simulates one finger that moves to a key beside or near the last one.
fn wander(length: usize, rng: &mut Rng) -> String {
    let (mut row, mut at) = (rng.below(3), rng.below(9));
    let mut text = String::new();
    for _ in 0..length {
        let keys = ROWS[row];
        at = at.min(keys.len() - 1);
        text.push(char::from(keys[at]));
        row = (row + [0, 0, 0, 1, 2][rng.below(5)]) % 3;
        at = (at + rng.below(5)).saturating_sub(2);
    }
    text
}

/// Simulates alternating hands, each with a few adjacent keys: `sdfjkl`, `asdlkj`.
fn rolls(length: usize, rng: &mut Rng) -> String {
    let mut text = String::new();
    let mut left = rng.below(2) == 0;
    while text.len() < length {
        let row = [1, 1, 1, 0, 2][rng.below(5)];
        let half = if left { &ROWS[row][..5] } else { &ROWS[row][ROWS[row].len() - 4..] };
        let size = (2 + rng.below(3)).min(half.len());
        let start = rng.below(half.len() - size + 1);
        let piece = half[start..start + size].iter().map(|key| char::from(*key));
        if rng.below(2) == 0 {
            text.extend(piece);
        } else {
            text.extend(piece.rev());
        }
        left = !left;
    }
    text.truncate(length);
    text
}

/// Returns a local part of a person of this region.
pub(crate) fn person(region: &Region, words: &[String], rng: &mut Rng) -> String {
    let (first, last) = (pick(&region.given, rng), pick(&region.last, rng));
    let (f, l) = (&first[..1], &last[..1]);
    let year = 1940 + rng.below(72);
    let dot = *pick(&[".", "_", "-", ""], rng);
    match rng.below(30) {
        0..=3 => format!("{first}.{last}"),
        4 | 5 => format!("{first}{dot}{last}"),
        6 | 7 => format!("{f}{last}"),
        8 => format!("{f}{dot}{last}"),
        9 => format!("{last}{f}"),
        10 => format!("{last}{dot}{first}"),
        11 => first.clone(),
        12 => last.clone(),
        13 => format!("{first}{year}"),
        14 => format!("{first}{dot}{last}{:02}", year % 100),
        15 => format!("{f}{last}{}", rng.below(1000)),
        16 => format!("{f}{dot}{l}"),
        17 => format!("{f}{}{l}", char::from(*pick(LETTERS, rng))) + &format!("{}", year % 100),
        18 => format!("{f}{}{last}", char::from(*pick(LETTERS, rng))),
        19 => nickname(first, rng),
        20 => format!("{}{}{}", pick(words, rng), pick(words, rng), rng.below(100)),
        21 => format!("{first}{dot}{}", pick(words, rng)),
        22 => format!("{first}{l}{}", rng.below(100)),
        23 => format!("{first}.{}.{last}", pick(&region.given, rng)),
        24 => pick(words, rng).clone(),
        25 => format!("{last}{year}"),
        26 => format!("{first}{dot}{l}"),
        27 => format!("{last}{dot}{f}{}", char::from(*pick(LETTERS, rng))),
        28 => format!("{first}{}", pick(&region.given, rng)),
        _ => {
            format!("{}{first}{}", pick(&["the", "mr", "mrs", "its", "iam", "dr", "miss", "real"], rng), rng.below(100))
        }
    }
}

/// Returns a local part of a person whose names are on no list: each joins the start of one name and the end of another.
pub(crate) fn stranger(region: &Region, words: &[String], rng: &mut Rng) -> String {
    let mut two = |names: &[String]| vec![crossed(names, rng), crossed(names, rng)];
    let strange = Region { given: two(&region.given), last: two(&region.last), told_apart: region.told_apart };
    person(&strange, words, rng)
}

/// Joins the start of one name to the end of another that continues from the same one or two letters.
fn crossed(names: &[String], rng: &mut Rng) -> String {
    const TRIED: usize = 200;
    let (first, joint) = (pick(names, rng), 1 + rng.below(2));
    if first.len() <= joint {
        return first.clone();
    }
    let head = &first[..joint + rng.below(first.len() - joint)];
    let start = rng.below(names.len());
    for at in 0..names.len().min(TRIED) {
        let other = &names[(start + at) % names.len()];
        let tail = other.split_once(&head[head.len() - joint..]).map_or("", |(_, tail)| tail);
        if other != first && !tail.is_empty() && head.len() + tail.len() < 20 {
            return format!("{head}{tail}");
        }
    }
    first.clone()
}

/// Returns the first syllables of a name, with a suffix.
fn nickname(name: &str, rng: &mut Rng) -> String {
    let vowel = name.bytes().skip(1).position(|b| VOWELS.contains(&b)).map_or(name.len(), |at| at + 2);
    let stem = &name[..(vowel + 1).min(name.len())];
    let end = *pick(&["y", "ie", "i", "o", "a", "ster", "inho", "ek", "chen", "ka", "", "xx"], rng);
    format!("{stem}{end}{}", if rng.below(2) == 0 { String::new() } else { format!("{}", rng.below(100)) })
}

/// Returns `count` people, from each region in turn, with the region's name.
pub(crate) fn people<'n>(names: &'n Names, words: &[String], count: usize, rng: &mut Rng) -> Vec<(&'n str, String)> {
    let regions: Vec<_> = names.0.iter().collect();
    (0..count)
        .map(|n| {
            let (name, region) = regions[n % regions.len()];
            (name.as_str(), person(region, words, rng))
        })
        .collect()
}
