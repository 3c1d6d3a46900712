//! The brake, confirmations, actions and ends of runs.

use std::collections::BTreeMap;

use probity_account::connections::{BrakeReason, ConnectionSettings, ContactAction, RunCause};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::activity::report_mail::{self, DoneActions};
use probity_store::connections::actions::{
    self, ActionState, PlannedAction, ReviewDecision, SettledAction, Undecidable,
};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::contacts::{self, DoneBefore};
use probity_store::connections::runs::{self, Confirmation, ConnectionRun, NewRun, RunState};
use probity_store::jobs;
use probity_store::{Result, ScopedFutureExt as _, Store, StoreError};

use super::{
    DELETE, GONE, LEASE_MS, accept, cancel, claim, complete, concluded, confirm, connected, contact, counts, is_lost,
    new_run, run_of, start, store_page, trust,
};
use crate::connections::{NOW, by_id, insert, nth};
use crate::databases::for_each_database;

fn settled(idx: i64, state: ActionState) -> SettledAction {
    let mark = contact(u16::try_from(idx).unwrap(), None).mark;
    SettledAction { idx, state, message: None, undo: Some(b"[]".to_vec()), mark, effect: Some([7; 16]) }
}

#[tokio::test]
async fn the_first_run_waits_and_acts_once_confirmed() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let planned = [(0, DELETE, GONE), (2, DELETE, Reason::Invalid), (3, ContactAction::Fix, GONE)];
        let run = concluded(&store, &new_run(&connection, 1), 5, &planned).await;
        assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::First)));
        let stored = by_id(&store, &connection).await.unwrap();
        assert_eq!((stored.watermark, stored.last_synced_at), (Some(NOW - 5), Some(NOW)));
        assert!(claim(&store, NOW).await.is_none(), "nothing is done before a person confirms");
        assert_eq!(confirm(&store, &run, 2).await.unwrap(), Confirmation::OtherNumber(3));
        assert_eq!(by_id(&store, &connection).await.unwrap().trusted_at, None);
        assert_eq!(confirm(&store, &run, 3).await.unwrap(), Confirmation::Confirmed);
        assert_eq!(confirm(&store, &run, 3).await.unwrap(), Confirmation::NotWaiting(RunState::Acting));
        assert_eq!(by_id(&store, &connection).await.unwrap().trusted_at, Some(NOW + 9));
        act(&store, &run).await;
    })
    .await;
}

/// Performs the actions of the first test.
async fn act(store: &Store, run: &ConnectionRun) {
    let late = claim(store, NOW + 9).await.unwrap();
    let claimed = claim(store, NOW + 9 + LEASE_MS).await.unwrap();
    let due = actions::due(&mut store.read().await.unwrap(), run.org, run.job, 0, 9).await.unwrap();
    assert_eq!(due.iter().map(|action| action.idx).collect::<Vec<_>>(), [0, 2, 3]);
    let settle = async |fence, of: &[SettledAction]| {
        store.write(|tx| async move { actions::settle(tx, &fence, of, NOW + 10).await }.scope_boxed()).await
    };
    assert!(is_lost(&settle(late.fence, &[settled(0, ActionState::Done)]).await));
    let first = [settled(0, ActionState::Done), settled(1, ActionState::Done), settled(2, ActionState::Refused)];
    assert_eq!(settle(claimed.fence, &first).await.unwrap(), [(0, DELETE, true), (2, DELETE, false)]);
    assert_eq!(settle(claimed.fence, &first).await.unwrap(), [], "each is settled once");
    let finish = async || store.write(|tx| runs::finish_acting(tx, &claimed.fence, NOW + 11).scope_boxed()).await;
    assert_eq!(finish().await.unwrap(), RunState::Acting, "one is left");
    assert_eq!(
        settle(claimed.fence, &[settled(3, ActionState::Taken)]).await.unwrap(),
        [(3, ContactAction::Fix, false)]
    );
    assert_eq!(finish().await.unwrap(), RunState::Finished);
    let expected = [
        ((DELETE, ActionState::Done), 1),
        ((DELETE, ActionState::Refused), 1),
        ((ContactAction::Fix, ActionState::Taken), 1),
    ];
    assert_eq!(counts(store, run).await.into_iter().collect::<Vec<_>>(), expected);
    let mut conn = store.read().await.unwrap();
    let standing = actions::standing(&mut conn, run.org, run.job, 0, 2).await.unwrap();
    assert!(standing.len() == 1 && standing[0].is_done() && standing[0].settled_at == Some(NOW + 10));
    let day = NOW.utc_day();
    let done = report_mail::done(&mut conn, run.org, (day, day)).await.unwrap();
    assert_eq!(done, [DoneActions { kind: DELETE, actions: 1 }], "whatever becomes of the run");
    assert_eq!(report_mail::done(&mut conn, run.org, (day - 7, day - 1)).await.unwrap(), []);
    let marks = (0..3).map(|n| contact(n, None).mark);
    let marks = contacts::marks(&mut conn, run.org, run.connection, marks).await.unwrap();
    let done: Vec<_> = (0..3).map(|n| marks[&contact(n, None).mark].done).collect();
    assert_eq!(done, [Some((DoneBefore::Done(DELETE), NOW + 10)), None, None], "only what was done is marked");
}

