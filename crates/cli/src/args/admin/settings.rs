//! The command line of `settings`.

use clap::{Args, Subcommand};

use super::{AdminOptions, SomeOrg};
use crate::admin::Wished;

/// Shown below the help of `settings`.
pub(in crate::args) const SETTINGS_EXAMPLES: &str = "\
Examples:
    probity settings show
    probity settings try --ignored-reasons role_based,accept_all     what that would change in the last list
    probity settings set --ignored-reasons role_based,accept_all
    probity settings set --banned-words ''                           none any more
    probity settings set --retention-days 90 --rate default";

/// `settings`.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: SettingsCommand,
}

/// The commands about settings.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Shows what an organization wishes
    Show(SomeOrg),
    /// Changes what is named; the rest stays
    Set(SettingsChange),
    /// Says what a change would have come to in the last completed list, and changes nothing
    Try(SettingsChange),
}

/// What is to be changed.
#[derive(Debug, Args)]
pub(crate) struct SettingsChange {
    /// Reasons that batches do not count, with commas between them; '' for none
    #[arg(long, value_name = "REASONS", value_parser = Wished::list)]
    pub ignored_reasons: Option<Wished>,
    /// Statuses that batches do not count, with commas between them; '' for none
    #[arg(long, value_name = "STATUSES", value_parser = Wished::list)]
    pub ignored_statuses: Option<Wished>,
    /// Words that make an address `banned_words`, with commas between them; '' for none
    #[arg(long, value_name = "WORDS", value_parser = Wished::list)]
    pub banned_words: Option<Wished>,
    /// Local parts that make an address `role_based`, besides those that are known; '' for none
    #[arg(long, value_name = "WORDS", value_parser = Wished::list)]
    pub role_words: Option<Wished>,
    /// For how many days closed jobs are kept; `default`: as the installation says
    #[arg(long, value_name = "DAYS", value_parser = Wished::number)]
    pub retention_days: Option<Wished>,
    /// For how many days deliveries are kept, no longer than the installation keeps them; `default`: as long
    #[arg(long, value_name = "DAYS", value_parser = Wished::number)]
    pub delivery_retention_days: Option<Wished>,
    /// Requests a minute for all its keys, at most as many as its plan allows; `default`: that many
    #[arg(long, value_name = "PER_MINUTE", value_parser = Wished::number)]
    pub rate: Option<Wished>,
    /// Whose.
    #[command(flatten)]
    pub org: SomeOrg,
}
