//! Actions: done once, to the right contacts and to no others, whatever is lost on the way.

use std::collections::{BTreeMap, BTreeSet};

use probity_connectors::{
    ActStep, Acting, ActionKind, ActionOrder, ActionOutcome, ActionTarget, ContactScope, ErrorClass, Response,
    VerdictFacts,
};
use probity_espworld::{EspAccount, EspContact, EspEffect, EspEffectKind, EspFaults, EspState, EspVendor, judge};
use probity_mail::rng::Rng;
use probity_mail::time::Millis;
use serde_json::json;

use crate::driver::act;
use crate::rig::{Rig, for_each, for_each_of};

/// List that the actions are about.
const LIST: u32 = 1;
/// Contacts of one action.
const TARGETS: usize = 9;

/// Returns the key under which the field's value is found.
fn field_key(vendor: EspVendor) -> &'static str {
    match vendor {
        EspVendor::Mailchimp | EspVendor::Brevo | EspVendor::Activecampaign => "PROBITY",
        EspVendor::CampaignMonitor => "[probity]",
        _ => "probity",
    }
}

/// Returns the name under which the platform has the tag.
fn tag_name(vendor: EspVendor) -> &'static str {
    match vendor {
        EspVendor::Getresponse => "Probity_nonexistent",
        _ => "Probity: nonexistent",
    }
}

/// Whether two contacts may have the same address.
fn allows_twins(vendor: EspVendor) -> bool {
    matches!(vendor, EspVendor::Mautic | EspVendor::Ontraport)
}

/// Chooses subscribed members of the list whom nothing was done to yet.
fn chosen(rig: &Rig, rng: &mut Rng, count: usize) -> Vec<EspContact> {
    let touched = judge::touched(&rig.world.effects());
    let mut members = rig.world.account(|account| {
        let numbers = account.members(LIST).to_vec();
        numbers.into_iter().filter_map(|number| account.contact(number)).collect::<Vec<_>>()
    });
    members
        .retain(|contact| !touched.contains(&contact.number) && contact.state_in(LIST) == Some(EspState::Subscribed));
    rng.shuffle(&mut members);
    members.truncate(count);
    assert_eq!(members.len(), count, "the account is too small");
    members
}

pub(crate) struct Deed {
    kind: ActionKind,
    pub(crate) order: ActionOrder,
    contacts: Vec<EspContact>,
    scope: ContactScope,
}

pub(crate) fn deed(rig: &Rig, kind: ActionKind, rng: &mut Rng) -> Option<Deed> {
    let rule = rig.file.actions.rule(kind)?;
    let contacts = chosen(rig, rng, TARGETS);
    let in_list = crate::reading::is_by_list(rig).then_some(LIST);
    let target = |contact: &EspContact| ActionTarget {
        id: rig.world.contact_id(contact, in_list),
        email: contact.email.clone(),
        lists: in_list.map(|list| rig.world.list_id(list)).into_iter().collect(),
        verdict: VerdictFacts {
            status: "failed".to_owned(),
            reason: "nonexistent".to_owned(),
            suggestion: (kind == ActionKind::Fix).then(|| format!("right.{}@example.org", contact.number)),
            at: Millis(rig.now().0 - 3_600_000),
        },
        value: (kind == ActionKind::Fields).then(|| json!(format!("nonexistent {}", contact.number))),
    };
    let order = ActionOrder {
        kind,
        list: (rule.scope == ContactScope::List).then(|| rig.world.list_id(LIST)),
        tag: (kind == ActionKind::Tag).then(|| "Probity: nonexistent".to_owned()),
        field: (kind == ActionKind::Fields).then(|| rig.file.field.usual.clone()),
        targets: contacts.iter().map(target).collect(),
    };
    Some(Deed { kind, order, contacts, scope: rule.scope })
}

