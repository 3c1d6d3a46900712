//! Plans, organizations, and holds on them.

pub(super) mod view;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::OrgId;
use probity_account::plans::Entitlement;
use probity_service::admin;
use probity_service::admin::PlanShown;
use probity_service::admin::{OrgChange, Said};
use probity_service::error::ApiError;
use probity_service::links;
use probity_service::page::{Asked, List};
use probity_service::published::whole::Whole;
use probity_store::ScopedFutureExt as _;
use probity_store::organization::{Org, OrgStatus};

use crate::asking::Asking;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::operator::Shared;
use crate::operator::organizations::view::{Customer, CustomerPatch, Hold, MadeCustomer, NewCustomer, OneTimeLink};
use crate::path::PathId;

/// What a cursor of the list is good for, together with the search.
pub(super) const LIST: &str = "/admin/v1/organizations";
/// The longest beginning of a name, in bytes.
const NAME_BYTES_MAX: usize = 400;
/// The longest reason, in bytes.
const REASON_BYTES_MAX: usize = 1_000;

/// List plans
///
/// Lists the configured plans and the 2 built-in ones.
#[utoipa::path(
    get,
    path = "/admin/v1/plans",
    tag = "Plans",
    responses((status = 200, description = "All plans, by name.", body = List<PlanShown>))
)]
pub(crate) async fn list_plans(State(operator): State<Shared>) -> Json<List<PlanShown>> {
    Json(List::whole(operator.admin.catalog()))
}

/// List organizations
///
/// Lists organizations, oldest first. `name` filters by prefix, in any case. A search reads a limited number of
/// organizations: a page can have few or no rows and still have a next page.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations",
    tag = "Organizations",
    params(
        ("name" = Option<String>, Query, description = "Prefix of the name, in any case."),
        ("per_page" = Option<u32>, Query, description = "Rows per page, 1 to 100, default 25."),
        ("next" = Option<String>, Query, description = "Cursor: `pagination.next_cursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of organizations.", body = List<Customer>))
)]
pub(crate) async fn list_organizations(
    State(operator): State<Shared>,
    Asking(query): Asking,
) -> Result<Json<List<Customer>>, Refusal> {
    let beginning = query.text("name")?.unwrap_or_default();
    if beginning.len() > NAME_BYTES_MAX {
        return Err(ApiError::invalid("name", format_args!("may have at most {NAME_BYTES_MAX} bytes")).into());
    }
    let asked = Asked::of(&operator.app.cursors, &query, beginning.as_ref(), LIST)?;
    let at_most = usize::try_from(asked.per_page).unwrap_or(usize::MAX);
    let found = operator.admin.search(&beginning, asked.after, at_most).await?;
    let next = found.next.map(|no| asked.cursor(&no));
    Ok(Json(List::new(found.orgs.iter().map(|org| shown(&operator, org)).collect(), next)))
}

fn shown(operator: &Shared, org: &Org) -> Customer {
    Customer::of(org, operator.admin.plans().of(&org.plan), operator.app.now())
}

/// The organization of the path.
pub(super) async fn find(operator: &Shared, id: OrgId) -> Result<Org, Refusal> {
    Ok(operator.admin.org(&id.to_string()).await?)
}

/// Create an organization
///
/// Creates an organization and its owner, who has no email address yet. With the link in the response, shown only here,
/// the owner enters an address and sets a password. The link works for 1 day. With an `Idempotency-Key`, a repeated
/// request creates no second organization and returns the same response.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations",
    tag = "Organizations",
    request_body(content = NewCustomer, description = "Organization to create."),
    responses((status = 201, description = "The organization, with its owner's link.", body = MadeCustomer))
)]
pub(crate) async fn create_organization(
    State(operator): State<Shared>,
    once: Once,
    JsonBody(asked): JsonBody<NewCustomer>,
) -> Result<Answer, Refusal> {
    let above_zero =
        |field: &str, number: Option<Whole>| number.map(|number| number.within(field, 1, u32::MAX, "")).transpose();
    let new = admin::NewCustomer {
        name: &asked.name,
        plan: asked.plan.as_deref(),
        seats: above_zero("seats", asked.seats)?,
        rate_limit_per_minute: above_zero("rate_limit_per_minute", asked.rate_limit_per_minute)?,
        with_key: asked.first_key,
    };
    let prepared = operator.admin.prepare_customer(new)?;
    let answered = operator.app.store.write(|tx| {
        async {
            let org = prepared.insert(tx).await?;
            let made = MadeCustomer {
                organization: shown(&operator, &org),
                link: link(&operator, &prepared.link),
                key: prepared.key().map(str::to_owned),
            };
            once.keep(tx, StatusCode::CREATED, &made).await
        }
        .scope_boxed()
    });
    Ok(answered.await?)
}

