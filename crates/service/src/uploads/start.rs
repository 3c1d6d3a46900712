//! Starts the job of an upload: copies the addresses of its column row by row, and accepts them like any list.
//!
//! Rows without an address are not in the job, so they cost nothing and are not counted; the upload stores them for downloads. A
//! column without any address is refused.
//!
//! Blocks are written first, under a staged job. The transaction that accepts the job also links it to the upload. If another
//! start was faster, the blocks are discarded and the other's job is returned. If addresses are erased meanwhile, the blocks are
//! discarded too: the copy may still have the addresses, and the erasure skips jobs younger than itself.

use std::sync::Arc;

use probity_account::block::{Filling, PackedBlock};
use probity_account::id::{JobId, UploadId};
use probity_backend::uploads::about::FileFacts;
use probity_backend::uploads::cells::{address_of, decoded};
use probity_backend::uploads::view::{Choose, Started};
use probity_backend::uploads::without::RowsWithout;
use probity_contract::error::ApiError;
use probity_lists::absent::{Absence, has_address};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::privacy::erasures;
use probity_store::uploads::{self, ColumnChoice, Upload};
use probity_store::{StoreError, work};

use crate::app::App;
use crate::callers::caller::{Caller, JobOrigin};
use crate::callers::once::{self, Beginning, KeyHolder, KeyedCall, Once};
use crate::jobs::staged::{StagedJob, accept_covered, erasing};

/// Path that scopes the idempotency key or reference of a start: one for all uploads.
pub const KEYED_START: &str = "/app/uploads/start";
/// Blocks of the upload read at a time.
const BLOCKS: i64 = 10;

/// Returns the upload if it is still read in the way its caller saw when accepting the cost.
async fn upload_as_seen(app: &App, caller: &Caller, id: UploadId, seen: Choose) -> Result<Upload, ApiError> {
    let Choose { column, header } = seen;
    let upload = uploads::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    let ColumnChoice { column: chosen, header: named } = upload.choice;
    let same = (column.is_none() || column == chosen) && header.is_none_or(|header| header == named);
    if same { Ok(upload) } else { Err(changed()) }
}

fn changed() -> ApiError {
    ApiError::conflict("the file was changed in the meantime; reload and check its column")
}

/// Creates the job of an upload, once. A repeated start returns the same job.
pub async fn start_upload(
    app: &App,
    caller: &Caller,
    id: UploadId,
    once: &Once,
    seen: Choose,
) -> Result<Started, ApiError> {
    let upload = upload_as_seen(app, caller, id, seen).await?;
    if let Some((_, job)) = upload.job {
        return Ok(Started { id: job });
    }
    let staged = StagedJob::begin(app, caller.new_job(app.now(), origin(caller, &upload))).await?;
    let accepted = match fill(app, &staged, &upload).await {
        Ok(filled) => accept(app, &staged.new, &upload, &filled, once).await,
        Err(error) => Err(error),
    };
    if let Ok(Some(other)) = accepted {
        staged.discard(app).await;
        return Ok(Started { id: other });
    }
    staged.settled(app, accepted).await?;
    Ok(Started { id: staged.new.id })
}

/// Creates the job of an upload, once per reference. Uploading the same rows again and starting them under the same
/// reference returns the same job.
pub async fn start_upload_once(
    app: &App,
    caller: &Caller,
    id: UploadId,
    reference: String,
) -> Result<Started, ApiError> {
    let seen = Choose::default();
    let body_hash = hash_upload(app, caller, id, seen).await?;
    let call = KeyedCall { path: KEYED_START.to_owned(), key: reference, body_hash };
    let run = match once::begin(app, KeyHolder::of(Some(caller)), call).await? {
        Beginning::Replay(_, answer) => return serde_json::from_slice(&answer).map_err(ApiError::server_error),
        Beginning::Run(run) => run,
    };
    match start_upload(app, caller, id, &run.once(), seen).await {
        Ok(started) => {
            // The job may be that of an earlier start.
            if !run.has_kept() {
                let answer = serde_json::to_vec(&started).map_err(ApiError::server_error)?;
                run.keep_late(200, &answer).await;
            }
            Ok(started)
        }
        Err(error) => {
            run.release().await;
            Err(error)
        }
    }
}

/// Hashes the properties of an upload that determine its job: the rows, and how they are read.
pub async fn hash_upload(app: &App, caller: &Caller, id: UploadId, seen: Choose) -> Result<[u8; 32], ApiError> {
    let upload = upload_as_seen(app, caller, id, seen).await?;
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
                // The length comes first, so different cells never hash the same text.
                hash.update(&cell.len().to_be_bytes());
                hash.update(cell.as_bytes());
            }
        }
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing"));
        }
    }
    Ok(hash.finish())
}

fn origin(caller: &Caller, upload: &Upload) -> JobOrigin {
    let (source, started_by, source_action) = match (upload.source.as_str(), caller.is_staff()) {
        ("input", true) => ("input", "staff", "cli.input"),
        ("input", false) => ("input", "manual", "dashboard.input"),
        (_, true) => ("csv", "staff", "cli.upload"),
        (_, false) => ("csv", "manual", "dashboard.upload"),
    };
    JobOrigin { source, started_by, source_action }
}

struct Filled {
    /// Number of rows in the job.
    rows: i64,
    without: RowsWithout,
}

