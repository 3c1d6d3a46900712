//! Secrets of a connection's webhook, by generation, and what a call at its URL means.
//!
//! Every registration has a URL and a secret of its own: a generation. A new one is stored before it is registered, and the one
//! before it is removed afterwards, so that events are accepted all the time.

use probity_access::secrets::{Secrets, hex, random};
use probity_account::id::ConnId;
use probity_connectors::{HookProof, HookRule, hints, prove};
use probity_mail::time::{DAY_MS, Millis};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// Interval at which a registration is looked at, in milliseconds.
const LOOK_MS: i64 = 55 * 60_000;

/// Registration at the platform, for the account or for one list. Without `Debug`, because the secret proves events.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptRegistration {
    pub(super) list: Option<String>,
    pub(super) id: String,
    /// Secret that proves events: the platform's, or ours.
    pub(super) secret: String,
}

/// URL of ours, and its registrations. Without `Debug`, because the path is a secret.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct HookGeneration {
    /// Last part of the URL.
    pub(super) path: String,
    /// Secret that we propose to the platform.
    pub(super) secret: String,
    /// Our public URL.
    base: String,
    /// Tag of the account.
    account: String,
    made_at: i64,
    /// Whether all registrations were made.
    pub(super) is_complete: bool,
    /// Whether a call failed, after which the platform may have a registration whose ID is unknown, or the registrations were to
    /// be removed.
    pub(super) is_spoiled: bool,
    /// Whether the platform has shown all registrations since they were made.
    #[serde(default)]
    pub(super) is_shown: bool,
    /// Attempts to remove the registrations.
    #[serde(default)]
    pub(super) removals: i64,
    pub(super) registrations: Vec<KeptRegistration>,
}

impl HookGeneration {
    /// Returns the URL that the platform calls.
    pub(super) fn url(&self, connection: ConnId) -> String {
        format!("{}/hooks/{connection}/{}", self.base.trim_end_matches('/'), self.path)
    }

    pub(super) fn made_at(&self) -> Millis {
        Millis(self.made_at)
    }
}

/// Generations of a connection's webhook, newest last. Without `Debug`, like what it has.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct HookKeys {
    pub(super) generations: Vec<HookGeneration>,
}

/// Call at the URL of a webhook, as received.
pub struct HookCall<'a> {
    /// Secret in the path.
    pub secret: &'a str,
    pub headers: &'a [(String, String)],
    pub raw: &'a [u8],
}

/// Meaning of a call that was proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCallMeaning {
    /// There may be new contacts.
    News,
    /// The event is about something else.
    Other,
    /// The platform wants its header back, with this value, before it completes a registration.
    Handshake(String, String),
}

impl HookKeys {
    /// Decrypts the keys of a connection. Those that cannot be decrypted are replaced.
    pub fn open(secrets: &Secrets, id: ConnId, sealed: Option<&[u8]>) -> Self {
        let plain = sealed.and_then(|sealed| secrets.open_hook_keys(id, sealed).ok());
        plain.and_then(|plain| serde_json::from_slice(&plain).ok()).unwrap_or_default()
    }

    pub(super) fn seal(&self, secrets: &Secrets, id: ConnId) -> Vec<u8> {
        secrets.seal_hook_keys(id, &serde_json::to_vec(self).expect("texts are plain JSON"))
    }

    /// Returns whether there is nothing at the platform to remove.
    pub fn is_unregistered(&self) -> bool {
        self.generations.iter().all(|generation| generation.registrations.is_empty())
    }

    /// Returns what a call means; `None` if it is not proven. The proof comes before anything is parsed.
    pub fn judge(&self, rule: &HookRule, call: &HookCall<'_>, now: Millis) -> Option<HookCallMeaning> {
        let generation = self.addressed(call.secret)?;
        if let HookProof::Echo { header: name } = &rule.proof
            && !generation.is_complete
            && let Some((_, value)) = call.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Some(HookCallMeaning::Handshake(name.clone(), value.clone()));
        }
        // A platform may send before it answers the registration.
        let secrets = generation.registrations.iter().map(|kept| &kept.secret).chain([&generation.secret]);
        let is_proven = |secret: &String| prove(&rule.proof, secret, (call.headers, call.raw), now).is_ok();
        if !secrets.into_iter().any(is_proven) {
            return None;
        }
        // A look does no harm, so an event in an unknown form causes one.
        let about = hints(rule, call.raw);
        Some(if about.is_ok_and(|hints| hints.is_empty()) { HookCallMeaning::Other } else { HookCallMeaning::News })
    }

    /// Returns whether a path is one of ours, in constant time.
    pub fn has_path(&self, secret: &str) -> bool {
        self.addressed(secret).is_some()
    }

    fn addressed(&self, secret: &str) -> Option<&HookGeneration> {
        self.generations.iter().find(|generation| bool::from(generation.path.as_bytes().ct_eq(secret.as_bytes())))
    }

    /// Returns whether another registration has to be made: there is none for this URL, or the last one may no longer stand.
    /// An event proves that it does, unless each list has its own.
    pub(super) fn needs_new(&self, base: &str, last_event: Option<Millis>, now: Millis) -> bool {
        self.generations.last().is_none_or(|newest| {
            let stood_at = last_event.map_or(newest.made_at, |at| at.0.max(newest.made_at));
            newest.is_spoiled || newest.base != base || newest.is_complete && now.0 - stood_at >= DAY_MS
        })
    }

    /// Returns when the current registration is looked at again: within the hour, because somebody may remove it.
    pub(super) fn look_at(&self, last_event: Option<Millis>, now: Millis) -> Option<Millis> {
        let newest = self.generations.last()?.made_at();
        Some((last_event.map_or(newest, |at| at.max(newest)) + DAY_MS).min(now + LOOK_MS))
    }

    /// Returns whether the newest generation has all its registrations.
    pub(super) fn is_complete(&self) -> bool {
        self.generations.last().is_some_and(|newest| newest.is_complete)
    }

    /// Adds a generation with secrets of its own.
    pub(super) fn add(&mut self, base: &str, account: &[u8], now: Millis) {
        self.generations.retain(|generation| !generation.registrations.is_empty());
        self.generations.push(HookGeneration {
            path: hex(&random::bytes::<32>()),
            secret: hex(&random::bytes::<32>()),
            base: base.to_owned(),
            account: hex(account),
            made_at: now.0,
            is_complete: false,
            is_spoiled: false,
            is_shown: false,
            removals: 0,
            registrations: Vec::new(),
        });
    }

    /// Forgets generations of other accounts, which these credentials cannot remove.
    pub fn keep_account(&mut self, account: &[u8]) {
        let account = hex(account);
        self.generations.retain(|generation| generation.account == account);
    }

    /// Returns the time of the newest registration that was completed.
    pub(super) fn registered_at(&self) -> Option<Millis> {
        self.generations.iter().rev().find(|one| one.is_complete && !one.is_spoiled).map(HookGeneration::made_at)
    }
}
