//! Readiness: whether this node can do its work now.
//!
//! Named checks run side by side, each with a second to answer, and what they said counts for a second: however often
//! somebody asks, the database is asked once, and all who ask in the meantime wait for the same answer. A node that is shutting
//! down is not ready from the first moment on, so that a load balancer sends it nothing more while it finishes what it has.
//! Why a check fails goes to the log when it begins to fail, and that it has recovered, too; the answer only names the check.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use probity_engine::clock::Clock;
use probity_store::{SchemaState, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::error::Detail;

/// How long a check may take.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// How long its outcome counts.
const FRESH: Duration = Duration::from_secs(1);
/// What is reported of a node that is shutting down.
const SHUTDOWN: &str = "shutdown";

type Run = Box<dyn Fn() -> BoxFuture<'static, Result<(), Detail>> + Send + Sync>;

struct Check {
    name: &'static str,
    run: Run,
    /// Whether it need not be run again once it has passed.
    once: bool,
    passed: AtomicBool,
    /// Whether its failure stands in the log already.
    told: AtomicBool,
}

/// What the checks said, and when by the clock.
struct Outcome {
    failed: Vec<&'static str>,
    at: Duration,
}

/// The checks of a node.
pub struct Readiness {
    clock: Clock,
    closing: CancellationToken,
    checks: Vec<Check>,
    last: Mutex<Option<Outcome>>,
}

impl Readiness {
    /// No checks yet. `closing` is cancelled when the node begins to shut down.
    pub fn new(clock: Clock, closing: CancellationToken) -> Self {
        Self { clock, closing, checks: Vec::new(), last: Mutex::new(None) }
    }

    /// The checks of a node on `store`: the database answers and takes writes, and its tables are those of this program.
    pub fn of_store(clock: Clock, closing: CancellationToken, store: Store) -> Self {
        let (schema, written) = (store.clone(), store.clone());
        let ping = move || -> BoxFuture<'static, Result<(), Detail>> {
            let store = store.clone();
            Box::pin(async move { Ok(store.ping().await?) })
        };
        let current = move || -> BoxFuture<'static, Result<(), Detail>> {
            let store = schema.clone();
            Box::pin(async move {
                match store.schema_state().await? {
                    SchemaState::Current => Ok(()),
                    SchemaState::Behind(missing) => Err(format!("{missing} migrations are not applied").into()),
                    SchemaState::Ahead => Err("a newer version has changed the tables".into()),
                }
            })
        };
        // Every node writes its sign of life every few seconds, so somebody finds out when there is room again.
        let writes = move || -> BoxFuture<'static, Result<(), Detail>> {
            let taken = written.is_writable();
            Box::pin(async move { if taken { Ok(()) } else { Err("the database is full or read-only".into()) } })
        };
        Self::new(clock, closing).check("database", ping).check_once("migrations", current).check("writes", writes)
    }

    /// Adds a check that is always run.
    #[must_use]
    pub fn check(
        self,
        name: &'static str,
        run: impl Fn() -> BoxFuture<'static, Result<(), Detail>> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Box::new(run), false)
    }

    /// Adds a check that is run until it has passed once.
    #[must_use]
    pub fn check_once(
        self,
        name: &'static str,
        run: impl Fn() -> BoxFuture<'static, Result<(), Detail>> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Box::new(run), true)
    }

    fn with(mut self, name: &'static str, run: Run, once: bool) -> Self {
        self.checks.push(Check { name, run, once, passed: AtomicBool::new(false), told: AtomicBool::new(false) });
        self
    }

    /// The names of the checks that fail; none where the node is ready. The answer is at most a second old.
    pub async fn failed(&self) -> Vec<&'static str> {
        if self.closing.is_cancelled() {
            return vec![SHUTDOWN];
        }
        let mut last = self.last.lock().await;
        if let Some(outcome) = last.as_ref().filter(|outcome| self.clock.elapsed().saturating_sub(outcome.at) < FRESH) {
            return outcome.failed.clone();
        }
        let failed: Vec<&'static str> =
            join_all(self.checks.iter().map(Check::failed)).await.into_iter().flatten().collect();
        *last = Some(Outcome { failed: failed.clone(), at: self.clock.elapsed() });
        failed
    }
}

