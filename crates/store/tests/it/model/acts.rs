//! Common parts of the model's steps.

use std::collections::BTreeMap;

use probity_account::id::{DeliveryId, EventId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::jobs::{self, ClosedJob, NewChunk, OutcomeKind, RowResult};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery, SenderCapacity};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError, Tx};

/// Duration of every lease.
pub(super) const LEASE_MS: i64 = 60_000;
pub(super) const URL: &str = "https://hooks.example.com/x";
const REASONS: [Reason; 4] = [Reason::Valid, Reason::Nonexistent, Reason::Spam, Reason::Unverified];

/// Index of an address's first row, and the number of rows with it.
pub(super) type Row = (i64, i64);

pub(super) fn holds_or_lost<T: std::fmt::Debug>(done: &Result<T>, holds: bool) {
    let as_expected = match done {
        Ok(_) => holds,
        Err(StoreError::LeaseLost) => !holds,
        Err(_) => false,
    };
    assert!(as_expected, "{done:?}, but that the lease is held is {holds}");
}

/// Returns the index of an item: mostly one of the last.
pub(super) fn among(place: u8, len: usize) -> Option<usize> {
    let back = usize::from(place).pow(2) * len / usize::from(u8::MAX).pow(2);
    len.checked_sub(1 + back.min(len.saturating_sub(1)))
}

/// Returns the error with which a test rolls back a transaction.
pub(super) fn broken() -> StoreError {
    StoreError::Unavailable { source: "the connection broke".into(), contended: false }
}

pub(super) async fn announce(tx: &mut Tx, closed: Option<ClosedJob>, id: DeliveryId, now: Millis) -> Result<()> {
    let Some(closed) = closed else { return Ok(()) };
    let job = jobs::by_no(tx, closed.org, closed.job).await?;
    let message = NewDelivery {
        org: closed.org,
        id,
        event: event(&job),
        kind: "job.finished".into(),
        url: URL.into(),
        content: DeliveryContent::Bytes(Vec::new()),
        job: None,
        signer: String::new(),
        created_at: now,
    };
    assert!(outbox::put(tx, &message).await?, "a job is closed once");
    Ok(())
}

/// Returns the event of a job, always the same.
pub(super) fn event(job: &jobs::Job) -> EventId {
    EventId::from_bits(job.id.bits())
}

/// Returns the number of pending deliveries per event of an organization.
pub(super) async fn messages(store: &Store, org: OrgNo, now: Millis) -> BTreeMap<EventId, u32> {
    let due = store
        .write(|tx| outbox::claim(tx, now, LEASE_MS, "all", SenderCapacity::of(1_000)).scope_boxed())
        .await
        .unwrap();
    let mut told = BTreeMap::new();
    for message in due.iter().filter(|message| message.org == org) {
        *told.entry(message.event).or_default() += 1;
    }
    told
}

pub(super) fn packed(rows: &[Row], ready_at: Millis) -> NewChunk {
    let (size, body) = (i64::try_from(rows.len()).unwrap(), serde_json::to_vec(rows).unwrap());
    NewChunk { ready_at, size, body, destination: String::new(), source: String::new() }
}

pub(super) fn result((idx, copies): Row, salt: u8) -> RowResult {
    let reason = REASONS[(usize::try_from(idx).unwrap() + usize::from(salt)) % REASONS.len()];
    let kind = OutcomeKind {
        reason,
        findings: vec![],
        meta: String::new(),
        rule: "rule".into(),
        smtp_code: None,
        enhanced: None,
        host: None,
        provider: None,
        source: "smtp".into(),
        flags: 0,
        charged: matches!(reason, Reason::Valid | Reason::Spam),
    };
    RowResult { idx, copies, kind: kind.into(), suggestion: None }
}
