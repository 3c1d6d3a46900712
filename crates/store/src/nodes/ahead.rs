//! Corrects expiry times that a fast clock wrote ([`correct_times`]).
//!
//! A process whose clock was ahead leaves leases, holds and pauses that end too late. Heartbeats record the latest time
//! ([`clock::record`]), so a clock that was set back is found, and pauses move back with it. Each kind also has a maximum
//! duration: an end beyond it counts as expired, regardless of the record.
//!
//! Under a clock that is now slow, valid ends also appear too far ahead. So only ends that may safely come early are corrected:
//! epochs and runs fence leases, and after a pause something is retried sooner. Past times are never rewritten: purges would
//! remove
//! those rows as soon as the clock is right. A row with such a time in the future is kept longer, and erasures still reach it
//! (`erasures::wish`).
//!
//! All rules are in one table, [`rules`]: a new column with an expiry time needs a line there.

use probity_mail::time::Millis;
use scoped_futures::ScopedFutureExt as _;

use crate::db::error::Result;
use crate::db::{SqlDialect, Statement, Store, Tx, args, statements};
use crate::nodes::clock;

/// Tolerated difference between a node's clock and the database's, in milliseconds.
const SLACK_MS: i64 = 5_000;
/// Maximum pause before a retry, in milliseconds: a server may ask for a day.
const PAUSE_MS: i64 = 25 * 3_600_000;
/// Reduction that ends a pause at once, in milliseconds: more than any time.
const AT_ONCE_MS: i64 = i64::MAX / 4;
/// Longest lease of an outgoing mail, in milliseconds.
pub const MAIL_LEASE_MS: i64 = 20 * 60_000;
/// Longest exchange of credentials for an access token, in milliseconds: authorization servers that replace refresh tokens
/// usually accept the earlier one for 30 s, so another process can still exchange it after a crash.
pub const EXCHANGE_MS: i64 = 20_000;
/// Longest lease of a job being packed, in milliseconds.
pub const PACKING_MS: i64 = 60_000;
/// Longest wait for a nightly run, in milliseconds: a change of the time zone may skip one.
const NIGHTS_MS: i64 = 3 * 24 * 3_600_000;
/// Longest wait for a member's next report, in milliseconds: a week, and a change of the time zone.
const REPORTS_MS: i64 = 9 * 24 * 3_600_000;
/// Longest hold that ends by itself, in milliseconds.
const HOLDS_MS: i64 = 600_000;

/// Configured maximum durations, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct ClockLimits {
    /// Node lease.
    pub node_ms: i64,
    /// Lease on jobs, deliveries and erasures.
    pub work_ms: i64,
    /// Lock of an Idempotency-Key.
    pub lock_ms: i64,
    /// Validity of domain facts.
    pub facts_ms: i64,
}

/// Kind of time that is too far ahead.
#[derive(Clone, Copy, Debug)]
enum TimeKind {
    /// A process's lease: expires. With SQLite, the starting process is the only one.
    Lease(i64),
    /// The same, found by creation time.
    Lock(i64),
    /// A pause before a retry, of at most [`PAUSE_MS`]: moves back with the clock.
    Pause,
    /// Another wait: ends now.
    Wait(i64),
}

/// Declares statements, each with the kind of its time.
macro_rules! correcting_statements {
    (|$longest:ident| $($name:ident = $text:expr, $kind:expr;)+) => {
        statements! { $($name = $text;)+ }

        fn rules($longest: &ClockLimits) -> Vec<(&'static Statement, TimeKind)> {
            use TimeKind::{Lease, Lock, Pause, Wait};
            vec![$((&$name, $kind)),+]
        }
    };
}

