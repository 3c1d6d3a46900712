//! Webhooks: claimed by one worker at a time, and events that make a poll due without harm.

use probity_account::connections::RunCause;
use probity_mail::time::Millis;
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::hooks::{self, ClaimedHook, ConnectionHook, HookProgress, PollHaste};
use probity_store::connections::schedule::{self, ScheduleWait};
use probity_store::{ScopedFutureExt as _, Store, StoreError};

use super::{NOW, delete, insert, nth};
use crate::databases::for_each_database;
use crate::organizations;

const HASTE: PollHaste = PollHaste { after_ms: 1_000, apart_ms: 10_000 };
const MINUTE_MS: i64 = 60_000;

async fn polled(store: &Store, n: u8) -> StoredConnection {
    let org = organizations::nth(n, NOW);
    organizations::add_with(store, &org, 1_000_000).await.unwrap();
    let of = nth(org.no, n);
    insert(store, &of).await;
    let place = (of.org, of.id, RunCause::Instafloss);
    store.write(|tx| schedule::add(tx, place, NOW + 5 * MINUTE_MS, NOW).scope_boxed()).await.unwrap();
    want(store, &of, true).await;
    of
}

async fn want(store: &Store, of: &StoredConnection, is_wanted: bool) {
    store.write(|tx| hooks::want(tx, (of.org, of.id), is_wanted, NOW).scope_boxed()).await.unwrap();
}

async fn claim(store: &Store, now: Millis) -> Option<ClaimedHook> {
    let any = hooks::any_due(&mut store.read().await.unwrap(), now).await.unwrap();
    let claimed = store.write(|tx| hooks::claim(tx, now, now + MINUTE_MS).scope_boxed()).await.unwrap();
    assert_eq!(any, claimed.is_some());
    claimed
}

async fn write(store: &Store, claimed: &ClaimedHook, next_at: Millis) -> Result<(), StoreError> {
    let to = HookProgress { keys: b"keys", fault: Some("no"), failures: 1, registered_at: Some(NOW), next_at };
    store.write(|tx| hooks::write(tx, claimed, to).scope_boxed()).await
}

async fn hook(store: &Store, of: &StoredConnection) -> Option<ConnectionHook> {
    hooks::of_connection(&mut store.read().await.unwrap(), of.org, of.id).await.unwrap()
}

async fn hasten(store: &Store, of: &StoredConnection, now: Millis) -> Option<Millis> {
    store.write(|tx| hooks::hasten(tx, (of.org, of.id), HASTE, now).scope_boxed()).await.unwrap()
}

async fn next_poll(store: &Store, of: &StoredConnection) -> (Millis, Option<Millis>) {
    let all = schedule::of_connection(&mut store.read().await.unwrap(), of.org, of.id).await.unwrap();
    (all[0].due_at, all[0].next_at)
}

#[tokio::test]
async fn one_worker_at_a_time_takes_a_webhook_up() {
    for_each_database(async |store| {
        let store = &store;
        let of = polled(store, 1).await;
        let first = claim(store, NOW).await.unwrap();
        assert!(first.hook.is_wanted && first.hook.keys.is_none());
        assert_eq!(claim(store, NOW).await, None);
        write(store, &first, NOW + MINUTE_MS).await.unwrap();
        let second = claim(store, NOW + MINUTE_MS).await.unwrap();
        assert!(matches!(write(store, &first, NOW).await, Err(StoreError::LeaseLost)));
        write(store, &second, NOW + 2 * MINUTE_MS).await.unwrap();
        assert_eq!(claim(store, NOW + MINUTE_MS).await, None);
        let stored = hook(store, &of).await.unwrap();
        assert_eq!((stored.keys.as_deref(), stored.fault.as_deref()), (Some(&b"keys"[..]), Some("no")));
        let (found, provider) = hooks::addressed(&mut store.read().await.unwrap(), of.id).await.unwrap().unwrap();
        assert_eq!((found, provider.as_str()), (stored, "ghost"));
    })
    .await;
}

