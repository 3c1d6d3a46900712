//! Lists, adds and deletes keyword rules of a connection.

use probity_account::connections::{KeywordRule, RuleKind};
use probity_account::id::RuleId;
use probity_account::plans::Entitlement;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::connections::{
    AddKeywordRules, DeletedKeywordRule, KeywordRuleGiven, KeywordRuleShown, KeywordRulesAdded, RULES_AT_ONCE_MAX,
    RulesQuery,
};
use probity_mail::time::Millis;
use probity_store::activity::events::AccountChange;
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::rules::{self, NewRule, StoredRule};
use probity_store::{StoreError, Tx, work};

use super::{ConnectionPlace, require, visible};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Maximum number of rules on a list. A run keeps all of them in memory.
pub const RULES_MAX: i64 = 10_000;

/// Lists the rules of a blacklist or whitelist, newest first.
pub async fn list_keyword_rules(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    kind: RuleKind,
    RulesQuery(query): RulesQuery,
) -> Result<List<KeywordRuleShown>, ApiError> {
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let list = format!("/v1/integrations/connections/{}/{kind}", of.id);
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let rows = rules::page(&mut conn, (of.org, of.id, kind), asked.after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.created_at, row.id), KeywordRuleShown::from))
}

/// Adds rules to a list, all or none. For a rule that equals an existing one, returns the existing rule.
pub async fn add_keyword_rules(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    kind: RuleKind,
    once: &Once,
    asked: AddKeywordRules,
) -> Result<KeywordRulesAdded, ApiError> {
    let (_, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    require(app, caller, &[Entitlement::Exclusions]).await?;
    let now = app.now();
    let fresh = checked(app, &of, kind, &asked.rules)?;
    let added = app.store.write(work!(|tx| {
        let locked = connection::lock(tx, of.org, of.id, of.test).await?;
        let Some(standing) = add_recorded(tx, caller, (&locked, kind), &fresh, now).await? else {
            return Ok(None);
        };
        let shown = KeywordRulesAdded { data: standing.into_iter().map(Into::into).collect() };
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(Some(shown))
    }));
    let full = || ApiError::conflict(format!("a {kind} can have at most {RULES_MAX} rules; delete some first"));
    added.await?.ok_or_else(full)
}

/// Deletes a rule from a list.
pub async fn delete_keyword_rule(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    kind: RuleKind,
    rule: RuleId,
) -> Result<DeletedKeywordRule, ApiError> {
    let (_, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let now = app.now();
    let removed = app.store.write(work!(|tx| {
        let locked = connection::lock(tx, of.org, of.id, of.test).await?;
        let is_removed = rules::remove(tx, (of.org, of.id, kind), rule).await?;
        record(tx, caller, (&locked, kind), now).await?;
        Ok::<_, StoreError>(is_removed)
    }));
    if removed.await? { Ok(DeletedKeywordRule { deleted: true, id: rule }) } else { Err(ApiError::not_found()) }
}

/// Adds rules to a list of a locked connection. Returns the stored rule for each; `None`, and adds none, if the list is full.
pub(super) async fn add_recorded(
    tx: &mut Tx,
    caller: &Caller,
    (locked, kind): (&StoredConnection, RuleKind),
    fresh: &[NewRule],
    now: Millis,
) -> Result<Option<Vec<StoredRule>>, StoreError> {
    let bounds = (count(locked, kind), RULES_MAX);
    let standing = rules::add(tx, (locked.org, locked.id, kind), fresh, bounds, now).await?;
    record(tx, caller, (locked, kind), now).await?;
    Ok(standing)
}

/// Records the number of rules before and after. The rules themselves may be addresses.
async fn record(
    tx: &mut Tx,
    caller: &Caller,
    (before, kind): (&StoredConnection, RuleKind),
    now: Millis,
) -> Result<(), StoreError> {
    let after = connection::lock(tx, before.org, before.id, before.test).await?;
    let (had, has) = (count(before, kind), count(&after, kind));
    let what = AccountChange::SettingsChange {
        setting: format!("connection.{kind}_count"),
        before: had.into(),
        after: has.into(),
        connection: Some(after.id),
    };
    let happened = if had == has { Vec::new() } else { vec![what] };
    caller.note(tx, now, &happened).await
}

fn count(of: &StoredConnection, kind: RuleKind) -> i64 {
    match kind {
        RuleKind::Blacklist => of.blacklist_count,
        RuleKind::Whitelist => of.whitelist_count,
    }
}

fn checked(
    app: &App,
    of: &StoredConnection,
    kind: RuleKind,
    given: &[KeywordRuleGiven],
) -> Result<Vec<NewRule>, ApiError> {
    if given.is_empty() || given.len() > RULES_AT_ONCE_MAX {
        return Err(ApiError::invalid("rules", format_args!("must have 1 to {RULES_AT_ONCE_MAX} rules")));
    }
    let rule = |(at, given): (usize, &KeywordRuleGiven)| {
        let rule = KeywordRule::new(&given.keyword, given.how, given.parts()).map_err(|fault| {
            let field = if fault.is_about_parts() { "applies_to" } else { "keyword" };
            ApiError::invalid(&format!("rules[{at}].{field}"), fault.to_string())
        })?;
        let tag = app.secrets.keyword_rule(of.id, kind, &rule);
        Ok(NewRule { id: probity_access::secrets::random::id(app.now()), tag, rule })
    };
    given.iter().enumerate().map(rule).collect()
}
