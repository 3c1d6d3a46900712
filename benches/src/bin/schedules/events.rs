//! Webhooks a second: a flood of one connection, events of many, and forgeries.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::try_join_all;
use probity_benches::client::{Connection, get};
use probity_benches::place::PlaceArguments;
use probity_benches::process::float;
use probity_espworld::{EspNotice, EspState};
use serde_json::json;

use super::service::{PUBLIC_URL, Service, worlds};

/// Connections that have a webhook each.
const CONNECTIONS: usize = 100;
/// Clients that send one call after another.
const CLIENTS: usize = 32;

pub(super) async fn measure(place: &PlaceArguments, seconds: u64) -> anyhow::Result<()> {
    let worlds = worlds(1, 20).await?;
    let world = &worlds[0];
    let mut service = Service::start(place, &worlds, &[]).await?;
    let key = service.organization(1).await?;
    for _ in 0..CONNECTIONS {
        service.connect(&key, world, &json!({ "instafloss": true })).await?;
    }
    let registered = "SELECT COUNT(*) FROM connection_hook WHERE registered_at IS NOT NULL";
    service.until(registered, &CONNECTIONS.to_string(), Duration::from_mins(2)).await?;
    let number = world.account(|account| account.add("new@sandbox.test", EspState::Subscribed, &[1]));
    let notices = world.notices(number);
    ensure!(notices.len() == CONNECTIONS, "{} webhooks", notices.len());
    let requests: Vec<_> = notices.iter().map(request).collect();
    let forged: Vec<_> = notices.iter().map(|notice| request(&forged(notice))).collect();

    let address = service.program.address;
    let span = Duration::from_secs(seconds);
    let ceiling = rate(address, &[get("/healthz", None)], span, 200).await?;
    println!("webhooks: calls that do nothing   {:.0} a second", ceiling.a_second());
    let mut counted = service.metric("probity_platform_events_total", "outcome=\"").await?;
    let kinds = [
        ("one connection", &requests[..1], 200),
        ("100 connections", &requests[..], 200),
        ("forged", &forged[..], 404),
    ];
    for (what, requests, status) in kinds {
        let written = service.metric("probity_platform_events_total", "accepted").await?;
        let sent = rate(address, requests, span, status).await?;
        let all = service.metric("probity_platform_events_total", "outcome=\"").await?;
        ensure!(all - counted == sent.calls, "{what}: {} calls, {} counted", sent.calls, all - counted);
        counted = all;
        let written = service.metric("probity_platform_events_total", "accepted").await? - written;
        let (per_second, share) = (sent.a_second(), sent.a_second() / ceiling.a_second() * 100.0);
        println!(
            "webhooks: {what:<23} {per_second:.0} a second, {share:.0} % of the ceiling, longest {:.0} ms, {written} written",
            sent.longest.as_secs_f64() * 1_000.0
        );
    }
    service.program.stop().await
}

/// What clients have done.
struct Sent {
    calls: u64,
    took: Duration,
    longest: Duration,
}

impl Sent {
    fn a_second(&self) -> f64 {
        float(self.calls) / self.took.as_secs_f64()
    }
}

/// Sends requests in turn for a while. Every one must get the status.
async fn rate(to: SocketAddr, requests: &[Vec<u8>], span: Duration, status: u16) -> anyhow::Result<Sent> {
    let began = Instant::now();
    let client = async |first: usize| {
        let mut connection = Connection::open(to).await?;
        let (mut calls, mut longest) = (0, Duration::ZERO);
        while began.elapsed() < span {
            let asked = Instant::now();
            let (got, body) = connection.ask(&requests[(first + calls) % requests.len()]).await?;
            ensure!(got == status, "{got} {}", String::from_utf8_lossy(body));
            longest = longest.max(asked.elapsed());
            calls += 1;
        }
        Ok::<_, anyhow::Error>((calls, longest))
    };
    let all = try_join_all((0..CLIENTS).map(client)).await?;
    let calls = all.iter().map(|(calls, _)| *calls as u64).sum();
    let longest = all.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
    Ok(Sent { calls, took: began.elapsed(), longest })
}

/// Returns the call that a platform would make.
pub(super) fn request(notice: &EspNotice) -> Vec<u8> {
    let path = notice.url.strip_prefix(PUBLIC_URL).unwrap_or(&notice.url);
    let headers: Vec<_> = notice.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n", notice.body.len());
    [head.as_bytes(), &notice.body].concat()
}

/// Returns a call with a body that its signature does not prove.
fn forged(notice: &EspNotice) -> EspNotice {
    let mut forged = notice.clone();
    forged.body.push(b' ');
    forged
}
