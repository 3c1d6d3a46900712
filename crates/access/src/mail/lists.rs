//! Mail to members whose list is over.
//!
//! It is sent like notices: leased, handed to the relay, and recorded; at least once, with the same message ID if it is sent
//! twice. What the relay does not accept within 2 days is dropped.

use probity_letters::{Letter, ListLetter};
use probity_store::activity::list_mail::{self, ClaimedListMail};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::mail::OutgoingMail;
use crate::mail::worker::{Mailer, News, claim_due, unless_lost};

impl Mailer {
    /// Sends the mail about lists that are over.
    pub(super) async fn tell_of_lists(&self) -> Result<(), StoreError> {
        loop {
            let claims = claim_due!(self, list_mail);
            if claims.is_empty() {
                return Ok(());
            }
            for claimed in claims {
                self.tell_of_list(&claimed).await?;
            }
        }
    }

    async fn tell_of_list(&self, claimed: &ClaimedListMail) -> Result<(), StoreError> {
        let (letter, id) = written(claimed, self.config.dashboard());
        let mail = OutgoingMail { to: &claimed.email, id: &id, letter: &letter, unsubscribe: None };
        let again = self.hand_news(mail, news(claimed)).await;
        unless_lost(self.store.write(|tx| list_mail::record(tx, claimed, again).scope_boxed()).await)
    }
}

fn news(claimed: &ClaimedListMail) -> News {
    News { org: claimed.org, what: "a list is over", since: claimed.finished_at, attempts: claimed.attempts }
}

/// Writes the letter, and the ID of its message.
fn written(claimed: &ClaimedListMail, dashboard: &str) -> (Letter, String) {
    let ClaimedListMail { id, rows, processed, passed, .. } = *claimed;
    let letter = ListLetter { title: claimed.title.as_deref(), id, rows, processed, passed };
    (letter.written(claimed.language.unwrap_or_default(), dashboard), format!("list.{id}.{}", claimed.user))
}

#[cfg(test)]
mod tests {
    use probity_account::id::{JobId, UserId};
    use probity_account::language::PageLanguage;
    use probity_mail::time::Millis;
    use probity_store::OrgNo;
    use probity_store::jobs::JobNo;

    use super::*;
    use crate::mail::RelayResult;
    use crate::mail::worker::NEWS_MS;

    fn claimed() -> ClaimedListMail {
        ClaimedListMail {
            org: OrgNo(5),
            job: JobNo(7),
            user: UserId::from_bits(1),
            email: "ann@example.com".into(),
            language: None,
            id: JobId::from_bits(2),
            title: Some("kunden.csv".into()),
            rows: 10,
            processed: 10,
            passed: 8,
            finished_at: Millis(1_000),
            attempts: 0,
            run: String::new(),
        }
    }

    #[test]
    fn mail_about_a_list_is_in_the_language_of_its_reader() {
        let (letter, id) = written(&claimed(), "https://verify.example.com");
        assert_eq!((letter.subject.as_str(), id.starts_with("list.job_")), ("kunden.csv is verified", true));
        let german = ClaimedListMail { language: Some(PageLanguage::De), processed: 9, ..claimed() };
        let (letter, _) = written(&german, "https://verify.example.com");
        assert_eq!(letter.subject, "kunden.csv wurde gestoppt");
        assert!(letter.text.contains("  Zeilen: 10\n  Geprüft: 9\n  Zustellbar: 8\n"), "{}", letter.text);
    }

    #[test]
    fn it_is_tried_while_it_is_news() {
        let not_now = || RelayResult::NotNow(String::new());
        assert_eq!(news(&claimed()).again(&RelayResult::Taken, Millis(1_000)), None);
        assert_eq!(news(&claimed()).again(&not_now(), Millis(1_000)), Some(Millis(61_000)));
        assert_eq!(news(&claimed()).again(&not_now(), Millis(NEWS_MS)), None);
    }
}
