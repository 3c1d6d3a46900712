//! Changed verdicts: compared with the organization's last status, and removed with it.

use probity_account::id::ErasureId;
use probity_mail::time::DAY_MS;
use probity_mail::verdict::Status;
use probity_store::connections::changes::{self, FreshVerdict, VerdictChange};
use probity_store::jobs::JobNo;

use super::*;
use crate::databases::for_each_database;

fn fresh(idx: i64, tag: u8, reason: Reason) -> FreshVerdict {
    FreshVerdict { idx, tag: [tag; 16], reason }
}

async fn note(store: &Store, run: &ConnectionRun, rows: &[FreshVerdict], now: Millis) {
    store.write(|tx| changes::note(tx, (run.org, run.job, false), rows, now).scope_boxed()).await.unwrap();
}

async fn listed(store: &Store, org: OrgNo, after: (Millis, JobNo, i64), at_most: i64) -> Vec<VerdictChange> {
    let until = NOW + 1_000 * DAY_MS;
    changes::page(&mut store.read().await.unwrap(), (org, false), until, after, at_most).await.unwrap()
}

const ALL: (Millis, JobNo, i64) = (Millis(0), JobNo(-1), -1);

#[tokio::test]
async fn a_change_is_another_conclusive_status_of_the_same_organization() {
    for_each_database(async |store| {
        let (of, other) = (connected(&store, 1).await, connected(&store, 2).await);
        let run = concluded(&store, &new_run(&of, 1), 3, &[]).await;
        let others = concluded(&store, &new_run(&other, 2), 3, &[]).await;
        let first = [fresh(0, 1, Reason::Valid), fresh(1, 2, Reason::Valid), fresh(2, 3, Reason::Nonexistent)];
        note(&store, &run, &first, NOW).await;
        assert_eq!(listed(&store, of.org, ALL, 10).await, [], "nothing was known before");
        // Unknown is no verdict, and another reason with the same status is not a change.
        note(&store, &run, &[fresh(0, 1, Reason::Unverified), fresh(2, 3, Reason::Deactivated)], NOW + 1).await;
        note(&store, &others, &[fresh(0, 1, Reason::Nonexistent)], NOW + 1).await;
        assert_eq!(listed(&store, of.org, ALL, 10).await, []);
        note(&store, &run, &[fresh(0, 1, Reason::Nonexistent), fresh(1, 2, Reason::Valid)], NOW + 2).await;
        let found = listed(&store, of.org, ALL, 10).await;
        let [change] = &found[..] else { panic!("{found:?}") };
        let expected = VerdictChange {
            at: NOW + 2,
            job: run.job,
            idx: 0,
            before: Status::Passed,
            reason: Reason::Nonexistent,
            run: run.id,
            connection: Some(of.id),
        };
        assert_eq!(*change, expected);
        assert_eq!(listed(&store, other.org, ALL, 10).await, []);
        note(&store, &run, &[fresh(1, 1, Reason::Valid), fresh(2, 2, Reason::RoleBased)], NOW + 3).await;
        let mut pages = Vec::new();
        let mut after = (NOW + 2, JobNo(-1), -1);
        while let [next] = &listed(&store, of.org, after, 1).await[..] {
            pages.push((next.idx, next.before, next.reason));
            after = (next.at, next.job, next.idx);
        }
        let expected = [
            (0, Status::Passed, Reason::Nonexistent),
            (1, Status::Undeliverable, Reason::Valid),
            (2, Status::Passed, Reason::RoleBased),
        ];
        assert_eq!(pages, expected);
    })
    .await;
}

#[tokio::test]
async fn what_is_known_stays_while_runs_confirm_it_and_goes_with_an_erasure() {
    for_each_database(async |store| {
        let of = connected(&store, 1).await;
        let run = concluded(&store, &new_run(&of, 1), 3, &[]).await;
        note(&store, &run, &[fresh(0, 1, Reason::Valid), fresh(1, 2, Reason::Valid)], NOW).await;
        let confirmed = NOW + 61 * DAY_MS;
        note(&store, &run, &[fresh(0, 1, Reason::Valid)], confirmed).await;
        let any_old = async || changes::any_old(&mut store.read().await.unwrap(), confirmed).await.unwrap();
        assert!(any_old().await);
        let forgotten = store.write(|tx| changes::forget(tx, confirmed, 10).scope_boxed()).await.unwrap();
        assert_eq!((forgotten, any_old().await), (1, false));
        let both = [fresh(0, 1, Reason::Nonexistent), fresh(1, 2, Reason::Nonexistent)];
        note(&store, &run, &both, confirmed + 1).await;
        let rows: Vec<_> = listed(&store, of.org, ALL, 10).await.iter().map(|change| change.idx).collect();
        assert_eq!(rows, [0], "of the other nothing was known any more");
        let unknown = ErasureId::new(NOW, [9; 10]);
        let erase = changes::erase;
        let none = store.write(|tx| erase(tx, (of.org, false), unknown, confirmed + 2, 10).scope_boxed()).await;
        assert_eq!(none.unwrap(), 0, "nobody erased them");
    })
    .await;
}
