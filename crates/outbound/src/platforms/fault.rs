//! Call without a response: the cause, whether the platform may have acted, and when to retry.

use probity_connectors::{ErrorClass, Fault};

/// Cause of a missing response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallCause {
    /// The host, its address or plain HTTP is not allowed.
    Blocked,
    /// The name of the host has no address.
    Unresolved,
    /// The host accepts no connection.
    Unreachable,
    /// The host has no trusted certificate, or no TLS.
    Tls,
    /// No response in time.
    Timeout,
    /// The connection broke, or the response is not HTTP.
    Broken,
    /// The account's rate limits allow no request soon, or the platform requested a wait.
    Later,
    /// The node is at its own limits.
    Local,
    /// The request cannot be written as HTTP.
    Unfit,
}

/// Call without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFault {
    pub cause: CallCause,
    /// Whether the request may have reached the platform. If not, repeating it cannot act twice.
    pub may_have_acted: bool,
    /// Wait before the next call, in milliseconds, if known.
    pub wait_ms: Option<i64>,
}

/// Reason why a platform gave no access token.
#[derive(Debug)]
pub enum NoGrant {
    /// The platform's response, or a call without one.
    Fault(Fault),
    /// The host was not reached, so its URL may be wrong.
    Unreached(Fault),
}

impl From<Fault> for NoGrant {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl CallFault {
    /// Returns whether the host was not reached, so its URL may be wrong.
    pub(super) fn is_unreached(&self) -> bool {
        matches!(self.cause, CallCause::Blocked | CallCause::Unresolved | CallCause::Unreachable | CallCause::Tls)
    }

    /// Returns the error class by which a machine's caller handles this call.
    pub fn class(&self) -> ErrorClass {
        match self.cause {
            CallCause::Later => ErrorClass::Throttled,
            CallCause::Blocked => ErrorClass::Unreadable,
            CallCause::Unfit => ErrorClass::Invalid,
            CallCause::Unresolved
            | CallCause::Unreachable
            | CallCause::Tls
            | CallCause::Timeout
            | CallCause::Broken
            | CallCause::Local => ErrorClass::Transient,
        }
    }

    /// Converts to a fault of the machines, with a message for the customer that names `provider`.
    pub fn fault(&self, provider: &str) -> Fault {
        let message = match self.cause {
            CallCause::Blocked => {
                format!("connections to the host of {provider} are not allowed; the operator can allow them")
            }
            CallCause::Unresolved => format!("the host of {provider} was not found"),
            CallCause::Unreachable => format!("the host of {provider} accepts no connection"),
            CallCause::Tls => format!("the host of {provider} has no valid certificate"),
            CallCause::Timeout => format!("{provider} did not answer in time"),
            CallCause::Broken => format!("the connection to {provider} broke before the response was complete"),
            CallCause::Later => format!("the rate limits of {provider} are used up; try again later"),
            CallCause::Local => "this service is busy; try again".to_owned(),
            CallCause::Unfit => format!("the request is not valid HTTP; the connector file of {provider} is wrong"),
        };
        Fault { class: self.class(), status: 0, wait_ms: self.wait_ms, message }
    }
}
