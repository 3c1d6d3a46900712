//! Calls to scripted servers on loopback, and rate limits under a virtual clock.

mod calls;
mod exchanges;
mod hostile;
mod limits;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use probity_connectors::{Catalog, Method};
use probity_engine::net::BoxFuture;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use probity_mail::limits::Gcra;
use probity_telemetry::metrics::Start;

use super::*;
use crate::{Authorities, Names, NoNames};

/// Operator's platform, with `BASE` and `RATE` to fill in.
const FILE: &str = r#"
[provider]
slug = "looped"
name = "Looped"
checked = "2026-11-22, nowhere"
docs = "https://example.org"
confidence = "low"
[[credential]]
name = "url"
label = "URL"
kind = "url"
[[credential]]
name = "key"
label = "Key"
kind = "secret"
[http]
base = "{credential.url}"
headers = { Key = "{credential.key}" }
body_max = "64KiB"
[test]
request = { get = "/me", query = { secret = "{credential.key}" } }
account = ["/name"]
[lists]
request = { get = "/lists", query = { after = "{page.token}" } }
records = "/lists"
id = "/id"
name = "/name"
page = { kind = "token", size = 2, at = "/next" }
"#;

/// Platforms with only this connector. `allow` lists the operator's own hosts.
struct Trial {
    platforms: Platforms,
    metrics: Arc<Metrics>,
    buckets: Arc<Buckets>,
}

impl Trial {
    fn new(rate: &str, allow: &[SocketAddr]) -> Self {
        let hosts = HostAllowance(allow.iter().map(ToString::to_string).collect());
        Self::with(rate, hosts, guard_of(&[], Arc::new(NoNames)), &Authorities::default())
    }

    fn with(rate: &str, hosts: HostAllowance, guard: UrlGuard, authorities: &Authorities) -> Self {
        let text = format!("{FILE}{rate}");
        let catalog = Catalog::embedded().with_texts([("looped.toml", text.as_str())]).unwrap();
        let config = PlatformConfig {
            catalog: Arc::new(catalog),
            hosts,
            authorities: authorities.clone(),
            ..PlatformConfig::default()
        };
        let clock = EngineClock::system();
        let start = Start { version: "1", at: clock.now(), providers: BTreeSet::new() };
        let metrics = Arc::new(Metrics::new(&start));
        let buckets = Arc::new(Buckets::default());
        let platforms = Platforms::new(&config, guard, buckets.clone(), metrics.clone(), clock);
        Self { platforms, metrics, buckets }
    }

    fn file(&self) -> &ConnectorFile {
        self.platforms.catalog().get("looped").unwrap()
    }

    fn account(&self) -> AccountBudget {
        self.platforms.budget(self.file(), b"account", b"key")
    }

    fn credentials(&self, url: &str) -> Credentials {
        let entered = [("url", url), ("key", "hush-hush-hush")];
        let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Credentials::new(self.file(), &BTreeMap::from(entered), self.platforms.hosts()).unwrap()
    }

    async fn get(&self, url: &str) -> Result<Response, CallFault> {
        self.platforms.send(&self.account(), &request(Method::Get, url)).await
    }

    async fn test(&self, url: &str) -> TestOutcome {
        self.platforms.test(Testing::new(self.file(), &self.credentials(url)), &self.account()).await.unwrap()
    }
}

/// Returns a guard that allows these networks and resolves names with `names`.
fn guard_of(networks: &[&str], names: Arc<dyn Names>) -> UrlGuard {
    let allow_networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    UrlGuard::new(EgressGuard::new(GuardConfig { allow_networks, ..GuardConfig::default() }), names, false)
}

/// Buckets, and pauses that were told.
#[derive(Default)]
struct Buckets {
    buckets: Mutex<BTreeMap<([u8; 16], u8), Gcra>>,
    pauses: Mutex<BTreeMap<PlatformPause, Millis>>,
}

impl PlatformBuckets for Buckets {
    fn take_tokens<'a>(&'a self, limits: &'a [PlatformLimit], now: Millis) -> BoxFuture<'a, Option<Millis>> {
        let mut buckets = self.buckets.lock().unwrap();
        let mut all = Vec::new();
        for limit in limits {
            let fresh = || Gcra::every(limit.step_us, limit.burst);
            all.push(buckets.entry((limit.account, limit.number)).or_insert_with(fresh).ready_at(1));
        }
        let refused = all.into_iter().find(|at| *at > now);
        if refused.is_none() {
            for limit in limits {
                buckets.get_mut(&(limit.account, limit.number)).unwrap().charge(now, 1);
            }
        }
        Box::pin(std::future::ready(refused))
    }

    fn pause(&self, pause: PlatformPause, until: Millis, _: Millis) -> BoxFuture<'_, ()> {
        self.pauses.lock().unwrap().insert(pause, until);
        Box::pin(std::future::ready(()))
    }

    fn paused_until(&self, pause: PlatformPause, now: Millis) -> BoxFuture<'_, Option<Millis>> {
        let until = self.pauses.lock().unwrap().get(&pause).copied().filter(|until| *until > now);
        Box::pin(std::future::ready(until))
    }
}

/// Returns a request with short limits.
fn request(method: Method, url: &str) -> Request {
    let path = url::Url::parse(url).unwrap().path().to_owned();
    let headers = vec![("Accept".to_owned(), "application/json".to_owned())];
    Request { method, url: url.to_owned(), path, headers, body: None, timeout_ms: 20_000, body_max: 64 << 10 }
}

fn fault(cause: CallCause, may_have_acted: bool) -> CallFault {
    CallFault { cause, may_have_acted, wait_ms: None }
}
