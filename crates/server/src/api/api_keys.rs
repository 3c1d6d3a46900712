//! `/v1/api-keys`: the keys of an organization.

pub mod view;
