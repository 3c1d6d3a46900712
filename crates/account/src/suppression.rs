//! Lists of addresses that an organization has had trouble with: spam traps, people who complained, mail that came back.
//!
//! No mail server tells any of this, so the engine never finds it; a batch adds it to what was found ([`judged`]) before the
//! organization's overrides are applied. It changes neither the price nor what a live call is told.

use std::borrow::Cow;

use probity_mail::verdict::{Finding, Reason, Verdict};

probity_mail::named! {
    /// One of the lists.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SuppressionKind {
        /// Spam traps and spam accounts.
        Spam = "spam",
        /// People who have complained.
        Complained = "complained",
        /// Addresses from which mail has come back.
        Bounced = "bounced",
    }
}

impl SuppressionKind {
    /// What is found of an address on it.
    pub fn reason(self) -> Reason {
        match self {
            Self::Spam => Reason::Spam,
            Self::Complained => Reason::Complained,
            Self::Bounced => Reason::Bounced,
        }
    }
}

/// The verdict about an address that is on these lists. What the engine has found already stays as it found it.
pub fn judged(raw: &Verdict, lists: &[SuppressionKind]) -> Verdict {
    let mut findings = raw.findings.clone();
    for list in lists {
        if findings.iter().all(|finding| finding.reason != list.reason()) {
            findings.push(Finding {
                reason: list.reason(),
                meta: Cow::Borrowed("suppressed"),
                rule: format!("suppressions.{list}").into(),
            });
        }
    }
    Verdict::of(findings, &raw.rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overrides::{IgnorableReason, Overrides, Wishes};

    fn found(reasons: &[Reason]) -> Verdict {
        let finding = |reason: &Reason| Finding { reason: *reason, meta: "found".into(), rule: "engine".into() };
        Verdict::of(reasons.iter().map(finding).collect(), &"smtp.accepted".into())
    }

    fn reported(raw: &[Reason], lists: &[SuppressionKind]) -> (Reason, String, String) {
        let verdict = judged(&found(raw), lists);
        (verdict.reason, verdict.meta.into_owned(), verdict.rule.to_string())
    }

    #[test]
    fn a_listed_address_is_reported_where_its_reason_stands_in_the_contracts_order() {
        use Reason::{AcceptAll, Bounced, Disposable, Nonexistent, Spam, Unverified, Valid};
        let cases: [(&[Reason], &[SuppressionKind], Reason, &str); 8] = [
            (&[], &[], Valid, "smtp.accepted"),
            (&[], &[SuppressionKind::Bounced], Bounced, "suppressions.bounced"),
            (&[], &[SuppressionKind::Bounced, SuppressionKind::Spam], Spam, "suppressions.spam"),
            (&[Unverified], &[SuppressionKind::Bounced], Bounced, "suppressions.bounced"),
            (&[AcceptAll], &[SuppressionKind::Complained], Reason::Complained, "suppressions.complained"),
            (&[Disposable], &[SuppressionKind::Bounced], Bounced, "suppressions.bounced"),
            (&[Nonexistent], &[SuppressionKind::Spam], Nonexistent, "engine"),
            (&[Bounced], &[SuppressionKind::Bounced], Bounced, "engine"),
        ];
        for (raw, lists, reason, rule) in cases {
            let (got, _, by) = reported(raw, lists);
            assert_eq!((got, by.as_str()), (reason, rule), "{raw:?} on {lists:?}");
        }
        assert_eq!(reported(&[], &[SuppressionKind::Spam]).1, "suppressed");
        assert_eq!(reported(&[], &[]).1, "");
    }

    #[test]
    fn overrides_see_lists_as_any_other_finding() {
        let ignoring = |gate| {
            let wishes =
                Wishes { ignored_reasons: vec![IgnorableReason::from_name(gate).unwrap()], ..Wishes::default() };
            Overrides::new(&wishes)
        };
        let listed = judged(&found(&[Reason::AcceptAll]), &[SuppressionKind::Complained]);
        let verdict = ignoring("complainers").apply(&listed, "a@example.org");
        assert_eq!(verdict.reason, Reason::AcceptAll);
        let alone =
            ignoring("complainers").apply(&judged(&found(&[]), &[SuppressionKind::Complained]), "a@example.org");
        assert_eq!((alone.reason, &*alone.rule), (Reason::Valid, "settings.ignored"));
    }

    #[test]
    fn lists_have_the_names_of_their_reasons() {
        assert_eq!(SuppressionKind::ALL.map(SuppressionKind::as_str), ["spam", "complained", "bounced"]);
        for list in SuppressionKind::ALL {
            assert_eq!(SuppressionKind::from_name(list.as_str()), Some(list));
        }
        assert_eq!("nonexistent".parse::<SuppressionKind>(), Err(()));
    }
}
