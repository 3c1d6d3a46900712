//! Runs of a connection, their start and confirmation.

use std::collections::BTreeMap;

use probity_account::connections::{
    BrakeCount, BrakeReason, ConnectionSettings, ContactAction, RunCause, UnconfirmedLimit,
};
use probity_account::id::{ConnId, JobId};
use probity_mail::verdict::Reason;
use probity_store::connections::actions::{ActionCount, ActionState, RowAction};
use probity_store::connections::runs::{ConnectionRun, RunState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::published::activity::timeline::Actor;
use crate::published::verify::verdict::ReasonName;
use crate::published::whole::Whole;
use crate::schema;
use crate::timestamp::Timestamp;

/// How a run is started.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StartRun {
    /// Whether the run only shows what would happen. It can be confirmed later.
    #[schema(examples(true))]
    pub dry_run: bool,
}

/// How a run is confirmed.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRun {
    /// `actions.planned` of the run, as you have seen it. Any other number gets 409.
    #[schema(value_type = i64, examples(12), minimum = 1)]
    pub actions: Whole,
}

/// A run of a connection. It is also a job with the same ID, once all contacts were read.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectionRun)]
pub struct RunShown {
    #[schema(schema_with = schema::job_id)]
    pub id: JobId,
    #[schema(schema_with = schema::connection_id)]
    pub connection_id: ConnId,
    #[schema(schema_with = triggers)]
    pub trigger: &'static str,
    /// Whether the run only shows what would happen.
    #[schema(examples(false))]
    pub dry_run: bool,
    #[schema(schema_with = states)]
    pub state: &'static str,
    #[schema(required, schema_with = brakes)]
    pub held_by: Option<&'static str>,
    /// Why the run needs confirmation, with its numbers; null in other states.
    #[schema(required, examples(json!("a dry run: 12 actions are planned for 1180 contacts")))]
    pub held_reason: Option<String>,
    /// Why the run failed, was replaced, waits for confirmation again, or waits to repeat a call; null otherwise.
    #[schema(required, examples(json!(null)))]
    pub fault: Option<String>,
    /// Contacts that were read so far.
    #[schema(examples(1_200), minimum = 0)]
    pub contacts: i64,
    /// Records that were read, but have no address or no ID. They are not among the contacts.
    #[schema(examples(3), minimum = 0)]
    pub skipped: i64,
    /// Contacts that are verified. Those that have unsubscribed are not.
    #[schema(examples(1_180), minimum = 0)]
    pub rows: i64,
    /// Number of actions by state.
    pub actions: RunActions,
    /// Start time.
    pub created_at: Timestamp,
    /// Time before which the run does not continue: after a failed call, which `fault` describes, or because the platform asked for
    /// a pause. Null if it does not wait.
    #[schema(required)]
    pub waits_until: Option<Timestamp>,
    /// Time at which a person confirmed it.
    #[schema(required)]
    pub confirmed_at: Option<Timestamp>,
    /// Time of its end.
    #[schema(required)]
    pub finished_at: Option<Timestamp>,
}

/// Numbers of actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct RunActions {
    /// Actions that wait for a decision. The number to confirm.
    #[schema(examples(12), minimum = 0)]
    pub planned: i64,
    /// Actions that are being done.
    #[schema(examples(0), minimum = 0)]
    pub due: i64,
    /// Contacts that are as wanted now.
    #[schema(examples(0), minimum = 0)]
    pub done: i64,
    /// Actions that the platform refused, or whose contact no longer exists.
    #[schema(examples(0), minimum = 0)]
    pub failed: i64,
    /// Actions that were decided against.
    #[schema(examples(0), minimum = 0)]
    pub ignored: i64,
}

impl RunActions {
    fn add(&mut self, count: &ActionCount) {
        let done = RowAction::leaves_as_wanted(count.kind, count.state);
        let sum = match count.state {
            ActionState::Planned => &mut self.planned,
            ActionState::Due => &mut self.due,
            ActionState::Ignored => &mut self.ignored,
            _ if done => &mut self.done,
            _ => &mut self.failed,
        };
        *sum += count.actions;
    }

    /// Adds up the counted actions of a run.
    pub fn of(counts: &[ActionCount]) -> Self {
        let mut sums = Self::default();
        for count in counts {
            sums.add(count);
        }
        sums
    }
}

