//! Takes pending email from the database and hands it to the relay.
//!
//! Due email is leased to one node at a time and recorded after the relay has replied. It is therefore sent at least once, with
//! the same link and message ID if it is sent twice. After a temporary failure, a link is retried as long as it works, and other
//! mail for 2 days. The log has the reason of a failure without the address.

use std::sync::Arc;
use std::time::Duration;

use probity_engine::clock::EngineClock;
use probity_letters::{Letter, LinkLetter};
use probity_mail::time::Millis;
use probity_store::accounts::sso;
use probity_store::accounts::users::invitations;
use probity_store::activity::letters::{self, ClaimedLetter, LetterKind};
use probity_store::{ScopedFutureExt as _, Store, StoreError};
use probity_telemetry::metrics::{Mailed, Metrics};
use tokio_util::sync::CancellationToken;

use crate::links;
use crate::mail::reports::ReadFigures;
use crate::mail::{MailConfig, OutgoingMail, RelayResult};
use crate::secrets::{Secrets, random};

/// Interval between rounds.
const ROUND: Duration = Duration::from_secs(5);
/// Emails claimed together.
const AT_ONCE: u32 = 10;
/// Lease of emails, in milliseconds. Each email of a claim can take its maximum time.
const LEASE_MS: i64 = probity_store::nodes::ahead::MAIL_LEASE_MS;
/// Pauses after the first attempts, in milliseconds. The last one applies to all further attempts.
const WAITS_MS: [i64; 5] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];
/// Time for which news is retried, in milliseconds.
const NEWS_MS: i64 = 2 * 24 * 3_600_000;

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
                let mut done = self.serve_forgotten().await;
                for kind in LetterKind::ALL {
                    done = done.and(self.send_due(kind).await);
                }
                done.and(self.plan_reports().await)
            };
            let round = ending.run_until_cancelled(all).await;
            if let Some(Err(error)) = round {
                tracing::warn!(%error, "cannot read pending mail; retrying");
            }
        }
    }

    /// Sends the due mail of a kind, but only some reports: other mail does not wait for all of them.
    async fn send_due(&self, kind: LetterKind) -> Result<(), StoreError> {
        loop {
            let now = self.clock.now();
            if !letters::any_due(&mut self.store.read().await?, kind, now).await? {
                return Ok(());
            }
            let run = random::run();
            let claim = self.store.write(|tx| letters::claim(tx, kind, now, LEASE_MS, &run, AT_ONCE).scope_boxed());
            let claims = claim.await?;
            let mut read = ReadFigures::new();
            for claimed in &claims {
                self.send(claimed, &mut read).await?;
            }
            // None is left if other nodes are sending it.
            if claims.is_empty() || kind.report().is_some() {
                return Ok(());
            }
        }
    }

    async fn send(&self, claimed: &ClaimedLetter, read: &mut ReadFigures) -> Result<(), StoreError> {
        let again = match self.written(claimed, read).await? {
            Some(mail) => self.hand(claimed, &mail).await,
            None => None,
        };
        match self.store.write(|tx| letters::record(tx, claimed, again).scope_boxed()).await {
            // The reason for the mail has ended or recurred meanwhile.
            Err(StoreError::LeaseLost) => Ok(()),
            recorded => recorded,
        }
    }

    /// Writes a mail; `None` if there is nothing to say anymore.
    async fn written(
        &self,
        claimed: &ClaimedLetter,
        read: &mut ReadFigures,
    ) -> Result<Option<WrittenMail>, StoreError> {
        match (claimed.key.kind, claimed.key.kind.report()) {
            (_, Some(report)) => self.report(claimed, report, read).await,
            (LetterKind::Link, _) => self.link(claimed).await,
            (LetterKind::List, _) => self.list(claimed).await,
            _ => self.notice(claimed).await.map(Some),
        }
    }

    async fn link(&self, claimed: &ClaimedLetter) -> Result<Option<WrittenMail>, StoreError> {
        let (org, user) = (claimed.key.org, claimed.user);
        let mut conn = self.store.read().await?;
        let Some(mail) = invitations::mailed(&mut conn, org, user).await? else { return Ok(None) };
        let requires_sso = sso::of(&mut conn, org).await?.is_some_and(|sso| sso.required);
        let link = links::url(Some(&self.config.public_url), &links::mailed_secret(&self.secrets, &mail.seed));
        let language = mail.language.or(claimed.language).unwrap_or_default();
        let letter = LinkLetter { org_name: claimed.org_name.as_deref(), link: &link, expires_at: mail.expires_at };
        let letter =
            if claimed.is_invited { letter.invitation(language) } else { letter.new_password(language, requires_sso) };
        let id = format!("{user}.{}", claimed.created_at.0);
        Ok(Some(WrittenMail { id, letter, unsubscribe: None, until: mail.expires_at }))
    }

    /// Hands a mail to the relay. Returns the time of the next attempt; `None` if there is none.
    async fn hand(&self, claimed: &ClaimedLetter, mail: &WrittenMail) -> Option<Millis> {
        let WrittenMail { id, letter, unsubscribe, until } = mail;
        let out = OutgoingMail { to: &claimed.email, id, letter, unsubscribe: unsubscribe.as_deref() };
        let handed = self.config.hand_over(out).await;
        let again = again(&handed, claimed.attempts, *until, self.clock.now());
        self.metrics.mail().attempted(match (&handed, again) {
            (RelayResult::Taken, _) => Mailed::Sent,
            (_, Some(_)) => Mailed::Failed,
            (_, None) => Mailed::Exhausted,
        });
        if let RelayResult::NotNow(why) | RelayResult::Never(why) = &handed {
            log_failure(claimed, why, again.is_none());
        }
        again
    }
}

