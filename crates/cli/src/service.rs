//! Connects the commands to `probity-service`: starts the service, and opens its parts for commands about its data.

pub(crate) mod backup;
mod lock;
pub(crate) mod moving;
pub(crate) mod pepper;

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use probity_access::people::PeopleConfig;
use probity_backend::connections::PlatformConfig;
use probity_backend::jobs::JobsConfig;
use probity_backend::nodes;
use probity_backend::nodes::NodeConfig;
use probity_backend::nodes::egress::Checkup;
use probity_backend::nodes::instance::{Instance, OpenError};
use probity_backend::nodes::verifier::Verifier;
use probity_backend::outbound::{Authorities, ByNet, Names, NoNames};
use probity_backend::outcomes::sns::SnsCertificates;
use probity_backend::privacy::erasures;
use probity_backend::uploads::UploadsConfig;
use probity_backend::webhooks::WebhookConfig;
use probity_backend::widget::WidgetConfig;
use probity_engine::config::CacheTimes;
use probity_engine::knowledge::facts::{LayeredConfig, LayeredFacts};
use probity_engine::net::{BoxFuture, Net};
use probity_engine::{Engine, EngineConfig};
use probity_http::edge::listen::ListenConfig;
use probity_http::edge::shell::ShellConfig;
use probity_http::operator::OperatorConfig;
use probity_http::request::body::BodyRules;
use probity_http::service::{BoundSockets, Service, ServiceConfig};
use probity_mail::time::DAY_MS;
use probity_mailworld::sandbox::Sandbox;
use probity_service::app::parts::{ServiceParts, Verifiers};
use probity_service::app::{ApiConfig, VERIFICATION_MAX};
use probity_service::operator::first_start::{FirstKeys, FirstStart, UNNAMED};
use probity_service::store::{DatabasePlace, Sealing, SessionLifetimes, StoreConfig};
use secrecy::ExposeSecret as _;

use crate::admin::{self, AdminCommand};
use crate::config::serve::{Database, listening};
use crate::config::{Sections, Settings, host_name};
use crate::connectors;
use crate::doctor::DoctorInputs;
use crate::engine::{self, FileRoom, NoNet, OfflineVerifier};
use crate::exit::{self, Exit, ExitsWith, Signals};
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
    let config = config(settings, webhooks(settings)?)?;
    make_directory(&settings.data)?;
    keep_temporary_files(&settings.data);
    let held = lock::share(&settings.data)?;
    let instance = open(settings, &pepper::read(&settings.pepper)?).await?;
    // Comes first: a second start on this machine must fail before it ends the leases of the running process.
    let bound = BoundSockets::to(&settings.sections.server.listen.0)
        .await?
        .with_operator(&settings.sections.admin.listen)
        .await?;
    nodes::correct_times(&instance, &config.longest()).await.map_err(OpenError::Store).map_err(exit::local)?;
    let again = erasures::restore(&instance, &tombstones(settings)).await;
    again.map_err(|error| anyhow!(error)).context("cannot repeat completed erasures")?;
    for address in bound.operator_addresses() {
        tracing::info!(%address, "the operator API has its own listen address");
    }
    let listening = bound.addresses();
    listening::tell(&settings.data, &listening);
    let facts = Arc::new(LayeredFacts::new(Arc::new(instance.facts()), LayeredConfig::default()));
    let room = room(settings, sandbox);
    let net = net(settings);
    let verifiers = verifiers(settings, sandbox, facts.clone(), room, net.clone())?;
    let checkup = checkup(settings, sandbox, net);
    let mut interrupted = Signals::catch().map_err(|error| anyhow!("cannot handle signals: {error}"))?;
    let mut node = node(settings, sandbox);
    node.joined = Some(nodes::join(&instance, &node).await.map_err(exit::local)?);
    let first = FirstStart { instance: &instance, brand: &settings.sections.server.brand.0 };
    let first = first.make_organization(UNNAMED, settings.plans.first().clone()).await?;
    // The keys are stored nowhere else, so nothing that can fail may come between here and printing them.
    let mut config = ServiceConfig { node, checkup, ..config };
    config.listen.connections_max = room.connections;
    let service = Service::start(bound, instance, &config, verifiers);
    let ended = Box::pin(async move {
        let _held = held;
        interrupted.next().await;
        let stopping = async {
            let core = service.drain().await;
            facts.flush(FLUSH_MS).await;
            core.stop().await;
        };
        tokio::select! {
            () = stopping => Ok(()),
            () = interrupted.next() => Err(anyhow!("stopped at the second signal; credits held for calls in flight are released when their holds expire")
                .context(ExitsWith(Exit::Interrupted))),
        }
    });
    Ok(RunningService { listening, first, ended })
}

