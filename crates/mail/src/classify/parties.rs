//! Parties of a dialog that a reply can name.
//!
//! A reply that names us and not the recipient is about us: "No such user <ask@probe.example>", our MAIL FROM. A reply that names
//! both ("<joe@example.net>: user unknown (from probe.example [192.0.2.1])") is about the recipient, unless a rule says otherwise.
//! Names that we share with the recipient are ignored: an equal address or domain.

use std::net::IpAddr;

/// Names and addresses in a dialog.
#[derive(Clone, Copy, Debug, Default)]
pub struct DialogParties<'a> {
    /// Recipient of the answered command; empty if unknown.
    pub recipient: &'a str,
    /// Our MAIL FROM; empty for the null sender.
    pub sender: &'a str,
    /// Our HELO name.
    pub helo: &'a str,
    /// Our IP addresses.
    pub addresses: &'a [IpAddr],
}

/// Shorter local parts are not looked for among words.
const LOCAL_PART_MIN: usize = 3;

/// The party that a piece of text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    Recipient,
    /// Our MAIL FROM, or an address at a domain of ours.
    Sender,
    /// Our HELO name, our domain or our IP address.
    Client,
    /// Any other email address.
    Other,
}

/// Set of parties that a text names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedParties(u8);

impl NamedParties {
    pub(super) fn add(&mut self, party: Party) {
        self.0 |= 1 << party as u8;
    }

    fn has(self, party: Party) -> bool {
        self.0 & 1 << party as u8 != 0
    }

    /// Whether the text names our MAIL FROM and not the recipient.
    pub(super) fn only_sender(self) -> bool {
        self.has(Party::Sender) && !self.has(Party::Recipient)
    }

    /// Whether the text names our host and no other party.
    pub(super) fn only_client(self) -> bool {
        self.0 == 1 << Party::Client as u8
    }
}

impl DialogParties<'_> {
    /// The party that a token names. A token is a piece of text without blanks and brackets.
    pub(super) fn named_by(&self, token: &str) -> Option<Party> {
        if token.contains('@') {
            return Some(self.mailbox(token));
        }
        if self.is_local_part(token) {
            return Some(Party::Recipient);
        }
        if !token.contains(['.', ':']) {
            return None;
        }
        let is_ours = self.domains().into_iter().any(|domain| is_word(token, domain)) || self.has_address(token);
        is_ours.then_some(Party::Client)
    }

    /// Whether a token is the recipient's local part. A local part of letters alone can be a word of any sentence.
    fn is_local_part(&self, token: &str) -> bool {
        let Some(local) = self.local_part() else { return false };
        let is_distinct = local.contains(|c: char| c.is_ascii_alphabetic())
            && local.contains(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
        is_distinct && is_bare(token, local)
    }

    /// Whether a token where a name is due is the recipient's local part, be it a word too (`no such user "newsletter"`).
    pub(super) fn is_called(&self, token: &str) -> bool {
        self.local_part().is_some_and(|local| local.len() >= LOCAL_PART_MIN && is_bare(token, local))
    }

    fn local_part(&self) -> Option<&str> {
        self.recipient.rfind('@').map(|at| &self.recipient[..at])
    }

    fn mailbox(&self, token: &str) -> Party {
        let domain = token.rsplit('@').next().unwrap_or_default();
        if is_word(token, self.recipient) {
            Party::Recipient
        } else if is_word(token, self.sender) || self.domains().into_iter().any(|ours| is_word(domain, ours)) {
            Party::Sender
        } else {
            Party::Other
        }
    }

    /// The HELO name and the domain of MAIL FROM, each empty if the recipient has it too.
    fn domains(&self) -> [&str; 2] {
        let (sender, recipient) = (domain_of(self.sender), domain_of(self.recipient));
        [self.helo, sender].map(|domain| if is_within(recipient, domain) { "" } else { domain })
    }

    /// Whether a token has one of our IP addresses: `192.0.2.1`, `ip=192.0.2.1`, `IPv6:2001:db8::1`.
    fn has_address(&self, token: &str) -> bool {
        !self.addresses.is_empty() && ip_addresses(token).any(|ip| self.addresses.contains(&ip.to_canonical()))
    }
}

/// The IP addresses that are words or values of parameters in a token.
pub(super) fn ip_addresses(token: &str) -> impl Iterator<Item = IpAddr> {
    let token = token.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != ':');
    let tails =
        [token, token.trim_end_matches(':')].into_iter().chain(token.split(['=', '/', '#', '|', '&', '?', ';']));
    tails.chain(token.split_once(':').map(|(_, tail)| tail)).filter_map(|tail| tail.parse().ok())
}

