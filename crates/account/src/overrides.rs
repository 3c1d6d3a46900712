//! Overrides of an organization for the verdicts of its batches.
//!
//! The engine keeps all findings; an organization chooses findings to ignore, and words to add. [`Overrides::apply`] adds
//! findings for the words, drops ignored ones, and reports the first remaining one in the order of [`Reason::ALL`]; if none
//! remains, the verdict is `valid`. Prices and live calls use the raw verdict, without overrides.
//!
//! Reasons are ignored by the names of their [`IgnorableReason`]s. Four have no gate (`invalid`, `illegitimate`, `blacklisted`,
//! `available`) and cannot be ignored individually. Ignoring a status ignores all of its findings, including those without a
//! gate: ignoring `undeliverable` ignores every finding of a mail server.

mod words;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use probity_mail::verdict::{Finding, Reason, Status, Verdict};
use words::{BannedWords, RoleWords};
pub(crate) use words::{folded, patterns};

/// Reason that an organization may ignore, under its name in settings and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IgnorableReason(Reason);

impl IgnorableReason {
    /// All gates, in the order of the reasons.
    pub const ALL: [Self; 12] = [
        Self(Reason::Nonexistent),
        Self(Reason::Deactivated),
        Self(Reason::InboxFull),
        Self(Reason::Spam),
        Self(Reason::Complained),
        Self(Reason::Bounced),
        Self(Reason::Disposable),
        Self(Reason::BannedWords),
        Self(Reason::RoleBased),
        Self(Reason::AcceptAll),
        Self(Reason::FailedExchange),
        Self(Reason::Unverified),
    ];

    /// Returns the name in the contract: that of the reason, except for `complainers`.
    pub fn as_str(self) -> &'static str {
        match self.0 {
            Reason::Complained => "complainers",
            reason => reason.as_str(),
        }
    }

    /// Returns the gate with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == name)
    }

    /// Returns the reason of the gate.
    pub fn reason(self) -> Reason {
        self.0
    }
}

/// Statuses that can be ignored. `passed` is not one: no finding has it.
pub const IGNORABLE: [Status; 3] = [Status::Undeliverable, Status::Risky, Status::Unknown];

/// Overrides as stored and shown. If empty, verdicts stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Ignored reasons.
    pub ignored_reasons: Vec<IgnorableReason>,
    /// Ignored statuses.
    pub ignored_statuses: Vec<Status>,
    /// Banned words in local parts; matched as in [`Overrides::apply`].
    pub banned_words: Vec<String>,
    /// Local parts of roles, besides the built-in ones.
    pub role_words: Vec<String>,
}

/// [`Wishes`], compiled for many verdicts.
#[derive(Debug)]
pub struct Overrides {
    ignored: Vec<Reason>,
    banned: BannedWords,
    roles: RoleWords,
}

/// Rules that findings and verdicts of this module name.
struct OverrideRules {
    banned_words: Arc<str>,
    role_words: Arc<str>,
    ignored: Arc<str>,
}

static RULES: LazyLock<OverrideRules> = LazyLock::new(|| OverrideRules {
    banned_words: "settings.banned_words".into(),
    role_words: "settings.role_words".into(),
    ignored: "settings.ignored".into(),
});

impl Overrides {
    /// Compiles overrides. 1,000 words take about 1 ms.
    pub fn new(wishes: &Wishes) -> Self {
        let gated = |reason: Reason| wishes.ignored_reasons.iter().any(|gate| gate.reason() == reason);
        let ignored = |reason: &Reason| gated(*reason) || wishes.ignored_statuses.contains(&reason.status());
        Self {
            ignored: Reason::ALL.iter().copied().filter(|reason| *reason != Reason::Valid).filter(ignored).collect(),
            banned: BannedWords::new(&wishes.banned_words),
            roles: RoleWords::new(&wishes.role_words),
        }
    }

    /// Returns the verdict about an address after the overrides.
    ///
    /// A banned word of five or more characters matches anywhere in the local part, a shorter one only as a separate word:
    /// `casino` matches `bestcasino`, `ass` does not match `cassandra`. A role word matches the whole local part before any `+`,
    /// also with a number of one or two digits after it. Letter case and compatible spellings are ignored.
    ///
    /// If all findings are ignored, the rule is `settings.ignored`.
    pub fn apply(&self, raw: &Verdict, email: &str) -> Verdict {
        let mut findings = raw.findings.clone();
        let local = email.rsplit_once('@').map_or("", |(local, _)| local);
        let mut find = |reason: Reason, meta: &'static str, rule: &Arc<str>| {
            if findings.iter().all(|finding| finding.reason != reason) {
                findings.push(Finding { reason, meta: Cow::Borrowed(meta), rule: rule.clone() });
            }
        };
        if self.banned.are_in(local) {
            find(Reason::BannedWords, "banned_word", &RULES.banned_words);
        }
        if self.roles.name(local) {
            find(Reason::RoleBased, "role", &RULES.role_words);
        }
        findings.retain(|finding| !self.ignored.contains(&finding.reason));
        let valid_rule = if raw.findings.is_empty() { &raw.rule } else { &RULES.ignored };
        Verdict::of(findings, valid_rule)
    }
}

#[cfg(test)]
mod tests;
