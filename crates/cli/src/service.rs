//! Connects the commands to `probity-service`: starts the service and answers requests about its data.

pub(crate) mod address;
mod answers;
pub(crate) mod backup;
mod lock;
pub(crate) mod moving;
pub(crate) mod pepper;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use probity_engine::config::CacheTimes;
use probity_engine::facts::{Layered, LayeredConfig};
use probity_engine::net::BoxFuture;
use probity_engine::{Engine, EngineConfig};
use probity_http::body::BodyRules;
use probity_http::listen::ListenConfig;
use probity_http::operator::OperatorConfig;
use probity_http::service::{Bound, Service, ServiceConfig, Verifiers};
use probity_http::shell::ShellConfig;
use probity_mailworld::sandbox::Sandbox;
use probity_service::admin::{Admin, FirstKeys};
use probity_service::app::{ApiConfig, VERIFICATION_MAX};
use probity_service::egress::Checkup;
use probity_service::erasures;
use probity_service::instance::{Instance, OpenError};
use probity_service::jobs::JobsConfig;
use probity_service::nodes;
use probity_service::nodes::{JoinError, NodeConfig};
use probity_service::people::PeopleConfig;
use probity_service::store::{Place, Sealing, StoreConfig};
use probity_service::verifier::Verifier;
use probity_service::webhooks::{ByNet, Names, NoNames, WebhookConfig};
use secrecy::ExposeSecret as _;

use crate::admin::{Answer, Request};
use crate::config::serve::{Database, ServeSettings};
use crate::config::{Settings, host_name};
use crate::doctor::Patient;
use crate::exit::{Ends, Exit};
use crate::net;
use crate::room::Room;

/// Name of the first organization.
const FIRST_ORG: &str = "My organization";
/// Tombstone file in the data directory.
const TOMBSTONES_FILE: &str = "erasures.tombstones";
/// Time limit for writing cached facts at shutdown, in milliseconds.
const FLUSH_MS: u64 = 2_000;

/// Time reserved for a request's credit and response after its verification.
const ANSWER: Duration = Duration::from_secs(1);

/// A service that listens.
pub(crate) struct Running {
    /// Listening addresses, with the ports chosen by the system.
    pub listening: Vec<SocketAddr>,
    /// Keys, only after the first start.
    pub first: Option<FirstKeys>,
    /// Completes when the service has ended, after a signal or a failure.
    pub ended: BoxFuture<'static, Result<()>>,
}

/// Starts the service; `sandbox` also answers live keys from the simulated internet.
pub(crate) async fn start(settings: &Settings, sandbox: bool) -> Result<Running> {
    let serve = &settings.serve;
    make_directory(&serve.data)?;
    keep_temporary_files(&serve.data);
    let held = lock::share(&serve.data)?;
    let instance = open(serve).await?;
    instance.prepare().await.map_err(unopened)?;
    let config = config(settings, webhooks(settings, sandbox)?);
    nodes::set_right(&instance, &config.longest()).await.map_err(OpenError::Store).map_err(unopened)?;
    let again = erasures::restore(&instance, &tombstones(serve)).await;
    again.map_err(|error| anyhow!(error)).context("cannot repeat completed erasures")?;
    let bound = Bound::to(&serve.listen).await?.with_operator(&serve.admin_listen).await?;
    for address in bound.operator_addresses() {
        tracing::info!(%address, "the operator API has its own listen address");
    }
    let listening = bound.addresses();
    address::tell(&serve.data, &listening);
    let facts = Arc::new(Layered::new(Arc::new(instance.facts()), LayeredConfig::default()));
    let room = room(settings, sandbox);
    let verifiers = verifiers(settings, sandbox, facts.clone(), room)?;
    let checkup = checkup(settings, sandbox);
    let mut interrupted = signals()?;
    let mut node = node(settings, sandbox);
    node.joined = Some(nodes::join(&instance, &node).await.map_err(not_joined)?);
    let first = administration(&instance, serve).first_start(FIRST_ORG, serve.plans.first().clone()).await?;
    // The keys are stored nowhere else, so nothing that can fail may come between here and printing them.
    let mut config = ServiceConfig { node, checkup, ..config };
    config.listen.connections_max = room.connections;
    let service = Service::start(bound, instance, &config, verifiers);
    let ended = Box::pin(async move {
        let _held = held;
        interrupted.recv().await;
        let stopping = async {
            let core = service.drain().await;
            facts.flush(FLUSH_MS).await;
            core.stop().await;
        };
        tokio::select! {
            () = stopping => Ok(()),
            () = interrupted.recv() => Err(anyhow!("stopped at the second signal; credits held for calls in flight are released when their holds expire")
                .context(Ends(Exit::Interrupted))),
        }
    });
    Ok(Running { listening, first, ended })
}

