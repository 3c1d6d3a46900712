//! Takes pending email from the database and hands it to the relay.
//!
//! Due email is leased to one node at a time and recorded after the relay has replied. It is therefore sent at least once, with
//! the same link and message ID if it is sent twice. A temporary failure is retried as long as the link works. After a
//! permanent one, the invitation is marked as failed, and the log has the reason without the address.

use std::sync::Arc;
use std::time::Duration;

use probity_engine::clock::EngineClock;
use probity_letters::LinkLetter;
use probity_mail::time::Millis;
use probity_store::accounts::sso;
use probity_store::accounts::users::mail::{self, ClaimedLinkMail, LinkMailOutcome};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use probity_telemetry::metrics::{Mailed, Metrics};
use tokio_util::sync::CancellationToken;

use crate::links;
use crate::mail::{MailConfig, OutgoingMail, RelayResult};
use crate::secrets::Secrets;

/// Interval between rounds.
const ROUND: Duration = Duration::from_secs(5);
/// Emails claimed together.
pub(super) const AT_ONCE: u32 = 10;
/// Lease of emails, in milliseconds. Each email of a claim can take its maximum time.
pub(super) const LEASE_MS: i64 = probity_store::nodes::ahead::MAIL_LEASE_MS;
/// Pauses after the first attempts, in milliseconds. The last one applies to all further attempts.
const WAITS_MS: [i64; 5] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/// Time for which news is retried, in milliseconds.
pub(super) const NEWS_MS: i64 = 2 * 24 * 3_600_000;

/// Claims due mail of a kind, by its module of the store. None is left if other nodes are sending it.
macro_rules! claim_due {
    ($mailer:expr, $kind:ident) => {{
        use $crate::mail::worker::{AT_ONCE, LEASE_MS};
        let now = $mailer.clock.now();
        if $kind::any_due(&mut $mailer.store.read().await?, now).await? {
            let run = $crate::secrets::random::run();
            let claim = $mailer
                .store
                .write(probity_store::work!(|tx| { $kind::claim(tx, now, LEASE_MS, &run, AT_ONCE).await }));
            claim.await?
        } else {
            Vec::new()
        }
    }};
}
pub(super) use claim_due;

/// Sender of pending email.
pub struct Mailer {
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub clock: EngineClock,
    pub config: MailConfig,
    pub metrics: Arc<Metrics>,
}

impl Mailer {
    /// Sends due email until `ending` is canceled, in rounds in which this node may claim work.
    pub async fn run(self, may_work: impl Fn() -> bool, ending: CancellationToken) {
        while ending.run_until_cancelled(tokio::time::sleep(ROUND)).await.is_some() {
            if !may_work() {
                continue;
            }
            let all = async {
                let linked = self.serve_forgotten().await.and(self.round().await);
                let sent = linked.and(self.tell().await);
                sent.and(self.tell_of_lists().await).and(self.report().await)
            };
            let round = ending.run_until_cancelled(all).await;
            if let Some(Err(error)) = round {
                tracing::warn!(%error, "cannot read pending mail; retrying");
            }
        }
    }

    async fn round(&self) -> Result<(), StoreError> {
        loop {
            let claims = claim_due!(self, mail);
            if claims.is_empty() {
                return Ok(());
            }
            for claimed in claims {
                self.send(&claimed).await?;
            }
        }
    }

    async fn send(&self, claimed: &ClaimedLinkMail) -> Result<(), StoreError> {
        let secret = links::mailed_secret(&self.secrets, &claimed.seed);
        let (link, language) =
            (links::url(Some(&self.config.public_url), &secret), claimed.language.unwrap_or_default());
        let expires_at = claimed.expires_at;
        let letter = LinkLetter { org_name: claimed.org_name.as_deref(), link: &link, expires_at };
        let requires_sso = sso::of(&mut self.store.read().await?, claimed.org).await?.is_some_and(|sso| sso.required);
        let letter =
            if claimed.is_member { letter.new_password(language, requires_sso) } else { letter.invitation(language) };
        let id = format!("{}.{}", claimed.user, claimed.created_at.0);
        let mail = OutgoingMail { to: &claimed.email, id: &id, letter: &letter, unsubscribe: None };
        let handed = self.config.hand_over(mail).await;
        let now = self.clock.now();
        let outcome = outcome(&handed, claimed, now);
        match (&handed, outcome) {
            (RelayResult::Taken, _) => {}
            (RelayResult::NotNow(why) | RelayResult::Never(why), LinkMailOutcome::Failed) => {
                tracing::error!(user = %claimed.user, %why, "gave up sending a link; share one instead");
            }
            (RelayResult::NotNow(why) | RelayResult::Never(why), _) => {
                tracing::warn!(user = %claimed.user, %why, "cannot send a link yet; it will be retried");
            }
        }
        let recorded = self.store.write(|tx| mail::record(tx, claimed, outcome, now).scope_boxed()).await;
        self.metrics.mail().attempted(match outcome {
            LinkMailOutcome::Sent => Mailed::Sent,
            LinkMailOutcome::Again(_) => Mailed::Failed,
            LinkMailOutcome::Failed => Mailed::Exhausted,
        });
        unless_lost(recorded)
    }
}

