//! Tests from the outbox to the receiver: signatures, retries by schedule, and independence of receivers.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_account::id::{DeliveryId, JobId};
use probity_backend::outbound::{Names, NoNames, Unresolved, UrlGuard};
use probity_backend::webhooks::SCHEDULE_MS;
use probity_backend::webhooks::sign::{Secret, signatures};
use probity_backend::webhooks::{Callbacks, DeliveryConfig, DeliveryParts, LaneConfig, SendLimits, Sender, Worker};
use probity_engine::clock::EngineClock;
use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;
use probity_store::webhooks::callback_secret;
use probity_store::webhooks::outbox::{self, LoggedDelivery, NewDelivery, OutboxState};
use probity_store::{DatabasePlace, OrgNo, ScopedFutureExt as _, Store, StoreConfig};
use probity_telemetry::metrics::{Metrics, Start};
use tokio_util::sync::CancellationToken;

use super::independent;
use super::receivers::{HASTY, Manner, PATIENCE, Receiver, guard_allowing, open};

pub(super) const ORG: OrgNo = OrgNo(7);
pub(super) const START: Millis = Millis(1_800_000_000_000);

/// Outbox in its own database.
pub(super) struct Outbox {
    pub(super) store: Store,
    pub(super) secrets: Arc<Secrets>,
    /// `None` if another process created the database.
    directory: Option<tempfile::TempDir>,
}

impl Outbox {
    pub(super) async fn new() -> Self {
        // In memory if possible: thousands of commits must not wait for a shared disk.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let mut outbox = Self::at(&directory.path().join("probity.db")).await;
        outbox.store.migrate().await.unwrap();
        outbox.directory = Some(directory);
        outbox
    }

    /// Opens the outbox that another process created at this path.
    pub(super) async fn at(file: &Path) -> Self {
        let store = Store::open(&StoreConfig::new(DatabasePlace::Sqlite(file.to_owned()))).await.unwrap();
        Self { store, secrets: Arc::new(Secrets::of(&[7; 32])), directory: None }
    }

    /// Returns the path of the database.
    pub(super) fn file(&self) -> PathBuf {
        self.directory.as_ref().unwrap().path().join("probity.db")
    }

    async fn put(&self, job: u8, url: &str) -> DeliveryId {
        self.put_at(START, job, url).await
    }

    async fn put_at(&self, at: Millis, job: u8, url: &str) -> DeliveryId {
        let message = Callbacks::job_finished(ORG, job_id(job), url, b"{\"id\":\"job_1\"}".to_vec(), at);
        assert!(self.store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap());
        message.id
    }

    pub(super) async fn row(&self, id: DeliveryId) -> LoggedDelivery {
        outbox::by_id(&mut self.store.read().await.unwrap(), ORG, id).await.unwrap()
    }

    /// Creates a worker at a fixed start time.
    pub(super) fn worker(
        &self,
        now: Millis,
        guard: Arc<UrlGuard>,
        limits: SendLimits,
        config: DeliveryConfig,
    ) -> Worker {
        self.worker_by(EngineClock::starting_at(now), guard, limits, config)
    }

    /// Creates a worker with a clock that the test can move.
    pub(super) fn worker_by(
        &self,
        clock: EngineClock,
        guard: Arc<UrlGuard>,
        limits: SendLimits,
        config: DeliveryConfig,
    ) -> Worker {
        let start = Start { version: "1", at: clock.now(), providers: std::collections::BTreeSet::new() };
        let parts = DeliveryParts {
            store: self.store.clone(),
            secrets: self.secrets.clone(),
            sender: Sender::new(guard.clone(), limits, clock),
            clock,
            metrics: Arc::new(Metrics::new(&start)),
        };
        Worker::new(parts, &Callbacks::new(guard), config)
    }

    /// Delivers everything that is due at this time.
    pub(super) async fn deliver(&self, now: Millis) {
        self.worker(now, open(), SendLimits::default(), DeliveryConfig::default()).run_once().await;
    }

    async fn secret(&self) -> Secret {
        let sealed = callback_secret::find_secret(&mut self.store.read().await.unwrap(), ORG).await.unwrap().unwrap();
        Secret::from_bytes(self.secrets.open_callback_secret(ORG, &sealed.secret).unwrap()).unwrap()
    }
}

