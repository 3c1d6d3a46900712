//! What a job of an upload would come to, before anything is spent and before anybody is asked.
//!
//! Every figure is a range, and says where it comes from. Nothing is looked up in the network: who takes a domain's mail is
//! known of large providers by their names, and of others where a probe has learned it; the rest counts as unknown. Where
//! nothing is known, the upper end of a range is open, because a number would be made up.

pub mod mix;
pub mod pace;
pub mod unknown;

use probity_account::credits::is_free;
use probity_account::plans::Plans;
use probity_mail::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::Status;
use probity_store::uploads::Upload;
use probity_store::{OrgNo, Store, credits, facts, reports};
use serde::Serialize;

use crate::error::ApiError;
use crate::uploads::count::Domains;
use crate::uploads::forecast::mix::{Mix, Share};
use crate::uploads::forecast::pace::Expected;
use crate::uploads::forecast::unknown::Unknowns;
use crate::uploads::view::{Counts, data_rows};
use crate::verifier::Verifier;

/// Days of the organization's own results that are looked back on.
const HISTORY_DAYS: i64 = 90;
/// Providers that are told by name.
const PROVIDERS_MAX: usize = 12;
/// Domains whose facts are read at once.
const FACTS_AT_ONCE: usize = 500;

/// A forecast.
#[derive(Debug, Serialize)]
pub struct Forecast {
    counts: Counts,
    /// Who takes the mail, those with the most addresses first; the last may be all others.
    providers: Vec<Share>,
    /// Addresses of domains that are known to accept every address: they stay unknown, and are charged.
    accept_all: i64,
    unknown: Unknowns,
    credits: Credits,
    time: Expected,
}

/// What it costs.
#[derive(Clone, Copy, Debug, Serialize)]
struct Credits {
    /// Set aside at the start: one for each row.
    held: i64,
    /// What remains of that at the end, at least and at most: repeated addresses are given back, and those of which nothing
    /// could be found out. From what is at most, only those are taken of which that is certain.
    low: i64,
    high: i64,
    /// What there is.
    available: i64,
    /// Whether a start finds what is held: what is there, or what refills of the plan would put in.
    enough: bool,
}

/// What the organization's own results of a day came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Day {
    verified: i64,
    unknown: i64,
    /// Unknown, and not charged.
    free: i64,
    undeliverable: i64,
}

/// What a forecast is made from.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    pub store: &'a Store,
    pub plans: &'a Plans,
    /// Who would verify the list.
    pub live: &'a dyn Verifier,
    pub now: Millis,
}

/// The forecast of an upload whose column is chosen.
pub async fn of(basis: Basis<'_>, upload: &Upload) -> Result<Forecast, ApiError> {
    let Basis { store, plans, live, now } = basis;
    let nobody = || ApiError::invalid("column", "choose the column that has the addresses");
    let content = upload.content.as_ref().ok_or_else(nobody)?;
    let domains = Domains::of(&content.domains)?;
    let known = known(store, &domains).await?;
    let held = live.snapshot().map(|snapshot| snapshot.held).unwrap_or_default();
    let mix = Mix::of(&domains, &known, &held, now, &|host| live.manners(host));
    let history = history(store, upload.org, now).await?;
    let counts = Counts::from(content);
    let unknown = Unknowns::of(&mix, &history);
    let rows = data_rows(upload.rows, upload.choice.header);
    let (available, enough) = there(store, plans, upload.org, rows, now).await?;
    // Rows without an address are one text among the others.
    let distinct = content.addresses - content.repeated + i64::from(content.blank > 0);
    let credits = Credits {
        held: rows,
        low: distinct - unknown.free_at_most.min(distinct),
        high: distinct - unknown.never_tells,
        available,
        enough,
    };
    Ok(Forecast {
        counts,
        accept_all: mix.accept_all,
        unknown,
        credits,
        time: Expected::of(&mix, &history, live.patience_ms(), now),
        providers: mix.shares(PROVIDERS_MAX),
    })
}

/// The credits that there are, and whether so many can be set aside.
async fn there(store: &Store, plans: &Plans, org: OrgNo, needed: i64, now: Millis) -> Result<(i64, bool), ApiError> {
    let mut conn = store.read().await?;
    let available = credits::available(&mut conn, org).await?.total();
    Ok((available, probity_store::plans::would_cover(&mut conn, org, plans, needed, now).await?))
}

/// What probes have learned of these domains: the exchanger that took their mail, and whether it takes any address.
async fn known(store: &Store, domains: &Domains) -> Result<Vec<facts::Fact>, ApiError> {
    let lists = Lists::embedded();
    let unnamed: Vec<&str> = domains.named.iter().map(|(name, _)| name.as_str()).collect();
    let mut known = Vec::new();
    for some in unnamed.chunks(FACTS_AT_ONCE) {
        // Those of whom everything is known already need no look, but for a catch-all none of them is.
        let asked: Vec<[&str; 1]> =
            some.iter().filter(|name| lists.exchanger_of(name).is_none()).map(|name| [*name]).collect();
        if !asked.is_empty() {
            known.extend(facts::of_domains(&mut store.read().await?, &asked).await?);
        }
    }
    Ok(known)
}

/// The organization's results of the last days, one entry for each day with any.
async fn history(store: &Store, org: OrgNo, now: Millis) -> Result<Vec<Day>, ApiError> {
    let today = now.utc_day();
    let sums = reports::by_day(&mut store.read().await?, org, today - HISTORY_DAYS, today, None).await?;
    let mut days: Vec<(i64, Day)> = Vec::new();
    for sum in sums {
        let (day, reason) = sum.of;
        if days.last().is_none_or(|(last, _)| *last != day) {
            days.push((day, Day::default()));
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
            Status::Passed | Status::Risky => {}
        }
    }
    Ok(days.into_iter().map(|(_, day)| day).collect())
}
