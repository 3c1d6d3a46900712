//! Schedules: every slot has one run, missed ones are made up once, and failed runs give their slot back.

use probity_account::connections::RunCause;
use probity_account::id::JobId;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::contacts::{self, ContactPage, ReadContact};
use probity_store::connections::runs::{self, ClaimedRun, ConnectionRun, NewRun, RunState};
use probity_store::connections::schedule::{self, ConnectionSchedule, DueSchedule, ScheduleWait};
use probity_store::jobs::NewJob;
use probity_store::{Result, ScopedFutureExt as _, Store, StoreError};

use super::{NOW, insert, nth};
use crate::databases::for_each_database;
use crate::organizations;

const LEASE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

async fn connected(store: &Store, n: u8) -> StoredConnection {
    let org = organizations::nth(n, NOW);
    organizations::add_with(store, &org, 1_000_000).await.unwrap();
    let connection = nth(org.no, n);
    insert(store, &connection).await;
    connection
}

async fn add(store: &Store, of: &StoredConnection, cause: RunCause, due_at: Millis) {
    store.write(|tx| schedule::add(tx, (of.org, of.id, cause), due_at, NOW).scope_boxed()).await.unwrap();
}

async fn due(store: &Store, now: Millis) -> Vec<DueSchedule> {
    schedule::due(&mut store.read().await.unwrap(), now, 100).await.unwrap()
}

async fn schedules(store: &Store, of: &StoredConnection) -> Vec<ConnectionSchedule> {
    schedule::of_connection(&mut store.read().await.unwrap(), of.org, of.id).await.unwrap()
}

fn new_run(of: &ConnectionSchedule, n: u8, now: Millis) -> NewRun {
    let job = NewJob {
        org: of.org,
        id: JobId::new(now, [n; 10]),
        test: false,
        source: "integration",
        started_by: of.cause.as_str(),
        source_action: "test",
        actor: None,
        at: now,
    };
    NewRun { job, connection: of.connection, cause: of.cause, is_dry: false, settings: "{}".to_owned(), since: None }
}

async fn start(store: &Store, of: &ConnectionSchedule, n: u8, now: Millis) -> Result<Option<ConnectionRun>> {
    let (new, next) = (new_run(of, n, now), now + DAY_MS);
    store.write(|tx| schedule::start(tx, of, &new, next, 30).scope_boxed()).await
}

async fn claim(store: &Store, now: Millis) -> ClaimedRun {
    store.write(|tx| runs::claim(tx, now, LEASE_MS, &[]).scope_boxed()).await.unwrap().unwrap()
}

fn contact(n: u16, address: u16) -> ReadContact {
    let hash = |n: u16| {
        let mut hash = [0; 16];
        hash[2..4].copy_from_slice(&n.to_be_bytes());
        hash
    };
    ReadContact {
        id: format!("c{n}"),
        email: format!("user{address}@example.org"),
        list: None,
        report: None,
        mark: hash(n),
        address: hash(address),
        created_at: None,
        changed_at: None,
    }
}

/// Reads these contacts; returns the number of rows.
async fn read(store: &Store, claimed: &ClaimedRun, contacts: &[ReadContact], now: Millis) -> i64 {
    let page = ContactPage { contacts, read: i64::try_from(contacts.len()).unwrap(), position: b"{}", skipped: 0 };
    let stored = store.write(|tx| contacts::store_page(tx, &claimed.fence, &page, now, now + LEASE_MS).scope_boxed());
    stored.await.unwrap()
}

async fn fail(store: &Store, claimed: &ClaimedRun, now: Millis) {
    store.write(|tx| runs::fail(tx, &claimed.fence, "out of order", now).scope_boxed()).await.unwrap();
}

