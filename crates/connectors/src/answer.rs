//! Classification of responses. Every response is classified before any conclusion is drawn from it.
//!
//! The action's rules come first, then the file's, then the defaults. Overload is never a credential error, and an HTML
//! page is never a response of the platform.

mod classify;
mod records;
mod wait;

use serde_json::Value;

pub(crate) use classify::{AnswerJudge, Judged};
pub(crate) use records::{RawRecord, records};
pub use wait::retry_after_ms;

use crate::file::{ConnectorFile, ErrorClass};

/// Failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub class: ErrorClass,
    /// Response status; 0 if the fault did not come from a response.
    pub status: u16,
    /// Wait that the platform requests, in milliseconds.
    pub wait_ms: Option<i64>,
    /// Message of the platform or of this crate, without credentials and addresses.
    pub message: String,
}

impl Fault {
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Unreadable, status: 0, wait_ms: None, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Invalid, status: 0, wait_ms: None, message: message.into() }
    }
}

impl From<crate::template::UnfitValue> for Fault {
    /// An unfit value of a contact affects that contact only; any other is a fault of the file.
    fn from(unfit: crate::template::UnfitValue) -> Self {
        let class = if unfit.family.is_foreign() { ErrorClass::Refused } else { ErrorClass::Invalid };
        Self { class, status: 0, wait_ms: None, message: unfit.message() }
    }
}

/// Parses a JSON body; null if it is not JSON. Half of a surrogate pair, which a cut name ends with, becomes U+FFFD: a JSON text
/// may have it (RFC 8259 §8.2), and one name must not make all others unreadable.
pub(crate) fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).or_else(|_| serde_json::from_slice(&without_halves(body))).unwrap_or(Value::Null)
}

/// Replaces the escapes of surrogates that are not in a pair.
fn without_halves(body: &[u8]) -> Vec<u8> {
    let mut whole = body.to_vec();
    let mut at = 0;
    while let Some(escaped) = whole.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += escaped;
        at += match (surrogate(&whole, at), surrogate(&whole, at + 6)) {
            (Some(true), Some(false)) => 12,
            (Some(_), _) => {
                whole[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            (None, _) => 2,
        };
    }
    whole
}

/// Returns whether the escape at a place is the first half of a pair; `None` if it is no surrogate.
fn surrogate(body: &[u8], at: usize) -> Option<bool> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    matches!(unit, 0xd800..=0xdfff).then_some(unit < 0xdc00)
}

/// Parses a body like [`json`]. Where the platform sends plain text, a body that is not JSON is a text.
pub(crate) fn content(file: &ConnectorFile, body: &[u8]) -> Value {
    let is_page = body.trim_ascii_start().starts_with(b"<");
    match json(body) {
        Value::Null if file.http.plain && !is_page => {
            std::str::from_utf8(body).map_or(Value::Null, |text| Value::String(text.trim().to_owned()))
        }
        body => body,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn half_of_a_pair_makes_no_answer_unreadable() {
        let body = br#"{"a": "Ann \ud83d", "b": "\udc00\ud83d\ude00", "c": "\\ud83d", "d": "\ud83d\n"}"#;
        let halves = json!({"a": "Ann \u{fffd}", "b": "\u{fffd}\u{1f600}", "c": "\\ud83d", "d": "\u{fffd}\n"});
        assert_eq!(super::json(body), halves);
        for broken in [&br#"{"a": "\ud83d"#[..], br#"{"a": "\ud8"}"#, b"\\", b"{\"a\": \"\\u"] {
            assert!(super::json(broken).is_null());
        }
    }
}
