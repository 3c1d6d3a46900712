//! Settings drawn from a seed: a platform with its faults, the customer's settings, and the connector's file as an operator would
//! install it.

use probity_connectors::{ActionKind, Catalog};
use probity_espworld::{EspFaults, EspOptions, EspVendor, EspWorld};
use probity_mail::rng::Rng;

/// Size of pages, so that small accounts have several.
const PAGE: usize = 20;

/// Settings of a drill.
pub(super) struct DrillSettings {
    pub(super) vendor: EspVendor,
    pub(super) options: EspOptions,
    /// Action on contacts.
    pub(super) action: &'static str,
    /// Whether misspelled addresses are corrected instead.
    pub(super) fixes: bool,
    /// User's act while the run acts.
    pub(super) meanwhile: Meanwhile,
}

/// User's act while the run acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    Cancels,
    Deletes,
}

impl DrillSettings {
    pub(super) fn drawn(seed: u64, dice: &mut Rng) -> Self {
        let vendors = EspVendor::listing();
        let vendor = vendors[usize::try_from(seed).unwrap() % vendors.len()];
        let faults = faults(seed, dice.below(3) == 0);
        let contacts = 60 + u32::try_from(dice.below(100)).unwrap();
        let lists = 1 + u32::try_from(dice.below(3)).unwrap();
        let options = EspOptions { contacts, lists, faults, is_real_time: true, ..EspOptions::new(seed) }.sandboxed();
        let possible = actions(vendor);
        let meanwhile = match dice.below(4) {
            0 => Meanwhile::Cancels,
            1 => Meanwhile::Deletes,
            _ => Meanwhile::Nothing,
        };
        let action = possible[dice.below(possible.len())];
        let fixes = can_fix(vendor) && dice.below(2) == 0;
        Self { vendor, options, action, fixes, meanwhile }
    }
}

/// Returns faults of a run, with or without responses that no platform should send. The fourth consecutive unreadable response
/// would end the run.
fn faults(seed: u64, is_odd: bool) -> EspFaults {
    let drawn = EspFaults { dead_from: None, ..EspFaults::drawn(seed) };
    if is_odd { EspFaults { errors_inside: 60, empties: 60, max: 3, ..drawn } } else { EspFaults { max: 4, ..drawn } }
}

/// Returns the actions of a platform.
fn actions(vendor: EspVendor) -> Vec<&'static str> {
    let file = Catalog::embedded().get(vendor.slug()).unwrap();
    let names = [
        ("unsubscribe", "unsubscribe"),
        ("delete", "delete"),
        ("tag", "update_tags"),
        ("fields", "update_custom_fields"),
    ];
    let has = |name: &str| file.capabilities().actions.iter().any(|(kind, _)| kind.name() == name);
    names.iter().filter(|(name, _)| has(name)).map(|(_, action)| *action).collect()
}

/// Returns whether a platform corrects addresses, and finds contacts by ID. A platform that finds them by address reports a
/// missing contact after a lost response, as for a contact that has left.
fn can_fix(vendor: EspVendor) -> bool {
    Catalog::embedded().get(vendor.slug()).unwrap().looks_before(ActionKind::Fix)
}

/// Returns the connector's file with the platform's address, small pages, and polls as frequent as the service's checks.
pub(super) fn file_of(world: &EspWorld) -> String {
    let name = format!("{}.toml", world.vendor().slug());
    let (_, text) = Catalog::texts().iter().find(|(known, _)| *known == name).unwrap();
    // Constant Contact has another host for tokens.
    let hosts = ["https://api.cc.email", "https://authz.constantcontact.com"];
    let text = hosts.iter().fold((*text).to_owned(), |text, host| text.replace(host, world.origin()));
    let (before, rest) = text.split_once("\nbase = \"").unwrap();
    let (base, after) = rest.split_once("\"\n").unwrap();
    let base = if base.starts_with("https://") { world.base() } else { base.to_owned() };
    let text = format!("{before}\nbase = \"{base}\"\n{after}");
    let (before, contacts) = text.split_once("\n[contacts]\n").unwrap();
    let kept: Vec<_> = contacts.lines().filter(|line| !line.starts_with("poll = ")).collect();
    let contacts = format!("poll = \"1s\"\n{}\n", kept.join("\n"));
    // Some platforms return all contacts in one response.
    let Some((start, rest)) = contacts.split_once(" size = ") else {
        return format!("{before}\n[contacts]\n{contacts}");
    };
    let (_, end) = rest.split_once(',').unwrap();
    format!("{before}\n[contacts]\n{start} size = {PAGE},{end}")
}
