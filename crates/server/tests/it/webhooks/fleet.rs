//! A thousand webhooks at once: most of them honest, some slow, failing, gone or hostile, several to a host.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_core::id::{EventId, OrgId, WebhookId};
use probity_core::webhook::Topic;
use probity_engine::clock::Clock;
use probity_server::webhooks::sign::Secret;
use probity_server::webhooks::{DeliveryConfig, SCHEDULE_MS, SendLimits};
use probity_store::orgs::{self, Org};
use probity_store::outbox::{self, Content, Delivery, Logged, State};
use probity_store::webhooks::{self, Webhook};
use probity_store::{OrgNo, ScopedFutureExt as _};
use tokio_util::sync::CancellationToken;

use super::delivery::{AllAtLoopback, Outbox, START};
use super::receivers::{HASTY, Manner, PATIENCE, Receiver, guard_allowing};

const WEBHOOKS: usize = 1_000;
/// Messages to each.
const MESSAGES: usize = 2;
/// Webhooks on one host; a slow one may be beside good ones.
const ON_A_HOST: usize = 4;
/// Of twenty webhooks, how those behave that are not good.
const BAD: [(usize, &str); 5] = [(3, "slow"), (7, "failing"), (11, "gone"), (14, "flood"), (18, "drip")];

/// What the path of a request asks for.
fn manner(request: &str) -> Manner {
    let path = request.split(' ').nth(1).unwrap();
    match path.split('/').nth(1).unwrap() {
        "slow" => Manner::Hang,
        "failing" => Manner::status(503),
        "gone" => Manner::status(410),
        "flood" => Manner::Flood("HTTP/1.1 500 x\r\ncontent-length: 9999999999\r\n\r\n".into()),
        "drip" => Manner::Drip("HTTP/1.1 2".into()),
        _ => Manner::status(204),
    }
}

struct Fleet {
    outbox: Outbox,
    org: OrgNo,
    receiver: Receiver,
}

impl Fleet {
    async fn new() -> Self {
        let outbox = Outbox::new().await;
        let org = Org::new(OrgId::new(START, [1; 10]), None, "metered".into(), START);
        outbox.store.write(|tx| orgs::insert(tx, &org).scope_boxed()).await.unwrap();
        let receiver = Receiver::start(Manner::ByRequest(manner)).await;
        let fleet = Self { outbox, org: org.no, receiver };
        let made: Vec<Webhook> = (0..WEBHOOKS).map(|n| fleet.webhook(n)).collect();
        let written = fleet.outbox.store.write(|tx| {
            async {
                for webhook in &made {
                    let sealed = fleet.outbox.secrets.seal_webhook_secret(webhook.id, Secret::fresh().bytes());
                    assert!(webhooks::insert(tx, webhook, &sealed, 2_000).await?);
                }
                let messages: Vec<Delivery> =
                    made.iter().flat_map(|webhook| (0..MESSAGES).map(move |n| message(webhook, n))).collect();
                outbox::put_all(tx, &messages).await
            }
            .scope_boxed()
        });
        assert_eq!(written.await.unwrap(), (WEBHOOKS * MESSAGES) as u64);
        fleet
    }

    fn webhook(&self, n: usize) -> Webhook {
        let bad = BAD.iter().find(|(place, _)| *place == n % 20).map_or("good", |(_, manner)| manner);
        let (host, port) = (n / ON_A_HOST, self.receiver.address.port());
        Webhook {
            org: self.org,
            id: WebhookId::from_bits(n as u128 + 1),
            test: false,
            name: bad.into(),
            url: format!("http://host-{host}.example:{port}/{bad}/{n}"),
            events: vec![Topic::JobFinished],
            active: true,
            created_at: START,
            last_delivery_at: None,
        }
    }

    /// The messages by how their webhooks behave.
    async fn rows(&self) -> BTreeMap<String, Vec<Logged>> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let all = outbox::page(&mut conn, self.org, None, None, 10_000).await.unwrap();
        let mut rows: BTreeMap<String, Vec<Logged>> = BTreeMap::new();
        for row in all {
            let manner = row.url.split('/').nth(3).unwrap().to_owned();
            rows.entry(manner).or_default().push(row);
        }
        rows
    }
}

fn message(webhook: &Webhook, n: usize) -> Delivery {
    Delivery {
        org: webhook.org,
        id: probity_core::id::DeliveryId::from_bits(webhook.id.bits() * 10 + n as u128),
        event: EventId::from_bits(webhook.id.bits() * 10 + n as u128),
        kind: "job.finished".into(),
        url: webhook.url.clone(),
        content: Content::Bytes(b"{}".to_vec()),
        job: None,
        signer: webhook.id.to_string(),
        created_at: START,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_webhooks_of_all_sorts_do_not_stand_in_each_others_way() {
    let mut fleet = Fleet::new().await;
    let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
    let limits = SendLimits { total_ms: 3_000, ..HASTY };
    let config = DeliveryConfig::default();
    let worker = fleet.outbox.worker(START, guard, limits, config);
    let ending = CancellationToken::new();
    let clock = Clock::system();
    let running = tokio::spawn(worker.run(ending.clone()));
    let good = WEBHOOKS * (20 - BAD.len()) / 20 * MESSAGES;
    let all_good = async {
        let mut seen = 0;
        while seen < good {
            seen += usize::from(fleet.receiver.request().await.starts_with("POST /good/"));
        }
    };
    tokio::time::timeout(PATIENCE, all_good).await.expect("the good ones are delivered");
    eprintln!("{good} messages to good webhooks arrived within {:?}", clock.elapsed());
    ending.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    // The receiver notices a moment later that a connection has ended.
    assert!(fleet.receiver.at_once() < config.at_once * 2, "{} at once", fleet.receiver.at_once());
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
                assert!(row.attempts == 1 && pause_ms >= SCHEDULE_MS[0], "{sort}: {pause_ms}");
            }
            assert!(row.last_answer.len() <= outbox::ANSWER_MAX);
        }
    }
    // A disabled webhook is one that is gone.
    let mut conn = fleet.outbox.store.read().await.unwrap();
    let wanted: Vec<_> = (0..WEBHOOKS).map(|n| (fleet.org, fleet.webhook(n).id)).collect();
    for receiver in webhooks::receivers(&mut conn, &wanted).await.unwrap() {
        assert!(receiver.active || receiver.url.contains("/gone/"), "{}", receiver.url);
    }
}
