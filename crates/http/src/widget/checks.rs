//! `GET /v1/widget/nonce` and `GET /v1/widget/verify`: what the script asks.
//!
//! A check costs what a live call costs, and is paid in the same way; what could not be found out is free, also of
//! the key's day. Each answer brings the nonce of the next check, so that a page asks for one alone only at its start.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use probity_engine::Live;
use probity_mail::verdict::Verification;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::ops::metrics::{Origin, WidgetOutcome};
use probity_service::query::Query;
use probity_service::widget::answer::{Answer, Outcome};
use probity_service::widget::gate::{Closed, Pass};
use probity_service::widget::{SOURCE, nonce as nonces};
use probity_store::widget::{Asked, KeyDay};
use serde::Serialize;
use tracing::Instrument as _;

use crate::api::verify;
use crate::api::verify::{Payer, Unsettled};
use crate::error::Refusal;
use crate::widget::entry;
use crate::widget::entry::Entry;

/// How long a visitor waits: the script gives up half a second later.
pub(crate) const PATIENCE: Duration = Duration::from_millis(3_500);

/// Leave for the first check of a page.
#[derive(Debug, Serialize)]
pub(crate) struct FirstNonce {
    nonce: String,
}

/// `GET /v1/widget/nonce?key=`
pub(crate) async fn nonce(State(app): State<Arc<App>>, parts: Parts) -> Result<Json<FirstNonce>, Refusal> {
    let now = app.now();
    let entry = entry::enter(&app, &parts, now).await?;
    Ok(Json(FirstNonce { nonce: nonces::issue(&app.secrets, entry.bound(), now) }))
}

/// `GET /v1/widget/verify?key=&nonce=&email=`
pub(crate) async fn verify(State(app): State<Arc<App>>, parts: Parts) -> Result<Json<Answer>, Refusal> {
    let now = app.now();
    let entry = entry::enter(&app, &parts, now).await?;
    let query = Query::of(&parts.uri);
    let email = verify::email(&query)?;
    let given =
        query.text("nonce")?.ok_or_else(|| ApiError::invalid("nonce", "is required; get one from /v1/widget/nonce"))?;
    let good = nonces::check(&app.secrets, entry.bound(), &given, now).ok_or_else(|| stale(&app))?;
    entry::count(&app, &entry, now).await?;
    app.presence.check(now)?;
    let busy = |_| ApiError::unavailable("too many widget checks at the same time").retry_after(1);
    let _place = app.widget.places.try_acquire().map_err(busy)?;
    let pass = pass(&app, &entry, good).await?;
    let unsettled = ask(&app, &entry, &pass, email.trim_ascii()).await?;
    let verification = settled(&app, unsettled, pass).await?;
    app.metrics.verdicts().record(Origin::Live, &verification);
    let answer = Answer::of(&verification, Some(nonces::issue(&app.secrets, entry.bound(), app.now())));
    app.metrics.widget().outcome(match answer.outcome() {
        Outcome::Ok => WidgetOutcome::Ok,
        Outcome::Fix => WidgetOutcome::Fix,
        Outcome::Reject => WidgetOutcome::Reject,
    });
    Ok(Json(answer))
}

/// Leave for one check: the nonce is used up, and a credit of the key's day is taken.
async fn pass(app: &App, entry: &Entry, good: nonces::Good) -> Result<Pass, Refusal> {
    let key = &entry.known.key;
    let asked = Asked {
        of: KeyDay { org: key.org, key: key.id, day: app.now().utc_day() },
        cap: key.daily_cap.unwrap_or(app.widget.config.daily_cap),
        nonce: good.name,
        expires_at: good.expires_at,
    };
    Ok(app.widget.gate.enter(asked).await.map_err(|closed| match closed {
        Closed::Used => stale(app),
        Closed::Spent => entry::limited(app),
        Closed::Unavailable => ApiError::unavailable("cannot record a widget check"),
    })?)
}

async fn ask(app: &App, entry: &Entry, pass: &Pass, address: &str) -> Result<Unsettled, Refusal> {
    let patience = PATIENCE.min(app.config.verification_max);
    let timeout_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    let live = Live { timeout_ms, scope: entry.org().0.unsigned_abs() };
    let payer = Payer { org: entry.org(), source: SOURCE, day: pass.day() };
    verify::found(app, payer, address, live).await.map_err(|error| as_a_limit(app, error))
}

/// A visitor learns of limits and not of the customer's balance.
fn as_a_limit(app: &App, error: Refusal) -> Refusal {
    match error.code() {
        Code::InsufficientCredits => entry::limited(app).into(),
        _ => error,
    }
}

/// Settles the credit of a check, and with it that of the key's day. A task of its own: a visitor who goes away meanwhile would
/// have the day's credit given back, while the account's is captured all the same.
async fn settled(app: &Arc<App>, unsettled: Unsettled, pass: Pass) -> Result<Verification, Refusal> {
    let app = Arc::clone(app);
    let settling = async move {
        let (verification, captured) = unsettled.settle(&app).await.map_err(|error| as_a_limit(&app, error))?;
        if captured {
            pass.spent();
        }
        Ok(verification)
    };
    tokio::spawn(settling.in_current_span()).await.map_err(ApiError::server_error)?
}

/// One answer for nonces that were used, are too old, or were given to somebody else.
fn stale(app: &App) -> ApiError {
    app.metrics.widget().outcome(WidgetOutcome::Stale);
    ApiError::conflict("nonce: already used, expired, or issued to another visitor; get a new one")
}
