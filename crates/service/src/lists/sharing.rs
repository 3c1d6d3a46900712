//! Links that show a list's summary to people without an account: counts by verdict, reason and provider, no addresses.

use probity_access::secrets::random;
use probity_account::api_key::{is_secret_text, secret_text};
use probity_account::id::JobId;
use probity_backend::lists::progress::{JobProgress, ListSummary};
use probity_contract::error::ApiError;
use probity_contract::timestamp::Timestamp;
use probity_mail::time::DAY_MS;
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::jobs::{self, JobShare};
use probity_store::{StoreError, work};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum lifetime of a link, in days.
const DAYS_MAX: i64 = 90;
const DAYS_USUAL: i64 = 30;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewListLink {
    /// Days until the link ends.
    #[serde(default = "usual_days")]
    days: i64,
    /// Whether the summary includes the list's name.
    #[serde(default)]
    named: bool,
}

fn usual_days() -> i64 {
    DAYS_USUAL
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListLink {
    named: bool,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<JobShare> for ListLink {
    fn from(JobShare { named, created_at, expires_at }: JobShare) -> Self {
        Self { named, created_at: created_at.into(), expires_at: expires_at.into() }
    }
}

/// Link of a list, if it has one.
#[derive(Debug, Serialize)]
pub struct SharedList {
    link: Option<ListLink>,
    /// Token of a link that was just created. It is not stored, so it is never shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Summary that a link shows.
#[derive(Debug, Serialize)]
pub struct LinkedSummary {
    #[serde(flatten)]
    summary: ListSummary,
    /// Time at which the link ends.
    expires_at: Timestamp,
}

/// Returns the link to a list's summary.
pub async fn get_list_link(app: &App, caller: &Caller, id: JobId) -> Result<SharedList, ApiError> {
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let link = jobs::share_of(&mut conn, job.org, job.no, app.now()).await?;
    Ok(SharedList { link: link.map(Into::into), token: None })
}

/// Creates a link to a list's summary; an earlier link stops working.
pub async fn create_list_link(
    app: &App,
    caller: &Caller,
    id: JobId,
    asked: NewListLink,
) -> Result<SharedList, ApiError> {
    if !(1..=DAYS_MAX).contains(&asked.days) {
        return Err(ApiError::invalid("days", format_args!("must be 1 to {DAYS_MAX}")));
    }
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    let token = secret_text(random::bytes());
    let hash = app.secrets.share_link(&token);
    let share = JobShare { named: asked.named, created_at: now, expires_at: now + asked.days * DAY_MS };
    let write = app.store.write(work!(|tx| {
        let job = jobs::lock_by_id(tx, org, id, test).await?;
        jobs::share(tx, org, job.no, &hash, &share).await?;
        let what = AccountChange::about(AccountEventKind::ListShared, EventSubject::Job(id));
        caller.note(tx, now, &[what]).await
    }));
    write.await?;
    Ok(SharedList { link: Some(share.into()), token: Some(token) })
}

/// Revokes the link to a list's summary.
pub async fn revoke_list_link(app: &App, caller: &Caller, id: JobId) -> Result<SharedList, ApiError> {
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    let write = app.store.write(work!(|tx| {
        let job = jobs::lock_by_id(tx, org, id, test).await?;
        if jobs::unshare(tx, org, job.no).await? {
            let what = AccountChange::about(AccountEventKind::ListUnshared, EventSubject::Job(id));
            caller.note(tx, now, &[what]).await?;
        }
        Ok::<_, StoreError>(())
    }));
    write.await?;
    Ok(SharedList { link: None, token: None })
}

/// Returns the summary that a link shows, without an account.
pub async fn get_linked_summary(app: &App, token: &str) -> Result<LinkedSummary, ApiError> {
    if !is_secret_text(token) {
        return Err(ApiError::not_found());
    }
    let (now, hash) = (app.now(), app.secrets.share_link(token));
    let mut conn = app.store.read().await?;
    let Some(found) = jobs::by_share(&mut conn, &hash, now).await? else { return Err(ApiError::not_found()) };
    let progress = JobProgress::of(&mut conn, found.org, found.id, found.test, now).await?;
    let summary = progress.summary(found.test, found.share.named);
    Ok(LinkedSummary { summary, expires_at: found.share.expires_at.into() })
}
