//! Mail to members whose list is over.

use probity_letters::ListLetter;
use probity_store::StoreError;
use probity_store::activity::letters::ClaimedLetter;
use probity_store::jobs::{self, Job, JobNo};

use crate::mail::worker::{Mailer, WrittenMail};

impl Mailer {
    /// Writes the mail about a list; `None` if the list no longer exists.
    pub(super) async fn list(&self, claimed: &ClaimedLetter) -> Result<Option<WrittenMail>, StoreError> {
        let Ok(job) = claimed.key.subject.parse().map(JobNo) else { return Ok(None) };
        match jobs::by_no(&mut self.store.read().await?, claimed.key.org, job).await {
            Err(StoreError::NotFound) => Ok(None),
            job => Ok(Some(written(claimed, &job?, self.config.dashboard()))),
        }
    }
}

fn written(claimed: &ClaimedLetter, job: &Job, dashboard: &str) -> WrittenMail {
    let Job { id, rows, counts, .. } = *job;
    let letter =
        ListLetter { title: job.title.as_deref(), id, rows, processed: counts.processed, passed: counts.passed };
    let letter = letter.written(claimed.language.unwrap_or_default(), dashboard);
    WrittenMail::news(claimed, format!("list.{id}.{}", claimed.user), letter)
}

#[cfg(test)]
mod tests {
    use probity_account::id::JobId;
    use probity_account::language::PageLanguage;
    use probity_mail::time::Millis;
    use probity_store::OrgNo;
    use probity_store::activity::letters::LetterKind;
    use probity_store::jobs::{JobCounts, JobState};

    use super::*;
    use crate::mail::worker::tests::claimed;

    fn job(processed: i64) -> Job {
        Job {
            org: OrgNo(5),
            no: JobNo(7),
            id: JobId::from_bits(2),
            test: false,
            source: String::new(),
            started_by: None,
            source_action: None,
            actor: None,
            integration: None,
            title: Some("kunden.csv".into()),
            tags: Vec::new(),
            state: JobState::Completed,
            webhook_url: None,
            rows: 10,
            repeated: None,
            counts: JobCounts { processed, passed: 8, ..JobCounts::default() },
            charged: 0,
            created_at: Millis(0),
            started_at: None,
            hurried_at: None,
            finished_at: Some(Millis(1_000)),
            purged_at: None,
        }
    }

    #[test]
    fn mail_about_a_list_is_in_the_language_of_its_reader() {
        let of = claimed(LetterKind::List, 0);
        let WrittenMail { letter, id, .. } = written(&of, &job(10), "https://verify.example.com");
        assert_eq!((letter.subject.as_str(), id.starts_with("list.job_")), ("kunden.csv is verified", true));
        let german = ClaimedLetter { language: Some(PageLanguage::De), ..of };
        let WrittenMail { letter, .. } = written(&german, &job(9), "https://verify.example.com");
        assert_eq!(letter.subject, "kunden.csv wurde gestoppt");
        assert!(letter.text.contains("  Zeilen: 10\n  Geprüft: 9\n  Zustellbar: 8\n"), "{}", letter.text);
    }
}
