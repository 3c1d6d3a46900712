//! Corrects misspelled key words: `recipent unkown`, `mailbox exceded`, `useraccount unknown`.
//!
//! Rules first read a text as it is. If none fits, or one that makes the address undeliverable, they read it again with all
//! misspellings corrected, because `sendr` and `blaklisted` are words about us. A word of any phrase is never corrected. The first
//! letter and a verb's ending must be right: `available` is not `unavailable`, `disables` is not `disabled`.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, DefaultHasher},
};

use super::words::is_separator;

/// Shorter words are too close to each other.
const LETTERS_MIN: usize = 4;
/// Of shorter key words, only a swap of two letters or one letter too many counts as a misspelling: `fund` is not `found`.
const LETTERS_ONE: usize = 6;
/// Key words of this length or longer may have two wrong letters.
const LETTERS_TWO: usize = 9;
/// Longer words are not corrected.
const LETTERS_MAX: usize = 24;
/// More words are not written as one.
const PARTS_MAX: usize = 3;

/// The key words, and all words that are right as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Spelling {
    keys: Vec<Vec<u8>>,
    /// Every word of a text is looked up.
    known: HashSet<Box<[u8]>, BuildHasherDefault<DefaultHasher>>,
}

impl Spelling {
    /// `known` are the pieces of all phrases.
    pub(super) fn new<'p>(keys: &[String], known: impl Iterator<Item = &'p [u8]>) -> Self {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        let words = known.flat_map(|piece| piece.split(|byte| *byte == b' ')).filter(|word| !word.is_empty());
        let own = keys.iter().map(|key| Box::<[u8]>::from(&key[..]));
        let known = words.map(Box::<[u8]>::from).chain(own).collect();
        Self { keys, known }
    }

    /// The marked words with every misspelling corrected; `None` if there is none.
    pub(super) fn corrected(&self, words: &[u8]) -> Option<Vec<u8>> {
        let mut corrected = Vec::with_capacity(words.len() + 8);
        let mut slips = false;
        let mut end = 0;
        for (index, word) in words.split(|byte| is_separator(*byte)).enumerate() {
            if index > 0 {
                corrected.push(words[end]);
                end += 1;
            }
            end += word.len();
            let is_word = word.iter().all(u8::is_ascii_lowercase) && !self.known.contains(word);
            let meant =
                if is_word { self.meant_by(word).map(<[u8]>::to_vec).or_else(|| self.parts(word)) } else { None };
            slips |= meant.is_some();
            corrected.extend_from_slice(meant.as_deref().unwrap_or(word));
        }
        slips.then_some(corrected)
    }

    /// The words that are written as one, a key word among them: `user account` of `useraccount`.
    fn parts(&self, word: &[u8]) -> Option<Vec<u8>> {
        if word.len() > LETTERS_MAX {
            return None;
        }
        let parts = self.joined(word, PARTS_MAX)?;
        parts.iter().any(|part| self.keys.iter().any(|key| key == part)).then(|| parts.join(&b' '))
    }

    fn joined<'w>(&self, word: &'w [u8], parts_max: usize) -> Option<Vec<&'w [u8]>> {
        if self.is_part(word) {
            return Some(vec![word]);
        }
        let ends = (parts_max > 1).then_some(1..word.len()).into_iter().flatten().rev();
        ends.filter(|end| self.is_part(&word[..*end])).find_map(|end| {
            let rest = self.joined(&word[end..], parts_max - 1)?;
            Some([&[&word[..end]], &rest[..]].concat())
        })
    }

    fn is_part(&self, word: &[u8]) -> bool {
        (word.len() >= LETTERS_MIN && self.known.contains(word)) || matches!(word, b"no" | b"not")
    }

    fn meant_by(&self, word: &[u8]) -> Option<&[u8]> {
        if !(LETTERS_MIN..=LETTERS_MAX).contains(&word.len()) {
            return None;
        }
        let near = self.keys.iter().filter(|key| key.len() >= LETTERS_MIN && key.first() == word.first());
        let near = near.filter(|key| !is_another_form(word, key) && (key.len() >= LETTERS_ONE || is_padded(word, key)));
        let near = near.filter_map(|key| {
            let slips = distance(word, key);
            (slips <= allowed(key)).then_some((slips, key))
        });
        near.min_by_key(|(slips, _)| *slips).map(|(_, key)| &key[..])
    }
}

