//! An engine over a simulated mail internet, as the tests need it.

use std::sync::{Arc, Mutex};

use probity_engine::net::ProbeSource;
use probity_engine::verifier::Verifier as _;
use probity_engine::{
    AddressOutcome, Engine, EngineConfig, EngineSnapshot, JobAddress, LiveCall, OutcomeSink, PriorAttempts,
};
use probity_mail::policy::PaceProfile;
use probity_mail::verdict::Verification;
use probity_mailworld::{MemoryNet, World};

/// A configuration for a world: one source with an address of its own, and every address may be dialled.
pub(crate) fn config(seed: u64) -> EngineConfig {
    let source = ProbeSource {
        bind: None,
        public: Some("198.51.100.7".parse().expect("an address")),
        helo: "probe.example.org".into(),
        proxy: None,
    };
    EngineConfig {
        sources: vec![Arc::new(source)],
        mail_from: "probe@example.org".into(),
        networks_allowed: vec!["0.0.0.0/0".into(), "::/0".into()],
        seed: Some(seed),
        sessions_max: 1_000,
        ..EngineConfig::default()
    }
}

/// An engine in a world, polite unless changed.
pub(crate) struct Lab {
    pub(crate) engine: Engine,
    pub(crate) net: Arc<MemoryNet>,
}

impl Lab {
    pub(crate) fn new(world: &Arc<World>, seed: u64, change: impl FnOnce(&mut EngineConfig)) -> Self {
        let net = world.net(seed);
        let mut config = config(seed);
        change(&mut config);
        let engine = Engine::new(config, net.clone()).expect("a sound configuration");
        Self { engine, net }
    }

    pub(crate) fn polite(world: &Arc<World>) -> Self {
        Self::new(world, 1, |_| {})
    }

    pub(crate) fn open(world: &Arc<World>) -> Self {
        Self::new(world, 1, |config| config.profile = PaceProfile::Open)
    }

    pub(crate) fn snapshot(&self) -> EngineSnapshot {
        self.engine.snapshot().expect("an engine that probes")
    }

    pub(crate) async fn live(&self, email: &str) -> Verification {
        self.engine.verify(email, LiveCall { timeout_ms: 20_000, scope: 0 }).await
    }

    /// The outcomes of one call, by key.
    pub(crate) async fn once(&self, items: Vec<JobAddress>) -> Vec<(u64, AddressOutcome)> {
        let outcomes = Arc::new(Mutex::new(Vec::new()));
        let sink: OutcomeSink = {
            let outcomes = outcomes.clone();
            Arc::new(move |group| outcomes.lock().expect("no panic").extend(group))
        };
        self.engine.verify_many(items, sink).await;
        let mut outcomes = std::mem::take(&mut *outcomes.lock().expect("no panic"));
        outcomes.sort_by_key(|(key, _)| *key);
        outcomes
    }

    /// Verdicts about all, coming back to what was put off for as long as it takes.
    pub(crate) async fn batch(&self, emails: &[String]) -> Vec<Verification> {
        let mut done: Vec<Option<Verification>> = vec![None; emails.len()];
        let item =
            |key: usize, tries| JobAddress { key: key as u64, email: emails[key].as_str().into(), customer: 0, tries };
        let mut waiting: Vec<JobAddress> = (0..emails.len()).map(|key| item(key, PriorAttempts::default())).collect();
        for _ in 0..200 {
            let mut next = Vec::new();
            let mut soonest = None;
            for (key, outcome) in self.once(std::mem::take(&mut waiting)).await {
                let key = usize::try_from(key).expect("a key");
                match outcome {
                    AddressOutcome::Settled(verification) => {
                        assert!(done[key].replace(verification).is_none(), "two verdicts about one address");
                    }
                    AddressOutcome::PutOff { not_before, tries, .. } => {
                        soonest = Some(soonest.map_or(not_before, |at: probity_mail::time::Millis| at.max(not_before)));
                        next.push(item(key, tries));
                    }
                }
            }
            let Some(at) = soonest else { break };
            self.engine.wait_until(at).await;
            waiting = next;
        }
        done.into_iter().map(|verdict| verdict.expect("every address has its verdict")).collect()
    }
}

/// A live call of a customer who has asked nothing before: no verdict is remembered.
pub(crate) fn fresh_call() -> LiveCall {
    static SCOPES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1_000);
    let scope = SCOPES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    LiveCall { timeout_ms: 20_000, scope }
}

/// `status/reason/meta`.
pub(crate) fn brief(verification: &Verification) -> String {
    let verdict = &verification.verdict;
    format!("{}/{}/{}", verdict.status(), verdict.reason, verdict.meta)
}