#[tokio::test]
async fn the_brake_holds_what_must_not_act_by_itself() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = concluded(&store, &NewRun { is_dry: true, ..new_run(&connection, 1) }, 2, &[(0, DELETE, GONE)]).await;
        assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::Dry)));
        trust(&store, &connection).await;
        let run = concluded(&store, &new_run(&connection, 2), 2, &[(0, DELETE, GONE)]).await;
        assert_eq!((run.state, run.brake), (RunState::Acting, None), "trusted");
        cancel(&store, &run).await;
        let manual = ConnectionSettings { manual_mode: true, ..connection.settings.clone() };
        let manual = NewRun { settings: serde_json::to_string(&manual).unwrap(), ..new_run(&connection, 3) };
        let run = concluded(&store, &manual, 2, &[(0, DELETE, GONE)]).await;
        assert_eq!(run.brake, Some(BrakeReason::ManualMode));
        let many: Vec<_> = (0..26).map(|idx| (idx, DELETE, GONE)).collect();
        let automatic = NewRun { cause: RunCause::Autofloss, ..new_run(&connection, 4) };
        let run = concluded(&store, &automatic, 100, &many).await;
        assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::TooMany)));
        let tags: Vec<_> = (0..90).map(|idx| (idx, ContactAction::UpdateTags, GONE)).collect();
        let automatic = NewRun { cause: RunCause::Autofloss, ..new_run(&connection, 5) };
        let run = concluded(&store, &automatic, 100, &tags).await;
        assert_eq!(run.state, RunState::Acting, "tags can be undone");
        cancel(&store, &run).await;
        let run = concluded(&store, &new_run(&connected(&store, 2).await, 6), 3, &[]).await;
        assert_eq!((run.state, run.brake), (RunState::Finished, None), "nothing to do");
    })
    .await;
}

#[tokio::test]
async fn a_run_acts_only_in_the_account_that_it_has_read() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = concluded(&store, &new_run(&connection, 1), 2, &[(0, DELETE, GONE)]).await;
        let reconnect = async |tag: u8| {
            let done = store.write(|tx| {
                async {
                    let locked = connection::lock(tx, connection.org, connection.id, false).await?;
                    connection::reconnect(tx, &locked, b"other", &[tag; 16], 9).await
                }
                .scope_boxed()
            });
            assert!(done.await.unwrap());
        };
        reconnect(77).await;
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Disconnected);
        reconnect(1).await;
        let end = store.write(|tx| connection::disconnect(tx, connection.org, connection.id, NOW).scope_boxed());
        assert!(end.await.unwrap());
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Disconnected);
        assert_eq!(run_of(&store, &run).await.state, RunState::NeedsConfirmation);
    })
    .await;
}

