//! The shell around the core.
pub mod net;