/// Migrates the database.
pub(crate) async fn migrate(settings: &Settings) -> Result<()> {
    make_directory(&settings.serve.data)?;
    let _held = lock::share(&settings.serve.data)?;
    let instance = open(&settings.serve).await?;
    instance.prepare().await.map_err(unopened)?;
    instance.close().await;
    Ok(())
}

/// Answers one request about existing data. Never creates data: otherwise, a mistyped path would administer a new, empty
/// installation.
pub(crate) async fn ask(settings: &Settings, request: Request) -> Result<Answer> {
    let serve = &settings.serve;
    if let Database::Sqlite(path) = &serve.database.place
        && !path.is_file()
    {
        bail!("there is no database {}; `probity serve` or `probity migrate` creates it", path.display());
    }
    let pepper = pepper::existing(&serve.pepper)?;
    let _held = lock::share(&serve.data)?;
    let instance = Instance::open(&store(serve)?, &pepper).await.map_err(unopened)?;
    instance.prepare().await.map_err(unopened)?;
    let admin = administration(&instance, serve);
    let answer = answers::answer(&instance, &admin, settings, request).await;
    instance.close().await;
    answer
}

/// Wraps all data keys under the master key of another file, replacing the configured one; returns their number.
pub(crate) async fn rewrap(settings: &Settings, to: &Path) -> Result<u64> {
    let serve = &settings.serve;
    let Some(from) = &serve.master_key else {
        bail!("secrets.master_key_file is not set; to start with a master key, set it and start the service");
    };
    let (from, to) = (pepper::master_key(from)?, pepper::master_key(to)?);
    let _held = lock::share(&serve.data)?;
    let instance = Instance::open(&store(serve)?, &pepper::existing(&serve.pepper)?).await.map_err(unopened)?;
    instance.prepare().await.map_err(unopened)?;
    let wrapped = instance.rewrap(&from, &to).await.map_err(unopened);
    instance.close().await;
    wrapped
}

async fn open(serve: &ServeSettings) -> Result<Instance> {
    let pepper = pepper::read(&serve.pepper)?;
    Instance::open(&store(serve)?, &pepper).await.map_err(unopened)
}

/// A database that does not open is a local failure.
fn unopened(error: OpenError) -> anyhow::Error {
    anyhow::Error::new(error).context(Ends(Exit::Local))
}

/// Creates the data directory, accessible only to the service.
fn make_directory(data: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let place = data.display();
    builder.create(data).with_context(|| format!("cannot create the data directory {place}"))
}

/// Moves temporary files to the data directory. The system's directory may be read-only, as in a container, or in memory, and
/// workbooks are large. The files have no names, so that none remain.
fn keep_temporary_files(data: &Path) {
    // Only the first call has an effect; a process starts one service.
    let _ = tempfile::env::override_temp_dir(data);
}

fn store(serve: &ServeSettings) -> Result<StoreConfig> {
    let master_key = serve.master_key.as_deref().map(pepper::master_key).transpose()?;
    let settings = &serve.database;
    let place = match &settings.place {
        Database::Sqlite(path) => Place::Sqlite(path.clone()),
        Database::Postgres(url) => Place::Postgres(url.expose_secret().to_owned()),
    };
    Ok(StoreConfig {
        place,
        connections_max: settings.pool_max,
        acquire_timeout_ms: unsigned(settings.acquire_timeout_ms),
        statement_timeout_ms: unsigned(settings.statement_timeout_ms),
        sealing: master_key.map(|key| Arc::new(key) as Arc<dyn Sealing>),
    })
}

/// Path of the erasure tombstones, outside the database.
fn tombstones(serve: &ServeSettings) -> PathBuf {
    serve.data.join(TOMBSTONES_FILE)
}

/// Computes the capacity under this process's limit of open files; logs a limit that is too low.
fn room(settings: &Settings, simulated: bool) -> Room {
    // Simulated servers need no descriptors.
    let room = Room::of(settings, if simulated { 0 } else { settings.engine.sessions_max });
    if !room.is_enough {
        tracing::warn!(
            open_files = room.open_files,
            sessions = room.sessions,
            connections = room.connections,
            "the limit of open files is too low for limits.sessions and server.connections: both are reduced; \
             raise it (LimitNOFILE= or ulimit -n)"
        );
    }
    room
}

