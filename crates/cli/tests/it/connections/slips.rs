//! Misspelled addresses. The sandbox decides about addresses outside `sandbox.test` by a hash.

use std::collections::BTreeMap;

use probity_espworld::{EspAccount, EspContact, EspState};
use probity_mail::verdict::Reason;
use probity_mailworld::sandbox::elsewhere;

/// Contacts with misspelled addresses.
const SLIPS: usize = 6;
/// Misspelled domain, and the intended one.
const WRONG: &str = "@gmal.com";
const RIGHT: &str = "@gmail.com";

/// Returns whether an address of a drill has no mailbox.
pub(super) fn is_nobody(email: &str) -> bool {
    email.ends_with("@sandbox.test") || email.ends_with(WRONG)
}

/// Misspells the addresses of some subscribed contacts. Returns the right address of each; `None` if that does not exist either.
pub(super) fn misspell(account: &mut EspAccount) -> BTreeMap<u32, Option<String>> {
    let everyone = account.everyone().iter().filter_map(|number| account.contact(*number));
    let fits = |one: &EspContact| one.state == EspState::Subscribed && one.email.ends_with("@catchall.sandbox.test");
    let chosen: Vec<u32> = everyone.filter(fits).map(|one| one.number).take(SLIPS).collect();
    let misspelled = chosen.into_iter().enumerate().map(|(place, number)| {
        let exists = place % 3 > 0;
        let (wrong, right) = slip(number, exists);
        assert!(account.correct(number, &wrong));
        (number, exists.then_some(right))
    });
    misspelled.collect()
}

/// Returns a misspelled address that does not exist, and the right one, which may exist.
fn slip(number: u32, exists: bool) -> (String, String) {
    let wanted = if exists { Reason::Valid } else { Reason::Nonexistent };
    let mut pairs = (0..).map(|attempt| {
        let local = format!("slip{attempt}.{number}");
        (format!("{local}{WRONG}"), format!("{local}{RIGHT}"))
    });
    let fits =
        |(wrong, right): &(String, String)| elsewhere(wrong).0 == Reason::Nonexistent && elsewhere(right).0 == wanted;
    pairs.find(fits).unwrap()
}
