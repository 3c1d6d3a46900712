//! Acts on lists besides reading: name and tag, finish, verify unknown rows again, delete.

use probity_account::block::{Filling, PackedBlock};
use probity_account::id::JobId;
use probity_backend::lists::progress::JobProgress;
use probity_backend::lists::rows;
use probity_backend::uploads::view::Started;
use probity_contract::error::ApiError;
use probity_contract::merge_patch::PatchField;
use probity_mail::verdict::{Reason, Status};
use probity_store::jobs::{self, Job, JobNo, NewJob};
use probity_store::privacy::erasures;
use probity_store::{ScopedFutureExt as _, work};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::callers::admission::running;
use crate::callers::caller::{Caller, JobOrigin};
use crate::jobs::acts::may_end;
use crate::jobs::staged::{StagedJob, accept_covered, erasing};
use crate::lists::progress::get_progress;

/// Maximum length of a list's name and of a tag, in characters.
const NAME_MAX: usize = 200;
const TAG_MAX: usize = 40;
const TAGS_MAX: usize = 10;
/// Rows read at a time: a few blocks.
const STEP: i64 = 8_000;

/// New name and tags of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPatch {
    /// `null` removes the name.
    #[serde(default)]
    name: PatchField<String>,
    #[serde(default)]
    tags: PatchField<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub struct DeletedList {
    id: JobId,
    deleted: bool,
}

/// Names and tags a list, and returns its progress.
pub async fn name_list(app: &App, caller: &Caller, id: JobId, patch: ListPatch) -> Result<JobProgress, ApiError> {
    let ListPatch { name, tags } = patch;
    let (org, test) = (caller.org(), caller.is_test());
    let name = name.try_map(|name| line("name", &name, NAME_MAX))?;
    let tags = tags.list().map(|tags| named_tags(&tags)).transpose()?;
    app.store
        .write(work!(|tx| {
            let job = jobs::by_id(tx, org, id, test).await?;
            let title = name.clone().over(job.title);
            jobs::name(tx, org, job.no, title.as_deref(), tags.as_deref().unwrap_or(&job.tags)).await
        }))
        .await?;
    get_progress(app, caller, id).await
}

/// Returns a text of one line without outer blanks.
fn line(field: &str, text: &str, most: usize) -> Result<String, ApiError> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control);
    let refused = || ApiError::invalid(field, format_args!("must be one line of 1 to {most} characters"));
    fits.then(|| text.to_owned()).ok_or_else(refused)
}

fn named_tags(tags: &[String]) -> Result<Vec<String>, ApiError> {
    if tags.len() > TAGS_MAX {
        return Err(ApiError::invalid("tags", format_args!("may have at most {TAGS_MAX} entries")));
    }
    let mut distinct: Vec<String> = Vec::new();
    for tag in tags {
        let tag = line("tags", tag, TAG_MAX)?;
        if !distinct.contains(&tag) {
            distinct.push(tag);
        }
    }
    Ok(distinct)
}

/// Finishes a list: deferred addresses are probed once more and not deferred again.
pub async fn finish_list(app: &App, caller: &Caller, id: JobId) -> Result<JobProgress, ApiError> {
    running(app, caller)?;
    may_end(app, caller, id).await?;
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    if !app.store.write(|tx| jobs::hurry(tx, org, id, test, now).scope_boxed()).await? {
        return Err(ApiError::conflict("the list is already completed or stopped"));
    }
    app.wake.work.notify_one();
    get_progress(app, caller, id).await
}

/// Deletes a list with its file. It is hidden immediately; maintenance removes its rows.
pub async fn delete_list(app: &App, caller: &Caller, id: JobId) -> Result<DeletedList, ApiError> {
    let (org, test, now) = (caller.org(), caller.is_test(), app.now());
    match app.store.write(|tx| jobs::delete(tx, org, id, test, now).scope_boxed()).await? {
        Ok(()) => Ok(DeletedList { id, deleted: true }),
        Err(state) if state.is_closed() => {
            Err(ApiError::conflict("the list belongs to a run of a connection and can't be deleted"))
        }
        Err(_) => Err(ApiError::conflict("the list is being verified; stop it first")),
    }
}

