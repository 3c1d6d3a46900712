//! What an organization overrides in the verdicts of its batches.
//!
//! The engine keeps everything that it has found; an organization says which findings it does not mind, and which words it
//! minds besides. [`Overrides::apply`] adds what the words find, leaves out what is ignored, and reports the first finding
//! that is left in the order of [`Reason::ALL`]; where none is left the verdict is `valid`. The price of an address, and
//! what a live call is told, come from the raw verdict: nothing here is asked for them.
//!
//! Reasons are ignored by the names of their [`IgnorableReason`]s. Four have no gate (`invalid`, `illegitimate`, `blacklisted`,
//! `available`): nobody ignores one of them by itself. A status is ignored with every finding that has it, those without a
//! gate included: who ignores `undeliverable` has said that no finding of a mail server shall count.

mod words;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use probity_mail::verdict::{Finding, Reason, Status, Verdict};
use words::{BannedWords, RoleWords};
pub(crate) use words::{folded, patterns};

/// A reason that an organization may ignore, under the name that settings and connections have for it.
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

    /// The name in the contract: that of the reason, but for `complainers`.
    pub fn as_str(self) -> &'static str {
        match self.0 {
            Reason::Complained => "complainers",
            reason => reason.as_str(),
        }
    }

    /// The gate of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == name)
    }

    /// The reason behind it.
    pub fn reason(self) -> Reason {
        self.0
    }
}

/// The statuses that can be ignored. `passed` is none: no finding has it.
pub const IGNORABLE: [Status; 3] = [Status::Undeliverable, Status::Risky, Status::Unknown];

/// What an organization wishes, as it is stored and shown. Empty: verdicts stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Reasons that it does not mind.
    pub ignored_reasons: Vec<IgnorableReason>,
    /// Statuses that it does not mind.
    pub ignored_statuses: Vec<Status>,
    /// Words that no local part shall carry ([`Overrides::apply`] says what that means).
    pub banned_words: Vec<String>,
    /// Local parts that are those of functions, besides the ones that everybody knows.
    pub role_words: Vec<String>,
}

/// [`Wishes`], made ready to be applied to many verdicts.
#[derive(Debug)]
pub struct Overrides {
    ignored: Vec<Reason>,
    banned: BannedWords,
    roles: RoleWords,
}

/// The rules that findings and verdicts of this module name.
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
    /// Makes wishes ready. A thousand words take about a millisecond.
    pub fn new(wishes: &Wishes) -> Self {
        let gated = |reason: Reason| wishes.ignored_reasons.iter().any(|gate| gate.reason() == reason);
        let ignored = |reason: &Reason| gated(*reason) || wishes.ignored_statuses.contains(&reason.status());
        Self {
            ignored: Reason::ALL.iter().copied().filter(|reason| *reason != Reason::Valid).filter(ignored).collect(),
            banned: BannedWords::new(&wishes.banned_words),
            roles: RoleWords::new(&wishes.role_words),
        }
    }

    /// The verdict about an address after the overrides.
    ///
    /// A banned word of five characters or more is found anywhere in the local part, a shorter one only as a word by itself:
    /// `casino` is in `bestcasino`, `ass` is not in `cassandra`. A role word is the whole local part before any `+`, or that
    /// and a number of one or two digits. Neither knows upper from lower case, nor spellings that Unicode holds compatible.
    ///
    /// Where all findings were ignored the rule is `settings.ignored`.
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
