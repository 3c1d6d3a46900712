//! Connects the commands to `probity-service`: starts the service, and opens its parts for commands about its data.

pub(crate) mod backup;
mod lock;
pub(crate) mod moving;
pub(crate) mod pepper;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use probity_backend::accounts::people::PeopleConfig;
use probity_backend::jobs::JobsConfig;
use probity_backend::nodes;
use probity_backend::nodes::egress::Checkup;
use probity_backend::nodes::instance::{Instance, OpenError};
use probity_backend::nodes::verifier::Verifier;
use probity_backend::nodes::{JoinError, NodeConfig};
use probity_backend::outbound::{ByNet, Names, NoNames};
use probity_backend::outcomes::sns::SnsCertificates;
use probity_backend::privacy::erasures;
use probity_backend::webhooks::WebhookConfig;
use probity_engine::config::CacheTimes;
use probity_engine::knowledge::facts::{LayeredConfig, LayeredFacts};
use probity_engine::net::{BoxFuture, Net};
use probity_engine::{Engine, EngineConfig};
use probity_http::edge::listen::ListenConfig;
use probity_http::edge::shell::ShellConfig;
use probity_http::operator::OperatorConfig;
use probity_http::request::body::BodyRules;
use probity_http::service::{BoundSockets, Service, ServiceConfig};
use probity_mailworld::sandbox::Sandbox;
use probity_service::app::parts::{ServiceParts, Verifiers};
use probity_service::app::{ApiConfig, VERIFICATION_MAX};
use probity_service::operator::first_start::{FirstKeys, FirstStart, UNNAMED};
use probity_service::store::{DatabasePlace, Sealing, StoreConfig};
use secrecy::ExposeSecret as _;

use crate::admin::{self, LocalOperator};
use crate::args::AdminCommand;
use crate::config::serve::{Database, ServeSettings, listening};
use crate::config::{Settings, host_name};
use crate::connectors;
use crate::doctor::DoctorInputs;
use crate::engine::{self, FileRoom, NoNet, OfflineVerifier};
use crate::exit::{Exit, ExitsWith};
use crate::output::printout::Printout;

/// Tombstone file in the data directory.
const TOMBSTONES_FILE: &str = "erasures.tombstones";
/// Time limit for writing cached facts at shutdown, in milliseconds.
const FLUSH_MS: u64 = 2_000;

/// Time reserved for a request's credit and response after its verification.
const ANSWER: Duration = Duration::from_secs(1);

/// A service that listens.
pub(crate) struct RunningService {
    /// Listening addresses, with the ports chosen by the system.
    pub listening: Vec<SocketAddr>,
    /// Keys, only after the first start.
    pub first: Option<FirstKeys>,
    /// Completes when the service has ended, after a signal or a failure.
    pub ended: BoxFuture<'static, Result<()>>,
}

/// Starts the service; `sandbox` also answers live keys from the simulated internet.
pub(crate) async fn start(settings: &Settings, sandbox: bool) -> Result<RunningService> {
    let serve = &settings.serve;
    let config = config(settings, webhooks(settings)?)?;
    make_directory(&serve.data)?;
    keep_temporary_files(&serve.data);
    let held = lock::share(&serve.data)?;
    let instance = open(serve).await?;
    instance.prepare().await.map_err(unopened)?;
    // First: a second start on this machine must fail before it ends what the running process holds.
    let bound = BoundSockets::to(&serve.server.listen.0).await?.with_operator(&serve.admin.listen).await?;
    nodes::correct_times(&instance, &config.longest()).await.map_err(OpenError::Store).map_err(unopened)?;
    let again = erasures::restore(&instance, &tombstones(serve)).await;
    again.map_err(|error| anyhow!(error)).context("cannot repeat completed erasures")?;
    for address in bound.operator_addresses() {
        tracing::info!(%address, "the operator API has its own listen address");
    }
    let listening = bound.addresses();
    listening::tell(&serve.data, &listening);
    let facts = Arc::new(LayeredFacts::new(Arc::new(instance.facts()), LayeredConfig::default()));
    let room = room(settings, sandbox);
    let net = net(settings);
    let verifiers = verifiers(settings, sandbox, facts.clone(), room, net.clone())?;
    let checkup = checkup(settings, sandbox, net);
    let mut interrupted = signals()?;
    let mut node = node(settings, sandbox);
    node.joined = Some(nodes::join(&instance, &node).await.map_err(not_joined)?);
    let first = FirstStart { instance: &instance, brand: &serve.server.brand.0 };
    let first = first.make_organization(UNNAMED, serve.plans.first().clone()).await?;
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
                .context(ExitsWith(Exit::Interrupted))),
        }
    });
    Ok(RunningService { listening, first, ended })
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