/// A link as a browser opens it.
pub(super) fn link(operator: &Shared, link: &admin::ResetLink) -> OneTimeLink {
    let token = secrecy::ExposeSecret::expose_secret(&link.token);
    let url = links::url(operator.app.config.public_url.as_deref(), token);
    OneTimeLink { url, expires_at: link.expires_at.into() }
}

/// Get an organization
///
/// Returns the organization with its plan, period and limits in effect.
#[utoipa::path(
    get,
    path = "/admin/v1/organizations/{id}",
    tag = "Organizations",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "The organization.", body = Customer))
)]
pub(crate) async fn read_organization(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
) -> Result<Json<Customer>, Refusal> {
    let org = find(&operator, id).await?;
    Ok(Json(shown(&operator, &org)))
}

/// Update an organization
///
/// Changes the name, plan, seats, rate limit, low-balance threshold or entitlements. A new plan begins today: credits of
/// the old plan's month end, and those of the new plan's first month are granted.
#[utoipa::path(
    patch,
    path = "/admin/v1/organizations/{id}",
    tag = "Organizations",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = CustomerPatch, description = "Fields to change."),
    responses((status = 200, description = "The updated organization.", body = Customer))
)]
pub(crate) async fn change_organization(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(patch): JsonBody<CustomerPatch>,
) -> Result<Json<Customer>, Refusal> {
    let change = change(patch)?;
    let org = find(&operator, id).await?;
    let changed = operator.admin.change_org(&org, &change).await?;
    operator.app.keyring.forget();
    Ok(Json(shown(&operator, &changed)))
}

fn change(patch: CustomerPatch) -> Result<OrgChange, Refusal> {
    let above_zero = |field: &str, said: Said<Whole>| match said {
        Said::Nothing => Ok(Said::Nothing),
        Said::Cleared => Ok(Said::Cleared),
        Said::Given(number) => number.within(field, 1, u32::MAX, ", or null").map(Said::Given),
    };
    let entitled = |(name, allowed): (String, Option<bool>)| {
        let all = Entitlement::ALL.map(Entitlement::as_str).join(", ");
        let unknown = || ApiError::invalid("entitlements", format_args!("may only contain {all}"));
        let one = name.parse::<Entitlement>().map_err(|()| unknown())?;
        Ok((one, allowed.map_or(Said::Cleared, Said::Given)))
    };
    Ok(OrgChange {
        name: patch.name,
        plan: patch.plan,
        seats: above_zero("seats", patch.seats)?,
        rate_limit_per_minute: above_zero("rate_limit_per_minute", patch.rate_limit_per_minute)?,
        low_balance: above_zero("low_balance", patch.low_balance)?,
        entitlements: patch.entitlements.into_iter().map(entitled).collect::<Result<_, Refusal>>()?,
    })
}

/// Restrict an organization
///
/// `suspended`, `paused` and `banned` organizations get 403 everywhere except on `/v1/check-key`. After a ban, the
/// response arrives when the organization's jobs are stopped and their credits released. Jobs of `suspended` and `paused`
/// organizations rest until the restriction is lifted, and end after 7 days. `under_review` restricts nothing. A failed
/// request can be repeated.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/hold",
    tag = "Holds",
    params(("id" = String, Path, description = "Organization ID.")),
    request_body(content = Hold, description = "Kind of restriction and reason."),
    responses((status = 200, description = "The updated organization.", body = Customer))
)]
pub(crate) async fn hold_organization(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
    JsonBody(hold): JsonBody<Hold>,
) -> Result<Json<Customer>, Refusal> {
    let wrong = || ApiError::invalid("status", "must be one of suspended, paused, banned, under_review");
    let status = hold.wanted().ok_or_else(wrong)?;
    let reason = hold.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.len() > REASON_BYTES_MAX) {
        return Err(ApiError::invalid("reason", format_args!("may have at most {REASON_BYTES_MAX} bytes")).into());
    }
    let org = find(&operator, id).await?;
    let customer = operator.admin.hold(&org, status, reason).await;
    // Whether it worked or not: a hold may stand although not everything could be stopped.
    operator.app.keyring.forget();
    operator.app.callbacks.wake();
    Ok(Json(shown(&operator, &customer?)))
}

/// Lift a restriction
///
/// Makes the organization active again. An active organization stays unchanged.
#[utoipa::path(
    post,
    path = "/admin/v1/organizations/{id}/lift",
    tag = "Holds",
    params(("id" = String, Path, description = "Organization ID.")),
    responses((status = 200, description = "The updated organization.", body = Customer))
)]
pub(crate) async fn lift_hold(
    State(operator): State<Shared>,
    PathId(id): PathId<OrgId>,
) -> Result<Json<Customer>, Refusal> {
    let org = find(&operator, id).await?;
    let lifted = operator.admin.set_status(&org, OrgStatus::Active).await?;
    operator.app.keyring.forget();
    Ok(Json(shown(&operator, &lifted)))
}
