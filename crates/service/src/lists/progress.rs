//! Progress of a list.

use probity_account::id::JobId;
use probity_backend::lists::progress::JobProgress;
use probity_contract::error::ApiError;

use crate::app::App;
use crate::callers::caller::Caller;

/// Returns a job's progress. Events have the same content ([`probity_backend::lists::watch`]).
pub async fn get_progress(app: &App, caller: &Caller, id: JobId) -> Result<JobProgress, ApiError> {
    Ok(JobProgress::of(&mut app.store.read().await?, caller.org(), id, caller.is_test(), app.now()).await?)
}
