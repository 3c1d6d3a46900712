//! The organization of a caller: its plan, credits, usage and seats.

use probity_account::plans::Plan;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::organization::{Credits, Organization, Seats, Trial, Usage};
use probity_mail::time::Millis;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::{organization, users};
use probity_store::activity::reports;
use probity_store::credits;

use crate::accounts::users::seats;
use crate::app::App;
use crate::callers::caller::Caller;

/// Returns the caller's organization.
pub async fn get_organization(app: &App, caller: &Caller) -> Result<Organization, ApiError> {
    let now = app.now();
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let available = credits::available(&mut conn, org.no).await?;
    let period = org.period(now);
    let verified = reports::verified_between(&mut conn, org.no, period.start.utc_day(), period.last_day()).await?;
    let used = users::seats_used(&mut conn, org.no).await?;
    let owner = users::primary(&mut conn, org.no).await?;
    let plan = app.config.plans.of(&org.plan);
    Ok(Organization {
        email: owner.email,
        plan: plan_title(plan, &org),
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
        seats: Seats { used, limit: seats(&org, &app.config.plans) },
        name: org.name,
    })
}

/// Returns the title of an organization's plan, or the plan's name if it is no longer configured.
pub(crate) fn plan_title(plan: &Plan, org: &OrgRecord) -> String {
    if plan.name == org.plan { plan.title.clone() } else { org.plan.clone() }
}

fn trial(org: &OrgRecord, now: Millis) -> Trial {
    let (started_at, ends_at) = org.trial.unzip();
    Trial { active: org.on_trial(now), started_at: started_at.map(Into::into), ends_at: ends_at.map(Into::into) }
}
