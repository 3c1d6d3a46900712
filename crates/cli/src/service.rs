//! The seam between the commands and the service in `probity-server`: starting it, and asking about its data.

mod answers;
pub(crate) mod moving;
mod pepper;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use probity_engine::facts::{Layered, LayeredConfig};
use probity_engine::net::BoxFuture;
use probity_engine::{Engine, EngineConfig, descriptors};
use probity_mailworld::sandbox::Sandbox;
use probity_server::admin::{Admin, FirstKeys, Plan};
use probity_server::app::{ApiConfig, VERIFICATION_MAX};
use probity_server::body::BodyRules;
use probity_server::instance::Instance;
use probity_server::jobs::JobsConfig;
use probity_server::listen::ListenConfig;
use probity_server::nodes::{self, JoinError, NodeConfig};
use probity_server::person::PeopleConfig;
use probity_server::service::{Bound, Service, ServiceConfig, Verifiers};
use probity_server::shell::ShellConfig;
use probity_server::store::{Place, StoreConfig};
use probity_server::verifier::Verifier;
use probity_server::webhooks::{ByNet, Names, NoNames, WebhookConfig};
use secrecy::ExposeSecret as _;

use crate::admin::{Answer, Request};
use crate::config::serve::{CreditSettings, Database, ServeSettings};
use crate::config::{Settings, host_name};
use crate::exit::{Ends, Exit};
use crate::net;
use crate::verifier::Simulated;

/// What the first organization is called.
const FIRST_ORG: &str = "My organization";
/// How long what was found out may take to be written at the end, in milliseconds.
const FLUSH_MS: u64 = 2_000;

/// What a request has left when its verification is over, for its credit and its answer.
const ANSWER: Duration = Duration::from_secs(1);

/// A service that listens.
pub(crate) struct Running {
    /// Where, with the ports that the system chose.
    pub listening: Vec<SocketAddr>,
    /// The keys, where this was the first start.
    pub first: Option<FirstKeys>,
    /// Ends when the service has ended, after a signal or by a failure.
    pub ended: BoxFuture<'static, Result<()>>,
}

/// Starts the service; `sandbox` answers live keys from the simulated internet too.
pub(crate) async fn start(settings: &Settings, sandbox: bool) -> Result<Running> {
    let serve = &settings.serve;
    make_directory(&serve.data)?;
    let instance = open(serve).await?;
    instance.prepare().await.map_err(unopened)?;
    let bound = Bound::to(&serve.listen).await?;
    let listening = bound.addresses();
    let facts = Arc::new(Layered::new(Arc::new(instance.facts()), LayeredConfig::default()));
    let verifiers = verifiers(settings, sandbox, facts.clone())?;
    let webhooks = webhooks(settings, sandbox)?;
    let mut interrupted = signals()?;
    let mut node = node(settings, sandbox);
    node.joined = Some(nodes::join(&instance, &node).await.map_err(not_joined)?);
    let first = Admin::new(instance.clone(), &serve.brand).first_start(FIRST_ORG, plan(serve.credits)).await?;
    // The keys are nowhere else: nothing that can fail stands between here and their printing.
    let service = Service::start(bound, instance, &ServiceConfig { node, ..config(settings, webhooks) }, verifiers);
    let ended = Box::pin(async move {
        interrupted.recv().await;
        let stopping = async {
            let core = service.drain().await;
            facts.flush(FLUSH_MS).await;
            core.stop().await;
        };
        tokio::select! {
            () = stopping => Ok(()),
            () = interrupted.recv() => Err(anyhow!("stopped at the second signal; credits of calls in flight come back when their hold ends")
                .context(Ends(Exit::Interrupted))),
        }
    });
    Ok(Running { listening, first, ended })
}

/// Brings the database up to date.
pub(crate) async fn migrate(settings: &Settings) -> Result<()> {
    make_directory(&settings.serve.data)?;
    let instance = open(&settings.serve).await?;
    instance.prepare().await.map_err(unopened)?;
    instance.close().await;
    Ok(())
}

/// Answers one request about the data, which must be there: whoever mistypes a place would otherwise administer a new and
/// empty one.
pub(crate) async fn ask(settings: &Settings, request: Request) -> Result<Answer> {
    let serve = &settings.serve;
    if let Database::Sqlite(path) = &serve.database.place
        && !path.is_file()
    {
        bail!("there is no database {}; `probity serve` or `probity migrate` makes one", path.display());
    }
    let pepper = pepper::existing(&serve.pepper)?;
    let instance = Instance::open(&store(serve), &pepper).await.map_err(unopened)?;
    instance.prepare().await.map_err(unopened)?;
    let admin = Admin::new(instance.clone(), &serve.brand);
    let answer = answers::answer(&admin, serve, request).await;
    instance.close().await;
    answer
}

async fn open(serve: &ServeSettings) -> Result<Instance> {
    let pepper = pepper::read(&serve.pepper)?;
    Instance::open(&store(serve), &pepper).await.map_err(unopened)
}

/// What keeps the database shut is of this machine.
fn unopened(error: probity_server::instance::OpenError) -> anyhow::Error {
    anyhow::Error::new(error).context(Ends(Exit::Local))
}