fn job_id(n: u8) -> JobId {
    JobId::new(START, [n; 10])
}

pub(super) fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let value = request.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_else(|| panic!("no {name} in {request}"))
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_message_arrives_signed_and_once() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::Say("HTTP/1.1 201 x\r\ncontent-length: 3\r\n\r\nyes".into())).await;
    let id = outbox.put(1, &receiver.url()).await;
    outbox.deliver(START).await;
    outbox.deliver(START + 1_000_000).await;
    assert_eq!(receiver.hits(), 1);
    let request = receiver.request().await;
    let row = outbox.row(id).await;
    assert_eq!(header(&request, "webhook-id"), row.event.to_string());
    let timestamp: i64 = header(&request, "webhook-timestamp").parse().unwrap();
    assert!((0..60).contains(&(timestamp - START.0 / 1_000)));
    let secret = outbox.secret().await;
    let expected = signatures(&[secret], &row.event.to_string(), timestamp, b"{\"id\":\"job_1\"}");
    assert_eq!(header(&request, "webhook-signature"), expected);
    assert_eq!((row.state, row.attempts, row.last_status), (OutboxState::Delivered, 1, Some(201)));
    assert_eq!((row.last_answer.as_slice(), row.last_error), (&b"yes"[..], None));
}

#[tokio::test]
#[ignore = "thorough"]
async fn attempts_follow_the_schedule_until_it_ends() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::status(500)).await;
    let id = outbox.put(1, &receiver.url()).await;
    let mut now = START;
    let mut ids = Vec::new();
    for (pause_ms, attempts) in SCHEDULE_MS.into_iter().zip(1..) {
        outbox.deliver(now).await;
        ids.push(header(&receiver.request().await, "webhook-id").to_owned());
        let row = outbox.row(id).await;
        assert_eq!((row.state, row.attempts, row.last_status), (OutboxState::Waiting, attempts, Some(500)));
        let waited_ms = row.next_at.since(row.last_at.unwrap());
        // Up to a tenth is jitter; the rest is the duration of the attempt.
        assert!(waited_ms >= pause_ms && waited_ms <= pause_ms + pause_ms / 10 + 10_000, "{attempts}: {waited_ms}");
        // One second early, so that the clock does not reach the due time during this attempt.
        now = row.next_at;
        outbox.deliver(now + -1_000).await;
        assert_eq!(outbox.row(id).await.attempts, attempts, "not before its time");
    }
    outbox.deliver(now).await;
    ids.push(header(&receiver.request().await, "webhook-id").to_owned());
    let row = outbox.row(id).await;
    assert_eq!((row.state, row.attempts), (OutboxState::Exhausted, 8));
    assert!(ids.iter().all(|one| *one == row.event.to_string()), "one event, one id: {ids:?}");
    outbox.deliver(now + 1_000_000_000).await;
    assert_eq!(receiver.hits(), 8);
}