/// Migrates the database.
pub(crate) async fn migrate(settings: &Settings) -> Result<()> {
    make_directory(&settings.data)?;
    let _held = lock::share(&settings.data)?;
    open(settings, &pepper::read(&settings.pepper)?).await?.close().await;
    Ok(())
}

/// Runs one administration command on existing data. Never creates data: otherwise, a mistyped path would administer a new,
/// empty installation.
pub(crate) async fn administer(settings: &Settings, command: &AdminCommand) -> Result<Printout> {
    if let Database::Sqlite(path) = &settings.database
        && !path.is_file()
    {
        bail!("there is no database {}; `probity serve` or `probity migrate` creates it", path.display());
    }
    let pepper = pepper::existing(&settings.pepper)?;
    let _held = lock::share(&settings.data)?;
    let instance = open(settings, &pepper).await?;
    let answer = call_act(&instance, settings, command).await;
    instance.close().await;
    answer
}

/// Opens the service's parts for one command. Nothing listens, and no address is verified.
async fn call_act(instance: &Instance, settings: &Settings, command: &AdminCommand) -> Result<Printout> {
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
    config.api.public_url = settings.listening().map(|address| settings.base_url(address));
    let parts = ServiceParts::open_for_command(instance, config.parts(), &verifiers);
    let answer = admin::call_act(&parts.app, command).await;
    parts.close().await;
    answer
}

/// Wraps all data keys under the master key of another file, replacing the configured one; returns their number.
pub(crate) async fn rewrap(settings: &Settings, to: &Path) -> Result<u64> {
    let Some(from) = &settings.sections.secrets.master_key_file else {
        bail!("secrets.master_key_file is not set; to start with a master key, set it and start the service");
    };
    let (from, to) = (pepper::master_key(from)?, pepper::master_key(to)?);
    let _held = lock::share(&settings.data)?;
    let instance = open(settings, &pepper::existing(&settings.pepper)?).await?;
    let wrapped = instance.rewrap(&from, &to).await.map_err(exit::local);
    instance.close().await;
    wrapped
}

/// Opens the database of this version, after its migration.
async fn open(settings: &Settings, pepper: &[u8; 32]) -> Result<Instance> {
    let instance = Instance::open(&store(settings)?, pepper).await.map_err(exit::local)?;
    instance.prepare().await.map_err(exit::local)?;
    Ok(instance)
}

/// Creates the data directory, accessible only to the service.
fn make_directory(data: &Path) -> Result<()> {
    let place = data.display();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .with_context(|| format!("cannot create the data directory {place}"))
}

/// Moves temporary files to the data directory. The system's directory may be read-only, as in a container, or in memory, and
/// workbooks are large. The files have no names, so that none remain.
fn keep_temporary_files(data: &Path) {
    // Only the first call has an effect; a process starts one service.
    let _ = tempfile::env::override_temp_dir(data);
}

