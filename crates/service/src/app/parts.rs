//! Shared state of acts ([`App`]) and the tasks behind it, for a service or a single command.
//!
//! Calls leave work to three writers, of credit windows, of widget checks and of the log of requests. They end when the last
//! reference to the [`App`] is dropped, so drop all other references before [`ServiceParts::close`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use probity_access::keyring::Keyring;
use probity_access::limits::RateLimits;
use probity_access::people::People;
use probity_access::requests::RequestLog;
use probity_backend::connections::tokens::TokenDesk;
use probity_backend::connections::{PlatformConfig, Platforms};
use probity_backend::lists::searches::Searches;
use probity_backend::lists::watch::ListWatch;
use probity_backend::meter::Meter;
use probity_backend::nodes::instance::Instance;
use probity_backend::nodes::verifier::Verifier;
use probity_backend::nodes::{NodeConfig, NodePresence};
use probity_backend::outcomes::sns::SnsCertificates;
use probity_backend::privacy::erasures::Erasures;
use probity_backend::uploads::places::FilePlaces;
use probity_backend::webhooks::{Callbacks, WebhookConfig};
use probity_backend::widget::WidgetState;
use probity_backend::widget::gate::WidgetGate;
use probity_contract::page::Cursors;
use probity_mail::facts::lists::Lists;
use probity_telemetry::metrics::{Metrics, Start};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::accounts::people::sso::SsoProviders;
use crate::app::{ApiConfig, App};

/// Longest time that each part may take to stop; longer than a request waits for the database.
const PART_MAX: Duration = Duration::from_secs(5);

/// Configuration of the parts.
#[derive(Clone, Copy)]
pub struct PartsConfig<'a> {
    pub api: &'a ApiConfig,
    pub webhooks: &'a WebhookConfig,
    pub platforms: &'a PlatformConfig,
    pub sns_certificates: &'a SnsCertificates,
    pub sends_mail: bool,
    /// File of tombstones beside the database; `None` keeps none.
    pub tombstones: Option<&'a Path>,
    pub node: &'a NodeConfig,
}

/// Verifiers of live and test keys.
#[derive(Clone)]
pub struct Verifiers {
    /// Verifier for live keys.
    pub live: Arc<dyn Verifier>,
    /// Verifier for test keys: simulated outcomes, no network.
    pub sandbox: Arc<dyn Verifier>,
}

/// Shared state, with the tasks that store what calls leave behind.
pub struct ServiceParts {
    pub app: Arc<App>,
    windows: JoinHandle<()>,
    gate: JoinHandle<()>,
    log: JoinHandle<()>,
}

impl ServiceParts {
    /// Assembles the parts for a prepared installation, within a tokio runtime. Canceling `ending` disconnects clients that
    /// watch lists.
    pub fn open(
        instance: &Instance,
        config: PartsConfig<'_>,
        verifiers: &Verifiers,
        ending: &CancellationToken,
    ) -> Self {
        let (store, clock) = (instance.store.clone(), instance.clock);
        let metrics = Arc::new(Metrics::new(&Start {
            version: env!("CARGO_PKG_VERSION"),
            at: clock.now(),
            providers: Lists::embedded().providers().map(|provider| &*provider.id).collect(),
        }));
        let (meter, windows) = Meter::start(store.clone(), clock, metrics.clone());
        let limits = Arc::new(RateLimits::new(&store));
        let (way, gate) = WidgetGate::start(store.clone());
        let (requests, log) = RequestLog::start(store.clone());
        let guard = config.webhooks.guard();
        let platforms = Platforms::new(config.platforms, guard, limits.clone(), metrics.clone(), clock);
        let app = Arc::new(App {
            tokens: TokenDesk::new(&store, &platforms, &instance.secrets, clock),
            watch: Arc::new(ListWatch::new(ending.clone())),
            places: FilePlaces::default(),
            searches: Searches::default(),
            callbacks: Callbacks::new(Arc::new(config.webhooks.guard())),
            platforms,
            sso: SsoProviders::default(),
            sns_certificates: config.sns_certificates.clone(),
            hooks: Arc::default(),
            config: config.api.clone(),
            sends_mail: config.sends_mail,
            clock,
            limits,
            people: People::new(config.api.people, &metrics),
            cursors: Cursors::new(instance.secrets.cursors()),
            secrets: instance.secrets.clone(),
            store,
            keyring: Keyring::default(),
            meter,
            requests,
            widget: WidgetState::new(config.api.widget, way),
            metrics,
            presence: Arc::new(NodePresence::new(config.node, clock.now())),
            wake: Arc::default(),
            erasures: Arc::new(Erasures::new(config.tombstones.map(Path::to_path_buf))),
            live: verifiers.live.clone(),
            sandbox: verifiers.sandbox.clone(),
        });
        Self { app, windows, gate, log }
    }

    /// Assembles the parts for a command that runs beside a service, where no client watches lists.
    pub fn open_for_command(instance: &Instance, config: PartsConfig<'_>, verifiers: &Verifiers) -> Self {
        Self::open(instance, config, verifiers, &CancellationToken::new())
    }

    /// Stops the writers once everything is stored.
    pub async fn close(self) {
        self.app.tokens.finish().await;
        drop(self.app);
        end_within("the last window of credits", self.windows).await;
        end_within("the last checks of the widget", self.gate).await;
        end_within("the log of requests", self.log).await;
    }
}

/// Waits for a part to stop, for a limited time, so an unresponsive database cannot keep the process running.
pub async fn end_within(what: &'static str, end: impl Future) {
    if tokio::time::timeout(PART_MAX, end).await.is_err() {
        tracing::warn!(what, "did not finish in time");
    }
}
