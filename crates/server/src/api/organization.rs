//! `GET /v1/organization`: the account that a key belongs to.

pub mod settings;
pub mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_core::time::Millis;
use probity_store::orgs::Org;
use probity_store::{credits, orgs, usage, users};

use self::view::{Credits, Entitlements, Organization, Seats, Trial, Usage};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::team;

/// Look at the organization
///
/// The plan, the credits and the state of the organization that the key belongs to.
#[utoipa::path(
    get,
    path = "/v1/organization",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The organization.", body = Organization))
)]
pub(crate) async fn get_organization(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Organization>, ApiError> {
    let now = app.now();
    let mut conn = app.store.read().await?;
    let org = orgs::by_no(&mut conn, caller.org()).await?;
    let available = credits::available(&mut conn, org.no).await?;
    let (start, end) = (now.month_start(), now.next_month_start());
    let verified = usage::verified_between(&mut conn, org.no, start.utc_day(), end.utc_day() - 1).await?;
    let used = users::seats_used(&mut conn, org.no).await?;
    let owner = users::primary(&mut conn, org.no).await?;
    Ok(Json(Organization {
        email: owner.email,
        plan: org.plan.clone(),
        plan_id: None,
        credits: Credits { prepaid: available.prepaid, subscription: available.subscription, total: available.total() },
        usage: Usage {
            current_period_start: start.into(),
            current_period_end: end.into(),
            current_period_total: verified,
        },
        trial: trial(&org, now),
        created_at: org.created_at.into(),
        status: org.status,
        entitlements: ALL,
        seats: Seats { used, limit: team::seats(&org) },
        name: org.name,
    }))
}

/// Who runs the service may use all of it.
const ALL: Entitlements = Entitlements {
    webhooks: true,
    instafloss: true,
    typo_fixer: true,
    exclusions: true,
    update_tags: true,
    sso: true,
    autofloss: true,
    decay_basic: true,
    decay_custom: true,
};

fn trial(org: &Org, now: Millis) -> Trial {
    let active = org.trial.is_some_and(|(from, to)| from <= now && now < to);
    let (started_at, ends_at) = org.trial.unzip();
    Trial { active, started_at: started_at.map(Into::into), ends_at: ends_at.map(Into::into) }
}
