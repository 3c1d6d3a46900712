//! Submissions: one job for a list of addresses.
//!
//! Addresses are stored in blocks of 1,000 as they stream in, under a staged job, so no body is in memory as a whole. After
//! the last one, one short transaction holds the credits, makes the job visible and stores the response for retries. The
//! Idempotency-Key is locked once the body is read, because the key covers the body's hash. Errors in the body, and a
//! forbidden callback URL, are reported only after that, so a repeated request gets the stored response.

use probity_account::name;
use probity_backend::outbound::TargetRefusal;
use probity_contract::error::ApiError;
use probity_contract::published::jobs::submission::{SubmitQuery, SubmittedJob};
use probity_lists::submission::{Intake, LeftOut, SubmissionFormat};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::work;

use crate::app::App;
use crate::callers::caller::{Caller, JobOrigin};
use crate::callers::incoming::IncomingBody;
use crate::callers::once::Once;
use crate::jobs::staged::{BLOCKS_MAX, StagedJob, accept_covered};

/// Properties of a submission known before its body is read.
pub struct SubmissionHead {
    pub format: SubmissionFormat,
    pub query: SubmitQuery,
    /// Whether to read the whole body even if it is invalid, because its hash is needed.
    pub read_whole: bool,
}

/// Submission whose body was read.
pub struct ReceivedList {
    pub staged: StagedJob,
    list: Result<KeptRows, ApiError>,
    /// Hash of the whole body, even if it is no valid list.
    pub body_hash: [u8; 32],
    /// Content that is not in the job.
    pub left_out: LeftOut,
}

/// Rows stored under a staged job.
struct KeptRows {
    rows: i64,
    left_out: LeftOut,
    /// Callback URL as sent.
    webhook_url: Option<String>,
    /// Name of the list as sent.
    name: Option<String>,
}

/// Receives a list. `open` starts to read the body, whose maximum size in bytes it is given.
pub async fn receive_list<B: IncomingBody>(
    app: &App,
    caller: &Caller,
    head: SubmissionHead,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<ReceivedList, ApiError> {
    let (source, started_by, source_action) = match caller {
        Caller::Key(_) => ("api", "api", "api.batch_verify"),
        Caller::Person { .. } => ("input", "manual", "dashboard.batch_verify"),
        Caller::Staff { .. } => ("input", "staff", "cli.batch_verify"),
    };
    let origin = JobOrigin { source, started_by, source_action };
    let staged = StagedJob::begin(app, caller.new_job(app.now(), origin)).await?;
    match read_list(app, &staged, head, open).await {
        Ok((list, body_hash)) => {
            let left_out = list.as_ref().map(|list| list.left_out.clone()).unwrap_or_default();
            Ok(ReceivedList { staged, list, body_hash, left_out })
        }
        Err(error) => {
            staged.discard(app).await;
            Err(error)
        }
    }
}

/// Reads the body and stores its addresses. Returns the hash of the body too.
async fn read_list<B: IncomingBody>(
    app: &App,
    staged: &StagedJob,
    SubmissionHead { format, query, read_whole }: SubmissionHead,
    open: impl FnOnce(usize) -> Result<B, ApiError>,
) -> Result<(Result<KeptRows, ApiError>, [u8; 32]), ApiError> {
    // Checked even if the body has another URL.
    if query.webhook_url.as_ref().is_some_and(String::is_empty) {
        return Err(ApiError::invalid("webhook_url", TargetRefusal::Malformed));
    }
    let mut hash = app.secrets.body_in_pieces();
    // Hashed as part of the submission, as they are in JSON: with another URL or name, the same key is refused.
    for (text, end) in [(&query.webhook_url, 0), (&query.name, 1)] {
        if let Some(text) = text {
            hash.update(text.as_bytes());
            hash.update(&[end]);
        }
    }
    let mut intake = Ok(Intake::new(format, app.config.batch_rows_max));
    let mut body = open(app.config.batch_body_max)?;
    let (mut full, mut next) = (Vec::new(), 0);
    while let Some(piece) = body.next().await? {
        hash.update(&piece);
        intake = intake.and_then(|mut intake| intake.push(&piece, &mut full).map(|()| intake));
        if intake.is_err() && !read_whole {
            break;
        }
        if full.len() >= BLOCKS_MAX {
            next = staged.keep(app, next, &mut full).await?;
        }
    }
    let list = match intake.and_then(|intake| intake.finish(&mut full)) {
        Ok(submission) => {
            staged.keep(app, next, &mut full).await?;
            let rows = i64::try_from(submission.rows).unwrap_or(i64::MAX);
            let left_out = submission.left_out;
            let (webhook_url, name) = (submission.webhook_url.or(query.webhook_url), submission.name.or(query.name));
            Ok(KeptRows { rows, left_out, webhook_url, name })
        }
        Err(fault) => Err(fault.into()),
    };
    Ok((list, hash.finish()))
}

/// Creates the job of a received list, or discards the stored rows.
pub async fn accept_list(app: &App, received: ReceivedList, once: &Once) -> Result<SubmittedJob, ApiError> {
    let ReceivedList { staged, list, .. } = received;
    let accepted = accept(app, &staged.new, list, once).await;
    staged.settled(app, accepted).await
}

async fn accept(
    app: &App,
    new: &NewJob,
    list: Result<KeptRows, ApiError>,
    once: &Once,
) -> Result<SubmittedJob, ApiError> {
    let KeptRows { rows, webhook_url, name, .. } = list?;
    let name = name.as_deref().map(name::name).transpose().map_err(|fault| ApiError::invalid("name", fault))?;
    let url = match webhook_url {
        None => None,
        Some(url) => Some(receiver(app, &url).await?),
    };
    let now = app.now();
    let submitted = SubmittedJob { id: new.id };
    accept_covered(app, new.org, || {
        app.store.write(work!(|tx| {
            jobs::accept(tx, new, rows, url.as_deref(), now).await?;
            if name.is_some() {
                jobs::name(tx, new.org, JobNo::of_id(new.id), name, &[]).await?;
            }
            once.keep(tx, &submitted).await
        }))
    })
    .await?;
    Ok(submitted)
}

/// Returns a callback URL if the endpoint guard allows it.
async fn receiver(app: &App, url: &str) -> Result<String, ApiError> {
    app.callbacks.check(url).await.map_err(|refused| ApiError::invalid("webhook_url", refused))
}
