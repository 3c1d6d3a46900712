//! Checks of the widget.
//!
//! A check is charged like a live call. An inconclusive check is free, and does not count against the key's daily limit.
//! Each response has the nonce of the next check, so a page requests a nonce only at its start.

use std::sync::Arc;
use std::time::Duration;

use probity_backend::widget::answer::{WidgetAnswer, WidgetVerdict};
use probity_backend::widget::gate::{GateClosed, Pass};
use probity_backend::widget::nonce::{self, Good};
use probity_backend::widget::{CHECK_MAX_MS, SOURCE};
use probity_contract::error::{ApiError, Code};
use probity_contract::published::verify::{AddressQuery, WidgetCheckQuery};
use probity_engine::LiveCall;
use probity_mail::address::trimmed;
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use probity_store::widget::{KeyDay, WidgetCheck};
use probity_telemetry::metrics::{Origin, WidgetOutcome};
use serde::Serialize;
use tracing::Instrument as _;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::verify::{self, CallPayer, Unsettled};
use crate::widget::entry::{self, WidgetVisitor};

/// Longest time that a visitor waits; the script gives up 0.5 s later.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// Nonce for the first check of a page.
#[derive(Debug, Serialize)]
pub struct FirstNonce {
    nonce: String,
}

/// Issues the nonce of a page's first check.
pub fn issue_nonce(app: &App, visitor: &WidgetVisitor, now: Millis) -> FirstNonce {
    FirstNonce { nonce: nonce::issue(&app.secrets, visitor.bound(), now) }
}

/// Checks an address for a visitor admitted at `now`.
pub async fn check_address(
    app: &Arc<App>,
    visitor: &WidgetVisitor,
    query: WidgetCheckQuery,
    now: Millis,
) -> Result<WidgetAnswer, ApiError> {
    let good = nonce::check(&app.secrets, visitor.bound(), &query.nonce, now).ok_or_else(|| stale(app))?;
    entry::count(app, visitor, now).await?;
    app.presence.check(now)?;
    let busy = |_| ApiError::unavailable("too many widget checks at the same time").retry_after(1);
    let _place = app.widget.places.try_acquire().map_err(busy)?;
    let pass = pass(app, visitor, good).await?;
    let unsettled = ask(app, visitor, &pass, trimmed(&query.email)).await?;
    let verification = settled(app, unsettled, pass).await?;
    app.metrics.verdicts().record(Origin::Live, &verification);
    let answer = WidgetAnswer::of(&verification, Some(nonce::issue(&app.secrets, visitor.bound(), app.now())));
    app.metrics.widget().outcome(match answer.outcome() {
        WidgetVerdict::Ok => WidgetOutcome::Ok,
        WidgetVerdict::Fix => WidgetOutcome::Fix,
        WidgetVerdict::Reject => WidgetOutcome::Reject,
    });
    Ok(answer)
}

/// Answers like the widget, for the dashboard's preview. The sandbox probes no MX host and charges nothing, so the preview
/// needs neither key nor nonce and can show every outcome.
pub async fn preview_check(app: &App, caller: &Caller, query: AddressQuery) -> WidgetAnswer {
    let live = LiveCall { timeout_ms: millis(PATIENCE), scope: caller.org().0.unsigned_abs() };
    WidgetAnswer::of(&app.sandbox.verify(trimmed(&query.email), live).await, None)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Admits one check: uses up the nonce, and takes a credit of the key's daily limit.
async fn pass(app: &App, visitor: &WidgetVisitor, good: Good) -> Result<Pass, ApiError> {
    let key = &visitor.known().key;
    let now = app.now();
    let asked = WidgetCheck {
        of: KeyDay { org: key.org, key: key.id, day: now.utc_day() },
        cap: key.daily_cap.unwrap_or(app.widget.config.daily_cap),
        nonce: good.name,
        expires_at: good.expires_at,
        held_until: now + CHECK_MAX_MS,
    };
    app.widget.gate.enter(asked).await.map_err(|closed| match closed {
        GateClosed::Used => stale(app),
        GateClosed::Spent => entry::limited(app),
        GateClosed::Unavailable => ApiError::unavailable("cannot record a widget check"),
    })
}

async fn ask(app: &App, visitor: &WidgetVisitor, pass: &Pass, address: &str) -> Result<Unsettled, ApiError> {
    let patience = PATIENCE.min(app.config.verification_max);
    let live = LiveCall { timeout_ms: millis(patience), scope: visitor.org().0.unsigned_abs() };
    let payer = CallPayer { org: visitor.org(), source: SOURCE, key: Some(visitor.known().key.id), day: pass.day() };
    verify::verify_live(app, payer, address, live).await.map_err(|error| as_a_limit(app, error))
}

/// Maps errors so that visitors learn of limits, but not of the customer's balance.
fn as_a_limit(app: &App, error: ApiError) -> ApiError {
    match error.code() {
        Code::InsufficientCredits => entry::limited(app),
        _ => error,
    }
}

/// Settles the credits of a check: the account's and the key's daily one. Runs as a separate task, because a visitor who
/// disconnects would otherwise get the daily credit back while the account's is captured.
async fn settled(app: &Arc<App>, unsettled: Unsettled, pass: Pass) -> Result<Verification, ApiError> {
    let app = Arc::clone(app);
    let settling = async move {
        let (verification, captured) =
            unsettled.settle(&app, Some(pass.credit())).await.map_err(|error| as_a_limit(&app, error))?;
        if captured {
            pass.spent();
        }
        Ok(verification)
    };
    tokio::spawn(settling.in_current_span()).await.map_err(ApiError::server_error)?
}

/// Returns the same error for used, expired and foreign nonces.
fn stale(app: &App) -> ApiError {
    app.metrics.widget().outcome(WidgetOutcome::Stale);
    ApiError::conflict("nonce: already used, expired, or issued to another visitor; get a new one")
}