fn store(settings: &Settings) -> Result<StoreConfig> {
    let master_key = settings.sections.secrets.master_key_file.as_deref().map(pepper::master_key).transpose()?;
    let limits = &settings.sections.database;
    let place = match &settings.database {
        Database::Sqlite(path) => DatabasePlace::Sqlite(path.clone()),
        Database::Postgres(url) => DatabasePlace::Postgres(url.expose_secret().to_owned()),
    };
    Ok(StoreConfig {
        place,
        connections_max: limits.pool_max.get(),
        acquire_timeout_ms: limits.acquire_timeout.ms().unsigned_abs(),
        statement_timeout_ms: limits.statement_timeout.ms().unsigned_abs(),
        sealing: master_key.map(|key| Arc::new(key) as Arc<dyn Sealing>),
    })
}

/// Path of the erasure tombstones, outside the database.
fn tombstones(settings: &Settings) -> PathBuf {
    settings.data.join(TOMBSTONES_FILE)
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
    let probes = !simulated && settings.sections.server.roles.asks();
    let patient = probes.then(|| DoctorInputs::over(settings, net).ok()).flatten()?;
    Some(Arc::new(patient))
}

/// Opens the network. A machine without a resolver can still serve the sandbox; its checkup reports the missing resolver.
fn net(settings: &Settings) -> Arc<dyn Net> {
    engine::real_net(settings).unwrap_or_else(|_| Arc::new(NoNet))
}

/// Callbacks use the real network, even in the sandbox; a machine without a resolver supports only IP addresses.
fn webhooks(settings: &Settings) -> Result<WebhookConfig> {
    let names: Arc<dyn Names> = match engine::real_net(settings) {
        Ok(net) => Arc::new(ByNet(net)),
        Err(_) => Arc::new(NoNames),
    };
    let https_only = settings.sections.webhooks.https_only;
    Ok(WebhookConfig { egress: settings.engine.guard()?, names, https_only, ..WebhookConfig::default() })
}

/// Reads the operator's certificate authorities.
fn authorities(settings: &Settings) -> Result<Authorities> {
    let Some(path) = &settings.ca_file else { return Ok(Authorities::default()) };
    let place = format!("{} (tls.ca_file, else SSL_CERT_FILE)", path.display());
    let text = std::fs::read(path).with_context(|| format!("cannot read the certificate authorities in {place}"))?;
    Authorities::from_pem(&text).ok_or_else(|| anyhow!("{place} has no certificate of an authority in PEM format"))
}

fn config(settings: &Settings, webhooks: WebhookConfig) -> Result<ServiceConfig> {
    let Sections { server, rate, batch, widget, uploads, session, .. } = &settings.sections;
    let authorities = authorities(settings)?;
    let lifetimes = SessionLifetimes { idle_ms: session.idle.ms(), absolute_ms: session.absolute.ms() };
    let body = BodyRules { limit_bytes: server.body_max.bytes(), ..BodyRules::default() };
    let deadline = server.request_timeout.duration();
    let verification_max = deadline.saturating_sub(ANSWER).min(VERIFICATION_MAX);
    Ok(ServiceConfig {
        api: ApiConfig {
            brand: server.brand.0.clone(),
            public_url: server.public_url.0.clone(),
            hooks_url: server.public_url.0.clone(),
            key_per_minute: rate.key_per_minute.get(),
            org_per_minute: rate.organization_per_minute.get(),
            verification_max,
            failures_per_minute: rate.address_per_minute.get(),
            trusted_proxies: server.trusted_proxies.clone(),
            widget: WidgetConfig {
                visitor_per_minute: widget.visitor_per_minute.get(),
                key_per_minute: widget.key_per_minute.get(),
                daily_cap: widget.daily_cap.get(),
            },
            batch_rows_max: batch.rows.get(),
            batch_body_max: batch.body_max.bytes(),
            uploads: UploadsConfig {
                body_max: uploads.body_max.bytes(),
                at_once: uploads.at_once.get(),
                keep_days: uploads.keep_days.get(),
            },
            // 20% longer than a request may take.
            idempotency_lease_ms: server.request_timeout.ms() / 5 * 6,
            people: PeopleConfig { lifetimes, ..PeopleConfig::default() },
            deliveries_keep_ms: keep_ms(settings),
            link_life_ms: settings.sections.team.invitation.ms(),
            plans: settings.plans.clone(),
        },
        shell: ShellConfig { deadline, body, ..ShellConfig::default() },
        listen: ListenConfig {
            connections_max: server.connections.get(),
            header_timeout: server.header_timeout.duration(),
            shutdown_timeout: server.shutdown_grace.duration(),
            ..ListenConfig::default()
        },
        metrics_token: server.metrics_token.0.clone(),
        webhooks: WebhookConfig { authorities: authorities.clone(), ..webhooks },
        sns_certificates: SnsCertificates::default(),
        mail: settings.mail.clone().map(|mail| mail.trusting(&authorities)),
        platforms: PlatformConfig { authorities, ..connectors::platforms(&settings.sections.integrations)? },
        tombstones: Some(tombstones(settings)),
        jobs: JobsConfig { lease_ms: batch.lease.ms(), slots: settings.batch_slots, keep_days: batch.keep_days.get() },
        facts_ms: facts_ms(settings),
        node: NodeConfig::default(),
        checkup: None,
        operator: operator(settings),
    })
}

