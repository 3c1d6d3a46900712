//! Query of a webhook's list of deliveries.

use probity_store::webhooks::outbox::OutboxState;

use crate::error::ApiError;
use crate::page::{PageQuery, PerPage};
use crate::parameters::{describe_query, names, query};
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

describe_query!(
    DeliveriesQuery = {
        let states = names(OutboxState::ALL.map(OutboxState::as_str));
        let filter = query("status", "Filter by status.", states, "exhausted").build();
        [PageQuery::parameters_of(PerPage::USUAL), vec![filter]].concat()
    }
);
