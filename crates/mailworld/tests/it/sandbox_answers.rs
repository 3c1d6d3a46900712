//! What the sandbox answers: the documented outcomes, alone and in a crowd, within deadlines, and without any network for
//! addresses elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_engine::net::{BoxFuture, ConnectFailure, DialRequest, Net, Stream};
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, Engine, EngineConfig, JobAddress, LiveCall, PriorAttempts};
use probity_mail::dns::{DnsLookup, QueryKind};
use probity_mail::verdict::{EvidenceSource, Status, Verification};
use probity_mailworld::World;
use probity_mailworld::sandbox::Sandbox;
use tokio::task::JoinSet;

use crate::dialogue::now;

/// A network that must not be used.
struct Untouched;

impl Net for Untouched {
    fn lookup<'a>(&'a self, name: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup> {
        panic!("asked for {kind:?} of {name}")
    }

    fn connect(&self, dial: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        panic!("dialled {}", dial.address)
    }
}

fn sandbox() -> Sandbox {
    Sandbox::new(&EngineConfig::default()).unwrap()
}

fn without_network() -> Sandbox {
    Sandbox::over(&EngineConfig::default(), Arc::new(Untouched), Arc::new(Untouched)).unwrap()
}

const LIVE: LiveCall = LiveCall { timeout_ms: 20_000, scope: 1 };

fn said(verification: &Verification) -> (&str, &str, &str) {
    let verdict = &verification.verdict;
    (verdict.reason.as_str(), &verdict.meta, verification.evidence.source.name().unwrap_or("nothing"))
}

/// Every address of `docs/sandbox.md` whose first answer is fixed, with its reason.
const DOCUMENTED: [(&str, &str); 37] = [
    ("valid@sandbox.test", "valid"),
    ("nonexistent@sandbox.test", "nonexistent"),
    ("somebody.else@sandbox.test", "nonexistent"),
    ("deactivated@sandbox.test", "deactivated"),
    ("inbox_full@sandbox.test", "inbox_full"),
    ("failed_exchange@sandbox.test", "failed_exchange"),
    ("unverified@sandbox.test", "unverified"),
    ("info@sandbox.test", "role_based"),
    ("invalid@sandbox.test", "invalid"),
    ("illegitimate@sandbox.test", "illegitimate"),
    ("spam@sandbox.test", "spam"),
    ("complained@sandbox.test", "complained"),
    ("bounced@sandbox.test", "bounced"),
    ("blacklisted@sandbox.test", "blacklisted"),
    ("banned_words@sandbox.test", "banned_words"),
    ("disposable@sandbox.test", "disposable"),
    ("role_based@sandbox.test", "role_based"),
    ("available@sandbox.test", "available"),
    ("accept_all@sandbox.test", "accept_all"),
    ("x@nxdomain.sandbox.test", "illegitimate"),
    ("x@null-mx.sandbox.test", "illegitimate"),
    ("x@no-mail.sandbox.test", "illegitimate"),
    ("x@private.sandbox.test", "illegitimate"),
    ("x@servfail.sandbox.test", "unverified"),
    ("x@dns-timeout.sandbox.test", "unverified"),
    ("x@catchall.sandbox.test", "accept_all"),
    ("x@disposable.sandbox.test", "disposable"),
    ("x@available.sandbox.test", "available"),
    ("valid@greylist.sandbox.test", "unverified"),
    ("valid@tarpit.sandbox.test", "unverified"),
    ("valid@slow.sandbox.test", "valid"),
    ("valid@blocked.sandbox.test", "failed_exchange"),
    ("valid@dead.sandbox.test", "unverified"),
    ("valid@fallback.sandbox.test", "valid"),
    ("x@relay-denied.sandbox.test", "failed_exchange"),
    ("valid@tls-only.sandbox.test", "valid"),
    ("valid@broken-tls.sandbox.test", "valid"),
];

