//! Keyword rules of a connection. The router serves them beside `/keywords`, too.

use probity_contract::page::List;
use probity_contract::parameters::{KeywordPath, RulePath};
use probity_contract::published::connections::{
    AddKeywordRules, DeletedKeywordRule, KeywordRuleShown, KeywordRulesAdded, RulesQuery,
};
use probity_service::connections::rules;

use super::place::{AtRule, AtRules};
use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, RunOnce, answer, created};

/// List keyword rules
///
/// Lists the rules of a connection's blacklist or whitelist, newest first. The default page size is 50.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/keywords/{kind}",
    tag = "Integrations",
    params(KeywordPath, RulesQuery),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "A page of rules.", body = List<KeywordRuleShown>))
)]
pub(crate) async fn list_keyword_rules(
    Call(app, caller): Call,
    PathId(AtRules { place, kind }): PathId<AtRules>,
    Asking(query): Asking<RulesQuery>,
) -> Answer<List<KeywordRuleShown>> {
    answer(rules::list_keyword_rules(&app, &caller, &place, kind, query).await)
}

/// Add keyword rules
///
/// Adds 1 to 1,000 rules: all of them, or none if one is wrong. A rule that matches the same as an existing one is not
/// added again; the response then has the existing rule. A blacklisted contact gets the connection's action whatever its
/// verdict; a whitelisted one is never acted upon, even if it is blacklisted. A whitelist rule applies at once, a
/// blacklist rule to contacts that are verified from then on. A new blacklist rule makes the next run wait for confirmation.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/keywords/{kind}",
    tag = "Integrations",
    params(KeywordPath),
    request_body(content = AddKeywordRules, description = "Rules to add."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The rules, in the order of the request.", body = KeywordRulesAdded))
)]
pub(crate) async fn add_keyword_rules(
    Call(app, caller): Call,
    PathId(AtRules { place, kind }): PathId<AtRules>,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<AddKeywordRules>,
) -> Created<KeywordRulesAdded> {
    created(rules::add_keyword_rules(&app, &caller, &place, kind, &once.created(), asked).await)
}

/// Delete a keyword rule
///
/// Deletes the rule from its list. After a whitelist rule is deleted, the next run waits for confirmation.
#[utoipa::path(
    delete,
    path = "/v1/integrations/{type}/connections/{id}/keywords/{kind}/{rule_id}",
    tag = "Integrations",
    params(RulePath),
    security(("bearer" = ["write:integrations"])),
    responses((status = 200, description = "The rule is deleted.", body = DeletedKeywordRule))
)]
pub(crate) async fn delete_keyword_rule(
    Call(app, caller): Call,
    PathId(AtRule { list, rule_id }): PathId<AtRule>,
) -> Answer<DeletedKeywordRule> {
    answer(rules::delete_keyword_rule(&app, &caller, &list.place, list.kind, rule_id).await)
}
