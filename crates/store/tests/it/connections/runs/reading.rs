//! Reading of contacts: starts, pages, acceptance, ends.

use std::collections::BTreeSet;

use probity_account::block::AddressBlock;
use probity_account::id::ErasureId;
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgState};
use probity_store::connections::connection;
use probity_store::connections::contacts::{self, ContactReport, ReadContact};
use probity_store::connections::runs::{self, NewRun, RunSetback, RunState};
use probity_store::jobs::{self, JobState};
use probity_store::privacy::erasures::{self, ErasureTurn, NewErasure};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, credits};

use super::{
    CREDITS, LEASE_MS, accept, cancel, claim, connected, contact, is_lost, new_run, run_of, start, store_page,
};
use crate::connections::NOW;
use crate::databases::for_each_database;

#[tokio::test]
async fn a_connection_has_one_run_at_a_time() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let first = start(&store, &new_run(&connection, 1)).await.unwrap();
        assert_eq!((first.state, first.rows, first.fault.as_deref()), (RunState::Reading, 0, None));
        assert!(matches!(start(&store, &new_run(&connection, 2)).await, Err(StoreError::Conflict)));
        let other = connected(&store, 2).await;
        start(&store, &new_run(&other, 3)).await.unwrap();
        assert_eq!(cancel(&store, &first).await, Some(RunState::Cancelled));
        start(&store, &new_run(&connection, 4)).await.unwrap();
        let listed = runs::page(&mut store.read().await.unwrap(), connection.org, connection.id, None, 9).await;
        assert_eq!(listed.unwrap().len(), 2, "the refused start left nothing");
    })
    .await;
}

#[tokio::test]
async fn only_an_active_connection_of_the_same_sort_runs() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = new_run(&connection, 1);
        let test = NewRun { job: jobs::NewJob { test: true, ..run.job.clone() }, ..run.clone() };
        assert!(matches!(start(&store, &test).await, Err(StoreError::NotFound)));
        let end = store.write(|tx| connection::disconnect(tx, connection.org, connection.id, NOW).scope_boxed());
        assert!(end.await.unwrap());
        assert!(matches!(start(&store, &run).await, Err(StoreError::NotFound)));
        let left = jobs::broken_off(&mut store.read().await.unwrap(), Millis(i64::MAX), 9).await.unwrap();
        assert_eq!(left, [], "no staged job stays");
    })
    .await;
}

#[tokio::test]
async fn a_run_has_one_holder_and_waits_until_its_time() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        start(&store, &new_run(&connection, 1)).await.unwrap();
        let first = claim(&store, NOW).await.unwrap();
        assert!(claim(&store, NOW).await.is_none());
        let second = claim(&store, NOW + LEASE_MS).await.unwrap();
        let extended = store.write(|tx| runs::extend(tx, &first.fence, NOW).scope_boxed()).await;
        assert!(is_lost(&extended));
        assert!(is_lost(&store_page(&store, &first, &[contact(1, None)], b"{}").await));
        let leave =
            |fence, at| store.write(move |tx| async move { runs::leave(tx, &fence, at, 0).await }.scope_boxed());
        leave(first.fence, NOW).await.unwrap();
        assert!(claim(&store, NOW + LEASE_MS).await.is_none(), "an earlier holder releases nothing");
        let fault = Some("Acme answered 403".to_owned());
        let setback = RunSetback { next_at: NOW + 2 * LEASE_MS, failures: 3, refused_at: Some(NOW), fault };
        store.write(|tx| runs::set_back(tx, &second.fence, &setback).scope_boxed()).await.unwrap();
        assert!(claim(&store, NOW + 2 * LEASE_MS - 1).await.is_none());
        let third = claim(&store, NOW + 2 * LEASE_MS).await.unwrap();
        assert_eq!((third.run.failures, third.run.refused_at), (3, Some(NOW)));
        assert_eq!(third.run.fault.as_deref(), Some("Acme answered 403"));
        store_page(&store, &third, &[], b"{}").await.unwrap();
        let now = run_of(&store, &third.run).await;
        assert_eq!((now.failures, now.refused_at), (0, None), "a page ends the row of failures");
        leave(third.fence, NOW).await.unwrap();
        assert_eq!(run_of(&store, &third.run).await.fault, None, "it waits for something else");
        let without = store.write(|tx| async { runs::claim(tx, NOW, LEASE_MS, &[connection.org]).await }.scope_boxed());
        assert!(without.await.unwrap().is_none(), "its organization has enough places");
        set_status(&store, connection.org, OrgState::Paused).await;
        assert!(!runs::any_due(&mut store.read().await.unwrap(), NOW, &[]).await.unwrap());
        set_status(&store, connection.org, OrgState::Active).await;
        assert!(runs::any_due(&mut store.read().await.unwrap(), NOW, &[]).await.unwrap());
    })
    .await;
}

