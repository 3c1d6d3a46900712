//! Batch jobs as callers see them. The workers are in [`probity_backend::jobs`].

pub mod acts;
pub mod keeping;
pub mod mailing;
pub mod staged;
pub mod submit;
