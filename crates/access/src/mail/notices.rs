//! Notices to the owner of an organization: its balance is low, or an email platform refuses its credentials.
//!
//! A notice says what happened, but no number, which may have changed when it is read.

use probity_letters::{CreditLetter, LossLetter, LostConnection};
use probity_store::StoreError;
use probity_store::activity::letters::{ClaimedLetter, LetterKind};
use probity_store::connections::connection;

use crate::mail::worker::{Mailer, WrittenMail};

impl Mailer {
    pub(super) async fn notice(&self, claimed: &ClaimedLetter) -> Result<WrittenMail, StoreError> {
        let lost = if claimed.key.kind == LetterKind::ConnectionLost {
            Some(connection::lost(&mut self.store.read().await?, claimed.key.org).await?)
        } else {
            None
        };
        Ok(written(claimed, lost.as_deref(), self.config.dashboard()))
    }
}

/// Writes a notice about lost connections, or about the balance.
fn written(claimed: &ClaimedLetter, lost: Option<&[(String, String)]>, dashboard: &str) -> WrittenMail {
    let (language, org_name) = (claimed.language.unwrap_or_default(), claimed.org_name.as_deref());
    let letter = match lost {
        None => CreditLetter { org_name, dashboard }.written(language),
        Some(lost) => {
            let lost = lost.iter().map(|(name, platform)| LostConnection { name, platform });
            let connections: Vec<_> = lost.collect();
            LossLetter { org_name, connections: &connections, dashboard }.written(language)
        }
    };
    WrittenMail::news(claimed, format!("{}.{}.{}", claimed.key.kind, claimed.key.org.0, claimed.created_at.0), letter)
}

#[cfg(test)]
mod tests {
    use probity_account::language::PageLanguage;

    use super::*;
    use crate::mail::worker::tests::claimed;

    #[test]
    fn a_notice_names_the_organization_and_what_was_lost() {
        let low = claimed(LetterKind::LowBalance, 0);
        let WrittenMail { letter, id, .. } = written(&low, None, "https://verify.example.com");
        assert_eq!(
            (letter.subject.as_str(), id.as_str()),
            ("Credits are running low for Example Ltd", "low_balance.5.1000")
        );
        let lost = ClaimedLetter { language: Some(PageLanguage::Fr), ..claimed(LetterKind::ConnectionLost, 0) };
        let connections = [("Spring mail".to_owned(), "ghost".to_owned())];
        let WrittenMail { letter, id, .. } = written(&lost, Some(&connections), "https://verify.example.com");
        assert_eq!(id, "connection_lost.5.1000");
        assert!(letter.subject.contains("refuse les identifiants de Example Ltd"), "{}", letter.subject);
        assert!(letter.text.contains("  Spring mail\u{a0}: ghost\n"), "{}", letter.text);
    }
}
