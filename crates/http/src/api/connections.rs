//! `/v1/integrations` and `/v1/changes`.

pub(crate) mod changes;
pub(crate) mod connection;
pub(crate) mod hook;
pub(crate) mod integrations;
pub(crate) mod place;
pub(crate) mod review;
pub(crate) mod rules;
pub(crate) mod runs;
