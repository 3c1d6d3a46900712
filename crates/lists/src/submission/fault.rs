//! Errors of a submission, and their messages to the client.
//!
//! Messages name the place (index, line, field), never its content: it may be an address.

use thiserror::Error;

use crate::submission::DEPTH_MAX;

/// Reason why a body is not a submission.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubmissionFault {
    /// Invalid JSON at this byte, counted from 0.
    #[error("the body is not JSON (byte {0})")]
    NotJson(usize),
    /// The body ends within its JSON value.
    #[error("the body ends in the middle of its JSON, or is empty")]
    Cut,
    /// JSON, but not an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// Arrays and objects are nested too deeply.
    #[error("the body may nest arrays and objects at most {DEPTH_MAX} deep")]
    TooDeep,
    /// The name of an object's member cannot be read.
    #[error("a field name in the body {0}")]
    Name(&'static str),
    /// A member of the object is missing or invalid.
    #[error("{0}: {1}")]
    Member(&'static str, &'static str),
    /// An element of `emails`, counted from 0, is invalid.
    #[error("emails[{0}]: {1}")]
    Element(usize, &'static str),
    /// A line of CSV or NDJSON, counted from 1, is invalid.
    #[error("line {0}: {1}")]
    Line(u64, &'static str),
    /// CSV or NDJSON in UTF-16, which cannot be read.
    #[error("the body must be UTF-8, not UTF-16")]
    Utf16,
    /// CSV or NDJSON without addresses.
    #[error("the body has no address")]
    NoRows,
    /// More addresses than a submission may have.
    #[error("at most {0} addresses may be submitted at once")]
    TooMany(usize),
}
