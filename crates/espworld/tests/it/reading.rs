//! Reading lists and contacts: nobody who existed throughout is missed, and nobody is shown in a state that they are not in.

use std::collections::BTreeMap;

use probity_connectors::{ContactScope, ContactState, ContactsGoal, ReadGoal, ReadSince, SinceKind};
use probity_espworld::{EspContact, EspFaults, EspState, EspVendor, judge};

use crate::driver::{Harvest, read, read_contacts};
use crate::rig::{Rig, for_each, for_each_of, seeds};

/// Size of small pages: the smallest that every platform allows, and a little more.
fn small(seed: u64) -> u32 {
    10 + u32::try_from(seed % 23).unwrap()
}

pub(crate) fn is_by_list(rig: &Rig) -> bool {
    rig.file.contacts.as_ref().is_some_and(|contacts| contacts.scope == ContactScope::List)
}

pub(crate) fn missed(rig: &Rig, before: &probity_espworld::EspSnapshot, harvest: &Harvest) -> Vec<(u32, Option<u32>)> {
    let ids = harvest.ids();
    let is_read = |contact: &EspContact, list: Option<u32>| {
        let id = rig.world.contact_id(contact, list);
        ids.contains(&(id, list.map(|list| rig.world.list_id(list))))
    };
    // Customer.io is not asked for those who have unsubscribed.
    let is_shown = |contact: &EspContact, _: Option<u32>| {
        rig.world.vendor() != EspVendor::CustomerIo || contact.state == EspState::Subscribed
    };
    judge::unread(&rig.world, before, is_by_list(rig), is_shown, is_read)
}

/// Asserts that a contact is subscribed where, and only where, it was read so.
pub(crate) fn assert_states(rig: &Rig, harvest: &Harvest) {
    let by_list = is_by_list(rig);
    let mut states: BTreeMap<(String, Option<String>), ContactState> = BTreeMap::new();
    for contact in &harvest.contacts {
        states.insert((contact.id.clone(), contact.list.clone()), contact.state);
    }
    let snapshot = rig.world.account(|account| {
        let all = account.everyone().to_vec();
        all.into_iter().filter_map(|number| account.contact(number)).collect::<Vec<_>>()
    });
    for contact in snapshot {
        let places: Vec<_> = if by_list { contact.lists.keys().map(|list| Some(*list)).collect() } else { vec![None] };
        for list in places {
            let key = (rig.world.contact_id(&contact, list), list.map(|list| rig.world.list_id(list)));
            let Some(read) = states.get(&key) else { continue };
            let state = list.and_then(|list| contact.state_in(list)).unwrap_or(contact.state);
            assert_eq!(
                *read == ContactState::Subscribed,
                state == EspState::Subscribed,
                "{} was read as {read:?} and is {state:?}",
                contact.number
            );
            // Ghost names the reason of a suppression, which comes before the state of newsletters.
            let reported =
                [(EspState::Bounced, ContactState::Bounced), (EspState::Complained, ContactState::Complained)];
            if rig.world.vendor() == EspVendor::Ghost {
                let expected = reported.iter().find(|(state, _)| *state == contact.state).map(|(_, read)| *read);
                assert!(expected.is_none_or(|expected| *read == expected), "{}: {read:?}", contact.number);
            }
        }
    }
}

#[test]
fn lists_are_read_by_name_and_id() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::drawn(seed)).await;
        if rig.file.lists.is_none() {
            return;
        }
        let harvest = read(&mut rig, ReadGoal::Lists).await;
        // What a platform calls lists may be tags, of which there are none yet.
        if vendor != EspVendor::Convertkit {
            let ids: Vec<_> = harvest.lists.iter().map(|list| list.id.clone()).collect();
            let wanted: Vec<_> = (1..=3).map(|list| rig.world.list_id(list)).collect();
            let mut sorted = ids.clone();
            sorted.sort();
            let mut expected = wanted;
            expected.sort();
            assert_eq!(sorted, expected);
        }
        rig.assert_welcome();
    });
}

#[test]
fn nobody_is_missed_while_others_come() {
    for_each_of(&EspVendor::listing(), &seeds(), |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::drawn(seed)).await;
        rig.shrink(small(seed));
        let before = rig.world.snapshot();
        let harvest = read_contacts(&mut rig).await;
        assert_eq!(missed(&rig, &before, &harvest), []);
        assert_states(&rig, &harvest);
        assert!(harvest.contacts.len() >= 250, "{}", harvest.contacts.len());
        rig.assert_welcome();
    });
}

#[test]
fn pages_as_large_as_the_files_ask_for_are_allowed() {
    for_each_of(&EspVendor::listing(), &[1, 2], |vendor, seed| async move {
        let options = probity_espworld::EspOptions { contacts: 2_300, ..probity_espworld::EspOptions::new(seed) };
        let mut rig = Rig::with(vendor, options).await;
        let before = rig.world.snapshot();
        let harvest = read_contacts(&mut rig).await;
        assert_eq!(missed(&rig, &before, &harvest), []);
        rig.assert_welcome();
    });
}

#[test]
fn nobody_is_missed_while_others_go() {
    for_each_of(&EspVendor::listing(), &seeds(), |vendor, seed| async move {
        let faults = EspFaults { departures: 300, ..EspFaults::none() };
        let mut rig = Rig::new(vendor, seed, faults).await;
        rig.shrink(small(seed));
        let before = rig.world.snapshot();
        let harvest = read_contacts(&mut rig).await;
        // Gist's pages name no total, which its file says.
        if vendor != EspVendor::Gist {
            assert_eq!(missed(&rig, &before, &harvest), []);
        }
    });
}

#[test]
fn contacts_since_a_date_are_read() {
    for_each_of(&EspVendor::listing(), &seeds(), |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::drawn(seed)).await;
        rig.shrink(small(seed));
        let Some(since) = rig.file.contacts.as_ref().unwrap().since.clone() else { return };
        let mold_end = rig.now().0;
        let at = mold_end - 60 * 61_000;
        for (kind, rule) in [(SinceKind::Created, since.created), (SinceKind::Updated, since.updated)] {
            if rule.is_none() {
                continue;
            }
            let before = rig.world.snapshot();
            let goal = ContactsGoal { since: Some(ReadSince { kind, at }), ..ContactsGoal::default() };
            let harvest = read(&mut rig, ReadGoal::Contacts(goal)).await;
            let is_newer = |contact: &EspContact| match kind {
                SinceKind::Created => contact.created >= at,
                SinceKind::Updated => contact.updated >= at,
            };
            let newer: Vec<_> = missed(&rig, &before, &harvest)
                .into_iter()
                .filter(|(number, _)| {
                    let contact = rig.world.account(|account| account.contact(*number)).unwrap();
                    // Who has not confirmed has no date yet.
                    is_newer(&contact) && contact.state != EspState::Pending
                })
                .collect();
            assert_eq!(newer, [], "{kind:?}");
        }
        rig.assert_welcome();
    });
}

#[test]
fn small_accounts_and_empty_lists_are_read() {
    for_each_of(&EspVendor::listing(), &seeds()[..1], |vendor, seed| async move {
        for contacts in [0, 1, 10, 20] {
            let options = probity_espworld::EspOptions { contacts, ..probity_espworld::EspOptions::new(seed) };
            let mut rig = Rig::with(vendor, options).await;
            rig.shrink(10);
            let before = rig.world.snapshot();
            let harvest = read_contacts(&mut rig).await;
            assert_eq!(missed(&rig, &before, &harvest), [], "{contacts}");
            rig.assert_welcome();
        }
    });
}
