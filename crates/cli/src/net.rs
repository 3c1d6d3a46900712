//! The configured network and engine.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use probity_engine::net::Net;
use probity_engine::net::real::{RealNet, RealNetConfig};
use probity_engine::{Engine, EngineConfig, descriptors};

use crate::config::Settings;

/// Opens the real network with the configured resolvers.
pub(crate) fn real(settings: &Settings) -> Result<Arc<dyn Net>> {
    over(settings, settings.nameservers.clone())
}

/// Opens the real network with these resolvers.
pub(crate) fn over(settings: &Settings, name_servers: Vec<SocketAddr>) -> Result<Arc<dyn Net>> {
    let mut config = RealNetConfig::new(Arc::new(settings.engine.guard()?));
    config.name_servers = name_servers;
    config.timeout_ms = u64::try_from(settings.dns_timeout_ms).unwrap_or(config.timeout_ms);
    config.attempts = settings.dns_attempts;
    let net = RealNet::new(config).context("no resolver is known: set dns.nameservers, or fill /etc/resolv.conf")?;
    Ok(Arc::new(net))
}

/// Creates the engine, with as many sessions as this process may open.
pub(crate) fn engine(settings: &Settings, net: Arc<dyn Net>) -> Result<Engine> {
    let fitting = descriptors::sessions_max(descriptors::descriptor_limit());
    let sessions_max = settings.engine.sessions_max.min(fitting);
    Ok(Engine::new(EngineConfig { sessions_max, ..settings.engine.clone() }, net)?)
}

/// No network: every look-up and every connection fails.
pub(crate) struct NoNet;

impl Net for NoNet {
    fn lookup<'a>(
        &'a self,
        _: &'a str,
        _: probity_mail::dns::Kind,
    ) -> probity_engine::net::BoxFuture<'a, probity_mail::dns::Lookup> {
        use probity_mail::dns::{Answer, DnsFailure, Lookup};
        Box::pin(async { Lookup { answer: Answer::Failed(DnsFailure::Refused), ttl_ms: 0 } })
    }

    fn connect(
        &self,
        _: probity_engine::net::Dial,
    ) -> probity_engine::net::BoxFuture<
        '_,
        Result<Box<dyn probity_engine::net::Stream>, probity_engine::net::ConnectFailure>,
    > {
        Box::pin(async { Err(probity_engine::net::ConnectFailure::Unreachable) })
    }
}
