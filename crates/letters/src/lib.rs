//! What Probity writes to people, in their language: mail, the page that ends it, and the headings of files.
//!
//! Data in, texts out: nothing here reads a database, a clock or the network. Each text stands in English, German, French and
//! Spanish side by side, with the words of the dashboard (`web/messages`). Names of customers are values, never part of a text:
//! they cannot add a line, and in HTML they are escaped.

#![warn(missing_docs)]

mod form;
mod links;
mod list;
mod notices;
mod period;
mod phrase;
mod run;
pub mod sheet;
mod unsubscribe;
mod words;
mod written;

pub use form::Letter;
pub use links::LinkLetter;
pub use list::ListLetter;
pub use notices::{CreditLetter, LossLetter, LostConnection};
pub use period::{PeriodLetter, WaitingLine};
pub use run::{RunLetter, RunWait};
pub use unsubscribe::UnsubscribeTexts;

/// Links at the end of mail that its reader can switch off.
#[derive(Clone, Copy, Debug)]
pub struct ReportLinks<'a> {
    /// Address of the dashboard, without a slash at the end.
    pub dashboard: &'a str,
    /// Address that ends this kind of mail.
    pub unsubscribe: &'a str,
}
