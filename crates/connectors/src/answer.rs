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

/// Parses a JSON body; null if it is not JSON.
pub(crate) fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
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
