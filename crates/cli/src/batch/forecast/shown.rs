//! The forecast of a batch before it runs: the end at the earliest, and what each site takes.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use probity_backend::nodes::verifier::Verifier;
use probity_mail::policy::Mode;
use probity_mail::time::Millis;

use super::super::Batch;
use super::super::progress::remaining;
use super::super::workfile::WorkFile;
use super::{ListForecast, OTHERS, SiteForecast};
use crate::exit::Exit;
use crate::output;

/// Prints how long an imported batch takes at least. The work file stays only if it is that of an interrupted batch.
pub(crate) fn print(verifier: Arc<dyn Verifier>, (work, batch): (WorkFile, Batch)) -> Result<Exit> {
    let Batch { order, answers, put_off, is_noted, .. } = batch;
    let (now, order) = (verifier.now(), Arc::new(order));
    let forecast = ListForecast::of(verifier, &order, work.reader(), |at| !answers.has(order.ask[at]));
    if is_noted {
        work.remove()?;
    }
    output::print(&shown(&forecast?.waiting(put_off.values()), now, &TimeZone::system()))
}

/// The text: the end, what is not known, and a table of the sites, slowest first.
pub(crate) fn shown(forecast: &ListForecast, now: Millis, zone: &TimeZone) -> String {
    let mut sites = forecast.sites_left(now);
    sites.sort_by_key(|site| Reverse((site.bound.ms, site.addresses)));
    let mut text = match sites.first() {
        None => return "No mail server is probed for this list.\n".to_owned(),
        Some(site) if site.bound.ms == 0 => "No limit delays this list.\n".to_owned(),
        Some(site) => ends(site, now, zone),
    };
    if let Some(others) = sites.iter().find(|site| &*site.name == OTHERS) {
        let all: u64 = sites.iter().map(|site| site.addresses).sum();
        let _ = writeln!(
            text,
            "No name was looked up: {} of {all} addresses are in domains whose provider is not known, each a site of its own here.",
            others.addresses
        );
    }
    text + "Missing and deferred addresses take longer.\n\n" + &table(&sites)
}

/// The end of the list, and the site that determines it.
fn ends(site: &SiteForecast<'_>, now: Millis, zone: &TimeZone) -> String {
    let bound = site.bound;
    let name = if &*site.name == OTHERS { "The largest of the other domains" } else { &site.name };
    format!(
        "Done in {} at the earliest, {}. {name} takes longest: {} addresses at {} a minute.\n",
        remaining(bound.ms),
        at(now + bound.ms, now, zone),
        bound.addresses,
        bound.per_minute
    )
}

/// A time, with its date unless it is today.
fn at(at: Millis, now: Millis, zone: &TimeZone) -> String {
    let zoned = |at: Millis| Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone());
    let (end, today) = (zoned(at), zoned(now).date());
    let time = format!("at about {:02}:{:02}", end.hour(), end.minute());
    if end.date() == today { time } else { format!("on {} {time}", end.date()) }
}

fn table(sites: &[SiteForecast<'_>]) -> String {
    let mut rows = vec![["SITE", "ADDRESSES", "A MINUTE", "MISSING AN HOUR", "LEAST TIME"].map(str::to_owned)];
    rows.extend(sites.iter().map(|site| {
        let (policy, sources) = (&site.limits.policy, site.limits.warmths.len() as u64);
        let limit = |limit: u64| if limit == 0 { "no limit".to_owned() } else { limit.to_string() };
        let name = site.name.to_string();
        if policy.mode == Mode::Never {
            let none = String::new;
            return [name, site.addresses.to_string(), none(), none(), "not probed".to_owned()];
        }
        let time = if site.bound.ms == 0 { "at once".to_owned() } else { remaining(site.bound.ms) };
        let missing = u64::from(policy.missing_per_hour) * sources;
        [name, site.addresses.to_string(), limit(site.bound.per_minute), limit(missing), time]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", cells.trim_end());
    }
    text
}
