//! The service: everything put together, started and stopped. [`Core`] is all of it but its sockets (`sockets.rs`).
//!
//! Starting opens sockets before anything is promised to anybody. Stopping goes in this order: readiness says no, new requests
//! are refused with 503 while those in flight are finished, the sockets close, the last window of credits is written, the
//! verifiers end their sessions, the database is closed.
//!
//! A killed process loses the times of last use of keys (5 s at most), facts about domains that were not written yet, and the
//! slices of shared rate limits, which come back as the buckets fill. Everything else is in the database.

mod sockets;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use probity_engine::net::BoxFuture;
use probity_mail::lists::Lists;
use probity_service::admin::Admin;
use probity_service::app::{ApiConfig, App};
use probity_service::bells;
use probity_service::egress::{Checkup, Egress};
use probity_service::erasures;
use probity_service::erasures::Erasures;
use probity_service::error::ApiError;
use probity_service::instance::Instance;
use probity_service::jobs::JobsConfig;
use probity_service::keyring::Keyring;
use probity_service::limits::RateLimits;
use probity_service::lists::searches::Searches;
use probity_service::lists::watch::Watch;
use probity_service::mail::{MailConfig, Mailer};
use probity_service::meter::Meter;
use probity_service::nodes;
use probity_service::nodes::{NodeConfig, Presence, look};
use probity_service::ops::health::Readiness;
use probity_service::ops::metrics::{Database, Depth, Gauges, Metrics, Observed, Queue, Readers, Start};
use probity_service::page::Cursors;
use probity_service::people::People;
use probity_service::roles::Role;
use probity_service::upkeep;
use probity_service::verifier::Verifier;
use probity_service::webhooks;
use probity_service::webhooks::{Callbacks, WebhookConfig, Worker};
use probity_service::widget::Widget;
use probity_service::widget::gate::Gate;
use probity_store::ahead::Longest;
use probity_store::{notices, outbox};
use secrecy::SecretString;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::error::Refusal;
use crate::listen::ListenConfig;
use crate::openapi;
use crate::openapi::Published;
use crate::operator;
use crate::operator::OperatorConfig;
use crate::ops::Ops;
use crate::ops::count_in_flight;
use crate::person;
use crate::shell::{ShellConfig, shell};
use crate::widget;
use crate::{router, web};

pub use sockets::{Bound, Service};

/// How long each part of the service may take to end: longer than a request waits for the database.
const PART_MAX: Duration = Duration::from_secs(5);
/// How long verifiers may take to end their sessions, in milliseconds.
const GOODBYE_MS: u64 = 2_000;

/// How a service is run.
#[derive(Clone, Default)]
pub struct ServiceConfig {
    /// What the API does.
    pub api: ApiConfig,
    /// What all requests have in common.
    pub shell: ShellConfig,
    /// What sockets do.
    pub listen: ListenConfig,
    /// What `/metrics` asks for; none where it answers the machine and private networks only.
    pub metrics_token: Option<SecretString>,
    /// How customers' servers are told.
    pub webhooks: WebhookConfig,
    /// How mail is sent to people; none where no mail is.
    pub mail: Option<MailConfig>,
    /// Where erasures are kept beside the database; none where they are not.
    pub tombstones: Option<PathBuf>,
    /// How batch jobs are worked on.
    pub jobs: JobsConfig,
    /// How long anything is believed of a domain at most, in milliseconds.
    pub facts_ms: i64,
    /// Which node this is, and what it does.
    pub node: NodeConfig,
    /// Who checks the machine from time to time; none where nobody does.
    pub checkup: Option<Arc<dyn Checkup>>,
    /// The operator's API; none where there is none.
    pub operator: Option<OperatorConfig>,
}

impl ServiceConfig {
    /// How long what is waited for lasts at most.
    pub fn longest(&self) -> Longest {
        Longest {
            node_ms: nodes::LEASE_MS,
            work_ms: self.jobs.lease_ms.max(self.webhooks.delivery.lease_ms).max(erasures::LEASE_MS),
            lock_ms: self.api.idempotency_lease_ms,
            facts_ms: self.facts_ms,
        }
    }
}

