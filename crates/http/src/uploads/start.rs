//! A job of an upload: the texts of its column, row by row, accepted as any list is.
//!
//! Blocks of the job are written first, under a job that nobody sees. The transaction that accepts it also notes it with the
//! upload; where another start was first, what was written is thrown away, and the answer is the other's job. So it is where
//! addresses
//! were erased meanwhile, which the copy may still have: the job would be younger than the erasure, and not be gone through.

use std::sync::Arc;

use axum::http::StatusCode;
use probity_account::block::{Filling, Packed};
use probity_account::id::{JobId, UploadId};
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::uploads::about::About;
use probity_service::uploads::cells::{address, decoded};
use probity_service::uploads::view::{Choose, Started};
use probity_store::erasures;
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::uploads::{self, Choice, Upload};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::api::batch::submit::{covered, discard, keep};
use crate::auth::Caller;
use crate::error::Refusal;
use crate::idempotency::Once;

/// When to try again while addresses are erased, in seconds.
const ERASING_S: u32 = 5;
/// Blocks of the upload that are read at a time.
const BLOCKS: i64 = 10;

/// What is to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) id: UploadId,
    /// How it was read when its caller looked at it, and at what it would cost.
    pub(super) seen: Choose,
}

impl Wanted {
    /// The upload, where it is still read as it was seen.
    async fn upload(&self, app: &App, caller: &Caller) -> Result<Upload, Refusal> {
        let Self { id, seen: Choose { column, header } } = *self;
        let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id).await?;
        let Choice { column: chosen, header: named } = upload.choice;
        let same = (column.is_none() || column == chosen) && header.is_none_or(|header| header == named);
        if same { Ok(upload) } else { Err(changed().into()) }
    }
}

fn changed() -> ApiError {
    ApiError::conflict("the file was changed in the meantime; reload and check its column")
}

/// The job of an upload, made now or before.
pub(super) async fn start(app: &Arc<App>, caller: &Caller, wanted: &Wanted, once: &Once) -> Result<JobId, Refusal> {
    let upload = wanted.upload(app, caller).await?;
    if let Some((_, job)) = upload.job {
        return Ok(job);
    }
    let new = new_job(app, caller, &upload);
    let no = app.store.write(|tx| jobs::begin(tx, &new).scope_boxed()).await?;
    let accepted = match fill(app, &new, no, &upload).await {
        Ok(rows) => accept(app, &new, &upload, rows, once).await,
        Err(error) => Err(error),
    };
    match accepted {
        Ok(None) => {
            app.wake.import.notify_one();
            Ok(new.id)
        }
        Ok(Some(other)) => {
            discard(app, &new, no).await;
            Ok(other)
        }
        Err(error) => {
            discard(app, &new, no).await;
            Err(error)
        }
    }
}

/// What two uploads have in common of which the same job would be made: their rows, and how they are read.
pub(super) async fn fingerprint(app: &App, caller: &Caller, wanted: &Wanted) -> Result<[u8; 32], Refusal> {
    let upload = wanted.upload(app, caller).await?;
    let mut hash = app.secrets.body_in_pieces();
    let column = upload.choice.column.unwrap_or(-1);
    hash.update(&[column.to_be_bytes(), i64::from(upload.choice.header).to_be_bytes()].concat());
    let mut next = 0;
    while next < upload.rows {
        let blocks = uploads::blocks(&mut app.store.read().await?, upload.org, upload.no, next, BLOCKS).await?;
        let before = next;
        for (first, body) in blocks {
            let rows = decoded(&body)?;
            next = first + i64::try_from(rows.len()).map_err(ApiError::server_error)?;
            for cell in rows.iter().flatten() {
                // Its length before it: no two files are the same text.
                hash.update(&cell.len().to_be_bytes());
                hash.update(cell.as_bytes());
            }
        }
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing").into());
        }
    }
    Ok(hash.finish())
}