/// Copies the addresses.
async fn fill(app: &App, staged: &StagedJob, upload: &Upload) -> Result<Filled, ApiError> {
    if upload.choice.column.is_none() {
        return Err(ApiError::invalid("column", "choose the column that has the addresses"));
    }
    let about = Arc::new(FileFacts::of(&upload.about)?);
    let mut texts = ColumnTexts {
        about,
        choice: upload.choice,
        filling: Filling::default(),
        without: RowsWithout::default(),
        has_address: false,
        has_several: false,
    };
    let (mut next, mut kept) = (0, 0);
    while next < upload.rows {
        let blocks = uploads::blocks(&mut app.store.read().await?, upload.org, upload.no, next, BLOCKS).await?;
        let before = next;
        let read = tokio::task::spawn_blocking(move || {
            let mut full = Vec::new();
            let next = texts.take(blocks, next, &mut full)?;
            Ok::<_, ApiError>((texts, next, full))
        });
        let mut full;
        (texts, next, full) = read.await.map_err(ApiError::server_error)??;
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing"));
        }
        if next >= upload.rows {
            full.extend(texts.filling.take());
        }
        kept = staged.keep(app, kept, &mut full).await?;
    }
    if texts.has_address { Ok(Filled { rows: kept, without: texts.without }) } else { Err(texts.no_address()) }
}

/// Packs the texts of the column into blocks of a job.
struct ColumnTexts {
    about: Arc<FileFacts>,
    choice: ColumnChoice,
    filling: Filling,
    without: RowsWithout,
    /// Whether any cell looks like an address.
    has_address: bool,
    /// Whether any cell contains several.
    has_several: bool,
}

impl ColumnTexts {
    /// Takes stored blocks and returns the index of the next row.
    fn take(
        &mut self,
        blocks: Vec<(i64, Vec<u8>)>,
        mut next: i64,
        full: &mut Vec<PackedBlock>,
    ) -> Result<i64, ApiError> {
        for (first, body) in blocks {
            if first != next {
                return Err(ApiError::server_error("rows of an upload are missing"));
            }
            for (at, row) in (first..).zip(decoded(&body)?) {
                next = at + 1;
                if at == 0 && self.choice.header {
                    continue;
                }
                let text = match address_of(&self.about, (at, &row), self.choice) {
                    Ok(text) => text,
                    Err(why) => {
                        self.without.add(at);
                        self.has_several |= matches!(why, Absence::Several(_));
                        continue;
                    }
                };
                self.has_address |= has_address(&text);
                self.filling.push(text.as_bytes()).expect("addresses are cut, and a full block was taken");
                if self.filling.is_full() {
                    full.extend(self.filling.take());
                }
            }
        }
        Ok(next)
    }

    /// Returns the error for a column in which no cell is an address, with the column that has some.
    fn no_address(&self) -> ApiError {
        let names = self.about.columns(self.choice.header);
        let better = self.about.better_column(self.choice.column, true);
        match better.and_then(|(column, count)| Some((names.get(column)?, count))) {
            _ if self.has_several => ApiError::invalid(
                "column",
                "has several addresses in each cell; give each a row of its own, and upload the file again",
            ),
            Some((name, count)) => ApiError::invalid(
                "column",
                format_args!("has no address; choose the column \"{name}\", which has {count}"),
            ),
            None => ApiError::invalid("column", "has no addresses, and neither has any other column"),
        }
    }
}

/// Outcome of accepting a job.
enum StartOutcome {
    /// Accepted now (`None`), or earlier by another start.
    As(Option<JobId>),
    /// The upload is now read differently.
    Changed,
    /// Addresses that were already copied may have been erased from the upload.
    Erasing,
}

/// Accepts the job. Returns the job that was accepted before, if any. [`NewJob::at`] is when the copy began.
async fn accept(
    app: &App,
    new: &NewJob,
    upload: &Upload,
    filled: &Filled,
    once: &Once,
) -> Result<Option<JobId>, ApiError> {
    let now = app.now();
    let name = FileFacts::of(&upload.about)?.name;
    let name = Some(name.trim()).filter(|name| !name.is_empty());
    let accepted = accept_covered(app, new.org, || {
        app.store.write(work!(|tx| {
            if erasures::any_since(tx, upload.org, new.test, new.at).await? {
                return Ok(StartOutcome::Erasing);
            }
            match uploads::start(tx, (upload.org, upload.id, upload.test), (new.id, upload.choice), now).await {
                Err(StoreError::Conflict) => return Ok(StartOutcome::Changed),
                Ok(Some((_, other))) => return Ok(StartOutcome::As(Some(other))),
                started => drop(started?),
            }
            if !filled.without.bits().is_empty() {
                uploads::skip(tx, upload.org, upload.no, filled.without.bits()).await?;
            }
            jobs::accept(tx, new, filled.rows, None, now).await?;
            jobs::name(tx, new.org, JobNo::of_id(new.id), name, &[]).await?;
            once.keep(tx, &Started { id: new.id }).await?;
            Ok(StartOutcome::As(None))
        }))
    });
    match accepted.await? {
        StartOutcome::As(other) => Ok(other),
        StartOutcome::Changed => Err(changed()),
        StartOutcome::Erasing => Err(erasing("file")),
    }
}
