//! Addresses that are unreachable, or not with TLS: each is dialed once in a while, not for each domain.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use probity_mail::time::Millis;
use probity_mail::verdict::Silence;

use crate::locked;

/// Maximum addresses remembered.
const ADDRESSES_MAX: usize = 50_000;
/// Lifetime of a refused connection: the server may be restarting.
const REFUSED_MS: i64 = 60_000;
/// Lifetime of an address without response: finding it out again costs a full timeout.
const DEAD_MS: i64 = 300_000;
/// Sessions in a row that end before any recipient could be asked about, after which the address rests.
const ENDED_MAX: u8 = 3;
/// Its rest, in milliseconds.
const ENDED_MS: i64 = 60_000;
/// Lifetime of broken TLS, as in `KumoMTA`.
const BROKEN_TLS_MS: i64 = 3 * 86_400_000;

#[derive(Clone, Copy, Debug, Default)]
struct KnownReach {
    dead: Option<(Millis, Silence)>,
    /// Sessions in a row that ended before any recipient could be asked about.
    ended: u8,
    broken_tls_until: Option<Millis>,
    had_tls: bool,
}

pub(crate) struct ReachMemory {
    known: Mutex<LruCache<IpAddr, KnownReach>>,
}

impl ReachMemory {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::new(LruCache::sparse(NonZeroUsize::new(ADDRESSES_MAX).expect("not zero"))) }
    }

    /// How the address failed a short time ago, if it did.
    pub(crate) fn dead(&self, address: IpAddr, now: Millis) -> Option<Silence> {
        self.with(address, |known| known.dead.filter(|(until, _)| *until > now).map(|(_, how)| how))
    }

    /// Whether TLS is known to fail there.
    pub(crate) fn tls_is_broken(&self, address: IpAddr, now: Millis) -> bool {
        self.with(address, |known| known.broken_tls_until.is_some_and(|until| until > now))
    }

    /// Records that a connection failed. Our own failures say nothing about the address.
    pub(crate) fn failed(&self, address: IpAddr, how: Silence, now: Millis) {
        let keep_ms = match how {
            Silence::Refused => REFUSED_MS,
            Silence::TimedOut | Silence::Unreachable => DEAD_MS,
            Silence::Closed | Silence::Protocol | Silence::Tls | Silence::Local => return,
        };
        self.put(address, |known| known.dead = Some((now + keep_ms, how)));
    }

    /// Records that the server ended a session, or stayed silent in it, before any recipient could be asked about. One that does
    /// so again and again is left alone for a while: it may be overloaded, or block us without a word.
    pub(crate) fn ended(&self, address: IpAddr, how: Silence, now: Millis) {
        self.put(address, |known| {
            known.ended = known.ended.saturating_add(1);
            if known.ended >= ENDED_MAX {
                known.dead = Some((now + ENDED_MS, how));
            }
        });
    }

    /// Records that a handshake failed.
    pub(crate) fn tls_failed(&self, address: IpAddr, now: Millis) {
        self.put(address, |known| known.broken_tls_until = Some(now + BROKEN_TLS_MS));
    }

    /// Books a session. True if it was free to use TLS and did not, although an earlier one did: an attacker may be removing the
    /// offer (RFC 3207 §6).
    pub(crate) fn opened(&self, address: IpAddr, tls_free: bool, tls: bool) -> bool {
        self.put(address, |known| {
            (known.ended, known.dead) = (0, None);
            known.had_tls |= tls_free && tls;
        });
        tls_free && !tls && self.with(address, |known| known.had_tls)
    }

    /// Number of addresses remembered, including stale ones.
    pub(crate) fn held(&self) -> usize {
        locked(&self.known).len()
    }

    fn with<T: Default>(&self, address: IpAddr, read: impl Fn(&KnownReach) -> T) -> T {
        let mut known = locked(&self.known);
        known.get(&address).map(read).unwrap_or_default()
    }

    fn put(&self, address: IpAddr, write: impl Fn(&mut KnownReach)) {
        let mut known = locked(&self.known);
        write(known.get_or_insert_mut(address, KnownReach::default));
    }
}
