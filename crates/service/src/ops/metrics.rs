//! What is counted, and how it is read.
//!
//! Recording is an atomic addition, or a few under the lock of one histogram: every series of a closed set of labels is made
//! at the start or at its first use, and its handle kept, so that no request builds label sets or looks for them in a map
//! that others write. Labels are closed sets without exception (routes by
//! template, known mail providers and "other", enumerations), so that nobody outside can make the exposition grow, and no label
//! can hold an address, a key or a name that a customer gave. What is a state and not a count (sessions, breakers, the
//! database, queues, memory) is looked at when somebody reads ([`Observed`]).
//!
//! Every metric stands in a table of `docs/operations.md`; a test holds the two together.

pub mod accounts;
pub mod cluster;
pub mod exposition;
pub mod gauges;
pub mod labels;
pub mod mail;
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
pub use cluster::{Cluster, Own};
pub use exposition::{Access, Form, Readers};
pub use gauges::{Database, Depth, Gauges, Observed, Queue};
pub use labels::{AuthFailure, CreditMove, Delivered, Idempotent, LimitedBy, Mailed, Origin, WidgetOutcome};
pub use mail::Mail;
pub use requests::{Answered, Http, InFlight, Observer};
pub use verdicts::Verdicts;
pub use webhooks::Webhooks;
pub use widget::Widget;

/// How long the parts may take to show their state; what is later is left out of one reading.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// What is fixed for the life of a process.
pub struct Start<'a> {
    /// The program's version.
    pub version: &'a str,
    /// When it was started.
    pub at: Millis,
    /// The ids of all mail providers that verdicts are counted by; every other one is "other".
    pub providers: BTreeSet<&'a str>,
}

/// All metrics of a process.
pub struct Metrics {
    registry: Registry,
    http: Http,
    verdicts: Verdicts,
    accounts: Accounts,
    webhooks: Webhooks,
    mail: Mail,
    widget: Widget,
    jobs_purged: Counter,
    jobs_not_stopped: Counter,
    uploads_purged: Counter,
    deliveries_purged: Counter,
    answers_purged: Counter,
    seen: Arc<gauges::Seen>,
}

impl Metrics {
    /// The metrics of a process that starts now.
    pub fn new(start: &Start<'_>) -> Self {
        let mut registry = Registry::default();
        let seen = Arc::new(gauges::Seen::default());
        let http = Http::register(&mut registry);
        let verdicts = Verdicts::register(&mut registry, &start.providers);
        let accounts = Accounts::register(&mut registry);
        let webhooks = Webhooks::register(&mut registry);
        let mail = Mail::register(&mut registry);
        let widget = Widget::register(&mut registry);
        let jobs_purged = Counter::default();
        let purged = "Jobs whose addresses and results were removed because they were old";
        registry.register("probity_jobs_purged", purged, jobs_purged.clone());
        let jobs_not_stopped = Counter::default();
        let not_stopped = "Times that a job which the system had to stop could not be stopped";
        registry.register("probity_jobs_stop_failures", not_stopped, jobs_not_stopped.clone());
        let uploads_purged = Counter::default();
        let gone = "Uploads that were removed because nothing was done with them for long, or never arrived whole";
        registry.register("probity_uploads_purged", gone, uploads_purged.clone());
        let deliveries_purged = Counter::default();
        let told = "Messages to customers' servers that were removed from the log because they were old";
        registry.register("probity_deliveries_purged", told, deliveries_purged.clone());
        let answers_purged = Counter::default();
        let answered = "Kept answers to repeated POSTs that were removed because they were old";
        registry.register("probity_idempotency_purged", answered, answers_purged.clone());
        registry.register_collector(Box::new(seen.clone()));
        registry.register_collector(Box::new(process::Process { started: start.at }));
        let build = Family::<[(&'static str, String); 1], Gauge>::default();
        build.get_or_create(&[("version", start.version.to_owned())]).set(1);
        registry.register("probity_build_info", "Always 1; the label says which version runs", build);
        // Readers tell "nothing has happened" from "nothing is measured" by this one.
        registry.register("probity_up", "Always 1", ConstGauge::new(1_i64));
        Self {
            registry,
            http,
            verdicts,
            accounts,
            webhooks,
            mail,
            widget,
            jobs_purged,
            jobs_not_stopped,
            uploads_purged,
            deliveries_purged,
            answers_purged,
            seen,
        }
    }

    /// Requests.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Verdicts.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// Credits, keys, limits and idempotency.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Messages to customers' servers.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Mail to people.
    pub fn mail(&self) -> &Mail {
        &self.mail
    }

    /// Checks of the widget.
    pub fn widget(&self) -> &Widget {
        &self.widget
    }

    /// So many jobs have lost their rows because they were old.
    pub fn jobs_purged(&self, jobs: usize) {
        self.jobs_purged.inc_by(u64::try_from(jobs).unwrap_or(u64::MAX));
    }

    /// A job that the system had to stop could not be stopped.
    pub fn job_not_stopped(&self) {
        self.jobs_not_stopped.inc();
    }

    /// So many uploads are removed because they were old or broke off.
    pub fn uploads_purged(&self, uploads: usize) {
        self.uploads_purged.inc_by(u64::try_from(uploads).unwrap_or(u64::MAX));
    }

    /// So many messages are removed from the log because they were old.
    pub fn deliveries_purged(&self, messages: u64) {
        self.deliveries_purged.inc_by(messages);
    }

    /// So many kept answers are removed because they were old.
    pub fn answers_purged(&self, answers: u64) {
        self.answers_purged.inc_by(answers);
    }

    /// What the shell tells of each answer.
    pub fn observer(self: &Arc<Self>) -> Observer {
        let metrics = self.clone();
        Arc::new(move |answered| metrics.http.answered(answered))
    }

    /// Everything as text.
    pub async fn render(&self, observed: &dyn Observed, form: Form) -> String {
        let gauges = tokio::time::timeout(LOOK_MAX, observed.look()).await;
        self.seen.keep(gauges.unwrap_or_default());
        let mut text = String::with_capacity(32 * 1024);
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("a string takes every text");
        form.rewritten(text)
    }
}

#[cfg(test)]
mod tests;
