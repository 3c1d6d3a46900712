//! The configured engine and its network, and an engine without one.

mod offline;
mod open_files;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
pub(crate) use offline::OfflineVerifier;
pub(crate) use open_files::FileRoom;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::net::{BoxFuture, ConnectFailure, DialRequest, Net, Stream, descriptors};
use probity_engine::{Engine, EngineConfig};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, QueryKind};

use crate::config::Settings;

/// Limits on what a command may contact.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ReachArgs {
    /// Use only syntax and built-in lists, without a network
    #[arg(long, conflicts_with = "sandbox")]
    pub offline: bool,
    /// Use the sandbox, a simulated mail internet
    #[arg(long)]
    pub sandbox: bool,
}

/// Opens the real network with the configured resolvers.
pub(crate) fn real_net(settings: &Settings) -> Result<Arc<dyn Net>> {
    net_over(settings, settings.sections.dns.nameservers.iter().map(|server| server.0).collect())
}

/// Opens the real network with these resolvers.
pub(crate) fn net_over(settings: &Settings, name_servers: Vec<SocketAddr>) -> Result<Arc<dyn Net>> {
    let mut config = RealNetConfig::new(Arc::new(settings.engine.guard()?));
    config.name_servers = name_servers;
    config.timeout_ms = settings.sections.dns.timeout.ms().unsigned_abs();
    config.attempts = settings.sections.dns.attempts.get();
    let net = RealNet::new(config).context("no resolver is known: set dns.nameservers, or fill /etc/resolv.conf")?;
    Ok(Arc::new(net))
}

/// Creates the engine, with as many sessions as this process may open.
pub(crate) fn with_net(settings: &Settings, net: Arc<dyn Net>) -> Result<Engine> {
    let fitting = descriptors::sessions_max(descriptors::descriptor_limit());
    let sessions_max = settings.engine.sessions_max.min(fitting);
    Ok(Engine::new(EngineConfig { sessions_max, ..settings.engine.clone() }, net)?)
}

/// No network: every look-up and every connection fails.
pub(crate) struct NoNet;

impl Net for NoNet {
    fn lookup<'a>(&'a self, _: &'a str, _: QueryKind) -> BoxFuture<'a, DnsLookup> {
        // Not a refusal, because a resolver of private names responds like that.
        Box::pin(async { DnsLookup { answer: DnsAnswer::Failed(DnsFailure::TimedOut), ttl_ms: 0 } })
    }

    fn connect(&self, _: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        Box::pin(async { Err(ConnectFailure::Unreachable) })
    }
}
