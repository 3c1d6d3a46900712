//! Consequences of a failed call for a run: a pause, its end, or the disconnection of its connection.
//!
//! Overload and outages never disconnect. Refused credentials do, if the platform's test call refuses them too, twice in a
//! row and 10 minutes apart. If only the test call accepts them, they lack a right, and the run ends after a few refusals.

use probity_connectors::{CredentialAge, ErrorClass, Fault, TestOutcome, Testing};
use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, ConnectionEventKind, EventActor};
use probity_store::activity::letters::{self, LetterKey, LetterKind};
use probity_store::connections::connection::{self, Disconnection, StoredConnection};
use probity_store::connections::runs::{RunSetback, RunState};
use probity_store::work;

use super::account::RunAccount;
use super::held::{HeldRun, RunStep, RunStop};
use crate::connections::access::ConnectionAccess;
use crate::webhooks::tell;

/// Minimum time between the two refusals of credentials that disconnect a connection, in milliseconds.
const REFUSED_MS: i64 = 10 * 60_000;
/// Maximum pause unless the platform requests a longer one, in milliseconds.
const PAUSE_MAX_MS: i64 = 3_600_000;
/// Maximum pause that a platform can request, in milliseconds. Then the next call is sent regardless.
const WAIT_MAX_MS: i64 = 24 * 3_600_000;
/// Consecutive failed calls after each of which the platform's wait is believed, however short.
const WAITS_TRUSTED_MAX: i64 = 3;
/// Maximum consecutive unreadable responses while contacts are read. A proxy may have cut one, or replaced it by a page of its own.
const UNREADABLE_MAX: i64 = 3;
/// Maximum consecutive failed calls: about 1.5 days.
const FAILURES_MAX: i64 = 44;
/// Maximum consecutive refusals of a call with valid credentials, which lack a right: about 3 minutes. A platform may need some
/// time for a right that was just given.
const REFUSALS_MAX: i64 = 5;

/// Returns the pause after a failure: `first`, doubled with each failure, or the wait that the platform requests. If its waits were too
/// short a few times in a row, they only lengthen the pause: a platform that is overloaded for an hour would use up the attempts of a
/// run in minutes. `jitter` is below 256.
fn pause_ms(first: i64, failures: i64, wait_ms: Option<i64>, jitter: u8) -> i64 {
    let own = first.saturating_mul(1 << failures.clamp(0, 20)).min(PAUSE_MAX_MS);
    let least = if failures > WAITS_TRUSTED_MAX { own } else { 1_000 };
    let pause = wait_ms.map_or(own, |wait| wait.min(WAIT_MAX_MS).max(least));
    // Up to 20% longer, so runs that failed together do not retry together.
    pause + pause * i64::from(jitter) / 1_280
}

/// Returns whether a call will be refused again: the last one was refused for the same reason.
fn is_hopeless(last: Option<&str>, fault: &Fault, failures: i64) -> bool {
    last == Some(&*fault.message) && failures + 1 >= REFUSALS_MAX
}

fn stored<'a>(access: &'a ConnectionAccess<'_>) -> Testing<'a> {
    Testing::of(access.file, &access.credentials, CredentialAge::Stored)
}

