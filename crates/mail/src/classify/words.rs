//! Plain words of a reply's text, the form in which phrases are found.
//!
//! Words are lower case, without accents, each with one blank behind it. Punctuation becomes a blank, except dots inside words
//! (`5.1.1`). Apostrophes are dropped (`doesn't` is `doesnt`, but `l'adresse` is `l adresse`), and `e-mail` is `email`. Names decide
//! nothing: what names somebody or something is one word that begins with a mark below, so that the host `blacklist.hoster.example`
//! and the mailbox `spam.unknown@` are no words about us. Of a URL, the value of a `p=` parameter stays (Google's reason).

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::parties::{DialogParties, NamedParties, Party, ip_addresses};
use crate::domain::public_top_level;
use crate::smtp::reply::Enhanced;

// A server can't send the marks, because control characters are dropped.

/// Mark of any email address but ours, and of the recipient's local part.
pub(super) const ADDRESS: u8 = 0x01;
/// Mark of our MAIL FROM.
pub(super) const OUR_ADDRESS: u8 = 0x02;
/// Mark of our HELO name, domain or IP address.
pub(super) const CLIENT: u8 = 0x03;
/// Mark before the name of a host.
pub(super) const HOST: u8 = 0x04;
/// Mark before the number of a report, session or server: letters with digits.
pub(super) const NUMBER: u8 = 0x05;
/// Mark of a URL with an IP address or a word of [`CLIENT_PAGES`], which explains what was done to a client. Reports of bounces do not
/// know whose address it is.
pub(super) const LINK: u8 = 0x06;

/// Top-level domains that are not in the DNS.
const PRIVATE_TOP_LEVELS: [&str; 7] = ["example", "test", "invalid", "local", "localdomain", "lan", "internal"];

/// What addresses of pages about refused clients have.
const CLIENT_PAGES: [&str; 10] =
    ["block", "blacklist", "rbl", "spf", "dkim", "ptr", "rdns", "reverse", "reputation", "spam"];

/// Names of HTML tags, which are no words.
const TAGS: [&str; 11] = ["a", "b", "br", "code", "div", "em", "i", "p", "span", "strong", "u"];

/// Last parts of hosts' names without dots: `antispam-gw`.
const HOST_PARTS: [&str; 6] = ["gw", "gateway", "mx", "mta", "smtp", "server"];

/// Phrases directly behind which a word that is the recipient's local part is a name, if it ends the text: `no such user: policy`.
const NAMED: [&str; 6] = [
    " no such user ",
    " unknown user ",
    " user not found ",
    " no such mailbox ",
    " no such recipient ",
    " invalid recipient ",
];

/// The plain words of a text, and the parties that it names.
pub(super) fn plain_between(text: &str, parties: &DialogParties<'_>) -> (Vec<u8>, NamedParties) {
    let mut reader = Reader { parties, words: vec![b' '], named: NamedParties::default() };
    if text.is_ascii() {
        reader.push_text(text);
    } else {
        reader.push_text(&fold(text));
    }
    (reader.words, reader.named)
}

/// The plain words of a text, without parties.
pub(super) fn plain(text: &str) -> Vec<u8> {
    plain_between(text, &DialogParties::default()).0
}

/// Removes accents and replaces typographic marks by plain ones.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    // Recomposed, so that a Korean syllable is one character and not three.
    for c in text.nfd().filter(|c| !is_combining_mark(*c)).nfc() {
        match c {
            'ł' | 'Ł' => folded.push('l'),
            'ø' | 'Ø' => folded.push('o'),
            'đ' | 'Đ' | 'ð' | 'Ð' => folded.push('d'),
            'ı' => folded.push('i'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            'ß' => folded.push_str("ss"),
            '\u{2018}' | '\u{2019}' | '\u{00b4}' => folded.push('\''),
            c if c.is_ascii() => folded.push(c),
            c if c.is_alphanumeric() => folded.extend(c.to_lowercase()),
            // What could not be decoded, or was cut, is a word that no phrase knows.
            '\u{fffd}' | '…' => folded.push_str(" \u{fffd} "),
            _ => folded.push(' '),
        }
    }
    folded
}

/// Whether a byte ends a token: a piece of text that is judged to be an address, a URL or words.
fn ends_token(c: char) -> bool {
    matches!(c, ' ' | '\t' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | ',' | ';')
}

struct Reader<'p> {
    parties: &'p DialogParties<'p>,
    words: Vec<u8>,
    named: NamedParties,
}

