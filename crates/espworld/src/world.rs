//! Running world: one platform on loopback.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::account::{ContactMold, EspAccount, EspContact, EspEffect, EspHook, mixed};
use crate::clock::EspClock;
use crate::desk::{Desk, DeskParts};
use crate::faults::EspFaults;
use crate::ledger::EspLedger;
use crate::options::{EPOCH_MS, EspOptions};
use crate::server;
use crate::vendor::{EspNotice, EspVendor, VendorSecrets, notice};

/// Platform on loopback with one account. Dropping it closes everything.
#[derive(Debug)]
pub struct EspWorld {
    vendor: EspVendor,
    desk: Arc<Mutex<Desk>>,
    clock: EspClock,
    origin: String,
    task: JoinHandle<()>,
}

/// Contacts at one moment, with the lists of each.
#[derive(Clone, Debug, Default)]
pub struct EspSnapshot {
    pub(crate) contacts: BTreeSet<(u32, Option<u32>)>,
}

impl EspWorld {
    /// Starts a platform with a small account, under a virtual clock.
    pub async fn start(vendor: EspVendor, seed: u64, faults: EspFaults) -> io::Result<Self> {
        Self::open(vendor, EspOptions { faults, ..EspOptions::new(seed) }).await
    }

    /// Starts a platform.
    pub async fn open(vendor: EspVendor, options: EspOptions) -> io::Result<Self> {
        let sheet = vendor.sheet();
        let clock = if options.is_real_time { EspClock::machine() } else { EspClock::standing_at(EPOCH_MS) };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let word = |number: u64| format!("{:016x}", mixed(options.seed, number ^ 0x005e_c2e7));
        let public = options.public_origin.unwrap_or_else(|| origin.clone());
        let secrets = VendorSecrets { origin: origin.clone(), public, key: (0..4).map(word).collect() };
        let account = EspAccount::new(ContactMold {
            seed: options.seed,
            count: options.contacts,
            lists: options.lists.max(1),
            overlaps: sheet.overlaps,
            states: sheet.states,
            domains: options.domains,
            epoch: clock.now(),
            is_lower: sheet.is_lower,
        });
        let desk = Arc::new(Mutex::new(Desk::new(DeskParts {
            sheet,
            account,
            secrets,
            seed: options.seed,
            clock: clock.clone(),
            is_limited: options.is_limited,
            faults: options.faults,
        })));
        let latency = Duration::from_millis(if options.is_real_time { options.latency_ms } else { 0 });
        let counter =
            server::RequestCounter { desk: Arc::clone(&desk), in_flight: Arc::new(AtomicUsize::new(0)), latency };
        let task = tokio::spawn(server::serve(listener, counter));
        Ok(Self { vendor, desk, clock, origin, task })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // A panic in a handler is reported separately; the record stays readable.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the platform.
    pub fn vendor(&self) -> EspVendor {
        self.vendor
    }

    /// Returns the origin, as `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the base URL: the origin with the path of the published base URL.
    pub fn base(&self) -> String {
        format!("{}{}", self.origin, self.vendor.sheet().root)
    }

    /// Returns the host and port, as an operator allows them.
    pub fn host(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    /// Returns the credentials that a customer enters.
    pub fn credentials(&self) -> BTreeMap<String, String> {
        let desk = self.desk();
        let entered = desk.sheet.entered(&desk.secrets);
        entered.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns well-formed credentials that the platform refuses.
    pub fn wrong_credentials(&self) -> BTreeMap<String, String> {
        let desk = self.desk();
        let secrets = VendorSecrets { key: desk.secrets.key.chars().rev().collect(), ..desk.secrets.clone() };
        let entered = desk.sheet.entered(&secrets);
        entered.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the number of access tokens that were given.
    pub fn tokens_given(&self) -> usize {
        self.desk().tokens.exchanges()
    }

    /// Ends all access tokens, so that new ones are needed.
    pub fn end_access(&self) {
        self.desk().tokens.end_access();
    }

    /// Revokes the access that the customer gave.
    pub fn revoke(&self) {
        self.desk().tokens.revoke();
    }

    /// Returns the clock.
    pub fn clock(&self) -> &EspClock {
        &self.clock
    }

    /// Reads or changes the account as the world itself, without a call.
    pub fn account<R>(&self, act: impl FnOnce(&mut EspAccount) -> R) -> R {
        let mut desk = self.desk();
        desk.account.call = (0, self.clock.now());
        act(&mut desk.account)
    }

    /// Replaces the faults.
    pub fn disturb(&self, faults: EspFaults) {
        self.desk().set_faults(faults);
    }

    /// Returns the record of the calls.
    pub fn ledger(&self) -> EspLedger {
        self.desk().ledger.clone()
    }

    /// Returns all effects.
    pub fn effects(&self) -> Vec<EspEffect> {
        self.desk().account.effects().to_vec()
    }

    /// Returns the platform's ID of a contact, in a list or in the account.
    pub fn contact_id(&self, contact: &EspContact, list: Option<u32>) -> String {
        (self.vendor.sheet().contact_id)(contact, list)
    }

    /// Returns the platform's ID of a list.
    pub fn list_id(&self, list: u32) -> String {
        (self.vendor.sheet().list_id)(list)
    }

    /// Returns the notifications that the platform would send to registered webhooks about a new contact.
    pub fn notices(&self, number: u32) -> Vec<EspNotice> {
        let desk = self.desk();
        let Some(contact) = desk.account.contact(number) else { return Vec::new() };
        let is_told =
            |hook: &&EspHook| hook.is_active && hook.list.is_none_or(|list| contact.lists.contains_key(&list));
        let told = desk.account.hooks().iter().filter(is_told);
        told.filter_map(|hook| notice(self.vendor, hook, &contact, self.clock.now())).collect()
    }

    /// Returns the current contacts, by account and by list.
    pub fn snapshot(&self) -> EspSnapshot {
        let desk = self.desk();
        let account = &desk.account;
        let everyone = account.everyone().iter().map(|number| (*number, None));
        let lists = account.lists().iter().map(|list| list.number);
        let members = lists.flat_map(|list| account.members(list).iter().map(move |number| (*number, Some(list))));
        EspSnapshot { contacts: everyone.chain(members).collect() }
    }
}

impl Drop for EspWorld {
    fn drop(&mut self) {
        self.task.abort();
    }
}
