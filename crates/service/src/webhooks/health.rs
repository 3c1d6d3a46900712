//! How webhooks fare, and when one is told nothing any more.
//!
//! A webhook that has taken nothing for five days since it first failed, and for which at least three messages were given up,
//! is disabled; so is one that answers 410, at once, and that message is not sent again. The account's timeline says so. A
//! message that somebody sends to try a
//! webhook can only speak for it. A batch's own URL has no webhook, is never disabled, and
//! a 410 of it is a failure like others.

use probity_account::id::WebhookId;
use probity_mail::time::Millis;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::outbox::{Attempt, Claimed, State};
use probity_store::webhooks::{self, Failing};
use probity_store::{Result, Tx};

use crate::webhooks::TEST;

/// How long a webhook may take nothing, in milliseconds: five days.
const PATIENCE_MS: i64 = 5 * 24 * 3_600_000;
/// Messages that must have been given up.
const GIVEN_UP_MIN: i64 = 3;
/// Gone (RFC 9110 section 15.5.11): the receiver says that it wants no more.
pub(super) const GONE: u16 = 410;

/// Notes what an attempt says of its webhook, in the transaction that records the attempt. True: the webhook was disabled.
pub(super) async fn note(tx: &mut Tx, claimed: &Claimed, attempt: &Attempt, now: Millis) -> Result<bool> {
    let Ok(id) = claimed.signer.parse::<WebhookId>() else { return Ok(false) };
    if attempt.state == State::Delivered {
        webhooks::delivered(tx, claimed.org, id, now).await?;
        return Ok(false);
    }
    let gone = attempt.status == Some(GONE);
    if claimed.kind == TEST && !gone {
        return Ok(false);
    }
    let failing = webhooks::failed(tx, claimed.org, id, attempt.at, attempt.state == State::Exhausted).await?;
    if !(gone || failing.is_some_and(|failing| is_hopeless(failing, now))) {
        return Ok(false);
    }
    let disabled = webhooks::disable(tx, claimed.org, id).await?;
    if disabled {
        let event = What::Account(AccountEvent::WebhookDisabled);
        events::add(tx, claimed.org, now, Some(Actor::System), &[event]).await?;
    }
    Ok(disabled)
}

fn is_hopeless(failing: Failing, now: Millis) -> bool {
    now.since(failing.since) >= PATIENCE_MS && failing.given_up >= GIVEN_UP_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_time_and_the_messages_must_be_up() {
        let since = Millis(1_000);
        for (after_ms, given_up, expected) in [
            (PATIENCE_MS, GIVEN_UP_MIN, true),
            (PATIENCE_MS - 1, GIVEN_UP_MIN, false),
            (PATIENCE_MS, GIVEN_UP_MIN - 1, false),
            (i64::MAX / 2, 0, false),
        ] {
            assert_eq!(is_hopeless(Failing { since, given_up }, since + after_ms), expected, "{after_ms} {given_up}");
        }
    }
}
