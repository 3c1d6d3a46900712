//! State that all requests share: settings, database, verifiers, and handles of background tasks.

pub mod bells;
pub mod parts;
pub mod plans;
pub mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use probity_access::keyring::Keyring;
use probity_access::limits::RateLimits;
use probity_access::links::{LINK_LIFE_MS, Making};
use probity_access::people::attempts::AttemptCounter;
use probity_access::people::{People, PeopleConfig};
use probity_access::requests::RequestLog;
use probity_access::secrets::Secrets;
use probity_account::plans::Plans;
use probity_backend::connections::Platforms;
use probity_backend::connections::hooks::{HookBook, HookWork, HookedPolls};
use probity_backend::connections::runs::Runs;
use probity_backend::connections::tokens::TokenDesk;
use probity_backend::jobs::{Jobs, JobsConfig, Wake};
use probity_backend::lists::searches::Searches;
use probity_backend::lists::watch::ListWatch;
use probity_backend::meter::Meter;
use probity_backend::nodes::NodePresence;
use probity_backend::nodes::verifier::Verifier;
use probity_backend::outcomes::sns::SnsCertificates;
use probity_backend::privacy::erasures::{ErasureParts, Erasures};
use probity_backend::uploads::UploadsConfig;
use probity_backend::uploads::places::FilePlaces;
use probity_backend::webhooks::Callbacks;
use probity_backend::widget::{WidgetConfig, WidgetState};
use probity_contract::page::Cursors;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::Store;
use probity_telemetry::metrics::Metrics;

use crate::accounts::people::sso::SsoProviders;

/// Longest time that a caller can wait for a verification. A longer timeout is reduced to this.
pub const VERIFICATION_MAX: Duration = Duration::from_mins(1);

/// Settings of the API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Prefix of new API keys.
    pub brand: String,
    /// URL at which clients reach the service, such as `https://verify.example.com`; `None` if unknown.
    pub public_url: Option<String>,
    /// The same if the operator has set it, so that platforms reach it; otherwise they send no events.
    pub hooks_url: Option<String>,
    /// Requests per minute for each key that has no limit of its own.
    pub key_per_minute: u32,
    /// Requests per minute for all keys of an organization that has no limit of its own.
    pub org_per_minute: u32,
    /// Maximum duration of a verification, regardless of the caller's timeout. At most [`VERIFICATION_MAX`], and enough below the
    /// request deadline that there is time for the response.
    pub verification_max: Duration,
    /// Refused keys per minute from one IP address before it has to wait.
    pub failures_per_minute: u32,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum number of addresses in one job.
    pub batch_rows_max: usize,
    /// Maximum size of the body with which a job is submitted, in bytes.
    pub batch_body_max: usize,
    /// Time for which a running POST locks its Idempotency-Key, in milliseconds; longer than any request. If the process
    /// dies, the key gets 409 until then.
    pub idempotency_lease_ms: i64,
    /// Retention of the delivery log, in milliseconds.
    pub deliveries_keep_ms: i64,
    /// Lifetime of one-time links, in milliseconds.
    pub link_life_ms: i64,
    /// Settings of sign-in.
    pub people: PeopleConfig,
    /// Plans that organizations can have.
    pub plans: Arc<Plans>,
    pub widget: WidgetConfig,
    pub uploads: UploadsConfig,
}

/// Default retention of the delivery log, in milliseconds: 30 days.
const DELIVERIES_KEEP_MS: i64 = 30 * 24 * 3_600_000;

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            brand: "probity".into(),
            public_url: None,
            hooks_url: None,
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

/// Shared state of all handlers, behind one `Arc`.
pub struct App {
    pub config: ApiConfig,
    pub clock: EngineClock,
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub keyring: Keyring,
    pub limits: Arc<RateLimits>,
    pub people: People,
    pub meter: Meter,
    /// Log of requests with API keys.
    pub requests: RequestLog,
    pub widget: WidgetState,
    pub metrics: Arc<Metrics>,
    /// State of this node: its leases and running work.
    pub presence: Arc<NodePresence>,
    /// Lists that users follow.
    pub watch: Arc<ListWatch>,
    /// Slots for work on files.
    pub places: FilePlaces,
    /// Slots for searches in lists.
    pub searches: Searches,
    /// Wake-ups of the tasks behind batch jobs.
    pub wake: Arc<Wake>,
    pub cursors: Cursors,
    pub sends_mail: bool,
    /// Guard of endpoints, and wake-up of the delivery worker.
    pub callbacks: Callbacks,
    pub platforms: Platforms,
    /// Providers of sign-in.
    pub sso: SsoProviders,
    /// Access tokens of platforms.
    pub tokens: TokenDesk,
    /// Certificates with which Amazon SNS signs.
    pub sns_certificates: SnsCertificates,
    /// Cache of webhooks of connections on this node.
    pub hooks: Arc<HookBook>,
    /// Tombstone file, and wake-up of the erasure worker.
    pub erasures: Arc<Erasures>,
    /// Verifier for live keys.
    pub live: Arc<dyn Verifier>,
    /// Verifier for test keys: simulated outcomes, no network.
    pub sandbox: Arc<dyn Verifier>,
}

impl App {
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Returns the worker on webhooks of connections; `None` if the service has no URL for platforms.
    pub fn hook_work(&self) -> Option<HookWork> {
        Some(HookWork {
            store: self.store.clone(),
            clock: self.clock,
            platforms: self.platforms.clone(),
            tokens: self.tokens.clone(),
            secrets: self.secrets.clone(),
            presence: self.presence.clone(),
            book: self.hooks.clone(),
            public_url: self.config.hooks_url.clone()?,
        })
    }

    /// Returns the starter of polls that are due to events.
    pub fn hooked_polls(&self) -> HookedPolls {
        HookedPolls {
            store: self.store.clone(),
            clock: self.clock,
            platforms: self.platforms.clone(),
            plans: self.config.plans.clone(),
            book: self.hooks.clone(),
            wake: self.wake.clone(),
        }
    }

    /// Returns the dependencies of batch jobs.
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
            platforms: self.platforms.clone(),
        }
    }

    /// Returns the dependencies of connections' runs.
    pub fn runs(&self, config: JobsConfig) -> Runs {
        Runs {
            store: self.store.clone(),
            clock: self.clock,
            platforms: self.platforms.clone(),
            tokens: self.tokens.clone(),
            live: self.live.clone(),
            sandbox: self.sandbox.clone(),
            secrets: self.secrets.clone(),
            presence: self.presence.clone(),
            callbacks: self.callbacks.clone(),
            plans: self.config.plans.clone(),
            wake: self.wake.clone(),
            lease_ms: config.lease_ms,
            sends_mail: self.sends_mail,
        }
    }

    /// Returns the dependencies of erasures.
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

    /// Returns the dependencies of counting sign-in attempts.
    pub fn attempts(&self) -> AttemptCounter<'_> {
        AttemptCounter { store: &self.store, secrets: &self.secrets, metrics: &self.metrics, now: self.now() }
    }

    /// Returns the settings with which one-time links are created.
    pub fn links(&self) -> Making<'_> {
        Making { secrets: &self.secrets, life_ms: self.config.link_life_ms, by_mail: self.sends_mail }
    }
}
