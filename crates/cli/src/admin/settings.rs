//! Settings of organizations: commands and output.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::lists::named_lines;
use super::told::{cell, cell_or};
use super::{DeskWish, Request, table};
use crate::args::{SettingsChange, SettingsCommand};

/// A requested setting, as JSON for the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wished(Value);

impl Wished {
    /// Parses comma-separated values; an empty text gives an empty list.
    #[expect(clippy::unnecessary_wraps, reason = "a parser of the command line may fail")]
    pub(crate) fn list(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(Self(words.collect::<Vec<_>>().into()))
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Show,
    /// A merge patch, as the API takes it.
    Set(Value),
    /// A merge patch whose effect is shown without saving it.
    Try(Value),
}

pub(super) fn request(command: &SettingsCommand) -> Result<Request> {
    let (org, wish) = match command {
        SettingsCommand::Show(some) => (some, Wish::Show),
        SettingsCommand::Set(args) => (&args.org, Wish::Set(change(args)?)),
        SettingsCommand::Try(args) => (&args.org, Wish::Try(change(args)?)),
    };
    Ok(Request::Desk { org: org.org.clone(), wish: DeskWish::Settings(wish) })
}

fn change(args: &SettingsChange) -> Result<Value> {
    let fields = [
        ("ignored_reasons", &args.ignored_reasons),
        ("ignored_statuses", &args.ignored_statuses),
        ("banned_words", &args.banned_words),
        ("role_words", &args.role_words),
        ("retention_days", &args.retention_days),
        ("delivery_retention_days", &args.delivery_retention_days),
        ("rate_limit_per_minute", &args.rate),
    ];
    let said = fields.into_iter().filter_map(|(name, wished)| Some((name.to_owned(), wished.clone()?.0)));
    let said: Map<String, Value> = said.collect();
    if said.is_empty() {
        bail!("nothing to change; see `probity settings set --help`");
    }
    Ok(json!(said))
}

pub(crate) fn shown(all: &[Value]) -> String {
    all.iter().map(one).collect()
}

fn one(settings: &Value) -> String {
    let words = |name: &str| {
        let words = settings[name].as_array().into_iter().flatten().map(cell).collect::<Vec<_>>().join(", ");
        if words.is_empty() { "none".to_owned() } else { words }
    };
    named_lines(&[
        ("ignored reasons", words("ignored_reasons")),
        ("ignored statuses", words("ignored_statuses")),
        ("banned words", words("banned_words")),
        ("role words", words("role_words")),
        ("days to keep jobs", cell_or(&settings["retention_days"], "installation default")),
        ("days to keep deliveries", cell_or(&settings["delivery_retention_days"], "installation default")),
        ("requests per minute", cell_or(&settings["rate_limit_per_minute"], "limit of the plan")),
    ])
}

/// Formats the effects of changes.
pub(crate) fn trials(all: &[Value]) -> String {
    all.iter().map(trial).collect()
}

fn trial(of: &Value) -> String {
    let job = &of["job"];
    if job.is_null() {
        return "No completed list whose rows are kept.\n".to_owned();
    }
    let looked = format!("{} of {}", cell(&job["looked_at"]), cell(&job["rows"]));
    let head = named_lines(&[
        ("job", cell(&job["id"])),
        ("rows examined", looked),
        ("verdicts changed", cell(&job["changed"])),
    ]);
    let (before, after) = (&job["before"]["reasons"], &job["after"]["reasons"]);
    let names = before.as_object().into_iter().chain(after.as_object()).flat_map(Map::keys);
    let names: std::collections::BTreeSet<&String> = names.collect();
    let row = |name: &String| vec![name.clone(), cell_or(&before[name], "0"), cell_or(&after[name], "0")];
    format!("{head}\n{}", table::lines(&["REASON", "BEFORE", "AFTER"], names.into_iter().map(row)))
}