/// Runs one administration command on existing data. Never creates data: otherwise, a mistyped path would administer a new,
/// empty installation.
pub(crate) async fn administer(settings: &Settings, command: &AdminCommand) -> Result<Printout> {
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
    let answer = call_act(&instance, settings, command).await;
    instance.close().await;
    answer
}

/// Opens the service's parts for one command. Nothing listens, and no address is verified.
async fn call_act(instance: &Instance, settings: &Settings, command: &AdminCommand) -> Result<Printout> {
    let serve = &settings.serve;
    let engine = if admin::needs_engine(command) {
        engine::with_net(settings, Arc::new(NoNet))?
    } else {
        // Administration must not fail because this machine could not probe.
        Engine::new(EngineConfig::default(), Arc::new(NoNet))?
    };
    let silent = Arc::new(OfflineVerifier(engine));
    let verifiers = Verifiers { live: silent.clone(), sandbox: silent };
    let mut config = config(settings, webhooks(settings)?)?;
    // Links lead to the service on this machine if no public URL is configured.
    config.api.public_url = serve.listening().map(|address| serve.base_url(address));
    let parts = ServiceParts::open_for_command(instance, config.parts(), &verifiers);
    let answer = admin::call_act(&LocalOperator { app: &parts.app }, command).await;
    parts.close().await;
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
    anyhow::Error::new(error).context(ExitsWith(Exit::Local))
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
        Database::Sqlite(path) => DatabasePlace::Sqlite(path.clone()),
        Database::Postgres(url) => DatabasePlace::Postgres(url.expose_secret().to_owned()),
    };
    Ok(StoreConfig {
        place,
        connections_max: settings.limits.pool_max.get(),
        acquire_timeout_ms: settings.limits.acquire_timeout.ms().unsigned_abs(),
        statement_timeout_ms: settings.limits.statement_timeout.ms().unsigned_abs(),
        sealing: master_key.map(|key| Arc::new(key) as Arc<dyn Sealing>),
    })
}

/// Path of the erasure tombstones, outside the database.
fn tombstones(serve: &ServeSettings) -> PathBuf {
    serve.data.join(TOMBSTONES_FILE)
}

