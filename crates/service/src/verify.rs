//! Verifies one address, immediately.
//!
//! A live key needs a credit before the engine starts, and is charged before the verdict is returned. Inconclusive verdicts,
//! `unverified` and `failed_exchange`, are free. The sandbox handles test keys, pages in test mode, and members who try one of
//! its addresses; its verdicts are free and not counted. The verdict is the engine's; the organization's settings do not change
//! it.

use std::borrow::Cow;
use std::time::Duration;

use probity_account::credits::is_free;
use probity_account::id::KeyId;
use probity_backend::meter::{CallRefused, Reservation, counted_domain, counted_provider};
use probity_contract::error::ApiError;
use probity_contract::published::verify::{ShownVerdict, VerifyQuery};
use probity_engine::LiveCall;
use probity_mail::address::trimmed;
use probity_mail::domain::names_sandbox;
use probity_mail::verdict::Verification;
use probity_store::OrgNo;
use probity_store::credits::usage::UsageDelta;
use probity_store::widget::WidgetCreditName;
use probity_telemetry::metrics::Origin;

use crate::app::{App, plans};
use crate::callers::caller::Caller;

/// Maximum attempts to reserve a credit if other calls use up refilled ones.
const COVERED_MAX: usize = 16;
/// Rule by which a live engine rejects an address of the sandbox.
const SPECIAL_USE: &str = "syntax.special_use";
/// Token for a sandbox address with a live key: use a test key instead.
const SANDBOX_NAME: &str = "sandbox_name";

/// Verifies an address and charges the caller.
pub async fn verify_address(app: &App, caller: &Caller, query: VerifyQuery) -> Result<ShownVerdict, ApiError> {
    let VerifyQuery { email, explain, timeout_s } = query;
    let timeout_ms = timeout_ms(timeout_s, app.config.verification_max);
    let live = LiveCall { timeout_ms, scope: caller.org().0.unsigned_abs() };
    // Surrounding text is not part of the address, but the response echoes the input.
    let address = trimmed(&email);
    let (origin, mut verification) = if caller.is_test() || is_sample(caller, address) {
        (Origin::Sandbox, app.sandbox.verify(address, live).await)
    } else {
        let payer = CallPayer {
            org: caller.org(),
            source: source(caller),
            key: caller.key().map(|key| key.id),
            day: app.now().utc_day(),
        };
        (Origin::Live, verify_live(app, payer, address, live).await?.settle(app, None).await?.0)
    };
    app.metrics.verdicts().record(origin, &verification);
    verification.email = email.as_str().into();
    Ok(ShownVerdict { verification, explained: explain })
}

/// Returns whether a member tries a sandbox address, which works in the dashboard without test mode. Keys follow the contract.
fn is_sample(caller: &Caller, address: &str) -> bool {
    matches!(caller, Caller::Person { .. }) && names_sandbox(address)
}

/// Returns the source of a live call for the usage.
fn source(caller: &Caller) -> &'static str {
    match caller {
        Caller::Key(_) => "api",
        Caller::Person { .. } | Caller::Staff { .. } => "input",
    }
}

/// Returns the time for which the caller waits, at most the operator's limit.
fn timeout_ms(seconds: f64, at_most: Duration) -> u64 {
    let bounded = Duration::from_secs_f64(seconds.min(at_most.as_secs_f64()));
    u64::try_from(bounded.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Payer of a live verdict, with its counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPayer {
    pub(crate) org: OrgNo,
    /// Source in the usage.
    pub(crate) source: &'static str,
    /// API key that calls.
    pub(crate) key: Option<KeyId>,
    /// Day since 1970-01-01.
    pub(crate) day: i64,
}

/// Live verdict that is not charged yet. Dropping it costs nothing.
pub(crate) struct Unsettled {
    verification: Verification,
    reservation: Reservation,
    counted: UsageDelta,
}

impl Unsettled {
    /// Charges for the verdict if it is conclusive, and captures one of the widget's daily credits with it. Returns the verdict,
    /// and whether it was charged.
    pub(crate) async fn settle(
        self,
        app: &App,
        widget: Option<WidgetCreditName>,
    ) -> Result<(Verification, bool), ApiError> {
        let Self { verification, reservation, counted } = self;
        let costs = counted.charged > 0;
        match charge(app, reservation, counted, widget).await {
            Err(refused) if !costs => {
                tracing::warn!(refused = ?refused, "returned a free verdict without counting it");
            }
            charged => charged?,
        }
        Ok((verification, costs))
    }
}

/// Verifies an address with the live engine, if the organization has a credit.
pub(crate) async fn verify_live(
    app: &App,
    payer: CallPayer,
    address: &str,
    live: LiveCall,
) -> Result<Unsettled, ApiError> {
    app.presence.check(app.now())?;
    let reservation = covered(app, payer.org, || app.meter.reserve(payer.org)).await?;
    let mut verification = app.live.verify(address, live).await;
    if &*verification.verdict.rule == SPECIAL_USE && names_sandbox(address) {
        verification.verdict.meta = Cow::Borrowed(SANDBOX_NAME);
    }
    let reason = verification.verdict.reason;
    let counted = UsageDelta {
        org: payer.org,
        day: payer.day,
        source: payer.source.into(),
        connection: None,
        key: payer.key,
        domain: counted_domain(address),
        provider: counted_provider(address, &verification.evidence).map(Into::into),
        reason,
        verified: 1,
        charged: i64::from(!is_free(reason)),
    };
    Ok(Unsettled { verification, reservation, counted })
}

/// Books a credit, after a refill if there is none. Retries if other calls use up the refill.
async fn covered<T, F: Future<Output = Result<T, CallRefused>>>(
    app: &App,
    org: OrgNo,
    mut book: impl FnMut() -> F,
) -> Result<T, ApiError> {
    for _ in 0..COVERED_MAX {
        match book().await {
            Err(CallRefused::InsufficientCredits) if plans::cover(app, org, 1).await? => {}
            booked => return Ok(booked?),
        }
    }
    Err(ApiError::insufficient_credits())
}

/// Charges for a verdict, after a refill if other calls have used up the credits.
async fn charge(
    app: &App,
    reservation: Reservation,
    counted: UsageDelta,
    widget: Option<WidgetCreditName>,
) -> Result<(), ApiError> {
    let mut reservation = Some(reservation);
    covered(app, counted.org, || app.meter.charge_check(reservation.take(), counted.clone(), widget.clone())).await
}
