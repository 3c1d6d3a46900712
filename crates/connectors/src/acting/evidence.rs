//! What a response must show before something counts as done: a proxy may cut a response, and a host that is no longer the
//! platform may answer everything with `{}`.

use serde_json::Value;

use crate::answer::{Fault, Judged};
use crate::request::Response;

/// Response that a call may have besides one that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptiness {
    /// None but 204, which has no body.
    Forbidden,
    /// No body.
    Bodiless,
    /// No body, or an empty object or array.
    Empty,
}

/// Refuses a successful response that is cut, or says less than the platform's responses do.
pub(super) fn check(judged: &Judged, response: &Response, may_be: Emptiness) -> Result<(), Fault> {
    let raw = response.body.trim_ascii();
    let is_cut = match &judged.body {
        Value::Null => !raw.is_empty() && raw != b"null",
        // Where the platform sends plain text, JSON that is cut is read as one.
        Value::String(_) => matches!(raw.first(), Some(b'{' | b'[')),
        _ => false,
    };
    if is_cut {
        return Err(unreadable(response, "the response is cut, or not one of the platform"));
    }
    let is_fine = match &judged.body {
        Value::Null => response.status == 204 || may_be != Emptiness::Forbidden,
        Value::String(text) if text.is_empty() => may_be != Emptiness::Forbidden,
        Value::Object(members) => !members.is_empty() || may_be == Emptiness::Empty,
        Value::Array(items) => !items.is_empty() || may_be == Emptiness::Empty,
        _ => true,
    };
    if is_fine { Ok(()) } else { Err(unreadable(response, "the response says nothing, unlike those of the platform")) }
}

fn unreadable(response: &Response, message: &str) -> Fault {
    Fault { status: response.status, ..Fault::unreadable(message) }
}
