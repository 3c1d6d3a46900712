//! Due rows with everything that an action needs: contact, address and verdict.

use probity_account::connections::ContactAction;
use probity_connectors::{ConnectorFile, VerdictFacts};
use probity_mail::verdict::Reason;
use probity_store::connections::actions::RowAction;
use probity_store::connections::contacts::RunContact;
use probity_store::{StoreError, jobs};

use crate::connections::effects::{self, ContactEffect};
use crate::connections::planning::settings_of;
use crate::connections::rows::{ContactRow, contact_rows};
use crate::connections::runs::held::{HeldRun, RunStop};
use crate::privacy::erasures;

/// Due action with its contact.
pub(super) struct DueContact {
    pub(super) action: RowAction,
    pub(super) contact: RunContact,
    pub(super) email: String,
    pub(super) suggestion: Option<String>,
    pub(super) verdict: VerdictFacts,
    pub(super) reason: Reason,
    /// Keyed hash of the contact's ID.
    pub(super) mark: [u8; 16],
    /// Keyed hash of the action's effect.
    pub(super) effect: [u8; 16],
    pub(super) plan: ContactPlan,
}

/// Decision about a due action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContactPlan {
    Act,
    /// Do not act, for this reason.
    Ignore(&'static str),
    /// Replace by this action, which is decided next.
    Instead(ContactAction),
    /// Performed by another run.
    Gone,
    /// Verify again later.
    Later,
}

/// Due rows of one slice.
pub(super) struct DueSlice {
    pub(super) contacts: Vec<DueContact>,
    /// Rows whose contacts were erased, or are no longer stored.
    pub(super) missing: Vec<i64>,
}

impl DueSlice {
    pub(super) async fn load(held: &HeldRun<'_>, file: &ConnectorFile, due: Vec<RowAction>) -> Result<Self, RunStop> {
        let (org, job, connection) = (held.run.org, held.run.job, held.run.connection);
        let (secrets, settings, by_list) = (&held.runs.secrets, settings_of(&held.run)?, effects::by_list(file));
        let mut conn = held.runs.store.read().await?;
        let job = jobs::by_no(&mut conn, org, job).await?;
        let rows: Vec<i64> = due.iter().map(|action| action.idx).collect();
        let found = contact_rows(&mut conn, &job, &rows).await;
        let mut found = found.map_err(|error| RunStop::Failed(Box::new(error)))?;
        let mut slice = Self { contacts: Vec::new(), missing: Vec::new() };
        for action in due {
            let Some(ContactRow { contact, email, outcome }) = found.remove(&action.idx) else {
                slice.missing.push(action.idx);
                continue;
            };
            let reason = outcome.result.kind.reason;
            let mark = secrets.contact_mark(org, connection, &contact.id);
            let suggestion = outcome.result.suggestion.clone();
            let verdict = VerdictFacts {
                status: reason.status().as_str().to_owned(),
                reason: Reason::as_str(reason).to_owned(),
                suggestion: suggestion.clone(),
                at: outcome.at,
            };
            let lists = if by_list.contains(&action.kind) { &contact.lists[..] } else { &[] };
            let address = erasures::tag(secrets, org, &email);
            let effect = ContactEffect { kind: action.kind, address, reason, suggestion: suggestion.as_deref(), lists };
            let (effect, plan) = (effect.tag(secrets, connection, &settings), ContactPlan::Act);
            slice.contacts.push(DueContact { action, contact, email, suggestion, verdict, reason, mark, effect, plan });
        }
        Ok(slice)
    }

    /// Returns whether contacts are to be verified again later.
    pub(super) fn has_later(&self) -> bool {
        self.contacts.iter().any(|contact| contact.plan == ContactPlan::Later)
    }
}

/// Reports a stored value that this program cannot use.
pub(super) fn unusable(what: &'static str) -> RunStop {
    RunStop::Failed(Box::new(StoreError::Corrupt(what.into())))
}