impl Check {
    /// Its name, if it fails.
    async fn failed(&self) -> Option<&'static str> {
        if self.once && self.passed.load(Ordering::Relaxed) {
            return None;
        }
        let outcome = match tokio::time::timeout(CHECK_MAX, (self.run)()).await {
            Ok(outcome) => outcome,
            Err(_) => Err("no response within 1 s".into()),
        };
        self.passed.store(outcome.is_ok(), Ordering::Relaxed);
        match outcome {
            Ok(()) => {
                if self.told.swap(false, Ordering::Relaxed) {
                    tracing::warn!(check = self.name, "ready again");
                }
                None
            }
            Err(detail) => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    tracing::error!(check = self.name, detail = %detail, "not ready");
                }
                Some(self.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A check whose outcome a test sets and which counts how often it was run.
    #[derive(Clone, Default)]
    struct Part {
        runs: Arc<AtomicUsize>,
        broken: Arc<AtomicBool>,
        stuck: Arc<AtomicBool>,
    }

    impl Part {
        fn run(&self) -> BoxFuture<'static, Result<(), Detail>> {
            self.runs.fetch_add(1, Ordering::Relaxed);
            let (broken, stuck) = (self.broken.load(Ordering::Relaxed), self.stuck.load(Ordering::Relaxed));
            Box::pin(async move {
                if stuck {
                    std::future::pending::<()>().await;
                }
                if broken { Err("secret cause".into()) } else { Ok(()) }
            })
        }

        fn runs(&self) -> usize {
            self.runs.load(Ordering::Relaxed)
        }
    }

    fn readiness(always: &Part, once: &Part) -> (Readiness, CancellationToken) {
        let (always, once, closing) = (always.clone(), once.clone(), CancellationToken::new());
        let readiness = Readiness::new(Clock::system(), closing.clone())
            .check("database", move || always.run())
            .check_once("migrations", move || once.run());
        (readiness, closing)
    }

    #[tokio::test(start_paused = true)]
    async fn an_outcome_counts_for_a_second_and_what_has_passed_once_is_not_asked_again() {
        let (always, once) = (Part::default(), Part::default());
        let (readiness, _closing) = readiness(&always, &once);
        once.broken.store(true, Ordering::Relaxed);
        assert_eq!(readiness.failed().await, ["migrations"]);
        once.broken.store(false, Ordering::Relaxed);
        assert_eq!(readiness.failed().await, ["migrations"], "from the cache");
        tokio::time::advance(FRESH).await;
        for _ in 0..100 {
            assert!(readiness.failed().await.is_empty());
        }
        assert_eq!((always.runs(), once.runs()), (2, 2));
        always.broken.store(true, Ordering::Relaxed);
        tokio::time::advance(FRESH).await;
        assert_eq!(readiness.failed().await, ["database"]);
        assert_eq!((always.runs(), once.runs()), (3, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_ask_wait_for_one_check_and_for_no_longer_than_a_second() {
        let (always, once) = (Part::default(), Part::default());
        let (readiness, _closing) = readiness(&always, &once);
        always.stuck.store(true, Ordering::Relaxed);
        let began = readiness.clock.elapsed();
        let asked = join_all((0..50).map(|_| readiness.failed())).await;
        assert!(asked.iter().all(|failed| *failed == ["database"]));
        assert_eq!((always.runs(), readiness.clock.elapsed().saturating_sub(began)), (1, CHECK_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_shuts_down_is_not_ready_at_once() {
        let part = Part::default();
        let (readiness, closing) = readiness(&part, &part);
        assert!(readiness.failed().await.is_empty());
        closing.cancel();
        assert_eq!(readiness.failed().await, [SHUTDOWN]);
        assert_eq!(part.runs(), 2, "nobody is asked for that");
    }

    #[tokio::test]
    async fn a_node_is_ready_when_its_tables_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let config = probity_store::StoreConfig::new(probity_store::Place::Sqlite(directory.path().join("probity.db")));
        let store = Store::open(&config).await.unwrap();
        let of = |store: &Store| Readiness::of_store(Clock::system(), CancellationToken::new(), store.clone());
        assert_eq!(of(&store).failed().await, ["migrations"]);
        store.migrate().await.unwrap();
        assert!(of(&store).failed().await.is_empty());
        store.close().await;
        assert_eq!(of(&store).failed().await, ["database", "migrations"]);
    }
}
