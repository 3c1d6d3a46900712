//! Export job of a platform: started, polled, and then fetched.

use probity_mail::time::Millis;
use serde::{Deserialize, Serialize};

use crate::answer::Fault;
use crate::file::{PageRule, RequestRule};
use crate::source::Found;

/// Maximum number of polls of an export job.
const POLLS_MAX: u32 = 2_000;

/// Export job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExportJob {
    id: String,
    ready: bool,
    polls: u32,
    /// Time of the next poll, in milliseconds.
    at: i64,
}

impl ExportJob {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the next request of the job.
    pub(super) fn rule<'a>(&self, page: &'a PageRule) -> Option<&'a RequestRule> {
        match page {
            PageRule::Export { fetch, .. } if self.ready => Some(fetch),
            PageRule::Export { poll, .. } => Some(poll),
            _ => None,
        }
    }

    /// Returns the wait before the next poll.
    pub(super) fn wait_ms(&self, now: Millis) -> Option<i64> {
        Some(Millis(self.at).since(now)).filter(|wait| !self.ready && *wait > 0)
    }

    /// Processes a response about the job. Returns false if the response has records.
    pub(super) fn take(
        state: &mut Option<Self>,
        page: &PageRule,
        found: Found<'_>,
        now: Millis,
    ) -> Result<bool, Fault> {
        let PageRule::Export { job: at, ready, every, .. } = page else { return Ok(false) };
        let next = now.0.saturating_add(*every);
        match state {
            Some(job) if job.ready => return Ok(false),
            Some(job) => {
                job.ready = ready.at.text(found).is_some_and(|text| ready.is.contains(&text));
                (job.polls, job.at) = (job.polls + 1, next);
                if job.polls > POLLS_MAX {
                    return Err(Fault::unreadable("the export does not finish"));
                }
            }
            None => {
                let id = at.text(found).ok_or_else(|| Fault::unreadable("the export has no ID"))?;
                *state = Some(Self { id, ready: false, polls: 0, at: next });
            }
        }
        Ok(true)
    }
}
