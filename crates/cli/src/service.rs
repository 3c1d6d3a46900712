//! The seam between the commands and the service in `probity-server`: starting it, and asking about its data.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use probity_engine::net::BoxFuture;
use secrecy::SecretString;

use crate::admin::{Answer, Request};
use crate::config::Settings;

/// A service that listens.
pub(crate) struct Running {
    /// Where, with the ports that the system chose.
    pub listening: Vec<SocketAddr>,
    /// The keys, where this was the first start.
    pub first: Option<FirstKeys>,
    /// Ends when the service has ended, after a signal or by a failure.
    pub ended: BoxFuture<'static, Result<()>>,
}

/// The keys of the first start. They are nowhere else.
pub(crate) struct FirstKeys {
    /// Asks real servers.
    pub live: SecretString,
    /// Asks the sandbox.
    pub test: SecretString,
}

/// Starts the service; `sandbox` answers live keys from the simulated internet too.
#[expect(clippy::unused_async, reason = "it opens a database and sockets")]
pub(crate) async fn start(_settings: &Settings, _sandbox: bool) -> Result<Running> {
    bail!("the service is not part of this build")
}

/// Brings the database up to date.
#[expect(clippy::unused_async, reason = "it opens a database")]
pub(crate) async fn migrate(_settings: &Settings) -> Result<()> {
    bail!("the service is not part of this build")
}

/// Answers one request about the data.
#[expect(clippy::unused_async, reason = "it opens a database")]
pub(crate) async fn ask(_settings: &Settings, _request: Request) -> Result<Answer> {
    bail!("the service is not part of this build")
}
