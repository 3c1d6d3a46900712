//! Keyword rules of connections.

use std::io::Read as _;

use anyhow::{Context as _, Result, anyhow};
use probity_account::connections::KeywordMatch;
use probity_account::id::RuleId;
use probity_contract::page::PageQuery;
use probity_contract::published::connections::{AddKeywordRules, RulesQuery};
use probity_service::callers::once::Once;
use probity_service::connections::rules::{add_keyword_rules, delete_keyword_rule, list_keyword_rules};
use serde_json::{Value, json};

use super::{reach, shown};
use crate::admin::LocalOperator;
use crate::admin::operator::{OrMissing as _, body, print_one, print_rows};
use crate::args::{RuleListArg, RulesCommand};
use crate::output::printout::Printout;

pub(super) async fn run(operator: &LocalOperator<'_>, command: &RulesCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        RulesCommand::List { of, limit } => {
            let (caller, place) = reach(operator, &of.one).await?;
            let page = RulesQuery(PageQuery { per_page: *limit, cursor: None });
            let found = list_keyword_rules(app, &caller, &place, of.list, page).await?;
            let printout = print_rows(&caller, found.data, shown::RULES)?;
            Ok(printout.or_note("no rules found"))
        }
        RulesCommand::Add { of, keywords, how, parts } => {
            let asked: AddKeywordRules = body(read_rules(&read_keywords(keywords)?, *how, parts))?;
            let (caller, place) = reach(operator, &of.one).await?;
            let added = add_keyword_rules(app, &caller, &place, of.list, &Once::unkeyed(), asked).await;
            print_rows(&caller, added?.data, shown::RULES)
        }
        RulesCommand::Remove { of, rule } => {
            let (caller, place) = reach(operator, &of.one).await?;
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
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("cannot read standard input")?;
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
