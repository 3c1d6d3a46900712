//! How likely one name is a slip of another: an edit distance with the prices of real slips.
//!
//! The distance is the restricted Damerau-Levenshtein one (a swap of neighbours is one edit) on bytes. A doubled letter
//! is cheaper than a strange one, a neighbouring key cheaper than a far one. Prices are whole numbers, hundredths of one
//! ordinary edit, so that equal slips compare equal on every machine.

/// Longest name that is compared; a label has at most 63 bytes.
pub(super) const NAME_BYTES_MAX: usize = 63;
/// No slip: too far apart, or not comparable.
pub(super) const FAR: u32 = 10_000;

const FAR_KEY: u32 = 100;
const NEAR_KEY: u32 = 70;
const MISSING: u32 = 80;
const MISSING_DOUBLE: u32 = 50;
const EXTRA: u32 = 100;
const EXTRA_NEAR: u32 = 70;
const EXTRA_DOUBLE: u32 = 50;
const SWAP: u32 = 70;
/// All letters are there, in another order, the first one in place.
pub(super) const SHUFFLED: u32 = 120;

/// Names up to this length have real neighbours: another first letter makes another name (`qmail`, `pcloud`, `jive`).
pub(super) const SHORT_NAME_LETTERS_MAX: usize = 6;
/// What a strange beginning adds to the price of a longer name.
const STRANGE_BEGINNING: u32 = 70;
/// The highest price of one edit of any kind.
pub(super) const ONE_EDIT: u32 = 100;

const ROWS: [&[u8]; 4] = [b"1234567890", b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];

/// Price of reading `typed` as `meant`; [`FAR`] when a name is too long.
pub(super) fn slip(typed: &[u8], meant: &[u8]) -> u32 {
    if typed.len() > NAME_BYTES_MAX || meant.len() > NAME_BYTES_MAX {
        return FAR;
    }
    let edits = edits(typed, meant);
    if edits > SHUFFLED && typed.first() == meant.first() && same_letters(typed, meant) {
        return SHUFFLED;
    }
    edits
}

/// Price of reading one registered name as another: people begin a name right, or miss the first key by one.
pub(super) fn slip_of_name(typed: &[u8], meant: &[u8]) -> u32 {
    let price = slip(typed, meant);
    if begins_alike(typed, meant) {
        price
    } else if meant.len() <= SHORT_NAME_LETTERS_MAX {
        FAR
    } else {
        price.saturating_add(STRANGE_BEGINNING)
    }
}

/// The first letter is right, a key beside it, missing, or swapped with the second.
fn begins_alike(typed: &[u8], meant: &[u8]) -> bool {
    let (Some(&first), Some(&right)) = (typed.first(), meant.first()) else {
        return typed == meant;
    };
    first == right || near(first, right) || meant.get(1) == Some(&first)
}

fn edits(typed: &[u8], meant: &[u8]) -> u32 {
    let mut before = [0_u32; NAME_BYTES_MAX + 1];
    let mut above = [0_u32; NAME_BYTES_MAX + 1];
    let mut row = [0_u32; NAME_BYTES_MAX + 1];
    for j in 0..meant.len() {
        above[j + 1] = above[j] + missing(meant, j);
    }
    for i in 0..typed.len() {
        row[0] = above[0] + extra(typed, i);
        for j in 0..meant.len() {
            let mut best = above[j] + substitution(typed[i], meant[j]);
            best = best.min(above[j + 1] + extra(typed, i));
            best = best.min(row[j] + missing(meant, j));
            if i > 0 && j > 0 && typed[i] == meant[j - 1] && typed[i - 1] == meant[j] && typed[i] != typed[i - 1] {
                best = best.min(before[j - 1] + SWAP);
            }
            row[j + 1] = best;
        }
        before = above;
        above = row;
    }
    above[meant.len()]
}

fn substitution(typed: u8, meant: u8) -> u32 {
    if typed == meant {
        0
    } else if near(typed, meant) {
        NEAR_KEY
    } else {
        FAR_KEY
    }
}

/// A letter of `meant` that was not typed.
fn missing(meant: &[u8], j: usize) -> u32 {
    let doubled = (j > 0 && meant[j - 1] == meant[j]) || meant.get(j + 1) == Some(&meant[j]);
    if doubled { MISSING_DOUBLE } else { MISSING }
}

/// A letter of `typed` that was not meant.
fn extra(typed: &[u8], i: usize) -> u32 {
    let mut neighbours = [i.checked_sub(1), Some(i + 1)].into_iter().flatten().filter_map(|n| typed.get(n));
    if neighbours.clone().any(|&other| other == typed[i]) {
        EXTRA_DOUBLE
    } else if neighbours.any(|&other| near(other, typed[i])) {
        EXTRA_NEAR
    } else {
        EXTRA
    }
}

/// Do two keys touch on a QWERTY keyboard (the same row, or the row above or below, half a key apart)?
pub(crate) fn near(a: u8, b: u8) -> bool {
    NEIGHBOURS[usize::from(a)] & (1 << position(b)) != 0
}

