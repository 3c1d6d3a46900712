//! `probity doctor`: checks whether this machine can verify addresses, and says what to fix.
//!
//! Each check says what was found and, if that is not good, what to do. After a failed check, most verdicts will be `unknown`; a
//! warning affects some of them. Only the engine's [`Net`] is used, so that the same checks run in the simulated mail internet. A
//! running service repeats them every hour and shows the findings in the dashboard.

mod before;
mod block_list;
mod identity;
mod machine;
mod port;
mod resolver;
mod sender;

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use probity_backend::nodes::egress::{Check, CheckOutcome, Checkup};
use probity_engine::net::{BoxFuture, Net};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsRecord, MailRoute, QueryKind, mail_route};
use probity_mail::domain::SpecialUse;

pub(crate) use self::before::require_reach;

use crate::config::{SYSTEM_FILE, Settings};
use crate::exit::Exit;
use crate::{engine, output, sandbox};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Write one JSON object
    #[arg(long)]
    pub json: bool,
    /// Check the sandbox instead of the real internet
    #[arg(long)]
    pub sandbox: bool,
}

/// Advice after a failed lookup that may succeed the next time.
const AGAIN: &str = "run the check again in a few minutes; if it fails again, see what the resolver check found";

/// Lines that say which address mail servers see; the address is one for documentation.
const PUBLIC: &str = "[[source]]\npublic = \"203.0.113.7\"";

/// Lines that name a resolver on this machine.
const NAMESERVERS: &str = "[dns]\nnameservers = [\"127.0.0.1\"]";

/// Returns a setting as lines of the configuration file.
fn line(section: &str, key: &str, value: &str) -> String {
    format!("{section}\n{key} = {value}")
}

/// Formats the reason why a lookup failed.
fn failed_lookup(how: DnsFailure) -> &'static str {
    match how {
        DnsFailure::TimedOut => "no response in time",
        DnsFailure::ServFail => "the resolver reports an error (SERVFAIL)",
        DnsFailure::Refused => "the resolver refuses to look up the name",
        DnsFailure::Malformed => "the response cannot be read",
        DnsFailure::Overload => "too many lookups at once",
    }
}

/// Inputs of the checks.
pub(crate) struct DoctorInputs {
    pub settings: Settings,
    pub net: Arc<dyn Net>,
    /// Each resolver separately, by name.
    pub resolvers: Vec<(String, Arc<dyn Net>)>,
}

impl DoctorInputs {
    /// Prepares checks of this machine, or of the simulated internet.
    pub(crate) fn of(settings: &Settings, simulated: bool) -> Result<Self> {
        if simulated {
            let net: Arc<dyn Net> = probity_mailworld::sandbox::net();
            let resolvers = vec![("of the sandbox".to_owned(), net.clone())];
            return Ok(Self { settings: sandbox::settings(settings), net, resolvers });
        }
        let net = engine::real_net(settings)?;
        Self::over(settings, net)
    }

    /// Prepares checks of this machine over its network.
    pub(crate) fn over(settings: &Settings, net: Arc<dyn Net>) -> Result<Self> {
        let mut resolvers = Vec::new();
        for server in settings.sections.dns.nameservers.iter().map(|server| server.0) {
            resolvers.push((server.to_string(), engine::net_over(settings, vec![server])?));
        }
        if resolvers.is_empty() {
            resolvers.push(("of this system".to_owned(), net.clone()));
        }
        Ok(Self { settings: settings.clone(), net, resolvers })
    }

    async fn all(&self) -> Vec<Check> {
        let mut checks = machine::checks(&self.settings);
        checks.extend(self.essential().await);
        checks.extend(sender::checks(self).await);
        checks.extend(block_list::checks(self).await);
        checks
    }

    /// Runs the checks that decide whether mail servers can be probed.
    async fn essential(&self) -> Vec<Check> {
        let (resolvers, ports, identity) =
            tokio::join!(resolver::checks(self), port::checks(self), identity::checks(self));
        [resolvers, ports, identity].concat()
    }

    /// Resolves a name in both address families; `None` if a look-up failed.
    async fn addresses(&self, name: &str) -> Option<Vec<std::net::IpAddr>> {
        let (four, six) = tokio::join!(self.net.lookup(name, QueryKind::A), self.net.lookup(name, QueryKind::Aaaa));
        let mut addresses = Vec::new();
        let mut failed = false;
        for answer in [four.answer, six.answer] {
            match answer {
                DnsAnswer::Records(records) => addresses.extend(records.iter().filter_map(|record| match record {
                    DnsRecord::Address(address) => Some(*address),
                    _ => None,
                })),
                DnsAnswer::Failed(_) => failed = true,
                DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget => {}
            }
        }
        (!addresses.is_empty() || !failed).then_some(addresses)
    }

    /// Returns a domain's mail route, as the engine reads it.
    async fn route(&self, domain: &str) -> MailRoute {
        let special = SpecialUse::allow(&self.settings.engine.special_use_allowed);
        mail_route(&self.net.lookup(domain, QueryKind::Mx).await.answer, |host| !special.refuses(host))
    }
}

/// A running service repeats the checks.
impl Checkup for DoctorInputs {
    fn config_file(&self) -> &Path {
        self.settings.file.as_deref().unwrap_or_else(|| Path::new(SYSTEM_FILE))
    }

    fn checks(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(self.all())
    }

    fn essentials(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(self.essential())
    }
}

/// Runs all checks and prints them.
pub(crate) async fn run(args: &DoctorArgs, patient: &DoctorInputs) -> Result<Exit> {
    let checks = patient.all().await;
    let worst = checks.iter().map(|check| check.outcome).max().unwrap_or(CheckOutcome::Ok);
    output::print(&report(&checks, worst, args.json))?;
    Ok(if worst == CheckOutcome::Fail { Exit::NotPassed } else { Exit::Done })
}

fn report(checks: &[Check], worst: CheckOutcome, json: bool) -> String {
    if json {
        return format!("{}\n", serde_json::json!({ "ok": worst != CheckOutcome::Fail, "checks": checks }));
    }
    let mut out = String::new();
    let colours = std::io::stdout().is_terminal() && output::colours_wanted();
    for check in checks {
        let (word, colour) = match check.outcome {
            CheckOutcome::Ok => ("ok  ", "32"),
            CheckOutcome::Warn => ("warn", "33"),
            CheckOutcome::Fail => ("FAIL", "31"),
        };
        let word = if colours { format!("\x1b[{colour}m{word}\x1b[0m") } else { word.to_owned() };
        let _ = writeln!(out, "{word}  {}: {}", check.name, output::plain(&check.found));
        if !check.advice.is_empty() {
            let _ = writeln!(out, "      -> {}", output::plain(&check.advice));
        }
        for line in check.config.lines() {
            let _ = writeln!(out, "         {}", output::plain(line));
        }
    }
    out
}
