//! Visitors of pages that embed the widget, and their admission.
//!
//! Checked in this order: a `pub` key (otherwise 403), an allowed origin (403 `domain_not_authorized`), the visitor's limit
//! (429), and an organization without a restriction (403).

use std::net::IpAddr;
use std::sync::Arc;

use probity_access::limits::{LimitBucket, RequestLimit};
use probity_account::api_key::KeyKind;
use probity_backend::widget::nonce::NonceBinding;
use probity_contract::error::ApiError;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::accounts::keys::KnownKey;
use probity_telemetry::metrics::{AuthFailure, LimitedBy, WidgetOutcome};

use crate::app::App;
use crate::callers::admission::{self, LimitChoice};
use crate::callers::caller::Caller;

/// `Retry-After` of every refusal for a limit, in seconds: the longest of the API, whichever limit it was.
const WAIT_S: u32 = 60;

/// Page that may embed the widget: its key allows the page's origin.
pub struct WidgetPage {
    known: Arc<KnownKey>,
    origin: String,
}

/// Visitor of a page, admitted to send checks.
pub struct WidgetVisitor {
    page: WidgetPage,
    visitor: [u8; 16],
}

impl WidgetVisitor {
    pub(super) fn org(&self) -> OrgNo {
        self.page.known.key.org
    }

    pub(super) fn known(&self) -> &Arc<KnownKey> {
        &self.page.known
    }

    /// Returns the binding of the visitor's nonces.
    pub(super) fn bound(&self) -> NonceBinding<'_> {
        NonceBinding { key: self.page.known.key.id, origin: &self.page.origin, visitor: self.visitor }
    }
}

/// Recognizes a page by its key and its possible origins: the one that the browser sent, or those of this service.
pub fn recognize_page(app: &App, known: Arc<KnownKey>, origins: &[&[u8]]) -> Result<WidgetPage, ApiError> {
    if known.key.kind != KeyKind::Pub {
        app.metrics.accounts().auth_failed(AuthFailure::Scope);
        return Err(ApiError::forbidden_scope("the widget needs a key of kind `pub`; keys of other kinds are secret"));
    }
    let listed = known.key.origins.iter().find(|origin| origins.contains(&origin.as_bytes()));
    let origin = listed.ok_or_else(ApiError::domain_not_authorized)?.clone();
    Ok(WidgetPage { known, origin })
}

/// Admits a visitor of a page, from this network.
pub fn admit_visitor(
    app: &App,
    page: WidgetPage,
    from: Option<IpAddr>,
    now: Millis,
) -> Result<WidgetVisitor, ApiError> {
    let visitor = app.secrets.visitor(page.known.key.id, from);
    let state = app.limits.take_here(LimitBucket::Visitor(visitor), app.widget.config.visitor_per_minute, now);
    if state.refused_until.is_some() {
        app.metrics.accounts().limited(LimitedBy::Visitor);
        return Err(limited(app));
    }
    admission::running(app, &Caller::Key(page.known.clone()))?;
    app.keyring.note_use(&page.known, now);
    Ok(WidgetVisitor { page, visitor })
}

/// Counts a check against its key, all widgets of the organization, the organization and the visitor. All widgets together
/// get half of the organization's rate, so bots on its pages leave the other half to its servers.
///
/// The visitor's bucket is counted last: it is a row of the database that nodes share. So no client, however many networks
/// it has, creates more rows than the other three limits allow.
pub(super) async fn count(app: &App, visitor: &WidgetVisitor, now: Millis) -> Result<(), ApiError> {
    let caller = Caller::Key(visitor.known().clone());
    let [own, org] = admission::limits_of(app, &caller, LimitChoice::AsWished);
    let half = (org.per_minute / 2).max(1);
    let widgets = RequestLimit { bucket: LimitBucket::Widgets(caller.org()), per_minute: half };
    let own = RequestLimit { per_minute: own.per_minute.min(half), ..own };
    let per_minute = app.widget.config.visitor_per_minute.max(1);
    let of_visitor = RequestLimit { bucket: LimitBucket::Checks(caller.org(), visitor.visitor), per_minute };
    let state = app.limits.take(&[own, widgets, org, of_visitor], now).await;
    if state.refused_until.is_some() {
        if let Some(by) = state.bucket.limited_by() {
            app.metrics.accounts().limited(by);
        }
        return Err(limited(app));
    }
    Ok(())
}

/// Returns the one error for any used-up limit: rate, day or account.
pub(super) fn limited(app: &App) -> ApiError {
    app.metrics.widget().outcome(WidgetOutcome::Limited);
    ApiError::rate_limited(WAIT_S)
}