#[tokio::test]
async fn a_test_connection_never_acts() {
    for_each_database(async |store| {
        let live = connected(&store, 1).await;
        let test = StoredConnection { test: true, settings: live.settings.clone(), ..nth(live.org, 2) };
        insert(&store, &test).await;
        let run = concluded(&store, &new_run(&test, 1), 2, &[(0, DELETE, GONE)]).await;
        assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::Dry)));
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::TestOnly);
        assert_eq!(counts(&store, &run).await[&(DELETE, ActionState::Planned)], 1);
    })
    .await;
}

#[tokio::test]
async fn two_runs_of_a_connection_never_act_at_once() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let first = concluded(&store, &new_run(&connection, 1), 2, &[(0, DELETE, GONE)]).await;
        let second = new_run(&connection, 2);
        store.write(|tx| runs::start(tx, &second).scope_boxed()).await.unwrap();
        assert!(matches!(confirm(&store, &first, 1).await, Err(StoreError::Conflict)));
        let decide = decide(&store, &first, &[(0, ReviewDecision::Act)]).await;
        assert!(matches!(decide, Err(StoreError::Conflict)), "{decide:?}");
        assert_eq!(counts(&store, &first).await[&(DELETE, ActionState::Planned)], 1);
    })
    .await;
}

#[tokio::test]
async fn a_newer_run_replaces_one_that_waits() {
    for_each_database(async |store| {
        let (connection, other) = (connected(&store, 1).await, connected(&store, 2).await);
        let first = concluded(&store, &new_run(&connection, 1), 2, &[(0, DELETE, GONE)]).await;
        let beside = concluded(&store, &new_run(&other, 2), 2, &[(0, DELETE, GONE)]).await;
        let second = concluded(&store, &new_run(&connection, 3), 2, &[(1, DELETE, GONE)]).await;
        assert_eq!(second.state, RunState::NeedsConfirmation);
        let first = run_of(&store, &first).await;
        assert_eq!((first.state, first.fault.as_deref()), (RunState::Cancelled, Some("a newer run replaced it")));
        assert_eq!(counts(&store, &first).await[&(DELETE, ActionState::Ignored)], 1);
        assert_eq!(confirm(&store, &first, 1).await.unwrap(), Confirmation::NotWaiting(RunState::Cancelled));
        assert_eq!(run_of(&store, &beside).await.state, RunState::NeedsConfirmation, "of another connection");
        // A poll has read new contacts only.
        let poll = NewRun { cause: RunCause::Instafloss, ..new_run(&connection, 5) };
        concluded(&store, &poll, 2, &[]).await;
        assert_eq!(run_of(&store, &second).await.state, RunState::NeedsConfirmation);
        // A run without actions also replaces it.
        concluded(&store, &new_run(&connection, 4), 2, &[]).await;
        assert_eq!(run_of(&store, &second).await.state, RunState::Cancelled);
    })
    .await;
}

async fn decide(
    store: &Store,
    run: &ConnectionRun,
    decisions: &[(i64, ReviewDecision)],
) -> Result<Vec<(i64, Undecidable)>> {
    let decisions: BTreeMap<i64, ReviewDecision> = decisions.iter().copied().collect();
    let place = (run.org, run.job);
    let decided = store.write(|tx| actions::decide(tx, place, &decisions, Some("by a person"), NOW).scope_boxed());
    decided.await.map(|left| left.into_iter().collect())
}

