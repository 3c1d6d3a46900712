//! The shell around the core.
pub mod clock;
pub mod descriptors;
pub mod egress;
pub mod net;
pub mod tls;