impl RunShown {
    /// Builds the response for a run from its counted actions.
    pub fn of(run: ConnectionRun, counts: &[ActionCount], now: probity_mail::time::Millis) -> Self {
        let brake = run.brake.filter(|_| run.state == RunState::NeedsConfirmation);
        let held_reason = brake.map(|brake| held_reason(brake, &run, counts));
        let waits = run.state.is_going() && run.state != RunState::Verifying && run.next_at > now;
        Self {
            id: run.id,
            connection_id: run.connection,
            trigger: run.cause.as_str(),
            dry_run: run.is_dry,
            state: run.state.as_str(),
            held_by: brake.map(BrakeReason::as_str),
            held_reason,
            // A run that continues has recovered.
            fault: run.fault.filter(|_| waits || !run.state.is_going()),
            contacts: run.contacts,
            skipped: run.skipped,
            rows: run.rows,
            actions: RunActions::of(counts),
            created_at: run.created_at.into(),
            waits_until: waits.then(|| run.next_at.into()),
            confirmed_at: run.confirmed_at.map(Into::into),
            finished_at: run.finished_at.map(Into::into),
        }
    }
}

/// Returns why a run waits, with the number of planned actions to confirm. For too many actions, returns the number that the
/// brake counted, because a smaller one would not have been held.
fn held_reason(brake: BrakeReason, run: &ConnectionRun, counts: &[ActionCount]) -> String {
    let contacts = run.rows;
    let sum =
        |wanted: fn(&ActionCount) -> bool| counts.iter().filter(|count| wanted(count)).map(|count| count.actions).sum();
    let all: i64 = sum(|count| count.state == ActionState::Planned);
    match brake {
        BrakeReason::Dry => format!("a dry run: {all} actions are planned for {contacts} contacts"),
        BrakeReason::ManualMode => format!("manual mode: a person decides about {all} actions for {contacts} contacts"),
        BrakeReason::First => {
            format!(
                "no run was confirmed with the connection's present settings and rules: {all} actions are planned for {contacts} contacts"
            )
        }
        BrakeReason::TooMany => {
            let own = BrakeCount { contacts, destructive: sum(|count| count.kind.is_destructive()) };
            let settings: ConnectionSettings = serde_json::from_str(&run.settings).unwrap_or_default();
            too_many(own, run.together, settings.unconfirmed_limit())
        }
    }
}

/// `together` is the count with earlier runs, if only that was too high.
fn too_many(own: BrakeCount, together: Option<BrakeCount>, limit: UnconfirmedLimit) -> String {
    let begin = format!("{} of {} contacts would be unsubscribed, deleted or corrected", own.destructive, own.contacts);
    let Some(BrakeCount { contacts, destructive }) = together else {
        if !limit.is_exceeded(own) {
            return format!("{begin}; no other contact of the connection would be left");
        }
        let allowed = limit.of(own.contacts);
        return format!("{begin}; a run that no person started may change {allowed} without confirmation");
    };
    let allowed = limit.of(contacts);
    format!(
        "{begin}, {destructive} of {contacts} counted with earlier runs that nobody confirmed; together, they may change \
         {allowed} without confirmation"
    )
}

/// A run with its actions.
#[derive(Clone, Debug, Serialize)]
pub struct RunDetail {
    #[serde(flatten)]
    pub run: RunShown,
    #[serde(flatten)]
    pub rest: RunParts,
}

schema::with_optional_part!(RunDetail = RunShown + RunParts, "A run with its actions by kind and reason.");

/// Parts of a run with its actions.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunParts {
    /// Member, key or operator that confirmed the run; null if nobody did, or the timeline has forgotten it.
    #[schema(required)]
    pub confirmed_by: Option<Actor>,
    /// Actions by kind and reason.
    pub counts: Vec<RunCount>,
    /// The first actions of the run, at most 20.
    pub examples: Vec<RunExample>,
}

/// Actions of one kind with one reason.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct RunCount {
    #[schema(schema_with = kinds)]
    pub action: &'static str,
    /// Reason of the verdict.
    #[schema(value_type = ReasonName)]
    pub reason: &'static str,
    #[serde(flatten)]
    pub actions: RunActions,
}

impl RunCount {
    /// Returns the counts of a run, in the contract's order.
    pub fn all(counts: &[ActionCount]) -> Vec<Self> {
        let mut sums: BTreeMap<(ContactAction, usize), (Reason, RunActions)> = BTreeMap::new();
        for count in counts {
            let place = Reason::ALL.iter().position(|known| *known == count.reason).unwrap_or(usize::MAX);
            let (_, sum) = sums.entry((count.kind, place)).or_insert((count.reason, RunActions::default()));
            sum.add(count);
        }
        let one = |((kind, _), (reason, actions)): ((ContactAction, usize), (Reason, RunActions))| Self {
            action: kind.as_str(),
            reason: Reason::as_str(reason),
            actions,
        };
        sums.into_iter().map(one).collect()
    }
}

