//! Messages that are kept until a lane is free.
//!
//! A receiver that answers quickly would otherwise get as many messages a second as it may have at once: whatever else was due
//! would be put off until the next look at the outbox. What is kept is claimed, so it may not be kept for long: what has not
//! gone after [`KEPT_MS`], or meets a lane that may not go on, is handed back, and its turn comes by the outbox again. Where that
//! fails, its lease gives it back.

use std::collections::BTreeMap;

use probity_account::id::DeliveryId;
use probity_mail::time::Millis;
use probity_store::{OrgNo, ScopedFutureExt as _, outbox};

use crate::webhooks::deliver::{Admission, Errand, LanesOf, Sort, Target, Worker};

/// How many messages of one lane are kept at most.
const KEPT_EACH: usize = 16;
/// For how long a message is kept, in milliseconds: a small part of its lease.
const KEPT_MS: i64 = 2_000;

/// A message that can be sent when its lanes are free.
pub(super) struct Kept {
    pub(super) errand: Errand,
    pub(super) target: Option<Target>,
    pub(super) lanes: LanesOf,
    pub(super) since: Millis,
}

/// What has to be handed back, by the run that claimed it.
#[derive(Default)]
pub(super) struct Back(BTreeMap<String, Vec<(OrgNo, DeliveryId, Millis)>>);

impl Back {
    fn add(&mut self, kept: Kept, until: Millis) {
        let claimed = kept.errand.claimed;
        self.0.entry(claimed.run).or_default().push((claimed.org, claimed.id, until));
    }
}

impl Worker {
    /// Whether a message that goes by these lanes is to wait for one of them, or for its customer's share. No more than half of
    /// all places are for those that wait, and a quarter for those of one customer: the others are for receivers with free lanes.
    pub(super) fn may_keep(&self, lanes: &LanesOf) -> bool {
        let kept =
            |same: fn(&LanesOf, &LanesOf) -> bool| self.kept.iter().filter(|kept| same(&kept.lanes, lanes)).count();
        lanes.sort == Sort::Lively
            && self.is_full(lanes)
            && self.kept.len() < self.config.at_once / 2
            && kept(|one, other| one.customer == other.customer) < self.config.at_once / 4
            && kept(|one, other| one.own == other.own) < KEPT_EACH
    }

    fn is_full(&self, lanes: &LanesOf) -> bool {
        self.hosts.is_full(&lanes.host) || self.own.is_full(&lanes.own) || self.has_its_share(lanes.customer)
    }

    /// Starts what can go now, and takes leave of what was kept for too long.
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

    /// Lets go of all that is kept.
    pub(super) fn give_up_kept(&mut self) {
        let now = self.parts.clock.now();
        for kept in std::mem::take(&mut self.kept) {
            self.back.add(kept, now);
        }
    }

    /// Hands back what was kept in vain.
    pub(super) async fn hand_back(&mut self) {
        for (run, until) in std::mem::take(&mut self.back).0 {
            let handed_back = self.parts.store.write(|tx| outbox::defer(tx, &run, &until).scope_boxed()).await;
            if let Err(error) = handed_back {
                tracing::warn!(%error, "cannot release claimed deliveries; they are sent when their leases end");
            }
        }
    }
}
