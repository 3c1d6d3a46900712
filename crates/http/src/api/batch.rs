//! `/v1/batch-verify`: jobs for lists of addresses.
//!
//! A job that is another organization's, that was made with the other sort of key, or whose id cannot be read is not found:
//! the three look alike.

pub(crate) mod cancel;
pub(crate) mod download;
pub(crate) mod results;
pub(crate) mod status;
pub(crate) mod submit;
