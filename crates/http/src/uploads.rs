//! Lists as files over HTTP: put up, looked at, forecast, and made into a job. Their rows are read and counted in
//! [`probity_service::uploads`].

mod receive;
pub(crate) mod routes;
mod start;
