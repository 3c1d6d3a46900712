//! Jobs and credits against a model: for any order of acts by clients, importers and workers, any of which may die, the store
//! agrees with a small model in memory, and the audit finds nothing.
//!
//! Each run tests the same few stories; `PROBITY_MODEL_CASES=1000 cargo test -p probity-store --test it model` tests that many
//! others on each database, different ones each time. A failing story is shortened as long as it still fails, and the shortest is
//! printed as a list of [`Op`]s.

mod acts;
mod ops;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;

use probity_store::credits::audit;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use tokio::runtime::Handle;

use crate::databases::{Database, postgres, sqlite};
use ops::{Op, story};
use world::World;

/// Stories per database, unless the environment sets another number.
const CASES: u32 = 12;
/// Stories per database before a new one is created, which bounds the audit's work.
const STORIES_OF_A_DATABASE: u32 = 64;
/// Maximum time for shortening a failing story, in milliseconds.
const SHRINK_MS: u32 = 120_000;
/// Events that many stories must have covered: stories without events would agree as well.
const MET: [&str; 11] = [
    "Completed",
    "Cancelled",
    "ForceStopped",
    "part",
    "stay",
    "stay beside what is put off",
    "lost part",
    "lost import",
    "call",
    "call without credits",
    "purged",
];

/// Runs random stories.
fn agrees<F: Future<Output = Database>>(open: impl Fn() -> F) {
    let more = std::env::var("PROBITY_MODEL_CASES").ok().map(|cases| cases.parse().unwrap());
    let met = RefCell::new(BTreeMap::<String, u32>::new());
    let kept = RefCell::new(None);
    let played = Cell::new(0_u32);
    let play = |ops: Vec<Op>| {
        let told = async {
            // Missing while a story runs, because a failing one leaves an unusable database.
            let taken: Option<Database> = kept.borrow_mut().take();
            let n = played.replace(played.get() + 1);
            let fresh = n.is_multiple_of(STORIES_OF_A_DATABASE);
            let database = match taken {
                Some(database) if !fresh => database,
                _ => open().await,
            };
            let seen = one(&database, i64::from(n), ops).await;
            for (what, times) in seen {
                *met.borrow_mut().entry(what).or_default() += times;
            }
            kept.replace(Some(database));
        };
        tokio::task::block_in_place(|| Handle::current().block_on(told));
        Ok(())
    };
    let config = Config {
        cases: more.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 100_000,
        max_shrink_time: SHRINK_MS,
        ..Config::default()
    };
    let mut runner = match more {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    runner.run(&story(), play).unwrap_or_else(|failed| panic!("{}", told(failed)));
    let met = met.into_inner();
    eprintln!("{met:?}");
    for what in MET {
        assert!(more.is_some() || met.contains_key(what), "{what} does not occur: {met:?}");
    }
}

/// Formats a failure with its story, one step per line.
fn told(failed: TestError<Vec<Op>>) -> String {
    match failed {
        TestError::Abort(why) => why.to_string(),
        TestError::Fail(why, ops) => {
            let steps: Vec<String> = ops.iter().map(|op| format!("{op:?}")).collect();
            format!("{why}\n\nthe shortest story that fails:\n{}", steps.join("\n"))
        }
    }
}

/// Runs a story to its end; returns the events that it covered.
async fn one(database: &Database, n: i64, ops: Vec<Op>) -> BTreeMap<String, u32> {
    let store = &database.store;
    let mut world = World::new(store, n).await;
    for op in ops {
        world.play(op).await;
    }
    assert_eq!(audit::everything(store).await.unwrap(), []);
    world.finish().await;
    assert_eq!(audit::everything(store).await.unwrap(), []);
    world.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sqlite_does_what_the_model_does() {
    agrees(sqlite);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn postgresql_does_what_the_model_does() {
    if probity_trialdb::postgres().is_some() {
        agrees(async || postgres().await.unwrap());
    }
}
