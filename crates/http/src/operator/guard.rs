//! Guard of the operator's API: one key, in the header, compared in constant time.
//!
//! Refused keys are counted per address, separately from those of the API: an address has ten guesses per minute. Guesses of
//! others never block the right key. Pages of other origins never have access: responses have no CORS headers, and there is no
//! cookie to abuse.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use probity_access::limits::LimitBucket;
use probity_contract::error::{ApiError, Code};
use probity_telemetry::metrics::{AuthFailure, LimitedBy};
use ring::digest::{SHA256, digest};
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;

use crate::callers::auth;
use crate::edge::shell::assure;
use crate::error::Refusal;
use crate::operator::Operator;

/// Refused keys per minute from one address, before it has to wait.
pub(crate) const FAILURES_PER_MINUTE: u32 = 10;

/// Requires the operator key.
pub(crate) async fn guard(State(operator): State<Arc<Operator>>, request: Request, next: Next) -> Response {
    match admitted(&operator, &request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn admitted(operator: &Operator, request: &Request) -> Result<(), Refusal> {
    let app = &operator.app;
    let Some(given) = auth::bearer(request.headers()) else {
        app.metrics.accounts().auth_failed(AuthFailure::Missing);
        return Err(ApiError::of(Code::MissingApiKey).into());
    };
    // Hashes have equal lengths for any input, so that not even the key's length is revealed.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    if bool::from(hash(&given).as_ref().ct_eq(hash(operator.key.expose_secret()).as_ref())) {
        return Ok(());
    }
    app.metrics.accounts().auth_failed(AuthFailure::Unknown);
    let now = app.now();
    let count = |ip| app.limits.take_here(LimitBucket::OperatorFailures(ip), FAILURES_PER_MINUTE, now);
    let refused = auth::from(app, request).map(count);
    match refused.as_ref().and_then(|state| state.retry_after_s(now)) {
        Some(retry_after_s) => {
            app.metrics.accounts().limited(LimitedBy::Address);
            assure(request.extensions(), refused.iter().flat_map(auth::shown).collect());
            Err(ApiError::rate_limited(retry_after_s).into())
        }
        None => Err(ApiError::invalid_api_key().into()),
    }
}
