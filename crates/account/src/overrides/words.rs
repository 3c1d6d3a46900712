//! Words of an organization, and their search in local parts.
//!
//! Words and local parts are compared in folded form: compatibility characters are decomposed (full-width letters, ligatures),
//! letter case is removed, and the result is composed again. So `ＣＡＳＩＮＯ`, `Casino` and `casino` are one word, and so are `straße`
//! and `STRASSE`. Accents stay: `cafe` is not `café`.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use unicode_normalization::UnicodeNormalization;

/// Minimum length of a word that also matches within others. Shorter ones occur in too many harmless words.
const INSIDE_CHARS_MIN: usize = 5;
/// Maximum number of digits after a role word, as in `frontdesk2`.
const NUMBER_DIGITS_MAX: usize = 2;

/// Returns the form in which texts are compared. Folded character by character, so that no form depends on its neighbors (the
/// final sigma does in lower case); by way of upper case, because `ß` and `ς` have their equals only there.
pub(crate) fn folded(text: &str) -> String {
    let upper = text.nfkd().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).nfkc().collect()
}

fn folded_words(words: &[String]) -> BTreeSet<String> {
    words.iter().map(|word| folded(word.trim())).filter(|word| !word.is_empty()).collect()
}

/// Builds a search for all words at once; `None` without words. The contiguous form takes a few megabytes for thousands of words
/// in any script.
pub(crate) fn patterns(words: &BTreeSet<String>) -> Option<AhoCorasick> {
    (!words.is_empty()).then(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words)
            .expect("words are few and short")
    })
}

/// Banned words of an organization.
#[derive(Debug)]
pub(super) struct BannedWords {
    /// `None` if there are no words.
    patterns: Option<AhoCorasick>,
    /// For each pattern, whether the word also matches within others.
    inside: Vec<bool>,
}

impl BannedWords {
    pub(super) fn new(words: &[String]) -> Self {
        let words = folded_words(words);
        let inside = words.iter().map(|word| word.chars().count() >= INSIDE_CHARS_MIN).collect();
        Self { patterns: patterns(&words), inside }
    }

    /// Returns whether a local part contains one of the words.
    pub(super) fn are_in(&self, local: &str) -> bool {
        let Some(patterns) = &self.patterns else { return false };
        let local = folded(local);
        // Overlapping: a short word that does not match here must not hide a longer one that does.
        patterns.find_overlapping_iter(&local).any(|found| {
            self.inside[found.pattern().as_usize()]
                || (is_border(&local, found.start()) && is_border(&local, found.end()))
        })
    }
}

/// Returns whether a word can begin or end here: at an end of the text, beside a sign, or between a letter and a digit.
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
    /// A letter, or a combining mark on one.
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

/// Local parts of roles.
#[derive(Debug)]
pub(super) struct RoleWords(BTreeSet<String>);

impl RoleWords {
    pub(super) fn new(words: &[String]) -> Self {
        Self(folded_words(words))
    }

    /// Returns whether one of the words is the mailbox of a local part: text after `+` is a note of its owner.
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
