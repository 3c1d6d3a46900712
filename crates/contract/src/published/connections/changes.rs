//! Changed verdicts of contacts.

use probity_account::id::JobId;
use probity_mail::time::Millis;
use serde::Serialize;
use utoipa::{PartialSchema as _, ToSchema};

use crate::error::ApiError;
use crate::page::PageQuery;
use crate::parameters::describe_query;
use crate::published::verify::verdict::{ReasonName, StatusName};
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Query of the changed verdicts.
#[derive(Clone, Debug)]
pub struct VerdictChangesQuery {
    /// Earliest time, inclusive; `None` for all stored changes.
    pub since: Option<Millis>,
    pub page: PageQuery,
}

impl FromQuery for VerdictChangesQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let refused = || ApiError::invalid("since", "must be a time, such as 2026-11-23T00:00:00Z");
        let since = query.text("since")?;
        let since = since.map(|text| text.parse::<Timestamp>().map_err(|_| refused())).transpose()?;
        Ok(Self { since: since.map(|Timestamp(at)| at), page: PageQuery::from_query(query)? })
    }
}

describe_query! { VerdictChangesQuery:
    "since" = "First time of a change. Omit it for all that are stored.", Timestamp::schema(), "2026-11-23T00:00:00Z";
}

/// An address of a contact whose status changed.
// Without `Debug`, because it has an address.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = VerdictChange)]
pub struct ChangedVerdict {
    /// Address; `erased` after an erasure.
    #[schema(examples("nobody@sandbox.test"))]
    pub email: String,
    /// Status before.
    #[schema(value_type = StatusName)]
    pub previous_status: &'static str,
    /// Status now.
    #[schema(value_type = StatusName)]
    pub status: &'static str,
    /// Reason of the verdict.
    #[schema(value_type = ReasonName)]
    pub reason: &'static str,
    /// Time of the verdict.
    pub changed_at: Timestamp,
    /// Connection whose run verified the address.
    #[schema(required, examples("conn_01h455vb4pex5vsknk084sn02q"))]
    pub connection_id: Option<String>,
    #[schema(schema_with = schema::job_id)]
    pub run_id: JobId,
    /// Row of the run's job, from 0.
    #[schema(examples(7), minimum = 0)]
    pub index: i64,
}
