//! `GET /app/lookup`: where an address, or a domain, stands in the lists of an organization.
//!
//! The addresses of the lists are looked through, the newest list first, as long as their rows are kept. Nothing is written down
//! for this: what a list's rows say of a person goes with the rows. An answer ends when it has enough or after [`TIME_MAX`], and
//! says
//! where to go on.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::lists::rows;
use probity_service::lists::search::Text;
use probity_service::page::{Binding, CURSOR_RULE};
use probity_service::timestamp::Timestamp;
use probity_store::jobs::{self, Filter, Job, JobNo};
use probity_store::{Conn, OrgNo};
use serde::Serialize;

use crate::asking::Asking;
use crate::auth::Caller;
use crate::dashboard::rows::Shown;
use crate::error::Refusal;

/// How long an answer looks.
const TIME_MAX: Duration = Duration::from_millis(500);
/// Places that an answer gives.
const PLACES_MAX: usize = 100;
/// Rows that are read together.
const STEP: i64 = 8_000;
/// Lists that are read together.
const JOBS: i64 = 20;

/// Where something stands.
#[derive(Serialize)]
pub(crate) struct Found {
    data: Vec<Place>,
    /// Rows that were looked through for this answer.
    scanned: i64,
    /// To be said as `next` for older lists; null where all were looked through.
    next: Option<String>,
}

/// A row of a list.
#[derive(Serialize)]
struct Place {
    job: JobId,
    source: String,
    created_at: Timestamp,
    #[serde(flatten)]
    row: Shown,
}

/// How far was looked: in which list, and from which row on it goes on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stopped {
    created_at: Millis,
    job: JobNo,
    row: i64,
}

impl Stopped {
    fn to_bytes(self) -> Vec<u8> {
        [self.created_at.0, self.job.0, self.row].iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let [created_at, job, row] = <[[u8; 8]; 3]>::try_from(numbers).ok()?.map(i64::from_be_bytes);
        Some(Self { created_at: Millis(created_at), job: JobNo(job), row })
    }
}

/// A look through lists that is under way.
struct Looking<'a> {
    app: &'a App,
    org: OrgNo,
    text: Text,
    begun: Duration,
    places: Vec<Place>,
    scanned: i64,
}

/// Where an address or a domain stands.
pub(crate) async fn get_places(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<Found>, Refusal> {
    let text = Text::whole(&query)?;
    let (org, list) = (caller.org_id().to_string(), format!("/app/lookup {text:?}"));
    let binding = Binding { org: &org, list: &list };
    let from = app.cursors.wanted(&query, binding)?;
    let from = from.map(|place| Stopped::of_bytes(&place).ok_or_else(|| ApiError::invalid("next", CURSOR_RULE)));
    let _place = app.searches.place(caller.org()).await?;
    let begun = app.clock.elapsed();
    let mut looking = Looking { app: &app, org: caller.org(), text, begun, places: Vec::new(), scanned: 0 };
    let next = looking.look(from.transpose()?).await?;
    let next = next.map(|at| app.cursors.seal(binding, &at.to_bytes()));
    Ok(Json(Found { data: looking.places, scanned: looking.scanned, next }))
}

impl Looking<'_> {
    /// Looks through the lists from a place on; gives where it stopped before the last one's end.
    async fn look(&mut self, from: Option<Stopped>) -> Result<Option<Stopped>, Refusal> {
        // The list in which the last answer stopped is the first that is read: the page begins behind the one before it.
        let mut behind = from.map(|at| (at.created_at, JobNo(at.job.0.saturating_add(1))));
        // However slow the database is, an answer comes one list or one step further.
        let mut is_first = true;
        loop {
            let listed = self.page(behind).await?;
            for job in &listed {
                let begun = from.filter(|at| at.job == job.no).map_or(0, |at| at.row);
                let stopped = if self.is_over() && !is_first { Some(begun) } else { self.through(job, begun).await? };
                if let Some(row) = stopped {
                    return Ok(Some(Stopped { created_at: job.created_at, job: job.no, row }));
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

    /// The lists that come next. The connection is given back at once, as between all steps.
    async fn page(&self, behind: Option<(Millis, JobNo)>) -> Result<Vec<Job>, Refusal> {
        let mut conn = self.app.store.read().await?;
        Ok(jobs::page(&mut conn, self.org, &Filter::default(), behind, JOBS).await?)
    }

    /// Whether the answer has enough, or took long enough.
    fn is_over(&self) -> bool {
        self.places.len() >= PLACES_MAX || self.app.clock.elapsed().saturating_sub(self.begun) > TIME_MAX
    }

    /// Looks through one list; gives the row at which the answer has to end.
    async fn through(&mut self, job: &Job, from: i64) -> Result<Option<i64>, Refusal> {
        if job.purged_at.is_some() {
            return Ok(None);
        }
        let mut at = from;
        while at < job.rows {
            let to = (at - at.rem_euclid(STEP) + STEP).min(job.rows);
            let mut conn = self.app.store.read().await?;
            let emails = rows::emails(&mut conn, job, at, to).await?;
            let fits = (at..)
                .zip(emails)
                .filter_map(|(index, email)| Some((index, email.filter(|email| self.text.is_in(email))?)));
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

    /// Keeps places with what stands there.
    async fn note(&mut self, conn: &mut Conn, job: &Job, fits: Vec<(i64, String)>) -> Result<(), Refusal> {
        for (index, email) in fits {
            let standing = jobs::outcomes(conn, job.org, job.no, index, index + 1).await?;
            let row = Shown::of(index, Some(email), standing.first().map(|(_, standing)| standing));
            let (source, created_at) = (job.source.clone(), job.created_at.into());
            self.places.push(Place { job: job.id, source, created_at, row });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let at = Stopped { created_at: Millis(1_800_000_000_000), job: JobNo(-7), row: 12_345 };
        assert_eq!(Stopped::of_bytes(&at.to_bytes()), Some(at));
        assert_eq!(Stopped::of_bytes(&at.to_bytes()[1..]), None);
        assert_eq!(Stopped::of_bytes(&[0; 32]), None);
    }
}
