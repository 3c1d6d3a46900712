//! Keyword rules: contacts that a customer wants acted on (blacklist) or never changed (whitelist).
//!
//! A rule compares the local part, the domain or the whole address of a contact with a keyword, for equality or for
//! containment. Letter case and compatible spellings are ignored. Domains are compared in A-labels; a contained keyword is
//! also searched for in the U-labels, so `münchen` and `xn--mnchen-3ya` both match `xn--mnchen-3ya.de`. If both lists match
//! a contact, it is not changed.

mod forms;

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use forms::AddressForms;
use probity_mail::address::trimmed;
use serde::{Deserialize, Serialize};

use crate::overrides::patterns;

/// Maximum length of a keyword, in characters: more than that of an address.
pub const KEYWORD_CHARS_MAX: usize = 255;

probity_mail::named! {
    /// List of a rule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum RuleKind {
        /// Contacts to act on, regardless of their verdict.
        Blacklist = "blacklist",
        /// Contacts that are never changed.
        Whitelist = "whitelist",
    }
}

probity_mail::named! {
    /// Comparison of a keyword.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum KeywordMatch {
        /// The part equals the keyword.
        #[default]
        Exact = "exact",
        /// The part contains the keyword.
        Contains = "contains",
    }
}

/// Parts of an address that a rule compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeywordParts {
    /// The part before the `@`.
    pub localpart: bool,
    /// The part after the `@`.
    pub domain: bool,
    /// The whole address.
    pub email: bool,
}

impl KeywordParts {
    /// All parts.
    pub const ALL: Self = Self { localpart: true, domain: true, email: true };
}

/// Reason why a rule is invalid. The messages are worded to follow a field name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeywordFault {
    /// The keyword is empty without white space and invisible characters.
    #[error("must not be empty")]
    Empty,
    /// The keyword has more than [`KEYWORD_CHARS_MAX`] characters.
    #[error("may have at most {KEYWORD_CHARS_MAX} characters")]
    TooLong,
    /// The keyword has a character that no address can have.
    #[error("must not contain control characters")]
    Control,
    /// The rule compares no part.
    #[error("must name at least 1 of localpart, domain and email")]
    NoPart,
}

impl KeywordFault {
    /// Returns whether the parts are at fault, not the keyword.
    pub fn is_about_parts(self) -> bool {
        self == Self::NoPart
    }
}

/// Rule. Without `Debug`, because the keyword may be an address.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeywordRule {
    /// Text to compare, as entered, trimmed like addresses: a copied keyword would otherwise match no contact.
    pub keyword: String,
    /// Kind of comparison.
    #[serde(rename = "match")]
    pub how: KeywordMatch,
    /// Parts to compare.
    pub applies_to: KeywordParts,
}

impl KeywordRule {
    /// Validates what a customer entered.
    pub fn new(keyword: &str, how: KeywordMatch, applies_to: KeywordParts) -> Result<Self, KeywordFault> {
        // Counted as sent, with white space, as in the contract.
        if keyword.chars().count() > KEYWORD_CHARS_MAX {
            return Err(KeywordFault::TooLong);
        }
        let keyword = trimmed(keyword);
        if keyword.is_empty() {
            return Err(KeywordFault::Empty);
        }
        if keyword.chars().any(char::is_control) {
            return Err(KeywordFault::Control);
        }
        if !(applies_to.localpart || applies_to.domain || applies_to.email) {
            return Err(KeywordFault::NoPart);
        }
        Ok(Self { keyword: keyword.to_owned(), how, applies_to })
    }

    /// Returns a key that is equal for rules that match the same contacts: the normalized keyword and the comparison.
    pub fn identity(&self) -> (String, KeywordMatch, KeywordParts) {
        let keyword = match self.how {
            KeywordMatch::Exact => self.exact_forms(),
            KeywordMatch::Contains => forms::folded(&self.keyword),
        };
        (keyword, self.how, self.applies_to)
    }

