use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};
use crate::admin::Wished;

/// Shown below the help of `settings`.
pub(in crate::args) const SETTINGS_EXAMPLES: &str = "\
Examples:
    probity settings show
    probity settings try --ignored-reasons role_based,accept_all     shows the effect on the last list
    probity settings set --ignored-reasons role_based,accept_all
    probity settings set --banned-words ''                           clears the words
    probity settings set --retention-days 90 --rate default";

#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(subcommand)]
    pub command: SettingsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Show the settings of an organization
    Show(SomeOrg),
    /// Change settings; omitted settings stay
    Set(SettingsChange),
    /// Show the effect of a change on the last completed list, without applying it
    Try(SettingsChange),
}

/// Settings to change.
#[derive(Debug, Args)]
pub(crate) struct SettingsChange {
    /// Reasons that lists ignore, separated by commas; '' for none
    #[arg(long, value_name = "REASONS", value_parser = Wished::list)]
    pub ignored_reasons: Option<Wished>,
    /// Statuses that lists ignore, separated by commas; '' for none
    #[arg(long, value_name = "STATUSES", value_parser = Wished::list)]
    pub ignored_statuses: Option<Wished>,
    /// Words that give an address the reason `banned_words`, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = Wished::list)]
    pub banned_words: Option<Wished>,
    /// Local parts that give an address the reason `role_based`, besides the built-in ones, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = Wished::list)]
    pub role_words: Option<Wished>,
    /// Days to keep closed jobs; `default`: the installation's value
    #[arg(long, value_name = "DAYS", value_parser = Wished::number)]
    pub retention_days: Option<Wished>,
    /// Days to keep deliveries, at most the installation's value; `default`: that value
    #[arg(long, value_name = "DAYS", value_parser = Wished::number)]
    pub delivery_retention_days: Option<Wished>,
    /// Requests per minute of all keys together, at most the plan's limit; `default`: that limit
    #[arg(long, value_name = "PER_MINUTE", value_parser = Wished::number)]
    pub rate: Option<Wished>,
    #[command(flatten)]
    pub org: SomeOrg,
}
