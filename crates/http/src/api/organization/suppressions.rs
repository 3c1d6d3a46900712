//! `/v1/organization/suppressions/{list}`. Additions take the formats of `POST /v1/batch-verify`, as they stream in.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use probity_account::block::PackedBlock;
use probity_account::suppression::SuppressionKind;
use probity_contract::parameters::ListPath;
use probity_contract::published::privacy::suppressions::{
    AddedTo, Removal, RemovedFrom, SuppressionList, SuppressionLookupQuery, SuppressionRemovalQuery,
};
use probity_contract::query::FromQuery as _;
use probity_lists::submission::{Intake, SubmissionFormat};
use probity_service::app::App;
use probity_service::callers::once::{KeyedCall, Once};
use probity_service::privacy::suppressions;
use probity_service::privacy::suppressions::SuppressionAddition;

use crate::callers::idempotency::{self, run_once};
use crate::handler::{Answer, Asking, Call, JsonBody, PathId, Refusal, answer};
use crate::request::body::pieces;
use crate::request::submission::format_of;

/// Get a suppression list
///
/// Returns the number of addresses on the list and, with `email`, whether that address is listed. The service stores no
/// addresses, only keyed hashes, so it cannot list them.
#[utoipa::path(
    get,
    path = "/v1/organization/suppressions/{list}",
    tag = "Account",
    params(ListPath, SuppressionLookupQuery),
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The list.", body = SuppressionList))
)]
pub(crate) async fn get_suppressions(
    Call(app, caller): Call,
    PathId(list): PathId<SuppressionKind>,
    Asking(query): Asking<SuppressionLookupQuery>,
) -> Answer<SuppressionList> {
    answer(suppressions::get_list(&app, &caller, list, query).await)
}

/// Add addresses to a suppression list
///
/// Adds addresses to the list. They affect all later results of lists, including those of running jobs. An address that
/// is already listed stays unchanged. Text that is not an address is skipped and counted. Also accepts `text/csv` and
/// `application/x-ndjson` (column or field `email`).
#[utoipa::path(
    post,
    path = "/v1/organization/suppressions/{list}",
    tag = "Account",
    params(ListPath),
    request_body(content = crate::openapi::batch::Suppressions, description = "Addresses to add."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "Outcome of the addition.", body = AddedTo))
)]
pub(crate) async fn add_suppressions(
    Call(app, caller): Call,
    PathId(list): PathId<SuppressionKind>,
    request: Request,
) -> Result<Response, Refusal> {
    let (format, request) = format_of(request).await?;
    let key = idempotency::key(request.headers())?;
    let path = request.uri().path().to_owned();
    let addition = SuppressionAddition::begin(&app, &caller, list);
    let (body_hash, addition) = take_in(&app, addition, format, request).await?;
    let Some(key) = key else { return Ok(add(&app, &Once::unkeyed(), &addition?).await?.into_response()) };
    let work = {
        let app = app.clone();
        async move |once: Once| match addition {
            Ok(addition) => add(&app, &once, &addition).await.into_response(),
            Err(refusal) => refusal.into_response(),
        }
    };
    run_once(app, Some(caller), KeyedCall { path, key, body_hash }, work).await
}

async fn add(app: &App, once: &Once, addition: &SuppressionAddition) -> Answer<AddedTo> {
    answer(suppressions::add_addresses(app, once, addition).await)
}

/// Reads the body into an addition, and returns it with the body's hash, which a repetition must match. An invalid body is still
/// read to its end, because an earlier use of its key takes precedence.
async fn take_in(
    app: &App,
    mut addition: SuppressionAddition,
    format: SubmissionFormat,
    request: Request,
) -> Result<([u8; 32], Result<SuppressionAddition, Refusal>), Refusal> {
    let mut hash = app.secrets.body_in_pieces();
    let mut intake = Intake::new(format, app.config.batch_rows_max);
    let mut pieces = pieces(request, app.config.batch_body_max)?;
    let (mut full, mut taken) = (Vec::new(), Ok(()));
    let mut take = |full: &mut Vec<PackedBlock>| -> Result<(), Refusal> {
        full.drain(..).try_for_each(|packed| addition.take(app, &packed)).map_err(Refusal::from)
    };
    while let Some(piece) = pieces.next().await? {
        hash.update(&piece);
        if taken.is_ok() {
            taken = intake.push(&piece, &mut full).map_err(Refusal::from).and_then(|()| take(&mut full));
        }
    }
    if taken.is_ok() {
        taken = intake.finish(&mut full).map_err(Refusal::from).and_then(|_| take(&mut full));
    }
    Ok((hash.finish(), taken.map(|()| addition)))
}

/// Remove addresses from a suppression list
///
/// Removes the addresses in the body or, with `all=true` and no body, all addresses on the list.
#[utoipa::path(
    delete,
    path = "/v1/organization/suppressions/{list}",
    tag = "Account",
    params(ListPath, SuppressionRemovalQuery),
    request_body(content = Option<Removal>, description = "Addresses to remove; omit the body with `all=true`."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "Outcome of the removal.", body = RemovedFrom))
)]
pub(crate) async fn remove_suppressions(
    Call(app, caller): Call,
    PathId(list): PathId<SuppressionKind>,
    Asking(query): Asking,
    body: Option<JsonBody<Removal>>,
) -> Answer<RemovedFrom> {
    // Comes after the body, whose errors take precedence.
    let query = SuppressionRemovalQuery::from_query(&query)?;
    let removal = body.map(|JsonBody(removal)| removal);
    answer(suppressions::remove_addresses(&app, &caller, list, query, removal).await)
}
