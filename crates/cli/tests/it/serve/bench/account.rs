//! Ledger checks of an installation with one organization, through the program itself.

use crate::serve::bench::node::{Installation, wait_for};
use crate::serve::bench::traffic::Seen;

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

    /// Sum of all credits, which is constant.
    pub(crate) fn total(self) -> u64 {
        self.available + self.held + self.spent
    }
}

/// Checks that the database has no discrepancies.
pub(crate) fn audit(installation: &Installation) {
    let ran = installation.run(&["audit", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
}

/// Waits until no job holds credits, which requires a running service. Then the ledger must agree, every credit must be available
/// or spent, and every credit spent must match a verdict that a client saw or may have missed.
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

/// Like [`nothing_lost`], if the database was never lost: then no verdict was free either.
pub(crate) fn settled(installation: &Installation, granted: u64, seen: &Seen) -> Account {
    let account = nothing_lost(installation, granted, seen);
    assert!(account.spent >= seen.charged, "a verdict was given for nothing: {account:?} {seen:?}");
    account
}