#[tokio::test(start_paused = true)]
async fn every_documented_address_has_its_outcome_in_a_crowd_too() {
    let sandbox = Arc::new(sandbox());
    let mut asked = JoinSet::new();
    for round in 0..40 {
        for (address, reason) in DOCUMENTED {
            let sandbox = sandbox.clone();
            asked.spawn(async move {
                let live = LiveCall { scope: round, ..LIVE };
                (address, reason, sandbox.verify(address, live).await)
            });
        }
    }
    while let Some(ended) = asked.join_next().await {
        let (address, reason, verification) = ended.unwrap();
        assert_eq!(verification.verdict.reason.as_str(), reason, "{address}: {:?}", verification.verdict);
        assert_eq!(&*verification.email, address);
    }
}

#[tokio::test(start_paused = true)]
async fn elsewhere_lists_come_first_and_then_the_hash_and_no_network_is_used() {
    let sandbox = without_network();
    for (address, expected) in [
        ("ann.lee@acme-widgets.com", ("valid", "", "sandbox")),
        // The same mailbox.
        ("Ann.LEE@Acme-Widgets.COM", ("valid", "", "sandbox")),
        ("greta.lee@acme-widgets.com", ("nonexistent", "smtp_550_5.1.1", "sandbox")),
        ("david.lee@acme-widgets.com", ("inbox_full", "smtp_552_5.2.2", "sandbox")),
        ("rosa.lee@acme-widgets.com", ("deactivated", "smtp_550_5.2.1", "sandbox")),
        ("otto.lee@acme-widgets.com", ("accept_all", "catch_all", "sandbox")),
        ("lena.lee@acme-widgets.com", ("failed_exchange", "blocked", "sandbox")),
        ("uma.lee@acme-widgets.com", ("unverified", "timeout", "sandbox")),
        ("info@acme-widgets.com", ("role_based", "role", "sandbox")),
        ("ann@mailinator.com", ("disposable", "disposable_domain", "sandbox")),
        ("ann@sandbox.test.example.com", ("valid", "", "sandbox")),
        ("ann@other.test", ("invalid", "syntax", "nothing")),
        ("ann@xsandbox.test", ("invalid", "syntax", "nothing")),
        ("no address", ("invalid", "syntax", "nothing")),
    ] {
        let verification = sandbox.verify(address, LIVE).await;
        assert_eq!(said(&verification), expected, "{address}");
        assert_eq!(&*verification.email, address);
        let passed = verification.verdict.status() == Status::Passed;
        assert_eq!(verification.verdict.findings.len(), usize::from(!passed), "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn facts_elsewhere_are_the_real_ones() {
    let sandbox = without_network();
    let slip = sandbox.verify("sdkfjhskdjf@gmial.com", LIVE).await;
    assert_eq!(slip.suggestion.as_deref(), Some("sdkfjhskdjf@gmail.com"));
    assert!(slip.flags.gibberish && slip.gibberish_score > 0.5);
    assert!(sandbox.verify("ann@gmail.com", LIVE).await.flags.free);
    assert!(sandbox.verify("ann@bob.33mail.com", LIVE).await.flags.relay);
}

#[tokio::test(start_paused = true)]
async fn delays_are_kept_each_time_and_deadlines_come_first() {
    let sandbox = sandbox();
    let timeout = ("unverified", "timeout", "sandbox");
    for (address, timeout_ms, expected, took_ms) in [
        ("spam+delay-2s@sandbox.test", 20_000, ("spam", "sandbox", "sandbox"), 2_000),
        ("spam+delay-2s@sandbox.test", 1_500, timeout, 1_500),
        ("spam+delay-2s@sandbox.test", 2_000, timeout, 2_000),
        ("Spam+DELAY-2s@Sandbox.Test", 2_001, ("spam", "sandbox", "sandbox"), 2_000),
        ("valid+delay-2s@sandbox.test", 1_500, timeout, 1_500),
        ("valid+delay-2s@sandbox.test", 20_000, ("valid", "", "smtp"), 2_000),
        // What was found out a moment ago is not known any sooner.
        ("valid+delay-2s@sandbox.test", 20_000, ("valid", "", "cache"), 2_000),
        ("valid+delay-60s@sandbox.test", 60_000, timeout, 60_000),
        ("nobody+delay-59s@sandbox.test", 60_000, ("nonexistent", "smtp_550_5.1.1", "smtp"), 59_000),
        ("x+delay-3s@catchall.sandbox.test", 20_000, ("accept_all", "catch_all", "smtp"), 3_000),
        ("spam@sandbox.test", 1, ("spam", "sandbox", "sandbox"), 0),
    ] {
        let began = now();
        let verification = sandbox.verify(address, LiveCall { timeout_ms, ..LIVE }).await;
        assert_eq!(said(&verification), expected, "{address} in {timeout_ms} ms");
        assert_eq!(began.elapsed().as_millis(), took_ms, "{address} in {timeout_ms} ms");
        assert_eq!(u128::from(verification.evidence.timings.total), took_ms, "{address}");
        assert_eq!(&*verification.email, address);
    }
}

#[tokio::test(start_paused = true)]
async fn greylisting_is_seen_by_whoever_comes_later() {
    let sandbox = sandbox();
    let reason = async || sandbox.verify("valid@greylist.sandbox.test", LIVE).await.verdict.reason.as_str();
    assert_eq!(reason().await, "unverified");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(reason().await, "valid");
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(reason().await, "unverified", "the exchanger has forgotten");
}

#[tokio::test(start_paused = true)]
async fn many_get_what_one_gets() {
    let sandbox = sandbox();
    let addresses = ["spam+delay-60s@sandbox.test", "valid@sandbox.test", "greta.lee@acme-widgets.com", "no address"];
    let items = (0..).zip(addresses).map(|(key, email)| JobAddress {
        key,
        email: email.into(),
        customer: 0,
        tries: PriorAttempts::default(),
    });
    let came = Arc::new(Mutex::new(Vec::new()));
    let sink = came.clone();
    sandbox.verify_many(items.collect(), Arc::new(move |outcomes| sink.lock().unwrap().extend(outcomes))).await;
    let mut came = std::mem::take(&mut *came.lock().unwrap());
    came.sort_by_key(|(key, _)| *key);
    let reasons: Vec<_> = came
        .iter()
        .map(|(_, outcome)| match outcome {
            AddressOutcome::Settled(verification) => verification.verdict.reason.as_str(),
            AddressOutcome::PutOff { why, .. } => why,
        })
        .collect();
    assert_eq!(reasons, ["spam", "valid", "nonexistent", "invalid"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_defers_nothing() {
    let sandbox = sandbox();
    let outcome = async |last| {
        let tries = PriorAttempts { last, ..PriorAttempts::default() };
        let item = JobAddress { key: 0, email: "valid@greylist.sandbox.test".into(), customer: 0, tries };
        let came = Arc::new(Mutex::new(Vec::new()));
        let sink = came.clone();
        sandbox.verify_many(vec![item], Arc::new(move |outcomes| sink.lock().unwrap().extend(outcomes))).await;
        came.lock().unwrap().pop().unwrap().1
    };
    let AddressOutcome::PutOff { tries, .. } = outcome(false).await else { panic!("the server asks for a retry") };
    assert!(!tries.last);
    let AddressOutcome::Settled(verification) = outcome(true).await else { panic!("nothing is deferred any more") };
    assert_eq!(verification.verdict.reason.as_str(), "unverified");
}

/// Asks about a list as a job does: again about whatever is put off, when its time has come.
async fn list_of(sandbox: &Sandbox, addresses: &[&str]) -> Vec<&'static str> {
    let mut reasons = vec![""; addresses.len()];
    let item = |key: usize, tries| JobAddress { key: key as u64, email: addresses[key].into(), customer: 0, tries };
    let mut waiting: Vec<JobAddress> = (0..addresses.len()).map(|key| item(key, PriorAttempts::default())).collect();
    while !waiting.is_empty() {
        let came = Arc::new(Mutex::new(Vec::new()));
        let sink = came.clone();
        sandbox.verify_many(waiting, Arc::new(move |outcomes| sink.lock().unwrap().extend(outcomes))).await;
        let came = std::mem::take(&mut *came.lock().unwrap());
        let mut next = sandbox.engine().now();
        waiting = Vec::new();
        for (key, outcome) in came {
            let key = usize::try_from(key).unwrap();
            match outcome {
                AddressOutcome::Settled(verification) => reasons[key] = verification.verdict.reason.as_str(),
                AddressOutcome::PutOff { not_before, tries, .. } => {
                    next = next.max(not_before);
                    waiting.push(item(key, tries));
                }
            }
        }
        sandbox.engine().wait_until(next).await;
    }
    reasons
}

/// What waiting shows: lists come back to it, and live calls have to.
const LATER: [(&str, &str); 2] = [("valid@greylist.sandbox.test", "valid"), ("valid@callout.sandbox.test", "valid")];

#[tokio::test(start_paused = true)]
async fn a_list_of_every_documented_address_takes_seconds() {
    let sandbox = sandbox();
    let mut expected: Vec<(&str, &str)> = DOCUMENTED.to_vec();
    expected.retain(|(address, _)| LATER.iter().all(|(later, _)| later != address));
    expected.extend(LATER);
    expected.extend([("x@silent.sandbox.test", "unverified"), ("valid+delay-2s@sandbox.test", "valid")]);
    let addresses: Vec<&str> = expected.iter().map(|(address, _)| *address).collect();
    // The second list finds whatever the first one has left.
    for _ in 0..2 {
        let began = now();
        let reasons = list_of(&sandbox, &addresses).await;
        let took = began.elapsed();
        for ((address, reason), came) in expected.iter().zip(reasons) {
            assert_eq!(came, *reason, "{address}");
        }
        assert!(took <= Duration::from_secs(10), "{took:?}");
    }
    // Live calls wait as long as the server says, whatever lists have found out.
    let live = async || sandbox.verify("valid@greylist.sandbox.test", LIVE).await.verdict.reason.as_str();
    assert_eq!(live().await, "unverified");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(live().await, "unverified");
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(live().await, "valid");
}

/// A live engine over a small internet in which `ann.lee` is missing and `greta.lee` is not.
fn live_engine() -> Engine {
    let world = World::builder().file(
        "[hosts.\"mx.acme-widgets.com\"]\n\
         [zones.\"acme-widgets.com\"]\n\
         mx = [\"10 mx.acme-widgets.com\"]\n\
         mailboxes = { named = { \"greta.lee\" = \"exists\" } }\n",
    );
    let net = world.unwrap().build().unwrap().net(1);
    let config = EngineConfig { profile: probity_mail::policy::PaceProfile::Open, ..EngineConfig::default() };
    Engine::new(config, net).unwrap()
}

#[tokio::test(start_paused = true)]
async fn live_and_test_use_share_no_verdict_even_of_one_customer() {
    let (live, test) = (live_engine(), sandbox());
    // What each says is the opposite of what the other says, in either order of asking, and when it comes from the cache.
    for _ in 0..2 {
        for (address, by_hash, by_server) in [
            ("ann.lee@acme-widgets.com", "valid", "nonexistent"),
            ("greta.lee@acme-widgets.com", "nonexistent", "valid"),
        ] {
            assert_eq!(test.verify(address, LIVE).await.verdict.reason.as_str(), by_hash, "{address}");
            assert_eq!(live.verify(address, LIVE).await.verdict.reason.as_str(), by_server, "{address}");
        }
        assert_eq!(test.verify("valid@sandbox.test", LIVE).await.verdict.reason.as_str(), "valid");
        assert_eq!(said(&live.verify("valid@sandbox.test", LIVE).await), ("invalid", "syntax", "nothing"));
    }
    // The caches were really asked, and each knows its own.
    assert_eq!(live.verify("ann.lee@acme-widgets.com", LIVE).await.evidence.source, EvidenceSource::Cache);
    assert_eq!(test.verify("valid@sandbox.test", LIVE).await.evidence.source, EvidenceSource::Cache);
}
