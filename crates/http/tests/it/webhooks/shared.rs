//! Tests with customers that share a host: one customer's path does not affect the others.

use std::sync::Arc;

use probity_account::id::{DeliveryId, EventId, OrgId, WebhookId};
use probity_account::webhook::Topic;
use probity_backend::webhooks::sign::Secret;
use probity_backend::webhooks::{DeliveryConfig, LaneConfig, SendLimits};
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::webhooks::{self, WebhookEndpoint};
use tokio_util::sync::CancellationToken;

use super::delivery::{AllAtLoopback, Outbox, START};
use super::receivers::{HASTY, Manner, PATIENCE, Receiver, guard_allowing};

/// Number of deliveries per customer.
const MESSAGES: u128 = 10;

fn manner(request: &str) -> Manner {
    if request.starts_with("POST /good") { Manner::status(204) } else { Manner::Hang }
}

/// Stores deliveries of a customer that are due at `after_ms`: to a webhook, or to a job's callback URL.
async fn customer(outbox: &Outbox, n: u8, url: &str, by_webhook: bool, after_ms: i64) {
    customer_with(outbox, n, by_webhook, after_ms, MESSAGES, |_| url.to_owned()).await;
}

/// Stores this number of deliveries. Callbacks each have their own URL.
async fn customer_with(
    outbox: &Outbox,
    n: u8,
    by_webhook: bool,
    after_ms: i64,
    count: u128,
    url: impl Fn(u128) -> String,
) {
    let org = OrgRecord::new(OrgId::new(START, [n; 10]), None, "metered".into(), START);
    let id = WebhookId::from_bits(u128::from(n));
    let webhook = WebhookEndpoint {
        org: org.no,
        id,
        test: false,
        name: "crm".into(),
        url: url(0),
        events: vec![Topic::JobFinished],
        active: true,
        created_at: START,
        last_delivery_at: None,
    };
    let message = |at: u128| NewDelivery {
        org: org.no,
        id: DeliveryId::from_bits(u128::from(n) * 10_000 + at),
        event: EventId::from_bits(u128::from(n) * 10_000 + at),
        kind: "job.finished".into(),
        url: url(at),
        content: DeliveryContent::Bytes(b"{}".to_vec()),
        job: None,
        signer: if by_webhook { id.to_string() } else { String::new() },
        created_at: START + after_ms,
    };
    let messages: Vec<NewDelivery> = (0..count).map(message).collect();
    let sealed = outbox.secrets.seal_webhook_secret(id, Secret::fresh().bytes());
    let written = outbox.store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            webhooks::insert(tx, &webhook, &sealed, 1).await?;
            outbox::put_all(tx, &messages).await
        }
        .scope_boxed()
    });
    assert_eq!(written.await.unwrap(), u64::try_from(count).unwrap());
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_hangs_on_a_shared_host_holds_up_no_other_customer() {
    for by_webhook in [true, false] {
        let outbox = Outbox::new().await;
        let mut receiver = Receiver::start(Manner::ByRequest(manner)).await;
        let url = |path: &str| format!("http://shared.example:{}/{path}", receiver.address.port());
        for n in [1, 2] {
            customer(&outbox, n, &url("hangs"), by_webhook, 0).await;
        }
        customer(&outbox, 3, &url("good"), by_webhook, 1).await;
        let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
        // Receivers that are paused here stay paused for longer than the test waits.
        let lanes = LaneConfig { pause_ms: 600_000, pause_max_ms: 600_000, ..LaneConfig::default() };
        let config = DeliveryConfig {
            lanes,
            own_lanes: LaneConfig { at_once: 2, silences: 100, ..lanes },
            ..DeliveryConfig::default()
        };
        let ending = CancellationToken::new();
        let running = tokio::spawn(outbox.worker(START + 10, guard, HASTY, config).run(ending.clone()));
        let all_good = async {
            let mut good = 0;
            while good < MESSAGES {
                good += u128::from(receiver.request().await.starts_with("POST /good"));
            }
        };
        tokio::time::timeout(PATIENCE, all_good).await.expect("the good ones are delivered");
        ending.cancel();
        tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_names_a_new_silent_host_each_time_holds_up_no_other_customer() {
    let outbox = Outbox::new().await;
    let mut receiver = Receiver::start(Manner::ByRequest(manner)).await;
    let port = receiver.address.port();
    customer_with(&outbox, 1, false, 0, 500, |at| format!("http://h{at}.example:{port}/hangs")).await;
    customer(&outbox, 2, &format!("http://good.example:{port}/good"), false, 1).await;
    let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
    // Hanging receivers hang for longer than the test waits.
    let limits = SendLimits { total_ms: 600_000, ..HASTY };
    let config = DeliveryConfig { lease_ms: 1_200_000, ..DeliveryConfig::default() };
    let ending = CancellationToken::new();
    let running = tokio::spawn(outbox.worker(START + 10, guard, limits, config).run(ending.clone()));
    let all_good = async {
        let mut good = 0;
        while good < MESSAGES {
            good += u128::from(receiver.request().await.starts_with("POST /good"));
        }
    };
    tokio::time::timeout(PATIENCE, all_good).await.expect("the good ones are delivered");
    // On a busy machine, the kernel may report closed connections of the good customer late.
    let (silent, good) = (config.at_once / 2, usize::try_from(MESSAGES).unwrap());
    assert!(receiver.at_once() <= silent + good, "{}", receiver.at_once());
    running.abort();
}
