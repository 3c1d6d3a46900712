//! Erasures: their scope, their order, and their stored progress.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::future::join_all;
use probity_account::id::{DeliveryId, ErasureId, EventId, JobId, OrgId};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::privacy::erasures::{
    self, ClaimedErasure, ErasureStage, ErasureSubmission, ErasureTurn, NewErasure, SuppressionTag, THROUGH,
};
use probity_store::webhooks::outbox::{self, AttemptResult, DeliveryContent, NewDelivery, OutboxState, SenderCapacity};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const LEASE_MS: i64 = 1_000;

async fn org(store: &Store, n: u8) -> OrgNo {
    let org = OrgRecord::new(OrgId::new(NOW, [n; 10]), None, "metered".into(), NOW);
    store.write(|tx| organization::insert(tx, &org).scope_boxed()).await.unwrap();
    org.no
}

fn erasure(org: OrgNo, n: u8, at: Millis) -> NewErasure {
    let id = ErasureId::new(NOW, [n; 10]);
    NewErasure { org, id, test: true, tags: vec![[n; 16]], webhook_url: None, requested_at: at }
}

async fn request(store: &Store, new: &NewErasure, now: Millis) {
    assert!(store.write(|tx| erasures::request(tx, new, now).scope_boxed()).await.unwrap());
}

async fn wish(store: &Store, new: &NewErasure, open_max: usize) -> ErasureSubmission {
    store.write(|tx| erasures::wish(tx, new, NOW, open_max).scope_boxed()).await.unwrap()
}

/// Creates a delivery of a live key, on a node whose clock reads `at`.
async fn message(store: &Store, org: OrgNo, n: u8, at: Millis) -> NewDelivery {
    let delivery = NewDelivery {
        org,
        id: DeliveryId::new(NOW, [n; 10]),
        event: EventId::new(NOW, [n; 10]),
        kind: "job.finished".into(),
        url: "https://hooks.example.com/x".into(),
        content: DeliveryContent::Bytes(b"{}".to_vec()),
        job: None,
        signer: String::new(),
        created_at: at,
    };
    assert!(store.write(|tx| outbox::put(tx, &delivery).scope_boxed()).await.unwrap());
    delivery
}

/// Sends due deliveries; receivers respond with these bytes.
async fn send(store: &Store, at: Millis, answer: &[u8], state: OutboxState) {
    let sent = store.write(|tx| {
        async {
            for claimed in outbox::claim(tx, at, LEASE_MS, "sender", SenderCapacity::of(10)).await? {
                let answer = answer.to_vec();
                let attempt =
                    AttemptResult { at, took_ms: 1, status: Some(204), error: None, answer, state, next_at: at + 1 };
                outbox::record(tx, &claimed, &attempt).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    sent.await.unwrap();
}

/// Accepts a test job, on a node whose clock reads `at`.
async fn accept(store: &Store, org: OrgNo, n: u8, at: Millis) -> JobNo {
    let id = JobId::new(NOW, [n; 10]);
    let job = NewJob { org, id, test: true, source: "api", started_by: "api", source_action: "test", actor: None, at };
    let accepted = store.write(|tx| {
        async {
            let no = jobs::begin(tx, &job).await?;
            jobs::accept(tx, &job, 1, None, at).await?;
            Ok(no)
        }
        .scope_boxed()
    });
    accepted.await.unwrap()
}

async fn claim(store: &Store, now: Millis, turn: ErasureTurn) -> Option<ClaimedErasure> {
    store.write(|tx| erasures::claim(tx, now, LEASE_MS, "run", turn).scope_boxed()).await.unwrap()
}

async fn complete(store: &Store, claimed: &ClaimedErasure, now: Millis) {
    store.write(|tx| erasures::complete(tx, claimed, now).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn what_was_copied_while_an_erasure_was_open_may_hold_what_it_erases() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let since = async |at| store.write(|tx| erasures::any_since(tx, org, true, at).scope_boxed()).await.unwrap();
        assert!(!since(NOW).await);
        request(&store, &erasure(org, 1, NOW), NOW).await;
        assert!(since(NOW + -5).await && since(NOW + 5).await, "it is open");
        let claimed = claim(&store, NOW, ErasureTurn::FIRST).await.unwrap();
        complete(&store, &claimed, NOW + 10).await;
        assert!(since(NOW + 10).await, "it was open then");
        assert!(!since(NOW + 11).await);
        let of_live = store.write(|tx| erasures::any_since(tx, org, false, NOW).scope_boxed()).await.unwrap();
        assert!(!of_live);
    })
    .await;
}

#[tokio::test]
async fn an_erasure_reaches_what_a_faster_clock_has_dated_and_nothing_later() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let ahead = NOW + 700;
        let job = accept(&store, org, 1, ahead).await;
        let found = async |id| erasures::by_id(&mut store.read().await.unwrap(), org, id, true).await.unwrap();
        let new = erasure(org, 1, NOW);
        assert_eq!(wish(&store, &new, 1).await, ErasureSubmission::Taken(ahead));
        assert_eq!((found(new.id).await.requested_at, found(new.id).await.known_at), (ahead, NOW));
        let later = accept(&store, org, 2, NOW).await;
        let tags = BTreeSet::from([[1; 16], [2; 16]]);
        let erased = async |job| store.write(|tx| jobs::erased_since(tx, org, job, &tags).scope_boxed()).await.unwrap();
        assert_eq!(erased(job).await, HashSet::from([[1; 16]]));
        assert_eq!(erased(later).await, HashSet::<SuppressionTag>::new(), "accepted behind it");
        // A repeated erasure reaches the same data.
        let again = erasure(org, 2, NOW + 1);
        request(&store, &again, NOW + 9_000).await;
        let again = found(again.id).await;
        assert_eq!((again.requested_at, again.known_at), (NOW + 1, NOW + 9_000));
        message(&store, org, 3, NOW + 800).await;
        let third = wish(&store, &erasure(org, 3, NOW), usize::MAX).await;
        assert_eq!(third, ErasureSubmission::Taken(NOW + 800), "receivers' answers, too");
    })
    .await;
}