/// Who answers about addresses.
#[derive(Clone)]
pub struct Verifiers {
    /// Live keys.
    pub live: Arc<dyn Verifier>,
    /// Test keys: simulated outcomes, no network.
    pub sandbox: Arc<dyn Verifier>,
}

/// The service without its sockets: what requests go through, and the tasks behind it. For tests and for [`Service`].
pub struct Core {
    /// All routes, with everything that is laid around them.
    pub routes: Router,
    /// The operator's API where it has addresses of its own: other routes than these are not found there.
    pub operator: Router,
    app: Arc<App>,
    instance: Instance,
    verifiers: Verifiers,
    ending: CancellationToken,
    upkeep: JoinHandle<()>,
    jobs: JoinSet<()>,
    windows: JoinHandle<()>,
    gate: JoinHandle<()>,
    deliveries: JoinSet<()>,
    leaving: CancellationToken,
    listed: JoinHandle<()>,
}

/// What every handler needs, and the tasks behind it that write what calls leave.
pub(crate) struct Parted {
    pub(crate) app: Arc<App>,
    windows: JoinHandle<()>,
    gate: JoinHandle<()>,
}

impl Parted {
    /// Call within a tokio runtime.
    pub(crate) fn of(
        instance: &Instance,
        config: &ServiceConfig,
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
        let (way, gate) = Gate::start(store.clone());
        let app = Arc::new(App {
            watch: Arc::new(Watch::new(ending.clone())),
            searches: Searches::default(),
            callbacks: Callbacks::new(Arc::new(config.webhooks.guard())),
            config: config.api.clone(),
            sends_mail: config.mail.is_some(),
            clock,
            limits: RateLimits::new(&store),
            people: People::new(config.api.people, &metrics),
            cursors: Cursors::new(instance.secrets.cursors()),
            secrets: instance.secrets.clone(),
            store,
            keyring: Keyring::default(),
            meter,
            widget: Widget::new(config.api.widget, way),
            metrics,
            presence: Arc::new(Presence::new(&config.node, clock.now())),
            wake: Arc::default(),
            erasures: Arc::new(Erasures::new(config.tombstones.clone())),
            live: verifiers.live.clone(),
            sandbox: verifiers.sandbox.clone(),
        });
        Self { app, windows, gate }
    }

    /// Ends once nobody else has the handlers' part any more, when everything is written.
    pub(crate) async fn end(self) {
        drop(self.app);
        within("the last window of credits", self.windows).await;
        within("the last checks of the widget", self.gate).await;
    }
}

impl Core {
    /// Puts the parts together over an installation that is prepared. Call within a tokio runtime.
    pub fn start(instance: Instance, config: &ServiceConfig, verifiers: Verifiers) -> Self {
        let (ending, leaving) = (CancellationToken::new(), CancellationToken::new());
        let (clock, Parted { app, windows, gate }) =
            (instance.clock, Parted::of(&instance, config, &verifiers, &ending));
        let egress = Egress::new(app.live.clone(), app.presence.clone(), config.checkup.clone());
        let egress = Arc::new(egress);
        let listed = nodes::run(app.presence.clone(), egress.clone(), app.store.clone(), clock, leaving.clone());
        let listed = tokio::spawn(listed);
        let (routes, operator) = routes(&app, &instance, &ending, config);
        let checkups = egress.run(clock, ending.clone());
        let upkeep = tokio::spawn(upkeep::run(app.clone(), config.longest(), ending.clone()));
        let (mut jobs, mut deliveries) = (JoinSet::new(), JoinSet::new());
        let roles = &config.node.roles;
        if roles.has(Role::Worker) {
            jobs = app.jobs(config.jobs).start(&ending);
            jobs.spawn(erasures::work(app.erasure_parts(), config.jobs.lease_ms, ending.clone()));
        }
        jobs.spawn(checkups);
        jobs.spawn(erasures::follow(app.erasure_parts(), ending.clone()));
        if roles.has(Role::Delivery) {
            deliveries.spawn(worker(&app, config).run(ending.clone()));
            deliveries.extend(mailer(&app, config).map(|mailer| mailer.run(ending.clone())));
        }
        if roles.has(Role::Worker) || roles.has(Role::Delivery) {
            jobs.spawn(bells::run(app.clone(), ending.clone()));
        }
        Self {
            routes,
            operator,
            app,
            instance,
            verifiers,
            ending,
            upkeep,
            jobs,
            windows,
            gate,
            deliveries,
            leaving,
            listed,
        }
    }

