//! Restricts organizations, and lifts restrictions.

use probity_account::id::OrgId;
use probity_backend::jobs::stop_jobs_of;
use probity_contract::error::ApiError;
use probity_contract::published::operator::organizations::{Customer, HoldCustomer};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord, OrgState};
use probity_store::activity::events::AccountEventKind;
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx, jobs};

use crate::app::App;
use crate::operator::organizations::{find_organization, show_customer};
use crate::operator::record;

/// Maximum length of a reason, in bytes.
const REASON_BYTES_MAX: usize = 1_000;

/// Restricts an organization or puts it under review. Only operators see the reason. A ban also stops the organization's
/// jobs before this returns. If that fails, the ban stays, and a repetition or the next maintenance round stops the
/// remaining jobs.
pub async fn hold_organization(app: &App, id: OrgId, hold: HoldCustomer) -> Result<Customer, ApiError> {
    let wrong = || ApiError::invalid("status", "must be one of suspended, paused, banned, under_review");
    let status = hold.wanted().ok_or_else(wrong)?;
    let reason = hold.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.len() > REASON_BYTES_MAX) {
        return Err(ApiError::invalid("reason", format_args!("may have at most {REASON_BYTES_MAX} bytes")));
    }
    let org = find_organization(app, id).await?;
    let restricted = restrict(app, &org, status, reason).await;
    // Also after a failure: the restriction may be stored although not everything is stopped.
    app.keyring.forget();
    app.callbacks.wake();
    Ok(show_customer(app, &restricted?))
}

/// Lifts an organization's restriction. Without a restriction, nothing changes.
pub async fn lift_hold(app: &App, id: OrgId) -> Result<Customer, ApiError> {
    let org = find_organization(app, id).await?;
    let lifted = restrict(app, &org, OrgState::Active, None).await?;
    app.keyring.forget();
    Ok(show_customer(app, &lifted))
}

async fn restrict(app: &App, org: &OrgRecord, status: OrgState, reason: Option<&str>) -> Result<OrgRecord, StoreError> {
    let now = app.now();
    let held = app.store.write(|tx| set_hold(tx, org.no, status, reason, now).scope_boxed()).await?;
    if status == OrgState::Banned {
        stop_jobs_of(&app.store, org.no, now).await?;
    }
    Ok(held)
}

async fn set_hold(
    tx: &mut Tx,
    org: OrgNo,
    status: OrgState,
    reason: Option<&str>,
    now: Millis,
) -> Result<OrgRecord, StoreError> {
    let before = organization::set_hold(tx, org, status, reason).await?;
    if before.is_stopped() != status.is_stopped() {
        jobs::waits(tx, org, now).await?;
    }
    match (before.is_stopped(), status.is_stopped()) {
        (false, true) => record(tx, org, now, AccountEventKind::Hold).await?,
        (true, false) => record(tx, org, now, AccountEventKind::HoldLifted).await?,
        _ => {}
    }
    organization::by_no(tx, org).await
}
