//! Newsletter platforms as data, and state machines that read and change their contacts.
//!
//! A platform is a TOML file ([`ConnectorFile`]) that describes its URL, pages, errors and actions. The machines
//! [`Authorizing`], [`Testing`], [`Reading`], [`Acting`] and [`Registering`] turn a file into requests and process the responses.
//! They have no sockets, no clock and no entropy, so the same code runs against a platform, a test server, and a table of expected
//! requests.
//!
//! Credentials appear only in requests: never in `Debug` output, an error or a stored position.

mod acting;
mod answer;
mod authorizing;
mod catalog;
mod date;
mod file;
mod hook;
mod reading;
mod request;
mod source;
mod template;
mod testing;

pub use acting::{ActStep, Acting, ActionOrder, ActionOutcome, ActionTarget, Settled, VerdictFacts};
pub use answer::{Fault, retry_after_ms};
pub use authorizing::{Authorizing, PlatformTokenGrant};
pub use catalog::Catalog;
pub use date::DateForm;
pub use file::*;
pub use hook::{
    HookEndpoint, HookHint, HookRegistration, HookStep, ProofFault, Registering, hints, look, prove, removal,
};
pub use reading::{
    ContactRecord, ContactsGoal, ListRecord, ReadGoal, ReadPage, ReadPosition, ReadSince, ReadStep, Reading,
};
pub use request::{CredentialFault, Credentials, HostAllowance, Method, Request, Response};
pub use source::Source;
pub use template::{Filter, JsonTemplate, Part, Placeholder, PlaceholderFamily, Template};
pub use testing::{CredentialAge, TestOutcome, Testing};