    /// Ends what is behind the routes, once no request is in flight any more.
    pub async fn stop(self) {
        let Self { routes, operator, app, instance, verifiers, ending, upkeep, mut jobs, windows, .. } = self;
        let Self { mut deliveries, gate, leaving, listed, .. } = self;
        ending.cancel();
        within("upkeep", upkeep).await;
        within("jobs", async { while jobs.join_next().await.is_some() {} }).await;
        within("deliveries", async { while deliveries.join_next().await.is_some() {} }).await;
        // The writers of windows end when nobody is left who could want one.
        drop((routes, operator, jobs));
        Parted { app, windows, gate }.end().await;
        tokio::join!(verifiers.live.close(GOODBYE_MS), verifiers.sandbox.close(GOODBYE_MS));
        // Until here the sources were in use, and nobody else may have had them.
        leaving.cancel();
        within("leaving the other nodes", listed).await;
        within("closing the database", instance.close()).await;
    }
}

/// All routes of a node with these roles, with everything that is laid around them; and those for the operator's own addresses.
fn routes(app: &Arc<App>, instance: &Instance, ending: &CancellationToken, config: &ServiceConfig) -> (Router, Router) {
    let laid = |routes: Router| {
        let routes = routes.layer(from_fn_with_state(app.metrics.clone(), count_in_flight));
        shell(routes, ShellConfig { observer: Some(app.metrics.observer()), ..config.shell.clone() }, app.clock)
    };
    let api = if config.node.roles.has(Role::Api) {
        let published = Published::new(&openapi::of_service(config.api.public_url.as_deref()));
        let api = router::api(app)
            .merge(person::routes::pages(app))
            .merge(widget::routes(app))
            .layer(from_fn_with_state(ending.clone(), refuse_at_the_end));
        api.merge(published.router()).merge(web::routes())
    } else {
        router::elsewhere()
    };
    let operator =
        config.operator.as_ref().filter(|_| config.node.roles.has(Role::Api)).map_or_else(Router::new, |own| {
            let admin = Admin::new(instance.clone(), &config.api.brand).with_plans(config.api.plans.clone());
            operator::routes(app, admin, own).layer(from_fn_with_state(ending.clone(), refuse_at_the_end))
        });
    let apart = config.operator.as_ref().is_some_and(|own| own.apart);
    let (api, operator) = if apart { (api, operator) } else { (api.merge(operator), Router::new()) };
    (laid(api.merge(crate::ops::routes(ops(app, ending, config)))), laid(operator))
}

/// Waits for a part to end. One that waits for a database that does not answer must not keep the process.
async fn within(what: &'static str, end: impl Future) {
    if tokio::time::timeout(PART_MAX, end).await.is_err() {
        tracing::warn!(what, "did not finish in time");
    }
}

/// What comes when the service has been told to stop is for another node; operators may still look.
async fn refuse_at_the_end(State(ending): State<CancellationToken>, request: Request, next: Next) -> Response {
    if ending.is_cancelled() {
        return Refusal(ApiError::unavailable("the service is shutting down").retry_after(1)).into_response();
    }
    next.run(request).await
}

