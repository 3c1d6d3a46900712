//! Request and response types of `/v1/outcomes`.

use std::borrow::Cow;

use probity_account::outcome::OutcomeClass;
use probity_lists::outcomes::OutcomeCells;
use probity_lists::submission::ADDRESS_MAX_BYTES;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;

use crate::schema::{WITHOUT_NUL, one_of, or_null, schemas, text};
use crate::timestamp::Timestamp;

/// Maximum number of events in a request.
pub const OUTCOMES_MAX: usize = 10_000;
/// Maximum length of a reply, in bytes.
pub const REPLY_MAX_BYTES: usize = 2_000;

/// Events to report.
// Without `Debug`, because it holds addresses.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportOutcomes {
    /// Events, up to 10,000.
    #[schema(min_items = 1, max_items = 10_000, examples(json!([
        {"email": "ann@example.org", "outcome": "delivered", "at": "2026-11-20T08:00:00Z"},
        {"email": "bob@example.org", "outcome": "hard_bounce", "reply": "550 5.1.1 User unknown"},
    ])))]
    pub outcomes: Vec<OutcomeEvent>,
}

/// Outcome of a message.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeEvent {
    #[schema(schema_with = email)]
    pub email: String,
    #[schema(schema_with = class)]
    pub outcome: OutcomeClass,
    /// Time of the event; default: now. At most a day in the future. Events older than 400 days are skipped.
    #[serde(default)]
    #[schema(required = false)]
    pub at: Option<Timestamp>,
    #[serde(default)]
    #[schema(schema_with = reply, required = false)]
    pub reply: Option<String>,
}

/// Fault of a cell: the field, and the message.
pub type CellFault = (&'static str, Cow<'static, str>);

impl OutcomeEvent {
    /// Parses the cells of a row.
    pub fn of_cells(cells: OutcomeCells) -> Result<Self, CellFault> {
        let outcome = OutcomeClass::from_name(&cells.outcome).ok_or_else(|| ("outcome", classes().into()))?;
        let at = match &*cells.at {
            "" => None,
            text => Some(text.parse().map_err(|error: crate::timestamp::NoTime| ("at", error.to_string().into()))?),
        };
        Ok(Self { email: cells.email, outcome, at, reply: Some(cells.reply).filter(|reply| !reply.is_empty()) })
    }
}

/// Outcome of a report.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct OutcomesReported {
    /// Number of events in the request.
    #[schema(examples(4), minimum = 0)]
    pub submitted: i64,
    /// Number of new events. An address counts once per outcome and day.
    #[schema(examples(3), minimum = 0)]
    pub added: i64,
    /// Number of events reported before, or repeated in the request.
    #[schema(examples(0), minimum = 0)]
    pub repeated: i64,
    /// Number of events skipped because their `email` is not an address.
    #[schema(examples(1), minimum = 0)]
    pub invalid: i64,
    /// Number of events skipped because they are older than 400 days.
    #[schema(examples(0), minimum = 0)]
    pub expired: i64,
    /// Number of hard bounces counted as soft, because their `reply` does not say that the mailbox is gone.
    #[schema(examples(0), minimum = 0)]
    pub softened: i64,
    pub suppressed: SuppressedByOutcomes,
}

/// Number of addresses added to suppression lists.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct SuppressedByOutcomes {
    /// Addresses added to `bounced`.
    #[schema(examples(1), minimum = 0)]
    pub bounced: i64,
    /// Addresses added to `complained`.
    #[schema(examples(1), minimum = 0)]
    pub complained: i64,
}

fn classes() -> String {
    format!("must be one of {}", OutcomeClass::ALL.map(OutcomeClass::as_str).join(", "))
}

schemas! {
    // The body parser rejects texts with U+0000 (`body::parse`).
    email: ObjectBuilder = text(0..=ADDRESS_MAX_BYTES, "Address to which the message was sent, with or without a name before it \
        (`Ann Lee <ann@example.org>`). Text that is not an address is skipped.", "ann@example.org").pattern(Some(WITHOUT_NUL));
    class = one_of(OutcomeClass::ALL.map(OutcomeClass::as_str), "`delivered`: accepted by the recipient's server. \
        `hard_bounce`: the mailbox does not exist or is disabled. `soft_bounce`: returned for any other reason. `complaint`: \
        reported as spam. `opened`: read, or a link followed. `unsubscribed`: the recipient unsubscribed.");
    reply = or_null(text(0..=REPLY_MAX_BYTES, "SMTP reply or bounce text. A `hard_bounce` whose reply refuses the sender or the \
        content, or reports a full mailbox, counts as `soft_bounce`. Replies are not stored.", "550 5.1.1 User unknown")
        .pattern(Some(WITHOUT_NUL)).build());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(outcome: &str, at: &str) -> Option<&'static str> {
        let cells = OutcomeCells { outcome: outcome.into(), at: at.into(), ..OutcomeCells::default() };
        OutcomeEvent::of_cells(cells).err().map(|(field, _)| field)
    }

    #[test]
    fn cells_are_read_as_json_is() {
        assert_eq!(fault("opened", ""), None);
        assert_eq!(fault("opened", "2026-11-20T08:00:00+01:00"), None);
        assert_eq!(fault("Opened", ""), Some("outcome"));
        assert_eq!(fault("", ""), Some("outcome"));
        assert_eq!(fault("opened", "yesterday"), Some("at"));
        let parsed = serde_json::from_str::<OutcomeEvent>(r#"{"email": "a", "outcome": "bounced"}"#);
        let message = parsed.err().unwrap().to_string();
        assert!(message.starts_with("must be one of delivered, "), "{message}");
    }
}
