//! `probity doctor`: checks whether this machine can verify addresses, and says what to fix.
//!
//! Each check says what was found and, if that is not good, what to do. After a failed check, most verdicts will be `unknown`; a
//! warning affects some of them. Only the engine's [`Net`] is used, so that the same checks run in the simulated mail internet. A
//! running service repeats them every hour and shows the findings in the dashboard.

mod block_list;
mod identity;
mod machine;
mod port;
mod resolver;
mod sender;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result};
use probity_engine::net::{BoxFuture, Net};
use probity_mail::dns::{Answer, Kind, MailRoute, Record, mail_route};
use probity_mail::domain::SpecialUse;
use probity_service::egress::{Check, Checkup, Outcome};

use crate::args::DoctorArgs;
use crate::config::Settings;
use crate::exit::Exit;
use crate::{net, sandbox};

/// Inputs of the checks.
pub(crate) struct Patient {
    pub settings: Settings,
    pub net: Arc<dyn Net>,
    /// Each resolver separately, by name.
    pub resolvers: Vec<(String, Arc<dyn Net>)>,
}

impl Patient {
    /// Prepares checks of this machine, or of the simulated internet.
    pub(crate) fn of(settings: &Settings, simulated: bool) -> Result<Self> {
        if simulated {
            let net = sandbox::net();
            let resolvers = vec![("of the sandbox".to_owned(), net.clone())];
            return Ok(Self { settings: sandbox::settings(settings), net, resolvers });
        }
        let net = net::real(settings)?;
        let mut resolvers = Vec::new();
        for server in &settings.nameservers {
            resolvers.push((server.to_string(), net::over(settings, vec![*server])?));
        }
        if resolvers.is_empty() {
            resolvers.push(("of this system".to_owned(), net.clone()));
        }
        Ok(Self { settings: settings.clone(), net, resolvers })
    }

    async fn all(&self) -> Vec<Check> {
        let mut checks = machine::checks(&self.settings);
        checks.extend(resolver::checks(self).await);
        checks.extend(port::checks(self).await);
        checks.extend(identity::checks(self).await);
        checks.extend(sender::checks(self).await);
        checks.extend(block_list::checks(self).await);
        checks
    }

    /// Resolves a name in both address families; `None` if a look-up failed.
    async fn addresses(&self, name: &str) -> Option<Vec<std::net::IpAddr>> {
        let (four, six) = tokio::join!(self.net.lookup(name, Kind::A), self.net.lookup(name, Kind::Aaaa));
        let mut addresses = Vec::new();
        let mut failed = false;
        for answer in [four.answer, six.answer] {
            match answer {
                Answer::Records(records) => addresses.extend(records.iter().filter_map(|record| match record {
                    Record::Address(address) => Some(*address),
                    _ => None,
                })),
                Answer::Failed(_) => failed = true,
                Answer::Empty | Answer::NoName => {}
            }
        }
        (!addresses.is_empty() || !failed).then_some(addresses)
    }

    /// Returns a domain's mail route, as the engine reads it.
    async fn route(&self, domain: &str) -> MailRoute {
        let special = SpecialUse::allow(&self.settings.engine.special_use_allowed);
        mail_route(&self.net.lookup(domain, Kind::Mx).await.answer, |host| !special.refuses(host))
    }
}

/// A running service repeats the checks.
impl Checkup for Patient {
    fn checks(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(self.all())
    }
}

/// Runs all checks and prints them.
pub(crate) async fn run(args: &DoctorArgs, patient: &Patient) -> Result<Exit> {
    let checks = patient.all().await;
    let worst = checks.iter().map(|check| check.outcome).max().unwrap_or(Outcome::Ok);
    print(&checks, worst, args.json).context("cannot write to standard output")?;
    Ok(if worst == Outcome::Fail { Exit::NotPassed } else { Exit::Done })
}

fn print(checks: &[Check], worst: Outcome, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let report = serde_json::json!({ "ok": worst != Outcome::Fail, "checks": checks });
        return writeln!(out, "{report}");
    }
    let colours = std::io::IsTerminal::is_terminal(&out) && crate::output::colours_wanted();
    for check in checks {
        let (word, colour) = match check.outcome {
            Outcome::Ok => ("ok  ", "32"),
            Outcome::Warn => ("warn", "33"),
            Outcome::Fail => ("FAIL", "31"),
        };
        let word = if colours { format!("\x1b[{colour}m{word}\x1b[0m") } else { word.to_owned() };
        writeln!(out, "{word}  {}: {}", check.name, crate::output::plain(&check.found))?;
        if !check.advice.is_empty() {
            writeln!(out, "      -> {}", crate::output::plain(&check.advice))?;
        }
    }
    Ok(())
}
