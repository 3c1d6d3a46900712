//! Takes mail from the database and hands it to the relay.
//!
//! Mail that is due is leased to one node at a time and recorded when the relay has answered, so it is sent at least once, and
//! with the same link and the same message id where it is sent twice. What the relay cannot take now is tried again for as
//! long as the link works. What it never will is given up: the invitation says so, and the log, without the address.

use std::sync::Arc;
use std::time::Duration;

use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::users::invitations::mail::{self, Claimed, Outcome};
use probity_store::{ScopedFutureExt as _, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::links;
use crate::mail::{Handed, Letter, MailConfig};
use crate::nodes::Presence;
use crate::ops::metrics::{Mailed, Metrics};
use crate::secrets::Secrets;

/// How often mail is looked for.
const ROUND: Duration = Duration::from_secs(5);
/// Mails of one claim.
pub(super) const AT_ONCE: u32 = 10;
/// The longest that one mail takes.
pub(super) const MAIL_MAX: Duration = Duration::from_mins(1);
/// For how long mails are leased, in milliseconds: all of a claim can take their whole time.
pub(super) const LEASE_MS: i64 = probity_store::ahead::MAIL_LEASE_MS;
/// How long to wait after the first attempts, in milliseconds; the last counts for all further ones.
const WAITS_MS: [i64; 5] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/// Who sends mail.
pub struct Mailer {
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub clock: Clock,
    pub config: MailConfig,
    pub metrics: Arc<Metrics>,
    pub presence: Arc<Presence>,
}

impl Mailer {
    /// Sends what is due until it is told to end.
    pub async fn run(self, ending: CancellationToken) {
        while ending.run_until_cancelled(tokio::time::sleep(ROUND)).await.is_some() {
            if !self.presence.may_work() {
                continue;
            }
            let both = async { self.round().await.and(self.tell().await) };
            let round = ending.run_until_cancelled(both).await;
            if let Some(Err(error)) = round {
                tracing::warn!(%error, "cannot read pending mail; retrying");
            }
        }
    }

    async fn round(&self) -> Result<(), StoreError> {
        loop {
            let now = self.clock.now();
            if !mail::any_due(&mut self.store.read().await?, now).await? {
                return Ok(());
            }
            let run = crate::secrets::hex(&crate::random::bytes::<16>());
            let claim = self.store.write(|tx| mail::claim(tx, now, LEASE_MS, &run, AT_ONCE).scope_boxed());
            for claimed in claim.await? {
                self.send(&claimed).await?;
            }
        }
    }

    async fn send(&self, claimed: &Claimed) -> Result<(), StoreError> {
        let secret = links::mailed_secret(&self.secrets, &claimed.seed);
        let letter = Letter {
            to: &claimed.email,
            org_name: claimed.org_name.as_deref(),
            link: &links::url(Some(&self.config.public_url), &secret),
            expires_at: claimed.expires_at,
            id: &format!("{}.{}", claimed.user, claimed.expires_at.0),
        };
        let handed = tokio::time::timeout(MAIL_MAX, self.config.hand_over(letter)).await;
        let handed = handed.unwrap_or_else(|_| Handed::NotNow("the relay took too long".into()));
        let now = self.clock.now();
        let outcome = outcome(&handed, claimed, now);
        self.metrics.mail().attempted(match outcome {
            Outcome::Sent => Mailed::Sent,
            Outcome::Again(_) => Mailed::Failed,
            Outcome::Failed => Mailed::Exhausted,
        });
        match (&handed, outcome) {
            (Handed::Taken, _) => {}
            (Handed::NotNow(why) | Handed::Never(why), Outcome::Failed) => {
                tracing::error!(user = %claimed.user, %why, "gave up sending an invitation; share its link instead");
            }
            (Handed::NotNow(why) | Handed::Never(why), _) => {
                tracing::warn!(user = %claimed.user, %why, "cannot send an invitation yet; it will be retried");
            }
        }
        match self.store.write(|tx| mail::record(tx, claimed, outcome, now).scope_boxed()).await {
            // It was used, withdrawn or made anew meanwhile.
            Err(StoreError::LeaseLost) => Ok(()),
            recorded => recorded,
        }
    }
}

/// How long to wait after so many attempts, in milliseconds.
pub(super) fn wait_ms(attempts: i64) -> i64 {
    WAITS_MS[usize::try_from(attempts).unwrap_or(usize::MAX).min(WAITS_MS.len() - 1)]
}

fn outcome(handed: &Handed, claimed: &Claimed, now: Millis) -> Outcome {
    let next = now + wait_ms(claimed.attempts);
    match handed {
        Handed::Taken => Outcome::Sent,
        Handed::NotNow(_) if next < claimed.expires_at => Outcome::Again(next),
        Handed::NotNow(_) | Handed::Never(_) => Outcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;
    use probity_store::OrgNo;

    use super::*;

    #[test]
    fn attempts_wait_longer_and_longer_as_long_as_the_link_works() {
        let claimed = |attempts| Claimed {
            org: OrgNo(1),
            user: UserId::from_bits(1),
            email: String::new(),
            org_name: None,
            seed: [0; 16],
            expires_at: Millis(86_400_000),
            attempts,
            run: String::new(),
        };
        let not_now = || Handed::NotNow(String::new());
        for (attempts, handed, at, expected) in [
            (0, Handed::Taken, 0, Outcome::Sent),
            (0, Handed::Never(String::new()), 0, Outcome::Failed),
            (0, not_now(), 0, Outcome::Again(Millis(60_000))),
            (1, not_now(), 5, Outcome::Again(Millis(300_005))),
            (4, not_now(), 0, Outcome::Again(Millis(21_600_000))),
            (99, not_now(), 0, Outcome::Again(Millis(21_600_000))),
            (0, not_now(), 86_339_999, Outcome::Again(Millis(86_399_999))),
            (0, not_now(), 86_340_000, Outcome::Failed),
        ] {
            assert_eq!(outcome(&handed, &claimed(attempts), Millis(at)), expected, "{attempts} {at}");
        }
    }
}