impl HeldRun<'_> {
    /// Handles a failed call, which used this version of the access token.
    pub(super) async fn react(&self, fault: Fault, token: Option<i64>) -> Result<RunStep, RunStop> {
        match fault.class {
            ErrorClass::Credential => self.refused(fault, token).await,
            ErrorClass::Throttled | ErrorClass::Transient => self.later(fault, self.refused_at()),
            // A used-up quota is not a failure: it is renewed.
            ErrorClass::Quota => {
                let wait = fault.wait_ms.or(Some(PAUSE_MAX_MS));
                Ok(RunStep::After(self.setback(self.failures(), wait, None, &fault)))
            }
            // A person has confirmed what is left to do. It waits, as during an outage.
            ErrorClass::Unreadable if self.run.state == RunState::Acting || self.failures() < UNREADABLE_MAX => {
                self.later(fault, self.refused_at())
            }
            ErrorClass::Gone
            | ErrorClass::Taken
            | ErrorClass::Refused
            | ErrorClass::Invalid
            | ErrorClass::Unreadable => Err(RunStop::Unable(fault.message)),
        }
    }

    fn setback(&self, failures: i64, wait_ms: Option<i64>, refused_at: Option<Millis>, fault: &Fault) -> RunSetback {
        let first = self.runs.platforms.pause_ms();
        let [jitter] = probity_access::secrets::random::bytes::<1>();
        let next_at = self.now() + pause_ms(first, failures, wait_ms, jitter);
        // That a platform asks for a pause is no fault.
        let is_pause = matches!(fault.class, ErrorClass::Throttled | ErrorClass::Quota);
        let fault = (!is_pause).then(|| fault.message.clone());
        if let Some(fault) = &fault {
            tracing::warn!(run = %self.run.id, fault, failures, "a call of a run failed; it is repeated later");
        }
        RunSetback { next_at, failures, refused_at, fault }
    }

    fn later(&self, fault: Fault, refused_at: Option<Millis>) -> Result<RunStep, RunStop> {
        let failures = self.failures();
        if failures >= FAILURES_MAX {
            return Err(RunStop::Unable(fault.message));
        }
        Ok(RunStep::After(self.setback(failures + 1, fault.wait_ms, refused_at, &fault)))
    }

    /// Handles a call that the platform refuses although it accepts the credentials.
    fn forbidden(&self, fault: Fault) -> Result<RunStep, RunStop> {
        if is_hopeless(self.run.fault.as_deref(), &fault, self.failures()) {
            return Err(RunStop::Unable(fault.message));
        }
        // The refusals of the credentials before are over.
        self.later(fault, None)
    }

    /// Sends the test call. If it still refuses the credentials after a while, disconnects the connection.
    async fn refused(&self, fault: Fault, token: Option<i64>) -> Result<RunStep, RunStop> {
        let mut account = self.account().await?;
        let message = match self.tried(&mut account, token).await? {
            TestOutcome::Wrong { message, .. } => message,
            TestOutcome::Valid { .. } => return self.forbidden(fault),
            TestOutcome::Failed(other) => return self.later(other, self.refused_at()),
        };
        let (now, first) = (self.now(), self.refused_at());
        match first {
            Some(first) if now.since(first) >= REFUSED_MS => self.disconnect(&account, &message).await,
            first => {
                let first = first.unwrap_or(now);
                let wait = Some((first + REFUSED_MS).since(now));
                Ok(RunStep::After(self.setback(self.failures() + 1, wait, Some(first), &fault)))
            }
        }
    }

    /// Tries the credentials, with another access token than the one of this version if the platform wants one.
    async fn tried(&self, account: &mut RunAccount<'_>, token: Option<i64>) -> Result<TestOutcome, RunStop> {
        match self.authorize(account, token).await {
            Err(RunStop::Call(fault, _)) => return Ok(stored(&account.access).refused(fault)),
            done => done?,
        }
        let tested = self.runs.platforms.test(stored(&account.access), &account.access.budget).await;
        Ok(tested.unwrap_or_else(TestOutcome::Failed))
    }

    /// Ends the run and its connection together: another node would only see that the connection is disconnected.
    async fn disconnect(&self, account: &RunAccount<'_>, fault: &str) -> Result<RunStep, RunStop> {
        let (now, org, id) = (self.now(), self.run.org, self.run.connection);
        let change = AccountChange::ConnectionChange {
            connection: id,
            provider: account.connection.provider.clone(),
            change: ConnectionEventKind::Disconnected,
            run: None,
        };
        let lost =
            StoredConnection { disconnected: Some((now, Disconnection::Credential)), ..account.connection.clone() };
        self.take_back().await?;
        let ended = self.runs.store.write_bulk(work!(|tx| {
            // First: the end of a run changes the schedule, which is locked after its connection.
            let is_news = connection::disconnect(tx, org, id, now).await?;
            let end = self.end(tx, fault, now).await?;
            if is_news {
                events::add(tx, org, now, Some(EventActor::System), std::slice::from_ref(&change)).await?;
                tell::connection_lost(tx, &lost, now).await?;
                // One dead key is one piece of news.
                let is_told = connection::is_other_lost(tx, &lost).await?;
                if self.runs.sends_mail && !is_told {
                    let notice = LetterKey::notice(org, LetterKind::ConnectionLost);
                    letters::put(tx, &notice, now, Some(now)).await?;
                }
            }
            Ok(end)
        }));
        let end = ended.await?;
        self.runs.callbacks.wake();
        self.failed(&end, fault).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: i64 = 5_000;

    #[test]
    fn a_call_is_refused_a_few_times_before_the_run_ends() {
        let fault = |message: &str| Fault {
            class: ErrorClass::Credential,
            status: 403,
            wait_ms: None,
            message: message.to_owned(),
        };
        let mut last = None;
        let refusals = (0..REFUSALS_MAX).map(|failures| {
            let is_hopeless = is_hopeless(last, &fault("Acme answered 403"), failures);
            last = Some("Acme answered 403");
            is_hopeless
        });
        assert_eq!(refusals.collect::<Vec<_>>(), [false, false, false, false, true]);
        assert!(
            !is_hopeless(Some("Acme answered 503"), &fault("Acme answered 403"), 20),
            "an outage comes before the first"
        );
    }

    #[test]
    fn pauses_grow_to_an_hour_and_are_longer_if_the_platform_says_so() {
        let pauses: Vec<i64> = (0..12).map(|failures| pause_ms(FIRST, failures, None, 0) / 1_000).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
        assert_eq!(pause_ms(FIRST, i64::MAX, None, 0), PAUSE_MAX_MS);
        assert_eq!(pause_ms(FIRST, 0, Some(30_000), 0), 30_000);
        assert_eq!(pause_ms(FIRST, 9, Some(30_000), 0), 2_560_000, "a short wait is no reason to hurry");
        assert_eq!(pause_ms(FIRST, 11, Some(2 * PAUSE_MAX_MS), 0), 2 * PAUSE_MAX_MS);
        assert_eq!(pause_ms(FIRST, 3, Some(2_000), 0), 2_000);
        assert_eq!(pause_ms(FIRST, 0, Some(-5), 0), 1_000);
        assert_eq!(pause_ms(FIRST, 0, Some(i64::MAX), 0), WAIT_MAX_MS);
        assert_eq!(pause_ms(FIRST, 0, Some(100_000), u8::MAX), 119_921);
        for wait in [None, Some(1_000)] {
            let total: i64 = (1..=FAILURES_MAX).map(|failures| pause_ms(FIRST, failures, wait, 0)).sum();
            assert!((24..48).contains(&(total / 3_600_000)), "{wait:?}: {total}");
        }
    }
}
