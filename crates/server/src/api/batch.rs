//! `/v1/batch-verify`: jobs for lists of addresses.

pub(crate) mod submit;
