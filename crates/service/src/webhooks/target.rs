//! The URL of a receiver, as far as its text goes.
//!
//! It is read by the rules of browsers (WHATWG URL) and written again, and only what was read is used: `0x7f.1`,
//! `2130706433` and `①②⑦.0.0.1` are 127.0.0.1 here, and the host of `http://a@127.0.0.1:80\@example.com/` is not
//! example.com. Whether the host may be dialled is for the [guard](super::guard) to say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The most bytes of a URL, as it comes and as it is kept.
pub const URL_MAX: usize = 2_048;
/// The most bytes of a host's name (RFC 1035 section 2.3.4).
const NAME_MAX: usize = 253;
/// The most bytes of one of its labels.
const LABEL_MAX: usize = 63;
/// Below this, only the two ports of the web.
const UNPRIVILEGED: u16 = 1_024;
/// Ports above it on which other protocols listen that can be talked into something by an HTTP request: the "bad ports" of
/// the Fetch standard (section 2.9).
const BAD_PORTS: &[u16] = &[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Why a text is not the URL of a receiver. The messages are for whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be read as a URL, or its host is no name that the DNS can hold.
    #[error("must be a URL such as https://hooks.example.com/probity")]
    Malformed,
    /// Longer than [`URL_MAX`].
    #[error("must have at most 2048 bytes")]
    TooLong,
    /// Neither http nor https, or http where the operator wants https.
    #[error("must begin with https:// or, where this installation allows it, http://")]
    Scheme,
    /// A user or a password.
    #[error("must not contain a user name or a password")]
    Credentials,
    /// A port for something else than HTTP.
    #[error("must use port 80, 443 or a port above 1023 that no other protocol uses")]
    Port,
    /// It leads, or its name resolves, to an address that is not of the public internet.
    #[error("must not lead to a private, loopback, link-local or otherwise special address")]
    Special,
}

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    port: u16,
}

/// Who a target's host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// These addresses, without a look-up.
    Addresses(Vec<IpAddr>),
    /// A name, absolute, in lower-case A-labels without the last dot.
    Name(String),
}

impl Target {
    /// Reads a URL. A fragment is dropped: receivers never see it.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        if text.len() > URL_MAX {
            return Err(Refused::TooLong);
        }
        // The URL standard takes blanks off the ends and line breaks out of the middle; whoever writes them means no URL.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(Refused::Malformed);
        }
        let mut url = Url::parse(text).map_err(|_| Refused::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        url.set_fragment(None);
        if url.as_str().len() > URL_MAX {
            return Err(Refused::TooLong);
        }
        let port = url.port_or_known_default().ok_or(Refused::Malformed)?;
        if (port < UNPRIVILEGED && !matches!(port, 80 | 443)) || BAD_PORTS.contains(&port) {
            return Err(Refused::Port);
        }
        let target = Self { url, port };
        match target.url.host() {
            None => Err(Refused::Malformed),
            Some(Host::Domain(name)) if !is_name(absolute(name)) => Err(Refused::Malformed),
            Some(_) => Ok(target),
        }
    }

    /// The URL as it is kept: ASCII, at most [`URL_MAX`] bytes, and read back as the same.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Whether it is https.
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Host and port, as the `Host` field of a request has them: without the port where it is the scheme's own.
    pub(super) fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }

    /// Path and query.
    pub(super) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// The host and port by which receivers are told apart.
    pub(super) fn lane(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{}:{}", absolute(host), self.port)
    }

    /// The host as a certificate names it.
    pub(super) fn certified(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        absolute(host.trim_start_matches('[').trim_end_matches(']'))
    }

    pub(super) fn place(&self) -> Place {
        match self.url.host() {
            Some(Host::Ipv4(address)) => Place::Addresses(vec![IpAddr::V4(address)]),
            Some(Host::Ipv6(address)) => Place::Addresses(vec![IpAddr::V6(address)]),
            // RFC 6761 section 6.3: these names are the loopback address, whatever the DNS says.
            Some(Host::Domain(name)) if is_localhost(absolute(name)) => {
                Place::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
            }
            Some(Host::Domain(name)) => Place::Name(absolute(name).to_owned()),
            None => Place::Addresses(Vec::new()),
        }
    }
}

/// A name without the dot that says that it is absolute: all of ours are.
fn absolute(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Letters, digits, hyphens and underscores in labels of a length that the DNS can hold.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(plain);
    name.len() <= NAME_MAX && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_kept_as_they_are_understood() {
        for (given, kept) in [
            ("https://hooks.example.com", "https://hooks.example.com/"),
            ("HTTP://Hooks.Example.com:80/a b".replace(' ', "%20").as_str(), "http://hooks.example.com/a%20b"),
            ("https://hooks.example.com:8443/x?y=z#part", "https://hooks.example.com:8443/x?y=z"),
            ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
            ("https://hooks.example.com./x", "https://hooks.example.com./x"),
            ("https://hooks.example.com/'\"<>", "https://hooks.example.com/'%22%3C%3E"),
        ] {
            let target = Target::parse(given).unwrap();
            assert_eq!(target.as_str(), kept);
            assert!(kept.is_ascii());
            assert_eq!(Target::parse(kept), Ok(target));
        }
        let target = Target::parse("https://Hooks.Example.com.:8443/x?y#z").unwrap();
        assert_eq!(target.lane(), "hooks.example.com:8443");
        assert_eq!((target.authority(), target.path()), ("hooks.example.com.:8443", "/x?y"));
        assert_eq!(target.certified(), "hooks.example.com");
        assert_eq!(target.place(), Place::Name("hooks.example.com".into()));
        assert_eq!(Target::parse("http://[2001:db8::1]:80/").unwrap().certified(), "2001:db8::1");
    }

    #[test]
    fn what_is_no_receiver_is_refused() {
        let long = format!("https://example.com/{}", "a".repeat(URL_MAX));
        let grows = format!("https://example.com/{}", "ä".repeat(900));
        let label = format!("https://{}.example/", "a".repeat(64));
        for (text, why) in [
            ("", Refused::Malformed),
            ("hooks.example.com", Refused::Malformed),
            ("https://", Refused::Malformed),
            (" https://example.com/", Refused::Malformed),
            ("https://exa\r\nmple.com/", Refused::Malformed),
            ("https://example.com/\0", Refused::Malformed),
            ("https://a..example/", Refused::Malformed),
            ("https://a%00.example/", Refused::Malformed),
            ("https://999.1.1.1/", Refused::Malformed),
            (&label, Refused::Malformed),
            (&long, Refused::TooLong),
            (&grows, Refused::TooLong),
            ("ftp://example.com/", Refused::Scheme),
            ("file:///etc/passwd", Refused::Scheme),
            ("gopher://example.com/", Refused::Scheme),
            ("javascript:alert(1)", Refused::Scheme),
            ("https://user@example.com/", Refused::Credentials),
            ("https://:secret@example.com/", Refused::Credentials),
            ("http://a@127.0.0.1:80\\@example.com/", Refused::Credentials),
            ("http://example.com:25/", Refused::Port),
            ("http://example.com:0/", Refused::Port),
            ("http://example.com:22/", Refused::Port),
            ("http://example.com:6667/", Refused::Port),
        ] {
            assert_eq!(Target::parse(text), Err(why), "{text:?}");
        }
    }
}