/// Passes over a lost lease: the reason for the mail has ended or recurred meanwhile.
pub(super) fn unless_lost(recorded: Result<(), StoreError>) -> Result<(), StoreError> {
    match recorded {
        Err(StoreError::LeaseLost) => Ok(()),
        recorded => recorded,
    }
}

/// Mail that tells something, and is dropped when that is no longer news.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    pub(super) org: OrgNo,
    /// What it is, for the log.
    pub(super) what: &'static str,
    /// When it happened.
    pub(super) since: Millis,
    /// Number of earlier attempts.
    pub(super) attempts: i64,
}

impl News {
    /// Returns the time of the next attempt; `None` if there is none.
    pub(super) fn again(&self, handed: &RelayResult, now: Millis) -> Option<Millis> {
        match handed {
            RelayResult::Taken | RelayResult::Never(_) => None,
            RelayResult::NotNow(_) => Some(now + wait_ms(self.attempts)).filter(|at| at.since(self.since) < NEWS_MS),
        }
    }
}

impl Mailer {
    /// Hands news to the relay. Returns the time of the next attempt; `None` if there is none.
    pub(super) async fn hand_news(&self, mail: OutgoingMail<'_>, news: News) -> Option<Millis> {
        let handed = self.config.hand_over(mail).await;
        let again = news.again(&handed, self.clock.now());
        self.metrics.mail().attempted(match (&handed, again) {
            (RelayResult::Taken, _) => Mailed::Sent,
            (_, Some(_)) => Mailed::Failed,
            (_, None) => Mailed::Exhausted,
        });
        if let RelayResult::NotNow(why) | RelayResult::Never(why) = &handed {
            tracing::warn!(org = news.org.0, mail = news.what, %why, given_up = again.is_none(), "cannot send mail");
        }
        again
    }
}

/// Returns the pause after a number of attempts, in milliseconds.
fn wait_ms(attempts: i64) -> i64 {
    WAITS_MS[usize::try_from(attempts).unwrap_or(usize::MAX).min(WAITS_MS.len() - 1)]
}

fn outcome(handed: &RelayResult, claimed: &ClaimedLinkMail, now: Millis) -> LinkMailOutcome {
    let next = now + wait_ms(claimed.attempts);
    match handed {
        RelayResult::Taken => LinkMailOutcome::Sent,
        RelayResult::NotNow(_) if next < claimed.expires_at => LinkMailOutcome::Again(next),
        RelayResult::NotNow(_) | RelayResult::Never(_) => LinkMailOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use probity_account::id::UserId;

    use super::*;

    #[test]
    fn attempts_wait_longer_and_longer_as_long_as_the_link_works() {
        let claimed = |attempts| ClaimedLinkMail {
            org: OrgNo(1),
            user: UserId::from_bits(1),
            email: String::new(),
            org_name: None,
            seed: [0; 16],
            created_at: Millis(0),
            expires_at: Millis(86_400_000),
            is_member: false,
            language: None,
            attempts,
            run: String::new(),
        };
        let not_now = || RelayResult::NotNow(String::new());
        for (attempts, handed, at, expected) in [
            (0, RelayResult::Taken, 0, LinkMailOutcome::Sent),
            (0, RelayResult::Never(String::new()), 0, LinkMailOutcome::Failed),
            (0, not_now(), 0, LinkMailOutcome::Again(Millis(60_000))),
            (1, not_now(), 5, LinkMailOutcome::Again(Millis(300_005))),
            (4, not_now(), 0, LinkMailOutcome::Again(Millis(21_600_000))),
            (99, not_now(), 0, LinkMailOutcome::Again(Millis(21_600_000))),
            (0, not_now(), 86_339_999, LinkMailOutcome::Again(Millis(86_399_999))),
            (0, not_now(), 86_340_000, LinkMailOutcome::Failed),
        ] {
            assert_eq!(outcome(&handed, &claimed(attempts), Millis(at)), expected, "{attempts} {at}");
        }
    }
}
