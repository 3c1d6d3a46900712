//! A thousand webhooks at once: most of them honest, some slow, failing, gone or hostile, several to a host.

mod memory;
mod moved_clock;

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_account::id::{DeliveryId, EventId, OrgId, WebhookId};
use probity_account::webhook::Topic;
use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_service::webhooks::sign::Secret;
use probity_service::webhooks::{DeliveryConfig, SCHEDULE_MS, SendLimits};
use probity_store::organization::{self, Org};
use probity_store::outbox::{self, Content, Delivery, Logged, State};
use probity_store::webhooks::{self, Webhook};
use probity_store::{OrgNo, ScopedFutureExt as _};
use tokio_util::sync::CancellationToken;

use super::delivery::{AllAtLoopback, Outbox, START};
use super::receivers::{HASTY, Manner, PATIENCE, Receiver, guard_allowing};

const WEBHOOKS: usize = 1_000;
/// Messages to each.
const MESSAGES: u128 = 2;
/// Webhooks on one host; a slow one may be beside good ones.
const ON_A_HOST: usize = 4;
/// Of twenty webhooks, how those behave that are not good.
const BAD: [(usize, &str); 5] = [(3, "slow"), (7, "failing"), (11, "gone"), (14, "flood"), (18, "drip")];

/// What the path of a request asks for.
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

/// The sort of webhook that a request is for.
fn sort_of(request: &str) -> &str {
    request.split(['/', ' ']).nth(2).unwrap()
}

/// The sort of the `n`th webhook, where so many of twenty are bad.
fn one_of_twenty(n: usize, bad: &[(usize, &'static str)]) -> &'static str {
    bad.iter().find(|(place, _)| *place == n % 20).map_or("good", |(_, sort)| sort)
}

/// Webhooks of one organization, with what waits for them.
struct Fleet {
    outbox: Outbox,
    org: OrgNo,
    webhooks: Vec<Webhook>,
}

impl Fleet {
    /// So many webhooks of these sorts at the port of a receiver.
    async fn new(port: u16, size: usize, sort: impl Fn(usize) -> &'static str) -> Self {
        let outbox = Outbox::new().await;
        let org = Org::new(OrgId::new(START, [1; 10]), None, "metered".into(), START);
        let webhooks: Vec<Webhook> = (0..size).map(|n| webhook(org.no, n, sort(n), port)).collect();
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

    /// Puts the `n`th message to each of these webhooks, due at a time.
    async fn put(&self, n: u128, at: Millis, to: &[Webhook]) {
        let messages: Vec<Delivery> = to.iter().map(|webhook| message(webhook, n, at)).collect();
        let put = self.outbox.store.write(|tx| outbox::put_all(tx, &messages).scope_boxed()).await.unwrap();
        assert_eq!(put, u64::try_from(messages.len()).unwrap());
    }

    /// The messages by how their webhooks behave.
    async fn rows(&self) -> BTreeMap<String, Vec<Logged>> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let all = outbox::page(&mut conn, self.org, None, None, 10_000).await.unwrap();
        let mut rows: BTreeMap<String, Vec<Logged>> = BTreeMap::new();
        for row in all {
            let sort = row.url.split('/').nth(3).unwrap().to_owned();
            rows.entry(sort).or_default().push(row);
        }
        rows
    }

    /// The sorts of the webhooks that are disabled, one word for each.
    async fn disabled(&self) -> Vec<String> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let wanted: Vec<_> = self.webhooks.iter().map(|webhook| (webhook.org, webhook.id)).collect();
        let receivers = webhooks::receivers(&mut conn, &wanted).await.unwrap();
        let off = receivers.into_iter().filter(|receiver| !receiver.active);
        off.map(|receiver| receiver.url.split('/').nth(3).unwrap().to_owned()).collect()
    }
}

fn webhook(org: OrgNo, n: usize, sort: &str, port: u16) -> Webhook {
    let host = n / ON_A_HOST;
    Webhook {
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

fn message(webhook: &Webhook, n: u128, at: Millis) -> Delivery {
    let bits = webhook.id.bits() * 10 + n;
    Delivery {
        org: webhook.org,
        id: DeliveryId::from_bits(bits),
        event: EventId::from_bits(bits),
        kind: "job.finished".into(),
        url: webhook.url.clone(),
        content: Content::Bytes(b"{}".to_vec()),
        job: None,
        signer: webhook.id.to_string(),
        created_at: at,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
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
    let clock = Clock::system();
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
    // The receiver notices a moment later that a connection has ended.
    assert!(receiver.at_once() < config.at_once * 2, "{} at once", receiver.at_once());
    let rows = fleet.rows().await;
    assert!(rows["good"].iter().all(|row| row.state == State::Delivered && row.attempts == 1));
    for row in &rows["gone"] {
        assert!(matches!(row.state, State::Exhausted | State::Cancelled | State::Waiting), "{row:?}");
    }
    for sort in ["slow", "failing", "flood", "drip"] {
        for row in &rows[sort] {
            assert_eq!(row.state, State::Waiting, "{sort}");
            // Those that were tried come back by the schedule; the rest only waits for its lane.
            if let Some(at) = row.last_at {
                let pause_ms = row.next_at.since(at);
                // On a busy machine a second attempt has been due meanwhile.
                let promised_ms = SCHEDULE_MS[usize::try_from(row.attempts - 1).unwrap()];
                assert!(pause_ms >= promised_ms, "{sort}: {pause_ms} ms after {} attempts", row.attempts);
            }
            assert!(row.last_answer.len() <= outbox::ANSWER_MAX);
        }
    }
    let disabled = fleet.disabled().await;
    assert!(disabled.iter().all(|sort| sort == "gone"), "{disabled:?}");
}
