//! The simulated DNS data of a name.
//!
//! A [`Zone`] is one name with its records and its mailboxes, because most names here are mail domains. Failures are part of the
//! description: a whole name, or one kind of query, can fail in each way that resolvers see.

use std::net::IpAddr;
use std::str::FromStr;

use probity_mail::dns::QueryKind;
use serde::Deserialize;

use crate::mailbox::Mailboxes;

/// How a query fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DnsFault {
    /// The name does not exist. (Not a DNS failure, but an answer for a described name.)
    Nxdomain,
    Servfail,
    Refused,
    Timeout,
    /// Unreadable answer.
    Malformed,
}

/// One MX record; in a world file the text `"10 mx.example.test"`; `"0 ."` is the null MX (RFC 7505).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Mx {
    /// Lower is tried first.
    pub preference: u16,
    /// MX host name without the last dot; empty for the root.
    pub host: String,
}

impl FromStr for Mx {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("an MX record reads \"10 mx.example.test\", not {text:?}");
        let (preference, host) = text.split_once(' ').ok_or_else(wrong)?;
        let preference = preference.parse().map_err(|_| wrong())?;
        Ok(Self { preference, host: host.trim().trim_end_matches('.').to_ascii_lowercase() })
    }
}

impl TryFrom<String> for Mx {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// One name of the simulated DNS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Zone {
    pub mx: Vec<Mx>,
    /// IPv4 and IPv6 addresses, in addition to those of a host of the same name.
    pub addresses: Vec<IpAddr>,
    /// Alias; all other records are then ignored.
    pub cname: Option<String>,
    pub txt: Vec<String>,
    /// PTR answer; for reverse names.
    pub ptr: Vec<String>,
    /// Lifetime of answers in seconds, including negative ones.
    pub ttl_s: u32,
    /// Failure of every query.
    pub fails: Option<DnsFault>,
    /// Failure of MX queries only.
    pub mx_fails: Option<DnsFault>,
    /// Failure of address queries only.
    pub address_fails: Option<DnsFault>,
    /// Whether address answers have one address each, in turn, as in a rebinding attack.
    pub rotate: bool,
    pub mailboxes: Mailboxes,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            mx: Vec::new(),
            addresses: Vec::new(),
            cname: None,
            txt: Vec::new(),
            ptr: Vec::new(),
            ttl_s: 300,
            fails: None,
            mx_fails: None,
            address_fails: None,
            rotate: false,
            mailboxes: Mailboxes::default(),
        }
    }
}

impl Zone {
    /// A name whose mail goes to `hosts`, in this order of preference (10, 20, ...).
    pub fn served_by(hosts: &[&str]) -> Self {
        let preferences = (1..=u16::MAX).map(|i| i.saturating_mul(10));
        let mx = preferences.zip(hosts).map(|(preference, host)| Mx { preference, host: (*host).to_owned() }).collect();
        Self { mx, ..Self::default() }
    }

    /// A name that accepts no mail and says so (RFC 7505).
    pub fn null_mx() -> Self {
        Self { mx: vec![Mx { preference: 0, host: String::new() }], ..Self::default() }
    }

    /// A name for which every query fails.
    pub fn failing(fault: DnsFault) -> Self {
        Self { fails: Some(fault), ..Self::default() }
    }

    pub fn alias(target: &str) -> Self {
        Self { cname: Some(target.to_ascii_lowercase()), ..Self::default() }
    }

    /// Sets the mailboxes.
    #[must_use]
    pub fn with_mailboxes(mut self, mailboxes: Mailboxes) -> Self {
        self.mailboxes = mailboxes;
        self
    }

    /// How a query of this kind fails, if it does.
    pub(crate) fn fault(&self, kind: QueryKind) -> Option<DnsFault> {
        let of_kind = match kind {
            QueryKind::Mx => self.mx_fails,
            QueryKind::A | QueryKind::Aaaa => self.address_fails,
            QueryKind::Txt | QueryKind::Ptr => None,
        };
        self.fails.or(of_kind)
    }
}

#[cfg(test)]
mod tests {
    use super::Mx;

    #[test]
    fn mx_texts() {
        assert_eq!("10 MX.a.test.".parse(), Ok(Mx { preference: 10, host: "mx.a.test".into() }));
        assert_eq!("0 .".parse(), Ok(Mx { preference: 0, host: String::new() }));
        for wrong in ["", "mx.a.test", "x mx.a.test", "70000 mx.a.test"] {
            assert!(wrong.parse::<Mx>().is_err(), "{wrong}");
        }
    }
}