/// An action on a contact.
// Without `Debug`, because it has an address.
#[derive(Clone, Serialize, ToSchema)]
pub struct RunExample {
    /// Address of the contact.
    #[schema(examples("nobody@sandbox.test"))]
    pub email: String,
    /// ID of the contact at the platform.
    #[schema(examples("8812"))]
    pub contact_id: String,
    #[schema(schema_with = kinds)]
    pub action: &'static str,
    /// Reason of the verdict.
    #[schema(value_type = ReasonName)]
    pub reason: &'static str,
    #[schema(schema_with = action_states)]
    pub state: &'static str,
    /// Address that the contact gets, if the action is `fix`; null otherwise.
    #[schema(required, examples(json!(null)))]
    pub suggestion: Option<String>,
    /// Why the action was not done, or why it waits for a decision about this contact; null otherwise.
    #[schema(required, examples(json!(null)))]
    pub message: Option<String>,
    /// Tags or fields that the contact had before the action, in the platform's form. Null if the platform adds a tag or writes
    /// a field without sending the others.
    #[schema(required, examples(json!(null)))]
    pub before: Option<Value>,
}

impl std::fmt::Debug for RunExample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunExample").field("action", &self.action).field("state", &self.state).finish_non_exhaustive()
    }
}

schema::schemas! {
    triggers = schema::one_of(RunCause::ALL.map(RunCause::as_str), "What started the run. `manual`: a person or a \
        key. `autofloss`: new contacts, every night. `instafloss`: a new contact, at once. `decay_protection`: contacts verified again.");
    states = schema::one_of(RunState::ALL.map(RunState::as_str), "State of the run. `reading`: contacts are read \
        from the platform. `verifying`: they are verified. `needs_confirmation`: a person decides about the planned \
        actions. `acting`: actions are being done. `finished`, `failed`, `cancelled`: the run is over.");
    pub(super) brakes = schema::or_null(schema::one_of(BrakeReason::ALL.map(BrakeReason::as_str), "Why the run needs \
        confirmation. `dry_run`: it only shows what would happen. `manual_mode`: a person decides about every \
        action. `first_run`: no run was confirmed with the connection's present settings and rules. \
        `too_many_actions`: a run that a schedule or a key started would unsubscribe, delete or fix more than 3 \
        contacts and more than 10 % of them, by itself or together with earlier ones that nobody confirmed, or any run \
        all contacts of the connection. Null in \
        other states."));
    pub(super) kinds = schema::one_of(ContactAction::ALL.map(ContactAction::as_str), "Action on the contact. `fix`: \
        its address is changed to the suggested one.");
    action_states = schema::one_of(ActionState::ALL.map(ActionState::as_str), "State of the action. `planned`: waits \
        for a decision. `due`: to be done. `done`: done. `gone`: the contact was as wanted, or no longer exists. \
        `taken`: another contact has the suggested address. `refused`: the platform does not do this. `parked`: the \
        platform did not understand the request. `ignored`: decided against.");
}

#[cfg(test)]
mod tests {
    use probity_mail::time::Millis;
    use probity_store::OrgNo;
    use probity_store::connections::runs::ContactPick;
    use probity_store::jobs::JobNo;

    use super::*;

    const NOW: Millis = Millis(1_793_534_400_000);

    fn reading(next_at: Millis, fault: &str) -> ConnectionRun {
        ConnectionRun {
            org: OrgNo(1),
            id: JobId::new(NOW, [1; 10]),
            job: JobNo(1),
            connection: ConnId::new(NOW, [1; 10]),
            cause: RunCause::Manual,
            is_dry: false,
            state: RunState::Reading,
            fault: Some(fault.to_owned()),
            brake: None,
            together: None,
            settings: "{}".to_owned(),
            account_tag: Vec::new(),
            since: None,
            due_at: None,
            pick: ContactPick::All,
            contacts: 0,
            skipped: 0,
            rows: 0,
            next_at,
            failures: 1,
            refused_at: None,
            delay_ms: None,
            created_at: NOW,
            confirmed_at: None,
            finished_at: None,
        }
    }

