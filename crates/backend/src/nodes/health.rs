//! Readiness: whether this node can work now.
//!
//! Named checks run concurrently, each for at most 1 s, and their result counts for 1 s. However often it is requested, the
//! database is checked once, and all concurrent requests wait for the same result. A node is not ready from the beginning of
//! its shutdown, so that a load balancer sends it no new requests. The log records why a check starts to fail, and its
//! recovery; the response only names the check.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use probity_contract::error::Detail;
use probity_engine::clock::EngineClock;
use probity_store::{SchemaState, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Maximum time of a check.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// Time for which a result counts.
const FRESH: Duration = Duration::from_secs(1);
/// Reported while the node is shutting down.
const SHUTDOWN: &str = "shutdown";

type CheckRun = Box<dyn Fn() -> BoxFuture<'static, Result<(), Detail>> + Send + Sync>;

struct HealthCheck {
    name: &'static str,
    run: CheckRun,
    /// Whether the check is skipped once it has passed.
    once: bool,
    passed: AtomicBool,
    /// Whether its failure is in the log already.
    told: AtomicBool,
}

/// Failed checks, and the time of this result.
struct HealthOutcome {
    failed: Vec<&'static str>,
    at: Duration,
}

pub struct Readiness {
    clock: EngineClock,
    closing: CancellationToken,
    checks: Vec<HealthCheck>,
    last: Mutex<Option<HealthOutcome>>,
}

impl Readiness {
    /// Creates readiness without checks. `closing` is canceled when the node begins to shut down.
    pub fn new(clock: EngineClock, closing: CancellationToken) -> Self {
        Self { clock, closing, checks: Vec::new(), last: Mutex::new(None) }
    }

    /// Creates the checks of a store: it responds, accepts writes, and has the tables of this program.
    pub fn of_store(clock: EngineClock, closing: CancellationToken, store: Store) -> Self {
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
        // Every node writes a heartbeat every few seconds, so recovery is noticed.
        let writes = move || -> BoxFuture<'static, Result<(), Detail>> {
            let taken = written.is_writable();
            Box::pin(async move { if taken { Ok(()) } else { Err("the database is full or read-only".into()) } })
        };
        Self::new(clock, closing)
            .check("database", ping)
            .with("migrations", Box::new(current), true)
            .check("writes", writes)
    }

    /// Adds a check that runs every time.
    #[must_use]
    pub fn check(
        self,
        name: &'static str,
        run: impl Fn() -> BoxFuture<'static, Result<(), Detail>> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Box::new(run), false)
    }

    /// Adds a check that runs every time, or until it has passed `once`.
    fn with(mut self, name: &'static str, run: CheckRun, once: bool) -> Self {
        self.checks.push(HealthCheck { name, run, once, passed: AtomicBool::new(false), told: AtomicBool::new(false) });
        self
    }

    /// Returns the names of failed checks, none if the node is ready. The result is at most 1 s old.
    pub async fn failed(&self) -> Vec<&'static str> {
        if self.closing.is_cancelled() {
            return vec![SHUTDOWN];
        }
        let mut last = self.last.lock().await;
        if let Some(outcome) = last.as_ref().filter(|outcome| self.clock.elapsed().saturating_sub(outcome.at) < FRESH) {
            return outcome.failed.clone();
        }
        let failed: Vec<&'static str> =
            join_all(self.checks.iter().map(HealthCheck::failed)).await.into_iter().flatten().collect();
        *last = Some(HealthOutcome { failed: failed.clone(), at: self.clock.elapsed() });
        failed
    }
}

impl HealthCheck {
    /// Runs the check if necessary; returns its name if it fails.
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

    /// Check whose result a test sets, and which counts its runs.
    #[derive(Clone, Default)]
    struct TestedPart {
        runs: Arc<AtomicUsize>,
        broken: Arc<AtomicBool>,
        stuck: Arc<AtomicBool>,
    }

    impl TestedPart {
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

    fn readiness(always: &TestedPart, once: &TestedPart) -> (Readiness, CancellationToken) {
        let (always, once, closing) = (always.clone(), once.clone(), CancellationToken::new());
        let readiness = Readiness::new(EngineClock::system(), closing.clone())
            .check("database", move || always.run())
            .with("migrations", Box::new(move || once.run()), true);
        (readiness, closing)
    }

    #[tokio::test(start_paused = true)]
    async fn an_outcome_counts_for_a_second_and_what_has_passed_once_is_not_asked_again() {
        let (always, once) = (TestedPart::default(), TestedPart::default());
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
        let (always, once) = (TestedPart::default(), TestedPart::default());
        let (readiness, _closing) = readiness(&always, &once);
        always.stuck.store(true, Ordering::Relaxed);
        let began = readiness.clock.elapsed();
        let asked = join_all((0..50).map(|_| readiness.failed())).await;
        assert!(asked.iter().all(|failed| *failed == ["database"]));
        assert_eq!((always.runs(), readiness.clock.elapsed().saturating_sub(began)), (1, CHECK_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_shuts_down_is_not_ready_at_once() {
        let part = TestedPart::default();
        let (readiness, closing) = readiness(&part, &part);
        assert!(readiness.failed().await.is_empty());
        closing.cancel();
        assert_eq!(readiness.failed().await, [SHUTDOWN]);
        assert_eq!(part.runs(), 2, "nobody is asked for that");
    }

    #[tokio::test]
    async fn a_node_is_ready_when_its_tables_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let config =
            probity_store::StoreConfig::new(probity_store::DatabasePlace::Sqlite(directory.path().join("probity.db")));
        let store = Store::open(&config).await.unwrap();
        let of = |store: &Store| Readiness::of_store(EngineClock::system(), CancellationToken::new(), store.clone());
        assert_eq!(of(&store).failed().await, ["migrations"]);
        store.migrate().await.unwrap();
        assert!(of(&store).failed().await.is_empty());
        store.close().await;
        assert_eq!(of(&store).failed().await, ["database", "migrations"]);
    }
}
