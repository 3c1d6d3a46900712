//! Effects of actions: what an action does, and to which address. Marks keep the last one of each contact, as a keyed hash.
//!
//! A contact with the same effect needs no repetition while it stays as it is. Otherwise each run would plan the action again,
//! and webhooks would be told of it again.

use probity_access::secrets::Secrets;
use probity_account::connections::{ConnectionSettings, ContactAction, tag_text};
use probity_account::id::ConnId;
use probity_connectors::{ActionKind, ConnectorFile, ContactScope};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::connections::contacts::{ContactMark, DoneBefore};
use probity_store::privacy::suppressions::SuppressionTag;

/// Margin between the platform's clock and ours, in milliseconds: our own change must not look like a later one.
const MARGIN_MS: i64 = 10 * 60_000;

/// Action with everything that its effect depends on.
pub(crate) struct ContactEffect<'a> {
    pub(crate) kind: ContactAction,
    pub(crate) address: SuppressionTag,
    pub(crate) reason: Reason,
    pub(crate) suggestion: Option<&'a str>,
    /// Lists to which the action applies; empty if it applies to the account.
    pub(crate) lists: &'a [String],
}

impl ContactEffect<'_> {
    /// Returns the keyed hash.
    pub(crate) fn tag(&self, secrets: &Secrets, connection: ConnId, settings: &ConnectionSettings) -> [u8; 16] {
        let status = self.reason.status();
        // The template was validated with the settings.
        let tag = tag_text(&settings.tag, status, self.reason).unwrap_or_default();
        let mut does = vec![self.kind.as_str()];
        match self.kind {
            ContactAction::UpdateTags => does.push(&tag),
            ContactAction::UpdateCustomFields => {
                does.extend([&settings.field, status.as_str(), Reason::as_str(self.reason)]);
            }
            ContactAction::Fix => does.extend(self.suggestion),
            // For another reason, it is another act.
            ContactAction::Unsubscribe => does.push(Reason::as_str(self.reason)),
            ContactAction::Delete => {}
        }
        let mut lists: Vec<&str> = self.lists.iter().map(String::as_str).collect();
        lists.sort_unstable();
        does.extend(lists);
        secrets.contact_effect(connection, &self.address, &does)
    }
}

/// Returns the actions that the platform performs in each list separately.
pub(crate) fn by_list(file: &ConnectorFile) -> Vec<ContactAction> {
    let is_by_list = |action: &ContactAction| {
        file.actions.rule(kind_of(*action)).is_some_and(|rule| rule.scope == ContactScope::List)
    };
    ContactAction::ALL.into_iter().filter(is_by_list).collect()
}

/// Maps an action to the connector's.
pub fn kind_of(action: ContactAction) -> ActionKind {
    match action {
        ContactAction::Unsubscribe => ActionKind::Unsubscribe,
        ContactAction::Delete => ActionKind::Delete,
        ContactAction::UpdateTags => ActionKind::Tag,
        ContactAction::UpdateCustomFields => ActionKind::Fields,
        ContactAction::Fix => ActionKind::Fix,
    }
}

/// Returns whether an earlier run has done exactly this, and the contact has not changed since.
pub(crate) fn is_repetition(mark: &ContactMark, kind: ContactAction, effect: [u8; 16]) -> bool {
    let Some((DoneBefore::Done(done), at)) = mark.done else { return false };
    let is_unchanged = mark.changed_at.is_none_or(|changed| changed <= at + MARGIN_MS);
    done == kind && mark.effect == Some(effect) && is_unchanged
}

/// Returns since when a contact is subscribed again that an earlier run has unsubscribed for the same reason from the same lists: the
/// time of its last change, or of the reading if the platform does not tell a later one.
pub(crate) fn subscribed_again(mark: &ContactMark, unsubscribing: [u8; 16]) -> Option<Millis> {
    let Some((DoneBefore::Done(ContactAction::Unsubscribe), at)) = mark.done else { return None };
    let since = mark.changed_at.filter(|changed| *changed > at + MARGIN_MS).unwrap_or(mark.seen_at);
    (mark.effect == Some(unsubscribing)).then_some(since)
}

