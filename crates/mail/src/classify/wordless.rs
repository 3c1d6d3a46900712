//! Texts that say nothing but a code, or nothing but a phrase of a rule.

use super::words::{HOST, LINK};

/// What servers put before a phrase that says all.
const LEADERS: [&[u8]; 7] =
    [b" permanent failure ", b" permanent error ", b" rcpt to ", b" sorry ", b" error ", b" smtp ", b" the "];

/// Whether a text has only codes, addresses and host names. A link that explains what was done to a client needs no words either.
pub(super) fn is_wordless(words: &[u8]) -> bool {
    has_none(words, |word| word.first() != Some(&HOST) && is_word(word))
}

/// Whether a text has only codes and addresses of email besides these phrases, the longest first. A refused host name or IP address
/// is not the recipient's.
pub(super) fn is_only(words: &[u8], phrases: &[Vec<u8>]) -> bool {
    let phrases = phrases.iter().map(Vec::as_slice);
    has_none(&without(words, phrases.chain(LEADERS)), |word| is_word(word) || is_ipv4(word))
}

fn without<'p>(words: &[u8], phrases: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut words = words.to_vec();
    for phrase in phrases {
        while let Some(start) = words.windows(phrase.len()).position(|part| part == phrase) {
            words.splice(start..start + phrase.len(), [b' ']);
        }
    }
    words
}

fn has_none(words: &[u8], is_one: impl Fn(&[u8]) -> bool) -> bool {
    !words.split(|byte| *byte == b' ').any(is_one)
}

fn is_word(word: &[u8]) -> bool {
    word.iter().any(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80 || *byte == LINK)
}

fn is_ipv4(word: &[u8]) -> bool {
    word.split(|byte| *byte == b'.').count() == 4
}

#[cfg(test)]
mod tests {
    use super::{is_only, is_wordless};
    use crate::classify::words::plain;

    #[test]
    fn codes_addresses_and_names_are_no_words_but_a_link_about_a_client_is() {
        assert!(is_wordless(&plain("5.1.1 <a@b> https://example.com/why?id=x")) && !is_wordless(&plain("5.1.1 x")));
        assert!(!is_wordless(&plain("Error")));
        assert!(!is_wordless(&plain("5.1.1 https://x.example/why?ip=192.0.2.1")));
    }

    #[test]
    fn a_phrase_stands_alone_with_what_servers_put_before_it() {
        let only = |text| is_only(&plain(text), &[b" bad address ".to_vec(), b" bad ".to_vec()]);
        assert!(only("Sorry, bad address <a@b>") && only("bad: 5.1.1") && !only("address: bad"));
        assert!(!only("bad address 192.0.2.1") && !only("bad address mx.example"));
    }
}
