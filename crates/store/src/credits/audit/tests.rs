//! The audit can fail: each invariant is broken on purpose, and detected.

use std::sync::Mutex;

use probity_account::credits::CreditBucket;
use probity_account::id::{DeliveryId, EventId, JobId, OrgId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_trialdb::postgres;

use super::{AuditDiscrepancy, Invariant, everything};
use crate::accounts::organization::{self, OrgRecord};
use crate::credits::{self, CreditBooking};
use crate::db::{Statement, args};
use crate::jobs::{self, ChunkGroup, NewChunk, NewJob, OutcomeKind, RowResult, SettledPart};
use crate::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use crate::{DatabasePlace, OrgNo, ScopedFutureExt as _, Store, StoreConfig, StoreError};

const NOW: Millis = Millis(1_800_000_000_000);
const URL: &str = "https://hooks.example.com/x";

/// A statement that breaks each invariant. The jobs differ in state: one is completed, one is half done.
const BROKEN: &[(Invariant, &str)] = &[
    (Invariant::AccountAvailable, "UPDATE account SET available = available + 1 WHERE bucket = 'prepaid'"),
    (Invariant::AccountHeld, "UPDATE ledger SET prepaid = prepaid + 1 WHERE kind = 'hold'"),
    (Invariant::AccountSpent, "UPDATE account SET spent = spent + 1 WHERE bucket = 'subscription'"),
    (Invariant::AccountHolds, "UPDATE hold SET prepaid = prepaid + 1"),
    (Invariant::AccountUsage, "UPDATE usage_day SET charged = charged + 1"),
    (Invariant::JobHeld, "DELETE FROM ledger WHERE kind = 'hold'"),
    (Invariant::JobSettled, "DELETE FROM ledger WHERE kind = 'release'"),
    (
        Invariant::JobSettled,
        "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at) \
      SELECT org_no, 'release', id || ':9:9:9', 0, 1, 0 FROM job WHERE state = 'completed'",
    ),
    (Invariant::JobCaptured, "DELETE FROM ledger WHERE kind = 'capture'"),
    (
        Invariant::HoldOfClosed,
        "INSERT INTO hold (org_no, id, subscription, prepaid, created_at) \
      SELECT org_no, id, 0, 1, 0 FROM job WHERE state = 'completed'",
    ),
    (Invariant::HoldOfClosed, "UPDATE hold SET id = 'another'"),
    (Invariant::ChunkOfClosed, "UPDATE chunk SET job_no = (SELECT job_no FROM job WHERE state = 'completed')"),
    (Invariant::OpenWithoutWork, "DELETE FROM chunk"),
    (Invariant::OpenByState, "UPDATE job SET is_open = 0"),
    (Invariant::OpenByState, "UPDATE job SET is_open = 1"),
    (Invariant::CompletedCounts, "UPDATE job SET state = 'completed' WHERE state = 'processing'"),
    (Invariant::ReasonCounts, "UPDATE job_reason SET n = n + 1"),
    (Invariant::EventOnce, "DELETE FROM outbox"),
    (Invariant::EventOnce, "UPDATE job SET webhook_url = NULL"),
    (Invariant::EventOnce, "UPDATE outbox SET created_at = created_at + 1"),
    (Invariant::RowOnce, "DELETE FROM result_part"),
    (
        Invariant::RowOnce,
        "INSERT INTO job_duplicate (org_no, job_no, idx, first_idx) \
      SELECT org_no, job_no, 1, 0 FROM job WHERE state = 'completed'",
    ),
    (
        Invariant::RowOnce,
        "INSERT INTO result_part (org_no, job_no, part_no, chunk_no, body) \
      SELECT org_no, job_no, part_no + 1, chunk_no, body FROM result_part",
    ),
    (Invariant::RowBeyond, "UPDATE job_duplicate SET idx = idx + 100"),
    (Invariant::RowCounts, "UPDATE job SET processed = processed - 1, passed = passed - 1"),
    (Invariant::RowCounts, "UPDATE job SET charged = charged + 1"),
    (Invariant::RowCounts, "DELETE FROM job_duplicate WHERE idx = 3"),
    (Invariant::RowReasons, "UPDATE job_reason SET reason = 'unverified' WHERE reason = 'valid'"),
    (Invariant::HoldOfOpen, "UPDATE hold SET prepaid = prepaid - 1"),
    (Invariant::WorkLost, "UPDATE chunk SET size = 0"),
];

fn new_job(org: OrgNo, n: u8) -> NewJob {
    let id = JobId::new(NOW, [n; 10]);
    NewJob { org, id, test: false, source: "api", started_by: "api", source_action: "test", actor: None, at: NOW }
}

fn result(idx: i64, copies: i64, reason: Reason) -> RowResult {
    let kind = OutcomeKind {
        reason,
        findings: Vec::new(),
        meta: String::new(),
        rule: "rule".into(),
        smtp_code: None,
        enhanced: None,
        host: None,
        provider: None,
        source: "smtp".into(),
        flags: 0,
        charged: reason == Reason::Valid,
    };
    RowResult { idx, copies, kind: kind.into(), suggestion: None }
}

/// Adds two jobs of four rows, the last a duplicate of the first; the first job is completed if `whole`, else half done.
async fn job(store: &Store, new: &NewJob, whole: bool) {
    let org = new.org;
    let done = store.write(|tx| {
        async {
            let no = jobs::begin(tx, new).await?;
            jobs::accept(tx, new, 4, Some(URL), NOW).await?;
            let claim = jobs::claim_import(tx, NOW, 1_000).await?.expect("the job waits");
            let chunk =
                NewChunk { ready_at: NOW, size: 3, body: vec![], destination: String::new(), source: String::new() };
            jobs::add_chunks(tx, &claim, &[chunk], &[(3, 0)], NOW, 1_000).await?;
            jobs::imported(tx, &claim, 1, NOW).await?;
            let head = ChunkGroup { org, job: no, destination: String::new(), source: String::new() };
            let claimed = jobs::claim_chunks(tx, &head, NOW, 1_000, 1).await?;
            let mut results = vec![result(0, 2, Reason::Valid)];
            if whole {
                results.extend([result(1, 1, Reason::Valid), result(2, 1, Reason::Nonexistent)]);
            }
            let settled = SettledPart { results, done: whole, ..SettledPart::default() };
            let closed = jobs::settle(tx, &claimed[0].fence, &settled, NOW).await?;
            if closed.is_some() {
                outbox::put(tx, &message(org)).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    done.await.unwrap();
}

fn message(org: OrgNo) -> NewDelivery {
    NewDelivery {
        org,
        id: DeliveryId::new(NOW, [1; 10]),
        event: EventId::new(NOW, [1; 10]),
        kind: "job.finished".into(),
        url: URL.into(),
        content: DeliveryContent::Bytes(Vec::new()),
        job: None,
        signer: String::new(),
        created_at: NOW,
    }
}

async fn prepare(store: &Store) {
    store.migrate().await.unwrap();
    let org = OrgRecord::new(OrgId::new(NOW, [9; 10]), None, "metered".into(), NOW);
    let booking = CreditBooking { org: org.no, bucket: CreditBucket::Prepaid, amount: 100, cause: "first", at: NOW };
    let made = store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            credits::grant(tx, &booking, None).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
    job(store, &new_job(org.no, 1), true).await;
    job(store, &new_job(org.no, 2), false).await;
}

/// Returns the audit's findings after a statement, which is then rolled back.
async fn found_after(store: &Store, sabotage: &'static Statement) -> Vec<AuditDiscrepancy> {
    let found = Mutex::new(Vec::new());
    let undone = store.write(|tx| {
        async {
            assert!(tx.execute(sabotage, args![]).await? > 0, "{sabotage:?}");
            let mut all = super::sums_of(tx, Millis(0)).await?;
            for (org, job) in super::rows::jobs_after(tx, None, 10).await? {
                all.extend(super::rows::of_job(tx, org, job).await?);
            }
            *found.lock().unwrap() = all;
            Err::<(), _>(StoreError::Conflict)
        }
        .scope_boxed()
    });
    assert!(matches!(undone.await, Err(StoreError::Conflict)), "{sabotage:?}");
    found.into_inner().unwrap()
}

async fn finds_everything(store: &Store) {
    prepare(store).await;
    assert_eq!(everything(store).await.unwrap(), []);
    for invariant in Invariant::ALL {
        assert!(BROKEN.iter().any(|(broken, _)| broken == invariant), "{invariant:?} is not broken here");
    }
    for (invariant, text) in BROKEN {
        let found = found_after(store, Box::leak(Box::new(Statement::new("SABOTAGE", text)))).await;
        assert!(found.iter().any(|at| at.invariant == *invariant), "{text}: {found:?}");
    }
    assert_eq!(everything(store).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_broken_in_sqlite_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
    finds_everything(&Store::open(&StoreConfig::new(place)).await.unwrap()).await;
}

#[tokio::test]
async fn what_is_broken_in_postgresql_is_found() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
    finds_everything(&store).await;
    store.close().await;
}
