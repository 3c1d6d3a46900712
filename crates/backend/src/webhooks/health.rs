//! Health of webhooks, and when one is disabled.
//!
//! A webhook is disabled if it has accepted nothing for 5 days since it first failed, and at least 3 deliveries were given up.
//! A 410 response disables it immediately, and that delivery is not retried. The account's timeline records it. A failed test
//! delivery does not count, unless it got a 410; nor does a 429 or 503 with `Retry-After`. A callback has no webhook to disable, and
//! its 410 is a failure like any other.

use probity_account::id::WebhookId;
use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::webhooks::outbox::{AttemptResult, ClaimedDelivery, OutboxState};
use probity_store::webhooks::{self, WebhookFailures};
use probity_store::{Result, Tx};

use crate::webhooks::TEST;

/// Time for which a webhook may accept nothing, in milliseconds: 5 days.
const PATIENCE_MS: i64 = 5 * 24 * 3_600_000;
/// Minimum number of deliveries that were given up.
const GIVEN_UP_MIN: i64 = 3;
/// Gone (RFC 9110 section 15.5.11): the receiver wants no more deliveries.
pub(super) const GONE: u16 = 410;

/// Records the effect of an attempt on its webhook, in the transaction that records the attempt. Returns whether the webhook
/// was disabled.
pub(super) async fn note(tx: &mut Tx, claimed: &ClaimedDelivery, attempt: &AttemptResult, now: Millis) -> Result<bool> {
    let Ok(id) = claimed.signer.parse::<WebhookId>() else { return Ok(false) };
    if attempt.state == OutboxState::Delivered {
        webhooks::delivered(tx, claimed.org, id, now).await?;
        return Ok(false);
    }
    let gone = attempt.status == Some(GONE);
    if claimed.kind == TEST && !gone {
        return Ok(false);
    }
    let failing = webhooks::failed(tx, claimed.org, id, attempt.at, attempt.state == OutboxState::Exhausted).await?;
    if !(gone || failing.is_some_and(|failing| is_hopeless(failing, now))) {
        return Ok(false);
    }
    let disabled = webhooks::disable(tx, claimed.org, id).await?;
    if disabled {
        let event = AccountChange::about(AccountEventKind::WebhookDisabled, EventSubject::Webhook(id));
        events::add(tx, claimed.org, now, Some(EventActor::System), &[event]).await?;
    }
    Ok(disabled)
}

fn is_hopeless(failing: WebhookFailures, now: Millis) -> bool {
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
            assert_eq!(
                is_hopeless(WebhookFailures { since, given_up }, since + after_ms),
                expected,
                "{after_ms} {given_up}"
            );
        }
    }
}
