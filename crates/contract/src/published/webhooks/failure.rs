//! Causes of delivery attempts without a response.

use std::fmt;

/// Reason why an attempt got no response, for the operator. Customers get [`DeliveryFailure::PUBLIC`] for failures of the
/// endpoint, because the differences would reveal the operator's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryFailure {
    /// The guard rejected the address; no connection was attempted.
    Blocked,
    /// The host name has no addresses.
    Unresolved,
    /// The connection was refused, or there is no route.
    Refused,
    /// The connection was not established in time.
    Timeout,
    /// The request was sent, but got no response in time.
    Unanswered,
    /// The TLS handshake failed, or the certificate does not match the host.
    Tls,
    /// The connection broke, or the response was not HTTP or exceeded a limit.
    Broken,
    /// This machine is at its limits, or the database is unavailable. The failure is not the endpoint's and does not count as
    /// an attempt.
    Local,
    /// The request could not be built or signed, because stored data cannot be read here.
    Unmade,
}

impl DeliveryFailure {
    /// Text for customers.
    pub const PUBLIC: &'static str = "the endpoint could not be reached";
    /// Text for customers about [`DeliveryFailure::Unmade`], which reveals nothing about a network.
    pub const PUBLIC_UNMADE: &'static str = "the message could not be created";

    /// Text for customers about an endpoint that redirects.
    pub const REDIRECT: &'static str =
        "the endpoint redirects, and redirects are not followed: enter the target as the URL";

    /// Returns the name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Unresolved => "unresolved",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Unanswered => "unanswered",
            Self::Tls => "tls",
            Self::Broken => "broken",
            Self::Local => "local",
            Self::Unmade => "unmade",
        }
    }

    /// Returns the text for customers about a failure with this name.
    pub fn public(name: &str) -> &'static str {
        if name == Self::Unmade.as_str() { Self::PUBLIC_UNMADE } else { Self::PUBLIC }
    }
}

impl fmt::Display for DeliveryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