#[tokio::test]
async fn a_person_decides_about_single_actions() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let planned: Vec<_> = (0..4).map(|idx| (idx, DELETE, GONE)).collect();
        let run = concluded(&store, &new_run(&connection, 1), 5, &planned).await;
        let page = async |after| {
            let mut conn = store.read().await.unwrap();
            let page = actions::page(&mut conn, run.org, run.connection, after, 3).await.unwrap();
            page.iter().map(|one| one.action.idx).collect::<Vec<_>>()
        };
        assert_eq!(page(None).await, [0, 1, 2]);
        assert_eq!(page(Some((run.job, 2))).await, [3]);
        let act = [(0, ReviewDecision::Act), (1, ReviewDecision::Ignore), (4, ReviewDecision::Act)];
        assert_eq!(decide(&store, &run, &act).await.unwrap(), [(4, Undecidable::NoAction)]);
        assert_eq!(run_of(&store, &run).await.state, RunState::Acting);
        assert!(page(None).await.is_empty(), "while the run acts, nobody decides");
        let claimed = claim(&store, NOW).await.unwrap();
        let done = [settled(0, ActionState::Done)];
        store.write(|tx| actions::settle(tx, &claimed.fence, &done, NOW).scope_boxed()).await.unwrap();
        let state = store.write(|tx| runs::finish_acting(tx, &claimed.fence, NOW).scope_boxed()).await.unwrap();
        assert_eq!(state, RunState::NeedsConfirmation, "two are left");
        assert_eq!(by_id(&store, &connection).await.unwrap().trusted_at, None, "single decisions trust nothing");
        let rest = [(2, ReviewDecision::Ignore), (3, ReviewDecision::Ignore), (0, ReviewDecision::Act)];
        assert_eq!(decide(&store, &run, &rest).await.unwrap(), [(0, Undecidable::DecidedBefore)]);
        assert_eq!(run_of(&store, &run).await.state, RunState::Finished);
        let over = decide(&store, &run, &rest).await.unwrap();
        assert_eq!(over, [0, 2, 3].map(|idx| (idx, Undecidable::NotWaiting)));
        let ignored = actions::standing(&mut store.read().await.unwrap(), run.org, run.job, 1, 2).await.unwrap();
        assert_eq!(ignored[0].message.as_deref(), Some("by a person"));
    })
    .await;
}

#[tokio::test]
async fn what_was_due_waits_again_when_a_run_cannot_go_on() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = concluded(&store, &new_run(&connection, 1), 3, &[(0, DELETE, GONE), (1, DELETE, GONE)]).await;
        confirm(&store, &run, 2).await.unwrap();
        let claimed = claim(&store, NOW + 9).await.unwrap();
        let done = [settled(0, ActionState::Done)];
        store.write(|tx| actions::settle(tx, &claimed.fence, &done, NOW).scope_boxed()).await.unwrap();
        let failed = store.write(|tx| runs::fail(tx, &claimed.fence, "refused", NOW).scope_boxed()).await.unwrap();
        let now = failed.run;
        assert_eq!((now.state, now.fault.as_deref()), (RunState::NeedsConfirmation, Some("refused")));
        let left = counts(&store, &run).await;
        assert_eq!((left[&(DELETE, ActionState::Done)], left[&(DELETE, ActionState::Planned)]), (1, 1));
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Confirmed, "of what is left");
        assert_eq!(run_of(&store, &run).await.fault, None);
    })
    .await;
}

#[tokio::test]
async fn fixes_are_checked_and_replaced() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        trust(&store, &connection).await;
        let fix = ContactAction::Fix;
        let planned = [(0, fix, GONE), (1, fix, GONE), (2, fix, GONE)];
        let run = concluded(&store, &NewRun { is_dry: true, ..new_run(&connection, 1) }, 5, &planned).await;
        let unchecked = async || {
            let mut conn = store.read().await.unwrap();
            actions::unchecked(&mut conn, run.org, run.job, 0, 9).await.unwrap().len()
        };
        assert_eq!(unchecked().await, 3);
        let (org, job) = (run.org, run.job);
        let changed = store.write(|tx| {
            async {
                actions::checked(tx, org, job, 0, NOW).await?;
                actions::replace_fix(tx, (org, job, 1), ActionState::Planned, Some(DELETE), NOW).await?;
                actions::replace_fix(tx, (org, job, 2), ActionState::Planned, None, NOW).await?;
                actions::replace_fix(tx, (org, job, 1), ActionState::Planned, None, NOW).await
            }
            .scope_boxed()
        });
        changed.await.unwrap();
        assert_eq!(unchecked().await, 0);
        let expected =
            [((DELETE, ActionState::Planned), 1), ((fix, ActionState::Planned), 1), ((fix, ActionState::Ignored), 1)];
        assert_eq!(counts(&store, &run).await, expected.into());
    })
    .await;
}