async fn set_status(store: &Store, org: OrgNo, status: OrgState) {
    store.write(|tx| organization::set_status(tx, org, status).scope_boxed()).await.unwrap();
}

/// Returns the content of a run: addresses of its blocks, and its contacts with their lists.
async fn kept(store: &Store, org: OrgNo, job: jobs::JobNo, rows: i64) -> Vec<(String, String, Vec<String>)> {
    let mut conn = store.read().await.unwrap();
    let blocks = jobs::blocks(&mut conn, org, job, 0, 100).await.unwrap();
    let mut emails = Vec::new();
    for (place, (first, body)) in blocks.iter().enumerate() {
        let block = AddressBlock::decode(body).unwrap();
        assert_eq!(*first, i64::try_from(place).unwrap() * 1_000);
        assert!(block.len() == 1_000 || place + 1 == blocks.len(), "every block but the last is full");
        emails.extend(block.iter().map(|email| String::from_utf8_lossy(email).into_owned()));
    }
    assert_eq!(i64::try_from(emails.len()).unwrap(), rows);
    let all: Vec<i64> = (0..rows).collect();
    let contacts = contacts::contacts(&mut conn, org, job, &all).await.unwrap();
    emails.into_iter().zip(contacts.into_values()).map(|(email, one)| (email, one.id, one.lists)).collect()
}

#[tokio::test]
async fn contacts_of_many_pages_are_rows_once_each() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let mut rows = 0;
        // Pages overlap, and the second list repeats part of the first.
        for (list, from, to) in [("news", 0_u16, 2_300), ("offers", 2_000, 2_600)] {
            for first in (from..to).step_by(130) {
                let claimed = claim(&store, NOW).await.unwrap();
                let page: Vec<ReadContact> = (first..to.min(first + 150)).map(|n| contact(n, Some(list))).collect();
                rows += store_page(&store, &claimed, &page, format!("{list}{first}").as_bytes()).await.unwrap();
                let again = claim(&store, NOW + LEASE_MS).await.unwrap();
                assert_eq!(again.position.as_deref(), Some(format!("{list}{first}").as_bytes()));
                store.write(|tx| async { runs::leave(tx, &again.fence, NOW, 0).await }.scope_boxed()).await.unwrap();
            }
        }
        assert_eq!(rows, 2_600);
        let kept = kept(&store, connection.org, run.job, 2_600).await;
        let distinct: BTreeSet<_> = kept.iter().map(|(email, ..)| email).collect();
        assert_eq!(distinct.len(), 2_600);
        for (email, id, lists) in &kept {
            let n: u16 = id[1..].parse().unwrap();
            assert_eq!(*email, format!("user{n}@example.org"));
            let expected: &[&str] = match n {
                0..2_000 => &["news"],
                2_000..2_300 => &["news", "offers"],
                _ => &["offers"],
            };
            assert_eq!(*lists, expected, "{n}");
        }
        let run = run_of(&store, &run).await;
        assert_eq!(run.rows, 2_600);
    })
    .await;
}

