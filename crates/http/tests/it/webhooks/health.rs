//! Tests of disabling webhooks, over days of a moved clock.

use probity_access::secrets::Secrets;
use probity_account::id::{DeliveryId, EventId, JobId, OrgId, WebhookId};
use probity_account::webhook::Topic;
use probity_backend::webhooks::sign::Secret;
use probity_backend::webhooks::{SCHEDULE_MS, TEST};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::activity::events::{AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::activity::timeline;
use probity_store::jobs::{self, ChunkGroup, JobNo, NewChunk, NewJob, OutcomeKind, RowResult, SettledPart};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery, OutboxState};
use probity_store::webhooks::{self, WebhookEndpoint};
use probity_store::{OrgNo, ScopedFutureExt as _};

use super::delivery::{Outbox, START};
use super::receivers::{Manner, Receiver};

const DAY_MS: i64 = 24 * 3_600_000;

struct Hooked {
    outbox: Outbox,
    org: OrgNo,
    webhook: WebhookEndpoint,
}

impl Hooked {
    async fn new(url: &str) -> Self {
        Self::sealed_by(url, &[7; 32]).await
    }

    /// Creates a webhook whose secret is encrypted with this pepper.
    async fn sealed_by(url: &str, pepper: &[u8; 32]) -> Self {
        let outbox = Outbox::new().await;
        let org = OrgRecord::new(OrgId::new(START, [1; 10]), None, "metered".into(), START);
        let webhook = WebhookEndpoint {
            org: org.no,
            id: WebhookId::new(START, [1; 10]),
            test: false,
            name: "crm".into(),
            url: url.into(),
            events: vec![Topic::JobFinished],
            active: true,
            created_at: START,
            last_delivery_at: None,
        };
        let sealed = Secrets::of(pepper).seal_webhook_secret(webhook.id, Secret::fresh().bytes());
        let made = outbox.store.write(|tx| {
            async {
                organization::insert(tx, &org).await?;
                webhooks::insert(tx, &webhook, &sealed, 1).await
            }
            .scope_boxed()
        });
        assert!(made.await.unwrap());
        Self { outbox, org: org.no, webhook }
    }

    async fn put(&self, n: u8, kind: &str, content: DeliveryContent, at: Millis) -> DeliveryId {
        let id = DeliveryId::new(at, [n; 10]);
        let message = NewDelivery {
            org: self.org,
            id,
            event: EventId::new(at, [n; 10]),
            kind: kind.into(),
            url: self.webhook.url.clone(),
            content,
            job: Some(JobId::from_bits(9)),
            signer: self.webhook.id.to_string(),
            created_at: at,
        };
        assert!(self.outbox.store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap());
        id
    }

    async fn job_finished(&self, n: u8, at: Millis) -> DeliveryId {
        self.put(n, "job.finished", DeliveryContent::Bytes(b"{}".to_vec()), at).await
    }

    async fn state(&self, id: DeliveryId) -> OutboxState {
        outbox::by_id(&mut self.outbox.store.read().await.unwrap(), self.org, id).await.unwrap().state
    }

    /// Makes all attempts of a delivery stored at this time. Returns the time of the last one.
    async fn through(&self, at: Millis) -> Millis {
        let mut now = at;
        self.deliver(now).await;
        for pause_ms in SCHEDULE_MS {
            now = now + pause_ms + pause_ms / 10 + 60_000;
            self.deliver(now).await;
        }
        now
    }

    /// Makes an attempt of each due delivery, even if they are too many at once for one webhook.
    async fn deliver(&self, at: Millis) {
        for turn in 0..3 {
            self.outbox.deliver(at + turn * 2_000).await;
        }
    }

    async fn is_active(&self) -> bool {
        let mut conn = self.outbox.store.read().await.unwrap();
        webhooks::by_id(&mut conn, self.org, self.webhook.id, false).await.unwrap().active
    }