/// Ends a run that has read everything, as if it had all verdicts.
async fn finish(store: &Store, claimed: &ClaimedRun, now: Millis) {
    store.write(|tx| runs::finish_empty(tx, &claimed.fence, now).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn a_slot_has_one_run_whoever_looks() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW + HOUR_MS).await;
        add(store, &of, RunCause::Autofloss, NOW + 9 * HOUR_MS).await;
        assert!(due(store, NOW).await.is_empty());
        // Three nights after the slot, on two concurrent nodes.
        let late = NOW + 3 * DAY_MS + 2 * HOUR_MS;
        let seen = due(store, late).await;
        assert_eq!((seen.len(), seen[0].schedule.due_at), (1, NOW + HOUR_MS));
        let (one, other) =
            tokio::join!(start(store, &seen[0].schedule, 1, late), start(store, &seen[0].schedule, 2, late));
        let started: Vec<bool> = [one, other].iter().map(|run| matches!(run, Ok(Some(_)))).collect();
        assert_eq!(started.iter().filter(|is| **is).count(), 1, "{started:?}");
        // While it is in progress, no other run starts.
        let next = schedules(store, &of).await.remove(0);
        assert_eq!((next.due_at, next.next_at), (late + DAY_MS, Some(late + DAY_MS)));
        assert!(due(store, late + 2 * DAY_MS).await.is_empty());
        assert!(matches!(start(store, &next, 3, late + 2 * DAY_MS).await, Err(StoreError::Conflict)));
        let claimed = claim(store, late).await;
        assert_eq!((claimed.run.due_at, claimed.run.cause), (Some(NOW + HOUR_MS), RunCause::Autofloss));
        finish(store, &claimed, late).await;
        assert_eq!(schedules(store, &of).await[0].done_at, Some(late));
        assert_eq!(due(store, late + 2 * DAY_MS).await.len(), 1, "the night that passed meanwhile");
    })
    .await;
}

#[tokio::test]
async fn a_slot_that_has_had_its_run_moves_on() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW).await;
        start(store, &schedules(store, &of).await[0], 1, NOW).await.unwrap().unwrap();
        finish(store, &claim(store, NOW).await, NOW).await;
        // As after a fast clock: the slot comes once more.
        store.write(|tx| schedule::remove(tx, (of.org, of.id, RunCause::Autofloss)).scope_boxed()).await.unwrap();
        add(store, &of, RunCause::Autofloss, NOW).await;
        let again = due(store, NOW + HOUR_MS).await.remove(0).schedule;
        assert_eq!(start(store, &again, 2, NOW + HOUR_MS).await.unwrap(), None);
        assert_eq!(schedules(store, &of).await[0].next_at, Some(NOW + HOUR_MS + DAY_MS));
    })
    .await;
}

#[tokio::test]
async fn a_run_whose_node_died_is_taken_over_and_not_started_again() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW).await;
        start(store, &schedules(store, &of).await[0], 1, NOW).await.unwrap().unwrap();
        let dead = claim(store, NOW).await;
        let all: Vec<_> = (0..4).map(|n| contact(n, n)).collect();
        assert_eq!(read(store, &dead, &all[..2], NOW).await, 2);
        let later = NOW + 2 * LEASE_MS;
        assert!(due(store, later).await.is_empty() && due(store, NOW + 2 * DAY_MS).await.is_empty());
        let heir = claim(store, later).await;
        assert_eq!((heir.run.id, heir.fence.epoch), (dead.run.id, dead.fence.epoch + 1));
        assert_eq!(read(store, &heir, &all, later).await, 2, "the others are rows already");
        let lost = store.write(|tx| runs::finish_empty(tx, &dead.fence, later).scope_boxed()).await;
        assert!(matches!(lost, Err(StoreError::LeaseLost)));
        finish(store, &heir, later).await;
        assert_eq!(due(store, NOW + 2 * DAY_MS).await.len(), 1, "the next night");
    })
    .await;
}

