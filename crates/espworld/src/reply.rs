//! Reply of a platform.

use serde_json::Value;

use crate::limits::EspExcess;

/// Part of a body of 10 GB, in bytes, and the number of parts.
const FLOOD_PART: usize = 64 << 10;
const FLOOD_TIMES: u32 = 10 << 14;

/// Media type of JSON.
pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// Reply of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EspReply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Number of times that the body is sent.
    pub times: u32,
    /// Fault in the form of the call, caused by the caller and not by the account.
    pub blame: Option<String>,
}

impl EspReply {
    /// Returns a JSON reply.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, JSON, body.to_string())
    }

    /// Returns a reply with a body of the given media type.
    pub(crate) fn text(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        Self { status, headers, body: body.into(), times: 1, blame: None }
    }

    /// Returns a reply without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), times: 1, blame: None }
    }

    /// Makes the body one of 10 GB.
    pub(crate) fn flooding(self) -> Self {
        // 204 would have no body.
        let status = if self.status == 204 { 200 } else { self.status };
        Self { status, body: vec![b' '; FLOOD_PART], times: FLOOD_TIMES, ..self }
    }

    /// Returns a web page, as a proxy in front of the platform sends it.
    pub(crate) fn page(status: u16, title: &str) -> Self {
        let body =
            format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>");
        Self::text(status, "text/html; charset=UTF-8", body)
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.headers.push((name.to_owned(), format!("{value}")));
        self
    }

    /// Adds the headers of a used-up limit: its size, what is left of it, and the wait in seconds.
    pub(crate) fn counting(self, excess: &EspExcess, [limit, left, wait]: [&str; 3]) -> Self {
        self.with(limit, excess.limit.max).with(left, 0).with(wait, excess.seconds())
    }

    /// Replaces the media type of the body.
    pub(crate) fn of_kind(mut self, kind: &str) -> Self {
        self.headers.retain(|(name, _)| name != "Content-Type");
        self.with("Content-Type", kind)
    }

    /// Records a fault in the form of the call.
    pub(crate) fn blaming(mut self, what: impl Into<String>) -> Self {
        self.blame = Some(what.into());
        self
    }

    /// Returns whether the body is plain text, perhaps under the type of a web page.
    pub(crate) fn is_text(&self) -> bool {
        let is_of =
            |kind: &str| self.headers.iter().any(|(name, value)| name == "Content-Type" && value.starts_with(kind));
        is_of("text/plain") || is_of("text/html") && !self.body.starts_with(b"<")
    }

    /// Returns whether the platform acted as requested.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
