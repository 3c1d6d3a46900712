//! Deliveries as the operator sees them, with connection errors that customers do not see.

use probity_account::id::{DeliveryId, OrgId};
use probity_contract::error::ApiError;
use probity_contract::published::operator::deliveries::{DeliveryRecord, DeliveryRecordDetail};
use probity_store::webhooks::outbox::{self, OutboxState};

use crate::app::App;
use crate::callers::once::Once;
use crate::operator::organizations::find_organization;
use crate::webhooks::deliveries::schedule_again;

/// Lists an organization's deliveries, newest first, at most `at_most`, optionally in one state.
pub async fn inspect_deliveries(
    app: &App,
    org: OrgId,
    state: Option<OutboxState>,
    at_most: u32,
) -> Result<Vec<DeliveryRecord>, ApiError> {
    let org = find_organization(app, org).await?;
    let found = outbox::page(&mut app.store.read().await?, org.no, state, None, i64::from(at_most)).await?;
    Ok(found.into_iter().map(DeliveryRecord::from).collect())
}

/// Returns a delivery with its body and its earlier attempts.
pub async fn inspect_delivery(app: &App, org: OrgId, id: DeliveryId) -> Result<DeliveryRecordDetail, ApiError> {
    let org = find_organization(app, org).await?;
    let mut conn = app.store.read().await?;
    let logged = outbox::by_id(&mut conn, org.no, id).await?;
    let earlier = outbox::before_the_last(&mut conn, org.no, &[id]).await?.remove(&id);
    Ok(DeliveryRecordDetail::of(logged, earlier.unwrap_or_default()))
}

/// Resends a delivery of any sender, also of a disabled webhook. A running service sends it.
pub async fn resend_any_delivery(app: &App, org: OrgId, id: DeliveryId) -> Result<DeliveryRecord, ApiError> {
    let org = find_organization(app, org).await?;
    schedule_again(app, org.no, id, &Once::unkeyed(), |logged, _| DeliveryRecord::from(logged)).await
}