impl Reader<'_> {
    fn push_text(&mut self, text: &str) {
        let mut before = "";
        for piece in text.split_inclusive(ends_token) {
            let token = piece.trim_end_matches(ends_token);
            let is_tag = before.ends_with('<')
                && TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(token.trim_matches('/').trim()));
            if !is_tag && !token.is_empty() {
                let is_last = text.ends_with(piece);
                self.push_token(token, self.is_name(token, before, piece, is_last));
                self.end_word();
            }
            before = piece;
        }
    }

    /// Whether a token names the recipient by the local part, although it may be a word too: in angle brackets or quotes, at the end
    /// behind a phrase of [`NAMED`], or as in `user policy unknown`. Round brackets may hold a reason: `unavailable (spam)`.
    fn is_name(&self, token: &str, before: &str, piece: &str, is_last: bool) -> bool {
        let quoted = token.trim_end_matches(['.', ':', '!', '?']);
        let is_quoted = quoted.len() > 2 && quoted.starts_with('\'') && quoted.ends_with('\'');
        let is_bracketed = before.ends_with(['<', '"']) && piece.ends_with(['>', '"']);
        let is_behind = |phrase: &&str| self.words.ends_with(phrase.as_bytes());
        let is_named = if is_last { NAMED.iter().any(is_behind) } else { is_behind(&" user ") };
        (is_quoted || is_bracketed || is_named) && self.parties.is_called(token)
    }

    fn push_token(&mut self, token: &str, is_name: bool) {
        if let Some(url) = url(token) {
            return self.push_url(url);
        }
        let party = if is_name { Some(Party::Recipient) } else { self.parties.named_by(token) };
        if let Some(party) = party {
            self.named.add(party);
        }
        match party {
            Some(Party::Sender) => self.words.push(OUR_ADDRESS),
            Some(Party::Recipient | Party::Other) => self.words.push(ADDRESS),
            Some(Party::Client) => self.words.push(CLIENT),
            None if is_host(token) || self.is_first_host(token) => self.push_marked(HOST, token),
            None if is_number(token) => self.push_marked(NUMBER, token),
            None => {
                let (label, value) = token.split_at(token.rfind(['=', ':']).map_or(0, |mark| mark + 1));
                self.push_words(label);
                match value {
                    _ if label.is_empty() => self.push_words(value),
                    _ if self.parties.named_by(value) == Some(Party::Recipient) => self.push_token(value, true),
                    _ if is_host(value) => self.push_marked(HOST, value),
                    _ if is_number(value) => self.push_marked(NUMBER, value),
                    _ => {
                        self.end_word();
                        self.push_words(value);
                    }
                }
            }
        }
    }

    /// Whether a token leads the text as the name of the server, without a dot: `antispam-gw: user unknown`.
    fn is_first_host(&self, token: &str) -> bool {
        let name = token.strip_suffix(':').filter(|_| self.words.len() == 1);
        let last = name.and_then(|name| name.rsplit_once('-')).map(|(_, last)| last.to_ascii_lowercase());
        last.is_some_and(|last| HOST_PARTS.contains(&last.trim_end_matches(|c: char| c.is_ascii_digit())))
    }

    fn push_marked(&mut self, mark: u8, name: &str) {
        self.end_word();
        self.words.push(mark);
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        self.words.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
    }

    /// Of a URL: the host, the value of a parameter called `p`, and whether there is an IP address.
    fn push_url(&mut self, url: &str) {
        let (host, rest) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
        self.push_marked(HOST, host);
        if let Some(start) = rest.find("?p=").or_else(|| rest.find("&p=")) {
            self.end_word();
            let value = &rest[start + 3..];
            self.push_words(&value[..value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len())]);
        }
        let page = rest.to_ascii_lowercase();
        if ip_addresses(url).next().is_some() || CLIENT_PAGES.iter().any(|word| page.contains(word)) {
            self.end_word();
            self.words.push(LINK);
        }
    }

    fn push_words(&mut self, token: &str) {
        let bytes = token.as_bytes();
        for (index, byte) in bytes.iter().enumerate() {
            let next = bytes.get(index + 1).copied().unwrap_or(b' ');
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | 0x80.. => self.words.push(*byte),
                b'A'..=b'Z' => self.words.push(byte.to_ascii_lowercase()),
                // An elided article (`l'utilisateur`) is a word of its own.
                b'\'' | b'`' if self.is_single_letter() => self.end_word(),
                b'\'' | b'`' => {}
                b'.' if index > 0 && bytes[index - 1].is_ascii_alphanumeric() && next.is_ascii_alphanumeric() => {
                    self.words.push(b'.');
                }
                b'-' if self.words.ends_with(b"e") && self.is_single_letter() => {}
                // What a server put for the letters of another alphabet.
                b'?' if next == b'?' => self.words.push(b'?'),
                _ => self.end_word(),
            }
        }
    }

    /// Whether the current word has one letter.
    fn is_single_letter(&self) -> bool {
        matches!(self.words[..], [.., b' ', letter] if letter.is_ascii_alphabetic())
    }

    fn end_word(&mut self) {
        if self.words.last() != Some(&b' ') {
            self.words.push(b' ');
        }
    }
}

/// A URL without its scheme: `https://x.example/y` or `x.example/y`.
fn url(token: &str) -> Option<&str> {
    let slash = token.find('/')?;
    let (before, after) = token.split_at(slash);
    if before.ends_with(':') && after.starts_with("//") {
        return Some(&token[slash + 2..]);
    }
    is_host(before).then_some(token)
}

