//! The largest domains of a list, with their verdicts.
//!
//! Results have no index by domain, so all rows are read: about 0.5 s per million rows. A response ends after [`TIME_MAX`] and
//! says how many rows it counted.

use std::collections::HashMap;
use std::time::Duration;

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_contract::error::ApiError;
use probity_mail::address::bare_address;
use probity_mail::verdict::Status;
use probity_store::jobs::{self, Job};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;

/// Longest count per response.
const TIME_MAX: Duration = Duration::from_secs(3);
/// Rows read at a time: a few blocks.
const STEP: i64 = 8_000;
/// Domains in a response.
const SHOWN: usize = 8;
/// Domains that are counted apart, which bounds the memory; others are counted together.
const DOMAINS_MAX: usize = 200_000;

/// Rows of a list by domain.
#[derive(Debug, Serialize)]
pub struct DomainMix {
    /// Largest domains, largest first.
    data: Vec<DomainShare>,
    /// Rows of all other domains.
    others: VerdictTally,
    /// Number of all other domains.
    other_domains: usize,
    /// Number of rows counted, from the first.
    scanned: i64,
}

#[derive(Debug, Serialize)]
struct DomainShare {
    domain: Box<str>,
    #[serde(flatten)]
    counts: VerdictTally,
}

/// Rows with a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct VerdictTally {
    processed: i64,
    passed: i64,
    undeliverable: i64,
    risky: i64,
    unknown: i64,
}

impl VerdictTally {
    fn add(&mut self, status: Status) {
        self.processed += 1;
        *match status {
            Status::Passed => &mut self.passed,
            Status::Undeliverable => &mut self.undeliverable,
            Status::Risky => &mut self.risky,
            Status::Unknown => &mut self.unknown,
        } += 1;
    }

    fn join(&mut self, other: Self) {
        self.processed += other.processed;
        self.passed += other.passed;
        self.undeliverable += other.undeliverable;
        self.risky += other.risky;
        self.unknown += other.unknown;
    }
}

/// Counts the rows of a list by domain.
pub async fn count_domains(app: &App, caller: &Caller, id: JobId) -> Result<DomainMix, ApiError> {
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let (begun, mut counted, mut at) = (app.clock.elapsed(), DomainTally::default(), 0);
    while at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let to = (at + STEP).min(job.rows);
        // A place for each step: the searches of people come in between.
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
        counted.add(email, row.result.kind.reason.status());
    }
    Ok(())
}

/// Rows by domain, while they are counted.
#[derive(Default)]
struct DomainTally {
    domains: HashMap<Box<str>, VerdictTally>,
    rest: VerdictTally,
}

impl DomainTally {
    /// Counts a row. Texts without a domain are not counted.
    fn add(&mut self, email: Option<&str>, status: Status) {
        let Some((_, domain)) = email.and_then(|email| bare_address(email).rsplit_once('@')) else { return };
        let domain = domain.to_lowercase();
        if let Some(tally) = self.domains.get_mut(&*domain) {
            tally.add(status);
        } else if self.domains.len() < DOMAINS_MAX {
            self.domains.entry(domain.into()).or_default().add(status);
        } else {
            self.rest.add(status);
        }
    }

    fn mix(self, scanned: i64) -> DomainMix {
        let mut all: Vec<DomainShare> =
            self.domains.into_iter().map(|(domain, counts)| DomainShare { domain, counts }).collect();
        all.sort_unstable_by(|a, b| (b.counts.processed, &a.domain).cmp(&(a.counts.processed, &b.domain)));
        let small = all.split_off(SHOWN.min(all.len()));
        let mut others = self.rest;
        for share in &small {
            others.join(share.counts);
        }
        DomainMix { data: all, others, other_domains: small.len(), scanned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_counted_whatever_their_case_and_the_small_ones_together() {
        let mut tally = DomainTally::default();
        for n in 0..12 {
            for _ in 0..=n {
                tally.add(Some(&format!("ann@D{n:02}.example")), Status::Passed);
            }
        }
        tally.add(Some("ann@d11.EXAMPLE"), Status::Unknown);
        tally.add(Some("no address"), Status::Undeliverable);
        tally.add(None, Status::Unknown);
        let mix = tally.mix(14);
        assert_eq!(
            (&*mix.data[0].domain, mix.data[0].counts.processed, mix.data[0].counts.unknown),
            ("d11.example", 13, 1)
        );
        assert_eq!((mix.data.len(), mix.other_domains, mix.others.passed), (8, 4, 10));
    }
}