/// Who delivers what waits in the outbox.
fn worker(app: &Arc<App>, config: &ServiceConfig) -> Worker {
    let parts = webhooks::Parts {
        store: app.store.clone(),
        secrets: app.secrets.clone(),
        sender: config.webhooks.sender(&app.callbacks, app.clock),
        clock: app.clock,
        metrics: app.metrics.clone(),
    };
    Worker::new(parts, &app.callbacks, config.webhooks.delivery).of_node(app.presence.clone())
}

/// Who sends the mail that waits with invitations, where a relay takes it.
fn mailer(app: &Arc<App>, config: &ServiceConfig) -> Option<Mailer> {
    config.mail.clone().map(|config| Mailer {
        store: app.store.clone(),
        secrets: app.secrets.clone(),
        clock: app.clock,
        config,
        metrics: app.metrics.clone(),
        presence: app.presence.clone(),
    })
}

/// The operator's routes over the parts of a service.
fn ops(app: &Arc<App>, ending: &CancellationToken, config: &ServiceConfig) -> Ops {
    let readiness = Readiness::of_store(app.clock, ending.clone(), app.store.clone());
    let readiness = if app.presence.needs_leases() { with_sources(readiness, app) } else { readiness };
    let readiness = Arc::new(with_clock(readiness, app));
    Ops {
        metrics: app.metrics.clone(),
        observed: Arc::new(Parts { app: app.clone(), readiness: readiness.clone() }),
        readers: Arc::new(Readers::new(config.metrics_token.clone())),
        readiness,
    }
}

/// A node that may not ask mail servers is not ready.
fn with_sources(readiness: Readiness, app: &Arc<App>) -> Readiness {
    let (presence, clock) = (app.presence.clone(), app.clock);
    readiness.check("sources", move || {
        let held = presence.holds_sources(clock.now());
        Box::pin(async move { if held { Ok(()) } else { Err("another node may have this node's sources".into()) } })
    })
}

/// Nor is one whose clock is wrong.
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

/// What the metrics look at when somebody reads them.
struct Parts {
    app: Arc<App>,
    readiness: Arc<Readiness>,
}

impl Parts {
    /// Messages that wait; nothing where the database does not say.
    async fn webhooks(&self) -> Depth {
        let Ok(mut conn) = self.app.store.read().await else { return Depth::default() };
        let depth = outbox::depth(&mut conn).await.unwrap_or_default();
        let overdue = depth.first_due_at.map(|due| self.app.now().since(due)).filter(|late_ms| *late_ms > 0);
        let oldest = overdue.and_then(|late_ms| u64::try_from(late_ms).ok()).map(Duration::from_millis);
        Depth { waiting: u64::try_from(depth.waiting).unwrap_or(0), oldest }
    }

    /// Mail that waits; nothing where the database does not say.
    async fn mail(&self) -> Depth {
        let Ok(mut conn) = self.app.store.read().await else { return Depth::default() };
        let waiting = notices::waiting(&mut conn).await.unwrap_or_default();
        Depth { waiting: u64::try_from(waiting).unwrap_or(0), oldest: None }
    }
}

impl Observed for Parts {
    fn look(&self) -> BoxFuture<'_, Gauges> {
        Box::pin(async move {
            let up = !self.readiness.failed().await.contains(&"database");
            let waiting = u64::try_from(self.app.meter.waiting()).unwrap_or(u64::MAX);
            let mut queues = vec![
                (Queue::Ledger, Depth { waiting, oldest: None }),
                (Queue::Webhooks, self.webhooks().await),
                (Queue::Mail, self.mail().await),
            ];
            // What the database does not say is absent.
            let cluster = look::cluster(&self.app.store, self.app.now()).await.ok();
            queues.extend(cluster.iter().flat_map(|cluster| look::queues(cluster, self.app.now())));
            Gauges {
                engine: self.app.live.snapshot(),
                database: Some(Database::of(&self.app.store, up)),
                queues,
                own: Some(look::own(&self.app.presence, self.app.now())),
                cluster,
            }
        })
    }
}