#[tokio::test]
async fn what_is_wanted_meanwhile_is_looked_at_next() {
    for_each_database(async |store| {
        let store = &store;
        let of = polled(store, 1).await;
        let claimed = claim(store, NOW).await.unwrap();
        want(store, &of, false).await;
        write(store, &claimed, NOW + 9 * MINUTE_MS).await.unwrap();
        let claimed = claim(store, NOW).await.unwrap();
        assert!(!claimed.hook.is_wanted);
        want(store, &of, true).await;
        want(store, &of, true).await;
        assert!(claim(store, NOW).await.unwrap().hook.is_wanted);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_wanted_does_not_stand_and_has_not_failed() {
    for_each_database(async |store| {
        let store = &store;
        let of = polled(store, 1).await;
        let seen = async || {
            let hook = hook(store, &of).await.unwrap();
            (hook.registered_at, hook.failures, hook.fault)
        };
        let mut claimed = claim(store, NOW).await.unwrap();
        // The work takes longer.
        let until = NOW + 2 * MINUTE_MS;
        write(store, &claimed, until).await.unwrap();
        claimed.held_until(until);
        assert_eq!(claim(store, NOW + MINUTE_MS).await, None);
        write(store, &claimed, NOW).await.unwrap();
        assert_eq!(seen().await, (Some(NOW), 1, Some("no".to_owned())));
        for is_wanted in [false, true] {
            want(store, &of, is_wanted).await;
            assert_eq!(seen().await, (None, 0, None));
        }
        // A worker that began before is unaware of it.
        let claimed = claim(store, NOW).await.unwrap();
        store.write(|tx| hooks::renew(tx, (of.org, of.id), NOW).scope_boxed()).await.unwrap();
        write(store, &claimed, NOW + 9 * MINUTE_MS).await.unwrap();
        assert_eq!((seen().await.0, seen().await.1), (None, 0));
        assert!(claim(store, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_disconnected_connection_rests_until_it_is_connected_again() {
    for_each_database(async |store| {
        let store = &store;
        let of = polled(store, 1).await;
        store.write(|tx| connection::disconnect(tx, of.org, of.id, NOW).scope_boxed()).await.unwrap();
        assert_eq!(claim(store, NOW + 9 * MINUTE_MS).await, None);
        let again = async || {
            let of = of.clone();
            let work =
                store.write(|tx| async { connection::reconnect(tx, &of, b"new", &[9; 16], 100).await }.scope_boxed());
            assert!(work.await.unwrap());
        };
        again().await;
        assert!(claim(store, NOW).await.is_some());
        delete(store, &of, NOW).await;
        assert_eq!(hook(store, &of).await, None);
        again().await;
        assert!(claim(store, NOW).await.is_some_and(|claimed| claimed.hook.keys.is_none()));
    })
    .await;
}

#[tokio::test]
async fn an_event_makes_the_next_poll_due_and_a_thousand_do_no_more() {
    for_each_database(async |store| {
        let store = &store;
        let of = polled(store, 1).await;
        for n in 0..20 {
            assert_eq!(hasten(store, &of, NOW + n * 10).await, Some(NOW + HASTE.after_ms));
        }
        let at = NOW + HASTE.after_ms;
        assert_eq!(next_poll(store, &of).await, (at, Some(at)));
        assert_eq!(hook(store, &of).await.unwrap().last_event_at, Some(NOW + 190));
        let due = |now| async move {
            schedule::due_poll(&mut store.read().await.unwrap(), of.org, of.id, now).await.unwrap()
        };
        assert_eq!(due(at + -1).await, None);
        let found = due(at).await.unwrap();
        assert_eq!(found.schedule.due_at, at);
        // A poll that waits after a failure, or for credits, continues to wait.
        let later = NOW + 20 * MINUTE_MS;
        let postponed =
            store.write(|tx| schedule::postpone(tx, &found.schedule, later, ScheduleWait::Credits, at).scope_boxed());
        postponed.await.unwrap();
        assert_eq!(hasten(store, &of, at).await, Some(later));
        assert_eq!(next_poll(store, &of).await, (at, Some(later)));
    })
    .await;
}
