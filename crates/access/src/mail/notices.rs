//! Notices to the owner of an organization: its balance is low, or an email platform refuses its credentials.
//!
//! Notices are sent like invitations: leased, handed to the relay, and recorded. Each is sent at least once, with the same
//! message ID if it is sent twice. A notice says what happened, but no number, which may have changed when it is read. A notice
//! that the relay does not accept within 2 days is dropped.

use probity_letters::{CreditLetter, Letter, LossLetter, LostConnection};
use probity_store::activity::notices::{self, ClaimedNotice, NoticeKind};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::mail::OutgoingMail;
use crate::mail::worker::{Mailer, News, claim_due, unless_lost};

impl Mailer {
    /// Sends the notices that are due.
    pub(super) async fn tell(&self) -> Result<(), StoreError> {
        loop {
            let claims = claim_due!(self, notices);
            if claims.is_empty() {
                return Ok(());
            }
            for claimed in claims {
                self.tell_one(&claimed).await?;
            }
        }
    }

    async fn tell_one(&self, claimed: &ClaimedNotice) -> Result<(), StoreError> {
        let (letter, id) = written(claimed, self.config.dashboard());
        let mail = OutgoingMail { to: &claimed.email, id: &id, letter: &letter, unsubscribe: None };
        let again = self.hand_news(mail, news(claimed)).await;
        unless_lost(self.store.write(|tx| notices::record(tx, claimed, again).scope_boxed()).await)
    }
}

fn news(claimed: &ClaimedNotice) -> News {
    News { org: claimed.org, what: "notice", since: claimed.created_at, attempts: claimed.attempts }
}

/// Writes the letter, and the ID of its message.
fn written(claimed: &ClaimedNotice, dashboard: &str) -> (Letter, String) {
    let (language, org_name) = (claimed.language.unwrap_or_default(), claimed.org_name.as_deref());
    let letter = match claimed.notice {
        NoticeKind::LowBalance => CreditLetter { org_name, dashboard }.written(language),
        NoticeKind::ConnectionLost => {
            let lost = claimed.connections.iter().map(|(name, platform)| LostConnection { name, platform });
            let connections: Vec<_> = lost.collect();
            LossLetter { org_name, connections: &connections, dashboard }.written(language)
        }
    };
    (letter, format!("{}.{}.{}", claimed.notice.as_str(), claimed.org.0, claimed.created_at.0))
}

#[cfg(test)]
mod tests {
    use probity_account::language::PageLanguage;
    use probity_mail::time::Millis;
    use probity_store::OrgNo;

    use super::*;
    use crate::mail::RelayResult;
    use crate::mail::worker::NEWS_MS;

    fn claimed(attempts: i64) -> ClaimedNotice {
        ClaimedNotice {
            org: OrgNo(5),
            notice: NoticeKind::LowBalance,
            email: "owner@example.com".into(),
            language: None,
            org_name: Some("Example Ltd".into()),
            created_at: Millis(1_000),
            attempts,
            connections: vec![("Spring mail".into(), "ghost".into())],
            run: String::new(),
        }
    }

    #[test]
    fn a_notice_is_tried_while_it_is_news() {
        let not_now = || RelayResult::NotNow(String::new());
        for (attempts, handed, at, expected) in [
            (0, RelayResult::Taken, 1_000, None),
            (0, RelayResult::Never(String::new()), 1_000, None),
            (0, not_now(), 1_000, Some(61_000)),
            (9, not_now(), 1_000, Some(21_601_000)),
            (9, not_now(), NEWS_MS, None),
        ] {
            assert_eq!(news(&claimed(attempts)).again(&handed, Millis(at)), expected.map(Millis), "{attempts} {at}");
        }
    }

    #[test]
    fn a_notice_names_the_organization_and_what_was_lost() {
        let (letter, id) = written(&claimed(0), "https://verify.example.com");
        assert_eq!(
            (letter.subject.as_str(), id.as_str()),
            ("Credits are running low for Example Ltd", "low_balance.5.1000")
        );
        let lost = ClaimedNotice { notice: NoticeKind::ConnectionLost, language: Some(PageLanguage::Fr), ..claimed(0) };
        let (letter, id) = written(&lost, "https://verify.example.com");
        assert_eq!(id, "connection_lost.5.1000");
        assert!(letter.subject.contains("refuse les identifiants de Example Ltd"), "{}", letter.subject);
        assert!(letter.text.contains("  Spring mail\u{a0}: ghost\n"), "{}", letter.text);
    }
}
