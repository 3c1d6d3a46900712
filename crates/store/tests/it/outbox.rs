//! Deliveries: added once, sent by one run at a time, and recorded by the run that holds them.

use probity_account::id::{DeliveryId, EventId, WebhookId};
use probity_mail::time::{HOUR_MS, Millis};
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::webhooks::callback_secret;
use probity_store::webhooks::outbox::{
    self, ANSWER_MAX, AttemptResult, ClaimedDelivery, DeliveryContent, EARLIER_ANSWER_MAX, LoggedDelivery, NewDelivery,
    OutboxDepth, OutboxState, SenderCapacity,
};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;

const START: Millis = Millis(1_700_000_000_000);
const LEASE_MS: i64 = 60_000;
const ORG: OrgNo = OrgNo(3);

fn message(n: u8, after_ms: i64) -> NewDelivery {
    NewDelivery {
        org: ORG,
        id: DeliveryId::new(START, [n; 10]),
        event: EventId::new(START, [n; 10]),
        kind: "job.finished".into(),
        url: "https://hooks.example.com/x".into(),
        content: DeliveryContent::Bytes(vec![0, n, 255]),
        job: None,
        signer: String::new(),
        created_at: START + after_ms,
    }
}

async fn put(store: &Store, delivery: &NewDelivery) -> bool {
    store.write(|tx| outbox::put(tx, delivery).scope_boxed()).await.unwrap()
}

async fn claim(store: &Store, after_ms: i64, run: &str, at_most: u32) -> Vec<ClaimedDelivery> {
    let now = START + after_ms;
    store.write(|tx| outbox::claim(tx, now, LEASE_MS, run, SenderCapacity::of(at_most)).scope_boxed()).await.unwrap()
}

fn failed(next_at: Millis) -> AttemptResult {
    AttemptResult {
        at: START + 7,
        took_ms: 12,
        status: Some(500),
        error: None,
        answer: b"\xffno".to_vec(),
        state: OutboxState::Waiting,
        next_at,
    }
}

async fn record(store: &Store, claimed: &ClaimedDelivery, attempt: &AttemptResult) -> Result<()> {
    store.write(|tx| outbox::record(tx, claimed, attempt).scope_boxed()).await
}

async fn logged(store: &Store, n: u8) -> LoggedDelivery {
    let mut conn = store.read().await.unwrap();
    outbox::by_id(&mut conn, ORG, message(n, 0).id).await.unwrap()
}

