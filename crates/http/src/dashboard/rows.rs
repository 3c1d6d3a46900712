//! `GET /app/jobs/{id}/rows`: rows of a list by what they say, read as far as one request may read.
//!
//! No index knows what stands in the rows; they are looked through, some blocks at a time, which takes about half a second for a
//! million. So that no request takes long, an answer ends when it has enough rows or after [`TIME_MAX`], and says how far it
//! has come (`scanned`, and `next` where there is more). Without a filter a page costs what it gives, wherever it begins, and
//! needs no
//! place among the [searches](probity_service::lists::searches).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use probity_mail::verdict::{Reason, Status};
use probity_service::app::App;
use probity_service::lists::rows;
use probity_service::lists::search::Text;
use probity_service::page::PerPage;
use probity_service::published::batch::BatchRow;
use probity_service::query::Query;
use probity_store::jobs::{self, Job, Standing};
use serde::Serialize;

use crate::api::batch::{Named, OTHER_PROVIDERS};
use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;

/// How many rows an answer gives.
const PER_PAGE: PerPage = PerPage { default: 100, max: 500 };
/// How long an answer looks for them.
const TIME_MAX: Duration = Duration::from_millis(250);
/// Rows that are read together: a few blocks.
const STEP: i64 = 8_000;

/// A word of `status` for rows that have no verdict yet.
const PENDING: &str = "pending";

/// Rows of a list.
#[derive(Serialize)]
pub(crate) struct Slice {
    data: Vec<Shown>,
    /// Rows of the list.
    rows: i64,
    /// Rows before this one were looked through.
    scanned: i64,
    /// To be said as `after` for what follows; null where all were looked through.
    next: Option<i64>,
}

/// A row, as the API shows it, and what it has no word for.
#[derive(Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    row: BatchRow,
    /// The id of the mail provider that the domain's exchangers belong to.
    provider: Option<String>,
    /// The exchanger that was asked.
    host: Option<String>,
}

impl Shown {
    /// Of an erased address that it was is all that is shown.
    pub(super) fn of(index: i64, email: Option<String>, standing: Option<&Standing>) -> Self {
        let kind = standing.filter(|_| email.is_some()).map(|standing| &standing.result.kind);
        Self {
            provider: kind.and_then(|kind| kind.provider.clone()),
            host: kind.and_then(|kind| kind.host.clone()),
            row: rows::row(index, email, standing),
        }
    }
}

/// Which rows.
#[derive(Default)]
struct Wanted {
    /// The word of one.
    status: Option<String>,
    reason: Option<Reason>,
    /// The id of one, or the word for others.
    provider: Option<String>,
    text: Option<Text>,
}

impl Wanted {
    fn of(query: &Query) -> Result<Self, Refusal> {
        let statuses: Vec<&str> = Status::ALL.map(Status::as_str).into_iter().chain([PENDING]).collect();
        let status = query.one_of("status", &statuses)?;
        let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let reason = query.one_of("reason", &reasons)?.and_then(|name| Reason::from_name(&name));
        let provider = query.text("provider")?.filter(|id| !id.is_empty()).map(Cow::into_owned);
        Ok(Self { status, reason, provider, text: Text::part(query)? })
    }

    fn is_all(&self) -> bool {
        self.status.is_none() && self.reason.is_none() && self.provider.is_none() && self.text.is_none()
    }

    /// Whether what stands in a row is wanted, whatever its address is.
    fn takes(&self, standing: Option<&Standing>) -> bool {
        let kind = standing.map(|standing| &standing.result.kind);
        let status = kind.map_or(PENDING, |kind| kind.reason.status().as_str());
        let provider = kind.map(|kind| kind.provider.as_deref().unwrap_or(OTHER_PROVIDERS));
        self.status.as_ref().is_none_or(|wanted| wanted == status)
            && self.reason.is_none_or(|wanted| kind.is_some_and(|kind| kind.reason == wanted))
            && self.provider.as_ref().is_none_or(|wanted| provider == Some(wanted))
    }
}