#[tokio::test]
async fn a_failed_run_gives_its_slot_and_its_contacts_back() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW).await;
        let first: Vec<_> = (0..10).map(|n| contact(n, n)).collect();
        let run = start(store, &schedules(store, &of).await[0], 1, NOW).await.unwrap().unwrap();
        assert_eq!(run.state, RunState::Reading);
        let claimed = claim(store, NOW).await;
        assert_eq!(read(store, &claimed, &first, NOW).await, 10);
        fail(store, &claimed, NOW).await;
        let waits = schedules(store, &of).await.remove(0);
        assert_eq!((waits.due_at, waits.failures, waits.waits_for), (NOW, 1, Some(ScheduleWait::Failed)));
        let again = waits.next_at.unwrap();
        assert!((NOW + 1..NOW + HOUR_MS).contains(&again), "{again:?}");
        start(store, &waits, 2, again).await.unwrap().unwrap();
        let claimed = claim(store, again).await;
        assert_eq!(read(store, &claimed, &first, again).await, 10, "nobody has verified them");
        finish(store, &claimed, again).await;
        let next = schedules(store, &of).await.remove(0);
        assert_eq!((next.failures, next.due_at), (0, again + DAY_MS));
        // The next night: one contact is new, and one has another address. A later failure does not make the others new.
        for n in 3..5 {
            let now = schedules(store, &of).await[0].next_at.unwrap();
            start(store, &schedules(store, &of).await[0], n, now).await.unwrap().unwrap();
            let claimed = claim(store, now).await;
            let mut contacts: Vec<_> = first.iter().cloned().chain([contact(10, 10)]).collect();
            contacts[4] = contact(4, 44);
            assert_eq!(read(store, &claimed, &contacts, now).await, 2);
            fail(store, &claimed, now).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_disconnected_connection_makes_up_for_its_nights_when_it_is_back() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW + HOUR_MS).await;
        let gone = store.write(|tx| connection::disconnect(tx, of.org, of.id, NOW).scope_boxed()).await.unwrap();
        assert!(gone && due(store, NOW + 9 * DAY_MS).await.is_empty());
        assert_eq!(schedules(store, &of).await[0].next_at, None);
        let back = store.write(|tx| connection::reconnect(tx, &of, b"new", &[9; 16], 100).scope_boxed()).await.unwrap();
        assert!(back);
        let missed = due(store, NOW + 9 * DAY_MS).await;
        assert_eq!((missed.len(), missed[0].schedule.due_at), (1, NOW + HOUR_MS));
    })
    .await;
}

#[tokio::test]
async fn decay_protection_verifies_the_oldest_share() {
    for_each_database(async |store| {
        let store = &store;
        let of = connected(store, 1).await;
        add(store, &of, RunCause::Autofloss, NOW).await;
        add(store, &of, RunCause::DecayProtection, NOW + DAY_MS).await;
        let all: Vec<_> = (0..90).map(|n| contact(n, n)).collect();
        let first = due(store, NOW).await.remove(0);
        start(store, &first.schedule, 1, NOW).await.unwrap().unwrap();
        let claimed = claim(store, NOW).await;
        assert_eq!(read(store, &claimed, &all, NOW).await, 90);
        finish(store, &claimed, NOW).await;
        store.write(|tx| schedule::remove(tx, (of.org, of.id, RunCause::Autofloss)).scope_boxed()).await.unwrap();
        // The platform has lost ten contacts. Each of the others is verified once in thirty days, three or fewer a day.
        let (mut seen, mut most) = (Vec::new(), 0);
        for day in 1..=30 {
            let now = NOW + day * DAY_MS;
            let due = due(store, now).await.remove(0);
            start(store, &due.schedule, u8::try_from(day).unwrap() + 1, now).await.unwrap().unwrap();
            let claimed = claim(store, now).await;
            let mut rows = 0;
            for one in &all[10..] {
                if read(store, &claimed, std::slice::from_ref(one), now).await == 1 {
                    seen.push(one.id.clone());
                    rows += 1;
                }
            }
            most = most.max(rows);
            finish(store, &claimed, now).await;
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), distinct.len(), most), (80, 80, 3));
    })
    .await;
}
