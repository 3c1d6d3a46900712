//! Metrics: how they are recorded and read.
//!
//! Recording is an atomic addition, or a few under the lock of one histogram. Series are created at the start or at first use,
//! and their handles kept. No request builds label sets or looks them up in a shared map. Labels are closed sets: routes by
//! template, known mail providers and "other", enumerations. Nobody outside can therefore make the exposition grow, and no
//! label contains an address, a key or a name that a customer gave. States (sessions, breakers, the database, queues, memory)
//! are read when somebody requests the metrics ([`Observed`]).
//!
//! A table in `docs/operations.md` lists every metric; a test compares the two.

pub mod accounts;
pub mod cluster;
pub mod exposition;
pub mod gauges;
pub mod labels;
pub mod mail;
pub mod platforms;
pub mod process;
pub mod requests;
pub mod verdicts;
pub mod webhooks;
pub mod widget;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use probity_mail::time::Millis;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

pub use accounts::Accounts;
pub use cluster::{ClusterGauges, OwnGauges};
pub use exposition::{ExpositionForm, MetricsAccess, Readers, is_near};
pub use gauges::{DatabaseGauges, Gauges, Observed, Queue, QueueDepth};
pub use labels::{
    AuthFailure, CreditMove, Delivered, Idempotent, LimitedBy, Mailed, Origin, PlatformEvent, PlatformOutcome,
    WidgetOutcome,
};
pub use mail::Mail;
pub use platforms::PlatformCalls;
pub use requests::{AnsweredRequest, Http, InFlight, Observer, method_label};
pub use verdicts::VerdictCounters;
pub use webhooks::Webhooks;
pub use widget::WidgetCounters;

/// Maximum time to read states. Beyond it, one reading leaves them out.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// Constants of a process.
pub struct Start<'a> {
    pub version: &'a str,
    /// Start time.
    pub at: Millis,
    /// IDs of all mail providers by which verdicts are counted. Every other one is "other".
    pub providers: BTreeSet<&'a str>,
}

pub struct Metrics {
    registry: Registry,
    http: Http,
    verdicts: VerdictCounters,
    accounts: Accounts,
    webhooks: Webhooks,
    mail: Mail,
    widget: WidgetCounters,
    platforms: PlatformCalls,
    jobs_purged: Counter,
    jobs_not_stopped: Counter,
    uploads_purged: Counter,
    deliveries_purged: Counter,
    answers_purged: Counter,
    seen: Arc<gauges::SeenGauges>,
}

impl Metrics {
    pub fn new(start: &Start<'_>) -> Self {
        let mut registry = Registry::default();
        let seen = Arc::new(gauges::SeenGauges::default());
        let http = Http::register(&mut registry);
        let verdicts = VerdictCounters::register(&mut registry, &start.providers);
        let accounts = Accounts::register(&mut registry);
        let webhooks = Webhooks::register(&mut registry);
        let mail = Mail::register(&mut registry);
        let widget = WidgetCounters::register(&mut registry);
        let platforms = PlatformCalls::register(&mut registry);
        let mut counter = |name, help| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let jobs_purged = counter("probity_jobs_purged", "Jobs whose addresses and results were purged by age");
        let jobs_not_stopped =
            counter("probity_jobs_stop_failures", "Failed attempts to stop a job that the system had to stop");
        let uploads_purged =
            counter("probity_uploads_purged", "Uploaded files purged by age or because they never arrived whole");
        let deliveries_purged = counter("probity_deliveries_purged", "Webhook deliveries purged from the log by age");
        let answers_purged = counter("probity_idempotency_purged", "Stored responses for repeated POSTs purged by age");
        registry.register_collector(Box::new(seen.clone()));
        registry.register_collector(Box::new(process::Process { started: start.at }));
        let build = Family::<[(&'static str, String); 1], Gauge>::default();
        build.get_or_create(&[("version", start.version.to_owned())]).set(1);
        registry.register("probity_build_info", "Always 1, labeled with the running version", build);
        // Shows readers the difference between "nothing has happened" and "nothing is measured".
        registry.register("probity_up", "Always 1", ConstGauge::new(1_i64));
        Self {
            registry,
            http,
            verdicts,
            accounts,
            webhooks,
            mail,
            widget,
            platforms,
            jobs_purged,
            jobs_not_stopped,
            uploads_purged,
            deliveries_purged,
            answers_purged,
            seen,
        }
    }

    pub fn http(&self) -> &Http {
        &self.http
    }

    pub fn verdicts(&self) -> &VerdictCounters {
        &self.verdicts
    }

    /// Metrics of credits, keys, limits and idempotency.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    pub fn mail(&self) -> &Mail {
        &self.mail
    }

    pub fn widget(&self) -> &WidgetCounters {
        &self.widget
    }

    /// Metrics of calls to email platforms.
    pub fn platforms(&self) -> &PlatformCalls {
        &self.platforms
    }

    /// Counts jobs whose rows were removed at the end of their retention.
    pub fn jobs_purged(&self, jobs: usize) {
        self.jobs_purged.inc_by(u64::try_from(jobs).unwrap_or(u64::MAX));
    }

    /// Counts a failure to stop a job by force.
    pub fn job_not_stopped(&self) {
        self.jobs_not_stopped.inc();
    }

    /// Counts uploads that were removed because they were old or incomplete.
    pub fn uploads_purged(&self, uploads: usize) {
        self.uploads_purged.inc_by(u64::try_from(uploads).unwrap_or(u64::MAX));
    }

    /// Counts deliveries that were removed from the log at the end of their retention.
    pub fn deliveries_purged(&self, messages: u64) {
        self.deliveries_purged.inc_by(messages);
    }

    /// Counts stored idempotent responses that were removed at the end of their retention.
    pub fn answers_purged(&self, answers: u64) {
        self.answers_purged.inc_by(answers);
    }

    /// Returns the function to which the HTTP shell reports each response.
    pub fn observer(self: &Arc<Self>) -> Observer {
        let metrics = self.clone();
        Arc::new(move |answered| metrics.http.answered(answered))
    }

    /// Renders all metrics as text.
    pub async fn render(&self, observed: &dyn Observed, form: ExpositionForm) -> String {
        let gauges = tokio::time::timeout(LOOK_MAX, observed.look()).await;
        self.seen.keep(gauges.unwrap_or_default());
        let mut text = String::with_capacity(32 * 1024);
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("a string takes every text");
        form.rewritten(text)
    }
}

#[cfg(test)]
mod tests;
