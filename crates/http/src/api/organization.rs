//! `GET /v1/organization`: the account that a key belongs to.

pub mod settings;
pub mod suppressions;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::plans::Plan;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::published::organization::{Credits, Organization, Seats, Trial, Usage};
use probity_service::users as team;
use probity_store::organization::Org;
use probity_store::{credits, organization, reports, users};

use crate::auth::Caller;
use crate::error::Refusal;

/// Get the organization
///
/// Returns the plan, credits and status of the organization that owns the key.
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
) -> Result<Json<Organization>, Refusal> {
    let now = app.now();
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let available = credits::available(&mut conn, org.no).await?;
    let period = org.period(now);
    let verified = reports::verified_between(&mut conn, org.no, period.start.utc_day(), period.last_day()).await?;
    let used = users::seats_used(&mut conn, org.no).await?;
    let owner = users::primary(&mut conn, org.no).await?;
    let plan = app.config.plans.of(&org.plan);
    Ok(Json(Organization {
        email: owner.email,
        plan: title(plan, &org),
        plan_id: (!plan.is_built_in()).then(|| plan.name.clone()),
        credits: Credits { prepaid: available.prepaid, subscription: available.subscription, total: available.total() },
        usage: Usage {
            current_period_start: period.start.into(),
            current_period_end: period.end.into(),
            current_period_total: verified,
        },
        trial: trial(&org, now),
        created_at: org.created_at.into(),
        status: org.status,
        entitlements: org.entitlements(plan).into(),
        seats: Seats { used, limit: team::seats(&org, &app.config.plans) },
        name: org.name,
    }))
}

/// What people call the plan; its bare name where the configuration does not know it any more.
pub(super) fn title(plan: &Plan, org: &Org) -> String {
    if plan.name == org.plan { plan.title.clone() } else { org.plan.clone() }
}

fn trial(org: &Org, now: Millis) -> Trial {
    let (started_at, ends_at) = org.trial.unzip();
    Trial { active: org.on_trial(now), started_at: started_at.map(Into::into), ends_at: ends_at.map(Into::into) }
}
