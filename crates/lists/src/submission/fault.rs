//! What can be wrong with a submission, and what the client is told.
//!
//! Messages name the place (index, line, field), never what stands there: it may be an address.

use crate::encoding;
use thiserror::Error;

use crate::submission::DEPTH_MAX;

/// Why a body is no submission.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A byte, counted from 0, at which no JSON goes on.
    #[error("the body is not JSON (byte {0})")]
    NotJson(u64),
    /// It is over before its JSON value is.
    #[error("the body ends in the middle of its JSON, or is empty")]
    Cut,
    /// JSON, but no object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// Arrays and objects lie too deep in each other.
    #[error("the body nests arrays and objects more than {DEPTH_MAX} deep")]
    TooDeep,
    /// The name of a member of the object cannot be read.
    #[error("the name of a member of the body {0}")]
    Name(&'static str),
    /// A member of the object is missing or is not what it must be.
    #[error("{0}: {1}")]
    Member(&'static str, &'static str),
    /// An element of `emails`, counted from 0, is not what it must be.
    #[error("emails[{0}]: {1}")]
    Element(usize, &'static str),
    /// A line of CSV or NDJSON, counted from 1, is not what it must be.
    #[error("line {0}: {1}")]
    Line(u64, &'static str),
    /// CSV or NDJSON in UTF-16, of which nothing can be read.
    #[error("the body must be UTF-8, not UTF-16")]
    Utf16,
    /// CSV or NDJSON without any address.
    #[error("the body has no address")]
    NoRows,
    /// More addresses than a submission may have.
    #[error("at most {0} addresses may be submitted at once")]
    TooMany(usize),
}

/// Refuses a part of a body that is UTF-16.
pub(super) fn not_wide(part: &[u8]) -> Result<(), Fault> {
    if encoding::is_wide(part) { Err(Fault::Utf16) } else { Ok(()) }
}
