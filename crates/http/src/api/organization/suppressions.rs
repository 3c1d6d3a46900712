//! `/v1/organization/suppressions/{list}`: addresses that an organization has had trouble with.
//!
//! Whatever is on a list is `spam`, `complained` or `bounced` in batches, in the contract's order among what was found, and
//! before the overrides; `GET /v1/verify` knows no lists. Lists take what `POST /v1/batch-verify` takes, as it streams in, and
//! keep a keyed tag of each address: what is on a list can be asked, never read out. Lists belong to the organization: test keys
//! see and change the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use probity_account::block::{Block, Packed};
use probity_account::suppression::List;
use probity_lists::submission::{ADDRESS_MAX_BYTES, Format, Intake};
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::published::suppressions::{AddedTo, Lookup, REMOVED_MAX, Removal, RemovedFrom, SuppressionList};
use probity_service::suppressions::{Change, Taken, tag_of};
use probity_store::ScopedFutureExt as _;
use probity_store::suppressions as lists;

use crate::asking::Asking;
use crate::auth::Caller;
use crate::body::{JsonBody, pieces};
use crate::error::Refusal;
use crate::idempotency;
use crate::idempotency::{Answer, Call, Once, run_once};
use crate::openapi::parameters::{ListPath, RemovalParams, SuppressionParams};
use crate::path::PathId;
use crate::submission::format_of;

/// Get a suppression list
///
/// Returns the number of addresses on the list and, with `email`, whether that address is listed. The service stores no
/// addresses, only keyed hashes, so it cannot list them.
#[utoipa::path(
    get,
    path = "/v1/organization/suppressions/{list}",
    tag = "Account",
    params(ListPath, SuppressionParams),
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The list.", body = SuppressionList))
)]
pub(crate) async fn get_suppressions(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(list): PathId<List>,
    Asking(query): Asking,
) -> Result<Json<SuppressionList>, Refusal> {
    let email = query.text("email")?.filter(|email| !email.trim_ascii().is_empty());
    if email.as_ref().is_some_and(|email| email.len() > ADDRESS_MAX_BYTES) {
        return Err(ApiError::invalid("email", format_args!("may have at most {ADDRESS_MAX_BYTES} bytes")).into());
    }
    let org = caller.org();
    let mut conn = app.store.read().await?;
    let standing: Vec<_> = lists::standing(&mut conn, org).await?.into_iter().filter(|one| one.list == list).collect();
    let lookup = match email {
        None => None,
        Some(email) => {
            let tag = tag_of(&app.secrets, org, &email).into_iter().collect();
            let found = lists::find(&mut conn, org, &standing, &tag).await?;
            Some(Lookup::new(email.into_owned(), found.first().map(|listed| listed.since)))
        }
    };
    Ok(Json(SuppressionList::new(list, standing.first(), lookup)))
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
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(list): PathId<List>,
    request: Request,
) -> Result<Response, Refusal> {
    let (format, request) = format_of(request).await?;
    let key = idempotency::key(request.headers())?;
    let path = request.uri().path().to_owned();
    let change = Change { org: caller.org(), list, actor: caller.actor(), at: app.now() };
    let (taken, body_hash) = take_in(&app, &change, format, request).await?;
    let Some(key) = key else {
        return add(&app, &change, &taken, &Once::unkeyed()).await.map(Answer::into_response);
    };
    let work = {
        let app = app.clone();
        async move |once: Once| add(&app, &change, &taken, &once).await.into_response()
    };
    run_once(app, caller, Call { path, key, body_hash }, work).await
}

/// Reads the body; of each address only its tag stays in memory.
async fn take_in(app: &App, change: &Change, format: Format, request: Request) -> Result<(Taken, [u8; 32]), Refusal> {
    let mut hash = app.secrets.body_in_pieces();
    let mut intake = Intake::new(format, app.config.batch_rows_max);
    let mut pieces = pieces(request, app.config.batch_body_max)?;
    let (mut full, mut taken) = (Vec::new(), Taken::default());
    while let Some(piece) = pieces.next().await? {
        hash.update(&piece);
        intake.push(&piece, &mut full)?;
        keep(app, change, &mut full, &mut taken)?;
    }
    intake.finish(&mut full)?;
    keep(app, change, &mut full, &mut taken)?;
    Ok((taken, hash.finish()))
}

fn keep(app: &App, change: &Change, full: &mut Vec<Packed>, taken: &mut Taken) -> Result<(), Refusal> {
    for packed in full.drain(..) {
        let block = Block::decode(&packed.bytes).map_err(ApiError::server_error)?;
        for address in block.iter() {
            taken.take(&app.secrets, change.org, &String::from_utf8_lossy(address));
        }
    }
    Ok(())
}

/// The last step keeps the answer for retries; one that breaks off before it is repeated whole.
async fn add(app: &App, change: &Change, taken: &Taken, once: &Once) -> Result<Answer, Refusal> {
    let steps = taken.steps();
    let (last, first) = steps.split_last().expect("there is one step at least");
    let before = change.add_all(&app.store, first).await?;
    let added = app.store.write(|tx| {
        async {
            let changed = change.add(tx, last).await?;
            let answer = AddedTo::new(change.list, taken, before + (changed.after - changed.before), changed.after);
            once.keep(tx, StatusCode::OK, &answer).await
        }
        .scope_boxed()
    });
    Ok(added.await?)
}

/// Remove addresses from a suppression list
///
/// Removes the addresses in the body or, with `all=true` and no body, all addresses on the list.
#[utoipa::path(
    delete,
    path = "/v1/organization/suppressions/{list}",
    tag = "Account",
    params(ListPath, RemovalParams),
    request_body(content = Option<Removal>, description = "Addresses to remove; omit the body with `all=true`."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "Outcome of the removal.", body = RemovedFrom))
)]
pub(crate) async fn remove_suppressions(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(list): PathId<List>,
    Asking(query): Asking,
    body: Option<JsonBody<Removal>>,
) -> Result<Json<RemovedFrom>, Refusal> {
    let all = query.one_of("all", &["true", "false"])?.is_some_and(|all| all == "true");
    let change = Change { org: caller.org(), list, actor: caller.actor(), at: app.now() };
    let removed = match (all, body) {
        (true, None) => change.clear(&app.store).await?,
        (false, Some(JsonBody(removal))) => {
            let taken = removal_of(&app, &change, &removal)?;
            change.remove_all(&app.store, &taken.steps()).await?
        }
        (true, Some(_)) => return Err(ApiError::invalid("all", "remove the body when `all=true`").into()),
        (false, None) => {
            return Err(ApiError::invalid("emails", "must be a list of addresses, or `all` must be true").into());
        }
    };
    let standing = lists::standing(&mut app.store.read().await?, change.org).await?;
    let count = standing.iter().find(|one| one.list == list).map_or(0, |one| one.listed);
    Ok(Json(RemovedFrom::new(list, removed, count)))
}

fn removal_of(app: &App, change: &Change, removal: &Removal) -> Result<Taken, Refusal> {
    let count = removal.emails.len();
    if !(1..=REMOVED_MAX).contains(&count) {
        return Err(ApiError::invalid("emails", format_args!("must have 1 to {REMOVED_MAX} addresses")).into());
    }
    let mut taken = Taken::default();
    for (index, email) in removal.emails.iter().enumerate() {
        if email.len() > ADDRESS_MAX_BYTES {
            let most = format_args!("may have at most {ADDRESS_MAX_BYTES} bytes");
            return Err(ApiError::invalid(&format!("emails[{index}]"), most).into());
        }
        taken.take(&app.secrets, change.org, email);
    }
    Ok(taken)
}
