//! The program under test: started, watched through `/proc`, stopped.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::load;

/// Clock ticks a second in `/proc/PID/stat` on Linux.
const TICKS: f64 = 100.0;
/// How long a service may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that is ready.
pub(crate) struct Program {
    child: Child,
    said: Vec<String>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// From its start to the first good answer of `/readyz`.
    pub(crate) ready_after: Duration,
}

impl Program {
    /// Starts it and waits until it is ready.
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub(crate) async fn start(command: &mut Command) -> anyhow::Result<Self> {
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
        while !load::is_ready(address).await {
            ensure!(began.elapsed() < PATIENCE, "the service does not become ready");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Self { child, said, address, ready_after: began.elapsed() })
    }

    /// The live key, which only the first start says.
    pub(crate) fn live_key(&self) -> Option<&str> {
        self.said.iter().find_map(|line| line.strip_prefix("Live key:")).map(str::trim)
    }

    /// The time on processors so far (proc(5)).
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The command's name may hold blanks; it ends with the last parenthesis.
        let fields: Vec<&str> = stat.rsplit_once(") ").context("a command's name")?.1.split(' ').collect();
        let ticks = |n: usize| fields.get(n).context("a field")?.parse::<f64>().context("a number");
        Ok(Duration::from_secs_f64((ticks(11)? + ticks(12)?) / TICKS))
    }

    /// What it holds in memory now.
    pub(crate) fn resident_mib(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a size")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1_024.0)
    }

    /// Asks it to end and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM)?;
        let status = tokio::task::spawn_blocking(move || self.child.wait()).await??;
        ensure!(status.success(), "the service ended with {status}");
        Ok(())
    }
}
