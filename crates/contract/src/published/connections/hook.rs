//! Webhook of a connection at its platform.

use probity_mail::time::{DAY_MS, Millis};
use probity_store::connections::hooks::ConnectionHook;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema;
use crate::timestamp::Timestamp;

/// Webhook that a platform calls about new contacts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectionEventHook)]
pub struct EventHookShown {
    #[schema(schema_with = states)]
    pub state: EventHookState,
    /// Time of the registration. It is renewed if a day passes without an event.
    #[schema(required)]
    pub registered_at: Option<Timestamp>,
    /// Time of the last event; null if there was none.
    #[schema(required)]
    pub last_event_at: Option<Timestamp>,
    /// Reason of the last failed attempt to register, which is repeated; otherwise null.
    #[schema(required, examples(json!(null)))]
    pub fault: Option<String>,
}

probity_mail::named! {
    /// State of a webhook.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventHookState {
        Off = "off",
        Unsupported = "unsupported",
        NoPublicUrl = "no_public_url",
        Pending = "pending",
        Registered = "registered",
        Failed = "failed",
    }
}

impl EventHookShown {
    /// Builds a webhook that does not exist.
    pub fn of(state: EventHookState) -> Self {
        Self { state, registered_at: None, last_event_at: None, fault: None }
    }
}

impl EventHookShown {
    /// Shows a stored webhook. A registration that cannot be renewed, and has sent no event for a day, may be gone.
    pub fn stored(hook: ConnectionHook, now: Millis) -> Self {
        let is_proven = |at: Millis| now.since(hook.last_event_at.map_or(at, |event| event.max(at))) <= DAY_MS;
        let state = match (hook.registered_at, &hook.fault) {
            (Some(_), None) => EventHookState::Registered,
            (Some(at), Some(_)) if is_proven(at) => EventHookState::Registered,
            (_, Some(_)) => EventHookState::Failed,
            (None, None) => EventHookState::Pending,
        };
        Self {
            state,
            registered_at: hook.registered_at.map(Into::into),
            last_event_at: hook.last_event_at.map(Into::into),
            fault: hook.fault,
        }
    }
}

schema::schemas! {
    states = schema::one_of(EventHookState::ALL.map(EventHookState::as_str), "`off`: `instafloss` is off, or the connection \
        is a test one. `unsupported`: the platform has no webhooks that help. `no_public_url`: the operator has not set the \
        URL of the service. `pending`: being registered. `failed`: the platform refuses, see `fault`.");
}

#[cfg(test)]
mod tests {
    use probity_account::id::ConnId;
    use probity_store::OrgNo;

    use super::*;

    #[test]
    fn a_registration_that_cannot_be_renewed_has_failed_after_a_day_without_events() {
        let now = Millis(1_795_341_600_000);
        let state = |registered_at, fault: bool, last_event_at| {
            let hook = ConnectionHook {
                org: OrgNo(1),
                connection: ConnId::from_bits(1),
                is_wanted: true,
                keys: None,
                fault: fault.then(|| "no".to_owned()),
                failures: 0,
                registered_at,
                last_event_at,
            };
            EventHookShown::stored(hook, now).state
        };
        let long_ago = Some(now + -(DAY_MS + 1));
        assert_eq!(state(None, false, None), EventHookState::Pending);
        assert_eq!(state(None, true, None), EventHookState::Failed);
        assert_eq!(state(long_ago, false, None), EventHookState::Registered);
        assert_eq!(state(long_ago, true, None), EventHookState::Failed);
        assert_eq!(state(long_ago, true, Some(now)), EventHookState::Registered);
        assert_eq!(state(Some(now), true, None), EventHookState::Registered);
    }
}