/// Verifies the rows of a closed list with unknown verdicts again, as a new list.
pub async fn verify_unknown_again(app: &App, caller: &Caller, id: JobId) -> Result<Started, ApiError> {
    running(app, caller)?;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    if !job.state.is_closed() {
        return Err(ApiError::conflict("the list is being verified; wait until it is completed"));
    }
    let started_by = if caller.is_staff() { "staff" } else { "manual" };
    let origin = JobOrigin { source: "input", started_by, source_action: "dashboard.verify_again" };
    let staged = StagedJob::begin(app, caller.new_job(app.now(), origin)).await?;
    let accepted = match copy_unknown(app, &staged, &job).await {
        Ok(rows) => accept(app, &staged.new, &job, rows).await,
        Err(error) => Err(error),
    };
    staged.settled(app, accepted).await?;
    Ok(Started { id: staged.new.id })
}

/// Copies the addresses whose verdict is unknown; returns their number.
async fn copy_unknown(app: &App, staged: &StagedJob, job: &Job) -> Result<i64, ApiError> {
    let (mut filling, mut full) = (Filling::default(), Vec::<PackedBlock>::new());
    let (mut kept, mut at) = (0, 0);
    while at < job.rows {
        let to = (at + STEP).min(job.rows);
        for email in unknown(app, job, at, to).await? {
            filling.push(email.as_bytes()).map_err(ApiError::server_error)?;
            if filling.is_full() {
                full.extend(filling.take());
            }
        }
        kept = staged.keep(app, kept, &mut full).await?;
        at = to;
    }
    full.extend(filling.take());
    kept = staged.keep(app, kept, &mut full).await?;
    if kept == 0 { Err(ApiError::conflict("the list has no unknown rows to verify again")) } else { Ok(kept) }
}

async fn unknown(app: &App, job: &Job, from: i64, to: i64) -> Result<Vec<String>, ApiError> {
    let mut conn = app.store.read().await?;
    let standing = jobs::outcomes(&mut conn, job.org, job.no, from, to).await?;
    let is_unknown = |reason: Reason| reason.status() == Status::Unknown;
    let wanted: Vec<i64> =
        standing.iter().filter(|(_, row)| is_unknown(row.result.kind.reason)).map(|(idx, _)| *idx).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut emails = rows::emails(&mut conn, job, from, to).await?;
    let email = |idx: i64| usize::try_from(idx - from).ok().and_then(|at| emails.get_mut(at)).and_then(Option::take);
    Ok(wanted.into_iter().filter_map(email).collect())
}

/// Accepts the new list under the name of the old one.
async fn accept(app: &App, new: &NewJob, of: &Job, rows: i64) -> Result<(), ApiError> {
    let now = app.now();
    let accepted = accept_covered(app, new.org, || {
        app.store.write(work!(|tx| {
            // The copy may contain addresses erased meanwhile.
            if erasures::any_since(tx, new.org, new.test, new.at).await? {
                return Ok(false);
            }
            jobs::accept(tx, new, rows, None, now).await?;
            jobs::name(tx, new.org, JobNo::of_id(new.id), of.title.as_deref(), &of.tags).await?;
            Ok(true)
        }))
    });
    if accepted.await? { Ok(()) } else { Err(erasing("list")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line() {
        assert_eq!(line("name", "  Kunden 2026 ", NAME_MAX).unwrap(), "Kunden 2026");
        for refused in ["", "  ", "a\nb", &"x".repeat(NAME_MAX + 1)] {
            assert!(line("name", refused, NAME_MAX).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn tags_are_few_and_distinct() {
        let tags = |names: &[&str]| named_tags(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(tags(&["Q4", " Q4 ", "Shop"]).unwrap(), ["Q4", "Shop"]);
        assert!(tags(&["x"; TAGS_MAX + 1]).is_err());
        assert!(tags(&[""]).is_err());
    }
}
