//! `GET /v1/verify`: the verdict about one address, at once.
//!
//! A live key needs a credit before anything is asked, and pays it before the verdict is given, if something was found out:
//! `unverified` and `failed_exchange` are free. Test keys are answered by the sandbox, cost nothing and count nowhere. The
//! verdict is the engine's, whatever the organization's settings are.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use probity_account::credits::is_free;
use probity_engine::Live;
use probity_mail::domain::names_sandbox;
use probity_mail::verdict::Verification;
use probity_mail::verdict::view::VerdictView;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::meter::{Refused, Reservation};
use probity_service::ops::metrics::Origin;
use probity_service::plans;
use probity_service::published::verdict::VerdictSchema;
use probity_service::query::Query;
use probity_store::OrgNo;
use probity_store::usage::Delta;

use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::{EMAIL_BYTES_MAX, VerifyParams};

/// How often a call looks again for a credit, after others took those that were put in.
const COVERED_MAX: usize = 16;
/// How long a caller waits who does not say, in seconds.
const TIMEOUT_S: f64 = 20.0;
/// The rule by which a live engine takes a name of the sandbox for no address.
const SPECIAL_USE: &str = "syntax.special_use";
/// The token that tells whoever asks about a name of the sandbox with a live key: it is for test keys. Nothing was found out, so
/// it is free.
const SANDBOX_NAME: &str = "sandbox_name";

/// The source of a live call in the usage.
fn source(caller: &Caller) -> &'static str {
    match caller {
        Caller::Key(_) => "api",
        Caller::Person(_) | Caller::Staff { .. } => "input",
    }
}

/// Verify an address
///
/// Probes the address's MX hosts, unless a fresh verdict is cached, and returns the verdict. A verdict costs 1 credit,
/// unless its reason is `unverified` or `failed_exchange`. `sandbox.test` is for test keys: a live key gets `invalid`
/// with the meta `sandbox_name`, free of charge.
#[utoipa::path(
    get,
    path = "/v1/verify",
    tag = "Verification",
    params(VerifyParams),
    security(("bearer" = ["verify"])),
    responses((status = 200, description = "The verdict.", body = VerdictSchema))
)]
pub(crate) async fn verify_email(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Response, Refusal> {
    let email = email(&query)?;
    let explain = query.flag("explain")?;
    let live =
        Live { timeout_ms: timeout_ms(&query, app.config.verification_max)?, scope: caller.org().0.unsigned_abs() };
    // Outer white space is no part of the address, yet the answer echoes what was sent.
    let address = email.trim_ascii();
    let (origin, mut verification) = if caller.is_test() {
        (Origin::Sandbox, app.sandbox.verify(address, live).await)
    } else {
        let payer = Payer { org: caller.org(), source: source(&caller), day: app.now().utc_day() };
        (Origin::Live, found(&app, payer, address, live).await?.settle(&app).await?.0)
    };
    app.metrics.verdicts().record(origin, &verification);
    verification.email = email.as_str().into();
    Ok(shown(&verification, explain))
}

/// Who pays for a live verdict, and where it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer {
    pub(crate) org: OrgNo,
    /// The source in the usage.
    pub(crate) source: &'static str,
    /// The day, since 1970-01-01.
    pub(crate) day: i64,
}

/// A live verdict that is not paid for yet. Dropped, it costs nothing.
pub(crate) struct Unsettled {
    verification: Verification,
    reservation: Reservation,
    counted: Delta,
}

impl Unsettled {
    /// Pays for the verdict if something was found out; the verdict, and whether it cost something.
    pub(crate) async fn settle(self, app: &App) -> Result<(Verification, bool), Refusal> {
        let Self { verification, reservation, counted } = self;
        let costs = counted.charged > 0;
        match charge(app, reservation, counted).await {
            Err(refused) if !costs => {
                tracing::warn!(refused = ?*refused, "returned a free verdict without counting it");
            }
            charged => charged?,
        }
        Ok((verification, costs))
    }
}

/// A live verdict, if its organization has a credit for it.
pub(crate) async fn found(app: &App, payer: Payer, address: &str, live: Live) -> Result<Unsettled, Refusal> {
    app.presence.check(app.now())?;
    let reservation = reserved(app, payer.org).await?;
    let mut verification = app.live.verify(address, live).await;
    let sandboxed = &*verification.verdict.rule == SPECIAL_USE && names_sandbox(address);
    if sandboxed {
        verification.verdict.meta = Cow::Borrowed(SANDBOX_NAME);
    }
    let reason = verification.verdict.reason;
    let counted = Delta {
        org: payer.org,
        day: payer.day,
        source: payer.source.into(),
        connection: None,
        provider: verification.evidence.domain.as_ref().and_then(|domain| domain.provider.as_deref()).map(Into::into),
        reason,
        verified: 1,
        charged: i64::from(!is_free(reason) && !sandboxed),
    };
    Ok(Unsettled { verification, reservation, counted })
}

/// Leave to begin; without credits, after those that the plan puts in. Others may be faster: then once more.
async fn reserved(app: &App, org: OrgNo) -> Result<Reservation, Refusal> {
    for _ in 0..COVERED_MAX {
        match app.meter.reserve(org).await {
            Err(Refused::InsufficientCredits) if plans::cover(app, org, 1).await? => {}
            reserved => return Ok(reserved?),
        }
    }
    Err(ApiError::insufficient_credits().into())
}

/// Pays for a verdict; if others have spent the credits meanwhile, with those that the plan puts in.
async fn charge(app: &App, reservation: Reservation, counted: Delta) -> Result<(), Refusal> {
    let mut reservation = Some(reservation);
    for _ in 0..COVERED_MAX {
        match app.meter.charge(reservation.take(), counted.clone()).await {
            Err(Refused::InsufficientCredits) if plans::cover(app, counted.org, 1).await? => {}
            charged => return Ok(charged?),
        }
    }
    Err(ApiError::insufficient_credits().into())
}

/// The address that a query asks about.
pub(crate) fn email(query: &Query) -> Result<String, Refusal> {
    let email = query.text("email")?.ok_or_else(|| ApiError::invalid("email", "is required: the address to verify"))?;
    if email.trim_ascii().is_empty() {
        return Err(ApiError::invalid("email", "must not be empty").into());
    }
    if email.len() > EMAIL_BYTES_MAX {
        return Err(ApiError::invalid("email", format_args!("must have at most {EMAIL_BYTES_MAX} bytes")).into());
    }
    Ok(email.into_owned())
}

/// How long the caller waits; no longer than the operator lets one.
fn timeout_ms(query: &Query, at_most: Duration) -> Result<u64, Refusal> {
    let seconds = query.number("timeout")?.unwrap_or(TIMEOUT_S);
    if seconds <= 0.0 {
        return Err(ApiError::invalid("timeout", "must be a number of seconds above zero").into());
    }
    let bounded = Duration::from_secs_f64(seconds.min(at_most.as_secs_f64()));
    Ok(u64::try_from(bounded.as_millis()).unwrap_or(u64::MAX).max(1))
}

fn shown(verification: &Verification, explain: bool) -> Response {
    let view = if explain { VerdictView::explained(verification) } else { VerdictView::brief(verification) };
    let body = serde_json::to_vec(&view).expect("a verdict is plain JSON");
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
