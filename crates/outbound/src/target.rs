//! URL of a request, as far as its text determines it.
//!
//! The URL is parsed by the rules of browsers (WHATWG URL) and serialized again, and only the parsed form is used.
//! `0x7f.1`, `2130706433` and `①②⑦.0.0.1` therefore mean 127.0.0.1, and the host of `http://a@127.0.0.1:80\@example.com/`
//! is not example.com. The [guard](super::guard) decides whether the host may be dialed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Maximum length of the URL of a webhook endpoint, in bytes.
pub const URL_MAX: usize = 2_048;
/// Maximum length of a host name, in bytes (RFC 1035 section 2.3.4).
const NAME_MAX: usize = 253;
/// Maximum length of a label, in bytes.
const LABEL_MAX: usize = 63;
/// Lowest port that is allowed, except for the two web ports.
const UNPRIVILEGED: u16 = 1_024;
/// Refused ports above [`UNPRIVILEGED`], where an HTTP request could control a server of another protocol: the "bad ports"
/// of the Fetch standard (section 2.9).
const BAD_PORTS: &[u16] = &[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Reason why a text is not a valid webhook URL. The messages are for customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetRefusal {
    /// Not a URL, or its host is not a possible DNS name.
    #[error("must be a URL such as https://hooks.example.com/probity")]
    Malformed,
    /// Longer than [`URL_MAX`].
    #[error("may have at most 2048 bytes")]
    TooLong,
    /// Scheme other than http and https, or http although the operator requires https.
    #[error("must begin with https:// or, where this installation allows it, http://")]
    Scheme,
    /// User name or password in the URL.
    #[error("must not contain a user name or a password")]
    Credentials,
    /// Port not for HTTP.
    #[error("must use port 80, 443 or a port above 1023 that no other protocol uses")]
    Port,
    /// Host that is, or resolves to, an address outside the public internet.
    #[error("must not lead to a private, loopback, link-local or otherwise special address")]
    Special,
}

/// Parsed URL of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    url: Url,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetHost {
    /// Literal addresses, which need no lookup.
    Addresses(Vec<IpAddr>),
    /// Absolute name, in lowercase A-labels, without the final dot.
    Name(String),
}

impl HttpTarget {
    /// Parses the URL of a webhook endpoint.
    pub fn parse(text: &str) -> Result<Self, TargetRefusal> {
        let target = Self::parse_within(text, URL_MAX)?;
        if target.has_web_port() { Ok(target) } else { Err(TargetRefusal::Port) }
    }

