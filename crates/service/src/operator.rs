//! Acts of the operator, for the operator API and the command line: organizations, plans, credits, members, audits.
//!
//! Every act is recorded in the organization's timeline with the actor `staff`, in the transaction that does it. The
//! command line works beside a running service, on the same database; a service notices a changed organization within 1 s.

pub mod audit;
mod credit_order;
pub mod credits;
pub mod deliveries;
pub mod egress;
pub mod first_start;
pub mod holds;
pub mod nodes;
pub mod opening;
pub mod organizations;
pub mod people;
pub mod plans;

use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use probity_store::{OrgNo, Result, Tx};

/// Rows read at a time when a whole list is read.
pub(crate) const ROWS_AT_ONCE: i64 = 500;

/// Records an operator's act in an organization's timeline.
pub(crate) async fn record(tx: &mut Tx, org: OrgNo, at: Millis, event: AccountEventKind) -> Result<()> {
    events::add(tx, org, at, Some(EventActor::Staff), &[AccountChange::Account(event, None)]).await
}
