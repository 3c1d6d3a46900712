//! Role local parts: whole words, and words joined with a part that only functions have.
//!
//! `role.txt` has the words (`info`, `no-reply`, `buchhaltung`); `role_parts.txt` has what may stand behind one
//! (`team`, `de`, `desk`). `sales-team`, `info.de` and `support2` are roles; `info.smith` is not, because neither list has
//! `smith`, nor is `i.post`, an initial with a surname. Given names are kept out of the words by the refresh command, so that
//! `dean` and `sydney` stay people.

use super::text_set::TextSet;

/// Longest local part that is looked at; RFC 5321 §4.5.3.1.1 allows 64 octets.
const LOCAL_BYTES_MAX: usize = 64;
/// Digits behind a role word that still are a number of it (`sales2`), not a year or an account.
const NUMBER_DIGITS_MAX: usize = 2;
/// Shortest word that may carry a number: `it2` and `hr1` are more often initials.
const NUMBERED_WORD_MIN: usize = 4;

/// Is this local part that of a function?
pub(super) fn is_role(words: &TextSet, parts: &TextSet, local: &str) -> bool {
    let base = local.split('+').next().unwrap_or(local);
    if base.is_empty() || base.len() > LOCAL_BYTES_MAX {
        return false;
    }
    // Sub-addressing: what stands behind `+` is the owner's note, what stands before it is the mailbox.
    let mut buffer = [0_u8; LOCAL_BYTES_MAX];
    let bytes = &mut buffer[..base.len()];
    bytes.copy_from_slice(base.as_bytes());
    bytes.make_ascii_lowercase();
    let Ok(word) = std::str::from_utf8(bytes) else {
        return false;
    };
    words.contains(word) || numbered(words, word) || joined(words, parts, word)
}

fn numbered(words: &TextSet, word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '.']);
    let digits = word.bytes().rev().take_while(u8::is_ascii_digit).count();
    (1..=NUMBER_DIGITS_MAX).contains(&digits) && stem.len() >= NUMBERED_WORD_MIN && words.contains(stem)
}

/// A role word first, and only role words or parts of roles behind it.
fn joined(words: &TextSet, parts: &TextSet, word: &str) -> bool {
    let mut tokens = word.split(['.', '-', '_']);
    let Some(first) = tokens.next() else {
        return false;
    };
    if first.len() == word.len() {
        return false;
    }
    // An initial with a surname that is also a role word (`i.post`, `press_y`) is a person; `e-post` is a word.
    let is_initial = |token: Option<&str>| token.is_some_and(|token| token.len() == 1 && !words.contains(token));
    let mut divided = word.split(['.', '_']);
    if !word.contains('-') && (is_initial(divided.next()) || is_initial(divided.next_back())) {
        return false;
    }
    let counts = |token: &str| words.contains(token) || parts.contains(token);
    // `team-sales` and `de.info`: a part may also stand first if a word follows.
    if !counts(first) {
        return false;
    }
    let mut has_word = words.contains(first);
    for token in tokens {
        if !counts(token) {
            return false;
        }
        has_word |= words.contains(token);
    }
    has_word
}