    /// Parses a URL of at most `bytes_max` bytes, with any port. A fragment is dropped, because receivers never get one.
    pub fn parse_within(text: &str, bytes_max: usize) -> Result<Self, TargetRefusal> {
        if text.len() > bytes_max {
            return Err(TargetRefusal::TooLong);
        }
        // The URL standard strips blanks at the ends and line breaks inside, but a text with them is not meant as a URL.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(TargetRefusal::Malformed);
        }
        let mut url = Url::parse(text).map_err(|_| TargetRefusal::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TargetRefusal::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetRefusal::Credentials);
        }
        url.set_fragment(None);
        if url.as_str().len() > bytes_max {
            return Err(TargetRefusal::TooLong);
        }
        let port = url.port_or_known_default().ok_or(TargetRefusal::Malformed)?;
        let target = Self { url, port };
        match target.url.host() {
            None => Err(TargetRefusal::Malformed),
            Some(Host::Domain(name)) if !is_name(absolute(name)) => Err(TargetRefusal::Malformed),
            Some(_) => Ok(target),
        }
    }

    /// Returns the URL as stored: ASCII, at most [`URL_MAX`] bytes, and parsed to the same target.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns whether the port is a web port, or one that no other protocol uses.
    pub(super) fn has_web_port(&self) -> bool {
        (self.port >= UNPRIVILEGED || matches!(self.port, 80 | 443)) && !BAD_PORTS.contains(&self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns host and port as in the `Host` field of a request, without the scheme's default port.
    pub fn authority(&self) -> &str {
        &self.url[url::Position::BeforeHost..url::Position::AfterPort]
    }

    /// Returns path and query.
    pub fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Returns host and port, as `host:port`, without the final dot of an absolute name.
    pub fn lane(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{}:{}", absolute(host), self.port)
    }

    /// Returns the host as in a certificate.
    pub(super) fn certified(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        absolute(host.trim_start_matches('[').trim_end_matches(']'))
    }

    pub(super) fn place(&self) -> TargetHost {
        match self.url.host() {
            Some(Host::Ipv4(address)) => TargetHost::Addresses(vec![IpAddr::V4(address)]),
            Some(Host::Ipv6(address)) => TargetHost::Addresses(vec![IpAddr::V6(address)]),
            // RFC 6761 §6.3: these names are the loopback address, regardless of the DNS.
            Some(Host::Domain(name)) if is_localhost(absolute(name)) => {
                TargetHost::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
            }
            Some(Host::Domain(name)) => TargetHost::Name(absolute(name).to_owned()),
            None => TargetHost::Addresses(Vec::new()),
        }
    }
}

/// Removes the final dot of an absolute name. All names here are absolute.
fn absolute(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns whether a name has only letters, digits, hyphens and underscores, in labels of valid length.
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
            let target = HttpTarget::parse(given).unwrap();
            assert_eq!(target.as_str(), kept);
            assert!(kept.is_ascii());
            assert_eq!(HttpTarget::parse(kept), Ok(target));
        }
        let target = HttpTarget::parse("https://Hooks.Example.com.:8443/x?y#z").unwrap();
        assert_eq!(target.lane(), "hooks.example.com:8443");
        assert_eq!((target.authority(), target.path()), ("hooks.example.com.:8443", "/x?y"));
        assert_eq!(target.certified(), "hooks.example.com");
        assert_eq!(target.place(), TargetHost::Name("hooks.example.com".into()));
        assert_eq!(HttpTarget::parse("http://[2001:db8::1]:80/").unwrap().certified(), "2001:db8::1");
    }

    #[test]
    fn what_is_no_receiver_is_refused() {
        let long = format!("https://example.com/{}", "a".repeat(URL_MAX));
        let grows = format!("https://example.com/{}", "ä".repeat(900));
        let label = format!("https://{}.example/", "a".repeat(64));
        for (text, why) in [
            ("", TargetRefusal::Malformed),
            ("hooks.example.com", TargetRefusal::Malformed),
            ("https://", TargetRefusal::Malformed),
            (" https://example.com/", TargetRefusal::Malformed),
            ("https://exa\r\nmple.com/", TargetRefusal::Malformed),
            ("https://example.com/\0", TargetRefusal::Malformed),
            ("https://a..example/", TargetRefusal::Malformed),
            ("https://a%00.example/", TargetRefusal::Malformed),
            ("https://999.1.1.1/", TargetRefusal::Malformed),
            (&label, TargetRefusal::Malformed),
            (&long, TargetRefusal::TooLong),
            (&grows, TargetRefusal::TooLong),
            ("ftp://example.com/", TargetRefusal::Scheme),
            ("file:///etc/passwd", TargetRefusal::Scheme),
            ("gopher://example.com/", TargetRefusal::Scheme),
            ("javascript:alert(1)", TargetRefusal::Scheme),
            ("https://user@example.com/", TargetRefusal::Credentials),
            ("https://:secret@example.com/", TargetRefusal::Credentials),
            ("http://a@127.0.0.1:80\\@example.com/", TargetRefusal::Credentials),
            ("http://example.com:25/", TargetRefusal::Port),
            ("http://example.com:0/", TargetRefusal::Port),
            ("http://example.com:22/", TargetRefusal::Port),
            ("http://example.com:6667/", TargetRefusal::Port),
        ] {
            assert_eq!(HttpTarget::parse(text), Err(why), "{text:?}");
        }
    }
}
