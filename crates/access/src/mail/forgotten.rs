//! Mailed links for forgotten passwords.
//!
//! Requests wait in the database under keyed hashes of addresses. Here each finds its members: at most one link in
//! [`AGAIN_MS`] for a member and few in a day, so that nobody's mailbox is filled by strangers. A link that was mailed and works is
//! mailed again, so that no request ends one. A request that waited for [`STALE_MS`] is dropped. The mail itself is sent like that
//! of invitations.

use probity_mail::time::Millis;
use probity_store::accounts::people::forgotten::{self, ForgottenPassword, StandingLink};
use probity_store::accounts::people::passwords;
use probity_store::accounts::users::invitations::{self, Invitation};
use probity_store::accounts::users::{self, TeamMember};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::{ScopedFutureExt as _, StoreError, Tx};

use crate::links::Making;
use crate::mail::worker::Mailer;
use crate::people::attempts;
use crate::secrets::Secrets;

/// Lifetime of a link, in milliseconds: 1 hour.
pub const LIFE_MS: i64 = 3_600_000;
/// Minimum time between two links of a member, in milliseconds.
const AGAIN_MS: i64 = 10 * 60_000;
/// Maximum age of a request that is served, in milliseconds: later, its mail would surprise.
const STALE_MS: i64 = 3_600_000;
/// Maximum number of organizations of an address that get a link.
const ORGS_MAX: i64 = 10;
/// Maximum number of requests that are served in a round; other mail waits meanwhile.
const REQUESTS_A_ROUND: usize = 100;

impl Mailer {
    /// Issues a link for each request.
    pub(super) async fn serve_forgotten(&self) -> Result<(), StoreError> {
        for _ in 0..REQUESTS_A_ROUND {
            let now = self.clock.now();
            if !forgotten::any(&mut self.store.read().await?, now).await? {
                break;
            }
            // What is left is being served by other nodes.
            if !self.store.write(|tx| serve(tx, &self.secrets, now).scope_boxed()).await? {
                break;
            }
        }
        Ok(())
    }
}

/// Serves one request: it locks its organizations in their order, as every node does. False if there is none to take.
async fn serve(tx: &mut Tx, secrets: &Secrets, now: Millis) -> Result<bool, StoreError> {
    let Some(asked) = forgotten::take(tx, now).await? else { return Ok(false) };
    if now.since(asked.asked_at) < STALE_MS {
        issue(tx, secrets, &asked, now).await?;
    }
    Ok(true)
}

/// Issues a link to each member with the address who has a password.
async fn issue(tx: &mut Tx, secrets: &Secrets, asked: &ForgottenPassword, now: Millis) -> Result<(), StoreError> {
    for candidate in passwords::candidates(tx, &asked.who, ORGS_MAX).await? {
        let (org, id) = (candidate.password.org, candidate.password.user);
        users::lock_team(tx, org).await?;
        // Removed, paused, or another password since it was read.
        if !passwords::stands(tx, &candidate.password).await? {
            continue;
        }
        let standing = forgotten::standing(tx, org, id, now).await?;
        if standing.is_some_and(|link| link.by_mail && (0..AGAIN_MS).contains(&now.since(link.created_at))) {
            continue;
        }
        if !attempts::may_mail_link(tx, secrets, (org, id), now).await? {
            continue;
        }
        match standing {
            Some(link) if link.by_mail => {
                forgotten::mail_again(tx, org, id, now, link.expires_at.max(now + LIFE_MS)).await?;
            }
            _ => {
                let member = users::by_id(tx, org, id).await?;
                invitations::issue(tx, &link(secrets, &member, standing, now)).await?;
            }
        }
        invitations::speak(tx, org, id, asked.language).await?;
        let made = AccountChange::about(AccountEventKind::ResetLinkCreated, EventSubject::Member(id));
        events::add(tx, org, now, Some(EventActor::System), &[made]).await?;
    }
    Ok(())
}

/// Creates a mailed link, beside the operator's if that works. It keeps its lifetime.
fn link(secrets: &Secrets, member: &TeamMember, standing: Option<StandingLink>, now: Millis) -> Invitation {
    let (mut link, _) = Making { secrets, life_ms: LIFE_MS, by_mail: true }.invitation(member, now);
    if let Some(standing) = standing {
        link.hash = standing.hash;
        link.expires_at = link.expires_at.max(standing.expires_at);
    }
    link
}
