//! What an erasure would reach, counted before it is requested.

use std::collections::{BTreeSet, HashSet};

use probity_backend::privacy::erasures::names_any;
use probity_contract::error::ApiError;
use probity_contract::page::GivenCursor;
use probity_contract::query::{FromQuery, Query};
use probity_store::jobs::Job;
use probity_store::privacy::erasures::{self, SuppressionTag};
use probity_store::{Conn, OrgNo};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::lists::walk::{RowReader, walk};

/// Deliveries counted at most.
const DELIVERIES_MAX: i64 = 10_000;

/// Addresses to look for. Without `Debug`, because it holds addresses.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoughtAddresses {
    pub emails: Vec<String>,
}

/// Position at which the search continues.
#[derive(Clone, Debug, Default)]
pub struct TracesQuery {
    pub cursor: Option<GivenCursor>,
}

impl FromQuery for TracesQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { cursor: GivenCursor::in_query(query)? })
    }
}

/// Part of the result; the whole is the sum of all responses.
#[derive(Clone, Debug, Serialize)]
pub struct AddressTraces {
    /// Lists that have one of the addresses, each in one response only.
    pub lists: u64,
    /// Deliveries with a response of the endpoint. An erasure removes all of these responses, because they cannot be searched.
    /// Counted up to 10,000, and in the first response only.
    pub deliveries: i64,
    /// Value of `next` to continue; null at the end.
    pub next: Option<String>,
}

/// Lists found so far.
struct TraceReader<'a> {
    app: &'a App,
    org: OrgNo,
    tags: HashSet<SuppressionTag>,
    lists: u64,
}

impl RowReader for TraceReader<'_> {
    async fn read(&mut self, _: &mut Conn, job: &Job, at: i64, emails: Vec<Option<String>>) -> Result<i64, ApiError> {
        let to = at + i64::try_from(emails.len()).map_err(ApiError::server_error)?;
        let mut texts = emails.iter().flatten();
        if texts.any(|text| names_any(&self.app.secrets, self.org, &self.tags, text)) {
            self.lists += 1;
            // One row is enough.
            return Ok(job.rows);
        }
        Ok(to)
    }
}

/// Counts what an erasure of addresses would reach, and changes nothing.
pub async fn find_traces(
    app: &App,
    caller: &Caller,
    query: TracesQuery,
    sought: SoughtAddresses,
) -> Result<AddressTraces, ApiError> {
    let tags: BTreeSet<SuppressionTag> = super::erasures::tags(app, caller, &sought.emails)?.into_iter().collect();
    let list = format!("/app/erasures/traces {tags:?}");
    let tags = tags.into_iter().collect();
    let mut reader = TraceReader { app, org: caller.org(), tags, lists: 0 };
    let next = walk(app, caller, &list, query.cursor.as_ref(), &mut reader).await?;
    let deliveries = match query.cursor {
        None => {
            let mut conn = app.store.read().await?;
            erasures::count_answered(&mut conn, caller.org(), caller.is_test(), DELIVERIES_MAX).await?
        }
        Some(_) => 0,
    };
    Ok(AddressTraces { lists: reader.lists, deliveries, next })
}
