//! The brake over several runs: how unconfirmed runs count for a later one.

use probity_account::connections::{
    BrakeCount, BrakeReason, ConnectionAction, ConnectionSettings, ContactAction, KeywordMatch, KeywordParts,
    KeywordRule, RuleKind, RunCause,
};
use probity_account::id::RuleId;
use probity_mail::time::DAY_MS;
use probity_mail::verdict::Reason;
use probity_store::connections::actions::{self, ActionState, SettledAction};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::rules::{self, NewRule};
use probity_store::connections::runs::{self, Confirmation, ConnectionRun, NewRun, RunState, STARTED_BY_KEY};
use probity_store::connections::schedule;
use probity_store::jobs::NewJob;
use probity_store::{ScopedFutureExt as _, Store};

use super::{DELETE, GONE, cancel, claim, concluded, confirm, connected, new_run, start, through, trust};
use crate::connections::{NOW, by_id};
use crate::databases::for_each_database;

const MINUTE_MS: i64 = 60_000;
/// Maximum number of actions of a run in these tests.
const MANY: i64 = 1_000;

/// Returns the first rows of a run, all to be deleted.
fn bad(rows: i64) -> Vec<(i64, ContactAction, Reason)> {
    (0..rows).map(|idx| (idx, DELETE, GONE)).collect()
}

/// Returns the `n`th run of a connection, `n` minutes after a time before now.
fn nth_run(of: &StoredConnection, n: u8, cause: RunCause, before_ms: i64) -> NewRun {
    let new = new_run(of, n);
    let at = NOW + (-before_ms + i64::from(n) * MINUTE_MS);
    NewRun { cause, job: NewJob { at, ..new.job }, ..new }
}

/// Returns a poll of the last day, likewise.
fn poll(of: &StoredConnection, n: u8) -> NewRun {
    nth_run(of, n, RunCause::Instafloss, DAY_MS)
}

/// Performs the due actions of a run.
async fn act(store: &Store, run: &ConnectionRun) {
    assert_eq!((run.state, run.brake), (RunState::Acting, None));
    let claimed = claim(store, NOW + 9).await.unwrap();
    let due = actions::due(&mut store.read().await.unwrap(), run.org, run.job, 0, MANY).await.unwrap();
    let (state, mark) = (ActionState::Done, [9; 16]);
    let settled: Vec<_> = due
        .iter()
        .map(|action| SettledAction { idx: action.idx, state, message: None, undo: None, mark, effect: None })
        .collect();
    let (fence, settled) = (&claimed.fence, &settled);
    let finished = store.write(|tx| {
        async move {
            actions::settle(tx, fence, settled, NOW).await?;
            runs::finish_acting(tx, fence, NOW).await
        }
        .scope_boxed()
    });
    assert_eq!(finished.await.unwrap(), RunState::Finished);
}

/// Runs this number of rows, of which the first are bad, and expects the run to act.
async fn acts(store: &Store, new: &NewRun, rows: u16, actions: i64) {
    act(store, &concluded(store, new, rows, &bad(actions)).await).await;
}

/// Runs likewise, expects the run to wait, and returns it.
async fn waits(store: &Store, new: &NewRun, rows: u16, actions: i64) -> ConnectionRun {
    let run = concluded(store, new, rows, &bad(actions)).await;
    assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::TooMany)));
    run
}

#[expect(clippy::unnecessary_wraps, reason = "as the store returns it")]
fn count(contacts: i64, destructive: i64) -> Option<BrakeCount> {
    Some(BrakeCount { contacts, destructive })
}

