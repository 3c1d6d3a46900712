//! What the books of an installation with one organization say, asked with the program itself.

use super::node::{Installation, wait_for};
use super::traffic::Seen;

/// An organization's prepaid credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) available: u64,
    pub(crate) held: u64,
    pub(crate) spent: u64,
}

impl Account {
    pub(crate) fn of(installation: &Installation) -> Self {
        let balance = installation.ask(&["credits", "show", "--json"]);
        let number = |name: &str| balance["prepaid"][name].as_u64().unwrap();
        Self { available: number("available"), held: number("held"), spent: number("spent") }
    }

    /// Every credit is somewhere, at any time.
    pub(crate) fn total(self) -> u64 {
        self.available + self.held + self.spent
    }
}

/// Everything in the database must agree.
pub(crate) fn audit(installation: &Installation) {
    let ran = installation.run(&["audit", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
}

/// Waits until no job holds a credit any more, which only a running service brings about; then the books must agree, every
/// credit must be available or spent, and nothing may be spent that no client was told of or may have missed.
pub(crate) fn nothing_lost(installation: &Installation, granted: u64, seen: &Seen) -> Account {
    let account = wait_for("the end of all holds", || {
        let account = Account::of(installation);
        (account.held == 0).then_some(account)
    });
    audit(installation);
    assert_eq!(account.total(), granted, "{account:?}");
    assert!(account.spent <= seen.charged + seen.uncertain(), "{account:?} {seen:?}");
    assert!(seen.odd.is_empty(), "{seen:?}");
    account
}

/// The same where the database was there all the time: then no verdict was given for nothing either.
pub(crate) fn settled(installation: &Installation, granted: u64, seen: &Seen) -> Account {
    let account = nothing_lost(installation, granted, seen);
    assert!(account.spent >= seen.charged, "a verdict was given for nothing: {account:?} {seen:?}");
    account
}
