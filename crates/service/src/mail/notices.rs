//! Notices to the one whom an organization belongs to: that its balance has become low.
//!
//! They are sent as invitations are: leased, handed to the relay, recorded; at least once, and with the same message id where one
//! is sent twice. A notice says what happened and no number: when it is read, there may be more or less. One that the relay
//! does not take within two days is given up.

use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use probity_mail::time::Millis;
use probity_store::notices::{self, Claimed, Notice};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::mail::worker::{AT_ONCE, LEASE_MS, MAIL_MAX, Mailer, wait_ms};
use crate::mail::{Handed, MailConfig};
use crate::ops::metrics::Mailed;

/// For how long a notice is news, in milliseconds.
const NEWS_MS: i64 = 2 * 24 * 3_600_000;

impl Mailer {
    /// Sends the notices that are due.
    pub(super) async fn tell(&self) -> Result<(), StoreError> {
        loop {
            let now = self.clock.now();
            if !notices::any_due(&mut self.store.read().await?, now).await? {
                return Ok(());
            }
            let run = crate::secrets::hex(&crate::random::bytes::<16>());
            let claim = self.store.write(|tx| notices::claim(tx, now, LEASE_MS, &run, AT_ONCE).scope_boxed());
            for claimed in claim.await? {
                self.tell_one(&claimed).await?;
            }
        }
    }

    async fn tell_one(&self, claimed: &Claimed) -> Result<(), StoreError> {
        let handed = tokio::time::timeout(MAIL_MAX, self.config.tell(claimed)).await;
        let handed = handed.unwrap_or_else(|_| Handed::NotNow("the relay took too long".into()));
        let again = again(&handed, claimed, self.clock.now());
        self.metrics.mail().attempted(match (&handed, again) {
            (Handed::Taken, _) => Mailed::Sent,
            (_, Some(_)) => Mailed::Failed,
            (_, None) => Mailed::Exhausted,
        });
        if let Handed::NotNow(why) | Handed::Never(why) = &handed {
            let given_up = again.is_none();
            tracing::warn!(org = claimed.org.0, %why, given_up, "cannot send a notice");
        }
        match self.store.write(|tx| notices::record(tx, claimed, again).scope_boxed()).await {
            // What it tells of is over, or has happened anew.
            Err(StoreError::LeaseLost) => Ok(()),
            recorded => recorded,
        }
    }
}

/// When a notice is tried again; none where it is over.
fn again(handed: &Handed, claimed: &Claimed, now: Millis) -> Option<Millis> {
    match handed {
        Handed::Taken | Handed::Never(_) => None,
        Handed::NotNow(_) => Some(now + wait_ms(claimed.attempts)).filter(|at| at.since(claimed.created_at) < NEWS_MS),
    }
}

impl MailConfig {
    async fn tell(&self, claimed: &Claimed) -> Handed {
        self.give(self.notice(claimed)).await
    }

    fn notice(&self, claimed: &Claimed) -> Result<Message, lettre::error::Error> {
        let who = claimed.org_name.as_deref().unwrap_or("your organization");
        let to = claimed.email.parse().map_err(|_| lettre::error::Error::MissingTo)?;
        let (subject, text) = match claimed.notice {
            Notice::LowBalance => (
                format!("Few credits are left for {who}"),
                format!(
                    "The balance of {who} on Probity has become low. When no credits are left, verifications are refused.\n\n\
                     What is left: {}\n",
                    self.public_url
                ),
            ),
        };
        let id = format!("{}.{}.{}", claimed.notice.as_str(), claimed.org.0, claimed.created_at.0);
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .header(ContentType::TEXT_PLAIN)
            .body(text)
    }
}

#[cfg(test)]
mod tests {
    use probity_store::OrgNo;
    use secrecy::SecretString;

    use super::*;

    fn claimed(attempts: i64) -> Claimed {
        Claimed {
            org: OrgNo(5),
            notice: Notice::LowBalance,
            email: "owner@example.com".into(),
            org_name: Some("Example Ltd".into()),
            created_at: Millis(1_000),
            attempts,
            run: String::new(),
        }
    }

    #[test]
    fn a_notice_is_tried_while_it_is_news() {
        let not_now = || Handed::NotNow(String::new());
        for (attempts, handed, at, expected) in [
            (0, Handed::Taken, 1_000, None),
            (0, Handed::Never(String::new()), 1_000, None),
            (0, not_now(), 1_000, Some(61_000)),
            (9, not_now(), 1_000, Some(21_601_000)),
            (9, not_now(), NEWS_MS, None),
        ] {
            assert_eq!(again(&handed, &claimed(attempts), Millis(at)), expected.map(Millis), "{attempts} {at}");
        }
    }

    #[test]
    fn a_notice_names_the_organization_and_no_number() {
        let relay = SecretString::from("smtp://mail.example.com");
        let config = MailConfig::new(&relay, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
        let message = String::from_utf8(config.notice(&claimed(0)).unwrap().formatted()).unwrap();
        for part in
            ["To: owner@example.com", "Example Ltd", "<low_balance.5.1000@example.com>", "https://verify.example.com"]
        {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(config.notice(&Claimed { email: "nobody".into(), ..claimed(0) }).is_err());
    }
}
