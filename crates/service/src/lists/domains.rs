//! The largest domains of a list, with their verdicts.
//!
//! Results have no index by domain, so all rows are read: about 0.5 s per million rows. A response ends after [`TIME_MAX`] and
//! says how many rows it counted.

use std::collections::HashMap;
use std::time::Duration;

use probity_account::id::JobId;
use probity_backend::lists::progress::StatusCounts;
use probity_backend::lists::rows;
use probity_contract::error::ApiError;
use probity_mail::address::bare_address;
use probity_mail::verdict::Reason;
use probity_store::jobs::{self, Job, JobCounts};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Longest count per response.
const TIME_MAX: Duration = Duration::from_secs(3);
/// Rows read at a time: a few blocks.
const STEP: i64 = 8_000;
/// Domains in a response.
const SHOWN: usize = 8;
/// Maximum number of domains counted separately, which bounds the memory; others are counted together.
const DOMAINS_MAX: usize = 200_000;

/// Rows of a list by domain.
#[derive(Debug, Serialize)]
pub struct DomainMix {
    /// Largest domains, largest first.
    data: Vec<DomainShare>,
    /// Rows of all other domains.
    others: StatusCounts,
    /// Number of all other domains.
    other_domains: usize,
    /// Number of rows counted, from the first.
    scanned: i64,
}

#[derive(Debug, Serialize)]
struct DomainShare {
    domain: Box<str>,
    #[serde(flatten)]
    counts: StatusCounts,
}

/// Counts the rows of a list by domain.
pub async fn count_domains(app: &App, caller: &Caller, id: JobId) -> Result<DomainMix, ApiError> {
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let (begun, mut counted, mut at) = (app.clock.elapsed(), DomainTally::default(), 0);
    while at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let to = (at + STEP).min(job.rows);
        // One slot per step, so that users' searches run in between.
        let place = app.searches.place(caller.org()).await?;
        count(app, &job, at, to, &mut counted).await?;
        drop(place);
        at = to;
        // Unpacking thousands of rows takes milliseconds.
        tokio::task::yield_now().await;
    }
    Ok(counted.mix(at))
}

async fn count(app: &App, job: &Job, from: i64, to: i64, counted: &mut DomainTally) -> Result<(), ApiError> {
    let mut conn = app.store.read().await?;
    let standing = jobs::outcomes(&mut conn, job.org, job.no, from, to).await?;
    if standing.is_empty() {
        return Ok(());
    }
    let emails = rows::emails(&mut conn, job, from, to).await?;
    for (idx, row) in &standing {
        let email = usize::try_from(idx - from).ok().and_then(|at| emails.get(at)).and_then(Option::as_deref);
        counted.add(email, row.result.kind.reason);
    }
    Ok(())
}

/// Rows by domain, while they are counted.
#[derive(Default)]
struct DomainTally {
    domains: HashMap<Box<str>, JobCounts>,
    rest: JobCounts,
}

impl DomainTally {
    /// Counts a row. Texts without a domain are not counted.
    fn add(&mut self, email: Option<&str>, reason: Reason) {
        let Some((_, domain)) = email.and_then(|email| bare_address(email).rsplit_once('@')) else { return };
        let domain = domain.to_lowercase();
        let counts = if let Some(standing) = self.domains.get_mut(&*domain) {
            standing
        } else if self.domains.len() < DOMAINS_MAX {
            self.domains.entry(domain.into()).or_default()
        } else {
            &mut self.rest
        };
        counts.add(reason, 1);
    }

    fn mix(self, scanned: i64) -> DomainMix {
        let mut all: Vec<(Box<str>, JobCounts)> = self.domains.into_iter().collect();
        all.sort_unstable_by(|(a, of_a), (b, of_b)| (of_b.processed, a).cmp(&(of_a.processed, b)));
        let small = all.split_off(SHOWN.min(all.len()));
        let mut others = self.rest;
        for (_, counts) in &small {
            others.join(*counts);
        }
        let data = all.into_iter().map(|(domain, counts)| DomainShare { domain, counts: counts.into() }).collect();
        DomainMix { data, others: others.into(), other_domains: small.len(), scanned }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn domains_are_counted_whatever_their_case_and_the_small_ones_together() {
        let mut tally = DomainTally::default();
        for n in 0..12 {
            for _ in 0..=n {
                tally.add(Some(&format!("ann@D{n:02}.example")), Reason::Valid);
            }
        }
        tally.add(Some("ann@d11.EXAMPLE"), Reason::Unverified);
        tally.add(Some("no address"), Reason::Nonexistent);
        tally.add(None, Reason::Unverified);
        let mix = serde_json::to_value(tally.mix(14)).unwrap();
        let first = &mix["data"][0];
        assert_eq!(
            (&first["domain"], &first["processed"], &first["unknown"]),
            (&json!("d11.example"), &json!(13), &json!(1))
        );
        assert_eq!(
            (&mix["data"].as_array().unwrap().len(), &mix["other_domains"], &mix["others"]["passed"]),
            (&8, &json!(4), &json!(10))
        );
    }
}
