//! Work on registrations: made where polls are switched on, renewed if a day passes without an event, and removed afterwards.
//!
//! A registration that somebody has removed at the platform is made again within the hour, if the platform shows what it has. Others
//! that it has dropped send no events, so they are renewed within a day; polls find the contacts meanwhile.
//! Each step is stored before the next: new keys, then every ID. If a call fails, the platform may have a registration whose ID is
//! unknown; the next attempt has another URL, at which the unknown one is not accepted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_connectors::{
    ContactScope, ErrorClass, Fault, HookEndpoint, HookRegistration, HookRule, HookStep, Registering,
};
use probity_engine::clock::EngineClock;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::hooks::{self, ClaimedHook, HookProgress};
use probity_store::{ScopedFutureExt as _, Store, StoreError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::book::{FRESH_MS, HookBook};
use super::keys::{HookGeneration, HookKeys, KeptRegistration};
use super::removal::{RegistrationsShown, remove_generation, remove_registrations, shown};
use crate::connections::Platforms;
use crate::connections::access::{self, ConnectionAccess, NoAccess};
use crate::connections::tokens::TokenDesk;
use crate::nodes::NodePresence;

/// Webhooks that a node works on at the same time. The work mostly waits for platforms.
const PLACES: usize = 8;
/// Time for one webhook, in milliseconds. The next worker that claims it continues.
const WORK_MS: i64 = 10 * 60_000;
/// Time in which a step that is under way may end when the node stops.
const ENDING: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_secs(1);
/// Pause after a failure of the database.
const REST: Duration = Duration::from_secs(5);
/// First pause after a failed attempt, in milliseconds, which doubles with each.
const PAUSE_MS: i64 = 60_000;
/// Pause before another attempt to remove an older registration, in milliseconds.
const AGAIN_MS: i64 = 15 * 60_000;
/// Attempts to remove a registration before it is left to the platform. Its URL is rejected by then.
const REMOVALS_MAX: i64 = 5;
/// Maximum number of lists with a webhook each. Of more, contacts are found by polling.
const LISTS_MAX: usize = 100;

/// Works on registrations.
#[derive(Clone)]
pub struct HookWork {
    pub store: Store,
    pub clock: EngineClock,
    pub platforms: Platforms,
    pub tokens: TokenDesk,
    pub secrets: Arc<Secrets>,
    pub presence: Arc<NodePresence>,
    pub book: Arc<HookBook>,
    /// URL at which platforms reach this service.
    pub public_url: String,
}

/// How a worker leaves a webhook.
enum HookEnd {
    /// Nothing is left at the platform.
    Removed,
    /// Done. Look again at this time.
    At(Millis),
    /// The work goes on at this time. Earlier failures count on.
    On(Millis),
    Failed(Fault),
}

struct HookInWork<'a> {
    work: &'a HookWork,
    claimed: ClaimedHook,
    access: ConnectionAccess<'a>,
    of: StoredConnection,
    keys: HookKeys,
}

