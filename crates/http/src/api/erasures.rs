//! `/v1/erasures`: addresses that are to be nowhere any more, and the receipts.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::ErasureId;
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::erasures as erasing;
use probity_service::erasures::OPEN_MAX;
use probity_service::error::ApiError;
use probity_service::page::{Asked, List};
use probity_service::published::erasures::{ADDRESSES_MAX, CreateErasure, Receipt, Requested};
use probity_store::erasures::{self, NewErasure, Tag, Wished};
use probity_store::events::{self, AccountEvent, What};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::asking::Asking;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{ErasurePath, PageParams};
use crate::path::PathId;

/// The list's name in its cursors.
const LIST: &str = "/v1/erasures";
/// What is answered while [`OPEN_MAX`] are open.
const FULL: &str = "100 erasures are open; try again when one is completed";
/// How soon a client may try again then, in seconds.
const FULL_RETRY_S: u32 = 60;

/// Erase addresses
///
/// Erases the addresses from everything submitted before. Rows keep their index, status and reason, and show `erased`
/// instead of the address; unfinished work on them is dropped. The receipt shows when the erasure is complete. Addresses
/// submitted later are verified as usual. A test key erases rows of test jobs only. At most 100 erasures can be open for
/// live jobs, and 100 for test jobs; another one gets 409 with `Retry-After`.
#[utoipa::path(
    post,
    path = "/v1/erasures",
    tag = "Privacy",
    request_body(content = CreateErasure, description = "Addresses to erase."),
    security(("bearer" = ["write:erasures"])),
    responses((status = 200, description = "The erasure request is stored durably.", body = Requested))
)]
pub(crate) async fn create_erasure(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
    JsonBody(asked): JsonBody<CreateErasure>,
) -> Result<Answer, Refusal> {
    let tags = tags(&app, &caller, &asked.emails)?;
    let webhook_url = match asked.webhook_url.as_deref() {
        None => None,
        Some(url) => Some(app.callbacks.check(url).await.map_err(|refused| ApiError::invalid("webhook_url", refused))?),
    };
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    let mut new = NewErasure { org, id: probity_service::random::id(now), test, tags, webhook_url, requested_at: now };
    app.erasures.can_outlast().await.map_err(ApiError::server_error)?;
    let Some((answer, requested_at)) = take_down(&app, &caller, &once, &new).await? else {
        return Err(ApiError::conflict(FULL).retry_after(FULL_RETRY_S).into());
    };
    new.requested_at = requested_at;
    app.erasure_parts().forget(new.org, new.test, new.tags.iter().copied().collect());
    app.erasures.wake.notify_one();
    // Not before: what is in the file and not in the database is done again by the next start.
    app.erasures.outlast(&new).await.map_err(ApiError::server_error)?;
    Ok(answer)
}

/// Takes a wish down, and says what time it has got; none where too many are open.
async fn take_down(
    app: &App,
    caller: &Caller,
    once: &Once,
    new: &NewErasure,
) -> Result<Option<(Answer, Millis)>, StoreError> {
    let now = new.requested_at;
    let taken = app.store.write(|tx| {
        async {
            let Wished::Taken(requested_at) = erasures::wish(tx, new, now, OPEN_MAX).await? else { return Ok(None) };
            let event = What::Account(AccountEvent::Erasure);
            events::add(tx, new.org, now, Some(caller.actor()), &[event]).await?;
            let answer = once.keep(tx, StatusCode::OK, &Requested { success: true, id: new.id }).await?;
            Ok(Some((answer, requested_at)))
        }
        .scope_boxed()
    });
    taken.await
}

/// Each address once.
fn tags(app: &App, caller: &Caller, emails: &[String]) -> Result<Vec<Tag>, Refusal> {
    if emails.is_empty() || emails.len() > ADDRESSES_MAX {
        return Err(ApiError::invalid("emails", format_args!("must have 1 to {ADDRESSES_MAX} addresses")).into());
    }
    let tag = |(index, email): (usize, &String)| {
        if email.trim_ascii().is_empty() || email.len() > ADDRESS_MAX_BYTES {
            let field = format!("emails[{index}]");
            return Err(ApiError::invalid(&field, format_args!("must have 1 to {ADDRESS_MAX_BYTES} bytes")));
        }
        Ok(erasing::tag(&app.secrets, caller.org(), email))
    };
    let tags: BTreeSet<Tag> = emails.iter().enumerate().map(tag).collect::<Result<_, _>>()?;
    Ok(tags.into_iter().collect())
}

/// List erasures
///
/// Lists erasures with their receipts, newest first.
#[utoipa::path(
    get,
    path = "/v1/erasures",
    tag = "Privacy",
    params(PageParams),
    security(("bearer" = ["write:erasures"])),
    responses((status = 200, description = "A page of erasures.", body = List<Receipt>))
)]
pub(crate) async fn list_erasures(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<Receipt>>, Refusal> {
    let list = if caller.is_test() { format!("{LIST} test") } else { LIST.to_owned() };
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let mut conn = app.store.read().await?;
    let rows = erasures::page(&mut conn, caller.org(), caller.is_test(), asked.after, asked.at_most()).await?;
    Ok(Json(asked.list(rows, |row| (row.requested_at, row.id), |row| Receipt::from(&row))))
}

/// Get an erasure
///
/// Returns the receipt: whether everything is erased, and the number of erased entries by table.
#[utoipa::path(
    get,
    path = "/v1/erasures/{id}",
    tag = "Privacy",
    params(ErasurePath),
    security(("bearer" = ["write:erasures"])),
    responses((status = 200, description = "The receipt.", body = Receipt))
)]
pub(crate) async fn get_erasure(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<ErasureId>,
) -> Result<Json<Receipt>, Refusal> {
    let erasure = erasures::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    Ok(Json(Receipt::from(&erasure)))
}
