//! Response of the service under test, with assertions about every response.

use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};

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

    /// Returns a header that is a whole number.
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

    /// Returns the body. Asserts the status.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// Asserts an error. Returns its message.
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

    /// Returns the reason of a verdict.
    #[track_caller]
    pub(crate) fn reason(&self) -> String {
        self.ok(200)["reason"].as_str().unwrap().to_owned()
    }

    /// Returns the response without the parts that differ between requests: request ID and state of the rate limits.
    pub(crate) fn without_request(&self) -> (u16, Vec<(String, String)>, String) {
        let id = self.header("x-request-id").unwrap();
        let volatile = ["x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"];
        let named = self.headers.iter().filter(|(name, _)| !volatile.contains(&name.as_str()));
        let mut headers: Vec<_> =
            named.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        headers.sort();
        (self.status, headers, self.text().replace(id, "req_"))
    }

    /// Asserts specification 2.8 and 7: every response has a request ID, and every error has the envelope with the type of its
    /// status.
    #[track_caller]
    pub(super) fn assert_common(&self, to_head: bool, path: &str) {
        let id = self.header("x-request-id").expect("every answer has an id");
        assert!(id.starts_with("req_") && id.len() > 20, "{id}");
        assert!(self.headers.contains_key("cache-control"), "{self:?}");
        if self.status == 401 {
            assert!(self.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{self:?}");
        }
        if self.status == 429 && path.starts_with("/app/") && !path.starts_with("/app/v1") {
            // Responses to sign-in attempts do not reveal how many are left.
            assert!((1..=300).contains(&self.number("retry-after")), "{self:?}");
        } else if self.status == 429 && path.starts_with("/hooks/") {
            // Responses to senders of events do not either.
            assert!((1..=60).contains(&self.number("retry-after")), "{self:?}");
        } else if self.status == 429 && path.starts_with("/v1/widget/") {
            // Visitors do not learn which limit they reached, or its value.
            assert_eq!(self.number("retry-after"), 60, "{self:?}");
            assert!(!self.headers.contains_key("x-ratelimit-limit"), "{self:?}");
        } else if self.status == 429 {
            assert!((1..=60).contains(&self.number("retry-after")), "{self:?}");
            for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
                assert!(self.headers.contains_key(name), "{name}: {self:?}");
            }
        }
        // Browsers open these links.
        let is_page = self.status == 404 && path.starts_with("/unsubscribe/");
        if to_head || self.status < 400 || is_page {
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
