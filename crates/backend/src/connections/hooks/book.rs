//! What a node remembers of webhooks: their keys for a second, and the polls that events have made due.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_access::secrets::Secrets;
use probity_account::id::ConnId;
use probity_engine::locked;
use probity_mail::time::Millis;
use probity_store::connections::hooks;
use probity_store::{OrgNo, Result, Store};
use tokio::sync::Notify;

use super::HASTE;
use super::keys::HookKeys;

/// Time for which keys are not read again, in milliseconds. New ones are known to all nodes after it.
pub(super) const FRESH_MS: i64 = 1_000;
/// Maximum number of remembered webhooks.
const REMEMBERED_MAX: usize = 20_000;
/// Maximum number of polls that wait for their time. The scheduler starts others.
const POLLS_MAX: usize = 20_000;

/// Webhook that a call can address.
pub struct KnownHook {
    pub org: OrgNo,
    /// Name of the platform.
    pub provider: String,
    pub keys: HookKeys,
}

struct RememberedHook {
    hook: Arc<KnownHook>,
    read_at: Millis,
    /// Events before this time are covered by the poll of an earlier one.
    covered_until: Millis,
}

/// Poll that an event has made due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AwaitedPoll {
    pub(super) org: OrgNo,
    pub(super) connection: ConnId,
    pub(super) at: Millis,
    pub(super) since: Millis,
}

/// Memory of a node.
pub struct HookBook {
    known: Mutex<LruCache<ConnId, RememberedHook>>,
    polls: Mutex<BTreeMap<ConnId, AwaitedPoll>>,
    pub(super) bell: Notify,
}

impl Default for HookBook {
    fn default() -> Self {
        let size = NonZeroUsize::new(REMEMBERED_MAX).expect("not zero");
        Self { known: Mutex::new(LruCache::sparse(size)), polls: Mutex::default(), bell: Notify::new() }
    }
}

impl HookBook {
    /// Returns the webhook of a connection.
    pub async fn find(
        &self,
        store: &Store,
        secrets: &Secrets,
        connection: ConnId,
        now: Millis,
    ) -> Result<Option<Arc<KnownHook>>> {
        if let Some(known) = locked(&self.known).get(&connection)
            && now.since(known.read_at) < FRESH_MS
        {
            return Ok(Some(known.hook.clone()));
        }
        let found = hooks::addressed(&mut store.read().await?, connection).await?;
        let hook = found.map(|(hook, provider)| {
            let keys = HookKeys::open(secrets, connection, hook.keys.as_deref());
            Arc::new(KnownHook { org: hook.org, provider, keys })
        });
        // Others are not remembered: made-up IDs would displace real ones.
        match &hook {
            Some(hook) => self.remember(connection, hook.clone(), now),
            None => self.forget(connection),
        }
        Ok(hook)
    }

    pub(super) fn remember(&self, connection: ConnId, hook: Arc<KnownHook>, now: Millis) {
        let mut known = locked(&self.known);
        let covered_until = known.get(&connection).map_or(Millis(0), |known| known.covered_until);
        known.put(connection, RememberedHook { hook, read_at: now, covered_until });
    }

    /// Forgets the keys of a webhook, because this node has changed them.
    pub fn forget(&self, connection: ConnId) {
        locked(&self.known).pop(&connection);
    }

    /// Returns whether an event is to be told to the database. If so, it covers those of the next second.
    pub fn reserve(&self, connection: ConnId, now: Millis) -> bool {
        let mut known = locked(&self.known);
        let Some(known) = known.get_mut(&connection) else { return true };
        let is_new = now >= known.covered_until;
        if is_new {
            known.covered_until = now + HASTE.after_ms;
        }
        is_new
    }

    /// Notes when the next poll is due after an event, and has it started on this node. That poll covers the events before it. One
    /// that is overdue waits for a run in progress.
    pub fn cover(&self, org: OrgNo, connection: ConnId, (now, due): (Millis, Option<Millis>)) {
        let due = due.filter(|due| *due <= now + HASTE.apart_ms);
        if let Some(known) = locked(&self.known).get_mut(&connection)
            && let Some(due) = due.filter(|due| *due > now)
        {
            known.covered_until = known.covered_until.min(due);
        }
        if let Some(due) = due {
            self.await_poll(AwaitedPoll { org, connection, at: due.max(now), since: now });
        }
    }

    /// Notes that a poll has started, or that the database does not know of an event: the next one is told to it.
    pub fn uncover(&self, connection: ConnId) {
        if let Some(known) = locked(&self.known).get_mut(&connection) {
            known.covered_until = Millis(0);
        }
    }

    pub(super) fn await_poll(&self, poll: AwaitedPoll) {
        let mut polls = locked(&self.polls);
        if polls.len() < POLLS_MAX {
            polls.entry(poll.connection).or_insert(poll);
        }
        drop(polls);
        self.bell.notify_one();
    }

    /// Takes the polls whose time has come. Returns the time of the next one, too.
    pub(super) fn take_polls(&self, now: Millis) -> (Vec<AwaitedPoll>, Option<Millis>) {
        let mut polls = locked(&self.polls);
        let due: Vec<_> = polls.values().filter(|poll| poll.at <= now).copied().collect();
        for poll in &due {
            polls.remove(&poll.connection);
        }
        (due, polls.values().map(|poll| poll.at).min())
    }
}
