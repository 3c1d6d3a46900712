//! Keyword rules of a connection.

use probity_account::connections::{KEYWORD_CHARS_MAX, KeywordMatch, KeywordParts};
use probity_account::id::RuleId;
use probity_store::connections::rules::StoredRule;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;

use super::names::rule_id;
use crate::error::ApiError;
use crate::merge_patch::{Nested, given};
use crate::page::{GivenCursor, PageQuery, PerPage};
use crate::parameters::describe_query;
use crate::query::{FromQuery, Query};
use crate::schema;

/// Maximum number of rules that one call adds.
pub const RULES_AT_ONCE_MAX: usize = 1_000;
/// Pattern of a keyword: no control character, and not only white space.
const KEYWORD: &str = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
/// Page sizes of a list of rules.
const PAGE: PerPage = PerPage { default: 50, max: 100 };

/// Page of a list of rules.
#[derive(Clone, Debug)]
pub struct RulesQuery(pub PageQuery);

impl FromQuery for RulesQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self(PageQuery { per_page: PAGE.wanted(query)?, cursor: GivenCursor::in_query(query)? }))
    }
}

describe_query!(RulesQuery = PageQuery::parameters_of(PAGE));

/// A rule.
// Without `Debug`, because its keyword may be an address.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = KeywordRule)]
pub struct KeywordRuleShown {
    #[schema(schema_with = rule_id)]
    pub id: RuleId,
    #[schema(schema_with = keyword)]
    pub keyword: String,
    #[serde(rename = "match")]
    #[schema(schema_with = how)]
    pub how: KeywordMatch,
    /// Parts of the address that the rule looks at. One of them must match.
    pub applies_to: KeywordPartsShown,
}

impl From<StoredRule> for KeywordRuleShown {
    fn from(StoredRule { id, rule, .. }: StoredRule) -> Self {
        Self { id, keyword: rule.keyword, how: rule.how, applies_to: rule.applies_to.into() }
    }
}

/// Parts of an address.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = KeywordParts)]
pub struct KeywordPartsShown {
    /// Part before the `@`.
    #[schema(examples(false))]
    pub localpart: bool,
    /// Part after the `@`.
    #[schema(examples(true))]
    pub domain: bool,
    /// Whole address.
    #[schema(examples(false))]
    pub email: bool,
}

impl From<KeywordParts> for KeywordPartsShown {
    fn from(KeywordParts { localpart, domain, email }: KeywordParts) -> Self {
        Self { localpart, domain, email }
    }
}

/// Rules to add: all or none.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddKeywordRules {
    /// Rules to add. A rule that matches the same as an existing one is not added again.
    #[schema(min_items = 1, max_items = 1_000)]
    pub rules: Vec<KeywordRuleGiven>,
}

/// A rule to add.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKeywordRule)]
pub struct KeywordRuleGiven {
    #[schema(schema_with = keyword)]
    pub keyword: String,
    #[serde(rename = "match", default)]
    #[schema(schema_with = how, required = false)]
    pub how: KeywordMatch,
    /// Parts of the address to look at, at least 1. Omit for all parts; an omitted part counts as false.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = KeywordPartsGiven, required = false)]
    pub applies_to: Option<Nested<KeywordPartsGiven>>,
}

/// Parts of the address to look at.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = NewKeywordParts)]
pub struct KeywordPartsGiven {
    /// Part before the `@`.
    #[schema(examples(false))]
    pub localpart: bool,
    /// Part after the `@`.
    #[schema(examples(true))]
    pub domain: bool,
    /// Whole address.
    #[schema(examples(false))]
    pub email: bool,
}

impl KeywordRuleGiven {
    /// Returns the parts to look at.
    pub fn parts(&self) -> KeywordParts {
        self.applies_to.map_or(KeywordParts::ALL, |Nested(KeywordPartsGiven { localpart, domain, email })| {
            KeywordParts { localpart, domain, email }
        })
    }
}

/// Rules as added.
#[derive(Clone, Serialize, ToSchema)]
pub struct KeywordRulesAdded {
    /// One rule for each submitted one, in that order. If the same rule existed before, that one.
    pub data: Vec<KeywordRuleShown>,
}

/// A deleted rule.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct DeletedKeywordRule {
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
    #[schema(schema_with = rule_id)]
    pub id: RuleId,
}

schema::schemas! {
    keyword: ObjectBuilder = schema::text(1..=KEYWORD_CHARS_MAX, "Text to look for: 1 to 255 characters, without control \
        characters. Letter case does not matter; surrounding white space is removed.", "example.org").pattern(Some(KEYWORD));
    how = schema::one_of(KeywordMatch::ALL.map(KeywordMatch::as_str), "Comparison: the part equals the keyword (`exact`, the \
        default), or contains it.");
}
