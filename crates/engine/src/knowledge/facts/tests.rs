//! A scripted store under a paused clock: its responses, when it is asked, and which facts are lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_mail::time::Millis;

use super::layered::{LayeredConfig, LayeredCounters, LayeredFacts, LearnedFact, SharedError, SharedFacts};
use crate::clock::EngineClock;
use crate::knowledge::facts::{DomainFacts, FactStore};
use crate::net::BoxFuture;

const HOST: &str = "mx.example.com";

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum StoreBehavior {
    #[default]
    Well,
    Failing,
    Hanging,
}

#[derive(Default)]
struct Script {
    mood: StoreBehavior,
    asked: u32,
    rows: BTreeMap<String, DomainFacts>,
    /// Number of facts in each write.
    writes: Vec<usize>,
}

#[derive(Default)]
struct Scripted(Mutex<Script>);

impl Scripted {
    fn feel(&self, mood: StoreBehavior) {
        self.0.lock().unwrap().mood = mood;
    }

    fn row(&self, domain: &str, facts: DomainFacts) {
        self.0.lock().unwrap().rows.insert(domain.to_owned(), facts);
    }

    fn asked(&self) -> u32 {
        self.0.lock().unwrap().asked
    }

    fn writes(&self) -> Vec<usize> {
        self.0.lock().unwrap().writes.clone()
    }
}

async fn act(mood: StoreBehavior) -> Result<(), SharedError> {
    match mood {
        StoreBehavior::Well => Ok(()),
        StoreBehavior::Failing => Err("the database is away".into()),
        StoreBehavior::Hanging => std::future::pending().await,
    }
}

impl SharedFacts for Scripted {
    fn recall<'a>(&'a self, domain: &'a str, _: &'a str) -> BoxFuture<'a, Result<DomainFacts, SharedError>> {
        let mood = {
            let mut script = self.0.lock().unwrap();
            script.asked += 1;
            script.mood
        };
        Box::pin(async move {
            act(mood).await?;
            Ok(self.0.lock().unwrap().rows.get(domain).copied().unwrap_or_default())
        })
    }

    fn remember(&self, learned: Vec<LearnedFact>) -> BoxFuture<'_, Result<(), SharedError>> {
        let mood = self.0.lock().unwrap().mood;
        Box::pin(async move {
            act(mood).await?;
            let mut script = self.0.lock().unwrap();
            script.writes.push(learned.len());
            for LearnedFact { domain, facts, .. } in learned {
                script.rows.entry(domain.into()).or_default().learn(facts);
            }
            Ok(())
        })
    }
}

fn catch_all(yes: bool) -> DomainFacts {
    DomainFacts { catch_all: Some((yes, Millis(i64::MAX))), accepted_until: None }
}

fn accepted(until: i64) -> DomainFacts {
    DomainFacts { catch_all: None, accepted_until: Some(Millis(until)) }
}

