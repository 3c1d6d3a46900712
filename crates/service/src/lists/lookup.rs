//! Searches an organization's lists for a part of an address.
//!
//! Addresses are searched in the newest list first ([`walk`]), while their rows are stored. There is no index, so nothing about
//! an address outlives its rows.

use probity_account::id::JobId;
use probity_backend::lists::rows;
use probity_backend::lists::search::SearchText;
use probity_contract::error::ApiError;
use probity_contract::page::GivenCursor;
use probity_contract::query::{FromQuery, Query};
use probity_contract::timestamp::Timestamp;
use probity_store::Conn;
use probity_store::jobs::{self, Job};
use serde::Serialize;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::slice::FoundRow;
use crate::lists::walk::{RowReader, walk};

/// Maximum rows per response.
const PLACES_MAX: usize = 100;

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

/// Rows that match so far.
struct AddressLookup {
    texts: Vec<SearchText>,
    places: Vec<AddressPlace>,
    scanned: i64,
}

/// Finds the rows whose addresses contain a text.
pub async fn find_places(app: &App, caller: &Caller, query: LookupQuery) -> Result<AddressPlaces, ApiError> {
    let LookupQuery { texts, cursor } = query;
    let list = format!("/app/lookup {texts:?}");
    let mut lookup = AddressLookup { texts, places: Vec::new(), scanned: 0 };
    let next = walk(app, caller, &list, cursor.as_ref(), &mut lookup).await?;
    Ok(AddressPlaces { data: lookup.places, scanned: lookup.scanned, next })
}

impl RowReader for AddressLookup {
    async fn read(
        &mut self,
        conn: &mut Conn,
        job: &Job,
        at: i64,
        emails: Vec<Option<String>>,
    ) -> Result<i64, ApiError> {
        let to = at + i64::try_from(emails.len()).map_err(ApiError::server_error)?;
        let fits = (at..).zip(emails).filter_map(|(index, email)| {
            Some((index, email.filter(|email| self.texts.iter().any(|text| text.is_in(email)))?))
        });
        let fits: Vec<(i64, String)> = fits.take(PLACES_MAX - self.places.len()).collect();
        let full = fits.len() + self.places.len() >= PLACES_MAX;
        let end = fits.last().filter(|_| full).map_or(to, |(index, _)| index + 1);
        self.note(conn, job, fits).await?;
        self.scanned += end - at;
        Ok(end)
    }

    fn is_full(&self) -> bool {
        self.places.len() >= PLACES_MAX
    }
}

impl AddressLookup {
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
