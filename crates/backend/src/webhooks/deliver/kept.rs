//! Deliveries that are kept until a lane is free.
//!
//! Otherwise a fast endpoint would get only as many deliveries per second as it may have concurrently; the others would wait
//! for the next poll. A kept delivery is leased, so it is kept only briefly. It is released after [`KEPT_MS`], or when one of
//! its lanes refuses it, and claimed again later. If the release fails, the lease expires.

use std::collections::BTreeMap;

use probity_account::id::DeliveryId;
use probity_mail::time::Millis;
use probity_store::webhooks::outbox;
use probity_store::{OrgNo, ScopedFutureExt as _};

use crate::outbound::HttpTarget;
use crate::webhooks::deliver::{Admission, EndpointState, LanesOf, PreparedDelivery, Worker};

/// Maximum number of kept deliveries per lane.
const KEPT_EACH: usize = 16;
/// Maximum time for which a delivery is kept, in milliseconds: a small part of its lease.
const KEPT_MS: i64 = 2_000;

/// Delivery that can be sent when its lanes are free.
pub(super) struct KeptDelivery {
    pub(super) delivery: PreparedDelivery,
    pub(super) target: Option<HttpTarget>,
    pub(super) lanes: LanesOf,
    pub(super) since: Millis,
}

/// Deliveries to be released, by the run that claimed them.
#[derive(Default)]
pub(super) struct ReleasedDeliveries(BTreeMap<String, Vec<(OrgNo, DeliveryId, Millis)>>);

impl ReleasedDeliveries {
    fn add(&mut self, kept: KeptDelivery, until: Millis) {
        let claimed = kept.delivery.claimed;
        self.0.entry(claimed.run).or_default().push((claimed.org, claimed.id, until));
    }
}

impl Worker {
    /// Returns whether a delivery may wait for these lanes, or for its customer's share. At most half of all slots are for
    /// waiting deliveries, and a quarter for those of one customer. The others are for endpoints with free lanes.
    pub(super) fn may_keep(&self, lanes: &LanesOf) -> bool {
        let kept =
            |same: fn(&LanesOf, &LanesOf) -> bool| self.kept.iter().filter(|kept| same(&kept.lanes, lanes)).count();
        lanes.state == EndpointState::Lively
            && self.is_full(lanes)
            && self.kept.len() < self.config.at_once / 2
            && kept(|one, other| one.customer == other.customer) < self.config.at_once / 4
            && kept(|one, other| one.own == other.own) < KEPT_EACH
    }

    fn is_full(&self, lanes: &LanesOf) -> bool {
        self.hosts.is_full(&lanes.host) || self.own.is_full(&lanes.own) || self.has_its_share(lanes.customer)
    }

    /// Sends kept deliveries that can go now, and releases those that were kept too long.
    pub(super) fn start_kept(&mut self, now: Millis) {
        for kept in std::mem::take(&mut self.kept) {
            if now.since(kept.since) > KEPT_MS {
                self.back.add(kept, now);
            } else if self.is_full(&kept.lanes) {
                self.kept.push(kept);
            } else {
                match self.admit(&kept.lanes, now) {
                    Admission::Go => self.send(kept, now),
                    Admission::Later(at) => self.back.add(kept, at),
                }
            }
        }
    }

    /// Releases all kept deliveries.
    pub(super) fn give_up_kept(&mut self) {
        let now = self.parts.clock.now();
        for kept in std::mem::take(&mut self.kept) {
            self.back.add(kept, now);
        }
    }

    /// Writes the release of these deliveries.
    pub(super) async fn hand_back(&mut self) {
        for (run, until) in std::mem::take(&mut self.back).0 {
            let handed_back = self.parts.store.write(|tx| outbox::defer(tx, &run, &until).scope_boxed()).await;
            if let Err(error) = handed_back {
                tracing::warn!(%error, "cannot release claimed deliveries; they are sent when their leases end");
            }
        }
    }
}