#[tokio::test]
async fn only_answers_that_say_something_are_emptied() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let empty = async || {
            let emptied = store.write(|tx| erasures::empty_receivers_answers(tx, org, false, NOW, 10).scope_boxed());
            emptied.await.unwrap()
        };
        message(&store, org, 1, NOW).await;
        send(&store, NOW, b"", OutboxState::Waiting).await;
        send(&store, NOW + 1, b"", OutboxState::Waiting).await;
        assert_eq!(empty().await, 0, "neither the last answer nor the one before");
        for after_ms in 2..=4 {
            send(&store, NOW + after_ms, b"jo@example.org", OutboxState::Waiting).await;
        }
        assert_eq!(empty().await, 3);
        assert_eq!(empty().await, 0);
    })
    .await;
}

#[tokio::test]
async fn organizations_take_turns_and_what_is_done_again_is_known() {
    for_each_database(async |store| {
        let (one, two) = (org(&store, 1).await, org(&store, 2).await);
        let (low, high) = (one.min(two), one.max(two));
        for n in 1..=3 {
            request(&store, &erasure(low, n, NOW + -5), NOW + -5).await;
        }
        request(&store, &erasure(high, 4, NOW), NOW).await;
        let (mut turn, mut turns) = (ErasureTurn::FIRST, Vec::new());
        while let Some(claimed) = claim(&store, NOW, turn).await {
            turn.after = claimed.erasure.org;
            turns.push(turn.after);
            complete(&store, &claimed, NOW).await;
        }
        assert_eq!(turns, [low, high, low, low]);

        let again = async || erasures::any_done_again(&mut store.read().await.unwrap()).await.unwrap();
        assert!(!again().await);
        let late = erasure(high, 5, NOW);
        request(&store, &late, NOW + 9_000).await;
        assert!(again().await);
        let asked = [(high, late.id), (low, late.id), (high, ErasureId::new(NOW, [6; 10]))];
        let known = erasures::known(&mut store.read().await.unwrap(), &asked).await.unwrap();
        assert_eq!(known, HashMap::from([((high, late.id), ErasureStage::Open)]));
        request(&store, &erasure(low, 7, NOW), NOW).await;
        let only_again = ErasureTurn { only_again: true, ..ErasureTurn::FIRST };
        let claimed = claim(&store, NOW, only_again).await.unwrap();
        assert_eq!(claimed.erasure.id, late.id, "not the one that waits for the worker");
        assert!(again().await, "it is not done yet");
        complete(&store, &claimed, NOW + 9_001).await;
        assert!(!again().await);
        assert!(claim(&store, NOW, only_again).await.is_none());
        assert!(claim(&store, NOW, ErasureTurn::FIRST).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn an_open_erasure_that_was_completed_elsewhere_is_done_again() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        // One is dated ahead of this clock.
        let (past, ahead) = (erasure(org, 1, NOW), erasure(org, 2, NOW + 700));
        for new in [&past, &ahead] {
            request(&store, new, new.requested_at).await;
        }
        let do_again = async |id| {
            let at = NOW + 5;
            store.write(|tx| erasures::do_again(tx, org, id, at).scope_boxed()).await.unwrap()
        };
        let again = async || erasures::any_done_again(&mut store.read().await.unwrap()).await.unwrap();
        assert!(!again().await);
        for new in [&past, &ahead] {
            assert!(do_again(new.id).await);
            assert!(!do_again(new.id).await, "it is said once");
            let claimed = claim(&store, NOW, ErasureTurn { only_again: true, ..ErasureTurn::FIRST }).await.unwrap();
            assert_eq!(claimed.erasure.id, new.id);
            complete(&store, &claimed, NOW + 6).await;
            assert!(!again().await);
            assert!(!do_again(new.id).await, "it is completed");
        }
        assert!(!do_again(ErasureId::new(NOW, [3; 10])).await, "nobody knows it");
        let asked = [(org, past.id), (org, ahead.id)];
        let known = erasures::known(&mut store.read().await.unwrap(), &asked).await.unwrap();
        assert_eq!(known, HashMap::from(asked.map(|one| (one, ErasureStage::Completed))));
    })
    .await;
}

#[tokio::test]
async fn so_many_are_open_however_many_are_wished_at_once_live_and_test_apart() {
    for_each_database(async |store| {
        let (org, other) = (org(&store, 1).await, org(&store, 2).await);
        let wishes: Vec<_> = (1..=12).map(|n| erasure(org, n, NOW)).collect();
        let came = join_all(wishes.iter().map(|new| wish(&store, new, 5))).await;
        assert_eq!(came.iter().filter(|one| **one == ErasureSubmission::Taken(NOW)).count(), 5, "{came:?}");
        let live = NewErasure { test: false, ..erasure(org, 13, NOW) };
        assert_eq!(wish(&store, &live, 5).await, ErasureSubmission::Taken(NOW));
        assert_eq!(wish(&store, &erasure(other, 14, NOW), 5).await, ErasureSubmission::Taken(NOW));
        let again = erasure(org, 15, NOW);
        assert_eq!(wish(&store, &again, 5).await, ErasureSubmission::Full);
        let turn = ErasureTurn { after: OrgNo(org.0 - 1), ..ErasureTurn::FIRST };
        loop {
            let claimed = claim(&store, NOW, turn).await.unwrap();
            complete(&store, &claimed, NOW).await;
            if claimed.erasure.test {
                break;
            }
        }
        assert_eq!(wish(&store, &again, 5).await, ErasureSubmission::Taken(NOW), "one is completed");
    })
    .await;
}

#[tokio::test]
async fn what_is_gone_through_is_told_from_what_is_open() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let new = erasure(org, 1, NOW);
        request(&store, &new, NOW).await;
        let asked = (org, new.id);
        let stage = async || erasures::known(&mut store.read().await.unwrap(), &[asked]).await.unwrap()[&asked];
        let mut claimed = claim(&store, NOW, ErasureTurn::FIRST).await.unwrap();
        let record = async |claimed: &ClaimedErasure| {
            store.write(|tx| erasures::record(tx, claimed, NOW + 1).scope_boxed()).await.unwrap();
        };
        claimed.erasure.reached = (NOW, i64::MAX);
        record(&claimed).await;
        assert_eq!(stage().await, ErasureStage::Open);
        claimed.erasure.reached = THROUGH;
        record(&claimed).await;
        assert_eq!(stage().await, ErasureStage::Through);
        let last = NOW + 1_000_000;
        let behind = claim(&store, last, ErasureTurn::FIRST).await.unwrap().erasure.reached;
        let older = jobs::older(&mut store.read().await.unwrap(), org, true, last, behind, 10).await.unwrap();
        assert!(older.is_empty(), "whoever goes on finds no job: {older:?}");
    })
    .await;
}
