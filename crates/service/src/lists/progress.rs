//! How far a list is, what has come out, and what it has cost.

use probity_account::id::JobId;
use probity_mail::lists::Lists;
use probity_mail::verdict::Reason;
use probity_store::jobs::{self, Counts, Job};
use probity_store::{Conn, OrgNo, StoreError};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::published::jobs::{WIDGET, status};
use crate::timestamp::Timestamp;

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    id: JobId,
    /// As `GET /v1/jobs/{id}` says it.
    status: &'static str,
    /// Whether nothing will change any more.
    pub over: bool,
    source: String,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    /// From when on its rows are gone.
    purged_at: Option<Timestamp>,
    /// Rows that were submitted.
    rows: i64,
    #[serde(flatten)]
    counts: Shown,
    reasons: Reasons,
    /// The provider with the most rows first.
    providers: Vec<Provider>,
    /// Null for a day of the widget: each of its checks was paid for by itself, and the job that sums them up costs nothing. Null,
    /// too, for what a test key made, which costs nothing either.
    credits: Option<Credits>,
}

/// Rows by status.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Shown {
    processed: i64,
    passed: i64,
    undeliverable: i64,
    risky: i64,
    unknown: i64,
}

impl From<Counts> for Shown {
    fn from(counts: Counts) -> Self {
        let Counts { processed, passed, undeliverable, risky, unknown } = counts;
        Self { processed, passed, undeliverable, risky, unknown }
    }
}

/// Rows by reason, `valid` among them; those without rows left out.
#[derive(Clone, Debug, PartialEq)]
struct Reasons(Vec<(Reason, i64)>);

impl Serialize for Reasons {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (reason, rows) in &self.0 {
            map.serialize_entry(reason.as_str(), rows)?;
        }
        map.end()
    }
}

/// Rows whose domains' exchangers belong to a mail provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Provider {
    /// Its id; null for exchangers that belong to none that we know.
    id: Option<String>,
    name: Option<String>,
    #[serde(flatten)]
    counts: Shown,
}

impl Provider {
    fn of((id, counts): (Option<String>, Counts)) -> Self {
        Self { name: id.as_deref().map(provider_name), id, counts: counts.into() }
    }
}

/// What a job has cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Credits {
    spent: i64,
    /// Still held: what comes back at once where the job is cancelled now.
    set_aside: i64,
    /// Given back so far: for repeated rows, for what could not be found out, and for what was cancelled.
    returned: i64,
}

impl Progress {
    /// What is known of a job, where `test` says so of one that was made with a test key. The parts are read one after the
    /// other: sums may differ by what was settled in between.
    pub async fn of(conn: &mut Conn, org: OrgNo, id: JobId, test: bool) -> Result<Self, StoreError> {
        let job = jobs::by_id(conn, org, id, test).await?;
        let reasons = jobs::reasons(conn, org, job.no).await?;
        let providers = jobs::providers(conn, org, job.no).await?;
        let set_aside = jobs::set_aside(conn, org, id).await?;
        Ok(Self::new(&job, reasons, providers, set_aside))
    }

    fn new(job: &Job, reasons: Vec<(Reason, i64)>, providers: Vec<(Option<String>, Counts)>, set_aside: i64) -> Self {
        // A job holds a credit for each row when it is accepted; each comes back or is spent.
        let returned = (job.rows - job.charged - set_aside).max(0);
        let credits = Credits { spent: job.charged, set_aside, returned };
        Self {
            id: job.id,
            status: status(job.state),
            over: job.state.is_closed(),
            source: job.source.clone(),
            created_at: job.created_at.into(),
            started_at: job.started_at.map(Into::into),
            finished_at: job.finished_at.map(Into::into),
            purged_at: job.purged_at.map(Into::into),
            rows: job.rows,
            counts: job.counts.into(),
            reasons: Reasons(reasons),
            providers: providers.into_iter().map(Provider::of).collect(),
            credits: (job.source != WIDGET && !job.test).then_some(credits),
        }
    }
}

/// What a provider is called; its id, where the lists do not name it.
pub fn provider_name(id: &str) -> String {
    let known = Lists::embedded().providers().find(|provider| provider.id == id);
    known.map_or_else(|| id.to_owned(), |provider| provider.name.clone())
}