/// Computes the capacity under this process's limit of open files; logs a limit that is too low.
fn room(settings: &Settings, simulated: bool) -> FileRoom {
    // Simulated servers need no descriptors.
    let room = FileRoom::of(settings, if simulated { 0 } else { settings.engine.sessions_max });
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
fn verifiers(
    settings: &Settings,
    simulated: bool,
    facts: Arc<LayeredFacts>,
    room: FileRoom,
    net: Arc<dyn Net>,
) -> Result<Verifiers> {
    let for_tests = Arc::new(Sandbox::new(&settings.engine)?);
    let live: Arc<dyn Verifier> = if simulated {
        Arc::new(Sandbox::new(&settings.engine)?)
    } else {
        let config = EngineConfig { sessions_max: room.sessions, ..settings.engine.clone() };
        Arc::new(Engine::with_facts(config, net, facts)?)
    };
    Ok(Verifiers { live, sandbox: for_tests })
}

/// Prepares checks of this machine if it probes real mail servers. A failure does not stop the service.
fn checkup(settings: &Settings, simulated: bool, net: Arc<dyn Net>) -> Option<Arc<dyn Checkup>> {
    let probes = !simulated && settings.serve.server.roles.asks();
    let patient = probes.then(|| DoctorInputs::over(settings, net).ok()).flatten()?;
    Some(Arc::new(patient))
}

/// Opens the network. A machine without a resolver can still serve the sandbox; its checkup says what is missing.
fn net(settings: &Settings) -> Arc<dyn Net> {
    engine::real_net(settings).unwrap_or_else(|_| Arc::new(NoNet))
}

/// Callbacks use the real network, even in the sandbox; a machine without a resolver supports only IP addresses.
fn webhooks(settings: &Settings) -> Result<WebhookConfig> {
    let names: Arc<dyn Names> = match engine::real_net(settings) {
        Ok(net) => Arc::new(ByNet(net)),
        Err(_) => Arc::new(NoNames),
    };
    let https_only = settings.serve.webhooks.https_only;
    Ok(WebhookConfig { egress: settings.engine.guard()?, names, https_only, ..WebhookConfig::default() })
}

fn config(settings: &Settings, webhooks: WebhookConfig) -> Result<ServiceConfig> {
    let serve = &settings.serve;
    let body = body_rules(serve);
    let deadline = serve.server.request_timeout.duration();
    let verification_max = deadline.saturating_sub(ANSWER).min(VERIFICATION_MAX);
    Ok(ServiceConfig {
        api: ApiConfig {
            brand: serve.server.brand.0.clone(),
            public_url: serve.server.public_url.0.clone(),
            hooks_url: serve.server.public_url.0.clone(),
            key_per_minute: serve.rate.key_per_minute.get(),
            org_per_minute: serve.rate.organization_per_minute.get(),
            verification_max,
            failures_per_minute: serve.rate.address_per_minute.get(),
            trusted_proxies: serve.server.trusted_proxies.clone(),
            widget: serve.widget,
            batch_rows_max: serve.batch.rows.get(),
            batch_body_max: serve.batch.body_max.bytes(),
            uploads: serve.uploads,
            // 20% longer than a request may take.
            idempotency_lease_ms: serve.server.request_timeout.ms() / 5 * 6,
            people: PeopleConfig { lifetimes: serve.session, ..PeopleConfig::default() },
            deliveries_keep_ms: serve.deliveries_keep_ms,
            link_life_ms: serve.invitation_ms,
            plans: serve.plans.clone(),
        },
        shell: ShellConfig { deadline, body, ..ShellConfig::default() },
        listen: ListenConfig {
            connections_max: serve.server.connections.get(),
            header_timeout: serve.server.header_timeout.duration(),
            shutdown_timeout: serve.server.shutdown_grace.duration(),
            ..ListenConfig::default()
        },
        metrics_token: serve.server.metrics_token.0.clone(),
        webhooks,
        sns_certificates: SnsCertificates::default(),
        platforms: connectors::platforms(&serve.integrations)?,
        mail: serve.mail.clone(),
        tombstones: Some(tombstones(serve)),
        jobs: JobsConfig {
            lease_ms: serve.batch.lease.ms(),
            slots: serve.batch_slots,
            keep_days: serve.batch.keep_days.get(),
        },
        facts_ms: facts_ms(settings),
        node: NodeConfig::default(),
        checkup: None,
        operator: operator(serve),
    })
}

fn body_rules(serve: &ServeSettings) -> BodyRules {
    BodyRules { limit_bytes: serve.server.body_max.bytes(), ..BodyRules::default() }
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
        roles: settings.serve.server.roles.clone(),
        sources: asked.iter().map(|source| source.public).collect(),
        joined: None,
    }
}

/// A failure to join is local or caused by the other nodes.
fn not_joined(error: JoinError) -> anyhow::Error {
    anyhow::Error::new(error).context(ExitsWith(Exit::Local))
}

fn operator(serve: &ServeSettings) -> Option<OperatorConfig> {
    let apart = !serve.admin.listen.is_empty();
    serve.admin.key.0.clone().map(|key| OperatorConfig { key, apart })
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
        assert!(checkup(&settings, true, Arc::new(NoNet)).is_none());
    }
}
