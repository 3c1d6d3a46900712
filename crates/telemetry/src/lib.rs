//! The log and the metrics of a running service.

pub mod log;
#[cfg(any(test, feature = "capture"))]
pub mod log_capture;
pub mod metrics;
