//! The program under test: start, figures from `/proc`, stop.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{client, process};

/// Maximum time until a service is ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that is ready. Dropping it kills the process.
pub struct Program {
    child: Child,
    said: Vec<String>,
    pub address: SocketAddr,
    /// Time from the start to the first good response of `/readyz`.
    pub ready_after: Duration,
}

impl Program {
    /// Starts the program and waits until it is ready.
    ///
    /// # Errors
    /// If the program exits or does not become ready.
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub async fn start(command: &mut Command) -> anyhow::Result<Self> {
        let began = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines.next().context("the service ended at its start")??;
            if let Some(listening) = line.strip_prefix("Listening on http://") {
                break listening.split([' ', ',']).next().unwrap_or_default().parse()?;
            }
            said.push(line);
        };
        let mut program = Self { child, said, address, ready_after: Duration::ZERO };
        while !client::is_ready(address).await {
            ensure!(began.elapsed() < PATIENCE, "the service does not become ready");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        program.ready_after = began.elapsed();
        Ok(program)
    }

    /// Live key, printed by the first start only.
    pub fn live_key(&self) -> Option<&str> {
        self.said.iter().find_map(|line| line.strip_prefix("Live key:")).map(str::trim)
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn cpu(&self) -> anyhow::Result<Duration> {
        process::cpu(self.child.id())
    }

    pub fn resident_mib(&self) -> anyhow::Result<f64> {
        process::resident_mib(self.child.id())
    }

    /// Asks the program to shut down and waits until it has.
    ///
    /// # Errors
    /// If the program exits with a failure.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        ensure!(status.success(), "the service ended with {status}");
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
