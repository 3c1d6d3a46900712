//! Sign-in attempts, counted before they are made: after some failures each next attempt must wait longer, up to a bound.
//!
//! An attempt counts against a slot, a number the caller derives from a keyed hash. The table has at most as many rows as slots,
//! regardless of the names that an attacker invents. Two names in one slot share its short delay, and without the key such a pair
//! cannot be searched for. Because attempts are counted first, 1,000 parallel attempts are as slow as sequential ones.

use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Tx, args, statements};
use crate::records::TypedStatements as _;

/// Delay policy for attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Failures without a delay.
    pub free: i64,
    /// Delay after the first failure that is not free, in milliseconds. It then doubles each time.
    pub first_ms: i64,
    /// Longest delay, in milliseconds.
    pub longest_ms: i64,
    /// Time after the last failure until failures are forgotten, in milliseconds.
    pub forget_ms: i64,
}

impl Backoff {
    /// Returns the delay after `failures`, in milliseconds.
    pub fn wait_ms(self, failures: i64) -> i64 {
        let beyond = failures.saturating_sub(self.free);
        if beyond <= 0 {
            return 0;
        }
        let doubled = u32::try_from(beyond - 1).unwrap_or(u32::MAX).min(30);
        self.first_ms.saturating_mul(1 << doubled).min(self.longest_ms)
    }
}

/// Slot that attempts count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptSlot {
    pub no: i64,
    pub backoff: Backoff,
}

statements! {
    ENSURE = "INSERT INTO attempt (slot, failures, next_at, forget_at) VALUES ($1, 0, 0, 0) ON CONFLICT (slot) DO NOTHING";
    LOCK = "SELECT failures, next_at, forget_at FROM attempt WHERE slot = $1 {for_update}";
    COUNT = "UPDATE attempt SET failures = $2, next_at = $3, forget_at = $4 WHERE slot = $1";
    FORGET = "DELETE FROM attempt WHERE slot = $1";
    TAKE_BACK = "UPDATE attempt SET failures = failures - 1, next_at = $2 WHERE slot = $1 AND failures > 0";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT slot FROM attempt WHERE forget_at <= $1 ORDER BY forget_at LIMIT $2 {skip_locked})
        DELETE FROM attempt WHERE slot IN (SELECT slot FROM old)";
}

/// Counts an attempt as a failure in every slot and allows it, or returns the earliest time for it and counts nothing.
pub async fn begin(tx: &mut Tx, slots: &[AttemptSlot], now: Millis) -> Result<std::result::Result<(), Millis>> {
    let mut slots = slots.to_vec();
    // The same order everywhere prevents deadlocks.
    slots.sort_unstable_by_key(|slot| slot.no);
    let mut failures = Vec::with_capacity(slots.len());
    let mut wait_until = None;
    for slot in &slots {
        tx.execute(&ENSURE, args![slot.no]).await?;
        let stored: Option<(i64, Millis, Millis)> = tx.find(&LOCK, args![slot.no]).await?;
        let removed = || StoreError::corrupt("a counter of attempts was removed while it was locked");
        let (counted, next_at, forget_at) = stored.ok_or_else(removed)?;
        let counts = forget_at > now;
        // No delay leads to this time, so a wrong clock wrote it.
        if counts && next_at > now && next_at.since(now) <= slot.backoff.longest_ms {
            wait_until = wait_until.max(Some(next_at));
        }
        failures.push(if counts { counted } else { 0 });
    }
    if let Some(until) = wait_until {
        return Ok(Err(until));
    }
    for (slot, before) in slots.iter().zip(failures) {
        let failures = before.saturating_add(1);
        let next_at = now + slot.backoff.wait_ms(failures);
        tx.execute(&COUNT, args![slot.no, failures, next_at, now + slot.backoff.forget_ms]).await?;
    }
    Ok(Ok(()))
}

/// Forgets all failures of a slot, after a successful sign-in.
pub async fn forget(tx: &mut Tx, slot: i64) -> Result<()> {
    tx.execute(&FORGET, args![slot]).await.map(drop)
}

/// Takes back the last attempt of a slot, because it was not a countable failure.
pub async fn take_back(tx: &mut Tx, slot: i64, now: Millis) -> Result<()> {
    tx.execute(&TAKE_BACK, args![slot, now]).await.map(drop)
}

/// Removes up to `at_most` slots whose failures no longer count; returns the number removed.
pub async fn purge(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now, at_most]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_its_bound() {
        let backoff = Backoff { free: 3, first_ms: 1_000, longest_ms: 10_000, forget_ms: 1 };
        let waits: Vec<_> = (0..=9).map(|failures| backoff.wait_ms(failures)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        assert_eq!([1_000_000, i64::MAX].map(|failures| backoff.wait_ms(failures)), [10_000; 2]);
    }
}
