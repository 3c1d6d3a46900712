//! Plain words of a reply's text, the form in which phrases are found.
//!
//! Words are lower case, without accents. Punctuation becomes one blank, except dots inside words (`5.1.1`, `spamhaus.org`).
//! Apostrophes are dropped (`doesn't` is `doesnt`, but `l'adresse` is `l adresse`), and `e-mail` is `email`. The text starts and
//! ends with a blank, so phrases with blanks at their ends match whole words. Addresses become [`ADDRESS`], our MAIL FROM
//! [`OUR_ADDRESS`]. Each label of a host name is a word of its own behind [`HOST`], which phrases with `{host}` find
//! (`{host}dnsbl*`). A host name that leads the text (`blacklist.hoster.example: user unknown`) is the server's own: only phrases
//! that match parts of words find it (`*spamhaus*`). Of a URL, the host and the value of a `p=` parameter stay (Google's reason); a
//! path such as `/help_spam.htm` is no evidence. An IP address in a URL leaves [`LINK`].

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::parties::{DialogParties, NamedParties, Party, ip_addresses, is_within};
use crate::domain::public_top_level;
use crate::smtp::reply::Enhanced;

/// Mark of any email address. A server can't send it, because control characters are dropped.
pub(super) const ADDRESS: u8 = 0x01;

/// Mark of our MAIL FROM.
pub(super) const OUR_ADDRESS: u8 = 0x02;

/// Mark at the beginning of a host name or of a label of it.
pub(super) const HOST: u8 = 0x04;

/// Mark of a URL with an IP address in it, which explains what was done to a client. Whose address it is does not matter: reports
/// of bounces do not know ours.
pub(super) const LINK: u8 = 0x05;

/// Top-level domains that are not in the DNS.
const PRIVATE_TOP_LEVELS: [&str; 7] = ["example", "test", "invalid", "local", "localdomain", "lan", "internal"];

/// Punctuation of other scripts, and dashes and dots of typographers, which ends a clause.
const CLAUSE_MARKS: [char; 16] = [
    '。', '、', '，', '．', '：', '；', '！', '？', '\u{2013}', '\u{2014}', '\u{2026}', '»', '\u{60c}', '\u{61b}',
    '\u{6d4}', '\u{964}',
];

/// Mark of a clause's end, in place of the blank behind its last word. A server can't send it either.
pub(super) const CLAUSE_END: u8 = 0x03;

/// The plain words of a text, without parties.
#[cfg(test)]
pub(super) fn plain(text: &str) -> Vec<u8> {
    plain_between(text, &DialogParties::default()).0
}

/// The plain words of a text, and the parties that it names.
pub(super) fn plain_between(text: &str, parties: &DialogParties<'_>) -> (Vec<u8>, NamedParties) {
    let (marked, named) = marked_between(text, parties);
    (unmarked(&marked), named)
}

/// Marked words with blanks again in place of the ends of clauses.
pub(super) fn unmarked(marked: &[u8]) -> Vec<u8> {
    marked.iter().map(|byte| if *byte == CLAUSE_END { b' ' } else { *byte }).collect()
}

/// Whether a byte of marked words stands between two words.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | CLAUSE_END)
}

/// The plain words of a text with [`CLAUSE_END`] where punctuation ended a clause, and the parties that it names.
pub(super) fn marked_between(text: &str, parties: &DialogParties<'_>) -> (Vec<u8>, NamedParties) {
    let mut words = Vec::with_capacity(text.len() + 2);
    words.push(b' ');
    let mut named = NamedParties::default();
    if text.is_ascii() {
        push_text(text, parties, &mut words, &mut named);
    } else {
        push_text(&fold(text), parties, &mut words, &mut named);
    }
    (words, named)
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
            'þ' | 'Þ' => folded.push_str("th"),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            'ß' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            '\u{2018}' | '\u{2019}' | '\u{00b4}' => folded.push('\''),
            c if CLAUSE_MARKS.contains(&c) => folded.push_str("; "),
            c if c.is_ascii() => folded.push(c),
            c if c.is_alphanumeric() => folded.extend(c.to_lowercase()),
            _ => folded.push(' '),
        }
    }
    folded
}

