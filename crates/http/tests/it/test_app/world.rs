//! Mail servers for live keys: one domain for each outcome of a verification, and one with limits.

mod tight;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use probity_backend::nodes::verifier::Verifier;
use probity_engine::net::{BoxFuture, ProbeSource};
use probity_engine::{
    DestinationCapacity, Engine, EngineConfig, EngineCounters, ForgetRequest, JobAddress, LiveCall, OutcomeSink,
    ProbingLimits,
};
use probity_mail::policy::PaceProfile;
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use probity_mailworld::{At, MailboxState, Mailboxes, MemoryNet, Personality, Tls, World, Zone};
use tokio::sync::Semaphore;

pub(crate) use tight::{BURST, Tight};

/// Engine on a small simulated internet. At any domain, the local parts `panics` and `waits` cause trouble.
pub(crate) struct Rigged {
    engine: Engine,
    /// Network, which records what the mail servers received.
    pub(crate) net: Arc<MemoryNet>,
    /// Each permit admits one call for `waits`.
    pub(crate) gate: Semaphore,
    /// Domain that accepts few addresses at a time.
    pub(crate) tight: Tight,
    /// Timeout of each call, in milliseconds.
    pub(crate) timeouts: Mutex<Vec<u64>>,
    /// Number of completed calls.
    pub(crate) answered: AtomicU32,
    /// Number of chunks that failed completely.
    pub(crate) failures: AtomicU32,
}

impl Rigged {
    /// Creates an engine on a shared network, or on a new one. Mail servers see `seen_as` as its source IP.
    pub(super) fn new(net: Option<Arc<MemoryNet>>, seen_as: Option<IpAddr>) -> Self {
        let net = net.unwrap_or_else(|| world().net(1));
        let mut config = EngineConfig {
            profile: PaceProfile::Open,
            networks_allowed: vec!["0.0.0.0/0".into()],
            seed: Some(1),
            ..EngineConfig::default()
        };
        config.sources = vec![Arc::new(ProbeSource { public: seen_as, ..(*config.sources[0]).clone() })];
        let engine = Engine::new(config, net.clone()).expect("a sound configuration");
        Self {
            engine,
            net,
            gate: Semaphore::new(0),
            tight: Tight::default(),
            timeouts: Mutex::default(),
            answered: AtomicU32::new(0),
            failures: AtomicU32::new(0),
        }
    }
}

impl Rigged {
    /// Waits until this number of calls has started.
    pub(crate) async fn asked(&self, calls: usize) {
        while self.timeouts.lock().unwrap().len() < calls {
            super::real_moment().await;
        }
    }
}

fn world() -> Arc<World> {
    let plain = || Personality { tls: Tls::None, ..Personality::default() };
    let preset = |name| Personality { tls: Tls::None, ..Personality::preset(name).expect("a preset") };
    let people = Mailboxes::percent_of("user", 100)
        .with("ann", MailboxState::Exists)
        .with("info", MailboxState::Exists)
        .with("full", MailboxState::Full)
        .with("closed", MailboxState::Disabled);
    World::builder()
        .site("honest-mail.com", people, plain())
        .site("xn--bcher-kva.com", Mailboxes::only(&["ann"]), plain())
        // Mistyped by some users.
        .site("icloud.com", Mailboxes::percent_of("user", 100).with("ann", MailboxState::Exists), plain())
        .site("takes-all.com", Mailboxes::default(), preset("catch_all"))
        .site("blocks-us.com", Mailboxes::only(&["ann"]), plain().refusing(At::Rcpt, "blocked"))
        .site("greylists.com", Mailboxes::only(&["ann"]), preset("greylister"))
        .site("stays-silent.com", Mailboxes::only(&["ann"]), preset("silent"))
        .zone("null-mx.com", Zone::null_mx())
        .build()
        .expect("a world")
}

impl Verifier for Rigged {
    fn verify<'a>(&'a self, email: &'a str, live: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(async move {
            self.timeouts.lock().unwrap().push(live.timeout_ms);
            assert!(!email.starts_with("panics"), "on behalf of {email}");
            if email.starts_with("waits") {
                self.gate.acquire().await.expect("the gate stays").forget();
            }
            let verification = self.engine.verify(email, live).await;
            self.answered.fetch_add(1, Ordering::Relaxed);
            verification
        })
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        let (tight, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| tight::is_there(&item.email));
        let (waiting, at_once): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.email.starts_with("waits"));
        Box::pin(async move {
            if at_once.iter().any(|item| item.email.starts_with("panics")) {
                self.failures.fetch_add(1, Ordering::Relaxed);
                panic!("on behalf of a chunk");
            }
            self.tight.ask(tight, &self.engine, &sink);
            self.engine.verify_many(at_once, sink.clone()).await;
            for item in waiting {
                self.gate.acquire().await.expect("the gate stays").forget();
                self.engine.verify_many(vec![item], sink.clone()).await;
            }
        })
    }

    fn room(&self, destination: &str, source: Option<&str>) -> DestinationCapacity {
        self.tight.room(destination, self.now()).unwrap_or_else(|| self.engine.room(destination, source))
    }

    fn forget(&self, scope: u64, which: &ForgetRequest) {
        self.engine.forget(scope, which);
    }

    fn manners(&self, exchanger: &str) -> Option<ProbingLimits> {
        Verifier::manners(&self.engine, exchanger)
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        self.engine.source_names()
    }

    fn now(&self) -> Millis {
        self.engine.now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.engine.wait_until(at))
    }

    fn counters(&self) -> EngineCounters {
        self.engine.counters()
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.engine.close(timeout_ms))
    }
}
