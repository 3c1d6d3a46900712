//! Keyword rules of connections.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::connections::{KeywordMatch, RuleKind};
use probity_account::id::RuleId;
use probity_contract::published::connections::{AddKeywordRules, RulesQuery};
use probity_service::app::App;
use probity_service::callers::once::Once;
use probity_service::connections::rules::{add_keyword_rules, delete_keyword_rule, list_keyword_rules};
use serde_json::{Value, json};

use super::{ConnectionArg, reach, shown};
use crate::admin::operator::{OrMissing as _, body, first_page, print_one, print_rows};
use crate::admin::{meaning, one_of};
use crate::batch::input;
use crate::output::printout::Printout;

#[derive(Debug, Args)]
pub(crate) struct RuleListArg {
    #[command(flatten)]
    pub one: ConnectionArg,
    /// List of the connection
    #[arg(value_name = "LIST", value_parser = rule_list())]
    pub list: RuleKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List rules, newest first
    List {
        #[command(flatten)]
        of: RuleListArg,
        /// Maximum number of rules
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Add rules: all of them, or none if one is wrong
    Add {
        #[command(flatten)]
        of: RuleListArg,
        /// Texts to look for; `-` reads them from standard input, one per line
        #[arg(id = "rules", required = true, value_name = "KEYWORD")]
        keywords: Vec<String>,
        /// Comparison: the part is equal to the text, or contains it
        #[arg(long = "match", value_name = "HOW", default_value = "exact", value_parser = comparison())]
        how: KeywordMatch,
        /// Part of the address to look at; repeatable; default: all
        #[arg(long = "part", value_parser = PossibleValuesParser::new(["localpart", "domain", "email"]))]
        parts: Vec<String>,
    },
    /// Remove a rule
    Remove {
        #[command(flatten)]
        of: RuleListArg,
        /// Rule ID
        #[arg(value_name = "RULE_ID")]
        rule: String,
    },
}

fn rule_list() -> impl clap::builder::TypedValueParser<Value = RuleKind> {
    let names = [
        meaning(RuleKind::Blacklist.as_str(), "contacts to act upon, whatever their verdict"),
        meaning(RuleKind::Whitelist.as_str(), "contacts that are never acted upon"),
    ];
    one_of(names, |name| name.parse().ok())
}

fn comparison() -> impl clap::builder::TypedValueParser<Value = KeywordMatch> {
    one_of(["exact", "contains"], |name| match name {
        "exact" => Some(KeywordMatch::Exact),
        _ => Some(KeywordMatch::Contains),
    })
}

pub(super) async fn run(app: &App, command: &RulesCommand) -> Result<Printout> {
    match command {
        RulesCommand::List { of, limit } => {
            let (caller, place) = reach(app, &of.one).await?;
            let page = RulesQuery(first_page(*limit));
            let found = list_keyword_rules(app, &caller, &place, of.list, page).await?;
            let printout = print_rows(&caller, found.data, shown::RULES)?;
            Ok(printout.or_note("no rules found"))
        }
        RulesCommand::Add { of, keywords, how, parts } => {
            let asked: AddKeywordRules = body(read_rules(&read_keywords(keywords)?, *how, parts))?;
            let (caller, place) = reach(app, &of.one).await?;
            let added = add_keyword_rules(app, &caller, &place, of.list, &Once::unkeyed(), asked).await;
            print_rows(&caller, added?.data, shown::RULES)
        }
        RulesCommand::Remove { of, rule } => {
            let (caller, place) = reach(app, &of.one).await?;
            let id: RuleId = rule.parse().map_err(|_| missing(of, rule))?;
            let removed =
                delete_keyword_rule(app, &caller, &place, of.list, id).await.or_missing(|| missing(of, rule))?;
            print_one(&caller, removed, shown::RULE_REMOVED)
        }
    }
}

fn missing(of: &RuleListArg, rule: &str) -> anyhow::Error {
    let (list, connection) = (of.list, &of.one.connection);
    anyhow!("the {list} has no rule {rule}; to list its rules: `probity integrations rules list {connection} {list}`")
}

/// Returns the texts of the arguments, or of standard input if the command says so.
fn read_keywords(given: &[String]) -> Result<Vec<String>> {
    if given != ["-"] {
        return Ok(given.to_vec());
    }
    let text = input::read_text(Path::new("-"), u64::MAX)?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Builds the body that a command describes.
fn read_rules(keywords: &[String], how: KeywordMatch, parts: &[String]) -> Value {
    let parts: serde_json::Map<String, Value> = parts.iter().map(|part| (part.clone(), json!(true))).collect();
    let rule = |keyword: &String| {
        let mut rule = json!({ "keyword": keyword, "match": how });
        if !parts.is_empty() {
            rule["applies_to"] = json!(parts);
        }
        rule
    };
    json!({ "rules": keywords.iter().map(rule).collect::<Vec<_>>() })
}