/// Whether a byte ends a token: a piece of text that is judged to be an address, a URL or words.
fn ends_token(c: char) -> bool {
    matches!(c, ' ' | '\t' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | ',' | ';')
}

/// Names of tags within a line. Like names of closing tags, they are skipped.
const INLINE: [&str; 6] = ["b", "em", "i", "span", "strong", "u"];

/// Names of tags that end a line, and so a clause.
const BLOCKS: [&str; 3] = ["br", "div", "p"];

/// Blanks of HTML, whose semicolon ends no clause.
const BLANKS: [&str; 3] = ["&nbsp", "&#160", "&#xa0"];

fn push_text(text: &str, parties: &DialogParties<'_>, words: &mut Vec<u8>, named: &mut NamedParties) {
    let mut before = "";
    for piece in text.split_inclusive(ends_token) {
        let written = piece.trim_end_matches(ends_token);
        let token = without_blank(written);
        match token {
            // Two blanks are where a line ended.
            "" if piece == " " && before.ends_with(' ') => end_clause(words),
            "" => {}
            "-" | "--" => end_clause(words),
            _ if before.ends_with('<') && is_among(&BLOCKS, token) => end_clause(words),
            _ if before.ends_with('<') && (token.starts_with('/') || is_among(&INLINE, token)) => {}
            _ if is_name(token, before, piece) && parties.is_called(token) => {
                named.add(Party::Recipient);
                words.push(ADDRESS);
                if token.ends_with(['.', ':', '!', '?']) {
                    end_clause(words);
                }
            }
            _ => push_token(token, parties, words, named),
        }
        end_word(words);
        if token == written && piece.ends_with(['(', ')', '[', ']', '{', '}', ',', ';']) {
            end_clause(words);
        }
        before = piece;
    }
}

/// Whether a token stands where only a name does: in angle brackets or quotes. Round brackets may hold a reason: `unavailable (spam)`.
fn is_name(token: &str, before: &str, piece: &str) -> bool {
    let is_quoted =
        token.len() > 2 && token.starts_with('\'') && token.trim_end_matches(['.', ':', '!', '?']).ends_with('\'');
    is_quoted || before.ends_with(['<', '"']) && piece.ends_with(['>', '"'])
}

fn without_blank(token: &str) -> &str {
    let start_of = |blank: &str| token.len().checked_sub(blank.len());
    let blank = BLANKS
        .iter()
        .find_map(|blank| start_of(blank).filter(|at| token.as_bytes()[*at..].eq_ignore_ascii_case(blank.as_bytes())));
    blank.map_or(token, |at| &token[..at])
}

fn is_among(tags: &[&str], token: &str) -> bool {
    tags.iter().any(|name| name.eq_ignore_ascii_case(token.trim_matches('/')))
}

fn push_token(token: &str, parties: &DialogParties<'_>, words: &mut Vec<u8>, named: &mut NamedParties) {
    let bytes = token.as_bytes();
    if let Some(slash) = bytes.iter().position(|byte| *byte == b'/') {
        let (before, after) = bytes.split_at(slash);
        let has_scheme = after.starts_with(b"//") && before.ends_with(b":");
        if has_scheme || is_host(before) {
            push_url(if has_scheme { &token[slash + 2..] } else { token }, parties, words);
            if ip_addresses(token).next().is_some() {
                end_word(words);
                words.push(LINK);
            }
            return;
        }
    }
    let party = if token.len() > 1 { parties.named_by(token) } else { None };
    if let Some(party) = party {
        named.add(party);
    }
    match party {
        Some(Party::Sender) => words.push(OUR_ADDRESS),
        Some(Party::Recipient | Party::Other) => words.push(ADDRESS),
        // Our own name is a word: it ends no clause, and with it a reply is not without words.
        Some(Party::Client) => push_words(bytes, words),
        None if is_server(token) => push_server(token, parties, words),
        None => match token.rfind(['=', ':']) {
            Some(mark) if is_server(&token[mark..]) => {
                push_words(&bytes[..=mark], words);
                end_word(words);
                push_labels(&token[mark + 1..], parties, words);
            }
            _ => push_words(bytes, words),
        },
    }
}

