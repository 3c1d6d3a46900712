//! What came back, and what holds for all that comes back.

use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// A header that is a whole number.
    #[track_caller]
    pub(crate) fn number(&self, name: &str) -> i64 {
        self.header(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).parse().unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// Asserts an error, and returns its message.
    #[track_caller]
    pub(crate) fn error(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert_eq!(body["error"]["code"], code, "{body}");
        body["error"]["message"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn assert_status(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.text());
    }

    /// The reason of a verdict.
    #[track_caller]
    pub(crate) fn reason(&self) -> String {
        self.ok(200)["reason"].as_str().unwrap().to_owned()
    }

    /// The whole answer without what differs from request to request: its id, and the state of the caller's limits.
    pub(crate) fn without_request(&self) -> (u16, Vec<(String, String)>, String) {
        let id = self.header("x-request-id").unwrap();
        let volatile = ["x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"];
        let named = self.headers.iter().filter(|(name, _)| !volatile.contains(&name.as_str()));
        let mut headers: Vec<_> =
            named.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        headers.sort();
        (self.status, headers, self.text().replace(id, "req_"))
    }

    /// Specification 2.8 and 7: every answer has an id, every error the envelope, its type by its status.
    #[track_caller]
    pub(super) fn assert_common(&self, to_head: bool, path: &str) {
        let id = self.header("x-request-id").expect("every answer has an id");
        assert!(id.starts_with("req_") && id.len() > 20, "{id}");
        assert!(self.headers.contains_key("cache-control"), "{self:?}");
        if self.status == 401 {
            assert!(self.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{self:?}");
        }
        if self.status == 429 && path.starts_with("/app/") && !path.starts_with("/app/v1") {
            // Of attempts to sign in nobody is told how many are left.
            assert!((1..=300).contains(&self.number("retry-after")), "{self:?}");
        } else if self.status == 429 && path.starts_with("/v1/widget/") {
            // Visitors are not told whose limit it was, nor how much of it there is.
            assert_eq!(self.number("retry-after"), 60, "{self:?}");
            assert!(!self.headers.contains_key("x-ratelimit-limit"), "{self:?}");
        } else if self.status == 429 {
            assert!((1..=60).contains(&self.number("retry-after")), "{self:?}");
            for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
                assert!(self.headers.contains_key(name), "{name}: {self:?}");
            }
        }
        if to_head || self.status < 400 {
            return;
        }
        let body = self.json();
        let error = &body["error"];
        assert_eq!(
            body,
            json!({"error": {"code": error["code"], "message": error["message"], "type": kind(self.status), "request_id": id}})
        );
        assert!(error["code"].is_string() && error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
    }
}

fn kind(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        402 => "billing_error",
        404 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}