/// Creates the live engine with its facts in the database, and the sandbox for test keys.
fn verifiers(settings: &Settings, simulated: bool, facts: Arc<Layered>, room: Room) -> Result<Verifiers> {
    let for_tests = Arc::new(Sandbox::new(&settings.engine)?);
    let live: Arc<dyn Verifier> = if simulated {
        Arc::new(Sandbox::new(&settings.engine)?)
    } else {
        let config = EngineConfig { sessions_max: room.sessions, ..settings.engine.clone() };
        Arc::new(Engine::with_facts(config, net::real(settings)?, facts)?)
    };
    Ok(Verifiers { live, sandbox: for_tests })
}

/// Prepares checks of this machine if it probes real mail servers. A failure does not stop the service.
fn checkup(settings: &Settings, simulated: bool) -> Option<Arc<dyn Checkup>> {
    let probes = !simulated && settings.serve.roles.asks();
    let patient = probes.then(|| Patient::of(settings, false).ok()).flatten()?;
    Some(Arc::new(patient))
}

/// Callbacks use the real network, even in the sandbox; there, a machine without a resolver supports only IP addresses.
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
            widget: serve.widget,
            batch_rows_max: serve.batch_rows,
            batch_body_max: serve.batch_body_max,
            uploads: serve.uploads,
            // 20% longer than a request may take.
            idempotency_lease_ms: serve.request_timeout_ms / 5 * 6,
            people: PeopleConfig { lifetimes: serve.session, ..PeopleConfig::default() },
            deliveries_keep_ms: serve.deliveries_keep_ms,
            link_life_ms: serve.invitation_ms,
            plans: serve.plans.clone(),
        },
        shell: ShellConfig { deadline, body, observer: None },
        listen: ListenConfig {
            connections_max: serve.connections,
            header_timeout: Duration::from_millis(unsigned(serve.header_timeout_ms)),
            shutdown_timeout: Duration::from_millis(unsigned(serve.shutdown_grace_ms)),
            // A request that uses its whole time limit must not be cut as stalled.
            stall_timeout: listen.stall_timeout.max(deadline * 2),
            ..listen
        },
        metrics_token: serve.metrics_token.clone(),
        webhooks,
        mail: serve.mail.clone(),
        tombstones: Some(tombstones(serve)),
        jobs: JobsConfig { lease_ms: serve.batch_lease_ms, slots: serve.batch_slots, keep_days: serve.batch_keep_days },
        facts_ms: facts_ms(settings),
        node: NodeConfig::default(),
        checkup: None,
        operator: operator(serve),
    }
}

/// Maximum lifetime of cached facts about a domain.
fn facts_ms(settings: &Settings) -> i64 {
    let CacheTimes { catch_all_yes_ms, catch_all_no_ms, accepted_ms, .. } = settings.engine.cache;
    catch_all_yes_ms.max(catch_all_no_ms).max(accepted_ms)
}

/// Describes this node. Simulated mail servers need no source IPs.
fn node(settings: &Settings, simulated: bool) -> NodeConfig {
    let asked = if simulated { &[] } else { &*settings.engine.sources };
    NodeConfig {
        hostname: host_name(),
        roles: settings.serve.roles.clone(),
        sources: asked.iter().map(|source| source.public).collect(),
        joined: None,
    }
}

/// A failure to join is local or caused by the other nodes.
fn not_joined(error: JoinError) -> anyhow::Error {
    anyhow::Error::new(error).context(Ends(Exit::Local))
}

fn administration(instance: &Instance, serve: &ServeSettings) -> Admin {
    Admin::new(instance.clone(), &serve.brand).with_plans(serve.plans.clone())
}

fn operator(serve: &ServeSettings) -> Option<OperatorConfig> {
    let apart = !serve.admin_listen.is_empty();
    serve.admin_key.clone().map(|key| OperatorConfig { key, apart })
}

fn unsigned(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// Signals that end the service, caught from the start so that none is lost.
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
        let listen = |kind| signal(kind).map_err(|error| anyhow!("cannot handle signals: {error}"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Overlay};

    #[test]
    fn with_the_sandbox_this_machine_is_not_checked() {
        let set = ["server.data=/does/not/exist".to_owned()];
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &set }).unwrap().settings().unwrap();
        assert!(checkup(&settings, true).is_none());
    }
}