/// Whether a token is the name of a server: labels, the last of which is a top-level domain.
fn is_server(token: &str) -> bool {
    let name = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let Some((rest, last)) = name.rsplit_once('.') else { return false };
    // Two sentences without a blank between them: `mailbox full.It`.
    let is_glued = last.starts_with(|c: char| c.is_ascii_uppercase()) && !rest.contains('.');
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let last = last.to_ascii_lowercase();
    let is_top_level = || PRIVATE_TOP_LEVELS.contains(&&*last) || public_top_level(&last).is_some();
    !is_glued && name.bytes().all(is_label) && is_top_level()
}

/// The server's own name where it leads the text and a colon follows; else the labels.
fn push_server(host: &str, parties: &DialogParties<'_>, words: &mut Vec<u8>) {
    if words.len() > 1 || !host.ends_with(':') {
        return push_labels(host, parties, words);
    }
    // The dot keeps the first label from being one.
    words.extend([HOST, b'.']);
    words.extend(host.trim_end_matches(':').to_ascii_lowercase().bytes());
    end_clause(words);
}

/// The labels of a host, without the recipient's domain: what `zen.example` calls itself is no evidence.
fn push_labels(host: &str, parties: &DialogParties<'_>, words: &mut Vec<u8>) {
    let end = host.rfind(|c: char| c.is_ascii_alphanumeric()).map_or(0, |last| last + 1);
    let (name, own) = (&host[..end], parties.recipient_domain());
    let is_own = !own.is_empty() && is_within(name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()), own);
    let foreign = if is_own { &name[..end - own.len()] } else { name };
    for label in foreign.split(|c: char| !c.is_ascii_alphanumeric()).filter(|label| !label.is_empty()) {
        end_word(words);
        words.push(HOST);
        words.extend(label.to_ascii_lowercase().bytes());
    }
    if host[end..].contains(['.', ':', '!', '?']) {
        end_clause(words);
    }
}

/// Whether bytes look like a host name: a letter, and a dot between letters or digits.
fn is_host(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.windows(3).any(|w| w[1] == b'.' && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric())
}

/// Of a URL without its scheme: the host and the value of a parameter called `p`.
fn push_url(url: &str, parties: &DialogParties<'_>, words: &mut Vec<u8>) {
    let (host, rest) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
    push_labels(host, parties, words);
    if let Some(start) = rest.find("?p=").or_else(|| rest.find("&p=")) {
        end_word(words);
        let value = &rest[start + 3..];
        let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
        push_words(&value.as_bytes()[..end], words);
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
            b'-' if words.ends_with(b"e") && is_single_letter(words) => {}
            b'.' | b':' | b'!' | b'?' | b'|' => end_clause(words),
            _ => end_word(words),
        }
    }
}

/// Whether the current word has one letter.
fn is_single_letter(words: &[u8]) -> bool {
    matches!(words, [.., before, letter] if is_separator(*before) && letter.is_ascii_alphabetic())
}

fn end_word(words: &mut Vec<u8>) {
    if words.last().is_some_and(|last| !is_separator(*last)) {
        words.push(b' ');
    }
}

fn end_clause(words: &mut Vec<u8>) {
    end_word(words);
    if let Some(last) = words.last_mut() {
        *last = CLAUSE_END;
    }
}

/// The first enhanced status code among plain words, for servers that do not follow RFC 2034.
pub(super) fn enhanced(words: &[u8]) -> Option<Enhanced> {
    words.split(|byte| *byte == b' ').find_map(enhanced_word)
}