/// Time that deliveries are kept in the log, in milliseconds.
fn keep_ms(settings: &Settings) -> i64 {
    settings.sections.webhooks.keep_days.get() * DAY_MS
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
        roles: settings.sections.server.roles.clone(),
        sources: asked.iter().map(|source| source.public).collect(),
        joined: None,
    }
}

fn operator(settings: &Settings) -> Option<OperatorConfig> {
    let apart = !settings.sections.admin.listen.is_empty();
    settings.sections.admin.key.0.clone().map(|key| OperatorConfig { key, apart })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Overlay};

    const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../http/tests/it/api/sns/certificate.pem");

    fn settings(environment: &[(&str, &str)], set: &[String]) -> Settings {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Layers::load(&Overlay { file: None, environment, set }).unwrap().settings().unwrap()
    }

    #[test]
    fn authorities_of_ones_own_are_trusted_by_all_that_calls_others() {
        let trusted = |settings: &Settings| {
            let config = config(settings, WebhookConfig::default())?;
            let mail = format!("{:?}", config.mail.unwrap());
            let counts = [config.webhooks.authorities.iter().count(), config.platforms.authorities.iter().count()];
            anyhow::Ok((counts, mail))
        };
        let mail = [
            "mail.relay=smtp://a".to_owned(),
            "mail.from=a@example.com".to_owned(),
            "server.public_url=https://a.example".to_owned(),
        ];
        let with = |set: String| [&mail[..], &[set]].concat();
        let by_setting = settings(&[("SSL_CERT_FILE", "/does/not/exist")], &with(format!("tls.ca_file={CERTIFICATE}")));
        let by_environment = settings(&[("SSL_CERT_FILE", CERTIFICATE)], &mail);
        for settings in [by_setting, by_environment] {
            let (counts, mail) = trusted(&settings).unwrap();
            assert_eq!(counts, [1, 1]);
            assert!(mail.contains("1 authorities"), "{mail}");
        }
        assert_eq!(trusted(&settings(&[], &mail)).unwrap().0, [0, 0]);
        let none = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for (path, what) in [("/does/not/exist", "cannot read"), (none, "has no certificate of an authority")] {
            for settings in
                [settings(&[], &with(format!("tls.ca_file={path}"))), settings(&[("SSL_CERT_FILE", path)], &mail)]
            {
                let message = format!("{:#}", trusted(&settings).unwrap_err());
                assert!(message.contains(what) && message.contains(path), "{message}");
            }
        }
    }

    #[test]
    fn with_the_sandbox_this_machine_is_not_checked() {
        let set = ["server.data=/does/not/exist".to_owned()];
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &set }).unwrap().settings().unwrap();
        assert!(checkup(&settings, true, Arc::new(NoNet)).is_none());
    }
}
