//! Who knocks at the widget's routes, and whether they may come in.
//!
//! In this order: a `pub` key in the query (401, 403), an origin that it names (403 `domain_not_authorized`), the visitor's limit
//! (429), and an organization that is not stopped (403). From the second step on pages of that origin may read the answer, whatever
//! it is, so that the script can tell a used nonce from a service that is away; nobody else's pages ever may.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use probity_account::api_key::KeyKind;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::limits::{Bucket, Limit};
use probity_service::ops::metrics::{AuthFailure, LimitedBy, WidgetOutcome};
use probity_service::query::Query;
use probity_service::widget::nonce::Bound;
use probity_store::OrgNo;
use probity_store::keys::Known;

use crate::auth;
use crate::auth::{Caller, Pace};
use crate::error::Refusal;
use crate::shell::Assured;

/// What a refusal for any limit says of waiting, in seconds: the longest that the API says, whichever limit it was.
const WAIT_S: u32 = 60;

/// A visitor of a page that may ask.
pub(super) struct Entry {
    pub(super) known: Arc<Known>,
    origin: String,
    visitor: [u8; 16],
}

impl Entry {
    pub(super) fn org(&self) -> OrgNo {
        self.known.key.org
    }

    /// Whom nonces are for.
    pub(super) fn bound(&self) -> Bound<'_> {
        Bound { key: self.known.key.id, origin: &self.origin, visitor: self.visitor }
    }
}

/// Lets a visitor in, or says why not; puts on the answer what browsers need to let the page read it.
pub(super) async fn enter(app: &App, parts: &Parts, now: Millis) -> Result<Entry, Refusal> {
    let mut headers = vec![(header::VARY, HeaderValue::from_static("origin"))];
    let entered = admitted(app, parts, now, &mut headers).await;
    if let Some(assured) = parts.extensions.get::<Assured>() {
        assured.put(headers);
    }
    entered
}

async fn admitted(
    app: &App,
    parts: &Parts,
    now: Millis,
    headers: &mut Vec<(HeaderName, HeaderValue)>,
) -> Result<Entry, Refusal> {
    let known = key(app, parts, now).await?;
    let said = parts.headers.get(header::ORIGIN).ok_or_else(ApiError::domain_not_authorized)?;
    let listed = known.key.origins.iter().find(|origin| origin.as_bytes() == said.as_bytes());
    let origin = listed.ok_or_else(ApiError::domain_not_authorized)?.clone();
    headers.extend([
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, said.clone()),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after, x-request-id")),
    ]);
    let from = auth::from_parts(app, &parts.extensions, &parts.headers);
    let visitor = app.secrets.visitor(known.key.id, from);
    let state = app.limits.take_visitor(visitor, app.widget.config.visitor_per_minute, now);
    if state.refused_until.is_some() {
        app.metrics.accounts().limited(LimitedBy::Visitor);
        return Err(limited(app).into());
    }
    auth::running(app, &Caller::Key(known.clone()))?;
    app.keyring.note_use(&known, now);
    Ok(Entry { known, origin, visitor })
}

/// The `pub` key of the query.
async fn key(app: &App, parts: &Parts, now: Millis) -> Result<Arc<Known>, Refusal> {
    let query = Query::of(&parts.uri);
    // A text that cannot be decoded is no key.
    let text = query.text("key").map_err(|_| ApiError::invalid_api_key())?.filter(|text| !text.is_empty());
    let Some(text) = text else {
        app.metrics.accounts().auth_failed(AuthFailure::Missing);
        return Err(ApiError::new(Code::MissingApiKey, "no key given: send a `pub` key as `key`").into());
    };
    let from = auth::from_parts(app, &parts.extensions, &parts.headers);
    let known = auth::recognized(app, &text, from, now).await.map_err(|(error, _)| error)?;
    if known.key.kind != KeyKind::Pub {
        app.metrics.accounts().auth_failed(AuthFailure::Scope);
        return Err(
            ApiError::forbidden_scope("the widget needs a key of kind `pub`; keys of other kinds are secret").into()
        );
    }
    Ok(known)
}

/// Counts a check against its key, all widgets of the organization, the organization, and the visitor. All widgets together may
/// ask half as often as the organization: the other half is left to its servers, whatever bots do to its pages.
///
/// The visitor's bucket, which nodes share, is asked for last. It is a row of the database there, so nobody makes more of those
/// than
/// the other three let through, with however many networks.
pub(super) async fn count(app: &App, entry: &Entry, now: Millis) -> Result<(), Refusal> {
    let caller = Caller::Key(entry.known.clone());
    let [own, org] = auth::limits_of(app, &caller, Pace::AsWished);
    let half = (org.per_minute / 2).max(1);
    let widgets = Limit { bucket: Bucket::Widgets(caller.org()), per_minute: half };
    let own = Limit { per_minute: own.per_minute.min(half), ..own };
    let per_minute = app.widget.config.visitor_per_minute.max(1);
    let visitor = Limit { bucket: Bucket::Checks(caller.org(), entry.visitor), per_minute };
    let state = app.limits.take(&[own, widgets, org, visitor], now).await;
    if state.refused_until.is_some() {
        app.metrics.accounts().limited(state.bucket.limited_by());
        return Err(limited(app).into());
    }
    Ok(())
}

/// The one answer to whoever has used up something, be it a limit, a day or an account.
pub(super) fn limited(app: &App) -> ApiError {
    app.metrics.widget().outcome(WidgetOutcome::Limited);
    ApiError::rate_limited(WAIT_S)
}
