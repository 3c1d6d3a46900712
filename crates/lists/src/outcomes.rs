//! Reads outcomes of mail from CSV: a header that names the columns, then one event per row.
//!
//! Cells are texts here; the caller, who has a clock, interprets them. Rows are numbered from 1 after the header.

pub mod events;
mod ses_events;

use probity_account::outcome::OutcomeClass;
use probity_mail::time::Millis;

use crate::FileFault;
use crate::column::Sample;
use crate::rows::{TextHint, TextRows};

/// One event, as texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OutcomeCells {
    pub email: String,
    pub outcome: String,
    /// Time; empty if the file has none.
    pub at: String,
    /// Reply or bounce text; empty if the file has none.
    pub reply: String,
}

/// Reason why a CSV has no outcomes.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeFileFault {
    /// The first row does not name the columns.
    #[error("the first row must name the columns `email` and `outcome`; `at` and `reply` are optional")]
    NoHeader,
    /// More events than allowed at once.
    #[error("at most {0} outcomes may be reported at once")]
    TooMany(usize),
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// Outcome of mail that was found. Without `Debug`, because it has an address.
#[derive(Clone, PartialEq, Eq)]
pub struct FoundOutcome {
    pub email: String,
    pub class: OutcomeClass,
    /// Time of the event, if it was written down.
    pub at: Option<Millis>,
}

/// Columns, counted from 0.
struct OutcomeColumns {
    email: usize,
    outcome: usize,
    at: Option<usize>,
    reply: Option<usize>,
}

impl OutcomeColumns {
    fn of(header: Vec<String>) -> Option<Self> {
        let named = |name: &str| header.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
        let (outcome, at, reply) = (named("outcome")?, named("at"), named("reply"));
        let exact = named("email");
        let email = exact.or_else(|| {
            let sample = Sample::of_rows(vec![header]);
            let named = sample.is_named().then(|| sample.column(None, false)).and_then(Result::ok);
            named.map(|(column, _)| column)
        })?;
        Some(Self { email, outcome, at, reply })
    }

    fn pick(&self, mut cells: Vec<String>) -> OutcomeCells {
        let mut take = |column: usize| cells.get_mut(column).map(std::mem::take).unwrap_or_default();
        let at = self.at.map(&mut take).unwrap_or_default();
        let reply = self.reply.map(&mut take).unwrap_or_default();
        OutcomeCells {
            email: take(self.email),
            outcome: take(self.outcome).trim().to_owned(),
            at: at.trim().to_owned(),
            reply,
        }
    }
}

/// Reads a CSV with at most `rows_max` events.
///
/// # Errors
/// [`OutcomeFileFault`]: it has no header, too many rows, or is no CSV.
pub fn read_csv(bytes: &[u8], rows_max: usize) -> Result<Vec<OutcomeCells>, OutcomeFileFault> {
    let mut rows = TextRows::open(bytes, TextHint::default())?;
    let header = rows.next_row()?.ok_or(FileFault::Empty)?;
    let columns = OutcomeColumns::of(header).ok_or(OutcomeFileFault::NoHeader)?;
    let mut events = Vec::new();
    while let Some(cells) = rows.next_row()? {
        if events.len() == rows_max {
            return Err(OutcomeFileFault::TooMany(rows_max));
        }
        events.push(columns.pick(cells));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<[String; 4]>, String> {
        let events = read_csv(text.as_bytes(), 2).map_err(|fault| fault.to_string())?;
        Ok(events.into_iter().map(|event| [event.email, event.outcome, event.at, event.reply]).collect())
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let expected = |at: &str, reply: &str| Ok(vec![["a@x.org", "opened", at, reply].map(str::to_owned)]);
        assert_eq!(read("email,outcome\na@x.org,opened\n"), expected("", ""));
        assert_eq!(
            read("n;Outcome;E-Mail;AT\n1; opened ;a@x.org;2026-01-01T00:00:00Z"),
            expected("2026-01-01T00:00:00Z", "")
        );
        assert_eq!(
            read("reply,outcome,email\n\"550 no, \"\"x\"\"\",opened,a@x.org\n\n"),
            expected("", "550 no, \"x\"")
        );
        assert_eq!(read("email,outcome,at\na@x.org,opened\n"), expected("", ""), "a short row");
    }

    #[test]
    fn what_has_no_outcomes_is_said() {
        let no_header = OutcomeFileFault::NoHeader.to_string();
        for text in ["a@x.org,opened\n", "email\na@x.org\n", "outcome,n\nopened,1\n", "a@x.org\nb@x.org\n"] {
            assert_eq!(read(text), Err(no_header.clone()), "{text}");
        }
        assert_eq!(read("email,outcome\na,b\nc,d\ne,f\n"), Err("at most 2 outcomes may be reported at once".into()));
        assert_eq!(read(""), Err(FileFault::Empty.to_string()));
        assert_eq!(read("email,outcome\n"), Ok(vec![]));
    }
}
