//! The assembled service: start and stop. [`Core`] is the service without sockets (`sockets.rs`).
//!
//! The start opens sockets before any work begins. The stop has this order: readiness fails, new requests get 503 while those in
//! flight finish, the sockets close, the last window of credits is written, the verifiers end their sessions, the database
//! closes.
//!
//! A killed process loses at most 5 s of last-use times of keys, domain facts that were not yet written, and slices of shared
//! rate limits, which return as the buckets fill. Everything else is in the database.

pub mod ops;
mod sockets;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use probity_access::mail::{MailConfig, Mailer};
use probity_backend::connections::PlatformConfig;
use probity_backend::jobs::JobsConfig;
use probity_backend::nodes;
use probity_backend::nodes::egress::{Checkup, Egress};
use probity_backend::nodes::health::Readiness;
use probity_backend::nodes::instance::Instance;
use probity_backend::nodes::roles::NodeRole;
use probity_backend::nodes::{NodeConfig, look};
use probity_backend::outcomes::sns::SnsCertificates;
use probity_backend::privacy::erasures;
use probity_backend::webhooks;
use probity_backend::webhooks::{WebhookConfig, Worker};
use probity_contract::error::ApiError;
use probity_engine::net::BoxFuture;
use probity_service::activity::pending;
use probity_service::app::parts::{PartsConfig, ServiceParts, end_within};
use probity_service::app::upkeep::ClockLimits;
use probity_service::app::{ApiConfig, App, bells, upkeep};
use probity_telemetry::metrics::{DatabaseGauges, Gauges, Observed, Queue, QueueDepth, Readers};
use secrecy::SecretString;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::edge::listen::ListenConfig;
use crate::edge::shell::{ShellConfig, shell};
use crate::error::Refusal;
use crate::openapi;
use crate::operator;
use crate::operator::OperatorConfig;
use crate::person;
use crate::service::ops::{Ops, count_in_flight};
use crate::widget;
use crate::{router, web};

pub use probity_service::app::parts::Verifiers;
pub use sockets::{BoundSockets, Service};

/// Maximum time for verifiers to end their sessions, in milliseconds.
const GOODBYE_MS: u64 = 2_000;

/// Configuration of a service.
#[derive(Clone, Default)]
pub struct ServiceConfig {
    /// API settings.
    pub api: ApiConfig,
    /// Settings common to all requests.
    pub shell: ShellConfig,
    /// Socket settings.
    pub listen: ListenConfig,
    /// Token for `/metrics`; without one, only this machine and private networks have access.
    pub metrics_token: Option<SecretString>,
    /// Settings of webhook deliveries.
    pub webhooks: WebhookConfig,
    /// Platforms that can be connected.
    pub platforms: PlatformConfig,
    /// Certificates of Amazon SNS that need not be fetched.
    pub sns_certificates: SnsCertificates,
    /// Mail settings; `None` disables mail.
    pub mail: Option<MailConfig>,
    /// Tombstone file beside the database; `None` for no file.
    pub tombstones: Option<PathBuf>,
    /// Settings of batch jobs.
    pub jobs: JobsConfig,
    /// Maximum lifetime of facts about a domain, in milliseconds.
    pub facts_ms: i64,
    /// Identity and roles of this node.
    pub node: NodeConfig,
    /// Periodic self-check, if enabled.
    pub checkup: Option<Arc<dyn Checkup>>,
    /// The operator's API, if enabled.
    pub operator: Option<OperatorConfig>,
}

impl ServiceConfig {
    /// Returns the longest lease of each kind.
    pub fn longest(&self) -> ClockLimits {
        ClockLimits {
            node_ms: nodes::LEASE_MS,
            work_ms: self.jobs.lease_ms.max(self.webhooks.delivery.lease_ms).max(erasures::LEASE_MS),
            lock_ms: self.api.idempotency_lease_ms,
            facts_ms: self.facts_ms,
        }
    }

    /// Returns the configuration of the parts behind the routes.
    pub fn parts(&self) -> PartsConfig<'_> {
        PartsConfig {
            api: &self.api,
            webhooks: &self.webhooks,
            platforms: &self.platforms,
            sns_certificates: &self.sns_certificates,
            sends_mail: self.mail.is_some(),
            tombstones: self.tombstones.as_deref(),
            node: &self.node,
        }
    }
}

