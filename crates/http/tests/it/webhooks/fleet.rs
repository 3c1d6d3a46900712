//! Tests with a thousand webhooks at once: most are honest, some slow, failing, gone or hostile, several on one host.

mod memory;
mod moved_clock;

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_account::id::{DeliveryId, EventId, OrgId, WebhookId};
use probity_account::webhook::Topic;
use probity_backend::webhooks::sign::Secret;
use probity_backend::webhooks::{DeliveryConfig, SCHEDULE_MS, SendLimits};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::webhooks::outbox::{self, DeliveryContent, LoggedDelivery, NewDelivery, OutboxState};
use probity_store::webhooks::{self, WebhookEndpoint};
use probity_store::{OrgNo, ScopedFutureExt as _};
use tokio_util::sync::CancellationToken;

use super::delivery::{AllAtLoopback, Outbox, START};
use super::receivers::{HASTY, Manner, PATIENCE, Receiver, guard_allowing};

const WEBHOOKS: usize = 1_000;
/// Number of deliveries per webhook.
const MESSAGES: u128 = 2;
/// Number of webhooks per host; a slow one can share its host with good ones.
const ON_A_HOST: usize = 4;
/// Behavior of the bad webhooks, by position within 20.
const BAD: [(usize, &str); 5] = [(3, "slow"), (7, "failing"), (11, "gone"), (14, "flood"), (18, "drip")];

/// Returns the behavior that a request's path asks for.
fn manner(request: &str) -> Manner {
    match sort_of(request) {
        "slow" => Manner::Hang,
        "failing" => Manner::status(503),
        "gone" => Manner::status(410),
        "flood" => Manner::Flood("HTTP/1.1 500 x\r\ncontent-length: 9999999999\r\n\r\n".into()),
        "drip" => Manner::Drip("HTTP/1.1 2".into()),
        _ => Manner::status(204),
    }
}

/// Returns the sort of webhook that a request belongs to.
fn sort_of(request: &str) -> &str {
    request.split(['/', ' ']).nth(2).unwrap()
}