/// Whether a contact is as the action wanted it.
fn is_done(rig: &Rig, deed: &Deed, before: &EspContact) -> bool {
    let after = rig.world.account(|account| account.contact(before.number));
    let in_list = (deed.scope == ContactScope::List).then_some(LIST);
    let state = after.as_ref().and_then(|contact| match in_list {
        Some(list) => contact.state_in(list),
        None if rig.world.vendor() == EspVendor::Ghost => contact
            .lists
            .values()
            .find(|state| **state == EspState::Subscribed)
            .or(Some(&EspState::Unsubscribed))
            .copied(),
        None => Some(contact.state),
    });
    match (deed.kind, &after) {
        (ActionKind::Unsubscribe, _) => state != Some(EspState::Subscribed),
        (ActionKind::Delete, _) => matches!(state, None | Some(EspState::Archived)),
        (_, None) => false,
        (ActionKind::Tag, Some(contact)) => {
            let names = rig.world.account(|account| account.tag_names(contact));
            names.iter().any(|name| name == tag_name(rig.world.vendor()))
        }
        (ActionKind::Fields, Some(contact)) => {
            contact.fields.get(field_key(rig.world.vendor())) == Some(&json!(format!("nonexistent {}", contact.number)))
        }
        (ActionKind::Fix, Some(contact)) => contact.email == format!("right.{}@example.org", contact.number),
    }
}

/// Whether an effect is what an action may have. Unsubscribing from a list must not reach the whole account.
fn is_allowed(deed: &Deed, effect: &EspEffect) -> bool {
    let is_ours = effect.contact.is_none_or(|number| deed.contacts.iter().any(|contact| contact.number == number));
    let in_list = effect.list == Some(LIST);
    let fits = match (&effect.kind, deed.kind) {
        (EspEffectKind::Moved(EspState::Unsubscribed), ActionKind::Unsubscribe) => {
            in_list || deed.scope == ContactScope::Account
        }
        (EspEffectKind::Left, ActionKind::Unsubscribe | ActionKind::Delete)
        | (EspEffectKind::Moved(EspState::Archived), ActionKind::Delete) => in_list,
        (EspEffectKind::Deleted, ActionKind::Delete) => deed.scope == ContactScope::Account,
        (EspEffectKind::MadeTag(_) | EspEffectKind::Tagged(_), ActionKind::Tag)
        | (EspEffectKind::MadeField(_) | EspEffectKind::Written(..), ActionKind::Fields)
        | (EspEffectKind::Readdressed(_), ActionKind::Fix) => true,
        // Mailman registers and verifies the new address first.
        (EspEffectKind::Written(name, _), ActionKind::Fix) => name.starts_with('('),
        _ => false,
    };
    is_ours && fits
}

pub(crate) async fn every_action(vendor: EspVendor, seed: u64, faults: EspFaults) {
    let mut rig = Rig::new(vendor, seed, faults).await;
    let mut rng = Rng::new(seed ^ 0xac7);
    let mut memory = BTreeMap::new();
    let mut kinds = ActionKind::ALL.to_vec();
    rng.shuffle(&mut kinds);
    for kind in kinds {
        let Some(deed) = deed(&rig, kind, &mut rng) else { continue };
        let first = rig.world.effects().len();
        let outcomes = act(&mut rig, deed.order.clone(), &mut memory).await;
        let effects = rig.world.effects()[first..].to_vec();
        for (contact, outcome) in deed.contacts.iter().zip(&outcomes) {
            let done = matches!(outcome, ActionOutcome::Done { .. } | ActionOutcome::Gone);
            assert!(done, "{kind:?} of {}: {outcome:?}", contact.email);
            assert!(is_done(&rig, &deed, contact), "{kind:?} of {} is not done: {effects:#?}", contact.email);
        }
        assert_eq!(judge::doubled(&effects), [], "{kind:?}");
        assert_eq!(judge::strayed(&effects, |effect| is_allowed(&deed, effect)), [], "{kind:?}");
        assert_nothing_new(&mut rig, &deed, &mut memory).await;
    }
    rig.assert_welcome();
}

/// Repeats an action, as after a crash before its outcomes were stored.
async fn assert_nothing_new(rig: &mut Rig, deed: &Deed, memory: &mut BTreeMap<String, String>) {
    let before = rig.world.effects();
    let outcomes = act(rig, deed.order.clone(), memory).await;
    let done = |outcome: &ActionOutcome| matches!(outcome, ActionOutcome::Done { .. } | ActionOutcome::Gone);
    assert!(outcomes.iter().all(done), "{:?} again: {outcomes:?}", deed.kind);
    let by_calls = |effects: &[EspEffect]| effects.iter().filter(|effect| effect.call > 0).count();
    assert_eq!(by_calls(&rig.world.effects()), by_calls(&before), "{:?} again", deed.kind);
}