/// Whether a token is a name, apart from punctuation.
fn is_bare(token: &str, name: &str) -> bool {
    token.trim_matches(|c: char| !c.is_ascii_alphanumeric()).eq_ignore_ascii_case(name)
}

/// The domain of an address; empty if it has none.
fn domain_of(address: &str) -> &str {
    address.rfind('@').map_or("", |at| &address[at + 1..])
}

/// Whether a domain is another one or below it.
fn is_within(domain: &str, other: &str) -> bool {
    let Some(start) = domain.len().checked_sub(other.len()) else { return false };
    domain.is_char_boundary(start)
        && domain[start..].eq_ignore_ascii_case(other)
        && (start == 0 || domain.as_bytes()[start - 1] == b'.')
}

/// Whether a token contains a name as a whole word, ignoring case.
fn is_word(token: &str, name: &str) -> bool {
    let (token, name) = (token.as_bytes(), name.as_bytes());
    if name.is_empty() || name.len() > token.len() {
        return false;
    }
    let is_part =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+'));
    token.windows(name.len()).enumerate().any(|(start, window)| {
        let (before, behind) = (&token[..start], &token[start + name.len()..]);
        // A dot continues a name only if a word follows: "probe.example." ends a sentence.
        let goes_on = is_part(behind.first()) || behind.starts_with(b".") && is_part(behind.get(1));
        window.eq_ignore_ascii_case(name) && !is_part(before.last()) && !before.ends_with(b".") && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::{DialogParties, Party};

    #[test]
    fn names_of_ours_are_known_from_the_recipients() {
        let addresses = ["192.0.2.1".parse().expect("an address"), "2001:db8::1".parse().expect("an address")];
        let parties = DialogParties {
            recipient: "joe@example.net",
            sender: "ask@probe.example",
            helo: "mx1.probe.example",
            addresses: &addresses,
        };
        let cases = [
            ("joe@example.net", Some(Party::Recipient)),
            ("TO:JOE@Example.NET:", Some(Party::Recipient)),
            ("ask@PROBE.example.", Some(Party::Sender)),
            ("from=ask@probe.example", Some(Party::Sender)),
            ("anybody@mx1.probe.example", Some(Party::Sender)),
            ("ask@probe.example.org", Some(Party::Other)),
            ("task@example.org", Some(Party::Other)),
            ("mx1.probe.example", Some(Party::Client)),
            ("helo=MX1.probe.example:", Some(Party::Client)),
            ("probe.example", Some(Party::Client)),
            ("mx2.probe.example", None),
            ("192.0.2.1:", Some(Party::Client)),
            ("ip=192.0.2.1", Some(Party::Client)),
            ("IPv6:2001:DB8::1", Some(Party::Client)),
            ("192.0.2.11", None),
            ("unknown", None),
            ("5.1.1", None),
        ];
        for (token, party) in cases {
            assert_eq!(parties.named_by(token), party, "{token}");
        }
        assert_eq!(DialogParties::default().named_by("192.0.2.1"), None);
        assert_eq!(DialogParties::default().named_by("a@b"), Some(Party::Other));
    }

    #[test]
    fn a_distinct_local_part_names_the_recipient() {
        let party = |recipient, token| DialogParties { recipient, ..DialogParties::default() }.named_by(token);
        for token in ["joe.doe", "Joe.Doe...", "'joe.doe':"] {
            assert_eq!(party("joe.doe@example.net", token), Some(Party::Recipient), "{token}");
        }
        assert_eq!(party("joe7@example.net", "joe7"), Some(Party::Recipient));
        for (recipient, token) in [
            ("spam@example.net", "spam"),
            ("joe.doe@example.net", "joe.doe.example"),
            ("joe.doe@example.net", "joe"),
            ("5.1.1@example.net", "5.1.1"),
            ("", "joe.doe"),
        ] {
            assert_eq!(party(recipient, token), None, "{token}");
        }
    }

    #[test]
    fn a_name_that_is_also_the_recipients_says_nothing() {
        let own =
            |recipient| DialogParties { recipient, sender: "ask@example.net", helo: "example.net", addresses: &[] };
        assert_eq!(own("joe@mail.example.net").named_by("example.net"), None);
        assert_eq!(own("joe@example.net").named_by("ann@example.net"), Some(Party::Other));
        assert_eq!(own("joe@example.net").named_by("ask@example.net"), Some(Party::Sender));
        assert_eq!(own("ask@example.net").named_by("ASK@example.net"), Some(Party::Recipient));
        assert_eq!(own("joe@example.org").named_by("ann@example.net"), Some(Party::Sender));
    }
}