impl HookWork {
    /// Works until `ending` is canceled.
    pub async fn run(self, ending: CancellationToken) {
        let mut going = JoinSet::new();
        while !ending.is_cancelled() {
            while going.try_join_next().is_some() {}
            let pause = match self.claim(going.len()).await {
                Ok(Some(claimed)) => {
                    going.spawn(self.clone().work_on(claimed, ending.clone()));
                    continue;
                }
                Ok(None) => self.presence.poll(POLL),
                Err(error) => {
                    tracing::warn!(%error, "cannot look for webhooks; retrying");
                    REST
                }
            };
            ending.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
        while going.join_next().await.is_some() {}
    }

    /// Works on a webhook. A call that is under way has time to end: the ID in its response is not sent again.
    async fn work_on(self, claimed: ClaimedHook, ending: CancellationToken) {
        let over = async {
            ending.cancelled().await;
            tokio::time::sleep(ENDING).await;
        };
        tokio::select! {
            done = self.once(claimed, &ending) => {
                if let Err(error) = done {
                    tracing::warn!(%error, "the work on a webhook was interrupted; it will be continued");
                }
            }
            () = over => {}
        }
    }

    async fn claim(&self, going: usize) -> Result<Option<ClaimedHook>, StoreError> {
        let now = self.clock.now();
        if going >= PLACES || !hooks::any_due(&mut self.store.read().await?, now).await? {
            return Ok(None);
        }
        self.store.write(|tx| hooks::claim(tx, now, now + WORK_MS).scope_boxed()).await
    }

    /// Does one step of the work, and stores when the next one is due.
    async fn once(&self, claimed: ClaimedHook, ending: &CancellationToken) -> Result<(), StoreError> {
        let hook = &claimed.hook;
        let keys = HookKeys::open(&self.secrets, hook.connection, hook.keys.as_deref());
        let Some((of, mut access)) = self.access(&claimed).await? else {
            // Without credentials, nothing can be changed at the platform. What is registered there is removed later.
            let is_over = !hook.is_wanted && keys.is_unregistered();
            let next = if is_over { HookEnd::Removed } else { HookEnd::At(self.clock.now() + DAY_MS) };
            return self.store_end(&claimed, &keys, next).await;
        };
        if let Some(fault) = self.authorize(&of, &mut access, None).await? {
            return self.store_end(&claimed, &keys, HookEnd::Failed(fault)).await;
        }
        let mut going = HookInWork { work: self, claimed, access, of, keys };
        let end = going.go(ending).await?;
        let is_refused = matches!(&end, HookEnd::Failed(fault) if fault.class == ErrorClass::Credential);
        self.store_end(&going.claimed, &going.keys, end).await?;
        if let Some(refused) = going.access.token_version.filter(|_| is_refused) {
            // The next attempt has another token: the platform may have ended this one early.
            self.authorize(&going.of, &mut going.access, Some(refused)).await?;
        }
        Ok(())
    }

    /// Adds an access token to the credentials. Returns the fault for which there is none.
    async fn authorize(
        &self,
        of: &StoredConnection,
        access: &mut ConnectionAccess<'_>,
        refused: Option<i64>,
    ) -> Result<Option<Fault>, StoreError> {
        match self.tokens.authorize(of.org, &of.account_tag, access, refused).await {
            Ok(()) => Ok(None),
            Err(why) => why.into_fault().map(Some),
        }
    }

    async fn access(
        &self,
        claimed: &ClaimedHook,
    ) -> Result<Option<(StoredConnection, ConnectionAccess<'_>)>, StoreError> {
        let (org, id) = (claimed.hook.org, claimed.hook.connection);
        let mut conn = self.store.read().await?;
        let of = match connection::by_id(&mut conn, org, id, false).await {
            Err(StoreError::NotFound) => connection::by_id(&mut conn, org, id, true).await,
            found => found,
        };
        let of = match of {
            Ok(of) if of.disconnected.is_none() => of,
            Ok(_) | Err(StoreError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        match access::open(&mut conn, &self.platforms, &self.secrets, &of).await {
            Ok(access) => Ok(Some((of, access))),
            Err(NoAccess::Store(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    async fn store_end(&self, claimed: &ClaimedHook, keys: &HookKeys, end: HookEnd) -> Result<(), StoreError> {
        let (hook, now) = (&claimed.hook, self.clock.now());
        let (fault, failures, next_at) = match end {
            HookEnd::Removed => {
                let (org, id) = (hook.org, hook.connection);
                self.book.forget(id);
                // Somebody may want it again meanwhile.
                return self.store.write(|tx| hooks::remove_unwanted(tx, org, id, now).scope_boxed()).await;
            }
            HookEnd::At(at) => (None, 0, at),
            HookEnd::On(at) => (hook.fault.clone(), hook.failures, at),
            HookEnd::Failed(fault) => {
                let pause = PAUSE_MS.saturating_mul(1 << hook.failures.clamp(0, 20)).min(DAY_MS);
                let pause = fault.wait_ms.map_or(pause, |wait| wait.clamp(pause, DAY_MS));
                (Some(fault.message), hook.failures + 1, now + pause)
            }
        };
        self.save(claimed, keys, (fault.as_deref(), failures), next_at).await
    }

    async fn save(
        &self,
        claimed: &ClaimedHook,
        keys: &HookKeys,
        (fault, failures): (Option<&str>, i64),
        next_at: Millis,
    ) -> Result<(), StoreError> {
        let id = claimed.hook.connection;
        let sealed = keys.seal(&self.secrets, id);
        let registered_at = keys.registered_at().filter(|_| claimed.hook.is_wanted);
        let to = HookProgress { keys: &sealed, fault, failures, registered_at, next_at };
        self.store.write(|tx| hooks::write(tx, claimed, to).scope_boxed()).await?;
        self.book.forget(id);
        Ok(())
    }
}

impl HookInWork<'_> {
    async fn go(&mut self, ending: &CancellationToken) -> Result<HookEnd, StoreError> {
        let (hook, now) = (&self.claimed.hook, self.now());
        let file = self.access.file;
        self.keys.keep_account(&self.of.account_tag);
        let Some(rule) = file.hook_of_polls().filter(|_| hook.is_wanted) else { return Ok(self.remove().await) };
        let by_list = rule.scope == ContactScope::List;
        let proven_at = hook.last_event_at.filter(|_| !by_list);
        self.look().await;
        // It was switched off meanwhile, or its lists have changed.
        let is_dropped = self.claimed.hook.registered_at.is_none() && self.keys.is_complete();
        if is_dropped || self.keys.needs_new(&self.work.public_url, proven_at, now) {
            self.remove_generations(|generation| generation.is_spoiled).await;
            self.keys.add(&self.work.public_url, &self.of.account_tag, now);
            // Nodes may remember the keys from before for a second.
            return Ok(HookEnd::On(now + (FRESH_MS + 100)));
        }
        if !self.keys.is_complete() {
            match self.register(rule, ending).await? {
                Ok(true) => self.look().await,
                Ok(false) => return Ok(HookEnd::On(now)),
                Err(fault) => return Ok(HookEnd::Failed(fault)),
            }
        }
        self.remove_older().await;
        let next =
            if self.keys.generations.len() > 1 { Some(now + AGAIN_MS) } else { self.keys.look_at(proven_at, now) };
        Ok(HookEnd::At(next.unwrap_or(now)))
    }

    /// Marks the current registration for another one if somebody has removed it at the platform. Only a platform that has shown it
    /// before can show that it is gone: otherwise, an unexpected form of its answers would make us register again and again.
    async fn look(&mut self) {
        let (platforms, id, now) = (&self.work.platforms, self.claimed.hook.connection, self.now());
        let Some(newest) = self.keys.generations.last_mut().filter(|newest| newest.is_complete) else { return };
        match shown(platforms, &self.access, id, newest, now).await {
            RegistrationsShown::All => newest.is_shown = true,
            RegistrationsShown::Removed => newest.is_spoiled |= newest.is_shown,
            RegistrationsShown::Unclear => {}
        }
    }

    fn now(&self) -> Millis {
        self.work.clock.now()
    }

    /// Makes the registrations of the newest generation that are missing. Returns false if some are left because the node stops.
    async fn register(
        &mut self,
        rule: &HookRule,
        ending: &CancellationToken,
    ) -> Result<Result<bool, Fault>, StoreError> {
        let lists = match self.lists(rule).await {
            Ok(lists) => lists,
            Err(fault) => return Ok(Err(fault)),
        };
        for list in lists {
            let Some(newest) = self.keys.generations.last() else { break };
            if newest.registrations.iter().any(|kept| kept.list == list) {
                continue;
            }
            if ending.is_cancelled() {
                return Ok(Ok(false));
            }
            let url = newest.url(self.claimed.hook.connection);
            let endpoint = HookEndpoint { url, secret: newest.secret.clone(), list: list.clone() };
            let (made, fault) = self.register_one(endpoint).await;
            let Some(newest) = self.keys.generations.last_mut() else { break };
            newest.is_spoiled = fault.is_some();
            let kept = made.map(|made| KeptRegistration { list, id: made.id, secret: made.secret });
            newest.registrations.extend(kept.clone());
            self.keep(kept).await?;
            if let Some(fault) = fault {
                return Ok(Err(fault));
            }
        }
        self.keys.generations.iter_mut().last().into_iter().for_each(|newest| newest.is_complete = true);
        Ok(Ok(true))
    }

    /// Stores a new registration. If somebody else has taken up the webhook meanwhile, or it was removed, nobody else knows the
    /// registration, so it is removed.
    async fn keep(&mut self, made: Option<KeptRegistration>) -> Result<(), StoreError> {
        let (hook, until) = (&self.claimed.hook, self.now() + WORK_MS);
        let saved = self.work.save(&self.claimed, &self.keys, (hook.fault.as_deref(), hook.failures), until).await;
        if matches!(saved, Err(StoreError::LeaseLost))
            && let (Some(made), Some(newest)) = (made, self.keys.generations.last())
        {
            let mut lost = newest.clone();
            lost.registrations = vec![made];
            remove_generation(&self.work.platforms, &self.access, hook.connection, &mut lost, self.now()).await;
        }
        saved?;
        self.claimed.held_until(until);
        Ok(())
    }

    /// Returns the lists to register, or `None` for the whole account.
    async fn lists(&self, rule: &HookRule) -> Result<Vec<Option<String>>, Fault> {
        if rule.scope == ContactScope::Account {
            return Ok(vec![None]);
        }
        let ConnectionAccess { file, credentials, budget, .. } = &self.access;
        let chosen: BTreeSet<&String> = self.of.settings.lists.iter().collect();
        let all = self.work.platforms.lists(file, credentials, budget).await?;
        let wanted: Vec<_> =
            all.into_iter().map(|list| list.id).filter(|id| chosen.is_empty() || chosen.contains(id)).collect();
        if wanted.len() > LISTS_MAX {
            let message = format!("webhooks are registered for at most {LISTS_MAX} lists; choose fewer");
            return Err(Fault { class: ErrorClass::Refused, status: 0, wait_ms: None, message });
        }
        Ok(wanted.into_iter().map(Some).collect())
    }

    /// Registers an endpoint. The platform may have a registration although a later call failed.
    async fn register_one(&self, endpoint: HookEndpoint) -> (Option<HookRegistration>, Option<Fault>) {
        let ConnectionAccess { file, credentials, .. } = &self.access;
        let mut registering = match Registering::new(file, credentials, endpoint) {
            Ok(registering) => registering,
            Err(fault) => return (None, Some(fault)),
        };
        let fault = self.drive(&mut registering).await.err();
        (registering.registration().cloned(), fault)
    }

    async fn drive(&self, registering: &mut Registering<'_>) -> Result<(), Fault> {
        let ConnectionAccess { file, budget, .. } = &self.access;
        while let HookStep::Send(request) = registering.next(self.now())? {
            let answer = self.work.platforms.send(budget, &request).await;
            registering.answer(&answer.map_err(|fault| fault.fault(&file.provider.name))?)?;
        }
        Ok(())
    }

    /// Removes the registrations that the newest generation replaces. Those that the platform does not remove, after some attempts,
    /// are left to it: their URLs are rejected then.
    async fn remove_older(&mut self) {
        let Some(newest) = self.keys.generations.pop() else { return };
        self.remove_generations(|_| true).await;
        self.keys.generations.push(newest);
    }

    async fn remove_generations(&mut self, which: impl Fn(&HookGeneration) -> bool) {
        let (platforms, id, now) = (&self.work.platforms, self.claimed.hook.connection, self.now());
        for generation in self.keys.generations.iter_mut().filter(|generation| which(generation)) {
            remove_generation(platforms, &self.access, id, generation, now).await;
            generation.removals += 1;
        }
        let is_left = |one: &HookGeneration| !one.registrations.is_empty() && one.removals < REMOVALS_MAX;
        self.keys.generations.retain(|generation| !which(generation) || is_left(generation));
    }

    /// Removes all registrations.
    async fn remove(&mut self) -> HookEnd {
        let (hook, now) = (&self.claimed.hook, self.now());
        remove_registrations(&self.work.platforms, &self.access, hook.connection, &mut self.keys, now).await;
        let is_over = self.keys.is_unregistered() || hook.failures >= REMOVALS_MAX;
        if is_over {
            self.keys.generations.clear();
        }
        match (is_over, hook.is_wanted) {
            (true, false) => HookEnd::Removed,
            (true, true) => HookEnd::At(now + DAY_MS),
            (false, _) => {
                let message = format!("{} did not remove the webhook", self.access.file.provider.name);
                HookEnd::Failed(Fault { class: ErrorClass::Transient, status: 0, wait_ms: None, message })
            }
        }
    }
}