#[test]
fn every_action_is_done_once_and_to_nobody_else() {
    for_each(|vendor, seed| Box::pin(every_action(vendor, seed, EspFaults::none())));
}

#[test]
fn lost_replies_and_failures_repeat_no_action() {
    for_each(|vendor, seed| async move {
        let faults = EspFaults { arrivals: 0, ..EspFaults::drawn(seed) };
        Box::pin(every_action(vendor, seed, faults)).await;
    });
}

#[test]
fn tags_and_fields_that_were_deleted_between_two_runs_are_made_again() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let mut rng = Rng::new(seed ^ 0xde1);
        for kind in [ActionKind::Tag, ActionKind::Fields] {
            let Some(deed) = deed(&rig, kind, &mut rng) else { continue };
            act(&mut rig, deed.order.clone(), &mut BTreeMap::new()).await;
            rig.world.account(EspAccount::delete_tags_and_fields);
            let outcomes = act(&mut rig, deed.order.clone(), &mut BTreeMap::new()).await;
            for (contact, outcome) in deed.contacts.iter().zip(&outcomes) {
                assert!(matches!(outcome, ActionOutcome::Done { .. }), "{kind:?} of {}: {outcome:?}", contact.email);
                assert!(is_done(&rig, &deed, contact), "{kind:?} of {} is not done", contact.email);
            }
        }
        rig.assert_welcome();
    });
}

#[test]
fn contacts_that_changed_their_addresses_are_left_alone() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let mut rng = Rng::new(seed ^ 0xc4a);
        for kind in ActionKind::ALL.into_iter().filter(|kind| rig.file.looks_before(*kind)).collect::<Vec<_>>() {
            let Some(deed) = deed(&rig, kind, &mut rng) else { continue };
            let changed = deed.contacts[4].clone();
            let corrected = format!("{}.{}@example.org", kind.name(), changed.number);
            assert!(rig.world.account(|account| account.correct(changed.number, &corrected)));
            let first = rig.world.effects().len();
            let outcomes = act(&mut rig, deed.order.clone(), &mut BTreeMap::new()).await;
            for (contact, outcome) in deed.contacts.iter().zip(&outcomes) {
                // Found by its address, it is no longer there.
                let is_gone = vendor == EspVendor::Mailchimp && *outcome == ActionOutcome::Gone;
                let is_changed = *outcome == ActionOutcome::Changed || is_gone;
                assert_eq!(is_changed, contact.number == changed.number, "{kind:?} of {}: {outcome:?}", contact.email);
            }
            let effects = rig.world.effects()[first..].to_vec();
            assert!(!judge::touched(&effects).contains(&changed.number), "{kind:?}: {effects:#?}");
        }
        rig.assert_welcome();
    });
}

/// Answer by which a platform rejects a request, without a reason that a connector's file names.
fn rejection(at: Millis) -> Response {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    Response { status: 418, headers, body: b"{\"message\":\"unprocessable\"}".to_vec(), is_cut: false, at }
}

#[test]
fn a_contact_that_cannot_be_read_holds_up_no_other_one() {
    for_each_of(&EspVendor::ALL, &[1], |vendor, seed| async move {
        const BAD: usize = 4;
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let mut rng = Rng::new(seed ^ 0xbad);
        Box::pin(rig.authorize()).await;
        let (file, credentials) = (rig.file.clone(), rig.credentials.clone());
        for kind in ActionKind::ALL.into_iter().filter(|kind| file.looks_before(*kind)) {
            let Some(deed) = deed(&rig, kind, &mut rng) else { continue };
            let mut acting = Acting::new(&file, &credentials, deed.order.clone(), BTreeMap::new()).unwrap();
            let (mut looks, mut rejected) = (0, 0);
            while let ActStep::Send(request) = acting.next(rig.now()).unwrap() {
                looks += usize::from(acting.is_looking());
                let is_bad = acting.is_looking() && looks == BAD + 1;
                let response = if is_bad { rejection(rig.now()) } else { rig.send(&request).await.unwrap() };
                match acting.answer(&response) {
                    Ok(_) => {}
                    Err(fault) if fault.class == ErrorClass::Invalid => {
                        assert_eq!(acting.leave_out(&fault.message), Some(BAD), "{kind:?}");
                        rejected += 1;
                    }
                    Err(fault) => rig.rest(&fault),
                }
            }
            assert_eq!((looks, rejected), (TARGETS, 1), "{kind:?}: each contact is read once");
            for (index, contact) in deed.contacts.iter().enumerate() {
                assert_eq!(is_done(&rig, &deed, contact), index != BAD, "{kind:?} of {}", contact.email);
            }
        }
    });
}

