//! Facts about a contact besides its address, and their effect on its verdict.

use std::borrow::Cow;

use probity_mail::verdict::{Finding, Reason, Status, Verdict};

use super::{ConnectionSettings, ContactAction, RuleKind};

/// Facts about a contact from rules and platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContactStanding {
    /// List whose rules decide: `Blacklist` acts regardless of the verdict, `Whitelist` never. `None` if no rule matches.
    pub judgment: Option<RuleKind>,
    /// Whether the platform reports a bounce.
    pub bounced: bool,
    /// Whether the platform reports a complaint.
    pub complained: bool,
}

impl ContactStanding {
    /// Returns the verdict about the contact. Existing findings stay.
    pub fn judged(self, raw: &Verdict) -> Verdict {
        let is_blacklisted = self.judgment == Some(RuleKind::Blacklist);
        let said = [
            (self.complained, Reason::Complained, "reported", "connection.complained"),
            (self.bounced, Reason::Bounced, "reported", "connection.bounced"),
            (is_blacklisted, Reason::Blacklisted, "keyword", "connection.blacklist"),
        ];
        let mut findings = raw.findings.clone();
        for (is_so, reason, meta, rule) in said {
            if is_so && findings.iter().all(|finding| finding.reason != reason) {
                findings.push(Finding { reason, meta: Cow::Borrowed(meta), rule: rule.into() });
            }
        }
        Verdict::of(findings, &raw.rule)
    }
}

/// Contact with its verdict.
#[derive(Clone, Copy, Debug)]
pub struct JudgedContact<'a> {
    /// Facts from rules and platform.
    pub standing: ContactStanding,
    /// Reported reason.
    pub reason: Reason,
    /// All findings that the organization does not ignore.
    pub findings: &'a [Reason],
    /// Whether a typo is likely, and the platform can change the address.
    pub may_be_fixed: bool,
}

impl ConnectionSettings {
    /// Returns the action on a contact and its reason; `None` if there is no action.
    ///
    /// Whitelisted contacts are never changed, and blacklisted ones are acted on regardless of their verdict. If the
    /// setting is on and there is an action, misspelled addresses are fixed instead of unsubscribed or deleted. Otherwise the first
    /// finding that passes a gate decides.
    pub fn action_on(&self, contact: JudgedContact<'_>) -> Option<(ContactAction, Reason)> {
        let JudgedContact { standing, reason, findings, may_be_fixed } = contact;
        let own = self.action.and_then(ContactAction::of);
        match standing.judgment {
            Some(RuleKind::Whitelist) => return None,
            Some(RuleKind::Blacklist) => return own.map(|action| (action, Reason::Blacklisted)),
            None => {}
        }
        if may_be_fixed && self.fixes(reason) {
            return Some((ContactAction::Fix, reason));
        }
        let acted = std::iter::once(&reason).chain(findings).find(|reason| self.checks.would_act(**reason));
        own.zip(acted.copied())
    }

    /// Returns whether these settings still request an action that earlier settings planned. A different tag or field is a
    /// different action, because the earlier field must no longer be overwritten.
    pub fn still_ask_for(&self, action: ContactAction, reason: Reason, planned_by: &Self) -> bool {
        let is_planned = self.action_for(reason).and_then(ContactAction::of) == Some(action);
        match action {
            ContactAction::Fix => self.fixes(reason),
            ContactAction::UpdateTags => is_planned && self.tag == planned_by.tag,
            ContactAction::UpdateCustomFields => is_planned && self.field == planned_by.field,
            ContactAction::Unsubscribe | ContactAction::Delete => is_planned,
        }
    }

    /// Returns whether misspelled addresses with this reason are fixed. Without an action, contacts are only verified.
    fn fixes(&self, reason: Reason) -> bool {
        // An address with an inconclusive verdict may be right.
        let is_wrong = reason.status() == Status::Undeliverable || self.checks.would_act(reason);
        self.fix_typos && is_wrong && self.action.and_then(ContactAction::of).is_some()
    }