#[tokio::test]
async fn another_run_reads_the_same_contacts_again() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        for n in 1..3 {
            let run = start(&store, &new_run(&connection, n)).await.unwrap();
            let claimed = claim(&store, NOW).await.unwrap();
            let page = [contact(1, None), contact(2, None), contact(1, None)];
            assert_eq!(store_page(&store, &claimed, &page, b"{}").await.unwrap(), 2, "each once");
            cancel(&store, &run).await;
            let late = store_page(&store, &claimed, &[contact(3, None)], b"{}").await;
            assert!(is_lost(&late), "a page that was under way is nobody's: {late:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_the_platform_reports_stays_with_the_row() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        let bounced = ReadContact { report: Some(ContactReport::Bounced), ..contact(2, None) };
        let complained = ReadContact { report: Some(ContactReport::Complained), ..contact(3, None) };
        store_page(&store, &claimed, &[contact(1, None), bounced, complained], b"{}").await.unwrap();
        let mut conn = store.read().await.unwrap();
        let reports = contacts::reports(&mut conn, run.org, run.job, 0..3).await.unwrap();
        let expected = [(1, ContactReport::Bounced), (2, ContactReport::Complained)];
        assert_eq!(reports.into_iter().collect::<Vec<_>>(), expected);
        assert!(contacts::reports(&mut conn, run.org, run.job, 5..9).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_contact_that_one_list_has_without_a_report_is_not_reported_whatever_the_order_of_lists() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        let fine = |n, list| contact(n, Some(list));
        let bounced = |n, list| ReadContact { report: Some(ContactReport::Bounced), ..contact(n, Some(list)) };
        let complained = |n, list| ReadContact { report: Some(ContactReport::Complained), ..contact(n, Some(list)) };
        let news = [bounced(1, "news"), fine(2, "news"), bounced(3, "news"), complained(4, "news")];
        store_page(&store, &claimed, &news, b"1").await.unwrap();
        let offers = [fine(1, "offers"), bounced(2, "offers"), bounced(3, "offers")];
        store_page(&store, &claimed, &offers, b"2").await.unwrap();
        // Both lists on one page, and a third list that repeats a report that another one has withdrawn.
        let others = [bounced(5, "a"), fine(5, "b"), fine(6, "a"), bounced(6, "b"), bounced(7, "a"), bounced(1, "c")];
        store_page(&store, &claimed, &others, b"3").await.unwrap();
        let reports = contacts::reports(&mut store.read().await.unwrap(), run.org, run.job, 0..7).await.unwrap();
        let expected = [(2, ContactReport::Bounced), (3, ContactReport::Complained), (6, ContactReport::Bounced)];
        assert_eq!(reports.into_iter().collect::<Vec<_>>(), expected);
    })
    .await;
}

async fn balance(store: &Store, org: OrgNo) -> (i64, i64) {
    let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
    (balance.available.total(), balance.held.total())
}

#[tokio::test]
async fn a_run_whose_contacts_were_read_is_a_job() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        assert!(matches!(
            jobs::by_id(&mut store.read().await.unwrap(), run.org, run.id, false).await,
            Err(StoreError::NotFound)
        ));
        let claimed = claim(&store, NOW).await.unwrap();
        store_page(&store, &claimed, &[contact(1, None), contact(2, None)], b"{}").await.unwrap();
        assert!(accept(&store, &claimed).await.unwrap());
        assert!(is_lost(&accept(&store, &claimed).await), "once");
        assert_eq!(balance(&store, run.org).await, (CREDITS - 2, 2));
        let job = jobs::by_id(&mut store.read().await.unwrap(), run.org, run.id, false).await.unwrap();
        assert_eq!((job.state, job.rows, job.integration.as_deref()), (JobState::Queued, 2, Some("ghost")));
        assert_eq!(run_of(&store, &run).await.state, RunState::Verifying);
        assert!(is_lost(&store_page(&store, &claimed, &[contact(3, None)], b"{}").await));
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        let job = jobs::by_id(&mut store.read().await.unwrap(), run.org, run.id, false).await.unwrap();
        assert_eq!(job.state, JobState::Cancelled);
        assert_eq!(balance(&store, run.org).await, (CREDITS, 0));
    })
    .await;
}

