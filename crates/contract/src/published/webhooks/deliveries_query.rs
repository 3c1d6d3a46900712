//! Query of a webhook's list of deliveries.

use probity_store::webhooks::outbox::OutboxState;

use crate::error::ApiError;
use crate::page::PageQuery;
use crate::parameters::{describe_query, names};
use crate::query::{FromQuery, Query};

/// Filter and page of a webhook's list of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveriesQuery {
    /// Status filter; `None` for all deliveries.
    pub status: Option<OutboxState>,
    pub page: PageQuery,
}

impl FromQuery for DeliveriesQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let status = query.one_of("status", &OutboxState::ALL.map(OutboxState::as_str))?;
        Ok(Self { status: status.and_then(|name| OutboxState::from_name(&name)), page: PageQuery::from_query(query)? })
    }
}

describe_query! { DeliveriesQuery:
    "status" = "Filter by status.", names(OutboxState::ALL.map(OutboxState::as_str)), "exhausted";
}