/// The data directory, for nobody but the service.
fn make_directory(data: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let place = data.display();
    builder.create(data).with_context(|| format!("cannot make the data directory {place}"))
}

fn store(serve: &ServeSettings) -> StoreConfig {
    let settings = &serve.database;
    let place = match &settings.place {
        Database::Sqlite(path) => Place::Sqlite(path.clone()),
        Database::Postgres(url) => Place::Postgres(url.expose_secret().to_owned()),
    };
    StoreConfig {
        place,
        connections_max: settings.pool_max,
        acquire_timeout_ms: unsigned(settings.acquire_timeout_ms),
        statement_timeout_ms: unsigned(settings.statement_timeout_ms),
    }
}

/// The live engine with its facts in the database, and the sandbox for test keys.
fn verifiers(settings: &Settings, simulated: bool, facts: Arc<Layered>) -> Result<Verifiers> {
    let for_tests = Arc::new(Simulated(Sandbox::new(&settings.engine)?));
    let live: Arc<dyn Verifier> = if simulated {
        Arc::new(Simulated(Sandbox::new(&settings.engine)?))
    } else {
        let fitting = descriptors::sessions_max(descriptors::descriptor_limit());
        let sessions_max = settings.engine.sessions_max.min(fitting);
        let config = EngineConfig { sessions_max, ..settings.engine.clone() };
        Arc::new(Engine::with_facts(config, net::real(settings)?, facts)?)
    };
    Ok(Verifiers { live, sandbox: for_tests })
}

/// Callbacks go to the real network, in the sandbox too; there, a machine without a resolver has literals only.
fn webhooks(settings: &Settings, simulated: bool) -> Result<WebhookConfig> {
    let names: Arc<dyn Names> = match net::real(settings) {
        Ok(net) => Arc::new(ByNet(net)),
        Err(_) if simulated => Arc::new(NoNames),
        Err(error) => return Err(error),
    };
    let https_only = settings.serve.webhooks_https_only;
    Ok(WebhookConfig { egress: settings.engine.guard()?, names, https_only, ..WebhookConfig::default() })
}

fn config(settings: &Settings, webhooks: WebhookConfig) -> ServiceConfig {
    let serve = &settings.serve;
    let body = BodyRules { limit_bytes: serve.body_max, ..BodyRules::default() };
    let deadline = Duration::from_millis(unsigned(serve.request_timeout_ms));
    let listen = ListenConfig::default();
    let verification_max = deadline.saturating_sub(ANSWER).min(VERIFICATION_MAX);
    ServiceConfig {
        api: ApiConfig {
            brand: serve.brand.clone(),
            public_url: serve.public_url.clone(),
            key_per_minute: serve.rate.key,
            org_per_minute: serve.rate.organization,
            verification_max,
            failures_per_minute: serve.rate.address,
            trusted_proxies: serve.trusted_proxies.clone(),
            batch_rows_max: serve.batch_rows,
            batch_body_max: serve.batch_body_max,
            // A fifth longer than a request may take.
            idempotency_lease_ms: serve.request_timeout_ms / 5 * 6,
            people: PeopleConfig { lifetimes: serve.session, ..PeopleConfig::default() },
            link_life_ms: serve.invitation_ms,
            ..ApiConfig::default()
        },
        shell: ShellConfig { deadline, body, observer: None },
        listen: ListenConfig {
            connections_max: serve.connections,
            header_timeout: Duration::from_millis(unsigned(serve.header_timeout_ms)),
            shutdown_timeout: Duration::from_millis(unsigned(serve.shutdown_grace_ms)),
            // A request that takes its whole time must not be cut as stalled.
            stall_timeout: listen.stall_timeout.max(deadline * 2),
            ..listen
        },
        metrics_token: serve.metrics_token.clone(),
        hold_ms: serve.credits.hold_ms,
        webhooks,
        mail: serve.mail.clone(),
        jobs: JobsConfig { lease_ms: serve.batch_lease_ms, slots: serve.batch_slots, keep_days: serve.batch_keep_days },
        node: NodeConfig::default(),
    }
}

/// Which node this is. Simulated mail servers are asked from everywhere.
fn node(settings: &Settings, simulated: bool) -> NodeConfig {
    let asked = if simulated { &[] } else { &*settings.engine.sources };
    NodeConfig {
        hostname: host_name(),
        roles: settings.serve.roles.clone(),
        sources: asked.iter().map(|source| source.public).collect(),
        joined: None,
    }
}

/// What keeps a node from the others is of this machine, or of those.
fn not_joined(error: JoinError) -> anyhow::Error {
    anyhow::Error::new(error).context(Ends(Exit::Local))
}

/// What a new organization may spend, where nobody says.
fn plan(credits: CreditSettings) -> Plan {
    if credits.unlimited { Plan::Unlimited } else { Plan::Metered { initial: credits.initial } }
}

fn unsigned(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// The signals that end the service: listened to from the start, so that none is lost.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

fn signals() -> Result<Signals> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|error| anyhow!("cannot listen to signals: {error}"));
        Ok(Signals { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }
    #[cfg(not(unix))]
    Ok(Signals {})
}

impl Signals {
    async fn recv(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
