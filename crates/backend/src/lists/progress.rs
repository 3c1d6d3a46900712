//! Progress of a list: rows by status, reason and provider, and credits.

use probity_account::id::JobId;
use probity_contract::published::jobs::{WIDGET, status};
use probity_contract::timestamp::Timestamp;
use probity_mail::facts::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::keys;
use probity_store::activity::events::EventActor;
use probity_store::jobs::{self, Job, JobCounts, WaitingRows};
use probity_store::{Conn, OrgNo, StoreError, uploads};
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobProgress {
    id: JobId,
    source: String,
    /// Provider, if the source is `integration`.
    source_integration: Option<String>,
    /// Name given by a user, or that of the file.
    name: Option<String>,
    /// Name of the key that submitted it, if it has no name itself.
    key: Option<String>,
    tags: Vec<String>,
    started_at: Option<Timestamp>,
    /// Time at which its rows were removed.
    purged_at: Option<Timestamp>,
    #[serde(flatten)]
    figures: ListFigures,
    /// Rows of its file without an address, which the job leaves out; null if there is no file.
    without: Option<i64>,
    /// Addresses that their servers deferred.
    deferred: Option<WaitingAddresses>,
    /// Addresses that our own limits throttle.
    throttled: Option<WaitingAddresses>,
    /// Whether a user asked to finish it without further retries.
    hurried: bool,
    /// Null for a daily summary of the widget, whose checks were charged individually, and for jobs of test keys, which are free.
    credits: Option<JobCredits>,
}

/// Public summary of a list for viewers without an account: figures, without addresses or anything that identifies the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListSummary {
    /// Null unless the link's creator chose to show it.
    name: Option<String>,
    test: bool,
    #[serde(flatten)]
    figures: ListFigures,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ListFigures {
    /// As in `GET /v1/jobs/{id}`.
    status: &'static str,
    /// Whether the job is closed, and therefore final.
    over: bool,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    /// Submitted rows.
    rows: i64,
    /// Rows whose address occurs in an earlier row; null before they are counted.
    repeated: Option<i64>,
    #[serde(flatten)]
    counts: StatusCounts,
    reasons: Reasons,
    /// Provider with the most rows first.
    providers: Vec<ProviderRows>,
}

/// Rows by status.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StatusCounts {
    processed: i64,
    passed: i64,
    undeliverable: i64,
    risky: i64,
    unknown: i64,
}

impl From<JobCounts> for StatusCounts {
    fn from(counts: JobCounts) -> Self {
        let JobCounts { processed, passed, undeliverable, risky, unknown } = counts;
        Self { processed, passed, undeliverable, risky, unknown }
    }
}

/// Rows by reason, including `valid`. Reasons without rows are omitted.
#[derive(Clone, Debug, PartialEq)]
struct Reasons(Vec<(Reason, i64)>);

impl Serialize for Reasons {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(reason, rows)| (reason.as_str(), rows)))
    }
}

/// Rows whose domains' MX hosts belong to a mail provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ProviderRows {
    /// ID of the provider; null for MX hosts of no known provider.
    id: Option<String>,
    name: Option<String>,
    #[serde(flatten)]
    counts: StatusCounts,
}

impl ProviderRows {
    fn of((id, counts): (Option<String>, JobCounts)) -> Self {
        Self { name: id.as_deref().map(provider_name), id, counts: counts.into() }
    }
}

/// Addresses that wait for a later time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct WaitingAddresses {
    addresses: i64,
    /// Time of the next attempt at one of them.
    first_at: Timestamp,
    /// Time by which an attempt at each of them is due.
    last_at: Timestamp,
}

impl From<WaitingRows> for WaitingAddresses {
    fn from(WaitingRows { addresses, first_at, last_at }: WaitingRows) -> Self {
        Self { addresses, first_at: first_at.into(), last_at: last_at.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct JobCredits {
    spent: i64,
    /// Credits still held. Canceling the job releases them.
    set_aside: i64,
    /// Credits released so far: for duplicates, inconclusive verdicts and canceled rows.
    returned: i64,
}

/// Returns the name of the key that submitted a job without a name.
pub async fn key_of_unnamed(conn: &mut Conn, job: &Job) -> Result<Option<String>, StoreError> {
    let Some(actor) = job.actor.as_deref().filter(|_| job.title.is_none()) else { return Ok(None) };
    let EventActor::ApiKey(id) = EventActor::from_json(actor)? else { return Ok(None) };
    match keys::by_id(conn, job.org, id).await {
        Ok(key) => Ok(Some(key.name)),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

impl JobProgress {
    /// Reads the progress of a job; `test` selects a job of a test key. The parts are read one after the other, so sums may
    /// differ by rows settled in between.
    pub async fn of(conn: &mut Conn, org: OrgNo, id: JobId, test: bool, now: Millis) -> Result<Self, StoreError> {
        let job = jobs::by_id(conn, org, id, test).await?;
        let waiting = if job.state.is_closed() { [None; 2] } else { jobs::waiting(conn, org, job.no, now).await? };
        let [deferred, throttled] = waiting.map(|waiting| waiting.map(Into::into));
        let reasons = jobs::reasons(conn, org, job.no).await?;
        let figures = ListFigures::of(&job, reasons, jobs::providers(conn, org, job.no).await?);
        let set_aside = jobs::set_aside(conn, org, id).await?;
        // An accepted job holds a credit for each row. Each credit is either captured or released.
        let returned = (job.rows - job.charged - set_aside).max(0);
        let credits = JobCredits { spent: job.charged, set_aside, returned };
        let of_file = uploads::rows_of_job(conn, org, job.no).await?;
        let key = key_of_unnamed(conn, &job).await?;
        Ok(Self {
            id: job.id,
            credits: (job.source != WIDGET && !job.test).then_some(credits),
            source: job.source,
            source_integration: job.integration,
            name: job.title,
            key,
            tags: job.tags,
            started_at: job.started_at.map(Into::into),
            purged_at: job.purged_at.map(Into::into),
            figures,
            without: of_file.map(|rows| (rows - job.rows).max(0)),
            deferred,
            throttled,
            hurried: job.hurried_at.is_some(),
        })
    }

    /// Returns whether the job is closed, and therefore final.
    pub fn is_over(&self) -> bool {
        self.figures.over
    }

    /// Returns the figures for viewers without an account.
    pub fn summary(self, test: bool, named: bool) -> ListSummary {
        ListSummary { name: self.name.filter(|_| named), test, figures: self.figures }
    }
}

impl ListFigures {
    fn of(job: &Job, reasons: Vec<(Reason, i64)>, providers: Vec<(Option<String>, JobCounts)>) -> Self {
        Self {
            status: status(job.state),
            over: job.state.is_closed(),
            created_at: job.created_at.into(),
            finished_at: job.finished_at.map(Into::into),
            rows: job.rows,
            repeated: job.repeated,
            counts: job.counts.into(),
            reasons: Reasons(reasons),
            providers: providers.into_iter().map(ProviderRows::of).collect(),
        }
    }
}

/// Returns the name of a provider, or its ID if it has no name.
pub fn provider_name(id: &str) -> String {
    let known = Lists::embedded().providers().find(|provider| provider.id == id);
    known.map_or_else(|| id.to_owned(), |provider| provider.name.clone())
}
