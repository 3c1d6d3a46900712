//! Searches an organization's lists for a part of an address.
//!
//! Addresses are searched in the newest list first, while their rows are stored. There is no index, so nothing about an
//! address outlives its rows. A response ends when it has enough rows or after [`TIME_MAX`], and has a cursor to continue.

use std::time::Duration;

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_backend::lists::search::SearchText;
use probity_contract::asked_page::ListPlace;
use probity_contract::error::ApiError;
use probity_contract::page::{Binding, CURSOR_RULE, GivenCursor};
use probity_contract::query::{FromQuery, Query};
use probity_contract::timestamp::Timestamp;
use probity_mail::time::Millis;
use probity_store::jobs::{self, Job, JobFilter, JobNo};
use probity_store::{Conn, OrgNo};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::slice::FoundRow;

/// Longest search per response.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Maximum rows per response.
const PLACES_MAX: usize = 100;
/// Rows read at a time.
const STEP: i64 = 8_000;
/// Lists read at a time.
const JOBS: i64 = 20;

/// Text to search for.
#[derive(Clone)]
pub struct LookupQuery {
    /// Texts of which an address must match one.
    texts: Vec<SearchText>,
    cursor: Option<GivenCursor>,
}

impl FromQuery for LookupQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { texts: SearchText::anywhere(query)?, cursor: GivenCursor::in_query(query)? })
    }
}

/// Rows whose addresses match.
#[derive(Serialize)]
pub struct AddressPlaces {
    pub data: Vec<AddressPlace>,
    /// Rows searched for this response.
    scanned: i64,
    /// Value of `next` to continue with older lists; null if all were searched.
    pub next: Option<String>,
}

/// Row of a list.
#[derive(Serialize)]
pub struct AddressPlace {
    job: JobId,
    source: String,
    source_integration: Option<String>,
    name: Option<String>,
    created_at: Timestamp,
    #[serde(flatten)]
    row: FoundRow,
}

/// Position at which a search continues: a list with its time, and a row.
type LookupEnd = (Millis, JobNo, i64);

/// Search through lists in progress.
struct AddressLookup<'a> {
    app: &'a App,
    org: OrgNo,
    test: bool,
    texts: Vec<SearchText>,
    begun: Duration,
    places: Vec<AddressPlace>,
    scanned: i64,
}

/// Finds the rows whose addresses contain a text.
pub async fn find_places(app: &App, caller: &Caller, query: LookupQuery) -> Result<AddressPlaces, ApiError> {
    let LookupQuery { texts, cursor } = query;
    let (org, list) = (caller.org_id().to_string(), format!("/app/lookup {texts:?}"));
    let binding = Binding { org: &org, list: &list };
    let from = app.cursors.place(cursor.as_ref(), binding)?;
    let from = from.map(|place| LookupEnd::of_bytes(&place).ok_or_else(|| ApiError::invalid("next", CURSOR_RULE)));
    let _place = app.searches.place(caller.org()).await?;
    let begun = app.clock.elapsed();
    let mut lookup =
        AddressLookup { app, org: caller.org(), test: caller.is_test(), texts, begun, places: Vec::new(), scanned: 0 };
    let next = lookup.look(from.transpose()?).await?;
    let next = next.map(|at| app.cursors.seal(binding, &at.to_bytes()));
    Ok(AddressPlaces { data: lookup.places, scanned: lookup.scanned, next })
}

impl AddressLookup<'_> {
    /// Searches the lists from a position on. Returns where it stopped, unless it reached the end.
    async fn look(&mut self, from: Option<LookupEnd>) -> Result<Option<LookupEnd>, ApiError> {
        // The list in which the last response stopped comes first, so the page starts one list earlier.
        let mut behind = from.map(|(at, job, _): LookupEnd| (at, JobNo(job.0.saturating_add(1))));
        // Each response advances by at least one list or one step, even if the database is slow.
        let mut is_first = true;
        loop {
            let listed = self.page(behind).await?;
            for job in &listed {
                let begun = from.filter(|(_, no, _)| *no == job.no).map_or(0, |(.., row)| row);
                let stopped = if self.is_over() && !is_first { Some(begun) } else { self.through(job, begun).await? };
                if let Some(row) = stopped {
                    return Ok(Some((job.created_at, job.no, row)));
                }
                is_first = false;
            }
            let Some(last) = listed.last().filter(|_| i64::try_from(listed.len()).is_ok_and(|read| read >= JOBS))
            else {
                return Ok(None);
            };
            behind = Some((last.created_at, last.no));
        }
    }

    /// Returns the next lists. The connection is released immediately, as between all steps.
    async fn page(&self, behind: Option<(Millis, JobNo)>) -> Result<Vec<Job>, ApiError> {
        let filter = JobFilter { test: self.test, ..JobFilter::default() };
        let mut conn = self.app.store.read().await?;
        Ok(jobs::page(&mut conn, self.org, &filter, behind, JOBS).await?)
    }

    /// Returns whether the response has enough rows, or its time is over.
    fn is_over(&self) -> bool {
        self.places.len() >= PLACES_MAX || self.app.clock.elapsed().saturating_sub(self.begun) > TIME_MAX
    }

    /// Searches one list. Returns the row at which the response must end.
    async fn through(&mut self, job: &Job, from: i64) -> Result<Option<i64>, ApiError> {
        if job.purged_at.is_some() {
            return Ok(None);
        }
        let mut at = from;
        while at < job.rows {
            let to = (at - at.rem_euclid(STEP) + STEP).min(job.rows);
            let mut conn = self.app.store.read().await?;
            let emails = rows::emails(&mut conn, job, at, to).await?;
            let fits = (at..).zip(emails).filter_map(|(index, email)| {
                Some((index, email.filter(|email| self.texts.iter().any(|text| text.is_in(email)))?))
            });
            let fits: Vec<(i64, String)> = fits.take(PLACES_MAX - self.places.len()).collect();
            let full = fits.len() + self.places.len() >= PLACES_MAX;
            let end = fits.last().filter(|_| full).map_or(to, |(index, _)| index + 1);
            self.note(&mut conn, job, fits).await?;
            drop(conn);
            self.scanned += end - at;
            at = end;
            tokio::task::yield_now().await;
            if at < job.rows && self.is_over() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Adds rows with their results.
    async fn note(&mut self, conn: &mut Conn, job: &Job, fits: Vec<(i64, String)>) -> Result<(), ApiError> {
        for (index, email) in fits {
            let standing = jobs::outcomes(conn, job.org, job.no, index, index + 1).await?;
            let acted = rows::actions(conn, job, index, index + 1).await?;
            let standing = standing.first().map(|(_, standing)| standing);
            let row = FoundRow::of(index, Some(email), standing, acted.get(&index));
            self.places.push(AddressPlace {
                job: job.id,
                source: job.source.clone(),
                source_integration: job.integration.clone(),
                name: job.title.clone(),
                created_at: job.created_at.into(),
                row,
            });
        }
        Ok(())
    }
}
