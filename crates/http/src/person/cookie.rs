//! The two cookies: a session's token, and the mark of a browser that has signed in before.
//!
//! Over https both are `__Host-` cookies (RFC 6265bis §4.1.3): no other host can set them, and they never travel in the clear.
//! Without https browsers refuse such names; then plain ones are used, on loopback and in private networks only, and elsewhere
//! nobody can sign in.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_account::id::UserId;
use probity_service::error::ApiError;
use probity_service::secrets::Secrets;
use probity_store::OrgNo;
use subtle::ConstantTimeEq as _;
use url::Url;

use crate::error::Refusal;

/// How long a browser keeps its mark, in seconds: what browsers allow at most (RFC 6265bis §5.5).
const DEVICE_KEPT_S: u32 = 400 * 24 * 3_600;

/// How the dashboard is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// By https, or by an address that should be.
    Secure,
    /// By http, within a network where that may be.
    Plain,
    /// By http through the open network.
    Open,
}

impl Transport {
    /// As the operator says or, where nobody says, as the client has found here.
    pub(crate) fn of(public_url: Option<&str>, host: Option<&str>) -> Self {
        match public_url.and_then(|url| Url::parse(url).ok()) {
            Some(url) if url.scheme() == "https" => Self::Secure,
            Some(url) if url.host_str().is_some_and(is_near) => Self::Plain,
            Some(_) => Self::Open,
            // Without https a browser does not keep the cookie of a far host: it cannot be stolen on the way.
            None if host.is_some_and(|host| is_near(without_port(host))) => Self::Plain,
            None => Self::Secure,
        }
    }

    /// Refuses to take passwords through the open network.
    pub(crate) fn check(self) -> Result<Self, Refusal> {
        match self {
            Self::Open => Err(ApiError::forbidden_scope("sign-in needs HTTPS; set server.public_url").into()),
            passing => Ok(passing),
        }
    }

    fn name(self, of: &str) -> String {
        let prefix = if self == Self::Secure { "__Host-" } else { "" };
        format!("{prefix}{of}")
    }

    fn attributes(self) -> &'static str {
        if self == Self::Secure { "Path=/; Secure; HttpOnly; SameSite=Lax" } else { "Path=/; HttpOnly; SameSite=Lax" }
    }
}

/// Whether a host is this machine, or one that only private networks reach.
fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost") || bare.ends_with(".internal"),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

const SESSION: &str = "probity";
const DEVICE: &str = "probity-device";

/// The token of the request's session.
pub(crate) fn session(transport: Transport, headers: &HeaderMap) -> Option<[u8; 32]> {
    let value = value(headers, &transport.name(SESSION))?;
    URL_SAFE_NO_PAD.decode(value).ok()?.try_into().ok()
}

/// The answer's cookie for a session; it ends with the browser, and sooner with the session.
pub(crate) fn set_session(transport: Transport, token: &[u8; 32]) -> HeaderValue {
    let (name, value) = (transport.name(SESSION), URL_SAFE_NO_PAD.encode(token));
    header_of(format!("{name}={value}; {}", transport.attributes()))
}

/// Takes the cookie of a session away.
pub(crate) fn clear_session(transport: Transport) -> HeaderValue {
    header_of(format!("{}=; Max-Age=0; {}", transport.name(SESSION), transport.attributes()))
}

/// The mark of a browser that has signed in as this person before.
pub(crate) fn device(
    transport: Transport,
    headers: &HeaderMap,
    secrets: &Secrets,
    person: (OrgNo, UserId),
) -> Option<[u8; 16]> {
    let mark = URL_SAFE_NO_PAD.decode(value(headers, &transport.name(DEVICE))?).ok()?;
    let (nonce, proof) = mark.split_first_chunk::<16>()?;
    bool::from(secrets.device(person, nonce).as_slice().ct_eq(proof)).then_some(*nonce)
}

/// The answer's mark for a browser that has signed in.
pub(crate) fn set_device(transport: Transport, secrets: &Secrets, person: (OrgNo, UserId)) -> HeaderValue {
    let nonce = probity_service::random::bytes::<16>();
    let mark = [nonce.as_slice(), &secrets.device(person, &nonce)].concat();
    let (name, value) = (transport.name(DEVICE), URL_SAFE_NO_PAD.encode(mark));
    header_of(format!("{name}={value}; Max-Age={DEVICE_KEPT_S}; {}", transport.attributes()))
}

/// The value of a cookie. One that comes twice is none: somebody else has set one of them.
fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

fn header_of(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("a cookie of ours is ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, line.parse().unwrap())).collect()
    }

    #[test]
    fn the_way_decides_the_form() {
        let cases = [
            (Some("https://verify.example.com"), None, Transport::Secure),
            (Some("https://10.0.0.1"), Some("10.0.0.1"), Transport::Secure),
            (Some("http://127.0.0.1:8080"), None, Transport::Plain),
            (Some("http://[::1]:8080"), None, Transport::Plain),
            (Some("http://192.168.7.7"), None, Transport::Plain),
            (Some("http://localhost:8080"), None, Transport::Plain),
            (Some("http://verify.example.com"), None, Transport::Open),
            (Some("http://203.0.113.9"), None, Transport::Open),
            (None, Some("localhost:8080"), Transport::Plain),
            (None, Some("[fd00::1]:8080"), Transport::Plain),
            (None, Some("[::1]"), Transport::Plain),
            (None, Some("verify.example.com"), Transport::Secure),
            (None, Some("localhost.example.com"), Transport::Secure),
            (None, None, Transport::Secure),
        ];
        for (public_url, host, expected) in cases {
            assert_eq!(Transport::of(public_url, host), expected, "{public_url:?} {host:?}");
        }
        assert!(Transport::Open.check().is_err());
    }

    #[test]
    fn a_session_comes_back_from_its_cookie() {
        for (transport, beginning) in [(Transport::Secure, "__Host-probity="), (Transport::Plain, "probity=")] {
            let set = set_session(transport, &[7; 32]);
            let set = set.to_str().unwrap();
            assert!(set.starts_with(beginning), "{set}");
            assert_eq!(set.contains("; Secure"), transport == Transport::Secure, "{set}");
            assert!(set.contains("Path=/") && set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
            assert!(!set.contains("Domain"), "{set}");
            let pair = set.split(';').next().unwrap();
            assert_eq!(session(transport, &with(&["a=b", &format!("c=d; {pair}")])), Some([7; 32]));
            assert_eq!(session(transport, &with(&[pair, pair])), None, "twice");
        }
        for none in ["", "__Host-probity=", "__Host-probity=x", "probity=BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"] {
            assert_eq!(session(Transport::Secure, &with(&[none])), None, "{none}");
        }
    }

    #[test]
    fn a_browsers_mark_is_of_one_person() {
        let secrets = Secrets::of(&[1; 32]);
        let [person, namesake, other] = [(1, 1), (2, 1), (1, 2)].map(|(org, id)| (OrgNo(org), UserId::from_bits(id)));
        let set = set_device(Transport::Secure, &secrets, person);
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        let headers = with(&[&pair]);
        assert!(device(Transport::Secure, &headers, &secrets, person).is_some());
        assert!(device(Transport::Secure, &headers, &secrets, namesake).is_none());
        assert!(device(Transport::Secure, &headers, &secrets, other).is_none());
        assert!(device(Transport::Secure, &headers, &Secrets::of(&[2; 32]), person).is_none());
        let forged = pair.replace('=', "=AAAA");
        assert!(device(Transport::Secure, &with(&[&forged]), &secrets, person).is_none());
    }
}