    #[test]
    fn a_failed_call_is_shown_while_the_run_waits_to_repeat_it() {
        let fault = "Acme answered 403";
        let waiting = RunShown::of(reading(NOW + 5_000, fault), &[], NOW);
        assert_eq!((waiting.fault.as_deref(), waiting.waits_until.is_some()), (Some(fault), true));
        let going = RunShown::of(reading(NOW, fault), &[], NOW);
        assert_eq!((going.fault, going.waits_until.is_some()), (None, false));
        let failed = RunShown::of(ConnectionRun { state: RunState::Failed, ..reading(NOW, fault) }, &[], NOW);
        assert_eq!(failed.fault.as_deref(), Some(fault));
    }

    fn run_of(rows: i64, together: Option<BrakeCount>) -> ConnectionRun {
        ConnectionRun { rows, together, ..reading(NOW, "") }
    }

    #[test]
    fn a_run_that_is_held_says_why_with_its_numbers() {
        let count = |kind, actions| ActionCount { kind, reason: Reason::Invalid, state: ActionState::Planned, actions };
        let decided = |state| ActionCount { state, ..count(ContactAction::Delete, 2) };
        let mut counts = vec![count(ContactAction::Delete, 130), count(ContactAction::UpdateTags, 7)];
        // Decisions of a review are no longer planned.
        counts.extend([decided(ActionState::Ignored), decided(ActionState::Done)]);
        let reason = held_reason(BrakeReason::TooMany, &run_of(1_000, None), &counts);
        assert!(reason.starts_with("134 of 1000 contacts") && reason.contains("may change 100 "), "{reason}");
        for brake in [BrakeReason::Dry, BrakeReason::ManualMode, BrakeReason::First] {
            let reason = held_reason(brake, &run_of(1_000, None), &counts);
            assert!(reason.contains("137 actions") && reason.contains("1000 contacts"), "{reason}");
        }
    }

    #[test]
    fn a_run_that_earlier_ones_hold_says_what_was_counted_with_them() {
        let (kind, reason, state) = (ContactAction::Delete, Reason::Invalid, ActionState::Planned);
        let counts = [ActionCount { kind, reason, state, actions: 10 }];
        let together = Some(BrakeCount { contacts: 134, destructive: 30 });
        let expected = "10 of 100 contacts would be unsubscribed, deleted or corrected, 30 of 134 counted with earlier runs that \
                        nobody confirmed; together, they may change 13 without confirmation";
        assert_eq!(held_reason(BrakeReason::TooMany, &run_of(100, together), &counts), expected);
        let expected = "10 of 100 contacts would be unsubscribed, deleted or corrected; no other contact of the connection would be \
                        left";
        assert_eq!(held_reason(BrakeReason::TooMany, &run_of(100, None), &counts), expected);
        let settings =
            ConnectionSettings { unconfirmed_contacts: 1, unconfirmed_percent: 2, ..ConnectionSettings::default() };
        let chosen = ConnectionRun { settings: serde_json::to_string(&settings).unwrap(), ..run_of(100, None) };
        let reason = held_reason(BrakeReason::TooMany, &chosen, &counts);
        assert!(reason.ends_with("a run that no person started may change 2 without confirmation"), "{reason}");
    }

    #[test]
    fn actions_are_summed_by_what_became_of_them() {
        let count = |kind, reason, state, actions| ActionCount { kind, reason, state, actions };
        let (delete, tag) = (ContactAction::Delete, ContactAction::UpdateTags);
        let counts = [
            count(delete, Reason::Nonexistent, ActionState::Planned, 5),
            count(delete, Reason::Nonexistent, ActionState::Done, 4),
            count(delete, Reason::Nonexistent, ActionState::Gone, 3),
            count(delete, Reason::Invalid, ActionState::Refused, 2),
            count(tag, Reason::Invalid, ActionState::Gone, 1),
            count(tag, Reason::Invalid, ActionState::Ignored, 6),
        ];
        let expected = RunActions { planned: 5, due: 0, done: 7, failed: 3, ignored: 6 };
        assert_eq!(RunActions::of(&counts), expected, "a contact that is gone has no tag");
        let all = RunCount::all(&counts);
        let shown: Vec<_> = all.iter().map(|one| (one.action, one.reason, one.actions.done)).collect();
        assert_eq!(shown, [("delete", "invalid", 0), ("delete", "nonexistent", 7), ("update_tags", "invalid", 0)]);
    }
}