/// Mail written for a claimed letter.
pub(super) struct WrittenMail {
    /// Message ID without the domain.
    pub(super) id: String,
    pub(super) letter: Letter,
    /// Address that ends this kind of mail, if its reader can switch it off.
    pub(super) unsubscribe: Option<String>,
    /// Time from which it is not retried.
    pub(super) until: Millis,
}

impl WrittenMail {
    /// Mail that tells something, and is dropped when that is no longer news.
    pub(super) fn news(claimed: &ClaimedLetter, id: String, letter: Letter) -> Self {
        Self { id, letter, unsubscribe: None, until: claimed.created_at + NEWS_MS }
    }
}

fn log_failure(claimed: &ClaimedLetter, why: &str, given_up: bool) {
    let (org, user, kind) = (claimed.key.org.0, claimed.user, claimed.key.kind);
    match (kind, given_up) {
        (LetterKind::Link, true) => tracing::error!(%user, %why, "gave up sending a link; share one instead"),
        (LetterKind::Link, false) => tracing::warn!(%user, %why, "cannot send a link yet; it will be retried"),
        _ => {
            let mail = match kind {
                LetterKind::List => "a list is over",
                _ if kind.report().is_some() => "report",
                _ => "notice",
            };
            tracing::warn!(org, mail, %why, given_up, "cannot send mail");
        }
    }
}

/// Returns the time of the attempt after this one; `None` if there is none.
fn again(handed: &RelayResult, attempts: i64, until: Millis, now: Millis) -> Option<Millis> {
    let wait_ms = WAITS_MS[usize::try_from(attempts).unwrap_or(usize::MAX).min(WAITS_MS.len() - 1)];
    match handed {
        RelayResult::Taken | RelayResult::Never(_) => None,
        RelayResult::NotNow(_) => Some(now + wait_ms).filter(|at| *at < until),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use probity_account::id::UserId;
    use probity_store::OrgNo;
    use probity_store::activity::letters::LetterKey;

    use super::*;

    pub(in crate::mail) fn claimed(kind: LetterKind, attempts: i64) -> ClaimedLetter {
        ClaimedLetter {
            key: LetterKey::notice(OrgNo(5), kind),
            user: UserId::from_bits(1),
            email: "owner@example.com".into(),
            language: None,
            is_invited: false,
            org_name: Some("Example Ltd".into()),
            created_at: Millis(1_000),
            attempts,
            run: String::new(),
        }
    }

    #[test]
    fn attempts_wait_longer_and_longer_as_long_as_the_mail_is_useful() {
        let not_now = || RelayResult::NotNow(String::new());
        for (attempts, handed, at, expected) in [
            (0, RelayResult::Taken, 0, None),
            (0, RelayResult::Never(String::new()), 0, None),
            (0, not_now(), 0, Some(60_000)),
            (1, not_now(), 5, Some(300_005)),
            (4, not_now(), 0, Some(21_600_000)),
            (99, not_now(), 0, Some(21_600_000)),
            (0, not_now(), 86_339_999, Some(86_399_999)),
            (0, not_now(), 86_340_000, None),
        ] {
            let next = again(&handed, attempts, Millis(86_400_000), Millis(at));
            assert_eq!(next, expected.map(Millis), "{attempts} {at}");
        }
    }

    #[test]
    fn news_is_retried_for_two_days() {
        let letter = Letter { subject: String::new(), text: String::new(), html: String::new() };
        let news = WrittenMail::news(&claimed(LetterKind::List, 0), String::new(), letter);
        assert_eq!(news.until, Millis(1_000 + NEWS_MS));
    }
}
