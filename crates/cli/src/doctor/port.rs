//! Check: is port 25 open for outgoing connections, from each source?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use probity_backend::nodes::asking::Essential;
use probity_engine::net::{ConnectFailure, DialRequest, ProbeSource};
use probity_mail::dns::MailRoute;
use tokio::io::AsyncReadExt;

use super::{Check, DoctorInputs};

/// MX hosts tried per domain.
const HOSTS_MAX: usize = 2;
/// Time after which the next domain is tried as well, so that a closed port is found within seconds.
const HEAD_START: Duration = Duration::from_secs(1);
/// Maximum bytes read of a banner.
const BANNER_BYTES: usize = 512;
/// Advice for a closed port.
pub(super) const ADVICE: &str = "ask your hosting provider to open this port for outgoing connections, or send probes \
                                 through a SOCKS5 proxy elsewhere (`proxy` in a [[source]]); without either, no mailbox can \
                                 be verified";
/// Text between a host's name and the banner with which it refused.
const REFUSED: &str = " refused us with ";

pub(super) async fn checks(patient: &DoctorInputs) -> Vec<Check> {
    let sources = &patient.settings.engine.sources;
    futures_util::future::join_all(sources.iter().map(|source| check(patient, source))).await
}

async fn check(patient: &DoctorInputs, source: &Arc<ProbeSource>) -> Check {
    let port = patient.settings.engine.port;
    let name = format!("port {port} outbound{}", super::identity::of(source));
    let domains = &patient.settings.sections.doctor.probe_domains;
    if domains.is_empty() {
        let advice = "set doctor.probe_domains to domains that receive mail";
        return Check::warn(name, "not checked: doctor.probe_domains is empty", advice);
    }
    let mut attempts: FuturesUnordered<_> =
        (0..).zip(domains).map(|(place, domain)| connected(patient, source, domain, HEAD_START * place)).collect();
    let mut tried: Vec<String> = Vec::new();
    while let Some(connected) = attempts.next().await {
        match connected {
            Ok(host) => return Check::ok(name, format!("open: {host} responds")).about(Essential::Port),
            Err(failures) => tried.extend(failures),
        }
    }
    if tried.is_empty() {
        let advice = "correct what the resolver check found, or set doctor.probe_domains to domains that receive mail";
        return Check::fail(name, "no mail server was found to connect to", advice).about(Essential::Resolver);
    }
    // A reply proves that the port is open.
    if tried.iter().any(|how| how.contains(REFUSED)) {
        let advice = "see what the replies and the block list checks say about your address";
        return Check::warn(name, format!("open, but refused: {}", tried.join("; ")), advice).about(Essential::Port);
    }
    let config = super::line("[[source]]", "proxy", "\"socks5://user:password@192.0.2.1:1080\"");
    Check::fail(name, format!("closed: {}", tried.join("; ")), ADVICE).about(Essential::Port).with_config(config)
}

/// Returns the name of an MX host of a domain that sends a banner, or the failure of each.
async fn connected(
    patient: &DoctorInputs,
    source: &Arc<ProbeSource>,
    domain: &str,
    after: Duration,
) -> Result<String, Vec<String>> {
    tokio::time::sleep(after).await;
    let mut tried = Vec::new();
    let MailRoute::Exchangers(hosts) = patient.route(domain).await else { return Err(tried) };
    for host in hosts.iter().take(HOSTS_MAX).map(|mx| &mx.host) {
        match greeted(patient, source, host).await {
            Ok(banner) if banner.starts_with("220") => return Ok(host.to_string()),
            Ok(banner) if banner.starts_with(['4', '5']) => {
                tried.push(format!("{host}{REFUSED}{:?}", banner.trim_end()));
            }
            Ok(banner) => tried.push(format!("{host} sent {:?}", banner.trim_end())),
            Err(how) => tried.push(format!("{host}: {how}")),
        }
    }
    Err(tried)
}

/// Reads the banner of an MX host.
async fn greeted(patient: &DoctorInputs, source: &Arc<ProbeSource>, host: &str) -> Result<String, String> {
    let addresses = patient.addresses(host).await.unwrap_or_default();
    let matching = |ip: &&IpAddr| source.bind.is_none_or(|bind| bind.is_ipv4() == ip.is_ipv4());
    let Some(address) = addresses.iter().find(matching) else {
        return Err(without_address(&addresses).to_owned());
    };
    let engine = &patient.settings.engine;
    let connect_ms = u64::try_from(engine.live.connect_ms).unwrap_or(0);
    let dial = DialRequest { address: *address, port: engine.port, source: source.clone(), timeout_ms: connect_ms };
    let mut stream = patient.net.connect(dial).await.map_err(|failure| failed_connection(failure).to_owned())?;
    let mut banner = vec![0; BANNER_BYTES];
    let wait = Duration::from_millis(u64::try_from(engine.live.banner_ms).unwrap_or(0));
    match tokio::time::timeout(wait, stream.read(&mut banner)).await {
        Ok(Ok(0)) => Err("closed the connection without a greeting".into()),
        Ok(Ok(read)) => Ok(String::from_utf8_lossy(&banner[..read]).lines().next().unwrap_or("").to_owned()),
        Ok(Err(error)) => Err(format!("{}", error.kind())),
        Err(_) => Err("connected, but sent no greeting".into()),
    }
}

/// Formats the reason why no address of a host can be used.
fn without_address(addresses: &[IpAddr]) -> &'static str {
    if addresses.is_empty() {
        return "its name resolves to no address, or the lookup failed";
    }
    "no address in the IP version of this source"
}

/// Formats the reason why a connection failed.
fn failed_connection(failure: ConnectFailure) -> &'static str {
    match failure {
        ConnectFailure::Refused => "connection refused",
        ConnectFailure::TimedOut => "no connection in time",
        ConnectFailure::Unreachable => "no route",
        ConnectFailure::Guarded => "its address is private or otherwise special",
        ConnectFailure::Proxy => "the proxy failed or refused",
        ConnectFailure::Local => "this machine has no free file descriptor or port, or lacks the source address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_any_address_is_not_blamed_on_the_source() {
        assert_eq!(without_address(&[]), "its name resolves to no address, or the lookup failed");
        assert!(without_address(&[IpAddr::from([0_u16; 8])]).contains("IP version of this source"));
    }
}
