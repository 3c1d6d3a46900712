//! Second look: verifies addresses again before an action that cannot be undone.

use probity_account::connections::ContactAction;
use probity_engine::LiveCall;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status, Verification};
use probity_store::connections::actions::RowAction;

use super::held::HeldRun;

/// Age from which a verdict is confirmed again, in milliseconds: 1 day.
const AGE_MS: i64 = 24 * 3_600_000;
/// Deadline of a verdict, in milliseconds.
const DEADLINE_MS: u64 = 30_000;
/// Maximum attempts at an address whose verdict is inconclusive.
const ATTEMPTS_MAX: i64 = 3;

/// Result of a second look.
pub(super) enum SecondLook {
    /// The verdict is confirmed.
    Holds,
    /// The verdict has changed, for this reason.
    Differs(&'static str),
    /// The verdict is inconclusive now; retry later.
    Later,
}

/// Verifies an address without charging credits.
pub(super) async fn ask(held: &HeldRun<'_>, email: &str) -> Verification {
    let live = LiveCall { timeout_ms: DEADLINE_MS, scope: held.run.org.0.unsigned_abs() };
    held.runs.verifier(held.test).verify(email, live).await
}

/// Returns whether an action needs a second look.
pub(super) fn is_due(action: &RowAction, now: Millis) -> bool {
    let last = action.checked_at.map_or(action.verified_at, |checked| checked.max(action.verified_at));
    let is_old = now.since(last) > AGE_MS;
    let depends = action.kind == ContactAction::Fix || depends_on_servers(action.reason);
    is_old && action.kind.is_destructive() && depends
}

/// Returns whether a reason depends on MX hosts or domains. Rules, words and the customer's own data do not age.
fn depends_on_servers(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::Invalid
            | Reason::Blacklisted
            | Reason::Spam
            | Reason::Complained
            | Reason::Bounced
            | Reason::BannedWords
            | Reason::RoleBased
    )
}

/// Verifies an address again, and the suggested address of a fix.
pub(super) async fn look(held: &HeldRun<'_>, action: &RowAction, email: &str, suggestion: Option<&str>) -> SecondLook {
    if depends_on_servers(action.reason) {
        let own = look_at(held, action, email).await;
        if !matches!(own, SecondLook::Holds) {
            return own;
        }
    }
    if action.kind != ContactAction::Fix {
        return SecondLook::Holds;
    }
    let Some(suggestion) = suggestion else { return SecondLook::Differs("the suggested address was erased") };
    match ask(held, suggestion).await.verdict.status() {
        Status::Passed => SecondLook::Holds,
        _ => unknown(action, "the suggested address is not deliverable now"),
    }
}

async fn look_at(held: &HeldRun<'_>, action: &RowAction, email: &str) -> SecondLook {
    let verdict = ask(held, email).await.verdict;
    if verdict.findings.iter().any(|finding| finding.reason == action.reason) {
        return SecondLook::Holds;
    }
    match verdict.status() {
        Status::Unknown => unknown(action, "the verdict could not be confirmed"),
        _ => SecondLook::Differs("the address has another verdict now"),
    }
}

fn unknown(action: &RowAction, why: &'static str) -> SecondLook {
    if action.attempts + 1 < ATTEMPTS_MAX { SecondLook::Later } else { SecondLook::Differs(why) }
}
