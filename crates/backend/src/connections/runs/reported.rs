//! Bounces and complaints that a platform reports about its contacts, stored as outcomes of mail.
//!
//! A bounce counts as soft, because platforms stop writing to contacts for many reasons, refusals of the platform among them. That
//! a contact has unsubscribed is no outcome: this service may have done it.
//!
//! A platform shows a state, not an event, so each state of an address counts once, dated when the run read it. It is stored in the
//! transaction that stores the page. Addresses erased since the run began are skipped.

use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_connectors::{ContactRecord, ContactState, ReadPage};
use probity_mail::time::Millis;
use probity_store::activity::events::EventActor;
use probity_store::{StoreError, Tx, jobs};

use super::held::HeldRun;
use crate::outcomes::{OutcomeRecorder, TakenOutcomes};

/// Returns the states of a page that are outcomes.
pub(super) fn of_page(held: &HeldRun<'_>, page: &ReadPage, now: Millis) -> TakenOutcomes {
    let mut taken = TakenOutcomes::default();
    for contact in &page.contacts {
        if let Some(class) = class_of(contact) {
            taken.take((&held.runs.secrets, held.run.org), &contact.email, (class, now), now);
        }
    }
    taken
}

fn class_of(contact: &ContactRecord) -> Option<OutcomeClass> {
    match contact.state {
        ContactState::Bounced => Some(OutcomeClass::SoftBounce),
        ContactState::Complained => Some(OutcomeClass::Complaint),
        ContactState::Unsubscribed
        | ContactState::Archived
        | ContactState::Subscribed
        | ContactState::Pending
        | ContactState::Unknown => None,
    }
}

/// Stores the states that are new.
pub(super) async fn store(
    held: &HeldRun<'_>,
    tx: &mut Tx,
    taken: &TakenOutcomes,
    now: Millis,
) -> Result<(), StoreError> {
    if taken.is_empty() {
        return Ok(());
    }
    let org = held.run.org;
    let erased = jobs::erased_since(tx, org, held.fence.job, &taken.addresses()).await?;
    let recorder =
        OutcomeRecorder { org, test: held.test, source: OutcomeSource::Connection, actor: EventActor::System, at: now };
    recorder.record_states(tx, &taken.without(&erased)).await.map(drop)
}
