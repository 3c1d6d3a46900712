//! Judgments about a run: contacts that were not read, effects that were repeated, and effects that were not allowed.

use std::collections::BTreeSet;

use crate::account::{EspContact, EspEffect, EspEffectKind};
use crate::world::{EspSnapshot, EspWorld};

/// Returns the contacts that existed from a snapshot until now and that `is_read` rejects, as their numbers and lists.
///
/// `by_list` says whether contacts are read per list; contacts without a list are then not expected. `is_shown` excludes
/// contacts that the platform does not list.
pub fn unread(
    world: &EspWorld,
    before: &EspSnapshot,
    by_list: bool,
    is_shown: impl Fn(&EspContact, Option<u32>) -> bool,
    is_read: impl Fn(&EspContact, Option<u32>) -> bool,
) -> Vec<(u32, Option<u32>)> {
    let after = world.snapshot();
    let throughout = before.contacts.intersection(&after.contacts).filter(|(_, list)| list.is_some() == by_list);
    let is_missing = |(number, list): &&(u32, Option<u32>)| {
        let contact = world.account(|account| account.contact(*number));
        contact.is_some_and(|contact| is_shown(&contact, *list) && !is_read(&contact, *list))
    };
    throughout.filter(is_missing).copied().collect()
}

/// Returns the effects of calls that repeat those of an earlier call.
pub fn doubled(effects: &[EspEffect]) -> Vec<EspEffect> {
    let mut seen = BTreeSet::new();
    let by_calls = effects.iter().filter(|effect| effect.call > 0);
    by_calls
        .filter(|effect| !seen.insert(format!("{:?}", (&effect.kind, effect.contact, effect.list))))
        .cloned()
        .collect()
}

/// Returns the effects of calls that `is_allowed` rejects.
pub fn strayed(effects: &[EspEffect], is_allowed: impl Fn(&EspEffect) -> bool) -> Vec<EspEffect> {
    effects.iter().filter(|effect| effect.call > 0 && !is_allowed(effect)).cloned().collect()
}

/// Returns the number of calls over a rate limit.
pub fn excesses(world: &EspWorld) -> usize {
    world.ledger().excesses()
}

/// Returns the faults in the form of calls, without duplicates.
pub fn malformed(world: &EspWorld) -> Vec<String> {
    let ledger = world.ledger();
    let shown = ledger.blamed().map(|call| {
        let path = call.target.split('?').next().unwrap_or_default();
        format!("{} {path}: {}", call.method, call.blame.as_deref().unwrap_or_default())
    });
    shown.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the numbers of contacts with an effect.
pub fn touched(effects: &[EspEffect]) -> BTreeSet<u32> {
    let made_nothing = |effect: &&EspEffect| {
        effect.call > 0 && !matches!(effect.kind, EspEffectKind::MadeTag(_) | EspEffectKind::MadeField(_))
    };
    effects.iter().filter(made_nothing).filter_map(|effect| effect.contact).collect()
}