/// Rows of a list.
pub(crate) async fn get_rows(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named,
    Asking(query): Asking,
) -> Result<Json<Slice>, Refusal> {
    let (wanted, limit) = (Wanted::of(&query)?, usize::try_from(PER_PAGE.wanted(&query)?).unwrap_or(usize::MAX));
    let after = query.whole_within("after", (0, 0, i64::MAX))?;
    let job = jobs::by_id(&mut app.store.read().await?, caller.org(), id, caller.is_test()).await?;
    rows::readable(&job)?;
    let from = after.min(job.rows);
    let (data, scanned) = if wanted.is_all() {
        let to = from.saturating_add(i64::try_from(limit).unwrap_or(i64::MAX)).min(job.rows);
        (read(&app, &job, from, to, &wanted).await?, to)
    } else {
        let _place = app.searches.place(caller.org()).await?;
        search(&app, &job, from, &wanted, limit).await?
    };
    Ok(Json(Slice { data, rows: job.rows, scanned, next: (scanned < job.rows).then_some(scanned) }))
}

/// Looks through a list from a row on, and says how far.
async fn search(app: &App, job: &Job, from: i64, wanted: &Wanted, limit: usize) -> Result<(Vec<Shown>, i64), Refusal> {
    let begun = app.clock.elapsed();
    let (mut found, mut at) = (Vec::new(), from);
    while at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        // Whole blocks, but for the first.
        let to = (at - at.rem_euclid(STEP) + STEP).min(job.rows);
        for row in read(app, job, at, to, wanted).await? {
            let index = row.row.head.index.unwrap_or_default();
            found.push(row);
            if found.len() >= limit {
                return Ok((found, index + 1));
            }
        }
        at = to;
        // Unpacking thousands of rows takes milliseconds.
        tokio::task::yield_now().await;
    }
    Ok((found, at))
}

/// The wanted rows within `from..to`. What can be said without reading the other half of the rows is said first. The connection is
/// given back afterwards, so that others have their turn between two steps of a search.
async fn read(app: &App, job: &Job, from: i64, to: i64, wanted: &Wanted) -> Result<Vec<Shown>, Refusal> {
    let conn = &mut app.store.read().await?;
    if let Some(text) = &wanted.text {
        let emails = rows::emails(conn, job, from, to).await?;
        let is_in = |email: &Option<String>| email.as_ref().is_some_and(|email| text.is_in(email));
        let fits: Vec<(i64, Option<String>)> = (from..).zip(emails).filter(|(_, email)| is_in(email)).collect();
        if fits.is_empty() {
            return Ok(Vec::new());
        }
        let standing = jobs::outcomes(conn, job.org, job.no, from, to).await?;
        return Ok(joined(fits, &standing, wanted));
    }
    let standing = jobs::outcomes(conn, job.org, job.no, from, to).await?;
    let possible = wanted.takes(None) || standing.iter().any(|(_, standing)| wanted.takes(Some(standing)));
    if !possible {
        return Ok(Vec::new());
    }
    let emails = rows::emails(conn, job, from, to).await?;
    Ok(joined((from..).zip(emails).collect(), &standing, wanted))
}

/// Addresses with what stands in their rows; both ascend.
fn joined(emails: Vec<(i64, Option<String>)>, standing: &[(i64, Standing)], wanted: &Wanted) -> Vec<Shown> {
    let mut standing = standing.iter().peekable();
    let mut rows = Vec::new();
    for (index, email) in emails {
        while standing.next_if(|(at, _)| *at < index).is_some() {}
        let done = standing.next_if(|(at, _)| *at == index).map(|(_, standing)| standing);
        if wanted.takes(done) {
            rows.push(Shown::of(index, email, done));
        }
    }
    rows
}