    /// Returns the forms in which an exact keyword is compared with its parts, as one text.
    fn exact_forms(&self) -> String {
        let KeywordParts { localpart, domain, email } = self.applies_to;
        let local = localpart.then(|| forms::folded(&self.keyword));
        let domain = domain.then(|| forms::domain(&self.keyword));
        let address = email.then(|| forms::address(&self.keyword));
        let mut found: Vec<String> = [local, domain, address].into_iter().flatten().collect();
        // As for most keywords, so that their stored tags stay the same.
        if found.windows(2).all(|pair| pair[0] == pair[1]) {
            found.truncate(1);
        }
        found.join("\n")
    }

    /// Returns whether the rule matches a contact, by its address at the platform. For many contacts, use [`RuleSet`].
    pub fn matches(&self, address: &str) -> bool {
        RuleList::new(&[self]).names(&AddressForms::of(address))
    }
}

/// Rules of a connection, compiled for many contacts. Without `Debug`, because keywords may be addresses.
pub struct RuleSet {
    blacklist: RuleList,
    whitelist: RuleList,
}

impl RuleSet {
    /// Compiles rules. 10,000 rules take about 10 ms.
    pub fn new<'r>(rules: impl IntoIterator<Item = (RuleKind, &'r KeywordRule)>) -> Self {
        let (mut black, mut white) = (Vec::new(), Vec::new());
        for (kind, rule) in rules {
            match kind {
                RuleKind::Blacklist => black.push(rule),
                RuleKind::Whitelist => white.push(rule),
            }
        }
        Self { blacklist: RuleList::new(&black), whitelist: RuleList::new(&white) }
    }

    /// Returns the list that decides about a contact, by its address at the platform; `None` if no rule matches.
    pub fn judge(&self, address: &str) -> Option<RuleKind> {
        if self.blacklist.is_empty && self.whitelist.is_empty {
            return None;
        }
        let forms = AddressForms::of(address);
        // The whitelist comes first: it takes precedence over everything else.
        if self.whitelist.names(&forms) {
            return Some(RuleKind::Whitelist);
        }
        self.blacklist.names(&forms).then_some(RuleKind::Blacklist)
    }
}

/// Rules of one list.
struct RuleList {
    is_empty: bool,
    locals: BTreeSet<String>,
    domains: BTreeSet<String>,
    addresses: BTreeSet<String>,
    within_locals: Option<AhoCorasick>,
    within_domains: Option<AhoCorasick>,
    within_addresses: Option<AhoCorasick>,
}

impl RuleList {
    fn new(rules: &[&KeywordRule]) -> Self {
        let keywords = |how: KeywordMatch, looks_at: fn(KeywordParts) -> bool| {
            rules.iter().filter(move |rule| rule.how == how && looks_at(rule.applies_to)).map(|rule| &*rule.keyword)
        };
        let within = |looks_at| patterns(&keywords(KeywordMatch::Contains, looks_at).map(forms::folded).collect());
        Self {
            is_empty: rules.is_empty(),
            locals: keywords(KeywordMatch::Exact, |parts| parts.localpart).map(forms::folded).collect(),
            domains: keywords(KeywordMatch::Exact, |parts| parts.domain).map(forms::domain).collect(),
            addresses: keywords(KeywordMatch::Exact, |parts| parts.email).map(forms::address).collect(),
            within_locals: within(|parts| parts.localpart),
            within_domains: within(|parts| parts.domain),
            within_addresses: within(|parts| parts.email),
        }
    }

    fn names(&self, forms: &AddressForms) -> bool {
        let is_within = |patterns: &Option<AhoCorasick>, texts: &[&str]| {
            patterns.as_ref().is_some_and(|patterns| texts.iter().any(|text| patterns.is_match(text)))
        };
        self.locals.contains(&forms.local)
            || self.domains.contains(&forms.domain)
            || self.addresses.contains(&forms.address)
            || is_within(&self.within_locals, &[&forms.local])
            || is_within(&self.within_domains, &[&forms.domain, &forms.shown_domain])
            || is_within(&self.within_addresses, &[&forms.address, &forms.shown_address])
    }
}

#[cfg(test)]
mod tests;