/// Returns whether an earlier run found that another contact has the suggested address, and this contact still had the wrong
/// one when it was read. Within one run, the contact itself may have taken it, if the response to the first request was lost.
pub(crate) fn was_taken(mark: &ContactMark, effect: [u8; 16]) -> bool {
    matches!(mark.done, Some((DoneBefore::Taken, at)) if at < mark.seen_at) && mark.effect == Some(effect)
}

#[cfg(test)]
mod tests {
    use probity_store::jobs::JobNo;

    use super::*;

    const AT: Millis = Millis(1_000_000_000);

    fn mark(done: DoneBefore, changed_at: Option<i64>) -> ContactMark {
        let (address, effect) = ([1; 16], Some([2; 16]));
        let changed_at = changed_at.map(Millis);
        ContactMark { address, job: JobNo(1), seen_at: AT + 1, changed_at, done: Some((done, AT)), effect }
    }

    #[test]
    fn only_the_same_effect_on_an_unchanged_contact_is_a_repetition() {
        let kind = ContactAction::UpdateTags;
        let done = DoneBefore::Done(kind);
        let cases = [
            (mark(done, None), [2; 16], true),
            (mark(done, Some(AT.0 + MARGIN_MS)), [2; 16], true),
            (mark(done, Some(AT.0 + MARGIN_MS + 1)), [2; 16], false),
            (mark(done, None), [3; 16], false),
            (mark(DoneBefore::Done(ContactAction::Delete), None), [2; 16], false),
            (mark(DoneBefore::Taken, None), [2; 16], false),
        ];
        for (mark, effect, is_repeated) in cases {
            assert_eq!(is_repetition(&mark, kind, effect), is_repeated, "{mark:?}");
        }
        assert!(was_taken(&mark(DoneBefore::Taken, None), [2; 16]));
        assert!(!was_taken(&mark(DoneBefore::Taken, None), [3; 16]), "another suggestion");
        assert!(!was_taken(&ContactMark { seen_at: AT, ..mark(DoneBefore::Taken, None) }, [2; 16]), "by this run");
    }

    #[test]
    fn a_contact_is_subscribed_again_since_it_changed_or_was_read() {
        let done = DoneBefore::Done(ContactAction::Unsubscribe);
        let later = AT.0 + 2 * MARGIN_MS;
        assert_eq!(subscribed_again(&mark(done, Some(later)), [2; 16]), Some(Millis(later)));
        for changed_at in [None, Some(AT.0)] {
            assert_eq!(subscribed_again(&mark(done, changed_at), [2; 16]), Some(AT + 1), "when it was read");
        }
        assert_eq!(subscribed_again(&mark(done, None), [3; 16]), None, "another reason, or other lists");
        assert_eq!(subscribed_again(&mark(DoneBefore::Done(ContactAction::Delete), None), [2; 16]), None);
    }

    #[test]
    fn an_effect_is_what_the_contact_gets_and_where() {
        let secrets = Secrets::of(&[1; 32]);
        let settings = ConnectionSettings::default();
        let lists = ["b".to_owned(), "a".to_owned()];
        let one = |kind, reason, lists: &[String], suggestion| {
            let effect = ContactEffect { kind, address: [1; 16], reason, suggestion, lists };
            effect.tag(&secrets, ConnId::from_bits(1), &settings)
        };
        let (tags, field) = (ContactAction::UpdateTags, ContactAction::UpdateCustomFields);
        let (gone, invalid) = (Reason::Nonexistent, Reason::Invalid);
        assert_eq!(one(tags, gone, &[], None), one(tags, invalid, &[], None), "the tag names the status only");
        assert_ne!(one(field, gone, &[], None), one(field, invalid, &[], None));
        assert_eq!(one(tags, gone, &lists, None), one(tags, gone, &["a".to_owned(), "b".to_owned()], None));
        assert_ne!(one(tags, gone, &lists, None), one(tags, gone, &lists[..1], None));
        let unsubscribe = ContactAction::Unsubscribe;
        assert_ne!(one(unsubscribe, gone, &lists, None), one(unsubscribe, invalid, &lists, None));
        let fix = |to| one(ContactAction::Fix, gone, &[], Some(to));
        assert_ne!(fix("ann@example.org"), fix("ann@example.com"));
    }
}
