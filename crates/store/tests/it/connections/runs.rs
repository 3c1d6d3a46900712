//! Runs: contacts read page by page; actions planned, held, and done once.

mod acting;
mod braking;
mod changes;
mod reading;
mod reported;

use std::collections::BTreeMap;

use probity_account::connections::{ConnectionAction, ConnectionSettings, ContactAction, RunCause};
use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::connections::actions::{self, ActionCount, ActionState, PlannedAction};
use probity_store::connections::connection::StoredConnection;
use probity_store::connections::contacts::{self, ContactPage, ReadContact};
use probity_store::connections::runs::{self, ClaimedRun, Confirmation, ConnectionRun, NewRun, RunState};
use probity_store::jobs::{self, ChunkGroup, NewChunk, NewJob, OutcomeKind, RowResult, SettledPart};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use super::{NOW, insert, nth};
use crate::organizations;

const LEASE_MS: i64 = 60_000;
const CREDITS: i64 = 10_000;
const DELETE: ContactAction = ContactAction::Delete;
const GONE: Reason = Reason::Nonexistent;

/// Creates an organization with credits and a connection that deletes.
async fn connected(store: &Store, n: u8) -> StoredConnection {
    let org = organizations::nth(n, NOW);
    organizations::add_with(store, &org, CREDITS).await.unwrap();
    let settings = ConnectionSettings { action: Some(ConnectionAction::Delete), ..ConnectionSettings::default() };
    let connection = StoredConnection { settings, ..nth(org.no, n) };
    insert(store, &connection).await;
    connection
}

fn new_job(org: OrgNo, n: u8, test: bool) -> NewJob {
    let id = JobId::new(NOW, [n; 10]);
    NewJob { org, id, test, source: "integration", started_by: "manual", source_action: "test", actor: None, at: NOW }
}

pub(super) fn new_run(of: &StoredConnection, n: u8) -> NewRun {
    NewRun {
        job: new_job(of.org, n, of.test),
        connection: of.id,
        cause: RunCause::Manual,
        is_dry: false,
        settings: serde_json::to_string(&of.settings).unwrap(),
        since: None,
    }
}

pub(super) async fn start(store: &Store, new: &NewRun) -> Result<ConnectionRun> {
    store.write(|tx| runs::start(tx, new).scope_boxed()).await
}

async fn claim(store: &Store, now: Millis) -> Option<ClaimedRun> {
    store.write(|tx| runs::claim(tx, now, LEASE_MS, &[]).scope_boxed()).await.unwrap()
}

/// Returns the run as stored.
async fn run_of(store: &Store, of: &ConnectionRun) -> ConnectionRun {
    runs::by_id(&mut store.read().await.unwrap(), of.org, of.connection, of.id).await.unwrap()
}

fn contact(n: u16, list: Option<&str>) -> ReadContact {
    let mut hash = [0; 16];
    hash[..2].copy_from_slice(&n.to_be_bytes());
    ReadContact {
        id: format!("c{n}"),
        email: format!("user{n}@example.org"),
        list: list.map(str::to_owned),
        report: None,
        changed_at: None,
        mark: hash,
        address: hash,
        created_at: None,
    }
}

async fn store_page(store: &Store, claimed: &ClaimedRun, contacts: &[ReadContact], at: &[u8]) -> Result<i64> {
    let page = ContactPage { contacts, read: i64::try_from(contacts.len()).unwrap(), skipped: 1, position: at };
    store.write(|tx| contacts::store_page(tx, &claimed.fence, &page, NOW, NOW + LEASE_MS).scope_boxed()).await
}

async fn accept(store: &Store, claimed: &ClaimedRun) -> Result<bool> {
    let new = NewJob { id: claimed.run.id, ..new_job(claimed.run.org, 0, claimed.test) };
    store.write(|tx| runs::accept(tx, &claimed.fence, &new, (Some(NOW - 5), None), NOW).scope_boxed()).await
}

fn result(idx: i64, reason: Reason) -> RowResult {
    let kind = OutcomeKind {
        reason,
        findings: Some(reason).filter(|reason| *reason != Reason::Valid).into_iter().collect(),
        meta: String::new(),
        rule: "rule".into(),
        smtp_code: None,
        enhanced: None,
        host: None,
        provider: None,
        source: "smtp".into(),
        flags: 0,
        charged: true,
    };
    RowResult { idx, copies: 1, kind: kind.into(), suggestion: None }
}