/// Returns the sort of the `n`th webhook, given the bad ones of each 20.
fn one_of_twenty(n: usize, bad: &[(usize, &'static str)]) -> &'static str {
    bad.iter().find(|(place, _)| *place == n % 20).map_or("good", |(_, sort)| sort)
}

/// Webhooks of one organization, with their deliveries.
struct Fleet {
    outbox: Outbox,
    org: OrgNo,
    webhooks: Vec<WebhookEndpoint>,
}

impl Fleet {
    /// Creates this number of webhooks of these sorts, at a receiver's port.
    async fn new(port: u16, size: usize, sort: impl Fn(usize) -> &'static str) -> Self {
        let outbox = Outbox::new().await;
        let org = OrgRecord::new(OrgId::new(START, [1; 10]), None, "metered".into(), START);
        let webhooks: Vec<WebhookEndpoint> = (0..size).map(|n| webhook(org.no, n, sort(n), port)).collect();
        let written = outbox.store.write(|tx| {
            async {
                organization::insert(tx, &org).await?;
                for webhook in &webhooks {
                    let sealed = outbox.secrets.seal_webhook_secret(webhook.id, Secret::fresh().bytes());
                    assert!(webhooks::insert(tx, webhook, &sealed, 2_000).await?);
                }
                Ok(())
            }
            .scope_boxed()
        });
        written.await.unwrap();
        Self { outbox, org: org.no, webhooks }
    }

    /// Stores the `n`th delivery of each of these webhooks, due at this time.
    async fn put(&self, n: u128, at: Millis, to: &[WebhookEndpoint]) {
        let messages: Vec<NewDelivery> = to.iter().map(|webhook| message(webhook, n, at)).collect();
        let put = self.outbox.store.write(|tx| outbox::put_all(tx, &messages).scope_boxed()).await.unwrap();
        assert_eq!(put, u64::try_from(messages.len()).unwrap());
    }

    /// Returns the deliveries by sort of webhook.
    async fn rows(&self) -> BTreeMap<String, Vec<LoggedDelivery>> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let all = outbox::page(&mut conn, self.org, None, None, 10_000).await.unwrap();
        let mut rows: BTreeMap<String, Vec<LoggedDelivery>> = BTreeMap::new();
        for row in all {
            let sort = row.url.split('/').nth(3).unwrap().to_owned();
            rows.entry(sort).or_default().push(row);
        }
        rows
    }

    /// Returns the sort of each disabled webhook.
    async fn disabled(&self) -> Vec<String> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let wanted: Vec<_> = self.webhooks.iter().map(|webhook| (webhook.org, webhook.id)).collect();
        let receivers = webhooks::receivers(&mut conn, &wanted).await.unwrap();
        let off = receivers.into_iter().filter(|receiver| !receiver.active);
        off.map(|receiver| receiver.url.split('/').nth(3).unwrap().to_owned()).collect()
    }
}

fn webhook(org: OrgNo, n: usize, sort: &str, port: u16) -> WebhookEndpoint {
    let host = n / ON_A_HOST;
    WebhookEndpoint {
        org,
        id: WebhookId::from_bits(n as u128 + 1),
        test: false,
        name: sort.into(),
        url: format!("http://host-{host}.example:{port}/{sort}/{n}"),
        events: vec![Topic::JobFinished],
        active: true,
        created_at: START,
        last_delivery_at: None,
    }
}

fn message(webhook: &WebhookEndpoint, n: u128, at: Millis) -> NewDelivery {
    let bits = webhook.id.bits() * 10 + n;
    NewDelivery {
        org: webhook.org,
        id: DeliveryId::from_bits(bits),
        event: EventId::from_bits(bits),
        kind: "job.finished".into(),
        url: webhook.url.clone(),
        content: DeliveryContent::Bytes(b"{}".to_vec()),
        job: None,
        signer: webhook.id.to_string(),
        created_at: at,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_thousand_webhooks_of_all_sorts_do_not_stand_in_each_others_way() {
    let mut receiver = Receiver::start(Manner::ByRequest(manner)).await;
    let fleet = Fleet::new(receiver.address.port(), WEBHOOKS, |n| one_of_twenty(n, &BAD)).await;
    for n in 0..MESSAGES {
        fleet.put(n, START, &fleet.webhooks).await;
    }
    let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
    let limits = SendLimits { total_ms: 3_000, ..HASTY };
    let config = DeliveryConfig::default();
    let worker = fleet.outbox.worker(START, guard, limits, config);
    let ending = CancellationToken::new();
    let clock = EngineClock::system();
    let running = tokio::spawn(worker.run(ending.clone()));
    let good = u128::try_from(WEBHOOKS * (20 - BAD.len()) / 20).unwrap() * MESSAGES;
    let all_good = async {
        let mut seen = 0;
        while seen < good {
            seen += u128::from(sort_of(&receiver.request().await) == "good");
        }
    };
    tokio::time::timeout(PATIENCE, all_good).await.expect("the good ones are delivered");
    eprintln!("{good} messages to good webhooks arrived within {:?}", clock.elapsed());
    ending.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    // The receiver notices the end of a connection a moment later.
    assert!(receiver.at_once() < config.at_once * 2, "{} at once", receiver.at_once());
    let rows = fleet.rows().await;
    assert!(rows["good"].iter().all(|row| row.state == OutboxState::Delivered && row.attempts == 1));
    for row in &rows["gone"] {
        assert!(matches!(row.state, OutboxState::Exhausted | OutboxState::Cancelled | OutboxState::Waiting), "{row:?}");
    }
    for sort in ["slow", "failing", "flood", "drip"] {
        for row in &rows[sort] {
            assert_eq!(row.state, OutboxState::Waiting, "{sort}");
            // Attempted deliveries follow the schedule; the others only wait for their lane.
            if let Some(at) = row.last_at {
                let pause_ms = row.next_at.since(at);
                // On a busy machine, a second attempt may have been due meanwhile.
                let promised_ms = SCHEDULE_MS[usize::try_from(row.attempts - 1).unwrap()];
                assert!(pause_ms >= promised_ms, "{sort}: {pause_ms} ms after {} attempts", row.attempts);
            }
            assert!(row.last_answer.len() <= outbox::ANSWER_MAX);
        }
    }
    let disabled = fleet.disabled().await;
    assert!(disabled.iter().all(|sort| sort == "gone"), "{disabled:?}");
}
