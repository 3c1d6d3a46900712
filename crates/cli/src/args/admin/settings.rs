use clap::{Args, Subcommand};
use serde_json::Value;

use super::OrgFlag;

/// Shown below the help of `settings`.
pub(super) const SETTINGS_EXAMPLES: &str = "\
Examples:
    probity settings show
    probity settings try --ignored-reasons role_based,accept_all     shows the effect on the last list
    probity settings set --ignored-reasons role_based,accept_all
    probity settings set --banned-words ''                           clears the words
    probity settings set --retention-days 90 --rate default";

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Show the settings of an organization
    Show(OrgFlag),
    /// Change settings; omitted settings stay
    Set(SettingsChange),
    /// Show the effect of a change on the last completed list, without applying it
    Try(SettingsChange),
}

/// Settings to change.
#[derive(Debug, Args)]
pub(crate) struct SettingsChange {
    /// Reasons that lists ignore, separated by commas; '' for none
    #[arg(long, value_name = "REASONS", value_parser = SettingValue::list)]
    pub ignored_reasons: Option<SettingValue>,
    /// Statuses that lists ignore, separated by commas; '' for none
    #[arg(long, value_name = "STATUSES", value_parser = SettingValue::list)]
    pub ignored_statuses: Option<SettingValue>,
    /// Words that give an address the reason `banned_words`, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = SettingValue::list)]
    pub banned_words: Option<SettingValue>,
    /// Local parts that give an address the reason `role_based`, besides the built-in ones, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = SettingValue::list)]
    pub role_words: Option<SettingValue>,
    /// Days to keep closed jobs; `default`: the installation's value
    #[arg(long, value_name = "DAYS", value_parser = SettingValue::number)]
    pub retention_days: Option<SettingValue>,
    /// Days to keep deliveries, at most the installation's value; `default`: that value
    #[arg(long, value_name = "DAYS", value_parser = SettingValue::number)]
    pub delivery_retention_days: Option<SettingValue>,
    /// Requests per minute of all keys together, at most the plan's limit; `default`: that limit
    #[arg(id = "rate_limit_per_minute", long = "rate", value_name = "PER_MINUTE", value_parser = SettingValue::number)]
    pub rate: Option<SettingValue>,
    /// Time zone in whose nights automatic runs start, as in Europe/Berlin; `default`: UTC
    #[arg(long, value_name = "ZONE", value_parser = SettingValue::text)]
    pub time_zone: Option<SettingValue>,
    #[command(flatten)]
    pub org: OrgFlag,
}

/// Value of a setting, as JSON for the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingValue(pub Value);

impl SettingValue {
    /// Parses comma-separated values; an empty text gives an empty list.
    #[expect(clippy::unnecessary_wraps, reason = "a parser of the command line may fail")]
    pub(crate) fn list(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(Self(words.collect::<Vec<_>>().into()))
    }

    /// Parses a name, or `default`.
    #[expect(clippy::unnecessary_wraps, reason = "a parser of the command line may fail")]
    pub(crate) fn text(text: &str) -> Result<Self, String> {
        Ok(Self(if text == "default" { Value::Null } else { text.into() }))
    }

    /// Parses a number above 0, or `default`.
    pub(crate) fn number(text: &str) -> Result<Self, String> {
        let number = || text.parse::<u32>().ok().filter(|number| *number > 0);
        match text {
            "default" => Ok(Self(Value::Null)),
            _ => {
                number().map(|number| Self(number.into())).ok_or_else(|| "must be `default` or a number above 0".into())
            }
        }
    }
}
