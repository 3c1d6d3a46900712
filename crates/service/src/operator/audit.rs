//! Audits of a database. An audit reads everything and may run beside a service.

use probity_contract::error::ApiError;
use probity_contract::published::operator::audit::AuditFinding;
use probity_store::accounts::organization;
use probity_store::credits::audit::{self, AuditDiscrepancy};
use probity_store::{StoreError, credits};

use crate::app::App;

/// Checks the ledgers and accounts. Returns no findings if they agree. Each rule is one statement.
pub async fn audit_credits(app: &App) -> Result<Vec<AuditFinding>, ApiError> {
    let found = credits::audit(&mut app.store.read().await?).await?;
    name_organizations(app, found).await
}

/// Checks the ledgers, and each job against its rows, one job per snapshot. Deliveries past their retention are not
/// reported as missing.
pub async fn audit_database(app: &App) -> Result<Vec<AuditFinding>, ApiError> {
    let deliveries_since = app.now() - app.config.deliveries_keep_ms;
    let found = audit::everything_since(&app.store, deliveries_since).await?;
    name_organizations(app, found).await
}

async fn name_organizations(app: &App, found: Vec<AuditDiscrepancy>) -> Result<Vec<AuditFinding>, ApiError> {
    let mut conn = app.store.read().await?;
    let mut named = Vec::with_capacity(found.len());
    for one in found {
        let id = match organization::by_no(&mut conn, one.org).await {
            Ok(org) => Some(org.id),
            // A row without its organization is a finding too.
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        named.push(AuditFinding::of(one, id));
    }
    Ok(named)
}