#[tokio::test]
#[ignore = "thorough"]
async fn neither_gone_nor_a_redirect_ends_a_batchs_own_callback() {
    let outbox = Outbox::new().await;
    let gone = Receiver::start(Manner::status(410)).await;
    let moved = Receiver::start(Manner::Say("HTTP/1.1 302 x\r\nlocation: /\r\ncontent-length: 0\r\n\r\n".into())).await;
    let ids = [outbox.put(1, &gone.url()).await, outbox.put(1, &moved.url()).await];
    outbox.deliver(START).await;
    for id in ids {
        assert_eq!(outbox.row(id).await.state, OutboxState::Waiting);
    }
    assert_eq!((gone.hits(), moved.hits()), (1, 1));
    outbox.deliver(START + SCHEDULE_MS[0] * 2 + 60_000).await;
    assert_eq!((gone.hits(), moved.hits()), (2, 2), "they are sent again by the schedule");
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_operator_reads_why_nobody_was_reached() {
    let outbox = Outbox::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hangs = Receiver::start(Manner::Hang).await;
    let urls =
        ["http://10.0.0.1/".to_owned(), "http://nowhere.example/".into(), format!("http://{free}/"), hangs.url()];
    let mut ids = Vec::new();
    for url in &urls {
        ids.push(outbox.put(1, url).await);
    }
    outbox.worker(START, open(), HASTY, DeliveryConfig::default()).run_once().await;
    for (id, error) in ids.into_iter().zip(["blocked", "unresolved", "refused", "unanswered"]) {
        let row = outbox.row(id).await;
        assert_eq!((row.last_error.as_deref(), row.last_status), (Some(error), None));
        assert_eq!((row.state, row.attempts), (OutboxState::Waiting, 1));
        // Customers see the time of the next attempt. It must not reveal which of these errors occurred.
        let waits_ms = row.next_at.since(row.last_at.unwrap());
        assert!(waits_ms >= HASTY.total_ms + SCHEDULE_MS[0], "{error} is tried again after {waits_ms} ms");
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn both_secrets_sign_after_a_rotation() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::status(200)).await;
    let [old, new] = [Secret::fresh(), Secret::fresh()];
    let sealed = [&old, &new].map(|secret| outbox.secrets.seal_callback_secret(ORG, secret.bytes()));
    let made = outbox.store.write(|tx| callback_secret::secret_of(tx, ORG, &sealed[0]).scope_boxed());
    made.await.unwrap();
    let rotated =
        outbox.store.write(|tx| callback_secret::rotate(tx, ORG, &sealed[1], START, START + 100_000).scope_boxed());
    rotated.await.unwrap();
    for (job, after_ms, signers) in [(1, 0, vec![new.clone(), old]), (2, 100_000, vec![new])] {
        let id = outbox.put(job, &receiver.url()).await;
        outbox.deliver(START + after_ms).await;
        let (request, event) = (receiver.request().await, outbox.row(id).await.event.to_string());
        let timestamp = header(&request, "webhook-timestamp").parse().unwrap();
        let expected = signatures(&signers, &event, timestamp, b"{\"id\":\"job_1\"}");
        assert_eq!(header(&request, "webhook-signature"), expected);
    }
}

/// Resolves every name to loopback, as a separate host.
pub(super) struct AllAtLoopback;

impl Names for AllAtLoopback {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn receivers_that_hang_hold_up_themselves_only() {
    let outbox = Outbox::new().await;
    let mut good = Receiver::start(Manner::status(200)).await;
    let bad = [Receiver::start(Manner::Hang).await, Receiver::start(Manner::Drip("HTTP/1.1 200".into())).await];
    let messages: Vec<NewDelivery> = (0..1_000)
        .map(|n| {
            let host = n % 100;
            let port = if host < 20 { bad[usize::from(host % 2 == 1)].address.port() } else { good.address.port() };
            let url = format!("http://host-{host}.example:{port}/");
            Callbacks::job_finished(ORG, JobId::from_bits(n), &url, b"{}".to_vec(), START)
        })
        .collect();
    let put = outbox.store.write(|tx| {
        async {
            for message in &messages {
                outbox::put(tx, message).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    put.await.unwrap();
    let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
    let lanes = LaneConfig { pause_ms: 60_000, ..LaneConfig::default() };
    let limits = SendLimits { total_ms: 3_000, ..HASTY };
    let worker = outbox.worker(START, guard, limits, DeliveryConfig { lanes, ..DeliveryConfig::default() });
    let ending = CancellationToken::new();
    let running = tokio::spawn(worker.run(ending.clone()));
    let all_good = async {
        for _ in 0..800 {
            good.request().await;
        }
    };
    tokio::time::timeout(PATIENCE, all_good).await.expect("the good ones are delivered");
    ending.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    let mut conn = outbox.store.read().await.unwrap();
    let count = async |conn: &mut _, state| outbox::page(conn, ORG, Some(state), None, 2_000).await.unwrap().len();
    assert_eq!(count(&mut conn, OutboxState::Delivered).await, 800);
    assert_eq!(count(&mut conn, OutboxState::Waiting).await, 200);
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_answers_quickly_gets_what_the_rate_allows_and_not_what_goes_at_once() {
    let outbox = Outbox::new().await;
    let receiver = Receiver::start(Manner::status(200)).await;
    let mut ids = Vec::new();
    for job in 0..40 {
        ids.push(outbox.put(job, &receiver.url()).await);
    }
    let lanes = LaneConfig { at_once: 2, per_second: 1, burst: 12, ..LaneConfig::default() };
    outbox.worker(START, open(), HASTY, DeliveryConfig { lanes, ..DeliveryConfig::default() }).run_once().await;
    assert!((12..=22).contains(&receiver.hits()), "{} were sent: a burst, and one a second", receiver.hits());
    for id in ids {
        let row = outbox.row(id).await;
        assert!(row.state == OutboxState::Delivered || row.next_at > START, "nothing is kept for longer: {row:?}");
    }
    // The others were released, so that they need not wait for their leases to expire.
    let later = START + 60_000;
    let lanes = LaneConfig { burst: 40, ..LaneConfig::default() };
    let mut worker = outbox.worker(later, open(), HASTY, DeliveryConfig { lanes, ..DeliveryConfig::default() });
    worker.run_once().await;
    assert!(receiver.hits() > 28, "{} were sent", receiver.hits());
}

#[tokio::test]
#[ignore = "thorough"]
async fn at_the_end_what_hangs_is_cut_and_sent_again_later() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::Hang).await;
    let id = outbox.put(1, &receiver.url()).await;
    let limits = SendLimits { total_ms: 60_000, ..HASTY };
    let config = DeliveryConfig { grace: Duration::from_millis(10), ..DeliveryConfig::default() };
    let ending = CancellationToken::new();
    let running = tokio::spawn(outbox.worker(START, open(), limits, config).run(ending.clone()));
    receiver.request().await;
    ending.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert_eq!(outbox.row(id).await.attempts, 0);
    outbox.worker(START, open(), HASTY, DeliveryConfig::default()).run_once().await;
    assert_eq!(receiver.hits(), 1, "its lease has not ended");
    outbox.worker(START + 120_000, open(), HASTY, DeliveryConfig::default()).run_once().await;
    assert_eq!((receiver.hits(), outbox.row(id).await.attempts), (2, 1));
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_wake_up_is_faster_than_the_poll() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::status(200)).await;
    let callbacks = Callbacks::new(open());
    let (clock, config) =
        (EngineClock::starting_at(START), DeliveryConfig { poll: PATIENCE, ..DeliveryConfig::default() });
    let metrics = Metrics::new(&Start { version: "1", at: START, providers: std::collections::BTreeSet::new() });
    let parts = DeliveryParts {
        store: outbox.store.clone(),
        secrets: outbox.secrets.clone(),
        sender: Sender::new(callbacks.guard().clone(), HASTY, clock),
        clock,
        metrics: Arc::new(metrics),
    };
    let ending = CancellationToken::new();
    let running = tokio::spawn(Worker::new(parts, &callbacks, config).run(ending.clone()));
    outbox.put(1, &receiver.url()).await;
    callbacks.wake();
    tokio::time::timeout(PATIENCE / 2, receiver.request()).await.expect("it was woken");
    ending.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
}

/// Runs only if `PROBITY_WEBHOOKS_PYTHON` names a Python with the package `standardwebhooks`.
#[tokio::test]
#[ignore = "thorough"]
async fn an_independent_library_accepts_the_signature_and_nothing_else() {
    let Some(python) = std::env::var_os("PROBITY_WEBHOOKS_PYTHON") else {
        // Written to stderr directly, because the test harness hides the output of passing tests.
        let _ =
            writeln!(std::io::stderr(), "\nSKIPPED: PROBITY_WEBHOOKS_PYTHON names no Python with `standardwebhooks`");
        return;
    };
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::status(200)).await;
    // The library rejects old messages, so this one is sent now.
    let now = EngineClock::system().now();
    outbox.put_at(now, 1, &receiver.url()).await;
    outbox.deliver(now).await;
    let request = receiver.request().await;
    independent::accepts(&python, &outbox.secret().await.text(), &request);
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_name_without_a_resolver_is_tried_again() {
    let outbox = Outbox::new().await;
    let id = outbox.put(1, "https://hooks.example.com/").await;
    let guard = guard_allowing(&[], Arc::new(NoNames));
    outbox.worker(START, guard, HASTY, DeliveryConfig::default()).run_once().await;
    let row = outbox.row(id).await;
    assert_eq!((row.state, row.last_error.as_deref()), (OutboxState::Waiting, Some("unresolved")));
}
