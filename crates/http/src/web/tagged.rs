//! Static bodies: compressed for clients that accept it, and omitted for clients that have them cached.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};

/// Response body with the tag that identifies it in a client's cache.
#[derive(Debug)]
pub(crate) struct TaggedBody {
    kind: HeaderValue,
    tag: HeaderValue,
    plain: Bytes,
    /// Gzip form, created at the first request for it, so that it does not delay the start. `None` if it is not smaller.
    packed: OnceLock<Option<Bytes>>,
}

impl TaggedBody {
    pub(crate) fn new(kind: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let tag = HeaderValue::try_from(format!("\"{}\"", hash([&*plain]))).expect("base64 is plain text");
        Self { kind: HeaderValue::from_static(kind), tag, plain, packed: OnceLock::new() }
    }

    /// Responds to a client, with these headers besides those of the body.
    pub(crate) fn answer(
        &self,
        asked: &HeaderMap,
        own: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Response<Body> {
        let is_known = is_known(asked, self.tag.as_bytes());
        let mut response = Response::default();
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.extend(own);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(CONTENT_TYPE, self.kind.clone());
        let packed = takes_gzip(asked).then(|| self.packed.get_or_init(|| gzip(&self.plain)).clone()).flatten();
        if packed.is_some() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = packed.unwrap_or_else(|| self.plain.clone()).into();
        response
    }
}

fn gzip(plain: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes all");
    (packed.len() < plain.len()).then(|| packed.into())
}

/// Returns 16 bytes of SHA-256 in base64url, for use in a path.
pub(super) fn hash<'t>(parts: impl IntoIterator<Item = &'t [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    parts.into_iter().for_each(|part| context.update(part));
    BASE64_URL_SAFE_NO_PAD.encode(&context.finish().as_ref()[..16])
}

/// Returns whether the client has cached the body with this tag, by weak comparison (RFC 9110 §13.1.2).
fn is_known(asked: &HeaderMap, tag: &[u8]) -> bool {
    let lists = asked.get_all(IF_NONE_MATCH).iter();
    lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b',')).any(|candidate| {
        let candidate = candidate.trim_ascii();
        candidate == b"*" || candidate.strip_prefix(b"W/").unwrap_or(candidate) == tag
    })
}

/// Returns whether to send gzip to a client (RFC 9110 §12.5.3): if it accepts gzip, and does not prefer the plain form. `*`
/// covers codings that are not named.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let lists = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let codings: Vec<(&str, u16)> = lists.flat_map(|list| list.split(',')).map(weighted).collect();
    let weight = |names: &[&str]| {
        let is_named = |name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        codings.iter().find(|(name, _)| is_named(name)).map(|(_, weight)| *weight)
    };
    // RFC 9110 §8.4.1.3 has two names for it.
    let gzip = weight(&["gzip", "x-gzip"]).or_else(|| weight(&["*"])).unwrap_or(0);
    gzip > 0 && weight(&["identity"]).is_none_or(|plain| plain <= gzip)
}

/// Splits a coding from its weight in thousandths; the default is 1,000. A malformed weight counts as 0, because every client
/// accepts the plain form.
fn weighted(coding: &str) -> (&str, u16) {
    let (name, weight) = coding.split_once(';').map_or((coding, None), |(name, weight)| (name, Some(weight)));
    (name.trim(), weight.map_or(1_000, |weight| thousandths(weight.trim()).unwrap_or(0)))
}

/// `q=0.123`: 1 with up to 3 zeros, or 0 with up to 3 digits (RFC 9110 §12.4.2).
fn thousandths(weight: &str) -> Option<u16> {
    let value = weight.strip_prefix("q=").or_else(|| weight.strip_prefix("Q="))?;
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    if part.len() > 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let part = format!("{part:0<3}").parse().ok()?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_in_every_form_that_the_standard_allows() {
        let cases =
            [("\"a\"", true), ("W/\"a\"", true), ("*", true), ("\"b\", W/\"a\"", true), ("\"b\"", false), ("a", false)];
        for (sent, known) in cases {
            let asked = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(sent))]);
            assert_eq!(is_known(&asked, b"\"a\""), known, "{sent}");
        }
        assert!(!is_known(&HeaderMap::new(), b"\"a\""));
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let cases = [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("", false),
            // The star does not cover named codings.
            ("gzip;q=0, *", false),
            ("*, gzip;q=0", false),
            ("*;q=0, gzip;q=0.001", true),
            ("*;q=0", false),
            ("x-gzip", true),
            ("gzip;Q=1.000", true),
            ("gzip ; q=0.5, identity;q=0.5", true),
            ("gzip;q=0.5, identity", false),
            ("gzip, identity;q=0", true),
            // Malformed weights.
            ("gzip;q=", false),
            ("gzip;q=2", false),
            ("gzip;q=0.0001", false),
            ("gzip;q=inf", false),
            ("gzip;level=9", false),
        ];
        for (sent, takes) in cases {
            let asked = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(sent))]);
            assert_eq!(takes_gzip(&asked), takes, "{sent:?}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