// $1: now, the new end of anything that ends later than $2. $3: maximum duration of a lock; for a pause, its reduction.
correcting_statements! {
    |longest|
    // Another process on this SQLite may hold a node's lease and be alive; its sources tell it apart.
    LEASE = "UPDATE lease SET held_until = $1 WHERE held_until > $2", Wait(longest.node_ms);
    // Heartbeat, for which a node counts as alive for a while.
    NODE = "UPDATE node SET seen_at = $1 WHERE seen_at > $2", Wait(0);
    CHUNK = "UPDATE chunk SET leased_until = $1 WHERE leased_until > $2", Lease(longest.work_ms);
    CHUNK_READY = "UPDATE chunk SET ready_at = CASE WHEN ready_at - $3 > $1 THEN ready_at - $3 ELSE $1 END WHERE ready_at > $2", Pause;
    IMPORT = "UPDATE job SET leased_until = $1 WHERE is_open = 1 AND leased_until > $2", Lease(longest.work_ms);
    PACKING = "UPDATE job SET keeper_until = $1 WHERE packed < 2 AND keeper_until > $2", Lease(PACKING_MS);
    HOLD = "UPDATE hold SET expires_at = $1 WHERE expires_at > $2", Lease(HOLDS_MS);
    // A lock ends at most that long after its creation, so the index of creation times finds it.
    LOCK = "UPDATE idempotency SET locked_until = $1 WHERE status IS NULL AND created_at > CAST($2 AS BIGINT) - $3 - 1000 \
            AND locked_until > $2", Lock(longest.lock_ms);
    OUTBOX = "UPDATE outbox SET lease_until = $1 WHERE state = 'waiting' AND lease_until > $2", Lease(longest.work_ms);
    OUTBOX_NEXT = "UPDATE outbox SET next_at = CASE WHEN next_at - $3 > $1 THEN next_at - $3 ELSE $1 END WHERE state = 'waiting' AND next_at > $2", Pause;
    LETTER = "UPDATE letter SET lease_until = $1 WHERE lease_until > $2", Lease(MAIL_LEASE_MS);
    LETTER_NEXT = "UPDATE letter SET due_at = CASE WHEN due_at - $3 > $1 THEN due_at - $3 ELSE $1 END WHERE due_at > $2", Pause;
    REPORTS = "UPDATE users SET reports_at = $1 WHERE reports_at > $2", Wait(REPORTS_MS);
    FORGOTTEN = "UPDATE forgotten_password SET asked_at = $1 WHERE asked_at > $2", Wait(0);
    ERASURE = "UPDATE erasure SET leased_until = $1 WHERE completed_at IS NULL AND leased_until > $2", Lease(longest.work_ms);
    RUN = "UPDATE connection_run SET leased_until = $1 WHERE state IN ('reading', 'verifying', 'acting') AND leased_until > $2", Lease(longest.work_ms);
    RUN_NEXT = "UPDATE connection_run SET next_at = CASE WHEN next_at - $3 > $1 THEN next_at - $3 ELSE $1 END WHERE state IN ('reading', 'verifying', 'acting') AND next_at > $2", Pause;
    SCHEDULE = "UPDATE connection_schedule SET next_at = $1 WHERE next_at > $2", Wait(NIGHTS_MS);
    // Start of decay protection's next share.
    SCHEDULE_DONE = "UPDATE connection_schedule SET done_at = $1 WHERE done_at > $2", Wait(0);
    HOOK = "UPDATE connection_hook SET next_at = CASE WHEN next_at - $3 > $1 THEN next_at - $3 ELSE $1 END WHERE next_at > $2", Pause;
    TOKEN = "UPDATE account_token SET claimed_until = $1 WHERE claimed_until > $2", Lease(EXCHANGE_MS);
    DOMAIN = "UPDATE sso_domain SET look_at = CASE WHEN look_at - $3 > $1 THEN look_at - $3 ELSE $1 END WHERE look_at > $2", Pause;
    PASS = "UPDATE widget_pass SET held_until = $1 WHERE held_until > $2", Lease(HOLDS_MS);
    FACT = "UPDATE domain_fact SET known_until = $1, catch_all_until = $1, accepted_until = $1 WHERE known_until > $2", Wait(longest.facts_ms);
}

/// When the correction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockCorrection {
    /// Before this process claims anything. With SQLite no other process exists, so all work leases are over.
    AtStart,
    /// While work is in progress.
    Running,
}

/// Ends every wait that exceeds its maximum, and moves pauses back with a clock that was set back; returns the number corrected.
/// `now` counts if the database has no clock of its own.
pub async fn correct_times(store: &Store, now: Millis, longest: &ClockLimits, when: ClockCorrection) -> Result<u64> {
    let now = clock::now(&mut store.read().await?, now).await?;
    let mut changed = store.write(|tx| move_pauses_back(tx, now, longest).scope_boxed()).await?;
    let alone = when == ClockCorrection::AtStart && store.dialect() == SqlDialect::Sqlite;
    for (statement, kind) in rules(longest) {
        let latest = match kind {
            TimeKind::Lease(_) | TimeKind::Lock(_) if alone => now,
            TimeKind::Lease(ms) | TimeKind::Lock(ms) | TimeKind::Wait(ms) => now + ms + SLACK_MS,
            TimeKind::Pause => now + PAUSE_MS + SLACK_MS,
        };
        let values = move || match kind {
            TimeKind::Lock(ms) => args![now, latest, ms],
            TimeKind::Pause => args![now, latest, AT_ONCE_MS],
            TimeKind::Lease(_) | TimeKind::Wait(_) => args![now, latest],
        };
        changed += store.write(|tx| async move { tx.execute(statement, values()).await }.scope_boxed()).await?;
    }
    Ok(changed)
}

