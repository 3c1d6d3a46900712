//! Connections to email platforms: which verdicts lead to an action, and which contacts a customer's rules name.
//!
//! A verdict leads to an action if its reason passes a gate ([`GateSet`]), on any platform. Rules come first ([`RuleSet`]): a
//! whitelisted contact is never touched. The [`brake()`] may hold a run with unconfirmed actions.

mod brake;
mod contact_action;
mod gates;
mod rules;
mod schedule;
mod settings;
mod standing;
mod token;

pub use brake::{
    BrakeCount, BrakeReason, RunFacts, UNCONFIRMED_CONTACTS, UNCONFIRMED_CONTACTS_MAX, UNCONFIRMED_PERCENT,
    UnaskedRuns, UnconfirmedLimit, brake, together_ms,
};
pub use contact_action::{ContactAction, RunCause};
pub use gates::{Aggressiveness, GateSet};
pub use rules::{KEYWORD_CHARS_MAX, KeywordFault, KeywordMatch, KeywordParts, KeywordRule, RuleKind, RuleSet};
pub use schedule::{AccountZone, DECAY_DAYS, DECAY_DAYS_MAX, DECAY_DAYS_MIN, DecayShare};
pub use settings::{ConnectionAction, ConnectionSettings, TAG_CHARS_MAX, TagFault, tag_text};
pub use standing::{ContactStanding, JudgedContact};
pub use token::{StoredToken, TokenTurn};