/// Whether a token is the name of a host: labels, the last of which is a top-level domain.
fn is_host(token: &str) -> bool {
    let name = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let Some((rest, last)) = name.rsplit_once('.') else { return false };
    // Two sentences without a blank between them: `mailbox full.It`.
    let is_glued = last.starts_with(|c: char| c.is_ascii_uppercase()) && !rest.contains('.');
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let last = last.to_ascii_lowercase();
    !is_glued
        && name.bytes().all(is_label)
        && (PRIVATE_TOP_LEVELS.contains(&&*last) || public_top_level(&last).is_some())
}

/// Whether a token is a number of a report or server (`IB603`, `BN1NAM02FT011`, `G8`): letters with two digits, or with one if it is
/// short or has capital letters inside. A number with a unit (`298s`), a word with a number behind it (`spam:17`, `policy_554`) and an IP
/// address are none.
fn is_number(token: &str) -> bool {
    let unit = token.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_amount = unit.len() < token.len() && unit.bytes().all(|byte| byte.is_ascii_alphabetic());
    let count = |is: fn(&u8) -> bool| token.bytes().filter(is).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let has_inner_capital = token.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let is_mixed = has_inner_capital && token.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'/' | b':');
    // Letters that a joint divides from the digits may be a word.
    let is_word = |run: &str| run.len() > 1 && run.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_one = !token.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word) || is_ofr(token);
    let is_enough = digits > 1 || digits == 1 && (is_mixed || letters < 3);
    let is_address = ip_addresses(token).next().is_some();
    letters > 0 && is_enough && is_one && !is_amount && !is_address && token.bytes().all(is_plain)
}

/// Orange's numbers: `OFR_416`.
fn is_ofr(token: &str) -> bool {
    token.strip_prefix("OFR_").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first enhanced status code among plain words, for servers that do not follow RFC 2034.
pub(super) fn enhanced(words: &[u8]) -> Option<Enhanced> {
    words.split(|byte| *byte == b' ').find_map(|word| {
        let parts: Vec<&[u8]> = word.split(|byte| *byte == b'.').collect();
        let [[class @ (b'2' | b'4' | b'5')], subject, detail] = parts[..] else { return None };
        Some(Enhanced { class: class - b'0', subject: number(subject)?, detail: number(detail)? })
    })
}

/// One to three digits (RFC 3463 2).
fn number(digits: &[u8]) -> Option<u16> {
    let is_number = (1..=3).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::{enhanced, plain};
    use crate::smtp::reply::Enhanced;

    #[test]
    fn words_are_plain_and_names_are_marked() {
        for (text, words) in [
            ("User  UNKNOWN. (#5.1.1)", "user unknown 5.1.1"),
            ("Invalid-Recipient: e-mail doesn\u{2019}t exist!", "invalid recipient email doesnt exist"),
            ("Bo\u{ee}te du destinataire archiv\u{e9}e", "boite du destinataire archivee"),
            ("L'utilisateur n'existe pas", "l utilisateur n existe pas"),
            ("<P>your account is <b>full</b><br/>", "your account is full"),
            ("<no.such.user@spam.example>: ok", "@ ok"),
            ("RCPT TO:<a@b> spam@x.example,", "rcpt to @ @"),
            ("see http://mail.163.com/help/help_spam_16.htm?x=1", "see ^mail.163.com %"),
            ("see http://hoster.example/help/16.htm?x=1", "see ^hoster.example"),
            ("https://support.google.com/mail/?p=NoSuchUser - gsmtp", "^support.google.com nosuchuser gsmtp"),
            ("blacklist.Hoster.example: ok", "^blacklist.hoster.example ok"),
            ("helo=mx1.lan full.It RESOLVER.ADR.NotFound", "helo ^mx1.lan full.it resolver.adr.notfound"),
            ("antispam-gw: ok", "^antispam-gw ok"),
            ("invalid-user: ok SPAMFILTER01 IB603 utf8 x7Yz", "invalid user ok #spamfilter01 #ib603 utf8 #x7yz"),
            ("1770727568-8kRkAnR9J0U0-7VughDHW Blocked-Sender12", "#1770727568-8krkanr9j0u0-7vughdhw blocked sender12"),
            (
                "spam:17 err:451 blocked:203.0.113.9 [IPv6:2001:db8:17::25]",
                "spam 17 err 451 blocked 203.0.113.9 ipv6 2001 db8 17 25",
            ),
            ("policy_554 SPF/5.7.23 DNSBL-01 OFR_416 a7:b9", "policy 554 spf 5.7.23 dnsbl 01 #ofr_416 #a7:b9"),
            ("spam/virus", "spam virus"),
            ("https://x.example/why?ip=192.0.2.1&r=7", "^x.example %"),
            ("x.example/query/ip/2001:db8::1", "^x.example %"),
            ("", ""),
        ] {
            let read = String::from_utf8(plain(text)).expect("words keep the encoding");
            let shown = read.replace('\u{1}', "@").replace('\u{4}', "^").replace('\u{5}', "#").replace('\u{6}', "%");
            assert_eq!(shown.trim(), words, "{text}");
        }
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