/// Ends all pauses sooner, by as much as the clock was set back. In one transaction with the record of the clock, so that no pause
/// moves twice.
async fn move_pauses_back(tx: &mut Tx, now: Millis, longest: &ClockLimits) -> Result<u64> {
    // Under the lock: no heartbeat may record a later time in between.
    clock::lock(tx).await?;
    let now = clock::now(tx, now).await?;
    let back_ms = clock::set_back(tx, now).await?;
    if back_ms <= SLACK_MS {
        return Ok(0);
    }
    let mut changed = 0;
    for (statement, _) in rules(longest).into_iter().filter(|(_, kind)| matches!(kind, TimeKind::Pause)) {
        changed += tx.execute(statement, args![now, now, back_ms]).await?;
    }
    clock::restart(tx, now).await?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ClockLimits, rules};
    use crate::db::args;
    use crate::{DatabasePlace, Store, StoreConfig};

    /// Times that are not corrected, with the reason.
    const STAYING: &[(&str, &str)] = &[
        (
            "the books, and what a customer was promised",
            "account.expires_at ledger.at ledger.fold_after ledger.asked_until",
        ),
        ("periods of plans", "org.trial_started_at org.trial_ends_at org.plan_since org.renews_at"),
        ("somebody's wish", "api_key.expires_at api_key.revoked_at"),
        (
            "a lifetime that would be over for good when a clock that was behind is right again",
            "callback_secret.previous_until invitation.expires_at list_share.expires_at webhook.previous_until",
        ),
        (
            "kept for longer where it lies in the future; removed or forgotten too soon where a clock that was behind rewrote it",
            "connection.disconnected_at connection_run.finished_at event.at idempotency.created_at job.created_at \
             job.finished_at job.progress_at job.started_at outbox.created_at request_log.at \
             address_verdict.seen_at outcome.at outcome.reported_at session.created_at session.seen_at sso_used.ended_at upload.created_at upload.touched_at \
             verdict_change.at widget_nonce.expires_at",
        ),
        (
            "erasures reach and follow what lies in the future",
            "erasure.completed_at erasure.job_at erasure.known_at erasure.requested_at",
        ),
        ("a code must not work twice", "second_factor.used_step"),
        ("attempts bound the wait, and the next one writes both again", "attempt.forget_at attempt.next_at"),
        (
            "patience that begins too late ends nothing too soon",
            "chunk.held_since connection_run.refused_at sso_domain.missed_at webhook.failing_since",
        ),
        (
            "a verdict in the future is not asked again",
            "connection_run.cut_at contact_action.checked_at contact_action.verified_at contact_mark.acted_at \
             contact_mark.before_at contact_mark.verified_at",
        ),
        (
            "names of slots, and what is measured",
            "connection_run.due_at connection_run.oldest_at connection_schedule.begun_at connection_schedule.due_at",
        ),
        ("a platform's clock, compared with ours with a margin", "contact_mark.changed_at"),
        ("a token that ends earlier is refused, and exchanged", "account_token.expires_at"),
        ("accounts::limits::PURGE removes what lies too far ahead", "rate_bucket.full_at_us"),
        (
            "shown, and not waited for",
            "account_token.exchanged_at api_key.created_at api_key.last_used_at callback_secret.created_at connection.created_at \
             connection_hook.last_event_at connection_hook.registered_at connection.last_synced_at connection.trusted_at connection_rule.created_at connection_run.confirmed_at \
             connection_run.created_at contact_action.settled_at contact_mark.seen_at hold.created_at invitation.created_at \
             job.deleted_at job.hurried_at job.purged_at letter.created_at list_share.created_at node.started_at org.created_at \
             org_settings.changed_at org_sso.changed_at sso_domain.proven_at outbox.first_at outcome_source.created_at outcome_source.last_event_at \
             outbox.last_at outbox_attempt.at password.changed_at second_factor.confirmed_at suppression.added_at \
             suppression_count.changed_at users.created_at webhook.created_at webhook.last_delivery_at",
        ),
    ];
    const TIMES: &[&str] = &["_at", "_until", "_since", "_after", "_us", "_step", ".at"];

    #[tokio::test]
    async fn every_time_is_set_right_or_stays_for_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let text = "SELECT m.name || '.' || c.name AS name FROM sqlite_schema m JOIN pragma_table_info(m.name) c \
                    WHERE m.type = 'table' AND c.type = 'BIGINT' AND m.name NOT LIKE '\\_%' ESCAPE '\\'";
        let rows = store.read().await.unwrap().rows_made(text.into(), args![]).await.unwrap();
        let all: BTreeSet<String> = rows.iter().map(|row| row.get("name").unwrap()).collect();
        let times = all.iter().filter(|name| TIMES.iter().any(|end| name.ends_with(end)));
        let longest = ClockLimits { node_ms: 1, work_ms: 1, lock_ms: 1, facts_ms: 1 };
        let is_set = |name: &str| {
            let (table, column) = name.split_once('.').unwrap();
            let update = format!("UPDATE {table} SET ");
            let sets = [format!("{column} = $1"), format!("SET {column} = CASE")];
            rules(&longest).iter().any(|(rule, _)| {
                let text = rule.text(store.dialect());
                text.starts_with(&update) && sets.iter().any(|set| text.contains(set))
            })
        };
        let stays = |name: &str| STAYING.iter().any(|(_, names)| names.split_whitespace().any(|one| one == name));
        let wrong: Vec<&String> = times.filter(|name| is_set(name) == stays(name)).collect();
        assert!(wrong.is_empty() && all.len() > 100, "neither, or both: {wrong:?}");
    }
}