/// Bit of a key in a row of [`NEIGHBOURS`]; other signs share a bit that is never set.
fn position(key: u8) -> u8 {
    POSITIONS[usize::from(key)]
}

const NO_KEY: u8 = 63;
const POSITIONS: [u8; 256] = positions();
const NEIGHBOURS: [u64; 256] = neighbours();

const fn positions() -> [u8; 256] {
    let mut table = [NO_KEY; 256];
    let mut next = 0;
    let mut row = 0;
    while row < ROWS.len() {
        let mut at = 0;
        while at < ROWS[row].len() {
            table[ROWS[row][at] as usize] = next;
            next += 1;
            at += 1;
        }
        row += 1;
    }
    table
}

/// For each key the keys that touch it, as bits of [`POSITIONS`].
const fn neighbours() -> [u64; 256] {
    let positions = positions();
    let mut table = [0; 256];
    let mut row = 0;
    while row < ROWS.len() {
        let mut at = 0;
        while at < ROWS[row].len() {
            let key = ROWS[row][at];
            if at + 1 < ROWS[row].len() {
                let right = ROWS[row][at + 1];
                table[key as usize] |= 1 << positions[right as usize];
                table[right as usize] |= 1 << positions[key as usize];
            }
            // A lower row stands half a key to the right: s touches w and e above it.
            let mut above = at;
            while row > 0 && above <= at + 1 {
                if above < ROWS[row - 1].len() {
                    let upper = ROWS[row - 1][above];
                    table[key as usize] |= 1 << positions[upper as usize];
                    table[upper as usize] |= 1 << positions[key as usize];
                }
                above += 1;
            }
            at += 1;
        }
        row += 1;
    }
    table
}

fn same_letters(a: &[u8], b: &[u8]) -> bool {
    let mut counts = [0_i32; 256];
    for &byte in a {
        counts[usize::from(byte)] += 1;
    }
    for &byte in b {
        counts[usize::from(byte)] -= 1;
    }
    counts.iter().all(|&count| count == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn likely_slips_are_cheaper() {
        for (cheap, dear) in [("gmaill", "gmailx"), ("gnail", "gqail"), ("gmial", "gmqql"), ("yaho", "yaoo")] {
            let meant = if cheap.starts_with('y') { "yahoo" } else { "gmail" };
            let (a, b) = (slip(cheap.as_bytes(), meant.as_bytes()), slip(dear.as_bytes(), meant.as_bytes()));
            assert!(a < b, "{cheap} {a}, {dear} {b}");
        }
        assert_eq!(slip(b"htomali", b"hotmail"), SHUFFLED);
    }

    #[test]
    fn another_first_letter_makes_another_short_name() {
        for (typed, meant, price) in [
            (&b"gmial"[..], &b"gmail"[..], SWAP),
            (b"hmail", b"gmail", NEAR_KEY),
            (b"ahoo", b"yahoo", MISSING),
            (b"mgail", b"gmail", SWAP),
            (b"ggmail", b"gmail", EXTRA_DOUBLE),
            (b"qmail", b"gmail", FAR),
            (b"pcloud", b"icloud", FAR),
            (b"hicloud", b"icloud", FAR),
            (b"aotmail", b"hotmail", FAR_KEY + STRANGE_BEGINNING),
            (b"", b"gmail", FAR),
        ] {
            assert_eq!(slip_of_name(typed, meant), price, "{typed:?}");
        }
    }

    #[test]
    fn keys_that_touch() {
        for (a, b) in [(b'a', b's'), (b's', b'w'), (b's', b'e'), (b's', b'z'), (b's', b'x'), (b'o', b'0'), (b'n', b'h')]
        {
            assert!(near(a, b) && near(b, a), "{} {}", char::from(a), char::from(b));
        }
        for (a, b) in [(b'a', b'd'), (b's', b'q'), (b'g', b'm'), (b'a', b'a'), (b'a', b'-')] {
            assert!(!near(a, b) && !near(b, a), "{} {}", char::from(a), char::from(b));
        }
    }

    proptest! {
        #[test]
        fn one_edit_costs_at_most_one_and_nothing_costs_nothing(name in "[a-z]{1,20}", at in 0_usize..20, letter in "[a-z]") {
            let at = at % name.len();
            let mut edited = name.clone();
            edited.insert_str(at, &letter);
            prop_assert!(slip(edited.as_bytes(), name.as_bytes()) <= EXTRA);
            prop_assert!(slip(name.as_bytes(), edited.as_bytes()) <= MISSING);
            prop_assert_eq!(slip(name.as_bytes(), name.as_bytes()), 0);
        }

        #[test]
        fn the_price_is_bounded_by_plain_edits(a in "[a-z0-9-]{0,20}", b in "[a-z0-9-]{0,20}") {
            let plain = u32::try_from(strsim::osa_distance(&a, &b)).unwrap();
            let price = slip(a.as_bytes(), b.as_bytes());
            prop_assert!(price <= plain * 100 && price >= (plain * 50).min(SHUFFLED));
        }
    }
}