    async fn told(&self) -> Vec<(AccountChange, Option<EventActor>)> {
        let mut conn = self.outbox.store.read().await.unwrap();
        let found = timeline::newest_events(&mut conn, self.org, Millis(0), Millis(i64::MAX), 10).await.unwrap();
        found.into_iter().map(|event| (event.what, event.actor)).collect()
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn five_days_without_success_and_three_messages_given_up_disable_it() {
    let receiver = Receiver::start(Manner::status(500)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    for n in 1..=3 {
        hooked.job_finished(n, START).await;
    }
    let after = hooked.through(START).await;
    assert!(after.since(START) < 5 * DAY_MS);
    assert!(hooked.is_active().await, "three were given up, within two days");
    hooked.job_finished(4, START + 5 * DAY_MS - 60_000).await;
    hooked.outbox.deliver(START + 5 * DAY_MS - 60_000).await;
    assert!(hooked.is_active().await, "it is not five days yet");
    let last = hooked.job_finished(5, START + 5 * DAY_MS + 60_000).await;
    hooked.outbox.deliver(START + 5 * DAY_MS + 60_000).await;
    assert!(!hooked.is_active().await);
    let what = AccountChange::about(AccountEventKind::WebhookDisabled, EventSubject::Webhook(hooked.webhook.id));
    let expected = (what, Some(EventActor::System));
    assert_eq!(hooked.told().await, [expected]);
    let hits = receiver.hits();
    hooked.outbox.deliver(START + 6 * DAY_MS).await;
    assert_eq!((receiver.hits(), hooked.state(last).await), (hits, OutboxState::Cancelled), "what waited is not sent");
}

#[tokio::test]
#[ignore = "thorough"]
async fn days_alone_and_messages_alone_do_not_disable_it() {
    let receiver = Receiver::start(Manner::status(500)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    for (n, day) in (1..=2).zip([0, 6]) {
        hooked.job_finished(n, START + day * DAY_MS).await;
        hooked.through(START + day * DAY_MS).await;
        assert!(hooked.is_active().await, "{n} given up");
    }
    // Manual test deliveries do not count.
    hooked.put(9, TEST, DeliveryContent::Bytes(b"{}".to_vec()), START + 9 * DAY_MS).await;
    hooked.outbox.deliver(START + 9 * DAY_MS).await;
    assert!(hooked.is_active().await);
    hooked.job_finished(3, START + 10 * DAY_MS).await;
    hooked.through(START + 10 * DAY_MS).await;
    assert!(!hooked.is_active().await, "the third");
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_receiver_that_says_when_to_come_back_is_not_disabled() {
    let busy = "HTTP/1.1 503 x\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n";
    let receiver = Receiver::start(Manner::Say(busy.to_owned())).await;
    let hooked = Hooked::new(&receiver.url()).await;
    for (n, day) in (1..=4).zip([0, 2, 4, 6]) {
        hooked.job_finished(n, START + day * DAY_MS).await;
        hooked.through(START + day * DAY_MS).await;
    }
    assert!(receiver.hits() > 20 && hooked.is_active().await, "{}", receiver.hits());
}

#[tokio::test]
#[ignore = "thorough"]
async fn one_success_wipes_the_slate() {
    let receiver = Receiver::start(Manner::ByRequest(|request| {
        Manner::status(if request.ends_with("\"good\"") { 200 } else { 500 })
    }))
    .await;
    let hooked = Hooked::new(&receiver.url()).await;
    for n in 1..=2 {
        hooked.job_finished(n, START).await;
    }
    hooked.through(START).await;
    let good = hooked.put(3, TEST, DeliveryContent::Bytes(b"\"good\"".to_vec()), START + 4 * DAY_MS).await;
    hooked.outbox.deliver(START + 4 * DAY_MS).await;
    assert_eq!(hooked.state(good).await, OutboxState::Delivered);
    hooked.job_finished(4, START + 6 * DAY_MS).await;
    hooked.through(START + 6 * DAY_MS).await;
    assert!(hooked.is_active().await, "one given up since");
}

#[tokio::test]
#[ignore = "thorough"]
async fn gone_disables_at_once_even_by_a_test() {
    let receiver = Receiver::start(Manner::status(410)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    let tried = hooked.put(1, TEST, DeliveryContent::Bytes(b"{}".to_vec()), START).await;
    hooked.outbox.deliver(START).await;
    assert_eq!((hooked.is_active().await, hooked.state(tried).await), (false, OutboxState::Exhausted));
    assert_eq!(hooked.told().await.len(), 1);
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_tells_of_rows_that_are_gone_is_dropped_unsent() {
    let receiver = Receiver::start(Manner::status(200)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    let rows = hooked.put(1, "status.passed", DeliveryContent::Rows(vec![1, 2]), START).await;
    hooked.outbox.deliver(START).await;
    assert_eq!((receiver.hits(), hooked.state(rows).await), (0, OutboxState::Cancelled));
    assert!(hooked.is_active().await);
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_cannot_be_signed_comes_to_an_end_and_says_nothing_of_its_webhook() {
    let receiver = Receiver::start(Manner::status(200)).await;
    let hooked = Hooked::sealed_by(&receiver.url(), &[8; 32]).await;
    let mut ids = Vec::new();
    for n in 1..=3 {
        ids.push(hooked.job_finished(n, START).await);
    }
    hooked.deliver(START).await;
    assert_eq!(hooked.state(ids[0]).await, OutboxState::Waiting);
    let end = hooked.through(START + 60_000).await;
    for id in &ids {
        assert_eq!(hooked.state(*id).await, OutboxState::Exhausted);
        let row = outbox::by_id(&mut hooked.outbox.store.read().await.unwrap(), hooked.org, *id).await.unwrap();
        assert_eq!((row.attempts, row.last_error.as_deref()), (8, Some("unmade")));
    }
    hooked.job_finished(4, end + 5 * 86_400_000).await;
    hooked.deliver(end + 5 * 86_400_000).await;
    assert!(hooked.is_active().await, "nobody has asked the webhook");
    assert_eq!(receiver.hits(), 0);
}

/// Creates a job with one address that passes, and damages its block of addresses.
async fn damaged_job(hooked: &Hooked) {
    let id = JobId::from_bits(9);
    let (org, by) = (hooked.org, "api");
    let new = NewJob { org, id, test: true, source: by, started_by: by, source_action: by, actor: None, at: START };
    let kind = OutcomeKind {
        reason: Reason::Valid,
        findings: Vec::new(),
        meta: String::new(),
        rule: "rule".into(),
        smtp_code: None,
        enhanced: None,
        host: None,
        provider: None,
        source: "smtp".into(),
        flags: 0,
        charged: false,
    };
    let results = vec![RowResult { idx: 0, copies: 1, kind: kind.into(), suggestion: None }];
    let done = SettledPart { results, done: true, ..SettledPart::default() };
    let (destination, source) = (String::new(), String::new());
    let chunk = NewChunk { ready_at: START, size: 1, body: b"{}".to_vec(), destination, source };
    let head = ChunkGroup { org, job: JobNo::of_id(id), destination: String::new(), source: String::new() };
    let made = hooked.outbox.store.write(|tx| {
        async {
            let no = jobs::begin(tx, &new).await?;
            jobs::add_block(tx, org, no, 0, b"no block").await?;
            jobs::accept(tx, &new, 1, None, START).await?;
            let claim = jobs::claim_import(tx, START, 60_000).await?.expect("the job waits");
            jobs::add_chunks(tx, &claim, std::slice::from_ref(&chunk), &[], START, 60_000).await?;
            jobs::imported(tx, &claim, 0, START).await?;
            let claimed = jobs::claim_chunks(tx, &head, START, 60_000, 1).await?;
            jobs::settle(tx, &claimed[0].fence, &done, START).await
        }
        .scope_boxed()
    });
    assert!(made.await.unwrap().is_some());
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_message_about_rows_that_cannot_be_read_comes_to_an_end() {
    let receiver = Receiver::start(Manner::status(200)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    damaged_job(&hooked).await;
    let id = hooked.put(1, "status.passed", DeliveryContent::Rows(vec![0]), START).await;
    hooked.through(START).await;
    assert_eq!((receiver.hits(), hooked.state(id).await), (0, OutboxState::Exhausted));
    // Other deliveries of the webhook are not affected.
    let other = hooked.job_finished(2, START + 90 * 86_400_000).await;
    hooked.deliver(START + 90 * 86_400_000).await;
    assert_eq!((receiver.hits(), hooked.state(other).await), (1, OutboxState::Delivered));
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_webhook_that_is_gone_gets_nothing_that_waited() {
    let receiver = Receiver::start(Manner::status(200)).await;
    let hooked = Hooked::new(&receiver.url()).await;
    let waiting = hooked.job_finished(1, START).await;
    let WebhookEndpoint { org, id, .. } = hooked.webhook;
    hooked.outbox.store.write(|tx| webhooks::remove(tx, org, id, false).scope_boxed()).await.unwrap();
    hooked.outbox.deliver(START).await;
    assert_eq!((receiver.hits(), hooked.state(waiting).await), (0, OutboxState::Cancelled));
}
