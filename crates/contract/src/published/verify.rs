//! Queries of `GET /v1/verify` and of widget checks, and the verdict in responses.

#[cfg(test)]
mod tests;
pub mod verdict;

use probity_mail::address::trimmed;
use probity_mail::verdict::Verification;
use probity_mail::verdict::view::VerdictView;
use serde::{Serialize, Serializer};
use utoipa::openapi::Required;

use crate::error::ApiError;
use crate::parameters::{EMAIL_BYTES_MAX, describe_query, email, flag, timeout};
use crate::query::{FromQuery, Query};

/// Default timeout of a call, in seconds.
const TIMEOUT_S: f64 = 20.0;

/// Address in a query, as sent.
#[derive(Clone)]
pub struct AddressQuery {
    pub email: String,
}

impl AddressQuery {
    /// Returns the address; `None` if it is omitted. An empty one is not omitted: it is an error.
    pub(super) fn in_query(query: &Query) -> Result<Option<Self>, ApiError> {
        let Some(email) = query.text("email")? else { return Ok(None) };
        if trimmed(&email).is_empty() {
            return Err(ApiError::invalid("email", "must not be empty"));
        }
        if email.len() > EMAIL_BYTES_MAX {
            return Err(ApiError::invalid("email", format_args!("may have at most {EMAIL_BYTES_MAX} bytes")));
        }
        Ok(Some(Self { email: email.into_owned() }))
    }
}

impl FromQuery for AddressQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Self::in_query(query)?.ok_or_else(|| ApiError::invalid("email", "is required; send the address to verify"))
    }
}

/// Query of a verification.
#[derive(Clone)]
pub struct VerifyQuery {
    /// Address as sent.
    pub email: String,
    /// Whether to include the evidence.
    pub explain: bool,
    /// Timeout in seconds, above 0. The installation's maximum is applied later.
    pub timeout_s: f64,
}

impl FromQuery for VerifyQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let AddressQuery { email } = AddressQuery::from_query(query)?;
        let explain = query.flag("explain")?;
        let timeout_s = query.number("timeout")?.unwrap_or(TIMEOUT_S);
        if timeout_s <= 0.0 {
            return Err(ApiError::invalid("timeout", "must be a number of seconds above zero"));
        }
        Ok(Self { email, explain, timeout_s })
    }
}

describe_query! { VerifyQuery:
    "email" (.required(Required::True)) = "Address to verify, at most 1,024 bytes. A raw `+` is a plus, and surrounding white space \
        and invisible characters are removed. Text that is not an address gets the verdict `invalid`.", email(), "valid@sandbox.test";
    "timeout" = "Seconds to wait: an integer or a decimal above 0, default 20; values above 60 count as 60. After that time, the \
        verdict is `unknown`/`unverified`.", timeout(), 20;
    "explain" = "Whether to add `evidence` to the verdict.", flag(), true;
}

/// Verdict in a response; [`super::verify::verdict::VerdictSchema`] describes its JSON.
pub struct ShownVerdict {
    pub verification: Verification,
    /// Whether to include the evidence.
    pub explained: bool,
}

impl Serialize for ShownVerdict {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let of = if self.explained { VerdictView::explained } else { VerdictView::brief };
        of(&self.verification).serialize(to)
    }
}

/// Query of a widget check.
#[derive(Clone)]
pub struct WidgetCheckQuery {
    /// Address as sent.
    pub email: String,
    /// Nonce that the check uses up.
    pub nonce: String,
}

impl FromQuery for WidgetCheckQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let AddressQuery { email } = AddressQuery::from_query(query)?;
        let nonce = query.text("nonce")?;
        let nonce = nonce.ok_or_else(|| ApiError::invalid("nonce", "is required; get one from /v1/widget/nonce"))?;
        Ok(Self { email, nonce: nonce.into_owned() })
    }
}