/// The service without its sockets: routes, and the tasks behind them. For tests and for [`Service`].
pub struct Core {
    /// All routes with their layers.
    pub routes: Router,
    /// The operator's API for separate addresses, which serve no other routes.
    pub operator: Router,
    app: Arc<App>,
    parts: ServiceParts,
    instance: Instance,
    verifiers: Verifiers,
    ending: CancellationToken,
    upkeep: JoinHandle<()>,
    jobs: JoinSet<()>,
    deliveries: JoinSet<()>,
    leaving: CancellationToken,
    listed: JoinHandle<()>,
}

impl Core {
    /// Assembles the parts over a prepared installation. Call within a tokio runtime.
    pub fn start(instance: Instance, config: &ServiceConfig, verifiers: Verifiers) -> Self {
        let (ending, leaving) = (CancellationToken::new(), CancellationToken::new());
        let parts = ServiceParts::open(&instance, config.parts(), &verifiers, &ending);
        let (clock, app) = (instance.clock, parts.app.clone());
        let egress = Egress::new(app.live.clone(), app.presence.clone(), config.checkup.clone());
        let egress = Arc::new(egress);
        let listed = nodes::run(app.presence.clone(), egress.clone(), app.store.clone(), clock, leaving.clone());
        let listed = tokio::spawn(listed);
        let (routes, operator) = routes(&app, &ending, config);
        let checkups = egress.run(clock, ending.clone());
        let upkeep = tokio::spawn(upkeep::run(app.clone(), config.longest(), ending.clone()));
        let (mut jobs, mut deliveries) = (JoinSet::new(), JoinSet::new());
        let roles = &config.node.roles;
        if roles.has(NodeRole::Worker) {
            jobs = app.jobs(config.jobs).start(&ending);
            jobs.spawn(app.runs(config.jobs).run(ending.clone()));
            if let Some(work) = app.hook_work() {
                jobs.spawn(work.run(ending.clone()));
            }
            jobs.spawn(erasures::work(app.erasure_parts(), config.jobs.lease_ms, ending.clone()));
        }
        if roles.has(NodeRole::Api) {
            jobs.spawn(app.hooked_polls().run(ending.clone()));
        }
        jobs.spawn(checkups);
        jobs.spawn(erasures::follow(app.erasure_parts(), ending.clone()));
        if roles.has(NodeRole::Delivery) {
            deliveries.spawn(worker(&app, config).run(ending.clone()));
            let presence = app.presence.clone();
            let may_work = move || presence.may_work();
            deliveries.extend(mailer(&app, config).map(|mailer| mailer.run(may_work, ending.clone())));
        }
        if roles.has(NodeRole::Worker) || roles.has(NodeRole::Delivery) {
            jobs.spawn(bells::run(app.clone(), ending.clone()));
        }
        Self { routes, operator, app, parts, instance, verifiers, ending, upkeep, jobs, deliveries, leaving, listed }
    }

    /// Stops the parts behind the routes, once no request is in flight.
    pub async fn stop(self) {
        let Self { routes, operator, app, parts, instance, verifiers, ending, upkeep, mut jobs, .. } = self;
        let Self { mut deliveries, leaving, listed, .. } = self;
        ending.cancel();
        end_within("upkeep", upkeep).await;
        end_within("jobs", async { while jobs.join_next().await.is_some() {} }).await;
        end_within("deliveries", async { while deliveries.join_next().await.is_some() {} }).await;
        // The writers of windows end when all of their handles are dropped.
        drop((routes, operator, jobs, app));
        parts.close().await;
        tokio::join!(verifiers.live.close(GOODBYE_MS), verifiers.sandbox.close(GOODBYE_MS));
        // Until now the sources were in use, so no other node may have had them.
        leaving.cancel();
        end_within("leaving the other nodes", listed).await;
        end_within("closing the database", instance.close()).await;
    }
}

/// Builds all routes of a node with these roles, with their layers, and those for the operator's separate addresses.
fn routes(app: &Arc<App>, ending: &CancellationToken, config: &ServiceConfig) -> (Router, Router) {
    let laid = |routes: Router| {
        let routes = routes.layer(from_fn_with_state(app.metrics.clone(), count_in_flight));
        let (observer, log) = (Some(app.metrics.observer()), Some(app.requests.clone()));
        shell(routes, ShellConfig { observer, log, ..config.shell.clone() }, app.clock)
    };
    let api = if config.node.roles.has(NodeRole::Api) {
        let api = router::api(app)
            .merge(person::routes::pages(app))
            .merge(person::unsubscribe::routes(app))
            .merge(widget::routes(app))
            .merge(crate::api::outcomes::hook::routes(app))
            .merge(crate::api::connections::hook::routes(app))
            .layer(from_fn_with_state(ending.clone(), refuse_at_the_end));
        let public_url = config.api.public_url.clone();
        api.merge(openapi::routes(move || openapi::of_service(public_url.as_deref()))).merge(web::routes())
    } else {
        router::elsewhere()
    };
    let operator =
        config.operator.as_ref().filter(|_| config.node.roles.has(NodeRole::Api)).map_or_else(Router::new, |own| {
            operator::routes(app, own).layer(from_fn_with_state(ending.clone(), refuse_at_the_end))
        });
    let apart = config.operator.as_ref().is_some_and(|own| own.apart);
    let (api, operator) = if apart { (api, operator) } else { (api.merge(operator), Router::new()) };
    (laid(api.merge(crate::service::ops::routes(ops(app, ending, config)))), laid(operator))
}