#[tokio::test]
async fn a_settlement_that_is_repeated_plans_once() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = start(&store, &new_run(&connection, 1)).await.unwrap();
        let one = PlannedAction { idx: 3, kind: DELETE, reason: GONE, verified_at: NOW, doubt: None };
        let other = PlannedAction { kind: ContactAction::Unsubscribe, ..one };
        for action in [one, one, other] {
            let planned = store.write(|tx| {
                async move { actions::plan(tx, (run.org, run.job), run.connection, &[action]).await }.scope_boxed()
            });
            planned.await.unwrap();
        }
        assert_eq!(counts(&store, &run).await.into_iter().collect::<Vec<_>>(), [((DELETE, ActionState::Planned), 1)]);
    })
    .await;
}

#[tokio::test]
async fn canceling_ignores_what_was_not_done() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let planned = [(0, DELETE, GONE), (1, DELETE, GONE)];
        let run = concluded(&store, &new_run(&connection, 1), 3, &planned).await;
        confirm(&store, &run, 2).await.unwrap();
        let claimed = claim(&store, NOW + 9).await.unwrap();
        let done = [settled(0, ActionState::Done)];
        store.write(|tx| actions::settle(tx, &claimed.fence, &done, NOW).scope_boxed()).await.unwrap();
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        assert_eq!(cancel(&store, &run).await, None);
        let left = counts(&store, &run).await;
        assert_eq!((left[&(DELETE, ActionState::Done)], left[&(DELETE, ActionState::Ignored)]), (1, 1));
        let late = [settled(1, ActionState::Done)];
        let late = store.write(|tx| actions::settle(tx, &claimed.fence, &late, NOW).scope_boxed());
        assert!(is_lost(&late.await), "its holder changes nothing more");
    })
    .await;
}