/// Whether a word is another form of a verb: `expires` and `activating` of `expired` and `activated`.
fn is_another_form(word: &[u8], key: &[u8]) -> bool {
    let stem =
        |text: &[u8], endings: &[&[u8]]| endings.iter().find_map(|end| text.strip_suffix(*end).map(<[u8]>::to_vec));
    let active = stem(word, &[b"ing", b"es", b"s"]);
    active.is_some_and(|active| stem(key, &[b"ed"]).is_some_and(|passive| active == passive))
}

/// Whether a word has every letter of a key word.
fn is_padded(word: &[u8], key: &[u8]) -> bool {
    let mut letters = word.to_vec();
    let mut take =
        |letter: &u8| letters.iter().position(|other| other == letter).map(|index| letters.swap_remove(index));
    key.iter().all(|letter| take(letter).is_some())
}

fn allowed(key: &[u8]) -> usize {
    if key.len() >= LETTERS_TWO { 2 } else { 1 }
}

/// Letters of the longest key word that a word can be a misspelling of.
const KEY_LETTERS_MAX: usize = LETTERS_MAX + 2;

/// Number of missing, surplus and wrong letters and of swaps of two neighbors.
fn distance(word: &[u8], key: &[u8]) -> usize {
    if word.len().abs_diff(key.len()) > 2 || key.len() > KEY_LETTERS_MAX {
        return usize::MAX;
    }
    let mut before = [0; KEY_LETTERS_MAX + 1];
    let mut last: [usize; KEY_LETTERS_MAX + 1] = std::array::from_fn(|column| column);
    for (row, letter) in word.iter().enumerate() {
        let mut line = [row + 1; KEY_LETTERS_MAX + 1];
        for (column, other) in key.iter().enumerate() {
            let swapped = row > 0 && column > 0 && word[row - 1] == *other && key[column - 1] == *letter;
            let replaced = last[column] + usize::from(letter != other);
            let best = replaced.min(last[column + 1] + 1).min(line[column] + 1);
            line[column + 1] = if swapped { best.min(before[column - 1] + 1) } else { best };
        }
        (before, last) = (last, line);
    }
    last[key.len()]
}

#[cfg(test)]
mod tests {
    use super::{Spelling, distance};

    #[test]
    fn slips_are_counted() {
        for (word, key, slips) in [
            ("unknown", "unknown", 0),
            ("unkown", "unknown", 1),
            ("unknwon", "unknown", 1),
            ("recipent", "recipient", 1),
            ("reciepient", "recipient", 1),
            ("deactived", "deactivated", 2),
            ("interactive", "inactive", usize::MAX),
        ] {
            assert_eq!(distance(word.as_bytes(), key.as_bytes()), slips, "{word}");
        }
    }

    #[test]
    fn misspelled_key_words_are_corrected_and_other_words_are_not() {
        let keys = ["recipient", "unknown", "disabled", "unavailable", "expired", "found", "such"].map(str::to_owned);
        let known: [&[u8]; 2] = [b" available ", b" user disables "];
        let spelling = Spelling::new(&keys, known.into_iter());
        let corrected = |text: &str| {
            spelling.corrected(text.as_bytes()).map(|words| String::from_utf8(words).expect("ASCII words"))
        };
        assert_eq!(corrected(" recipent unkown "), Some(" recipient unknown ".to_owned()));
        assert_eq!(corrected(" user disbaled "), Some(" user disabled ".to_owned()));
        assert_eq!(corrected(" no scuh user fonud "), Some(" no such user found ".to_owned()));
        assert_eq!(corrected(" not foound "), Some(" not found ".to_owned()));
        assert_eq!(corrected(" recipientunknown "), Some(" recipient unknown ".to_owned()));
        assert_eq!(corrected(" recipientnotfound "), Some(" recipient not found ".to_owned()));
        for right in [
            " fund mound fond ",
            " much sash ",
            " user disabling it ",
            " mailbox available ",
            " user disables it ",
            " recipient unknown ",
            " knonw ",
            " user1 ",
            " userdisables ",
            " recipients0unknown ",
            " foundfoundfoundfound ",
            "",
        ] {
            assert_eq!(corrected(right), None, "{right}");
        }
    }
}