#[tokio::test]
async fn automatic_runs_count_together_until_a_person_confirms_them() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        acts(&store, &poll(&of, 1), 3, 3).await;
        let held = waits(&store, &poll(&of, 2), 2, 2).await;
        assert_eq!(held.together, count(5, 5));
        let harmless = concluded(&store, &poll(&of, 3), 5, &[]).await;
        assert_eq!((harmless.state, harmless.brake), (RunState::Finished, None), "it adds nothing");
        // Runs of all kinds; held actions are neither in the rows nor in the actions.
        let night = nth_run(&of, 4, RunCause::Autofloss, DAY_MS);
        let night = waits(&store, &night, 2, 2).await;
        assert_eq!(night.together, count(10, 5));
        // Who confirms has seen the earlier runs, too. Those since count.
        assert_eq!(confirm(&store, &night, 2).await.unwrap(), Confirmation::Confirmed);
        let confirmed = ConnectionRun { state: RunState::Acting, brake: None, ..night };
        act(&store, &confirmed).await;
        acts(&store, &poll(&of, 5), 3, 3).await;
        assert_eq!(waits(&store, &poll(&of, 6), 2, 2).await.together, count(5, 5));
    })
    .await;
}

#[tokio::test]
async fn clean_contacts_leave_room_for_a_tenth_and_for_no_run_that_is_bad_by_itself() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        let clean = concluded(&store, &poll(&of, 1), 400, &[]).await;
        assert_eq!(clean.state, RunState::Finished);
        // 30 of 430 in total.
        assert_eq!(waits(&store, &poll(&of, 4), 30, 30).await.together, None, "by itself");
        for n in 5..=18 {
            acts(&store, &poll(&of, n), 3, 3).await;
        }
        assert_eq!(waits(&store, &poll(&of, 19), 3, 3).await.together, count(445, 45));
    })
    .await;
}

#[tokio::test]
async fn contacts_of_runs_that_did_not_end_well_leave_no_room() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        waits(&store, &poll(&of, 1), 400, 41).await;
        let cancelled = waits(&store, &poll(&of, 4), 400, 41).await;
        assert_eq!(cancel(&store, &cancelled).await, Some(RunState::Cancelled));
        let stopped = concluded(&store, &poll(&of, 7), 400, &bad(2)).await;
        assert_eq!(stopped.state, RunState::Acting);
        assert_eq!(cancel(&store, &stopped).await, Some(RunState::Cancelled));
        start(&store, &poll(&of, 10)).await.unwrap();
        let failing = claim(&store, NOW).await.unwrap();
        store.write(|tx| runs::fail(tx, &failing.fence, "refused", NOW).scope_boxed()).await.unwrap();
        acts(&store, &poll(&of, 11), 3, 3).await;
        assert_eq!(waits(&store, &poll(&of, 12), 3, 3).await.together, count(6, 6));
    })
    .await;
}

#[tokio::test]
async fn what_an_interrupted_run_has_done_counts() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        let run = concluded(&store, &poll(&of, 1), 30, &bad(3)).await;
        let claimed = claim(&store, NOW).await.unwrap();
        let (state, mark) = (ActionState::Done, [9; 16]);
        let done: Vec<_> =
            (0..2).map(|idx| SettledAction { idx, state, message: None, undo: None, mark, effect: None }).collect();
        let (fence, done) = (&claimed.fence, &done);
        let stopped = store.write(|tx| {
            async move {
                actions::settle(tx, fence, done, NOW).await?;
                runs::put_back(tx, fence, "the platform is gone", NOW).await
            }
            .scope_boxed()
        });
        assert_eq!(stopped.await.unwrap().state, RunState::NeedsConfirmation);
        let held = waits(&store, &poll(&of, 2), 3, 3).await;
        assert_eq!(held.together, count(5, 5));
        // A person has looked at it since.
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Confirmed);
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        acts(&store, &poll(&of, 3), 3, 3).await;
    })
    .await;
}

#[tokio::test]
async fn runs_count_together_for_30_days_or_a_longer_period_of_decay() {
    for (decay_days, before_days, counts) in [(30, 31, false), (30, 29, true), (7, 29, true), (90, 31, true)] {
        for_each_database(async |store| {
            let of = connected(&store, 1).await;
            let settings = ConnectionSettings { decay_days, ..of.settings.clone() };
            let of = StoredConnection { settings, ..of };
            trust(&store, &of).await;
            let earlier = nth_run(&of, 1, RunCause::Instafloss, before_days * DAY_MS);
            acts(&store, &earlier, 3, 3).await;
            let later = NewRun { job: NewJob { at: NOW, ..poll(&of, 2).job }, ..poll(&of, 2) };
            let run = concluded(&store, &later, 2, &bad(2)).await;
            let expected = if counts { RunState::NeedsConfirmation } else { RunState::Acting };
            assert_eq!(run.state, expected, "{before_days} days before, with a period of {decay_days}");
        })
        .await;
    }
}

