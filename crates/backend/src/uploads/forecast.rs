//! Forecast of an upload's job, before credits are held and without a probe.
//!
//! Every figure is a range with its source. The network is not used. MX hosts are known for the domains of large providers, and
//! for others if a probe has found them; the rest counts as unknown. If nothing is known, the upper end of a range is open,
//! because any number would be invented.

pub mod mix;
pub mod pace;
pub mod unknown;

use probity_account::credits::is_free;
use probity_account::plans::Plans;
use probity_contract::error::ApiError;
use probity_mail::facts::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::Status;
use probity_store::activity::reports;
use probity_store::nodes::facts;
use probity_store::uploads::{ColumnContent, Upload};
use probity_store::{OrgNo, Store, credits};
use serde::Serialize;

use crate::nodes::verifier::Verifier;
use crate::uploads::count::Domains;
use crate::uploads::forecast::mix::{ProviderMix, ProviderShare};
use crate::uploads::forecast::pace::Expected;
use crate::uploads::forecast::unknown::{DailyShare, Unknowns, share_of};
use crate::uploads::view::ColumnCounts;

/// Days of the organization's own results that are considered.
const HISTORY_DAYS: i64 = 90;
/// Maximum number of providers listed by name.
const PROVIDERS_MAX: usize = 12;
/// Domains whose facts are read at a time.
const FACTS_AT_ONCE: usize = 500;

#[derive(Debug, Serialize)]
pub struct Forecast {
    counts: ColumnCounts,
    /// Providers that receive the mail, largest share first. The last entry may stand for all others.
    providers: Vec<ProviderShare>,
    /// Share of deliverable addresses, from the organization's own results; null without enough of them.
    passed: Option<DailyShare>,
    /// Addresses of known catch-alls. They stay unknown, and are charged.
    accept_all: i64,
    unknown: Unknowns,
    credits: ForecastCredits,
    time: Expected,
}

/// Credits for the job.
#[derive(Clone, Copy, Debug, Serialize)]
struct ForecastCredits {
    /// Held at the start: one for each row with an address.
    held: i64,
    /// Minimum and maximum that will be captured. Credits for duplicates and for free verdicts are released; the maximum
    /// deducts only those that are certain to be released.
    low: i64,
    high: i64,
    available: i64,
    /// Whether the available credits, or refills of the plan, cover the hold.
    enough: bool,
}

/// Results of one day of the organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultDay {
    verified: i64,
    unknown: i64,
    /// Unknown and free.
    free: i64,
    undeliverable: i64,
    passed: i64,
}

/// Inputs of a forecast.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    pub store: &'a Store,
    pub plans: &'a Plans,
    /// Verifier that would verify the list.
    pub verifier: &'a dyn Verifier,
    pub now: Millis,
}

/// Forecasts the job of an upload whose column is chosen.
pub async fn of(basis: Basis<'_>, upload: &Upload) -> Result<Forecast, ApiError> {
    let Basis { store, plans, verifier, now } = basis;
    let nobody = || ApiError::invalid("column", "choose the column that has the addresses");
    let content = upload.content.as_ref().ok_or_else(nobody)?;
    let domains = Domains::of(&content.domains)?;
    // The sandbox has no facts from probes.
    let (known, history) = if upload.test {
        (Vec::new(), Vec::new())
    } else {
        (known(store, &domains).await?, history(store, upload.org, now).await?)
    };
    let held = verifier.snapshot().map(|snapshot| snapshot.held).unwrap_or_default();
    let mix = ProviderMix::of(&domains, &known, &held, now, &|host| verifier.manners(host));
    let counts = ColumnCounts::from(content);
    let unknown = Unknowns::of(&mix, &history);
    let credits = ForecastCredits::of(upload, content, &unknown, (store, plans), now).await?;
    Ok(Forecast {
        counts,
        passed: share_of(&history, |day| day.passed),
        accept_all: mix.accept_all,
        unknown,
        credits,
        time: Expected::of(&mix, &history, verifier.patience_ms(), now),
        providers: mix.shares(PROVIDERS_MAX),
    })
}

impl ForecastCredits {
    async fn of(
        upload: &Upload,
        content: &ColumnContent,
        unknown: &Unknowns,
        (store, plans): (&Store, &Plans),
        now: Millis,
    ) -> Result<Self, ApiError> {
        // Test lists are free.
        let held = if upload.test { 0 } else { content.addresses };
        let (available, enough) = there(store, plans, upload.org, held, now).await?;
        if upload.test {
            return Ok(Self { held, low: 0, high: 0, available, enough: true });
        }
        let distinct = content.addresses - content.repeated;
        let low = distinct - unknown.free_at_most.min(distinct);
        Ok(Self { held, low, high: distinct - unknown.never_tells, available, enough })
    }
}

/// Returns the available credits, and whether `needed` credits can be held.
async fn there(store: &Store, plans: &Plans, org: OrgNo, needed: i64, now: Millis) -> Result<(i64, bool), ApiError> {
    let mut conn = store.read().await?;
    let available = credits::available(&mut conn, org).await?.total();
    Ok((available, probity_store::accounts::plans::would_cover(&mut conn, org, plans, needed, now).await?))
}

/// Reads facts from probes about these domains: the MX host that accepted their mail, and whether they are catch-alls.
async fn known(store: &Store, domains: &Domains) -> Result<Vec<facts::StoredDomainFact>, ApiError> {
    let lists = Lists::embedded();
    let unnamed: Vec<&str> = domains.named.iter().map(|(name, _)| name.as_str()).collect();
    let mut known = Vec::new();
    for some in unnamed.chunks(FACTS_AT_ONCE) {
        // Domains with a known MX host need no lookup, because none of them is a catch-all.
        let asked: Vec<[&str; 1]> =
            some.iter().filter(|name| lists.exchanger_of(name).is_none()).map(|name| [*name]).collect();
        if !asked.is_empty() {
            known.extend(facts::of_domains(&mut store.read().await?, &asked).await?);
        }
    }
    Ok(known)
}

/// Returns the organization's results of the last days, one entry for each day that has any.
async fn history(store: &Store, org: OrgNo, now: Millis) -> Result<Vec<ResultDay>, ApiError> {
    let today = now.utc_day();
    let sums = reports::by_day(&mut store.read().await?, org, today - HISTORY_DAYS, today, None).await?;
    let mut days: Vec<(i64, ResultDay)> = Vec::new();
    for sum in sums {
        let (day, reason) = sum.of;
        if days.last().is_none_or(|(last, _)| *last != day) {
            days.push((day, ResultDay::default()));
        }
        let (_, counts) = days.last_mut().expect("pushed above");
        counts.verified += sum.verified;
        match reason.status() {
            Status::Unknown if is_free(reason) => {
                counts.unknown += sum.verified;
                counts.free += sum.verified;
            }
            Status::Unknown => counts.unknown += sum.verified,
            Status::Undeliverable => counts.undeliverable += sum.verified,
            Status::Passed => counts.passed += sum.verified,
            Status::Risky => {}
        }
    }
    Ok(days.into_iter().map(|(_, day)| day).collect())
}
