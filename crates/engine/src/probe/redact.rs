//! Removes mailboxes and our own network addresses and names from server texts, before they become evidence or reach a log.

use std::net::IpAddr;

use probity_mail::smtp::reply::TEXT_MAX_BYTES;

use crate::pace::sources::SourcePool;

/// Removes mailboxes (which servers often repeat) and our own network addresses and names from a reply's text. Placeholders may be
/// longer; the text still keeps its maximum length.
pub(crate) fn redact(text: String, sources: &SourcePool) -> String {
    let text = without_mailboxes(text);
    let names = sources.all().iter().map(|source| source.helo.as_str());
    let mut text = without_own_addresses(without_own_names(text, names), sources.own_addresses());
    text.truncate(text.floor_char_boundary(TEXT_MAX_BYTES));
    text
}

/// Placeholder for our HELO name.
const OUR_NAME: &str = "<our name>";

/// Replaces these names in a text, as whole words.
fn without_own_names<'a>(mut text: String, own: impl Iterator<Item = &'a str>) -> String {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    for name in own.map(|name| name.trim_matches(['.', '[', ']'])).filter(|name| !name.is_empty()) {
        let mut at = 0;
        // ASCII lower case only, so that positions in both texts agree.
        while let Some(found) = text[at..].to_ascii_lowercase().find(&name.to_ascii_lowercase()) {
            let (start, end) = (at + found, at + found + name.len());
            let before = text.as_bytes()[..start].last().is_some_and(|byte| is_part(*byte));
            let behind = text[end..].trim_start_matches('.');
            let goes_on = behind.bytes().next().is_some_and(is_part);
            at = end;
            if !before && !goes_on {
                text.replace_range(start..end, OUR_NAME);
                at = start + OUR_NAME.len();
            }
        }
    }
    text
}

/// Placeholder for one of our network addresses.
const OURS: &str = "<our address>";

/// Replaces these addresses in a text, in any notation, including the reversed one of block-list names.
fn without_own_addresses(mut text: String, own: &[IpAddr]) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    let is_ours = |word: &str| word.parse::<IpAddr>().is_ok_and(|address| own.contains(&address.to_canonical()));
    let mut at = 0;
    while let Some(start) = text[at..].find(is_part).map(|found| at + found) {
        let rest = &text[start..];
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        at = start + word.len();
        let word = word.trim_end_matches(['.', ':']);
        if is_ours(word) {
            text.replace_range(start..start + word.len(), OURS);
            at = start + OURS.len();
        }
    }
    for address in own {
        if let IpAddr::V4(v4) = address {
            let [a, b, c, d] = v4.octets();
            text = text.replace(&format!("{d}.{c}.{b}.{a}."), &format!("{OURS}."));
        }
    }
    text
}

/// Replaces whole mailboxes. Brackets, quotes and punctuation around them stay.
fn without_mailboxes(mut text: String) -> String {
    const MAILBOX: &str = "address";
    let mut before = text.len();
    while let Some(sign) = text[..before].rfind('@') {
        let start = start_of_local_part(&text[..sign]);
        let word = &text[sign..];
        let word = &word[..word.find(' ').unwrap_or(word.len())];
        let end = sign + word.trim_end_matches(['>', ')', ']', '"', '\'', ':', ';', ',', '.', '!']).len();
        text.replace_range(start..end, MAILBOX);
        before = start;
    }
    text
}

/// Where the local part at the end of a text starts. One in quotes may have blanks (RFC 5321 §4.1.2).
fn start_of_local_part(text: &str) -> usize {
    let opening = text
        .strip_suffix('"')
        .and_then(|quoted| quoted.rmatch_indices('"').map(|(at, _)| at).find(|at| !quoted[..*at].ends_with('\\')));
    opening.unwrap_or_else(|| {
        let word = text.rfind(' ').map_or(0, |blank| blank + 1);
        text.len() - text[word..].trim_start_matches(['<', '(', '[', '"', '\'']).len()
    })
}

#[cfg(test)]
mod tests {
    use super::{without_mailboxes, without_own_addresses, without_own_names};

    #[test]
    fn mailboxes_are_taken_out_of_texts_and_the_rest_stays() {
        for (text, wanted) in [
            ("<a.b@example.com>: user unknown", "<address>: user unknown"),
            ("no mailbox for a@example.com.", "no mailbox for address."),
            ("'a@b.example' (\"c@d.example\")", "'address' (\"address\")"),
            ("@", "address"),
            ("plain text", "plain text"),
            ("é@ü", "address"),
            ("a@b@c.example: relay", "address: relay"),
            (r#"<"ann lee"@example.com>: unknown"#, "<address>: unknown"),
            (r#"no ("a \"b\" @c"@example.com), sorry"#, "no (address), sorry"),
            (r#"lee"@example.com"#, "address"),
        ] {
            assert_eq!(without_mailboxes(text.to_owned()), wanted);
        }
    }

    #[test]
    fn our_names_are_taken_out_as_whole_words() {
        let own = ["probe.example.net", "[198.51.100.7]", ""];
        for (text, wanted) in [
            ("probe.example.net is not allowed", "<our name> is not allowed"),
            ("go away PROBE.Example.net.", "go away <our name>."),
            ("<probe.example.net>: HELO; probe.example.net, rejected", "<<our name>>: HELO; <our name>, rejected"),
            ("see https://probe.example.net.example.org", "see https://probe.example.net.example.org"),
            ("my-probe.example.net and probe.example.network", "my-probe.example.net and probe.example.network"),
            ("HELO [198.51.100.7] é", "HELO [<our name>] é"),
        ] {
            assert_eq!(without_own_names(text.to_owned(), own.into_iter()), wanted);
        }
    }

    #[test]
    fn our_network_addresses_are_taken_out_however_they_are_written() {
        let own = ["198.51.100.7".parse().unwrap(), "2001:db8::7".parse().unwrap()];
        for (text, wanted) in [
            ("client [198.51.100.7] blocked", "client [<our address>] blocked"),
            ("198.51.100.7: go away.", "<our address>: go away."),
            ("not 198.51.100.77 nor 1198.51.100.7", "not 198.51.100.77 nor 1198.51.100.7"),
            ("2001:DB8:0:0::7 and ::ffff:198.51.100.7.", "<our address> and <our address>."),
            ("see 7.100.51.198.zen.example", "see <our address>.zen.example"),
            ("a bad face, é 5.7.1", "a bad face, é 5.7.1"),
        ] {
            assert_eq!(without_own_addresses(text.to_owned(), &own), wanted);
        }
    }
}