    /// Returns the action that replaces an impossible fix; `None` if there is none.
    pub fn action_instead_of_fix(&self, reason: Reason) -> Option<ContactAction> {
        self.action_for(reason).and_then(ContactAction::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::{ConnectionAction, GateSet};

    const NONE: ContactStanding = ContactStanding { judgment: None, bounced: false, complained: false };

    fn found(reasons: &[Reason]) -> Verdict {
        let finding = |reason: &Reason| Finding { reason: *reason, meta: "found".into(), rule: "engine".into() };
        Verdict::of(reasons.iter().map(finding).collect(), &"smtp.accepted".into())
    }

    #[test]
    fn what_rules_and_platform_say_is_reported_in_the_contracts_order() {
        use Reason::{AcceptAll, Blacklisted, Bounced, Complained, Disposable, Nonexistent, Valid};
        let black = ContactStanding { judgment: Some(RuleKind::Blacklist), ..NONE };
        let white = ContactStanding { judgment: Some(RuleKind::Whitelist), ..NONE };
        let bounced = ContactStanding { bounced: true, ..NONE };
        let complained = ContactStanding { complained: true, ..bounced };
        let cases: [(&[Reason], ContactStanding, Reason, &str); 9] = [
            (&[], NONE, Valid, "smtp.accepted"),
            (&[], white, Valid, "smtp.accepted"),
            (&[], black, Blacklisted, "connection.blacklist"),
            (&[Disposable], black, Blacklisted, "connection.blacklist"),
            (&[Nonexistent], black, Nonexistent, "engine"),
            (&[AcceptAll], bounced, Bounced, "connection.bounced"),
            (&[], complained, Complained, "connection.complained"),
            (&[Bounced], bounced, Bounced, "engine"),
            (&[Nonexistent], white, Nonexistent, "engine"),
        ];
        for (raw, standing, reason, rule) in cases {
            let verdict = standing.judged(&found(raw));
            assert_eq!((verdict.reason, &*verdict.rule), (reason, rule), "{raw:?} {standing:?}");
        }
    }

    fn contact(standing: ContactStanding, findings: &[Reason], may_be_fixed: bool) -> JudgedContact<'_> {
        let reason = findings.first().copied().unwrap_or(Reason::Valid);
        JudgedContact { standing, reason, findings, may_be_fixed }
    }

    #[test]
    fn a_contact_is_acted_upon_as_rules_gates_and_action_say() {
        use Reason::{AcceptAll, Blacklisted, Bounced, Disposable, Invalid, Nonexistent};
        let settings = ConnectionSettings { action: Some(ConnectionAction::Delete), ..ConnectionSettings::default() };
        let by = |judgment| ContactStanding { judgment: Some(judgment), ..NONE };
        let (black, white) = (by(RuleKind::Blacklist), by(RuleKind::Whitelist));
        let cases: [(ContactStanding, &[Reason], Option<Reason>); 11] = [
            (NONE, &[], None),
            (NONE, &[Nonexistent], Some(Nonexistent)),
            (NONE, &[Invalid], Some(Invalid)),
            (NONE, &[Disposable], None),
            (NONE, &[AcceptAll], None),
            (NONE, &[Bounced, Disposable], Some(Bounced)),
            (NONE, &[Disposable, AcceptAll], None),
            (white, &[Nonexistent], None),
            (white, &[Invalid, Bounced], None),
            (black, &[], Some(Blacklisted)),
            (black, &[Disposable], Some(Blacklisted)),
        ];
        for (standing, findings, reason) in cases {
            let acted = settings.action_on(contact(standing, findings, false));
            assert_eq!(acted, reason.map(|reason| (ContactAction::Delete, reason)), "{standing:?} {findings:?}");
        }
        let open = ConnectionSettings { checks: GateSet::AGGRESSIVE, ..settings.clone() };
        let acted = open.action_on(contact(NONE, &[AcceptAll, Disposable], false));
        assert_eq!(acted, Some((ContactAction::Delete, Disposable)), "another finding passes its gate");
        for action in [None, Some(ConnectionAction::DoNothing)] {
            let idle = ConnectionSettings { action, ..settings.clone() };
            assert_eq!(idle.action_on(contact(NONE, &[Nonexistent], false)), None);
            assert_eq!(idle.action_on(contact(black, &[], false)), None);
        }
    }

    #[test]
    fn a_misspelt_address_is_fixed_only_if_the_customer_wishes_that() {
        use Reason::{Available, Nonexistent};
        let delete = ConnectionSettings { action: Some(ConnectionAction::Delete), ..ConnectionSettings::default() };
        let fixing = ConnectionSettings { fix_typos: true, ..delete.clone() };
        let acted = |settings: &ConnectionSettings, findings: &[Reason], may_be_fixed| {
            settings.action_on(contact(NONE, findings, may_be_fixed)).map(|(action, _)| action)
        };
        assert_eq!(acted(&delete, &[Nonexistent], true), Some(ContactAction::Delete));
        assert_eq!(acted(&fixing, &[Nonexistent], false), Some(ContactAction::Delete));
        assert_eq!(acted(&fixing, &[Nonexistent], true), Some(ContactAction::Fix));
        assert_eq!(acted(&fixing, &[Reason::InboxFull], true), Some(ContactAction::Fix), "it is undeliverable");
        for findings in [&[][..], &[Available], &[Reason::Unverified]] {
            assert_eq!(acted(&fixing, findings, true), None, "{findings:?}: the address may be right");
        }
        let white = ContactStanding { judgment: Some(RuleKind::Whitelist), ..NONE };
        assert_eq!(fixing.action_on(contact(white, &[Nonexistent], true)), None);
        let black = ContactStanding { judgment: Some(RuleKind::Blacklist), ..NONE };
        let by_rule = fixing.action_on(contact(black, &[Nonexistent], true));
        assert_eq!(by_rule, Some((ContactAction::Delete, Reason::Blacklisted)));
        assert_eq!(fixing.action_instead_of_fix(Nonexistent), Some(ContactAction::Delete));
        assert_eq!(fixing.action_instead_of_fix(Available), None);
    }

    #[test]
    fn a_fix_needs_an_action_and_a_wrong_address_when_planned_and_when_done() {
        use Reason::{Disposable, Nonexistent};
        let fixing = ConnectionSettings {
            action: Some(ConnectionAction::UpdateTags),
            fix_typos: true,
            ..ConnectionSettings::default()
        };
        let open = ConnectionSettings { checks: GateSet::AGGRESSIVE, ..fixing.clone() };
        let cases = [
            (fixing.clone(), Nonexistent, true),
            (fixing.clone(), Disposable, false),
            (open.clone(), Disposable, true),
            (ConnectionSettings { fix_typos: false, ..open.clone() }, Nonexistent, false),
            (ConnectionSettings { action: None, ..open.clone() }, Nonexistent, false),
            (ConnectionSettings { action: Some(ConnectionAction::DoNothing), ..open }, Nonexistent, false),
        ];
        for (settings, reason, is_fixed) in cases {
            let planned = settings.action_on(contact(NONE, &[reason], true));
            let what = format!("{reason:?} {settings:?}");
            assert_eq!(planned.is_some_and(|(action, _)| action == ContactAction::Fix), is_fixed, "{what}");
            assert_eq!(settings.still_ask_for(ContactAction::Fix, reason, &settings), is_fixed, "{what}");
        }
    }

    #[test]
    fn what_was_planned_is_still_asked_for_with_the_same_tag_and_the_same_field_only() {
        let acting = |action| ConnectionSettings { action: Some(action), ..ConnectionSettings::default() };
        let cases = [
            (ConnectionAction::UpdateTags, ContactAction::UpdateTags, false, true),
            (ConnectionAction::UpdateCustomFields, ContactAction::UpdateCustomFields, true, false),
            (ConnectionAction::Unsubscribe, ContactAction::Unsubscribe, true, true),
            (ConnectionAction::Delete, ContactAction::Delete, true, true),
        ];
        for (action, planned, with_another_tag, with_another_field) in cases {
            let before = acting(action);
            let asks = |now: &ConnectionSettings| now.still_ask_for(planned, Reason::Nonexistent, &before);
            assert!(asks(&before), "{action}");
            let tagged = ConnectionSettings { tag: "other".to_owned(), ..before.clone() };
            assert_eq!(asks(&tagged), with_another_tag, "{action}");
            let filled = ConnectionSettings { field: "other".to_owned(), ..before.clone() };
            assert_eq!(asks(&filled), with_another_field, "{action}");
            assert!(!asks(&acting(ConnectionAction::DoNothing)), "{action}");
        }
    }
}
