//! Arguments of the administration commands, one module per command. This module has the options that all of them share.

mod audit;
mod credits;
mod deliveries;
mod erasures;
mod keys;
mod lists;
mod nodes;
mod orgs;
mod reports;
mod settings;
mod suppressions;
mod users;
mod webhooks;

use clap::Args;
use probity_account::name::NameFault;

pub(in crate::args) use audit::AUDIT_EXAMPLES;
pub(crate) use audit::AuditArgs;
pub(in crate::args) use credits::CREDITS_EXAMPLES;
pub(crate) use credits::{CreditsArgs, CreditsCommand};
pub(in crate::args) use deliveries::DELIVERIES_EXAMPLES;
pub(crate) use deliveries::{DeliveriesArgs, DeliveriesCommand};
pub(in crate::args) use erasures::ERASURES_EXAMPLES;
pub(crate) use erasures::{ErasuresArgs, ErasuresCommand};
pub(in crate::args) use keys::KEYS_EXAMPLES;
pub(crate) use keys::{KeysArgs, KeysCommand, NewKeyArgs};
pub(in crate::args) use lists::LISTS_EXAMPLES;
pub(crate) use lists::{DownloadArgs, ListsArgs, ListsCommand, NewListArgs, ResultsFormat, RowsArgs};
pub(in crate::args) use nodes::NODES_EXAMPLES;
pub(crate) use nodes::NodesArgs;
pub(in crate::args) use orgs::ORGS_EXAMPLES;
pub(crate) use orgs::{Hold, OrgChangeArgs, OrgsArgs, OrgsCommand};
pub(in crate::args) use reports::{TIMELINE_EXAMPLES, USAGE_EXAMPLES};
pub(crate) use reports::{TimelineArgs, UsageArgs, UsageCommand};
pub(in crate::args) use settings::SETTINGS_EXAMPLES;
pub(crate) use settings::{SettingsArgs, SettingsChange, SettingsCommand};
pub(in crate::args) use suppressions::SUPPRESSIONS_EXAMPLES;
pub(crate) use suppressions::{SuppressionsArgs, SuppressionsCommand, TheseAddresses};
pub(in crate::args) use users::USERS_EXAMPLES;
pub(crate) use users::{OnePerson, UsersArgs, UsersCommand};
pub(in crate::args) use webhooks::WEBHOOKS_EXAMPLES;
pub(crate) use webhooks::{WebhooksArgs, WebhooksCommand};

/// Options of all administration commands.
#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// Write one JSON object per line; the default if the output is not a terminal
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlansArgs {
    #[command(flatten)]
    pub options: AdminOptions,
}

/// Organization of a command; most installations have only one.
#[derive(Debug, Args)]
pub(crate) struct SomeOrg {
    /// Organization ID; default: the only one
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

/// Checks a name as the API does.
fn name(text: &str) -> Result<String, NameFault> {
    probity_account::name::name(text).map(str::to_owned)
}
