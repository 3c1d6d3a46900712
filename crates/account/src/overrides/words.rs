//! An organization's words, and how they are looked for in local parts.
//!
//! Words and local parts are compared in a folded form: compatibility characters decomposed (full-width letters, ligatures),
//! case taken off, and composed again, so that `ＣＡＳＩＮＯ`, `Casino` and `casino` are one word and so are `straße` and
//! `STRASSE`. Accents stay: `cafe` is not `café`.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use unicode_normalization::UnicodeNormalization;

/// From how many characters on a word is found within others. Shorter ones stand in too many innocent words.
const INSIDE_CHARS_MIN: usize = 5;
/// Digits behind a role word that still are a number of it, as in `frontdesk2`.
const NUMBER_DIGITS_MAX: usize = 2;

/// The form in which texts are compared. Character by character, so that no form depends on a neighbour (as the final sigma
/// of a whole text in lower case does); by way of upper case, because `ß` and `ς` have their equals only there.
pub(crate) fn folded(text: &str) -> String {
    let upper = text.nfkd().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).nfkc().collect()
}

fn folded_words(words: &[String]) -> BTreeSet<String> {
    words.iter().map(|word| folded(word.trim())).filter(|word| !word.is_empty()).collect()
}

/// Looks for all of the words at once; `None` without words. Contiguous: a few megabytes for thousands of words, whatever letters
/// they have.
pub(crate) fn patterns(words: &BTreeSet<String>) -> Option<AhoCorasick> {
    (!words.is_empty()).then(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words)
            .expect("words are few and short")
    })
}

/// Words that no local part shall carry.
#[derive(Debug)]
pub(super) struct BannedWords {
    /// None where there are no words.
    patterns: Option<AhoCorasick>,
    /// Whether the word of a pattern is found within others.
    inside: Vec<bool>,
}

impl BannedWords {
    pub(super) fn new(words: &[String]) -> Self {
        let words = folded_words(words);
        let inside = words.iter().map(|word| word.chars().count() >= INSIDE_CHARS_MIN).collect();
        Self { patterns: patterns(&words), inside }
    }

    /// Whether a local part carries one of the words.
    pub(super) fn are_in(&self, local: &str) -> bool {
        let Some(patterns) = &self.patterns else { return false };
        let local = folded(local);
        // Overlapping: a short word that does not count here must not hide a longer one that does.
        patterns.find_overlapping_iter(&local).any(|found| {
            self.inside[found.pattern().as_usize()]
                || (is_border(&local, found.start()) && is_border(&local, found.end()))
        })
    }
}

/// Whether a word begins or ends at this place: an end of the text, beside a sign, or between a letter and a digit.
fn is_border(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let (Some(before), Some(after)) = (before.chars().next_back(), after.chars().next()) else { return true };
    match (WordKind::of(before), WordKind::of(after)) {
        (WordKind::Sign, _) | (_, WordKind::Sign) => true,
        (before, after) => before != after,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// Also a mark upon a letter, which belongs to it.
    Letter,
    Digit,
    Sign,
}

impl WordKind {
    fn of(c: char) -> Self {
        if c.is_numeric() {
            Self::Digit
        } else if c.is_alphabetic() || unicode_normalization::char::is_combining_mark(c) {
            Self::Letter
        } else {
            Self::Sign
        }
    }
}

/// Local parts that are those of functions.
#[derive(Debug)]
pub(super) struct RoleWords(BTreeSet<String>);

impl RoleWords {
    pub(super) fn new(words: &[String]) -> Self {
        Self(folded_words(words))
    }

    /// Whether one of the words is the mailbox that a local part names: what stands behind `+` is its owner's note.
    pub(super) fn name(&self, local: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let local = folded(local);
        let mailbox = local.split('+').next().unwrap_or_default();
        let stem = mailbox.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_numbered = (1..=NUMBER_DIGITS_MAX).contains(&(mailbox.len() - stem.len()));
        self.0.contains(mailbox) || (is_numbered && self.0.contains(stem.trim_end_matches(['-', '_', '.'])))
    }
}