/// Whether a platform shows of a single contact that it has unsubscribed. Mailman and `GetResponse` remove it instead.
fn shows_opt_outs(vendor: EspVendor) -> bool {
    !matches!(vendor, EspVendor::Mailman | EspVendor::Getresponse)
}

#[test]
fn contacts_that_have_unsubscribed_meanwhile_are_left_alone() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let mut rng = Rng::new(seed ^ 0x0f7);
        for kind in ActionKind::ALL.into_iter().filter(|kind| rig.file.looks_before(*kind)).collect::<Vec<_>>() {
            let Some(deed) = deed(&rig, kind, &mut rng) else { continue };
            let left = deed.contacts[4].clone();
            assert!(rig.world.account(|account| account.opt_out(left.number)));
            let first = rig.world.effects().len();
            let outcomes = act(&mut rig, deed.order.clone(), &mut BTreeMap::new()).await;
            let wanted = if kind == ActionKind::Unsubscribe { ActionOutcome::Gone } else { ActionOutcome::Changed };
            for (contact, outcome) in deed.contacts.iter().zip(&outcomes) {
                let is_done = matches!(outcome, ActionOutcome::Done { .. });
                let is_left = contact.number == left.number && shows_opt_outs(vendor);
                assert!(
                    if is_left { *outcome == wanted } else { is_done },
                    "{kind:?} of {}: {outcome:?}",
                    contact.email
                );
            }
            let effects = rig.world.effects()[first..].to_vec();
            let is_touched = judge::touched(&effects).contains(&left.number);
            assert_eq!(is_touched, !shows_opt_outs(vendor), "{kind:?}: {effects:#?}");
        }
        rig.assert_welcome();
    });
}

#[test]
fn contacts_that_are_gone_and_addresses_that_are_taken_are_told_apart() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let mut rng = Rng::new(seed ^ 0x90e);
        for kind in ActionKind::ALL {
            let Some(mut deed) = deed(&rig, kind, &mut rng) else { continue };
            // One left before, one is about to get the address of another.
            let (gone, renamed) = (deed.contacts[2].clone(), deed.contacts[5].clone());
            if kind == ActionKind::Fix {
                let mut others = chosen(&rig, &mut rng, TARGETS + 1).into_iter();
                let other = others.find(|other| !deed.contacts.iter().any(|one| one.number == other.number)).unwrap();
                deed.order.targets[5].verdict.suggestion = Some(other.email);
            }
            rig.world.account(|account| account.remove(gone.number));
            let first = rig.world.effects().len();
            let outcomes = act(&mut rig, deed.order.clone(), &mut BTreeMap::new()).await;
            let effects = rig.world.effects()[first..].to_vec();
            for (contact, outcome) in deed.contacts.iter().zip(&outcomes) {
                let wanted: &[fn(&ActionOutcome) -> bool] = if contact.number == gone.number {
                    &[
                        |outcome| matches!(outcome, ActionOutcome::Gone),
                        |outcome| matches!(outcome, ActionOutcome::Done { .. }),
                    ]
                } else if kind == ActionKind::Fix && contact.number == renamed.number && !allows_twins(vendor) {
                    &[|outcome| matches!(outcome, ActionOutcome::Taken)]
                } else {
                    &[|outcome| matches!(outcome, ActionOutcome::Done { .. })]
                };
                assert!(wanted.iter().any(|fits| fits(outcome)), "{kind:?} of {}: {outcome:?}", contact.email);
            }
            let touched: BTreeSet<u32> = judge::touched(&effects);
            assert!(!touched.contains(&gone.number), "{kind:?}: {effects:#?}");
        }
        rig.assert_welcome();
    });
}
