//! Check: is port 25 open for outgoing connections, from each source?

use std::sync::Arc;
use std::time::Duration;

use probity_engine::net::{Dial, Source};
use probity_mail::dns::MailRoute;
use tokio::io::AsyncReadExt;

use super::{Check, Patient};

/// MX hosts tried per domain.
const HOSTS_MAX: usize = 2;
/// Maximum bytes read of a banner.
const BANNER_BYTES: usize = 512;

pub(super) async fn checks(patient: &Patient) -> Vec<Check> {
    let mut checks = Vec::new();
    for source in &patient.settings.engine.sources {
        checks.push(check(patient, source).await);
    }
    checks
}

async fn check(patient: &Patient, source: &Arc<Source>) -> Check {
    let port = patient.settings.engine.port;
    let name = format!("port {port} outbound{}", super::identity::of(source));
    let mut tried = Vec::new();
    for domain in &patient.settings.probe_domains {
        let MailRoute::Exchangers(hosts) = patient.route(domain).await else { continue };
        for host in hosts.iter().take(HOSTS_MAX).map(|mx| &mx.host) {
            match greeted(patient, source, host).await {
                Ok(banner) if banner.starts_with("220") => {
                    return Check::ok(name, format!("open: {host} responds"));
                }
                Ok(banner) => tried.push(format!("{host} sent {:?}", banner.trim_end())),
                Err(how) => tried.push(format!("{host}: {how}")),
            }
        }
    }
    let (found, advice) = if tried.is_empty() {
        (
            "no MX host was found to connect to".to_owned(),
            "check the resolver, or set other domains in doctor.probe_domains",
        )
    } else {
        (
            format!("closed: {}", tried.join("; ")),
            "ask your provider to open this port; without it, no mailbox can be verified. A SOCKS5 proxy elsewhere ([[source]] proxy) also works",
        )
    };
    Check::fail(name, found, advice)
}

/// Reads the banner of an MX host.
async fn greeted(patient: &Patient, source: &Arc<Source>, host: &str) -> Result<String, String> {
    let addresses = patient.addresses(host).await.unwrap_or_default();
    let matching = |ip: &&std::net::IpAddr| source.bind.is_none_or(|bind| bind.is_ipv4() == ip.is_ipv4());
    let Some(address) = addresses.iter().find(matching) else { return Err("no address of the right family".into()) };
    let engine = &patient.settings.engine;
    let connect_ms = u64::try_from(engine.live.connect_ms).unwrap_or(0);
    let dial = Dial { address: *address, port: engine.port, source: source.clone(), timeout_ms: connect_ms };
    let mut stream = patient.net.connect(dial).await.map_err(|failure| format!("{failure:?}"))?;
    let mut banner = vec![0; BANNER_BYTES];
    let wait = Duration::from_millis(u64::try_from(engine.live.banner_ms).unwrap_or(0));
    match tokio::time::timeout(wait, stream.read(&mut banner)).await {
        Ok(Ok(0)) => Err("closed the connection at once".into()),
        Ok(Ok(read)) => Ok(String::from_utf8_lossy(&banner[..read]).lines().next().unwrap_or("").to_owned()),
        Ok(Err(error)) => Err(format!("{}", error.kind())),
        Err(_) => Err("connected, but sent no banner".into()),
    }
}
