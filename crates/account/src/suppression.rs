//! Suppression lists of an organization: spam traps, complaints and bounces.
//!
//! Mail servers report none of these, so the engine never finds them; a batch adds them to the findings ([`judged`]) before it
//! applies the organization's overrides. They change neither the price nor the verdicts of live calls.

use std::borrow::Cow;

use probity_mail::verdict::{Finding, Reason, Verdict};

probity_mail::named! {
    /// Kind of suppression list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SuppressionKind {
        /// Spam traps and spam accounts.
        Spam = "spam",
        /// Recipients who complained.
        Complained = "complained",
        /// Addresses that bounced.
        Bounced = "bounced",
    }
}

impl SuppressionKind {
    /// Returns the finding for an address on the list.
    pub fn reason(self) -> Reason {
        match self {
            Self::Spam => Reason::Spam,
            Self::Complained => Reason::Complained,
            Self::Bounced => Reason::Bounced,
        }
    }
}

/// Returns the verdict about an address that is on these lists. Findings of the engine stay unchanged.
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
