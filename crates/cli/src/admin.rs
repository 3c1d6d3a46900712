//! Administration from the command line: organizations with their plans, keys, credits and users, and what an organization does
//! itself in the dashboard: lists, settings, reports, connections to newsletter platforms.
//!
//! A command calls an act of the service as the operator, and prints the answer: a table on a terminal, otherwise one JSON object
//! per line, as the API shows it. Each module has the commands of one subject, in a `match` of arguments, act and view, and the
//! columns of its tables. IDs are text here; the acts check whether they exist.

mod credits;
mod deliveries;
mod erasures;
mod flags;
mod installation;
mod integrations;
mod keys;
mod lists;
mod operator;
mod orgs;
mod reports;
mod settings;
mod suppressions;
mod users;
mod webhooks;

use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::args::AdminCommand;
use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::output::printout::Printout;
use crate::{log, service};

pub(crate) use operator::LocalOperator;

/// Runs a command and prints its answer.
///
/// A refusal of a field names the argument that sets it; `arguments` are those of [`crate::args::Cli`].
pub(crate) async fn run(command: &AdminCommand, arguments: &[(String, String)], settings: &Settings) -> Result<Exit> {
    let answer = service::administer(settings, command).await;
    let answer = answer.map_err(|error| flags::name_flag(command, arguments, operator::explain(error)))?;
    let text = answer.render(Style::choose(command.options().json))?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")?;
    if let Some(note) = answer.note() {
        log::say(note);
    }
    Ok(answer.exit())
}

/// Calls the act of a command.
pub(crate) async fn call_act(operator: &LocalOperator<'_>, command: &AdminCommand) -> Result<Printout> {
    match command {
        AdminCommand::Orgs(args) => orgs::run(operator, &args.command).await,
        AdminCommand::Plans(_) => installation::show_plans(operator),
        AdminCommand::Keys(args) => keys::run(operator, &args.command).await,
        AdminCommand::Credits(args) => credits::run(operator, &args.command).await,
        AdminCommand::Audit(_) => installation::audit(operator).await,
        AdminCommand::Deliveries(args) => deliveries::run(operator, &args.command).await,
        AdminCommand::Erasures(args) => erasures::run(operator, &args.command).await,
        AdminCommand::Webhooks(args) => webhooks::run(operator, &args.command).await,
        AdminCommand::Integrations(args) => integrations::run(operator, &args.command).await,
        AdminCommand::Suppressions(args) => suppressions::run(operator, &args.command).await,
        AdminCommand::Outcomes(args) => suppressions::outcomes::run(operator, &args.command).await,
        AdminCommand::Lists(args) => lists::run(operator, &args.command).await,
        AdminCommand::Settings(args) => settings::run(operator, &args.command).await,
        AdminCommand::Usage(args) => reports::usage(operator, &args.command).await,
        AdminCommand::Timeline(args) => reports::timeline(operator, args).await,
        AdminCommand::Nodes(_) => installation::show_nodes(operator).await,
        AdminCommand::Users(args) => users::run(operator, &args.command).await,
    }
}

/// Reports whether a command forecasts, which needs an engine with this machine's configuration.
pub(crate) fn needs_engine(command: &AdminCommand) -> bool {
    matches!(command, AdminCommand::Lists(args) if lists::forecasts(&args.command))
}

#[cfg(test)]
mod tests {
    //! Arguments to what acts are asked, and answers to text.

    mod parsing;
    mod shown;

    const ORG: &str = "org_01h455vb4pex5vsknk084sn02q";
}
