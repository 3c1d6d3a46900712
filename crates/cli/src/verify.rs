//! `probity verify`: verdicts for a few addresses, in the given order.

use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use futures_util::StreamExt;
use probity_backend::nodes::verifier::Verifier;
use probity_engine::LiveCall;
use probity_mail::address::trimmed;
use probity_mail::domain::names_sandbox;
use probity_mail::verdict::{Status, Verification};

use crate::engine::ReachArgs;
use crate::exit::Exit;
use crate::output::{self, Printer, Style};

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Addresses; `-` reads more from standard input, one per line
    #[arg(required = true, value_name = "ADDRESS", allow_hyphen_values = false)]
    pub addresses: Vec<String>,
    /// Write one JSON object per line; the default if the output is not a terminal
    #[arg(long)]
    pub json: bool,
    /// Show the evidence for each verdict
    #[arg(long)]
    pub explain: bool,
    /// Time limit per address in seconds, at most 60
    #[arg(long, value_name = "S", default_value = "20", value_parser = seconds)]
    pub timeout: f64,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Maximum time limit of a live verification, in seconds.
const TIMEOUT_MAX_S: f64 = 60.0;

impl VerifyArgs {
    pub(crate) fn timeout_ms(&self) -> u64 {
        let bounded = std::time::Duration::from_secs_f64(self.timeout.min(TIMEOUT_MAX_S));
        u64::try_from(bounded.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("must be a number of seconds above 0".into()),
    }
}

/// Concurrent verifications.
const CONCURRENT: usize = 64;
/// Maximum line of standard input, in bytes; a longer line is invalid.
const LINE_MAX: u64 = 64 * 1024;
/// Maximum addresses; longer lists belong to `batch`, which can continue after an interruption.
const ADDRESSES_MAX: usize = 100_000;
/// Time for idle sessions to close.
const CLOSE_MS: u64 = 2_000;

pub(crate) async fn run(args: &VerifyArgs, verifier: Arc<dyn Verifier>) -> Result<Exit> {
    let addresses = addresses(args)?;
    let live = LiveCall { timeout_ms: args.timeout_ms(), scope: 0 };
    let longest = addresses.iter().map(|address| address.chars().count()).max().unwrap_or_default();
    let room = (output::columns(), longest);
    let mut printer = Printer::new(std::io::stdout().lock(), Style::choose(args.json), args.explain, room);
    let mut tally = Tally::default();
    let asked = futures_util::stream::iter(addresses).map(|email| {
        let verifier = verifier.clone();
        async move { verifier.verify(&email, live).await }
    });
    let mut answered = asked.buffered(CONCURRENT);
    while let Some(verification) = answered.next().await {
        tally.add(&verification);
        match printer.print(&verification) {
            // The reader has closed the pipe (`| head`).
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => break,
            result => result.context("cannot write to standard output")?,
        }
    }
    drop(answered);
    if tally.sandboxed {
        crate::log::say("sandbox.test exists only in the sandbox: use `probity verify --sandbox`");
    }
    let counters = verifier.counters();
    let exit = match tally.nobody(counters.connections, counters.connect_failures) {
        Some(why) => {
            crate::log::say(why);
            Exit::NoNetwork
        }
        None => tally.exit(),
    };
    verifier.close(CLOSE_MS).await;
    Ok(exit)
}

/// Returns the addresses of the arguments, then those of standard input if `-` is among the arguments.
fn addresses(args: &VerifyArgs) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for address in &args.addresses {
        if address == "-" {
            read_lines(std::io::stdin().lock(), &mut all)?;
        } else {
            all.push(address.clone());
        }
    }
    if all.is_empty() {
        bail!("no addresses given");
    }
    Ok(all)
}

fn read_lines(mut from: impl BufRead, all: &mut Vec<String>) -> Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = std::io::Read::take(&mut from, LINE_MAX).read_until(b'\n', &mut line);
        if read.context("cannot read standard input")? == 0 {
            return Ok(());
        }
        if line.len() as u64 == LINE_MAX {
            bail!("line {} of standard input is longer than {LINE_MAX} bytes", all.len() + 1);
        }
        let text = String::from_utf8_lossy(&line);
        let text = trimmed(&text);
        if !text.is_empty() {
            if all.len() == ADDRESSES_MAX {
                bail!("verify accepts at most {ADDRESSES_MAX} addresses; use `probity batch -` for longer lists");
            }
            all.push(text.to_owned());
        }
    }
}

/// Counts of verdicts by kind.
#[derive(Debug, Default)]
struct Tally {
    all: usize,
    bad: usize,
    unknown: usize,
    /// Addresses whose domain could not be looked up.
    nameless: usize,
    /// A sandbox domain was used outside the sandbox.
    sandboxed: bool,
}

impl Tally {
    fn add(&mut self, verification: &Verification) {
        self.all += 1;
        self.sandboxed |= &*verification.verdict.rule == "syntax.special_use" && names_sandbox(&verification.email);
        let domain = verification.evidence.domain.as_ref();
        self.nameless += usize::from(domain.is_some_and(|domain| domain.exists.is_none()));
        match verification.verdict.status() {
            Status::Passed => {}
            Status::Undeliverable | Status::Risky => self.bad += 1,
            Status::Unknown => self.unknown += 1,
        }
    }

    /// Returns a hint if nothing at all could be reached.
    fn nobody(&self, connections: u64, connect_failures: u64) -> Option<&'static str> {
        if self.all == 0 || self.unknown < self.all || connections > 0 {
            None
        } else if connect_failures > 0 {
            Some("No mail server could be reached. Port 25 is probably closed: run `probity doctor`.")
        } else if self.nameless == self.all {
            Some("No name could be looked up. Check the network and the resolvers in [dns], or run `probity doctor`.")
        } else {
            None
        }
    }

    fn exit(&self) -> Exit {
        match (self.bad, self.unknown) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Unknown,
            _ => Exit::NotPassed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bad_counts_more_than_what_is_unknown() {
        let exit = |bad, unknown| Tally { all: 9, bad, unknown, nameless: 0, sandboxed: false }.exit();
        assert_eq!(exit(0, 0), Exit::Done);
        assert_eq!(exit(1, 1), Exit::NotPassed);
        assert_eq!(exit(0, 1), Exit::Unknown);
    }

    #[test]
    fn only_where_nobody_could_be_asked_it_is_said() {
        let nobody = |unknown, nameless, connections, failures| {
            Tally { all: 2, bad: 0, unknown, nameless, sandboxed: false }
                .nobody(connections, failures)
                .map(|why| why.contains("name"))
        };
        assert_eq!(nobody(2, 2, 0, 0), Some(true));
        assert_eq!(nobody(2, 1, 0, 0), None);
        assert_eq!(nobody(2, 1, 0, 1), Some(false));
        assert_eq!(nobody(2, 0, 1, 1), None);
        assert_eq!(nobody(1, 0, 0, 1), None);
    }

    #[test]
    fn lines_are_bounded_and_trimmed() {
        let mut all = Vec::new();
        read_lines(&b" a@x.org \r\n\nb@x.org"[..], &mut all).unwrap();
        assert_eq!(all, ["a@x.org", "b@x.org"]);
        let long = vec![b'a'; 1 << 20];
        assert!(read_lines(&long[..], &mut all).unwrap_err().to_string().contains("line 3"));
        let many = "a@x.org\n".repeat(ADDRESSES_MAX + 1);
        assert!(read_lines(many.as_bytes(), &mut Vec::new()).unwrap_err().to_string().contains("batch"));
    }
}