/// Whether a clause goes on with nothing but the name of a server, or with the number of a report (`KAX4711`).
pub(super) fn is_trailer(clause: &[u8]) -> bool {
    let is_id = |word: &[u8]| {
        let letters = word.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let digits = word[letters..].iter().filter(|byte| byte.is_ascii_digit()).count();
        letters >= 3 && digits >= 3 && letters + digits == word.len() && !word.starts_with(b"rfc")
    };
    let mut words = clause.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    is_id(clause.trim_ascii()) || words.all(|word| matches!(word, [HOST | LINK, ..]))
}

/// The first of plain words.
pub(super) fn first_word(words: &[u8]) -> &[u8] {
    words.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// Whether a word is an enhanced code or has digits alone. Addresses and names such as `8BITMIME` are no numbers.
pub(super) fn is_number(word: &[u8]) -> bool {
    enhanced_word(word).is_some() || (!word.is_empty() && word.iter().all(u8::is_ascii_digit))
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
        String::from_utf8(plain(text))
            .expect("words keep the encoding")
            .replace('\u{1}', "@")
            .replace('\u{4}', "^")
            .replace('\u{5}', "%")
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
    fn punctuation_ends_clauses() {
        for (text, clauses) in [
            ("User unknown. (#5.1.1)", " user unknown|5.1.1|"),
            ("<a@b>... unknown mailer error", " @|unknown mailer error "),
            ("5.1.1: a, b; c! d - e", " 5.1.1|a|b|c|d|e "),
            ("e-mail User-unknown [x] a/b", " email user unknown|x|a b "),
            (": a", "|a "),
            ("<a> unknown  (b)", " a unknown|b|"),
            ("\"a\" b <c> d", " a b c d "),
            ("<P>your&nbsp;account is <b>full</b> a<br/>b</p>", "|your account is full a|b|"),
            ("<a href=\"x\">a</a> b&NBSP;c", " a href x a b c "),
        ] {
            let (marked, _) = super::marked_between(text, &super::DialogParties::default());
            let shown = String::from_utf8(marked).expect("words keep the encoding");
            assert_eq!(shown.replace('\u{1}', "@").replace('\u{3}', "|"), clauses, "{text}");
        }
    }

    #[test]
    fn addresses_and_paths_do_not_speak() {
        assert_eq!(words("<no.such.user@spam.example>: ok"), " @ ok ");
        assert_eq!(words("RCPT TO:<a@b> spam@x.example,"), " rcpt to @ @ ");
        assert_eq!(words("see http://mail.163.com/help/help_spam_16.htm?x=spam"), " see ^mail ^163 ^com ");
        assert_eq!(words("postmaster.example.net/smtp-spam.php#1 ok"), " ^postmaster ^example ^net ok ");
        assert_eq!(
            words("https://support.google.com/mail/?p=NoSuchUser - gsmtp"),
            " ^support ^google ^com nosuchuser gsmtp "
        );
        assert_eq!(words("blacklist.Hoster.example: ok"), " ^.blacklist.hoster.example ok ");
        assert_eq!(words("see my-rbl.Hoster.example: ok"), " see ^my ^rbl ^hoster ^example ok ");
        assert_eq!(words("using:rbl.hoster.example"), " using ^rbl ^hoster ^example ");
        assert_eq!(
            words("helo=mx1.lan full.It RESOLVER.ADR.NotFound 5.1.1"),
            " helo ^mx1 ^lan full.it resolver.adr.notfound 5.1.1 "
        );
        assert_eq!(words("spam/virus"), " spam virus ");
        for url in [
            "https://x.example/why?ip=192.0.2.1&r=7",
            "x.example/query/ip/192.0.2.1",
            "http://x.example/?v=2001:db8::1",
        ] {
            assert_eq!(words(url), " ^x ^example % ");
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