fn new_job(app: &App, caller: &Caller, upload: &Upload) -> NewJob {
    let now = app.now();
    let is_staff = matches!(caller, Caller::Staff { .. });
    let (source, source_action) = match upload.source.as_str() {
        "input" => ("input", if is_staff { "cli.input" } else { "dashboard.input" }),
        _ => ("csv", if is_staff { "cli.upload" } else { "dashboard.upload" }),
    };
    NewJob {
        org: upload.org,
        id: probity_service::random::id(now),
        test: false,
        source,
        started_by: if is_staff { "staff" } else { "manual" },
        source_action,
        actor: Some(caller.actor().to_json()),
        at: now,
    }
}

/// Writes the addresses; gives how many rows there are.
async fn fill(app: &App, new: &NewJob, no: JobNo, upload: &Upload) -> Result<i64, Refusal> {
    let column = upload.choice.column.and_then(|column| usize::try_from(column).ok());
    let column = column.ok_or_else(|| ApiError::invalid("column", "choose the column that has the addresses"))?;
    let about = Arc::new(About::of(&upload.about)?);
    let mut texts = Texts { about, column, skip: upload.choice.header, filling: Filling::default() };
    let (mut next, mut kept) = (0, 0);
    while next < upload.rows {
        let blocks = uploads::blocks(&mut app.store.read().await?, upload.org, upload.no, next, BLOCKS).await?;
        let before = next;
        let read = tokio::task::spawn_blocking(move || {
            let mut full = Vec::new();
            let next = texts.take(blocks, next, &mut full)?;
            Ok::<_, Refusal>((texts, next, full))
        });
        let mut full;
        (texts, next, full) = read.await.map_err(ApiError::server_error)??;
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing").into());
        }
        if next >= upload.rows {
            full.extend(texts.filling.take());
        }
        kept = keep(app, new, no, kept, &mut full).await?;
    }
    if kept == 0 { Err(ApiError::invalid_request("the file has a header but no rows").into()) } else { Ok(kept) }
}

/// The texts of the column on their way into blocks of a job.
struct Texts {
    about: Arc<About>,
    column: usize,
    skip: bool,
    filling: Filling,
}

impl Texts {
    /// Takes stored blocks; gives the index of the next row.
    fn take(&mut self, blocks: Vec<(i64, Vec<u8>)>, mut next: i64, full: &mut Vec<Packed>) -> Result<i64, Refusal> {
        for (first, body) in blocks {
            if first != next {
                return Err(ApiError::server_error("rows of an upload are missing").into());
            }
            for (at, row) in (first..).zip(decoded(&body)?) {
                next = at + 1;
                if at == 0 && self.skip {
                    continue;
                }
                let text = address(&self.about, &row, self.column);
                self.filling.push(text.as_bytes()).expect("addresses are cut, and a full block was taken");
                if self.filling.is_full() {
                    full.extend(self.filling.take());
                }
            }
        }
        Ok(next)
    }
}

/// What came of accepting a job.
enum Accepted {
    /// It is accepted, or another one was before.
    As(Option<JobId>),
    /// The upload is read in another way by now.
    Changed,
    /// Addresses may be erased from the upload that were copied already.
    Erasing,
}

/// Accepts the job; gives the one that was accepted before. [`NewJob::at`] is when the copy began.
async fn accept(app: &App, new: &NewJob, upload: &Upload, rows: i64, once: &Once) -> Result<Option<JobId>, Refusal> {
    let now = app.now();
    let accepted = covered(app, new.org, || {
        app.store.write(|tx| {
            async {
                if erasures::any_since(tx, upload.org, new.test, new.at).await? {
                    return Ok(Accepted::Erasing);
                }
                match uploads::start(tx, (upload.org, upload.id), (new.id, upload.choice), now).await {
                    Err(StoreError::Conflict) => return Ok(Accepted::Changed),
                    Ok(Some((_, other))) => return Ok(Accepted::As(Some(other))),
                    started => drop(started?),
                }
                jobs::accept(tx, new, rows, None, now).await?;
                once.keep(tx, StatusCode::OK, &Started { id: new.id }).await?;
                Ok(Accepted::As(None))
            }
            .scope_boxed()
        })
    });
    match accepted.await? {
        Accepted::As(other) => Ok(other),
        Accepted::Changed => Err(changed().into()),
        Accepted::Erasing => {
            let message = "an erasure is removing addresses from this file; try again in a moment";
            Err(ApiError::new(Code::ServiceUnavailable, message).retry_after(ERASING_S).into())
        }
    }
}
