//! People of an organization: what they may do, and the language in which they are written to.

pub mod language;
pub mod role;
