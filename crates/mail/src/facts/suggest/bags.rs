//! The deletion neighbourhood: which known names are at most a few letters away from a typed one.
//!
//! A name's key is the sum of one random number per letter, so the order of letters does not matter (swaps are free) and
//! taking a letter away is one subtraction. Every known name is filed under its key and under the keys with one and two
//! letters taken away; a typed name is looked up the same way. A small bit map answers nearly all of these look-ups, so
//! that a name unlike all known ones costs some dozens of bit tests and no comparison.

/// Letters taken away from either side at most.
const DELETIONS_MAX: usize = 2;
/// Names longer than this are no slip of a known one (the longest known name has 16 letters).
const NAME_BYTES_MAX: usize = 20;
/// Names with fewer letters lose at most one.
const TWO_DELETIONS_FROM: usize = 4;
const FILTER_BITS: usize = 1 << 18;

/// An index from bags of letters to the numbers of names.
#[derive(Debug)]
pub(super) struct Bags {
    entries: Box<[(u64, u32)]>,
    filter: Box<[u64]>,
}

impl Bags {
    /// Files names under their numbers.
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut entries = Vec::new();
        for (number, name) in (0_u32..).zip(names) {
            neighbourhood(name.as_bytes(), |key| entries.push((key, number)));
        }
        entries.sort_unstable();
        entries.dedup();
        let mut filter = vec![0_u64; FILTER_BITS / 64].into_boxed_slice();
        for &(key, _) in &entries {
            let bit = bit(key);
            filter[bit / 64] |= 1 << (bit % 64);
        }
        Self { entries: entries.into_boxed_slice(), filter }
    }

    /// The numbers of the names that may be near, in order; one may come twice.
    pub(super) fn near(&self, typed: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        if typed.len() > NAME_BYTES_MAX {
            return found;
        }
        neighbourhood(typed, |key| {
            let bit = bit(key);
            if self.filter[bit / 64] & (1 << (bit % 64)) != 0 {
                let start = self.entries.partition_point(|entry| entry.0 < key);
                found.extend(self.entries[start..].iter().take_while(|entry| entry.0 == key).map(|entry| entry.1));
            }
        });
        found.sort_unstable();
        found
    }
}

fn neighbourhood(name: &[u8], mut key: impl FnMut(u64)) {
    let whole = name.iter().fold(0_u64, |sum, &byte| sum.wrapping_add(number_of(byte)));
    key(whole);
    for (i, &first) in name.iter().enumerate() {
        // The same letter twice gives the same bag.
        if name[..i].contains(&first) {
            continue;
        }
        let one = whole.wrapping_sub(number_of(first));
        key(one);
        if name.len() < TWO_DELETIONS_FROM || DELETIONS_MAX < 2 {
            continue;
        }
        for &second in &name[i + 1..] {
            key(one.wrapping_sub(number_of(second)));
        }
    }
}

/// A fixed random-looking number for a letter (one step of `SplitMix64`).
const fn number(byte: usize) -> u64 {
    let mut z = (byte as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const NUMBERS: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = number(byte);
        byte += 1;
    }
    table
};

fn number_of(byte: u8) -> u64 {
    NUMBERS[usize::from(byte)]
}

fn bit(key: u64) -> usize {
    usize::try_from(key >> 46).unwrap_or(0) % FILTER_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(names: &[&str], typed: &str) -> Vec<u32> {
        let mut found = Bags::new(names.iter().copied()).near(typed.as_bytes());
        found.dedup();
        found
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["gmail", "hotmail", "yahoo"];
        for typed in ["gmail", "gmial", "gmal", "gml", "gmaill", "gnail", "gmaxyl", "liamg"] {
            assert!(near(&names, typed).contains(&0), "{typed}");
        }
        assert_eq!(near(&names, "yhoo"), [2]);
        for typed in ["", "example", "acme-widgets", "a-very-long-name-indeed-of-a-shop"] {
            assert!(near(&names, typed).is_empty(), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn two_edits_never_lose_a_name(name in "[a-z]{5,16}", first in 0_usize..16, second in 0_usize..16, letter in "[a-z]") {
            let mut typed = name.clone();
            typed.remove(first % typed.len());
            typed.insert_str(second % typed.len(), &letter);
            prop_assert_eq!(near(&[name.as_str()], &typed), vec![0]);
        }
    }
}
