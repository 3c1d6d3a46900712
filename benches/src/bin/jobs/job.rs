//! Jobs as seen by a client.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use probity_benches::client::{Connection, get, post};
use probity_benches::program::Program;
use serde_json::Value;

/// Poll interval while a job runs.
const LOOK: Duration = Duration::from_millis(10);
/// Time limit of a job.
const PATIENCE: Duration = Duration::from_mins(15);

/// A service and its organization's key.
pub(crate) struct Service {
    pub(crate) program: Program,
    pub(crate) key: String,
}

impl Service {
    /// Starts a service over an empty database, then restarts it, as installations do.
    pub(crate) async fn first(command: impl Fn() -> anyhow::Result<Command>) -> anyhow::Result<Self> {
        let program = Program::start(&mut command()?).await?;
        let key = program.live_key().context("a new installation prints its live key")?.to_owned();
        program.stop().await?;
        Ok(Self { program: Program::start(&mut command()?).await?, key })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.program.address
    }

    /// Submits a list from its own thread. Returns the job's ID and the time until the response.
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub(crate) async fn submit(&self, body: Vec<u8>) -> anyhow::Result<(String, Duration)> {
        let (to, request) = (self.address(), post("/v1/batch-verify", &self.key, &body));
        drop(body);
        let submitted = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut connection = Connection::open(to).await?;
                let began = Instant::now();
                let answer = connection.json(&request).await?;
                anyhow::Ok((answer, began.elapsed()))
            })
        });
        let (answer, took) = submitted.await??;
        Ok((answer["id"].as_str().context("a job's id")?.to_owned(), took))
    }

    pub(crate) async fn status(&self, id: &str) -> anyhow::Result<Value> {
        let request = get(&format!("/v1/batch-verify/{id}/status"), Some(&self.key));
        Connection::open(self.address()).await?.json(&request).await
    }

    /// Waits until a job is completed, checks that every row has a verdict, and returns the time.
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub(crate) async fn completed(&self, id: &str, rows: u64) -> anyhow::Result<Instant> {
        let began = Instant::now();
        let mut connection = Connection::open(self.address()).await?;
        let request = get(&format!("/v1/batch-verify/{id}/status"), Some(&self.key));
        loop {
            let status = connection.json(&request).await?;
            match status["status"].as_str() {
                Some("completed") => {
                    ensure!(status["emailsProcessed"].as_u64() == Some(rows), "rows are missing: {status}");
                    return Ok(Instant::now());
                }
                Some("starting" | "processing") => {}
                _ => bail!("a job ended as {status}"),
            }
            ensure!(began.elapsed() < PATIENCE, "a job does not end: {status}");
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(crate) async fn cancel(&self, id: &str) -> anyhow::Result<()> {
        let request = post(&format!("/v1/batch-verify/{id}/cancel"), &self.key, b"{}");
        let answer = Connection::open(self.address()).await?.json(&request).await?;
        ensure!(answer["status"] == "success", "a job was not cancelled: {answer}");
        Ok(())
    }
}
