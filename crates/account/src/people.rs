//! Members of an organization: their permissions and languages.

pub mod language;
pub mod role;
