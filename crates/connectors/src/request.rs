//! Requests and responses as values, and the rendering of a rule as a request.
//!
//! Escaping depends on the place: path segment, parameter or header. A value that does not fit its place is a fault that
//! names the placeholder. Neither `Debug` output nor a fault contains a credential.

mod credential;
mod jwt;
mod redact;
mod render;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;

use probity_mail::time::Millis;

pub use credential::{CredentialFault, Credentials, HostAllowance};
pub(crate) use jwt::bytes as hex_bytes;
pub(crate) use render::{Rendering, next_address};
pub(crate) use values::Values;

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// Returns the HTTP method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Request to send. Redirects must not be followed, because they would carry the credentials to another host.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    pub url: String,
    /// Path below `http.base`, without the query; compared with the paths of rate limits.
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Body; `None` sends none, which a POST states with `Content-Length: 0`.
    pub body: Option<Vec<u8>>,
    pub timeout_ms: i64,
    /// Maximum response size, in bytes. A larger response must be reported as cut.
    pub body_max: u64,
}

/// Omits header values and the query, which may contain credentials or addresses.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = url::Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let body = self.body.as_ref().map(Vec::len);
        f.debug_struct("Request")
            .field("method", &self.method.name())
            .field("host", &host)
            .field("headers", &headers)
            .field("body_bytes", &body)
            .finish_non_exhaustive()
    }
}

/// Response of the platform.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body exceeded the maximum size.
    pub is_cut: bool,
    /// Time of receipt, for turning dates into waits.
    pub at: Millis,
}

/// Omits the body, which may contain addresses.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
