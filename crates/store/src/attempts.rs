//! Attempts to sign in, counted before they are made: after some failures the next has to wait, ever longer up to a bound.
//!
//! Who an attempt is counted against is a slot, a number that the caller makes of a keyed hash. There are as many rows as slots
//! and no more, whatever names an attacker makes up; two that fall on one slot share its waiting time, which is short, and nobody
//! without the key can look for such two. Counting first makes a thousand attempts at once as slow as one after the other.

use probity_mail::time::Millis;

use crate::db::{Tx, args, statements};
use crate::error::{Result, StoreError};

/// How attempts are slowed down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Failures without any waiting.
    pub free: i64,
    /// The longest waiting time, in milliseconds.
    pub longest_ms: i64,
    /// How long a failure counts after the last one, in milliseconds.
    pub forget_ms: i64,
}

impl Backoff {
    /// The waiting time after so many failures, in milliseconds: a second after the first that is not free, then each time
    /// twice as long.
    pub fn wait_ms(self, failures: i64) -> i64 {
        let beyond = failures.saturating_sub(self.free);
        if beyond <= 0 {
            return 0;
        }
        let doubled = u32::try_from(beyond - 1).unwrap_or(u32::MAX).min(30);
        (1_000_i64 << doubled).min(self.longest_ms)
    }
}

/// Whom attempts are counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The row.
    pub no: i64,
    /// How its attempts are slowed down.
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

/// Counts an attempt as a failure against every slot, and lets it be made; or says from when on it may be made, and counts
/// nothing.
pub async fn begin(tx: &mut Tx, slots: &[Slot], now: Millis) -> Result<std::result::Result<(), Millis>> {
    let mut slots = slots.to_vec();
    // In one order everywhere: none waits for one that waits for it.
    slots.sort_unstable_by_key(|slot| slot.no);
    let mut failures = Vec::with_capacity(slots.len());
    let mut wait_until = None;
    for slot in &slots {
        tx.execute(&ENSURE, args![slot.no]).await?;
        let row = tx.first(&LOCK, args![slot.no]).await?;
        let row = row.ok_or_else(|| StoreError::corrupt("a counter of attempts was removed while it was locked"))?;
        let counts = Millis(row.get("forget_at")?) > now;
        let next_at = Millis(row.get("next_at")?);
        // A time that no waiting time leads to was written with a wrong clock.
        if counts && next_at > now && next_at.since(now) <= slot.backoff.longest_ms {
            wait_until = wait_until.max(Some(next_at));
        }
        failures.push(if counts { row.get::<i64>("failures")? } else { 0 });
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

/// Forgets every failure of a slot: whoever tried has shown who they are.
pub async fn forget(tx: &mut Tx, slot: i64) -> Result<()> {
    tx.execute(&FORGET, args![slot]).await?;
    Ok(())
}

/// Takes the last attempt of a slot back: it was none of those that are counted.
pub async fn take_back(tx: &mut Tx, slot: i64, now: Millis) -> Result<()> {
    tx.execute(&TAKE_BACK, args![slot, now]).await?;
    Ok(())
}

/// Removes up to `at_most` slots whose failures do not count any more, and says how many those were.
pub async fn purge(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now, i64::from(at_most)]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_its_bound() {
        let backoff = Backoff { free: 3, longest_ms: 10_000, forget_ms: 1 };
        let waits: Vec<_> = (0..=9).map(|failures| backoff.wait_ms(failures)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        assert_eq!([1_000_000, i64::MAX].map(|failures| backoff.wait_ms(failures)), [10_000; 2]);
    }
}