#[tokio::test]
async fn a_run_without_credits_is_not_accepted_and_leaves_nothing() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        let many: Vec<_> = (0..=u16::try_from(CREDITS).unwrap()).map(|n| contact(n, None)).collect();
        for page in many.chunks(1_000) {
            store_page(&store, &claimed, page, b"{}").await.unwrap();
        }
        let refused = accept(&store, &claimed).await;
        assert!(matches!(refused, Err(StoreError::InsufficientCredits { needed: 10_001, .. })), "{refused:?}");
        let failed = store.write(|tx| runs::fail(tx, &claimed.fence, "too few credits", NOW).scope_boxed());
        assert_eq!(failed.await.unwrap().run.state, RunState::Failed);
        let now = run_of(&store, &run).await;
        assert_eq!((now.state, now.fault.as_deref()), (RunState::Failed, Some("too few credits")));
        while store.write(|tx| jobs::purge_rows(tx).scope_boxed()).await.unwrap() {}
        assert_eq!(jobs::blocks(&mut store.read().await.unwrap(), run.org, run.job, 0, 9).await.unwrap(), []);
        assert_eq!(balance(&store, run.org).await, (CREDITS, 0));
    })
    .await;
}

#[tokio::test]
async fn a_run_that_reads_for_hours_is_not_swept() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let later = NOW + 10 * 3_600_000;
        let broken_off = async || jobs::broken_off(&mut store.read().await.unwrap(), later, 9).await.unwrap();
        assert_eq!(broken_off().await, []);
        cancel(&store, &run).await;
        assert_eq!(broken_off().await, [], "its job was discarded with it");
        assert!(matches!(
            jobs::by_no(&mut store.read().await.unwrap(), run.org, run.job).await,
            Err(StoreError::NotFound)
        ));
    })
    .await;
}

#[tokio::test]
async fn addresses_erased_meanwhile_do_not_come_back() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        store_page(&store, &claimed, &[contact(1, None), contact(2, None)], b"{}").await.unwrap();
        let new = NewErasure {
            org: run.org,
            id: ErasureId::new(NOW, [1; 10]),
            test: false,
            tags: vec![contact(2, None).address, contact(3, None).address],
            webhook_url: None,
            requested_at: NOW + 1,
        };
        assert!(store.write(|tx| erasures::request(tx, &new, NOW + 1).scope_boxed()).await.unwrap());
        let page = [contact(3, None), contact(4, None)];
        assert_eq!(store_page(&store, &claimed, &page, b"{}").await.unwrap(), 1, "an erased one is no row");
        let older = jobs::older(&mut store.read().await.unwrap(), run.org, false, NOW + 1, (Millis(0), 0), 9).await;
        assert_eq!(older.unwrap(), [(NOW, run.job)], "the sweep reaches the staged job");
        let rows = BTreeSet::from([1]);
        let erase = || store.write(|tx| contacts::erase_rows(tx, (run.org, run.job), 0, &rows).scope_boxed());
        assert_eq!((erase().await.unwrap(), erase().await.unwrap()), (1, 0));
        assert!(!accept(&store, &claimed).await.unwrap(), "it waits for the erasure");
        let erased = store.write(|tx| {
            async {
                let claimed = erasures::claim(tx, NOW + 2, LEASE_MS, "run", ErasureTurn::FIRST).await?.unwrap();
                erasures::complete(tx, &claimed, NOW + 3).await
            }
            .scope_boxed()
        });
        erased.await.unwrap();
        store_page(&store, &claimed, &[contact(5, None)], b"{}").await.unwrap();
        let mut conn = store.read().await.unwrap();
        let left = contacts::contacts(&mut conn, run.org, run.job, &[0, 1, 2, 3]).await.unwrap();
        assert_eq!(left.keys().copied().collect::<Vec<_>>(), [0, 2, 3], "also after another page");
        drop(conn);
        assert!(accept(&store, &claimed).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_run_without_contacts_to_verify_is_finished() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        store_page(&store, &claimed, &[], b"{}").await.unwrap();
        store.write(|tx| runs::finish_empty(tx, &claimed.fence, NOW + 7).scope_boxed()).await.unwrap();
        assert_eq!(run_of(&store, &run).await.state, RunState::Finished);
        let connection = super::super::by_id(&store, &connection).await.unwrap();
        assert_eq!(connection.last_synced_at, Some(NOW + 7));
    })
    .await;
}
