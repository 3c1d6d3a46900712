//! Workers of runs: they read the contacts of connections, wait for the verdicts, and perform the due actions.
//!
//! Every node with this role claims runs under leases ([`probity_store::connections::runs`]), several at once, and at most
//! half of its slots for one organization. Progress is stored continuously, so another node resumes after a crash: reading
//! after the last stored page ([`reading`]), acting at the first contact without an outcome ([`acting`]). A request may
//! then be sent twice; every action can be repeated.

mod account;
mod acting;
mod faults;
mod held;
pub mod keeping;
pub mod parts;
mod reading;
mod reported;
mod reporting;
mod second_look;
mod verifying;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_account::plans::Plans;
use probity_contract::error::Detail;
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::connections::runs::{self, ClaimedRun};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::connections::Platforms;
use crate::connections::tokens::TokenDesk;
use crate::jobs::Wake;
use crate::nodes::NodePresence;
use crate::nodes::verifier::Verifier;
use crate::webhooks::Callbacks;

/// Concurrent runs per node. Runs mostly wait for platforms.
const PLACES: usize = 16;
/// Maximum concurrent runs per organization.
const PLACES_OF_ORG: usize = PLACES / 2;
/// Poll interval without a wake-up.
const POLL: Duration = Duration::from_secs(1);
/// Pause after a failure.
const REST: Duration = Duration::from_secs(5);

/// Dependencies of runs.
#[derive(Clone)]
pub struct Runs {
    pub store: Store,
    pub clock: EngineClock,
    pub platforms: Platforms,
    pub tokens: TokenDesk,
    /// Verifier for live keys.
    pub live: Arc<dyn Verifier>,
    /// Verifier for test keys.
    pub sandbox: Arc<dyn Verifier>,
    pub secrets: Arc<Secrets>,
    pub presence: Arc<NodePresence>,
    pub callbacks: Callbacks,
    /// Plans, which may refill credits.
    pub plans: Arc<Plans>,
    pub wake: Arc<Wake>,
    /// Duration of a run's lease, in milliseconds.
    pub lease_ms: i64,
    /// Whether a relay takes mail, such as reports for members.
    pub sends_mail: bool,
}

impl Runs {
    fn now(&self) -> Millis {
        self.clock.now()
    }

    fn verifier(&self, test: bool) -> &Arc<dyn Verifier> {
        if test { &self.sandbox } else { &self.live }
    }

    /// Processes runs until `ending` is canceled, then releases them.
    pub async fn run(self, ending: CancellationToken) {
        let mut going: JoinSet<OrgNo> = JoinSet::new();
        let mut places: HashMap<OrgNo, usize> = HashMap::new();
        while !ending.is_cancelled() {
            while let Some(ended) = going.try_join_next() {
                release(&mut places, ended);
            }
            let pause = match self.claim(&places, going.len()).await {
                Ok(Some(claimed)) => {
                    let org = claimed.run.org;
                    *places.entry(org).or_default() += 1;
                    let (runs, ending) = (self.clone(), ending.clone());
                    going.spawn(async move {
                        held::work(&runs, claimed, &ending).await;
                        org
                    });
                    continue;
                }
                Ok(None) => self.presence.poll(POLL),
                Err(error) => {
                    tracing::warn!(%error, "cannot claim a run; retrying");
                    REST
                }
            };
            tokio::select! {
                () = ending.cancelled() => {}
                () = self.wake.runs.notified() => {}
                Some(ended) = going.join_next() => release(&mut places, ended),
                () = tokio::time::sleep(pause) => {}
            }
        }
        while going.join_next().await.is_some() {}
    }

    /// Claims the run that has been due longest, if there is a free slot.
    async fn claim(&self, places: &HashMap<OrgNo, usize>, going: usize) -> Result<Option<ClaimedRun>, Detail> {
        let now = self.now();
        if going >= PLACES || !self.presence.may_work() {
            return Ok(None);
        }
        let full = places.iter().filter(|(_, places)| **places >= PLACES_OF_ORG);
        let full: Vec<OrgNo> = full.map(|(org, _)| *org).collect();
        if !runs::any_due(&mut self.store.read().await?, now, &full).await? {
            return Ok(None);
        }
        Ok(self.store.write(|tx| runs::claim(tx, now, self.lease_ms, &full).scope_boxed()).await?)
    }
}

/// Frees the slot of a run. If its task panicked, its organization's slot stays taken until the node stops, and its lease
/// expires.
fn release(places: &mut HashMap<OrgNo, usize>, ended: Result<OrgNo, tokio::task::JoinError>) {
    match ended {
        Ok(org) => {
            if let Some(taken) = places.get_mut(&org) {
                *taken = taken.saturating_sub(1);
            }
            places.retain(|_, taken| *taken > 0);
        }
        Err(error) => tracing::error!(%error, "a run's task failed; its lease will expire"),
    }
}
