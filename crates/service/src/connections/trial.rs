//! Preview of a connection's keyword rules for one address.

use probity_account::connections::RuleSet;
use probity_contract::error::ApiError;
use probity_contract::published::connections::KeywordRuleShown;
use probity_mail::address::trimmed;
use probity_store::connections::rules::{self, StoredRule};
use serde::{Deserialize, Serialize};

use super::{ConnectionPlace, visible};
use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum length of an address to try, in characters.
const ADDRESS_CHARS_MAX: usize = 320;
/// Matching rules that are shown.
const SHOWN: usize = 20;

/// Address to try. Without `Debug`, because it holds an address.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedAddress {
    pub email: String,
}

/// Result of the rules. Without `Debug`, because keywords may be addresses.
#[derive(Clone, Serialize)]
pub struct RuleTrial {
    /// List that decides; null if no rule matches.
    pub decided_by: Option<&'static str>,
    /// Rules that match, at most 20.
    pub rules: Vec<MatchingRule>,
}

/// A rule that matches, with its list.
#[derive(Clone, Serialize)]
pub struct MatchingRule {
    pub kind: &'static str,
    #[serde(flatten)]
    pub rule: KeywordRuleShown,
}

impl From<StoredRule> for MatchingRule {
    fn from(stored: StoredRule) -> Self {
        Self { kind: stored.kind.as_str(), rule: stored.into() }
    }
}

/// Applies the rules of a connection to an address. Changes nothing.
pub async fn try_keyword_rules(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    TriedAddress { email }: TriedAddress,
) -> Result<RuleTrial, ApiError> {
    let address = trimmed(&email);
    if !(1..=ADDRESS_CHARS_MAX).contains(&address.chars().count()) {
        return Err(ApiError::invalid("email", format_args!("must have 1 to {ADDRESS_CHARS_MAX} characters")));
    }
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let stored = rules::all(&mut conn, of.org, of.id).await?;
    let decisive = RuleSet::new(stored.iter().map(|stored| (stored.kind, &stored.rule))).judge(address);
    let Some(kind) = decisive else {
        return Ok(RuleTrial { decided_by: None, rules: Vec::new() });
    };
    let matching = stored.into_iter().filter(|stored| stored.rule.matches(address));
    Ok(RuleTrial { decided_by: Some(kind.as_str()), rules: matching.take(SHOWN).map(Into::into).collect() })
}
