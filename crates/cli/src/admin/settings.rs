//! Settings of organizations.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use anyhow::Result;
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_service::accounts::settings::{get_settings, update_settings};
use probity_service::app::App;
use probity_service::lists::trial::try_settings;
use serde_json::{Map, Value};

use super::OrgFlag;
use super::operator::{act_for, body, merge_patch};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made};

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
    #[arg(long, value_name = "REASONS", value_parser = list())]
    pub ignored_reasons: Option<Value>,
    /// Statuses that lists ignore, separated by commas; '' for none
    #[arg(long, value_name = "STATUSES", value_parser = list())]
    pub ignored_statuses: Option<Value>,
    /// Words that give an address the reason `banned_words`, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = list())]
    pub banned_words: Option<Value>,
    /// Local parts that give an address the reason `role_based`, besides the built-in ones, separated by commas; '' for none
    #[arg(long, value_name = "WORDS", value_parser = list())]
    pub role_words: Option<Value>,
    /// Days to keep closed jobs; `default`: the installation's value
    #[arg(long, value_name = "DAYS", value_parser = number)]
    pub retention_days: Option<Value>,
    /// Days to keep deliveries, at most the installation's value; `default`: that value
    #[arg(long, value_name = "DAYS", value_parser = number)]
    pub delivery_retention_days: Option<Value>,
    /// Requests per minute of all keys together, at most the plan's limit; `default`: that limit
    #[arg(id = "rate_limit_per_minute", long = "rate", value_name = "PER_MINUTE", value_parser = number)]
    pub rate: Option<Value>,
    /// Time zone in whose nights automatic runs start, as in Europe/Berlin; `default`: UTC
    #[arg(long, value_name = "ZONE", value_parser = text())]
    pub time_zone: Option<Value>,
    #[command(flatten)]
    pub org: OrgFlag,
}

/// Parses comma-separated values; an empty text gives an empty list.
fn list() -> impl TypedValueParser<Value = Value> {
    StringValueParser::new().map(|text| text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect())
}

/// Parses a name, or `default`.
fn text() -> impl TypedValueParser<Value = Value> {
    StringValueParser::new().map(|text| if text == "default" { Value::Null } else { text.into() })
}

/// Parses a number above 0, or `default`.
fn number(text: &str) -> Result<Value, String> {
    let number = || Some(text.parse::<NonZeroU32>().ok()?.get().into());
    let value = if text == "default" { Some(Value::Null) } else { number() };
    value.ok_or_else(|| "must be `default` or a number above 0".into())
}

const SETTINGS: &[AnswerColumn] = &[
    at_or("ignored reasons", "/ignored_reasons", "none"),
    at_or("ignored statuses", "/ignored_statuses", "none"),
    at_or("banned words", "/banned_words", "none"),
    at_or("role words", "/role_words", "none"),
    at_or("days to keep jobs", "/retention_days", "installation default"),
    at_or("days to keep deliveries", "/delivery_retention_days", "installation default"),
    at_or("requests per minute", "/rate_limit_per_minute", "limit of the plan"),
    at_or("time zone", "/time_zone", "UTC"),
];

const TRIAL: &[AnswerColumn] = &[
    at("job", "/job/id"),
    made("rows examined", |of| format!("{} of {}", field(of, "/job/looked_at"), field(of, "/job/rows"))),
    at("verdicts changed", "/job/changed"),
];

pub(super) async fn run(app: &App, command: &SettingsCommand) -> Result<Printout> {
    match command {
        SettingsCommand::Show(some) => {
            let caller = act_for(app, some).await?;
            Printout::one(get_settings(app, &caller).await?, AnswerView::Fields(SETTINGS))
        }
        SettingsCommand::Set(args) => {
            let patch: SettingsPatch = body(read_change("set", args)?)?;
            let caller = act_for(app, &args.org).await?;
            Printout::one(update_settings(app, &caller, patch).await?, AnswerView::Fields(SETTINGS))
        }
        SettingsCommand::Try(args) => {
            let patch: SettingsPatch = body(read_change("try", args)?)?;
            let caller = act_for(app, &args.org).await?;
            Printout::one(try_settings(app, &caller, patch).await?, TRIED)
        }
    }
}

/// Builds the merge patch that a command describes.
pub(super) fn read_change(command: &str, args: &SettingsChange) -> Result<Value> {
    let fields = [
        ("ignored_reasons", args.ignored_reasons.clone()),
        ("ignored_statuses", args.ignored_statuses.clone()),
        ("banned_words", args.banned_words.clone()),
        ("role_words", args.role_words.clone()),
        ("retention_days", args.retention_days.clone()),
        ("delivery_retention_days", args.delivery_retention_days.clone()),
        ("rate_limit_per_minute", args.rate.clone()),
        ("time_zone", args.time_zone.clone()),
    ];
    merge_patch(&format!("settings {command}"), fields)
}

/// View of a change's effect.
pub(super) const TRIED: AnswerView = AnswerView::Text(|of| {
    let job = &of["job"];
    if job.is_null() {
        return "No completed list whose rows are kept.\n".to_owned();
    }
    let (before, after) = (&job["before"]["reasons"], &job["after"]["reasons"]);
    let names = before.as_object().into_iter().chain(after.as_object()).flat_map(Map::keys);
    let names: BTreeSet<&String> = names.collect();
    let number = |counts: &Value, name: &str| counts[name].as_i64().unwrap_or_default().to_string();
    let row = |name: &String| vec![name.clone(), number(before, name), number(after, name)];
    let reasons = table::lines(&["REASON", "BEFORE", "AFTER"], names.into_iter().map(row));
    format!("{}\n{reasons}", table::fields(TRIAL, of))
});
