//! Outcomes of mail that an organization sent, reported by its own systems.
//!
//! They are labels for a later score of addresses, and put addresses on the suppression lists `bounced` and `complained`. A
//! report is stored as a whole or not at all; text that is not an address is skipped and counted, as in lists. Only keyed hashes
//! are stored.

use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_backend::outcomes::{AHEAD_MAX_MS, OutcomeRecorder, TakenOutcomes};
use probity_contract::error::ApiError;
use probity_contract::published::outcomes::report::{
    OUTCOMES_MAX, OutcomeEvent, OutcomesReported, REPLY_MAX_BYTES, SuppressedByOutcomes,
};
use probity_lists::outcomes::{OutcomeFileFault, read_csv};
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::address::bare_address;
use probity_mail::bounce::{self, BounceText};
use probity_mail::classify::{Meaning, Rules};
use probity_mail::time::Millis;
use probity_store::{StoreError, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Events of a report, with labels for error messages.
pub struct OutcomeReport {
    events: Vec<OutcomeEvent>,
    /// Line of each event, counted from 1, for bodies of lines.
    lines: Option<Vec<usize>>,
    /// Noun for lines: `line` or `row`.
    noun: &'static str,
}

impl OutcomeReport {
    /// A report from a list.
    pub fn of_list(events: Vec<OutcomeEvent>) -> Self {
        Self { events, lines: None, noun: "" }
    }

    /// A report from lines, each with its number.
    pub fn of_lines(lines: Vec<(usize, OutcomeEvent)>) -> Self {
        let (lines, events) = lines.into_iter().unzip();
        Self { events, lines: Some(lines), noun: "line" }
    }

    /// A report from a CSV; rows are counted from 1 behind the header.
    pub fn of_csv(bytes: &[u8], rows_max: usize) -> Result<Self, ApiError> {
        let cells = read_csv(bytes, rows_max).map_err(|fault| match fault {
            OutcomeFileFault::TooMany(_) | OutcomeFileFault::NoHeader => ApiError::invalid_request(fault.to_string()),
            OutcomeFileFault::File(fault) => ApiError::invalid_request(format!("the body is not CSV: {fault}")),
        })?;
        let mut events = Vec::with_capacity(cells.len());
        for (index, cells) in cells.into_iter().enumerate() {
            let event = OutcomeEvent::of_cells(cells)
                .map_err(|(field, what)| ApiError::invalid_request(format!("row {}: {field}: {what}", index + 1)))?;
            events.push(event);
        }
        let lines = (1..=events.len()).collect();
        Ok(Self { events, lines: Some(lines), noun: "row" })
    }

    /// Splits a report into reports of a size that the act accepts.
    pub fn chunks(self) -> impl Iterator<Item = Self> {
        let mut left = self.events.into_iter().enumerate().peekable();
        let (lines, noun) = (self.lines, self.noun);
        std::iter::from_fn(move || {
            left.peek()?;
            let (indexes, events): (Vec<_>, Vec<_>) = left.by_ref().take(OUTCOMES_MAX).unzip();
            let lines = lines.as_ref().map(|lines| indexes.iter().map(|index| lines[*index]).collect());
            Some(Self { events, lines, noun })
        })
    }

    /// Returns the error about a field of an event.
    fn blame(&self, index: usize, field: &str, what: impl std::fmt::Display) -> ApiError {
        match &self.lines {
            None => ApiError::invalid(&format!("outcomes[{index}].{field}"), what),
            Some(lines) => ApiError::invalid_request(format!("{} {}: {field}: {what}", self.noun, lines[index])),
        }
    }

    fn check(&self, now: Millis) -> Result<(), ApiError> {
        if !(1..=OUTCOMES_MAX).contains(&self.events.len()) {
            return Err(ApiError::invalid("outcomes", format_args!("must have 1 to {OUTCOMES_MAX} events")));
        }
        for (index, event) in self.events.iter().enumerate() {
            if event.email.len() > ADDRESS_MAX_BYTES {
                return Err(self.blame(index, "email", format_args!("may have at most {ADDRESS_MAX_BYTES} bytes")));
            }
            if event.reply.as_ref().is_some_and(|reply| reply.len() > REPLY_MAX_BYTES) {
                return Err(self.blame(index, "reply", format_args!("may have at most {REPLY_MAX_BYTES} bytes")));
            }
            if event.at.is_some_and(|at| at.0.since(now) > AHEAD_MAX_MS) {
                return Err(self.blame(index, "at", "must not be more than a day in the future"));
            }
        }
        Ok(())
    }
}

/// Stores outcomes of mail, and puts addresses with new hard bounces and complaints on the suppression lists.
pub async fn report_outcomes(
    app: &App,
    caller: &Caller,
    once: &Once,
    report: OutcomeReport,
) -> Result<OutcomesReported, ApiError> {
    let now = app.now();
    report.check(now)?;
    let mut taken = TakenOutcomes::default();
    let mut softened = 0;
    for event in &report.events {
        let class = class_of(event);
        softened += i64::from(class != event.outcome);
        let at = event.at.map_or(now, |at| at.0);
        taken.take((&app.secrets, caller.org()), &event.email, (class, at), now);
    }
    let source = match caller {
        Caller::Staff { .. } => OutcomeSource::Import,
        Caller::Key(_) | Caller::Person { .. } => OutcomeSource::Api,
    };
    let recorder =
        OutcomeRecorder { org: caller.org(), test: caller.is_test(), source, actor: caller.actor(), at: now };
    let stored = app.store.write(work!(|tx| {
        let new = recorder.record(tx, &taken).await?;
        let shown = OutcomesReported {
            submitted: taken.submitted,
            added: new.added,
            repeated: taken.submitted - taken.invalid - taken.expired - new.added,
            invalid: taken.invalid,
            expired: taken.expired,
            softened,
            suppressed: SuppressedByOutcomes { bounced: new.bounced, complained: new.complained },
        };
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(shown)
    }));
    Ok(stored.await?)
}

/// Returns the class of an event: a hard bounce only if a known reply, where given, confirms it.
fn class_of(event: &OutcomeEvent) -> OutcomeClass {
    let reply = event.reply.as_deref().filter(|reply| !reply.trim().is_empty());
    let (OutcomeClass::HardBounce, Some(text)) = (event.outcome, reply) else { return event.outcome };
    let bounce = BounceText { text, status: None, recipient: bare_address(&event.email) };
    let reading = bounce::read(Rules::embedded(), &bounce);
    let is_kept = reading.is_hard || reading.meaning == Meaning::Unmatched;
    if is_kept { OutcomeClass::HardBounce } else { OutcomeClass::SoftBounce }
}
