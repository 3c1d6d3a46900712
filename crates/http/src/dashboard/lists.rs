//! `/app/lists` and `/app/jobs/{id}`: lists with their names, progress and rows, acts on them, their largest domains, and links
//! to their summaries. `/app/shared` is the summary that a link shows without sign-in; its token is in a header, as for one-time
//! links.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use probity_account::id::JobId;
use probity_backend::lists::progress::JobProgress;
use probity_backend::uploads::view::Started;
use probity_contract::page::List;
use probity_service::jobs::keeping::{self, DeletedList, ListPatch};
use probity_service::jobs::mailing::{self, ListMail};
use probity_service::lists::catalogue::{ListShown, ListsQuery, list_named_lists};
use probity_service::lists::domains::{DomainMix, count_domains};
use probity_service::lists::origin::{RowOrigin, get_row_origin};
use probity_service::lists::progress;
use probity_service::lists::sharing::{self, LinkedSummary, NewListLink, SharedList};
use probity_service::lists::slice::{RowsCount, RowsQuery, RowsSlice, count_rows, find_rows};

use crate::handler::{Answer, AppState, Asking, Call, JsonBody, PathId, Refusal, answer, answer_whole};
use crate::person::links;

/// Names and tags a list.
pub(crate) async fn patch_list(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    JsonBody(patch): JsonBody<ListPatch>,
) -> Answer<JobProgress> {
    answer(keeping::name_list(&app, &caller, id, patch).await)
}

/// Deletes a completed list.
pub(crate) async fn delete_list(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<DeletedList> {
    answer(keeping::delete_list(&app, &caller, id).await)
}

/// Makes a list finish without further retries.
pub(crate) async fn finish(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<JobProgress> {
    answer(keeping::finish_list(&app, &caller, id).await)
}

/// Verifies the unknown rows of a list again, as a new list.
pub(crate) async fn verify_unknown(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<Started> {
    answer_whole(async move { keeping::verify_unknown_again(&app, &caller, id).await }).await
}

/// Returns the rows of a list by domain.
pub(crate) async fn get_domains(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<DomainMix> {
    answer(count_domains(&app, &caller, id).await)
}

/// Returns a job's progress once, for browsers without events.
pub(crate) async fn get_progress(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<JobProgress> {
    answer(progress::get_progress(&app, &caller, id).await)
}

/// Returns the rows of a list that match a filter.
pub(crate) async fn get_rows(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    Asking(query): Asking<RowsQuery>,
) -> Answer<RowsSlice> {
    answer(find_rows(&app, &caller, id, query).await)
}

/// Counts the rows of a list that match a filter.
pub(crate) async fn count_matches(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    Asking(query): Asking<RowsQuery>,
) -> Answer<RowsCount> {
    answer(count_rows(&app, &caller, id, query).await)
}

/// Returns the other columns of the uploaded file for a row.
pub(crate) async fn get_origin(
    Call(app, caller): Call,
    PathId((id, index)): PathId<(JobId, i64)>,
) -> Answer<RowOrigin> {
    answer(get_row_origin(&app, &caller, id, index).await)
}

/// Lists an organization's lists with their names, newest first.
pub(crate) async fn list_lists(Call(app, caller): Call, Asking(query): Asking<ListsQuery>) -> Answer<List<ListShown>> {
    answer(list_named_lists(&app, &caller, query).await)
}

/// Returns whether the member gets an email when the list ends.
pub(crate) async fn get_mail(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<ListMail> {
    answer(mailing::get_list_mail(&app, &caller, id).await)
}

/// Requests an email when the list ends.
pub(crate) async fn ask_for_mail(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<ListMail> {
    answer(mailing::request_list_mail(&app, &caller, id).await)
}

/// Cancels the email.
pub(crate) async fn cancel_mail(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<ListMail> {
    answer(mailing::cancel_list_mail(&app, &caller, id).await)
}

/// Returns the link to a list's summary.
pub(crate) async fn get_link(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<SharedList> {
    answer(sharing::get_list_link(&app, &caller, id).await)
}

/// Creates the link.
pub(crate) async fn create_link(
    Call(app, caller): Call,
    PathId(id): PathId<JobId>,
    JsonBody(asked): JsonBody<NewListLink>,
) -> Answer<SharedList> {
    answer(sharing::create_list_link(&app, &caller, id, asked).await)
}

/// Revokes the link.
pub(crate) async fn revoke_link(Call(app, caller): Call, PathId(id): PathId<JobId>) -> Answer<SharedList> {
    answer(sharing::revoke_list_link(&app, &caller, id).await)
}

/// Returns the summary that a link shows, without sign-in.
pub(crate) async fn get_shared(
    State(app): AppState,
    headers: HeaderMap,
) -> Result<([(HeaderName, &'static str); 1], Json<LinkedSummary>), Refusal> {
    let summary = sharing::get_linked_summary(&app, links::token(&headers)).await?;
    Ok(([(HeaderName::from_static("x-robots-tag"), "noindex")], Json(summary)))
}
