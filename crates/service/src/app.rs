//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use probity_account::plans::Plans;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::Store;

use crate::erasures::{ErasureParts, Erasures};
use crate::jobs::{Jobs, JobsConfig, Wake};
use crate::keyring::Keyring;
use crate::limits::RateLimits;
use crate::links::{LINK_LIFE_MS, Making};
use crate::lists::searches::Searches;
use crate::lists::watch::Watch;
use crate::meter::Meter;
use crate::nodes::Presence;
use crate::ops::metrics::Metrics;
use crate::page::Cursors;
use crate::people::attempts::AttemptCounter;
use crate::people::{People, PeopleConfig};
use crate::secrets::Secrets;
use crate::uploads::UploadsConfig;
use crate::verifier::Verifier;
use crate::webhooks::Callbacks;
use crate::widget::{Widget, WidgetConfig};

/// The longest that a caller can wait for a verification; more is taken as this.
pub const VERIFICATION_MAX: Duration = Duration::from_mins(1);

/// What an operator decides about the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// The first part of new keys.
    pub brand: String,
    /// Where clients reach the service, as `https://verify.example.com`; none where that is not known.
    pub public_url: Option<String>,
    /// Requests a minute for each key that has no limit of its own.
    pub key_per_minute: u32,
    /// Requests a minute for all keys of an organization that has no limit of its own.
    pub org_per_minute: u32,
    /// The longest that a verification takes, whatever its caller says: at most [`VERIFICATION_MAX`], and so much less than a
    /// request may take that there is time for its answer.
    pub verification_max: Duration,
    /// Refused keys a minute from one address, before it has to wait.
    pub failures_per_minute: u32,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Addresses of one job at most.
    pub batch_rows_max: usize,
    /// The largest body with which a job is submitted, in bytes.
    pub batch_body_max: usize,
    /// How long the run of a POST holds its Idempotency-Key, in milliseconds: longer than a request may take. So long a key whose
    /// run died is answered with 409.
    pub idempotency_lease_ms: i64,
    /// How long the log of deliveries is kept, in milliseconds.
    pub deliveries_keep_ms: i64,
    /// For how long one-time links work, in milliseconds.
    pub link_life_ms: i64,
    /// How people are let in.
    pub people: PeopleConfig,
    /// What organizations can be on.
    pub plans: Arc<Plans>,
    /// What the widget may do.
    pub widget: WidgetConfig,
    /// Lists as files.
    pub uploads: UploadsConfig,
}

/// How long the log of deliveries is kept unless somebody says otherwise, in milliseconds.
const DELIVERIES_KEEP_MS: i64 = 30 * 24 * 3_600_000;

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            brand: "probity".into(),
            public_url: None,
            key_per_minute: 10_000,
            org_per_minute: 20_000,
            verification_max: VERIFICATION_MAX,
            failures_per_minute: 600,
            trusted_proxies: Vec::new(),
            batch_rows_max: probity_lists::submission::ROWS_MAX,
            batch_body_max: 64 << 20,
            idempotency_lease_ms: 90_000,
            deliveries_keep_ms: DELIVERIES_KEEP_MS,
            link_life_ms: LINK_LIFE_MS,
            people: PeopleConfig::default(),
            plans: Arc::default(),
            widget: WidgetConfig::default(),
            uploads: UploadsConfig::default(),
        }
    }
}

/// Everything that handlers need, behind one `Arc`.
pub struct App {
    pub config: ApiConfig,
    pub clock: Clock,
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub keyring: Keyring,
    pub limits: RateLimits,
    pub people: People,
    pub meter: Meter,
    pub widget: Widget,
    pub metrics: Arc<Metrics>,
    /// This node among the others.
    pub presence: Arc<Presence>,
    /// The lists that people watch.
    pub watch: Arc<Watch>,
    /// Who looks through lists.
    pub searches: Searches,
    /// The bells of the tasks behind batch jobs.
    pub wake: Arc<Wake>,
    pub cursors: Cursors,
    /// Whether the service sends mail.
    pub sends_mail: bool,
    /// Who tells customers' servers, and which of those may be told.
    pub callbacks: Callbacks,
    /// Addresses that are to be erased.
    pub erasures: Arc<Erasures>,
    /// Who answers live keys.
    pub live: Arc<dyn Verifier>,
    /// Who answers test keys: simulated outcomes, no network.
    pub sandbox: Arc<dyn Verifier>,
}

impl App {
    /// The time.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// What batch jobs need.
    pub fn jobs(&self, config: JobsConfig) -> Jobs {
        Jobs {
            store: self.store.clone(),
            clock: self.clock,
            live: self.live.clone(),
            sandbox: self.sandbox.clone(),
            metrics: self.metrics.clone(),
            presence: self.presence.clone(),
            wake: self.wake.clone(),
            callbacks: self.callbacks.clone(),
            config,
            secrets: self.secrets.clone(),
            overrides: Arc::default(),
        }
    }

    /// What erasures need.
    pub fn erasure_parts(&self) -> ErasureParts {
        ErasureParts {
            store: self.store.clone(),
            clock: self.clock,
            live: self.live.clone(),
            sandbox: self.sandbox.clone(),
            presence: self.presence.clone(),
            callbacks: self.callbacks.clone(),
            secrets: self.secrets.clone(),
            erasures: self.erasures.clone(),
        }
    }

    /// What counting attempts to sign in needs.
    pub fn attempts(&self) -> AttemptCounter<'_> {
        AttemptCounter { store: &self.store, secrets: &self.secrets, metrics: &self.metrics, now: self.now() }
    }

    /// How one-time links are made here.
    pub fn links(&self) -> Making<'_> {
        Making { secrets: &self.secrets, life_ms: self.config.link_life_ms, by_mail: self.sends_mail }
    }
}