#[tokio::test]
async fn an_event_is_put_once_for_each_url() {
    for_each_database(async |store| {
        assert!(put(&store, &message(1, 0)).await);
        let again = NewDelivery { id: DeliveryId::new(START, [9; 10]), ..message(1, 5) };
        assert!(!put(&store, &again).await);
        assert!(put(&store, &NewDelivery { url: "https://hooks.example.com/y".into(), ..again.clone() }).await);
        assert!(put(&store, &NewDelivery { org: OrgNo(4), ..again }).await, "another organization's event is another");
        assert_eq!(claim(&store, 5, "a", 10).await.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn what_is_due_is_claimed_by_one_run_until_its_lease_ends() {
    for_each_database(async |store| {
        for n in 1..=3 {
            put(&store, &message(n, i64::from(n))).await;
        }
        let due = async |after_ms| {
            outbox::any_due(&mut store.read().await.unwrap(), START + after_ms, SenderCapacity::of(1)).await.unwrap()
        };
        assert!(!due(0).await && due(1).await);
        assert_eq!(claim(&store, 0, "early", 10).await, []);
        let first = claim(&store, 3, "one", 2).await;
        let expected = |n: u8, run: &str| {
            let NewDelivery { org, id, event, kind, url, content, job, signer, created_at } = message(n, i64::from(n));
            let (due_at, run) = (created_at, run.into());
            ClaimedDelivery {
                org,
                id,
                event,
                kind,
                url,
                content,
                job,
                signer,
                created_at,
                attempts: 0,
                tried: 0,
                due_at,
                run,
            }
        };
        assert_eq!(first, [expected(1, "one"), expected(2, "one")], "the longest due first");
        assert_eq!(claim(&store, 3, "two", 10).await, [expected(3, "two")]);
        assert!(!due(3).await && !due(LEASE_MS + 2).await && due(LEASE_MS + 3).await);
        assert_eq!(claim(&store, LEASE_MS + 2, "three", 10).await, []);
        assert_eq!(claim(&store, LEASE_MS + 3, "three", 10).await.len(), 3, "whoever held them has died");
        let late = record(&store, &first[0], &failed(START)).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        assert_eq!(logged(&store, 1).await.attempts, 0);
    })
    .await;
}

#[tokio::test]
async fn who_has_a_share_already_waits_and_stands_in_nobodys_way() {
    for_each_database(async |store| {
        for n in 1..=3 {
            put(&store, &message(n, i64::from(n))).await;
        }
        let other = NewDelivery { org: OrgNo(4), ..message(4, 4) };
        put(&store, &other).await;
        let (first, both) = ([ORG], [OrgNo(4), ORG]);
        let due = async |not_of: &[OrgNo]| {
            let room = SenderCapacity { at_most: 2, not_of };
            outbox::any_due(&mut store.read().await.unwrap(), START + 4, room).await.unwrap()
        };
        assert!(due(&first).await && !due(&both).await);
        let room = SenderCapacity { at_most: 2, not_of: &first };
        let claim = store.write(|tx| outbox::claim(tx, START + 4, LEASE_MS, "run", room).scope_boxed());
        let claimed = claim.await.unwrap();
        assert_eq!(claimed.iter().map(|one| one.id).collect::<Vec<_>>(), [other.id]);
    })
    .await;
}

#[tokio::test]
async fn attempts_are_recorded_once_and_followed_by_the_next() {
    for_each_database(async |store| {
        put(&store, &message(1, 0)).await;
        let [claimed] = &claim(&store, 0, "one", 10).await[..] else { panic!("one is due") };
        record(&store, claimed, &failed(START + 5_000)).await.unwrap();
        let twice = record(&store, claimed, &failed(START)).await;
        assert!(matches!(twice, Err(StoreError::LeaseLost)), "{twice:?}");
        let row = logged(&store, 1).await;
        assert_eq!(
            (row.state, row.attempts, row.next_at, row.content),
            (OutboxState::Waiting, 1, START + 5_000, DeliveryContent::Bytes(vec![0, 1, 255]))
        );
        assert_eq!(
            (row.first_at, row.last_status, row.last_answer.as_slice()),
            (Some(START + 7), Some(500), &b"\xffno"[..])
        );
        assert_eq!(claim(&store, 4_999, "two", 10).await, []);
        let [claimed] = &claim(&store, 5_000, "three", 10).await[..] else { panic!("it is due again") };
        assert_eq!(claimed.attempts, 1);
        let done = AttemptResult {
            at: START + 5_001,
            status: Some(204),
            error: None,
            state: OutboxState::Delivered,
            answer: vec![b'x'; ANSWER_MAX + 1],
            ..failed(START)
        };
        record(&store, claimed, &done).await.unwrap();
        let row = logged(&store, 1).await;
        assert_eq!((row.state, row.attempts, row.last_answer.len()), (OutboxState::Delivered, 2, ANSWER_MAX));
        assert_eq!((row.first_at, row.last_at), (Some(START + 7), Some(START + 5_001)));
        assert_eq!(claim(&store, 10 * LEASE_MS, "four", 10).await, [], "what is delivered is not sent again");
    })
    .await;
}

#[tokio::test]
async fn what_cannot_go_now_is_handed_back_untried() {
    for_each_database(async |store| {
        put(&store, &message(1, 0)).await;
        put(&store, &message(2, 0)).await;
        let held = claim(&store, 0, "one", 10).await;
        let back: Vec<_> = held.iter().map(|one| (one.org, one.id, START + 100)).collect();
        store.write(|tx| outbox::defer(tx, "another", &back).scope_boxed()).await.unwrap();
        assert_eq!(claim(&store, 100, "two", 10).await, [], "only whoever holds them can");
        store.write(|tx| outbox::defer(tx, "one", &back[..1]).scope_boxed()).await.unwrap();
        assert_eq!(claim(&store, 99, "two", 10).await, []);
        let again = claim(&store, 100, "two", 10).await;
        assert_eq!((again.len(), again[0].id, again[0].attempts), (1, held[0].id, 0));
    })
    .await;
}

#[tokio::test]
async fn the_log_is_paged_and_filtered() {
    for_each_database(async |store| {
        for n in 1..=4 {
            put(&store, &message(n, i64::from(n / 2))).await;
        }
        let [claimed] = &claim(&store, 0, "one", 1).await[..] else { panic!("one is due") };
        record(
            &store,
            claimed,
            &AttemptResult { state: OutboxState::Exhausted, error: Some("timeout"), ..failed(START) },
        )
        .await
        .unwrap();
        let mut conn = store.read().await.unwrap();
        let ids = |page: &[LoggedDelivery]| page.iter().map(|row| row.id).collect::<Vec<_>>();
        let id = |n| message(n, 0).id;
        let first = outbox::page(&mut conn, ORG, None, None, 3).await.unwrap();
        assert_eq!(ids(&first), [id(4), id(3), id(2)]);
        let after = Some((first[2].created_at, first[2].id));
        assert_eq!(ids(&outbox::page(&mut conn, ORG, None, after, 3).await.unwrap()), [id(1)]);
        assert_eq!(ids(&outbox::page(&mut conn, ORG, Some(OutboxState::Exhausted), None, 3).await.unwrap()), [id(1)]);
        assert_eq!(outbox::page(&mut conn, OrgNo(4), None, None, 3).await.unwrap(), []);
        let foreign = outbox::by_id(&mut conn, OrgNo(4), id(1)).await;
        assert!(matches!(foreign, Err(StoreError::NotFound)), "{foreign:?}");
        let depth = outbox::depth(&mut conn).await.unwrap();
        assert_eq!(depth, OutboxDepth { waiting: 3, first_due_at: Some(START + 1) });
    })
    .await;
}

#[tokio::test]
async fn a_message_can_be_sent_once_more() {
    for_each_database(async |store| {
        put(&store, &message(1, 0)).await;
        let [claimed] = &claim(&store, 0, "one", 1).await[..] else { panic!("one is due") };
        let resend = async |org, n: u8| {
            let id = message(n, 0).id;
            store.write(|tx| outbox::resend(tx, org, id, START + 50).scope_boxed()).await
        };
        // A run is sending it, and its record no longer counts.
        resend(ORG, 1).await.unwrap();
        let late = record(&store, claimed, &failed(START)).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        let [claimed] = &claim(&store, 50, "two", 1).await[..] else { panic!("it is due again") };
        record(&store, claimed, &AttemptResult { state: OutboxState::Delivered, ..failed(START) }).await.unwrap();
        resend(ORG, 1).await.unwrap();
        let [claimed] = &claim(&store, 50, "three", 1).await[..] else { panic!("it is due again") };
        assert_eq!((claimed.attempts, claimed.event), (0, message(1, 0).event));
        for (org, n) in [(OrgNo(4), 1), (ORG, 2)] {
            let missing = resend(org, n).await;
            assert!(matches!(missing, Err(StoreError::NotFound)), "{missing:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn old_messages_that_wait_for_nothing_are_purged() {
    for_each_database(async |store| {
        for n in 1..=4 {
            put(&store, &message(n, i64::from(n))).await;
        }
        let held = claim(&store, 100, "one", 3).await;
        for claimed in &held {
            record(&store, claimed, &AttemptResult { state: OutboxState::Delivered, ..failed(START) }).await.unwrap();
        }
        let purge = async |before| store.write(|tx| outbox::purge(tx, before, 2).scope_boxed()).await.unwrap();
        assert_eq!(purge(START + 3).await, 2);
        assert_eq!(purge(START + 3).await, 0);
        assert_eq!(purge(START + 100).await, 1, "the fourth still waits");
        assert_eq!(logged(&store, 4).await.state, OutboxState::Waiting);
    })
    .await;
}

#[tokio::test]
async fn messages_go_when_their_organization_wishes_so() {
    const DAY_MS: i64 = 24 * 3_600_000;
    for_each_database(async |store| {
        let wish = async |org, days| {
            let wished = OrgSettings { delivery_retention_days: days, ..OrgSettings::default() };
            store.write(|tx| settings::write(tx, org, &wished, START).scope_boxed()).await.unwrap();
        };
        let (other, unsaid) = (OrgNo(4), OrgNo(5));
        for n in 1..=4 {
            put(&store, &message(n, i64::from(n))).await;
        }
        put(&store, &NewDelivery { org: other, ..message(5, 0) }).await;
        put(&store, &NewDelivery { org: unsaid, ..message(6, 0) }).await;
        for claimed in &claim(&store, 100, "one", 6).await {
            let state = if claimed.id == message(4, 0).id { OutboxState::Waiting } else { OutboxState::Delivered };
            record(&store, claimed, &AttemptResult { state, ..failed(START) }).await.unwrap();
        }
        let found = async |now| outbox::kept_too_long(&mut store.read().await.unwrap(), now, 2).await.unwrap();
        let purge = async |old: &[_], now| {
            store.write(|tx| outbox::purge_kept_too_long(tx, old, now).scope_boxed()).await.unwrap()
        };
        let later = START + 2 * DAY_MS + 3;
        assert_eq!(found(later).await, [], "nobody has wished anything");
        wish(ORG, Some(2)).await;
        wish(other, Some(3)).await;
        let old = found(later).await;
        assert_eq!(old.len(), 2, "the third is not old enough: {old:?}");
        store.write(|tx| outbox::resend(tx, ORG, message(2, 0).id, later).scope_boxed()).await.unwrap();
        wish(ORG, None).await;
        assert_eq!(purge(&old, later).await, 0, "it wishes otherwise by now");
        wish(ORG, Some(2)).await;
        assert_eq!(purge(&old, later).await, 1, "one waits again");
        let much_later = START + 9 * DAY_MS;
        while let old @ [_, ..] = &*found(much_later).await {
            assert!(purge(old, much_later).await > 0);
        }
        let left = async |org| {
            let page = outbox::page(&mut store.read().await.unwrap(), org, None, None, 10).await.unwrap();
            page.iter().map(|one| one.state).collect::<Vec<_>>()
        };
        assert_eq!(left(ORG).await, [OutboxState::Waiting; 2]);
        assert_eq!((left(other).await, left(unsaid).await), (vec![], vec![OutboxState::Delivered]));
    })
    .await;
}

#[tokio::test]
async fn secrets_are_made_once_and_rotated() {
    for_each_database(async |store| {
        let of = async |fresh: &[u8]| {
            store.write(|tx| callback_secret::secret_of(tx, ORG, fresh).scope_boxed()).await.unwrap()
        };
        let rotate = async |fresh: &[u8], at| {
            store.write(|tx| callback_secret::rotate(tx, ORG, fresh, at, at + 5).scope_boxed()).await.unwrap()
        };
        let find = async || callback_secret::find_secret(&mut store.read().await.unwrap(), ORG).await.unwrap();
        assert_eq!(find().await, None);
        assert_eq!(of(b"one").await.secret, b"one");
        let standing = of(b"two").await;
        assert_eq!((standing.secret.as_slice(), standing.previous), (&b"one"[..], None));
        let rotated = rotate(b"three", START).await;
        assert_eq!(
            (rotated.secret.as_slice(), &rotated.previous),
            (&b"three"[..], &Some((b"one".to_vec(), START + 5)))
        );
        assert_eq!(of(b"four").await, rotated);
        assert_eq!(find().await, Some(rotated.clone()));
        let again = rotate(b"five", START + 4).await;
        assert_eq!(
            (again.secret.as_slice(), again.previous),
            (&b"five"[..], rotated.previous),
            "it signs until its end"
        );
        assert_eq!(rotate(b"six", START + 5).await.previous, Some((b"five".to_vec(), START + 10)));
        let first = store.write(|tx| callback_secret::rotate(tx, OrgNo(4), b"new", START, START + 5).scope_boxed());
        let first = first.await.unwrap();
        assert_eq!((first.secret.as_slice(), first.previous), (&b"new"[..], None));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_claim_at_once_share_what_is_due() {
    for_each_database(async |store| {
        for n in 0..100 {
            put(&store, &message(n, 0)).await;
        }
        let tasks = (0..8).map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut all = Vec::new();
                loop {
                    let some = claim(&store, 0, &format!("{task} {}", all.len()), 7).await;
                    if some.is_empty() {
                        return all;
                    }
                    all.extend(some.into_iter().map(|one| one.id));
                }
            })
        });
        let all = futures_util::future::try_join_all(tasks.collect::<Vec<_>>()).await.unwrap();
        let mut all = all.concat();
        all.sort();
        let claimed = all.len();
        all.dedup();
        assert_eq!(claimed, all.len(), "nothing is claimed twice");
        // The last claim skips rows that another one has locked, but none are lost.
        assert_eq!(all.len() + claim(&store, 0, "rest", 100).await.len(), 100);
    })
    .await;
}

#[tokio::test]
async fn every_attempt_is_kept_and_goes_with_its_message() {
    for_each_database(async |store| {
        put(&store, &message(1, 0)).await;
        put(&store, &message(2, 0)).await;
        let tried = async || {
            let ids = [message(1, 0).id, message(2, 0).id];
            outbox::before_the_last(&mut store.read().await.unwrap(), ORG, &ids).await.unwrap()
        };
        for n in 0..25 {
            if n == 8 {
                // A resent delivery counts from the beginning; its log continues.
                let resent = store.write(|tx| outbox::resend(tx, ORG, message(1, 0).id, START + 8).scope_boxed());
                resent.await.unwrap();
            }
            let mine =
                claim(&store, n, &format!("run {n}"), 10).await.into_iter().find(|one| one.id == message(1, 0).id);
            let mut claimed = mine.expect("it is due");
            assert_eq!((claimed.tried, claimed.attempts), (n, if n < 8 { n } else { n - 8 }));
            claimed.url = format!("https://hooks.example.com/{n}");
            let answer = vec![b'x'; 1_000 * usize::from(n == 23)];
            let attempt = AttemptResult { at: START + n, status: Some(500), answer, ..failed(START + n + 1) };
            record(&store, &claimed, &attempt).await.unwrap();
            let late = record(&store, &claimed, &attempt).await;
            assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
            let handed_back = claimed.run.clone();
            let other = [(ORG, message(2, 0).id, START)];
            store.write(|tx| outbox::defer(tx, &handed_back, &other).scope_boxed()).await.unwrap();
        }
        let log = tried().await;
        assert_eq!(log.len(), 1, "what was never tried has none");
        let log = &log[&message(1, 0).id];
        assert_eq!(log.len(), 19, "with the last one, twenty");
        let expected: Vec<_> = (5..24).rev().map(|n| (START + n, format!("https://hooks.example.com/{n}"))).collect();
        assert_eq!(log.iter().map(|one| (one.at, one.url.clone())).collect::<Vec<_>>(), expected);
        assert_eq!((log[0].answer.len(), log[1].answer.len()), (EARLIER_ANSWER_MAX, 0));
        assert_eq!((log[0].status, log[0].took_ms), (Some(500), 12));
        assert_eq!(logged(&store, 1).await.last_at, Some(START + 24));

        let mine = claim(&store, 30, "last", 10).await.into_iter().find(|one| one.id == message(1, 0).id).unwrap();
        let done = AttemptResult { state: OutboxState::Exhausted, ..failed(START) };
        record(&store, &mine, &done).await.unwrap();
        let purged = store.write(|tx| outbox::purge(tx, START + 10, 10).scope_boxed()).await.unwrap();
        assert_eq!((purged, tried().await.len()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn deliveries_of_a_webhook_are_counted_by_hour_and_state() {
    for_each_database(async |store| {
        let hour = START.0 / HOUR_MS;
        let webhook = WebhookId::new(START, [1; 10]);
        for (n, after_ms) in [(1, 0), (2, 1), (3, HOUR_MS), (4, 2 * HOUR_MS)] {
            put(&store, &NewDelivery { signer: webhook.to_string(), ..message(n, after_ms) }).await;
        }
        put(&store, &NewDelivery { signer: WebhookId::new(START, [2; 10]).to_string(), ..message(5, 0) }).await;
        put(&store, &message(6, 0)).await;
        let [first, ..] = &*claim(&store, 1, "one", 1).await else { panic!("one is due") };
        record(&store, first, &AttemptResult { state: OutboxState::Delivered, ..failed(START) }).await.unwrap();
        let counted = async |after_ms| {
            let from = START + after_ms;
            let mut found = outbox::by_hour(&mut store.read().await.unwrap(), ORG, webhook, from).await.unwrap();
            found.sort_by_key(|(at, state, _)| (*at, state.as_str()));
            found
        };
        let [delivered, waiting] = [OutboxState::Delivered, OutboxState::Waiting];
        let later = [(hour + 1, waiting, 1), (hour + 2, waiting, 1)];
        assert_eq!(counted(0).await, [&[(hour, delivered, 1), (hour, waiting, 1)][..], &later].concat());
        assert_eq!(counted(2).await, later);
    })
    .await;
}