fn layered(config: LayeredConfig) -> (Arc<Scripted>, LayeredFacts) {
    let store = Arc::new(Scripted::default());
    (store.clone(), LayeredFacts::new(store, config))
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn the_store_is_asked_once_while_its_answer_is_fresh() {
    let (store, facts) = layered(LayeredConfig::default());
    store.row("example.com", catch_all(true));
    for _ in 0..3 {
        assert_eq!(facts.recall("example.com", HOST).await, catch_all(true));
    }
    // Missing facts are cached as well.
    for _ in 0..3 {
        assert_eq!(facts.recall("example.org", HOST).await, DomainFacts::default());
    }
    assert_eq!(store.asked(), 2);
    store.row("example.org", accepted(9));
    pass(59_999).await;
    assert_eq!(facts.recall("example.org", HOST).await, DomainFacts::default());
    pass(1).await;
    assert_eq!(facts.recall("example.org", HOST).await, accepted(9), "another node's fact is seen");
    assert_eq!(facts.counters(), LayeredCounters { near: 5, far: 3, ..LayeredCounters::default() });
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_costs_one_short_wait_and_is_left_alone() {
    let (store, facts) = layered(LayeredConfig::default());
    store.feel(StoreBehavior::Hanging);
    let began = EngineClock::system();
    assert_eq!(facts.recall("example.com", HOST).await, DomainFacts::default());
    assert_eq!(began.elapsed(), Duration::from_millis(250));
    for n in 0..100 {
        facts.recall(&format!("d{n}.example"), HOST).await;
    }
    assert_eq!((began.elapsed(), store.asked()), (Duration::from_millis(250), 1));
    store.feel(StoreBehavior::Well);
    store.row("example.com", catch_all(false));
    pass(1_000).await;
    assert_eq!(facts.recall("example.com", HOST).await, catch_all(false));
    assert_eq!(facts.counters().unanswered, 101);
    // Once it has responded, it is asked again at once.
    facts.recall("example.net", HOST).await;
    assert_eq!(store.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_was_known_stays_known_while_the_store_fails() {
    let (store, facts) = layered(LayeredConfig::default());
    store.row("example.com", catch_all(true));
    facts.recall("example.com", HOST).await;
    facts.remember("example.com", HOST, accepted(7)).await;
    store.feel(StoreBehavior::Failing);
    pass(120_000).await;
    let both = DomainFacts { catch_all: catch_all(true).catch_all, accepted_until: Some(Millis(7)) };
    assert_eq!(facts.recall("example.com", HOST).await, both);
    assert_eq!((facts.counters().unanswered, store.asked()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn what_was_found_out_is_known_at_once_and_written_together() {
    let (store, facts) = layered(LayeredConfig::default());
    facts.remember("example.com", HOST, catch_all(true)).await;
    // The store does not have it yet, and its own facts are older.
    store.row("example.com", catch_all(false));
    assert_eq!(facts.recall("example.com", HOST).await, catch_all(true));
    facts.remember("example.com", HOST, accepted(5)).await;
    facts.remember("example.org", HOST, accepted(6)).await;
    assert_eq!(store.writes(), []);
    pass(201).await;
    // Three facts about two domains.
    assert_eq!((store.writes(), facts.counters().written), (vec![2], 3));
    // Later, another node's change is believed.
    store.row("example.com", catch_all(false));
    pass(60_000).await;
    let changed = facts.recall("example.com", HOST).await;
    assert_eq!(changed, DomainFacts { accepted_until: Some(Millis(5)), ..catch_all(false) });
}

#[tokio::test(start_paused = true)]
async fn batches_and_the_queue_are_bounded_and_losses_are_counted() {
    let (store, facts) = layered(LayeredConfig { queue_max: 10, batch_max: 4, ..LayeredConfig::default() });
    for n in 0..25 {
        facts.remember(&format!("d{n}.example"), HOST, accepted(1)).await;
    }
    assert_eq!(facts.counters().dropped, 15);
    facts.flush(10_000).await;
    assert_eq!(store.writes(), [4, 4, 2]);
    assert_eq!(facts.counters().written, 10);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_no_writes_loses_facts_and_nothing_else() {
    let (store, facts) = layered(LayeredConfig::default());
    for mood in [StoreBehavior::Failing, StoreBehavior::Hanging] {
        store.feel(mood);
        let began = EngineClock::system();
        facts.remember("example.com", HOST, catch_all(true)).await;
        assert!(began.elapsed().is_zero(), "nobody waits for a write");
        pass(6_000).await;
    }
    assert_eq!((facts.counters().failed, facts.counters().written), (2, 0));
    store.feel(StoreBehavior::Well);
    facts.remember("example.com", HOST, catch_all(true)).await;
    facts.flush(10_000).await;
    assert_eq!((facts.counters().failed, facts.counters().written), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_flush_ends_with_its_time() {
    let (store, facts) = layered(LayeredConfig::default());
    store.feel(StoreBehavior::Hanging);
    facts.remember("example.com", HOST, catch_all(true)).await;
    let began = EngineClock::system();
    facts.flush(1_000).await;
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn the_rest_is_written_when_nobody_needs_it_any_more() {
    let (store, facts) = layered(LayeredConfig::default());
    facts.remember("example.com", HOST, catch_all(true)).await;
    drop(facts);
    pass(1_000).await;
    assert_eq!(store.writes(), [1]);
}
