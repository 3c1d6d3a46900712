//! Email to a member when a list ends.

use probity_account::id::{JobId, UserId};
use probity_contract::error::ApiError;
use probity_store::ScopedFutureExt as _;
use probity_store::activity::letters::{self, LetterKey};
use probity_store::jobs;
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Whether the caller gets an email when a list ends.
#[derive(Debug, Serialize)]
pub struct ListMail {
    /// Whether the installation can send email.
    possible: bool,
    requested: bool,
}

fn member(caller: &Caller) -> Result<UserId, ApiError> {
    caller.user().ok_or_else(|| ApiError::conflict("only members get email about lists"))
}

/// Returns whether the caller gets an email when a list ends.
pub async fn get_list_mail(app: &App, caller: &Caller, id: JobId) -> Result<ListMail, ApiError> {
    let user = member(caller)?;
    let mut conn = app.store.read().await?;
    let job = jobs::by_id(&mut conn, caller.org(), id, caller.is_test()).await?;
    let requested = letters::exists(&mut conn, &LetterKey::list(job.org, job.no, user)).await?;
    Ok(ListMail { possible: app.sends_mail, requested })
}

/// Requests an email to the caller when a list ends.
pub async fn request_list_mail(app: &App, caller: &Caller, id: JobId) -> Result<ListMail, ApiError> {
    let (user, now) = (member(caller)?, app.now());
    if !app.sends_mail {
        return Err(ApiError::conflict("this installation cannot send email; configure a mail relay"));
    }
    let (org, test) = (caller.org(), caller.is_test());
    let open = app.store.write(|tx| {
        async move {
            let job = jobs::lock_by_id(tx, org, id, test).await?;
            if job.state.is_closed() {
                return Ok(false);
            }
            letters::put(tx, &LetterKey::list(org, job.no, user), now, None).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    if !open.await? {
        return Err(ApiError::conflict("the list is already completed or stopped"));
    }
    get_list_mail(app, caller, id).await
}

/// Cancels the caller's email about a list.
pub async fn cancel_list_mail(app: &App, caller: &Caller, id: JobId) -> Result<ListMail, ApiError> {
    let user = member(caller)?;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let letter = LetterKey::list(job.org, job.no, user);
    app.store.write(|tx| letters::remove(tx, &letter).scope_boxed()).await?;
    get_list_mail(app, caller, id).await
}
