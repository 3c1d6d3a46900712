//! Consequences of a failed call for a run: a pause, its end, or the disconnection of its connection.
//!
//! Overload and outages never disconnect. Refused credentials do, if the platform's test call refuses them too, twice in a
//! row and 10 minutes apart.

use probity_connectors::{ErrorClass, Fault, TestOutcome, Testing};
use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, ConnectionEventKind, EventActor};
use probity_store::activity::notices::{self, NoticeKind};
use probity_store::connections::connection::{self, Disconnection, StoredConnection};
use probity_store::connections::runs::RunSetback;
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
/// Maximum consecutive unreadable responses. A proxy may have cut one, or replaced it by a page of its own.
const UNREADABLE_MAX: i64 = 3;
/// Maximum consecutive failed calls: about 1.5 days.
const FAILURES_MAX: i64 = 44;

/// Returns the pause after a failure: `first`, doubled with each failure, or the wait that the platform requests. `jitter` is
/// below 256.
fn pause_ms(first: i64, failures: i64, wait_ms: Option<i64>, jitter: u8) -> i64 {
    let own = first.saturating_mul(1 << failures.clamp(0, 20)).min(PAUSE_MAX_MS);
    let pause = wait_ms.map_or(own, |wait| wait.clamp(1_000, WAIT_MAX_MS));
    // Up to 20% longer, so runs that failed together do not retry together.
    pause + pause * i64::from(jitter) / 1_280
}

impl HeldRun<'_> {
    /// Handles a failed call.
    pub(super) async fn react(&self, account: &RunAccount<'_>, fault: Fault) -> Result<RunStep, RunStop> {
        match fault.class {
            ErrorClass::Credential => self.refused(account, fault).await,
            ErrorClass::Throttled | ErrorClass::Transient => self.later(&fault).await,
            // A used-up quota is not a failure: it is renewed.
            ErrorClass::Quota => {
                let wait = fault.wait_ms.or(Some(PAUSE_MAX_MS));
                Ok(RunStep::After(self.setback(self.failures(), wait, None)))
            }
            ErrorClass::Unreadable if self.failures() < UNREADABLE_MAX => self.later(&fault).await,
            ErrorClass::Gone
            | ErrorClass::Taken
            | ErrorClass::Refused
            | ErrorClass::Invalid
            | ErrorClass::Unreadable => self.fail(&fault.message).await,
        }
    }

    fn setback(&self, failures: i64, wait_ms: Option<i64>, refused_at: Option<Millis>) -> RunSetback {
        let first = self.runs.platforms.pause_ms();
        let [jitter] = crate::secrets::random::bytes::<1>();
        RunSetback { next_at: self.now() + pause_ms(first, failures, wait_ms, jitter), failures, refused_at }
    }

    async fn later(&self, fault: &Fault) -> Result<RunStep, RunStop> {
        self.later_with(fault, self.refused_at()).await
    }

    async fn later_with(&self, fault: &Fault, refused_at: Option<Millis>) -> Result<RunStep, RunStop> {
        let failures = self.failures();
        if failures >= FAILURES_MAX {
            return self.fail(&fault.message).await;
        }
        Ok(RunStep::After(self.setback(failures + 1, fault.wait_ms, refused_at)))
    }

    /// Sends the test call. If it still refuses the credentials after a while, disconnects the connection.
    async fn refused(&self, account: &RunAccount<'_>, fault: Fault) -> Result<RunStep, RunStop> {
        let message = match self.tried(account).await? {
            Ok(TestOutcome::Wrong { message, .. }) => message,
            // The refusals before are over.
            Ok(TestOutcome::Valid { .. }) => return self.later_with(&fault, None).await,
            Ok(TestOutcome::Failed(other)) | Err(other) => return self.later(&other).await,
        };
        let (now, first) = (self.now(), self.refused_at());
        match first {
            Some(first) if now.since(first) >= REFUSED_MS => self.disconnect(account, &message).await,
            first => {
                let first = first.unwrap_or(now);
                let wait = Some((first + REFUSED_MS).since(now));
                Ok(RunStep::After(self.setback(self.failures() + 1, wait, Some(first))))
            }
        }
    }

    /// Tries the credentials, with another access token if the platform wants one.
    async fn tried(&self, account: &RunAccount<'_>) -> Result<Result<TestOutcome, Fault>, RunStop> {
        let mut account = account.clone();
        if let Some(fault) = self.authorize_again(&mut account).await? {
            return Ok(Ok(Testing::new(account.access.file, &account.access.credentials).refused(fault)));
        }
        let ConnectionAccess { file, credentials, budget, .. } = &account.access;
        Ok(self.runs.platforms.test(file, credentials, budget).await)
    }

    /// Ends the run and its connection together: another node would only see that the connection is disconnected.
    async fn disconnect(&self, account: &RunAccount<'_>, fault: &str) -> Result<RunStep, RunStop> {
        let (now, org, id) = (self.now(), self.run.org, self.run.connection);
        let change = AccountChange::ConnectionChange {
            connection: id,
            provider: account.connection.provider.clone(),
            change: ConnectionEventKind::Disconnected,
        };
        let lost =
            StoredConnection { disconnected: Some((now, Disconnection::Credential)), ..account.connection.clone() };
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
                    notices::put(tx, org, NoticeKind::ConnectionLost, now).await?;
                }
            }
            Ok(end)
        }));
        let end = ended.await?;
        self.runs.callbacks.wake();
        Ok(self.failed(&end, fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: i64 = 5_000;

    #[test]
    fn pauses_grow_to_an_hour_unless_the_platform_says_how_long() {
        let pauses: Vec<i64> = (0..12).map(|failures| pause_ms(FIRST, failures, None, 0) / 1_000).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
        assert_eq!(pause_ms(FIRST, i64::MAX, None, 0), PAUSE_MAX_MS);
        assert_eq!(pause_ms(FIRST, 9, Some(30_000), 0), 30_000);
        assert_eq!(pause_ms(FIRST, 0, Some(-5), 0), 1_000);
        assert_eq!(pause_ms(FIRST, 0, Some(i64::MAX), 0), WAIT_MAX_MS);
        assert_eq!(pause_ms(FIRST, 0, Some(100_000), u8::MAX), 119_921);
        let total: i64 = (1..=FAILURES_MAX).map(|failures| pause_ms(FIRST, failures, None, 0)).sum();
        assert!((24..48).contains(&(total / 3_600_000)), "{total}");
    }
}
