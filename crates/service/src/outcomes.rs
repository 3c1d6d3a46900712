//! Outcomes of mail that an organization sent: reported by its own systems ([`report`]), and by its sending services ([`sources`]).

pub mod report;
mod ses;
pub mod sources;