#[tokio::test]
async fn rows_of_a_run_are_removed_with_its_job() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        let run = concluded(&store, &new_run(&connection, 1), 3, &[(0, DELETE, GONE)]).await;
        while let Some(mut packing) =
            store.write(|tx| jobs::claim_packing(tx, NOW, LEASE_MS).scope_boxed()).await.unwrap()
        {
            while let Some(next) = jobs::pack(&store, packing, NOW + LEASE_MS).await.unwrap() {
                packing = next;
            }
        }
        let later = NOW + 40 * 24 * 3_600_000;
        let due = async || jobs::due(&mut store.read().await.unwrap(), later, 30, 9).await.unwrap();
        confirm(&store, &run, 1).await.unwrap();
        assert_eq!(due().await, [], "a run that acts needs its rows");
        let claimed = claim(&store, later).await.unwrap();
        store.write(|tx| runs::put_back(tx, &claimed.fence, "later", later).scope_boxed()).await.unwrap();
        let due = due().await;
        assert_eq!(due, [(run.org, run.job)]);
        assert_eq!(store.write(|tx| jobs::mark_due(tx, &due, later, 30).scope_boxed()).await.unwrap(), 1);
        let now = run_of(&store, &run).await;
        assert_eq!((now.state, now.finished_at), (RunState::Cancelled, Some(later)));
        while store.write(|tx| jobs::purge_rows(tx).scope_boxed()).await.unwrap() {}
        let mut conn = store.read().await.unwrap();
        assert_eq!(actions::standing(&mut conn, run.org, run.job, 0, 9).await.unwrap(), []);
        assert!(contacts::blocks_behind(&mut conn, run.org, run.job, -1, 9).await.unwrap().is_empty());
        drop(conn);
        let forgotten = store.write(|tx| runs::forget(tx, Millis(later.0 + 1), 9).scope_boxed()).await.unwrap();
        assert_eq!(forgotten, 1);
        assert!(counts(&store, &run).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_page_counts_what_is_no_row() {
    for_each_database(async |store| {
        let connection = connected(&store, 1).await;
        start(&store, &new_run(&connection, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        // A page says how many were read so far.
        for (no, read) in [(1, 5), (2, 6)] {
            let page = contacts::ContactPage { contacts: &[contact(no, None)], read, skipped: 0, position: b"{}" };
            store.write(|tx| contacts::store_page(tx, &claimed.fence, &page, NOW, NOW).scope_boxed()).await.unwrap();
        }
        let run = run_of(&store, &claimed.run).await;
        assert_eq!((run.contacts, run.rows), (6, 2));
    })
    .await;
}

#[tokio::test]
async fn a_large_run_is_canceled_in_parts() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        let planned: Vec<_> = (0..5_500).map(|idx| (idx, DELETE, GONE)).collect();
        let run = concluded(&store, &new_run(&of, 1), 5_600, &planned).await;
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        assert_eq!(counts(&store, &run).await[&(DELETE, ActionState::Planned)], 500);
        let more = async || store.write(|tx| runs::drop_more(tx, (run.org, run.job), NOW).scope_boxed()).await.unwrap();
        assert!(!more().await);
        assert_eq!(counts(&store, &run).await, BTreeMap::from([((DELETE, ActionState::Ignored), 5_500)]));
    })
    .await;
}

#[tokio::test]
async fn a_large_run_fails_in_parts() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        let run = start(&store, &new_run(&of, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        let contacts: Vec<_> = (0..5_600).map(|n| contact(n, None)).collect();
        store_page(&store, &claimed, &contacts, b"{}").await.unwrap();
        assert!(accept(&store, &claimed).await.unwrap());
        let planned: Vec<_> = (0..5_500).map(|idx| (idx, DELETE, GONE)).collect();
        complete(&store, &run, 5_600, &planned).await;
        let fence = claim(&store, NOW).await.unwrap().fence;
        let failed = store.write(|tx| runs::fail(tx, &fence, "refused", NOW).scope_boxed()).await.unwrap();
        assert_eq!(failed.run.state, RunState::Failed);
        assert_eq!(counts(&store, &run).await[&(DELETE, ActionState::Planned)], 500);
        assert!(!store.write(|tx| runs::drop_more(tx, (run.org, run.job), NOW).scope_boxed()).await.unwrap());
        assert_eq!(counts(&store, &run).await, BTreeMap::from([((DELETE, ActionState::Ignored), 5_500)]));
    })
    .await;
}

#[tokio::test]
async fn what_a_canceled_run_has_noted_is_taken_back_in_parts() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        let run = start(&store, &new_run(&of, 1)).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        let contacts: Vec<_> = (0..25).map(|n| contact(n, None)).collect();
        store_page(&store, &claimed, &contacts, b"{}").await.unwrap();
        let run = run_of(&store, &run).await;
        let (mut parts, mut after) = (0, Some(Vec::new()));
        while let Some(last) = after {
            after = store.write(|tx| contacts::forget_part(tx, &run, &last, 10).scope_boxed()).await.unwrap();
            parts += 1;
        }
        assert_eq!(parts, 4, "the last finds none");
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        // All of them are unverified again.
        let night = NewRun { cause: RunCause::Autofloss, ..new_run(&of, 2) };
        start(&store, &night).await.unwrap();
        let claimed = claim(&store, NOW).await.unwrap();
        assert_eq!(store_page(&store, &claimed, &contacts, b"{}").await.unwrap(), 25);
    })
    .await;
}