/// Imports the job of a run and settles its rows, which plan these actions.
async fn complete(store: &Store, run: &ConnectionRun, rows: i64, planned: &[(i64, ContactAction, Reason)]) {
    let import = store.write(|tx| jobs::claim_import(tx, NOW, LEASE_MS).scope_boxed()).await.unwrap().unwrap();
    let chunk =
        NewChunk { ready_at: NOW, size: rows, body: vec![7], destination: String::new(), source: String::new() };
    let chunk = &chunk;
    let imported = store.write(|tx| {
        async {
            jobs::add_chunks(tx, &import, std::slice::from_ref(chunk), &[], NOW, LEASE_MS).await?;
            jobs::imported(tx, &import, 0, NOW).await
        }
        .scope_boxed()
    });
    imported.await.unwrap();
    let head = ChunkGroup { org: run.org, job: run.job, destination: String::new(), source: String::new() };
    let claimed = store.write(|tx| jobs::claim_chunks(tx, &head, NOW, LEASE_MS, 1).scope_boxed()).await.unwrap();
    let reason = |idx| planned.iter().find(|(row, ..)| *row == idx).map_or(Reason::Valid, |(.., reason)| *reason);
    let results = (0..rows).map(|idx| result(idx, reason(idx))).collect();
    let part = SettledPart { results, done: true, ..SettledPart::default() };
    let actions: Vec<PlannedAction> = planned
        .iter()
        .map(|(idx, kind, reason)| PlannedAction {
            idx: *idx,
            kind: *kind,
            reason: *reason,
            verified_at: NOW,
            doubt: None,
        })
        .collect();
    let (fence, actions) = (claimed[0].fence, &actions);
    let settled = store.write(|tx| {
        async {
            let change = jobs::settle_rows(tx, &fence, &part, NOW).await?;
            actions::plan(tx, (run.org, run.job), run.connection, actions).await?;
            Ok(change)
        }
        .scope_boxed()
    });
    assert!(settled.await.unwrap().closed.is_some());
}

/// Concludes a run over these contacts with complete verdicts.
async fn concluded(store: &Store, new: &NewRun, rows: u16, planned: &[(i64, ContactAction, Reason)]) -> ConnectionRun {
    let run = start(store, new).await.unwrap();
    through(store, &run, rows, planned).await
}

/// Settles and concludes a started run.
async fn through(
    store: &Store,
    run: &ConnectionRun,
    rows: u16,
    planned: &[(i64, ContactAction, Reason)],
) -> ConnectionRun {
    let claimed = claim(store, NOW).await.unwrap();
    assert_eq!(claimed.run.id, run.id);
    // An automatic run verifies new contacts only.
    let first = if run.cause.is_automatic() { u16::try_from(run.id.bits() & 0xff).unwrap() * 200 } else { 0 };
    let contacts: Vec<_> = (first..first + rows).map(|n| contact(n, None)).collect();
    store_page(store, &claimed, &contacts, b"{}").await.unwrap();
    assert!(accept(store, &claimed).await.unwrap());
    complete(store, run, i64::from(rows), planned).await;
    let claimed = claim(store, NOW).await.expect("the end of the job makes the run due");
    assert_eq!(claimed.run.state, RunState::Verifying);
    store.write(|tx| runs::conclude(tx, &claimed.fence, NOW).scope_boxed()).await.unwrap()
}

async fn counts(store: &Store, run: &ConnectionRun) -> BTreeMap<(ContactAction, ActionState), i64> {
    let counted = actions::counts(&mut store.read().await.unwrap(), run.org, run.job).await.unwrap();
    let mut sums = BTreeMap::new();
    for ActionCount { kind, state, actions, .. } in counted {
        *sums.entry((kind, state)).or_default() += actions;
    }
    sums
}

async fn cancel(store: &Store, run: &ConnectionRun) -> Option<RunState> {
    let place = (run.org, run.connection, run.id);
    let end = store.write(|tx| runs::cancel(tx, place, NOW).scope_boxed()).await.unwrap();
    end.map(|end| end.run.state)
}

async fn confirm(store: &Store, run: &ConnectionRun, actions: i64) -> Result<Confirmation> {
    let place = (run.org, run.connection, run.id);
    store.write(|tx| runs::confirm(tx, place, actions, NOW + 9).scope_boxed()).await
}

/// Lets runs of a connection act, like a user who confirms one.
async fn trust(store: &Store, of: &StoredConnection) {
    let run = concluded(store, &new_run(of, 90), 2, &[(0, DELETE, GONE)]).await;
    assert_eq!(confirm(store, &run, 1).await.unwrap(), Confirmation::Confirmed);
    assert_eq!(cancel(store, &run).await, Some(RunState::Cancelled));
}

fn is_lost<T>(done: &Result<T>) -> bool {
    matches!(done, Err(StoreError::LeaseLost))
}