/// Starts the `n`th run of decay protection, over contacts that were never verified.
async fn decay(store: &Store, of: &StoredConnection, n: u8) -> ConnectionRun {
    let new = nth_run(of, n, RunCause::DecayProtection, DAY_MS);
    let started = store.write(|tx| {
        async {
            let place = (of.org, of.id, RunCause::DecayProtection);
            // As if it had been on for the whole period, so that its share is all of them.
            schedule::add(tx, place, new.job.at, new.job.at + -40 * DAY_MS).await?;
            let due = schedule::of_connection(tx, of.org, of.id).await?.remove(0);
            schedule::start(tx, &due, &new, new.job.at + MINUTE_MS, 30).await
        }
        .scope_boxed()
    });
    started.await.unwrap().unwrap()
}

#[tokio::test]
async fn shares_of_decay_protection_empty_no_list_one_by_one() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        for n in 1..=3 {
            let run = decay(&store, &of, n).await;
            act(&store, &through(&store, &run, 1, &bad(1)).await).await;
        }
        let run = decay(&store, &of, 4).await;
        let run = through(&store, &run, 1, &bad(1)).await;
        assert_eq!((run.brake, run.together), (Some(BrakeReason::TooMany), count(4, 4)));
    })
    .await;
}

/// Returns the `n`th run over all contacts, started by a user.
fn started_by(of: &StoredConnection, n: u8, who: &'static str) -> NewRun {
    let new = nth_run(of, n, RunCause::Manual, DAY_MS);
    NewRun { job: NewJob { started_by: who, ..new.job }, ..new }
}

#[tokio::test]
async fn a_person_watches_the_runs_that_they_start() {
    for who in ["manual", "staff"] {
        for_each_database(async |store| {
            let of = connected(&store, 1).await;
            trust(&store, &of).await;
            for n in 1..=2 {
                acts(&store, &started_by(&of, n, who), 100, 60).await;
            }
            // Nor do they count for others.
            acts(&store, &poll(&of, 3), 3, 3).await;
        })
        .await;
    }
}

#[tokio::test]
async fn nobody_watches_a_run_that_a_key_starts() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        assert_eq!(waits(&store, &started_by(&of, 1, STARTED_BY_KEY), 100, 60).await.together, None);
        // All contacts are the same each time, so they count once.
        acts(&store, &started_by(&of, 2, STARTED_BY_KEY), 100, 6).await;
        let run = waits(&store, &started_by(&of, 3, STARTED_BY_KEY), 100, 6).await;
        assert_eq!(run.together, count(100, 12));
    })
    .await;
}

#[tokio::test]
async fn runs_in_another_account_do_not_count() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        acts(&store, &poll(&of, 1), 3, 3).await;
        let reconnected = store.write(|tx| {
            async {
                let locked = connection::lock(tx, of.org, of.id, false).await?;
                connection::reconnect(tx, &locked, b"other", &[77; 16], 9).await
            }
            .scope_boxed()
        });
        assert!(reconnected.await.unwrap());
        let first = concluded(&store, &new_run(&of, 91), 2, &bad(1)).await;
        assert_eq!(first.brake, Some(BrakeReason::First));
        assert_eq!(confirm(&store, &first, 1).await.unwrap(), Confirmation::Confirmed);
        cancel(&store, &first).await;
        acts(&store, &poll(&of, 2), 3, 3).await;
    })
    .await;
}

#[tokio::test]
async fn a_run_that_would_leave_no_other_contact_asks_whoever_has_started_it() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        // The two contacts that the connection has.
        let whole = waits(&store, &started_by(&of, 1, "manual"), 2, 2).await;
        assert_eq!(whole.together, None);
        assert_eq!(cancel(&store, &whole).await, Some(RunState::Cancelled));
        acts(&store, &started_by(&of, 2, "manual"), 2, 1).await;
        acts(&store, &started_by(&of, 3, "manual"), 3, 2).await;
    })
    .await;
}

