//! Settings of organizations.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_service::accounts::settings::{get_settings, update_settings};
use probity_service::lists::trial::try_settings;
use serde_json::{Map, Value, json};

use super::LocalOperator;
use super::operator::body;
use crate::args::{SettingsChange, SettingsCommand};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made};

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

pub(super) async fn run(operator: &LocalOperator<'_>, command: &SettingsCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        SettingsCommand::Show(some) => {
            let caller = operator.act_for(some).await?;
            Printout::one(get_settings(app, &caller).await?, AnswerView::Fields(SETTINGS))
        }
        SettingsCommand::Set(args) => {
            let patch: SettingsPatch = body(read_change("set", args)?)?;
            let caller = operator.act_for(&args.org).await?;
            Printout::one(update_settings(app, &caller, patch).await?, AnswerView::Fields(SETTINGS))
        }
        SettingsCommand::Try(args) => {
            let patch: SettingsPatch = body(read_change("try", args)?)?;
            let caller = operator.act_for(&args.org).await?;
            Printout::one(try_settings(app, &caller, patch).await?, TRIED)
        }
    }
}

/// Builds the merge patch that a command describes.
pub(super) fn read_change(command: &str, args: &SettingsChange) -> Result<Value> {
    let fields = [
        ("ignored_reasons", &args.ignored_reasons),
        ("ignored_statuses", &args.ignored_statuses),
        ("banned_words", &args.banned_words),
        ("role_words", &args.role_words),
        ("retention_days", &args.retention_days),
        ("delivery_retention_days", &args.delivery_retention_days),
        ("rate_limit_per_minute", &args.rate),
        ("time_zone", &args.time_zone),
    ];
    let said = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.0)));
    let said: Map<String, Value> = said.collect();
    if said.is_empty() {
        bail!("nothing to change; see `probity settings {command} --help`");
    }
    Ok(json!(said))
}

/// The effect of a change for people.
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