/// Refuses requests during the shutdown, so that another node gets them; the operator routes still work.
async fn refuse_at_the_end(State(ending): State<CancellationToken>, request: Request, next: Next) -> Response {
    if ending.is_cancelled() {
        return Refusal(ApiError::unavailable("the service is shutting down").retry_after(1)).into_response();
    }
    next.run(request).await
}

/// Creates the worker that sends deliveries in the outbox.
fn worker(app: &Arc<App>, config: &ServiceConfig) -> Worker {
    let parts = webhooks::DeliveryParts {
        store: app.store.clone(),
        secrets: app.secrets.clone(),
        sender: config.webhooks.sender(&app.callbacks, app.clock),
        clock: app.clock,
        metrics: app.metrics.clone(),
    };
    Worker::new(parts, &app.callbacks, config.webhooks.delivery).of_node(app.presence.clone())
}

/// Creates the worker that sends queued mail, if there is a relay.
fn mailer(app: &Arc<App>, config: &ServiceConfig) -> Option<Mailer> {
    config.mail.clone().map(|config| Mailer {
        store: app.store.clone(),
        secrets: app.secrets.clone(),
        clock: app.clock,
        config,
        metrics: app.metrics.clone(),
    })
}

/// Builds the operator routes over the parts of a service.
fn ops(app: &Arc<App>, ending: &CancellationToken, config: &ServiceConfig) -> Ops {
    let readiness = Readiness::of_store(app.clock, ending.clone(), app.store.clone());
    let readiness = if app.presence.needs_leases() { with_sources(readiness, app) } else { readiness };
    let readiness = Arc::new(with_clock(readiness, app));
    Ops {
        metrics: app.metrics.clone(),
        observed: Arc::new(MeasuredParts { app: app.clone(), readiness: readiness.clone() }),
        readers: Arc::new(Readers::new(config.metrics_token.clone())),
        readiness,
    }
}

/// Makes a node that may not probe mail servers not ready.
fn with_sources(readiness: Readiness, app: &Arc<App>) -> Readiness {
    let (presence, clock) = (app.presence.clone(), app.clock);
    readiness.check("sources", move || {
        let held = presence.holds_sources(clock.now());
        Box::pin(async move { if held { Ok(()) } else { Err("another node may have this node's sources".into()) } })
    })
}

/// Makes a node with a wrong clock not ready.
fn with_clock(readiness: Readiness, app: &Arc<App>) -> Readiness {
    let presence = app.presence.clone();
    readiness.check("clock", move || {
        let ahead_ms = presence.ahead_ms();
        let agrees = presence.clock_agrees();
        Box::pin(async move {
            if agrees {
                Ok(())
            } else {
                Err(format!("this node's clock and the database's differ by {} ms", ahead_ms.abs()).into())
            }
        })
    })
}

/// Parts that metrics read on request.
struct MeasuredParts {
    app: Arc<App>,
    readiness: Arc<Readiness>,
}

impl Observed for MeasuredParts {
    fn look(&self) -> BoxFuture<'_, Gauges> {
        Box::pin(async move {
            let up = !self.readiness.failed().await.contains(&"database");
            let waiting = u64::try_from(self.app.meter.waiting()).unwrap_or(u64::MAX);
            let mut queues = vec![
                (Queue::Ledger, QueueDepth { waiting, oldest: None }),
                (Queue::Webhooks, pending::count_deliveries(&self.app).await),
                (Queue::Mail, pending::count_mail(&self.app).await),
            ];
            // Values that the database does not provide are absent.
            let cluster = look::cluster(&self.app.store, self.app.now()).await.ok();
            queues.extend(cluster.iter().flat_map(|cluster| look::queues(cluster, self.app.now())));
            Gauges {
                engine: self.app.live.snapshot(),
                database: Some(DatabaseGauges::of(&self.app.store, up)),
                queues,
                own: Some(look::own(&self.app.presence, self.app.now())),
                cluster,
            }
        })
    }
}
