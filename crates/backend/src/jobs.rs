//! Workers of batch jobs: they import, verify, pack and stop them.
//!
//! Every node with this role runs the same tasks; leases in the database decide who has what. The importer sorts a job's
//! addresses into chunks ([`import`]). The dispatcher claims chunks, fairly between organizations and jobs ([`dispatch`]). A
//! worker verifies one chunk and settles it in parts ([`work`]). Wake-ups are hints: tasks also poll. If a process dies, its
//! leases expire, and another worker continues after the last settled part.

pub mod busy;
pub mod chunk;
pub mod dispatch;
pub mod found;
pub mod import;
pub mod overrides;
pub mod pack;
pub mod rest;
pub mod sorter;
pub mod stop;
pub mod suppressed;
pub mod work;

use std::sync::Arc;

use probity_access::secrets::Secrets;
use probity_contract::published::jobs::JobView;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::jobs::ClosedJob;
use probity_store::webhooks::outbox;
use probity_store::{Result, Store, Tx, jobs};
use probity_telemetry::metrics::Metrics;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::connections::Platforms;
use crate::jobs::overrides::OverridesByOrg;
use crate::nodes::NodePresence;
use crate::nodes::verifier::Verifier;
use crate::webhooks::{Callbacks, tell};

pub use crate::jobs::import::mailbox_key;
pub use crate::jobs::stop::{stop_jobs, stop_jobs_of};

/// Settings of batch jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobsConfig {
    /// Lease of a chunk or an import, in milliseconds. Its holder renews it after each quarter of that time.
    pub lease_ms: i64,
    /// Retention of a closed job's rows, in days, unless its organization has set another.
    pub keep_days: i64,
    /// Capacity of a node, in chunks of 1,000 addresses.
    pub slots: usize,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self { lease_ms: 60_000, slots: 64, keep_days: 30 }
    }
}

/// Dependencies of batch jobs.
#[derive(Clone)]
pub struct Jobs {
    pub store: Store,
    pub clock: EngineClock,
    /// Verifier for live keys.
    pub live: Arc<dyn Verifier>,
    /// Verifier for test keys.
    pub sandbox: Arc<dyn Verifier>,
    pub metrics: Arc<Metrics>,
    /// This node: whether it may probe, and what it works on.
    pub presence: Arc<NodePresence>,
    pub wake: Arc<Wake>,
    pub callbacks: Callbacks,
    pub config: JobsConfig,
    /// Derives the tags of addresses.
    pub secrets: Arc<Secrets>,
    pub overrides: Arc<OverridesByOrg>,
    pub platforms: Platforms,
}

/// Wake-ups of the tasks.
#[derive(Default)]
pub struct Wake {
    /// A job was accepted.
    pub import: Notify,
    /// Chunks are ready, or a slot is free.
    pub work: Notify,
    /// A run of a connection is due.
    pub runs: Notify,
}

impl Jobs {
    fn now(&self) -> Millis {
        self.clock.now()
    }

    fn lease_ms(&self) -> i64 {
        self.config.lease_ms
    }

    /// Starts the tasks. When `ending` is canceled, they settle their results so far, release their leases and end.
    pub fn start(self, ending: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(import::run(self.clone(), ending.clone()));
        tasks.spawn(pack::run(self.clone(), ending.clone()));
        tasks.spawn(dispatch::run(self, ending.clone()));
        tasks
    }
}

/// Adds deliveries in the transaction that closes a job, to its callback and to subscribed endpoints. The body of a callback is
/// that of `GET /v1/jobs/{id}`. Call [`Callbacks::wake`] after the commit.
pub async fn announce(tx: &mut Tx, closed: &ClosedJob, now: Millis) -> Result<()> {
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