#[tokio::test]
async fn a_confirmed_run_is_trusted_only_for_what_it_has_shown() {
    let tags = Some(ConnectionAction::UpdateTags);
    let cases = [
        (Some(ConnectionAction::Delete), tags, false),
        (tags, tags, true),
        (Some(ConnectionAction::DoNothing), tags, true),
        (Some(ConnectionAction::Delete), Some(ConnectionAction::Delete), true),
    ];
    for (now, shown, is_trusted) in cases {
        for_each_database(async |store| {
            let of = connected(&store, 1).await;
            let of = StoredConnection { settings: ConnectionSettings { action: shown, ..of.settings.clone() }, ..of };
            let run = concluded(&store, &new_run(&of, 1), 2, &[(0, ContactAction::UpdateTags, GONE)]).await;
            let changed =
                StoredConnection { settings: ConnectionSettings { action: now, ..of.settings.clone() }, ..of };
            store.write(|tx| connection::write(tx, &changed).scope_boxed()).await.unwrap();
            assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Confirmed);
            let trusted = by_id(&store, &changed).await.unwrap().trusted_at.is_some();
            assert_eq!(trusted, is_trusted, "{shown:?} was shown, and {now:?} would be done");
        })
        .await;
    }
}

/// Adds a keyword rule, or removes the rule with this ID.
async fn change_rule(store: &Store, of: &StoredConnection, kind: RuleKind, removed: Option<RuleId>) -> RuleId {
    let changed = store.write(|tx| {
        async {
            connection::lock(tx, of.org, of.id, of.test).await?;
            let list = (of.org, of.id, kind);
            if let Some(id) = removed {
                assert!(rules::remove(tx, list, id).await?);
                return Ok(id);
            }
            let rule = KeywordRule::new("info", KeywordMatch::Exact, KeywordParts::ALL).unwrap();
            let byte = if kind == RuleKind::Blacklist { 7 } else { 8 };
            let new = NewRule { id: RuleId::new(NOW, [byte; 10]), tag: [byte; 16], rule };
            rules::add(tx, list, &[new], (0, MANY), NOW).await.map(|added| added.unwrap()[0].id)
        }
        .scope_boxed()
    });
    changed.await.unwrap()
}

async fn is_trusted(store: &Store, of: &StoredConnection) -> bool {
    by_id(store, of).await.unwrap().trusted_at.is_some()
}

#[tokio::test]
async fn rules_by_which_runs_act_on_more_contacts_take_the_trust_back() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        trust(&store, &of).await;
        let kept = change_rule(&store, &of, RuleKind::Whitelist, None).await;
        assert!(is_trusted(&store, &of).await, "one contact less");
        let asked = change_rule(&store, &of, RuleKind::Blacklist, None).await;
        assert!(!is_trusted(&store, &of).await);
        let run = concluded(&store, &poll(&of, 1), 2, &bad(1)).await;
        assert_eq!((run.state, run.brake), (RunState::NeedsConfirmation, Some(BrakeReason::First)));
        // The confirmation covers the new rule. It already exists, and removing it again lets runs act on fewer contacts.
        assert_eq!(confirm(&store, &run, 1).await.unwrap(), Confirmation::Confirmed);
        assert_eq!(change_rule(&store, &of, RuleKind::Blacklist, None).await, asked);
        change_rule(&store, &of, RuleKind::Blacklist, Some(asked)).await;
        assert!(is_trusted(&store, &of).await);
        change_rule(&store, &of, RuleKind::Whitelist, Some(kept)).await;
        assert!(!is_trusted(&store, &of).await);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_began_before_a_rule_has_not_shown_what_it_does() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        let earlier = concluded(&store, &new_run(&of, 1), 2, &bad(1)).await;
        change_rule(&store, &of, RuleKind::Blacklist, None).await;
        assert_eq!(confirm(&store, &earlier, 1).await.unwrap(), Confirmation::Confirmed);
        assert!(!is_trusted(&store, &of).await);
        cancel(&store, &earlier).await;
        trust(&store, &of).await;
        assert!(is_trusted(&store, &of).await);
    })
    .await;
}
