//! A reply's text as plain words, the only form in which phrases are looked for.
//!
//! Lower case; accents folded; all punctuation is one blank, apart from dots inside words (`5.1.1`, `spamhaus.org`);
//! apostrophes vanish (`doesn't` is `doesnt`, but `l'adresse` is `l adresse`); `e-mail` is `email`. The text starts and ends with a blank, so that a phrase with
//! blanks at its ends is found as whole words only. Addresses become [`ADDRESS`], and of a URL only the host and the
//! value of a `p=` parameter stay (Google names its reason there): a path like `/help_spam.htm` says nothing.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::smtp::reply::Enhanced;

/// Stands for any mail address. No server can send it, since control characters are dropped.
pub(super) const ADDRESS: u8 = 0x01;

/// The plain words of a text.
pub(super) fn plain(text: &str) -> Vec<u8> {
    let mut words = Vec::with_capacity(text.len() + 2);
    words.push(b' ');
    if text.is_ascii() {
        push_text(text, &mut words);
    } else {
        push_text(&fold(text), &mut words);
    }
    words
}

/// Takes accents off and turns typographic marks into plain ones.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.nfd() {
        match c {
            'ł' | 'Ł' => folded.push('l'),
            'ø' | 'Ø' => folded.push('o'),
            'ß' => folded.push_str("ss"),
            '\u{2018}' | '\u{2019}' | '\u{00b4}' => folded.push('\''),
            c if is_combining_mark(c) => {}
            c if c.is_ascii() => folded.push(c),
            c if c.is_alphanumeric() => folded.extend(c.to_lowercase()),
            _ => folded.push(' '),
        }
    }
    folded
}

/// Whether a byte ends a token: a piece of text that is judged to be an address, a URL or words.
fn ends_token(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b',' | b';')
}

fn push_text(text: &str, words: &mut Vec<u8>) {
    for token in text.as_bytes().split(|byte| ends_token(*byte)).filter(|token| !token.is_empty()) {
        push_token(token, words);
        end_word(words);
    }
}

fn push_token(token: &[u8], words: &mut Vec<u8>) {
    let (mut at, mut slash) = (false, None);
    for (index, byte) in token.iter().enumerate() {
        match byte {
            b'@' => at = true,
            b'/' if slash.is_none() => slash = Some(index),
            _ => {}
        }
    }
    if let Some(slash) = slash {
        let (before, after) = token.split_at(slash);
        if after.starts_with(b"//") && before.ends_with(b":") {
            push_url(&after[2..], words);
            return;
        }
        if is_host(before) {
            push_url(token, words);
            return;
        }
    }
    if at && token.len() > 1 {
        words.push(ADDRESS);
    } else {
        push_words(token, words);
    }
}

/// Whether bytes look like a host name: a letter, and a dot between letters or digits.
fn is_host(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.windows(3).any(|w| w[1] == b'.' && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric())
}

/// Of a URL without its scheme: the host and the value of a parameter called `p`.
fn push_url(url: &[u8], words: &mut Vec<u8>) {
    let end = url.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(url.len());
    let (host, rest) = url.split_at(end);
    push_words(host, words);
    if let Some(start) = rest.windows(3).position(|w| w == b"?p=" || w == b"&p=") {
        end_word(words);
        let value = &rest[start + 3..];
        let end = value.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(value.len());
        push_words(&value[..end], words);
    }
}

fn push_words(token: &[u8], words: &mut Vec<u8>) {
    for (index, byte) in token.iter().enumerate() {
        let next = token.get(index + 1).copied().unwrap_or(b' ');
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | 0x80.. => words.push(*byte),
            b'A'..=b'Z' => words.push(byte.to_ascii_lowercase()),
            // An elided article (`l'utilisateur`) is a word of its own.
            b'\'' | b'`' if is_single_letter(words) => end_word(words),
            b'\'' | b'`' => {}
            b'.' if index > 0 && token[index - 1].is_ascii_alphanumeric() && next.is_ascii_alphanumeric() => {
                words.push(b'.');
            }
            b'-' if words.ends_with(b" e") => {}
            _ => end_word(words),
        }
    }
}

/// Whether the word that was begun has one letter.
fn is_single_letter(words: &[u8]) -> bool {
    matches!(words, [.., b' ', letter] if letter.is_ascii_alphabetic())
}

fn end_word(words: &mut Vec<u8>) {
    if words.last() != Some(&b' ') {
        words.push(b' ');
    }
}

/// The first enhanced status code among plain words, for servers that put it elsewhere than RFC 2034 says.
pub(super) fn enhanced(words: &[u8]) -> Option<Enhanced> {
    words.split(|byte| *byte == b' ').find_map(enhanced_word)
}

fn enhanced_word(word: &[u8]) -> Option<Enhanced> {
    let (class, rest) = match word {
        [class @ (b'2' | b'4' | b'5'), b'.', rest @ ..] => (class - b'0', rest),
        _ => return None,
    };
    let dot = rest.iter().position(|byte| *byte == b'.')?;
    Some(Enhanced { class, subject: number(&rest[..dot])?, detail: number(&rest[dot + 1..])? })
}

/// One to three digits (RFC 3463 2).
fn number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 3 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::{enhanced, plain};
    use crate::smtp::reply::Enhanced;

    fn words(text: &str) -> String {
        String::from_utf8(plain(text)).expect("words keep the encoding").replace('\u{1}', "@")
    }

    #[test]
    fn punctuation_case_and_accents_go_and_dots_inside_words_stay() {
        assert_eq!(words("User  UNKNOWN. (#5.1.1)"), " user unknown 5.1.1 ");
        assert_eq!(words("Invalid-Recipient: e-mail doesn\u{2019}t exist!"), " invalid recipient email doesnt exist ");
        assert_eq!(words("Bo\u{ee}te du destinataire archiv\u{e9}e"), " boite du destinataire archivee ");
        assert_eq!(words("L'utilisateur n'existe pas"), " l utilisateur n existe pas ");
        assert_eq!(words(""), " ");
    }

    #[test]
    fn addresses_and_paths_do_not_speak() {
        assert_eq!(words("<no.such.user@spam.example>: ok"), " @ ok ");
        assert_eq!(words("RCPT TO:<a@b> spam@x.example,"), " rcpt to @ @ ");
        assert_eq!(words("see http://mail.163.com/help/help_spam_16.htm?x=spam"), " see mail.163.com ");
        assert_eq!(words("postmaster.example.net/smtp-spam.php#1 ok"), " postmaster.example.net ok ");
        assert_eq!(
            words("https://support.google.com/mail/?p=NoSuchUser - gsmtp"),
            " support.google.com nosuchuser gsmtp "
        );
        assert_eq!(words("spam/virus"), " spam virus ");
    }

    #[test]
    fn an_enhanced_code_is_found_anywhere_but_never_in_an_address() {
        let code = |subject, detail| Some(Enhanced { class: 5, subject, detail });
        assert_eq!(enhanced(&plain("#5.1.0 Address rejected")), code(1, 0));
        assert_eq!(enhanced(&plain("no such user [5.1.1]")), code(1, 1));
        assert_eq!(enhanced(&plain("blocked 5.7.606 (AS1)")), code(7, 606));
        assert_eq!(enhanced(&plain("client 5.1.1.9 and 5.1 and 5.1.1234 and x5.1.1")), None);
    }
}
