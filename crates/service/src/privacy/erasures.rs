//! Erasure requests and their receipts.

use std::collections::BTreeSet;

use probity_account::id::ErasureId;
use probity_backend::privacy::erasures::{OPEN_MAX, tag};
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::privacy::erasures::{ADDRESSES_MAX, CreateErasure, Receipt, Requested};
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::address::trimmed;
use probity_mail::time::Millis;
use probity_store::activity::events::{AccountChange, AccountEventKind};
use probity_store::privacy::erasures::{self, ErasureSubmission, NewErasure, SuppressionTag};
use probity_store::{StoreError, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Name of the list in its cursors.
const LIST: &str = "/v1/erasures";
/// Error while [`OPEN_MAX`] requests are open.
const FULL: &str = "100 erasures are open; try again when one is completed";
/// Delay before a retry after that error, in seconds.
const FULL_RETRY_S: u32 = 60;

/// Stores a request to erase addresses, durably: in the database, and in the file that survives a restored backup.
pub async fn create_erasure(
    app: &App,
    caller: &Caller,
    once: &Once,
    asked: CreateErasure,
) -> Result<Requested, ApiError> {
    let tags = tags(app, caller, &asked.emails)?;
    let webhook_url = match asked.webhook_url.as_deref() {
        None => None,
        Some(url) => Some(app.callbacks.check(url).await.map_err(|refused| ApiError::invalid("webhook_url", refused))?),
    };
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    let mut new =
        NewErasure { org, id: probity_access::secrets::random::id(now), test, tags, webhook_url, requested_at: now };
    app.erasures.can_outlast().await.map_err(ApiError::server_error)?;
    let requested = Requested { success: true, id: new.id };
    let Some(requested_at) = store_request(app, caller, once, &new, &requested).await? else {
        return Err(ApiError::conflict(FULL).retry_after(FULL_RETRY_S));
    };
    new.requested_at = requested_at;
    app.erasure_parts().forget(new.org, new.test, new.tags.iter().copied().collect());
    app.erasures.wake.notify_one();
    // After the database: the next start repeats requests of the file that the database lacks.
    app.erasures.outlast(&new).await.map_err(ApiError::server_error)?;
    Ok(requested)
}

/// Requests as many erasures as the addresses need, and returns their receipts. Because erasures cannot be undone, all
/// addresses are checked before the first request.
pub async fn erase_addresses(app: &App, caller: &Caller, emails: &[String]) -> Result<List<Receipt>, ApiError> {
    for (index, email) in emails.iter().enumerate() {
        check_address(index, email)?;
    }
    let mut receipts = Vec::new();
    for emails in emails.chunks(ADDRESSES_MAX) {
        let asked = CreateErasure { emails: emails.to_vec(), webhook_url: None };
        let requested = create_erasure(app, caller, &Once::unkeyed(), asked).await?;
        receipts.push(get_erasure(app, caller, requested.id).await?);
    }
    Ok(List::whole(receipts))
}

/// Stores a request and returns its time; `None` if too many are open.
async fn store_request(
    app: &App,
    caller: &Caller,
    once: &Once,
    new: &NewErasure,
    requested: &Requested,
) -> Result<Option<Millis>, StoreError> {
    let now = new.requested_at;
    // An operator's file may need more requests than usually allowed.
    let open_max = if caller.is_staff() { usize::MAX } else { OPEN_MAX };
    let stored = app.store.write(work!(|tx| {
        let ErasureSubmission::Taken(requested_at) = erasures::wish(tx, new, now, open_max).await? else {
            return Ok(None);
        };
        let event = AccountChange::Account(AccountEventKind::Erasure, None);
        caller.note(tx, now, &[event]).await?;
        once.keep(tx, requested).await?;
        Ok(Some(requested_at))
    }));
    stored.await
}

/// Returns the tags of the addresses, without duplicates.
pub(super) fn tags(app: &App, caller: &Caller, emails: &[String]) -> Result<Vec<SuppressionTag>, ApiError> {
    if emails.is_empty() || emails.len() > ADDRESSES_MAX {
        return Err(ApiError::invalid("emails", format_args!("must have 1 to {ADDRESSES_MAX} addresses")));
    }
    let read = |(index, email): (usize, &String)| {
        check_address(index, email)?;
        Ok::<_, ApiError>(tag(&app.secrets, caller.org(), email))
    };
    let tags: BTreeSet<SuppressionTag> = emails.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok(tags.into_iter().collect())
}

fn check_address(index: usize, email: &str) -> Result<(), ApiError> {
    if trimmed(email).is_empty() || email.len() > ADDRESS_MAX_BYTES {
        let field = format!("emails[{index}]");
        return Err(ApiError::invalid(&field, format_args!("must have 1 to {ADDRESS_MAX_BYTES} bytes")));
    }
    Ok(())
}

/// Lists erasures with their receipts, newest first. Test keys see erasures of test jobs, and all other callers those of
/// live jobs.
pub async fn list_erasures(app: &App, caller: &Caller, query: PageQuery) -> Result<List<Receipt>, ApiError> {
    let list = if caller.is_test() { format!("{LIST} test") } else { LIST.to_owned() };
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let mut conn = app.store.read().await?;
    let rows = erasures::page(&mut conn, caller.org(), caller.is_test(), asked.after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.requested_at, row.id), |row| Receipt::from(&row)))
}

/// Returns the receipt of an erasure.
pub async fn get_erasure(app: &App, caller: &Caller, id: ErasureId) -> Result<Receipt, ApiError> {
    let erasure = erasures::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    Ok(Receipt::from(&erasure))
}
