//! Claims due deliveries up to the capacity, excluding customers that have their share.

use std::collections::HashMap;
use std::sync::Arc;

use probity_account::id::WebhookId;
use probity_store::webhooks::outbox::{self, ClaimedDelivery, SenderCapacity};
use probity_store::webhooks::{self, WebhookReceiver};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, work};

use crate::webhooks::deliver::{DeliveryParts, DeliveryStart, Due, To, Worker};

/// Maximum number of deliveries claimed in one transaction.
const CLAIMED_MAX: usize = 32;

impl Worker {
    /// Claims deliveries up to the capacity, and starts those whose lanes are free.
    pub(super) async fn claim(&mut self) -> Due {
        self.hand_back().await;
        let wanted = self.room().min(CLAIMED_MAX);
        let sated = self.sated();
        match self.try_claim(wanted, &sated).await {
            Ok(claimed) if wanted > 0 && claimed == wanted => Due::More,
            // Also for customers that have just reached their share. Their further deliveries were released.
            Ok(_) if self.room() == 0 || !self.sated().is_empty() => Due::WhereOneEnds,
            Ok(_) => Due::Nothing,
            Err(error) => {
                tracing::warn!(%error, "cannot read the outbox; retrying");
                Due::Nothing
            }
        }
    }

    /// Returns the customers that have their share of all slots, including kept deliveries.
    fn sated(&self) -> Vec<OrgNo> {
        let mut taken: HashMap<OrgNo, usize> = HashMap::new();
        for lanes in self.lanes.values().chain(self.kept.iter().map(|kept| &kept.lanes)) {
            *taken.entry(lanes.customer).or_default() += 1;
        }
        taken.into_iter().filter(|(_, taken)| *taken >= self.config.share()).map(|(customer, _)| customer).collect()
    }

    pub(super) fn has_its_share(&self, customer: OrgNo) -> bool {
        self.lanes.values().filter(|lanes| lanes.customer == customer).count() >= self.config.share()
    }

    async fn try_claim(&mut self, wanted: usize, not_of: &[OrgNo]) -> Result<usize, StoreError> {
        let DeliveryParts { store, clock, .. } = &self.parts;
        if self.node.as_ref().is_some_and(|node| !node.may_work()) {
            return Ok(0);
        }
        let now = clock.now();
        let room = SenderCapacity { at_most: u32::try_from(wanted).unwrap_or(u32::MAX), not_of };
        if wanted == 0 || !outbox::any_due(&mut store.read().await?, now, room).await? {
            return Ok(0);
        }
        let (run, lease_ms) =
            (probity_access::secrets::hex(&probity_access::secrets::random::bytes::<16>()), self.config.lease_ms);
        let claim = store.write(|tx| outbox::claim(tx, now, lease_ms, &run, room).scope_boxed());
        let claimed = claim.await?;
        let receivers = self.receivers_of(&claimed).await?;
        let (count, mut later, mut unwanted) = (claimed.len(), Vec::new(), Vec::new());
        for one in claimed {
            let (org, id) = (one.org, one.id);
            let to = match one.signer.parse::<WebhookId>() {
                // A callback, or a signer that only a newer version has.
                Err(_) => To::Elsewhere,
                Ok(webhook) => receivers.get(&(org, webhook)).cloned().map_or(To::Nobody, To::Webhook),
            };
            match self.start(one, to, now) {
                DeliveryStart::Started => {}
                DeliveryStart::Later(at) => later.push((org, id, at)),
                DeliveryStart::Unwanted => unwanted.push((org, id)),
            }
        }
        if !(later.is_empty() && unwanted.is_empty()) {
            let handed_back = self.parts.store.write(work!(|tx| {
                outbox::defer(tx, &run, &later).await?;
                outbox::cancel(tx, &run, &unwanted).await
            }));
            handed_back.await?;
        }
        Ok(count)
    }

    /// Returns the webhooks that receive these deliveries.
    async fn receivers_of(
        &self,
        claimed: &[ClaimedDelivery],
    ) -> Result<HashMap<(OrgNo, WebhookId), Arc<WebhookReceiver>>, StoreError> {
        let mut wanted: Vec<(OrgNo, WebhookId)> =
            claimed.iter().filter_map(|one| Some((one.org, one.signer.parse().ok()?))).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let found = webhooks::receivers(&mut self.parts.store.read().await?, &wanted).await?;
        Ok(found.into_iter().map(|one| ((one.org, one.id), Arc::new(one))).collect())
    }
}
