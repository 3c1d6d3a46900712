//! Batch jobs at work: the importer, the workers, and what stops a job that stands still.
//!
//! Every node with these tasks does the same; the database says who has what, under leases. The importer sorts a job's
//! addresses into chunks ([`import`]); the dispatcher takes chunks up, fairly between organizations and jobs ([`dispatch`]); a
//! worker verifies one chunk and settles it in parts ([`work`]). Wake-ups are hints: everybody also looks by themselves once
//! in a while. A process that dies leaves leases that end; another takes the work up where the results stop.

pub mod chunk;
pub mod dispatch;
pub mod found;
pub mod import;
pub mod overrides;
pub mod pack;
pub mod rest;
pub mod stop;
pub mod suppressed;
pub mod work;

use std::sync::Arc;

use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::jobs::Closed;
use probity_store::{Result, Store, Tx, jobs, outbox};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::jobs::overrides::OverridesByOrg;
use crate::nodes::Presence;
use crate::ops::metrics::Metrics;
use crate::published::jobs::JobView;
use crate::secrets::Secrets;
use crate::verifier::Verifier;
use crate::webhooks::{Callbacks, tell};

pub(crate) use crate::jobs::import::mailbox_key;
pub(crate) use crate::jobs::stop::{stop_jobs, stop_jobs_of};

/// How batch jobs are worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobsConfig {
    /// How long a chunk or an import is held without a sign of life, in milliseconds. Its holder shows four times as often that
    /// it lives.
    pub lease_ms: i64,
    /// For how many days the rows of a closed job are kept, where its organization does not wish otherwise.
    pub keep_days: i64,
    /// How much a node works on at a time, in chunks of a thousand addresses.
    pub slots: usize,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self { lease_ms: 60_000, slots: 64, keep_days: 30 }
    }
}

/// What batch jobs need.
#[derive(Clone)]
pub struct Jobs {
    pub store: Store,
    pub clock: Clock,
    /// Who answers for live keys.
    pub live: Arc<dyn Verifier>,
    /// Who answers for test keys.
    pub sandbox: Arc<dyn Verifier>,
    pub metrics: Arc<Metrics>,
    /// This node: whether it may ask, and what it works on.
    pub presence: Arc<Presence>,
    /// Rung when there may be something to do.
    pub wake: Arc<Wake>,
    pub callbacks: Callbacks,
    pub config: JobsConfig,
    /// For the tags of addresses.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) overrides: Arc<OverridesByOrg>,
}

/// The bells of the tasks.
#[derive(Default)]
pub struct Wake {
    /// A job was accepted.
    pub import: Notify,
    /// Chunks are ready, or a slot is free.
    pub(crate) work: Notify,
}

impl Jobs {
    fn now(&self) -> Millis {
        self.clock.now()
    }

    fn lease_ms(&self) -> i64 {
        self.config.lease_ms
    }

    /// Starts the tasks. They end when `ending` is cancelled: what is held is settled as far as it has come, and let go.
    pub fn start(self, ending: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(import::run(self.clone(), ending.clone()));
        tasks.spawn(pack::run(self.clone(), ending.clone()));
        tasks.spawn(dispatch::run(self, ending.clone()));
        tasks
    }
}

/// What closing a job writes besides its row, in the same transaction: the messages to its callback, whose body is that of
/// `GET /v1/jobs/{id}`, and to the webhooks that want to know. Call [`Callbacks::wake`] when the transaction is committed.
pub async fn announce(tx: &mut Tx, closed: &Closed, now: Millis) -> Result<()> {
    let job = jobs::by_no(tx, closed.org, closed.job).await?;
    let listeners = tell::of_finished_jobs(tx, closed).await?;
    if job.webhook_url.is_none() && listeners.is_empty() {
        return Ok(());
    }
    let reasons = jobs::reasons(tx, closed.org, closed.job).await?;
    let view = JobView::of(&job, Some(&reasons));
    if let Some(url) = &job.webhook_url {
        let body = serde_json::to_vec(&view).expect("a job is plain JSON");
        outbox::put(tx, &Callbacks::job_finished(closed.org, job.id, url, body, now)).await?;
    }
    tell::job_finished(tx, closed.org, &listeners, &view, now).await
}
