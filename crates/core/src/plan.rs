//! One domain's probe as a state machine: whom to dial, what to ask, and what the answers come to.
//!
//! A plan holds the recipients of one domain and the domain's exchangers. The shell asks it for the next [`Action`], does
//! it and reports what happened; the plan never waits and never fails. In the end every recipient has exactly one
//! [`Fate`]. The rules, in the order in which they bite:
//!
//! * Exchangers come by preference, equal ones shuffled (RFC 5321 §5.1); a host that cannot be reached, or that sends us
//!   away for reasons of its own, is followed by the next one. A refusal of *us* is not: the others belong to the same people.
//! * One random recipient rides at the end of the first flight where it is not known whether the domain accepts any local
//!   part; a second one is asked only after the first was accepted. Acceptances wait until that is decided.
//! * After many misses in a row an acceptance is worth nothing until a random recipient was refused again, because some
//!   servers begin to accept everything.
//! * What was not answered is asked again, at most [`ASKS_MAX`] times; then silence is the answer.
//! * A flight of several that breaks off without a word proves nothing: its recipients are asked again, one by one.
//!
//! A plan cannot make an address undeliverable: it only carries readings to `verdict::judge`.

mod answers;
mod fates;
mod hosts;
mod random;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use crate::classify::{Reading, Stage};
use crate::policy::Policy;
use crate::rng::Rng;
use crate::smtp::reply::Reply;
use crate::verdict::{CatchAll, MxHost, Silence};

pub use answers::Heard;
pub use fates::{Fate, Told};
pub use hosts::{ADDRESSES_PER_HOST, DIALS_MAX, EXCHANGERS_MAX, Found};
pub use random::person_like;

use hosts::Hosts;

/// How often a recipient is asked about in one plan when the answer gets lost.
pub const ASKS_MAX: u8 = 2;
/// Recent misses after which every acceptance is checked by a random recipient behind it, at servers of which nothing
/// is known. Servers that count errors act after tens of them; a check costs one RCPT a flight.
pub const MISSES_TRUSTED_MAX: u32 = 10;
/// Sessions without a single answer after which an exchanger is left.
const FRUITLESS_MAX: u32 = 2;
/// When a greylisted recipient is asked about again if the reply does not say: the default of postgrey and most others.
const GREYLIST_MS: i64 = 300_000;
/// When to come back to a server that is checking the recipient itself (Postfix's address verification takes seconds).
const IN_PROGRESS_MS: i64 = 20_000;
/// When to come back after a temporary failure.
const TEMPORARY_MS: i64 = 600_000;
/// When to come back to exchangers of which none could be reached.
const UNREACHED_MS: i64 = 300_000;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Look up the addresses of an exchanger and report with [`Plan::resolved`].
    Resolve {
        /// Its index.
        exchanger: usize,
    },
    /// Open a session and report with [`Plan::linked`] or [`Plan::dial_failed`].
    Dial {
        /// The exchanger's index.
        exchanger: usize,
        /// Which of its addresses.
        address: IpAddr,
        /// TLS has failed there: do without.
        clear: bool,
    },
    /// Ask these recipients in one flight, in this order, the random one last; report with [`Plan::answered`].
    Ask {
        /// Their indexes.
        recipients: Vec<u32>,
        /// Whether a random recipient rides along.
        random: bool,
    },
    /// Leave the session, it has no room: report with [`Plan::left`].
    Leave,
    /// Every recipient has its fate.
    Done,
}

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialFault {
    /// No connection, or no usable dialogue on it.
    Silent(Silence, Option<Stage>),
    /// The TLS handshake failed.
    Tls,
    /// The server sent us away.
    SentAway {
        /// At which stage.
        stage: Stage,
        /// What it said.
        reply: Reply,
        /// What that means.
        reading: Reading,
    },
}

/// A reply that decides about a recipient as soon as more is known of its domain.
#[derive(Clone, Debug)]
struct Held {
    recipient: u32,
    reading: Reading,
    reply: Reply,
}

/// What a domain's random recipients have shown.
#[derive(Clone, Copy, Debug, Default)]
struct Randoms {
    accepted: u32,
    /// A random recipient came to something that proves nothing: none is sent any more.
    useless: bool,
    /// Random recipients that are not answered yet because their session died.
    lost: u32,
    /// The random recipient was put off: when to come back, and why.
    put_off: Option<(i64, &'static str)>,
}

/// What a domain has shown of how it checks.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// It has accepted some address.
    accepts: bool,
    /// It has refused somebody as missing, in this plan.
    refuses: bool,
}

/// What is known of a domain before it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Whether it accepts any local part.
    pub catch_all: CatchAll,
    /// Whether it has accepted some address lately.
    pub accepts_others: bool,
}

/// One domain's probe.
#[derive(Debug)]
pub struct Plan {
    hosts: Hosts,
    pending: VecDeque<u32>,
    asked: Vec<u8>,
    catch_all: CatchAll,
    /// What was known before this plan asked anybody.
    known_catch_all: CatchAll,
    seen: Seen,
    randoms: Randoms,
    /// Mailboxes that did not exist, at this exchanger lately.
    misses: u32,
    /// The last flight ended with a random recipient that was refused.
    checked: bool,
    accepted: Vec<Held>,
    denied: Vec<Held>,
    fruitless: u32,
    /// How many recipients a flight may carry. One, when one broke off, so that no answer can stand for another's.
    flight_max: u32,
    last: Option<Told>,
    fates: Vec<(u32, Fate)>,
}

impl Plan {
    /// A plan for `recipients` recipients, numbered from 0. `exchangers` come by preference; `policy` knows each one's.
    pub fn new(
        exchangers: &[MxHost],
        policies: Vec<Arc<Policy>>,
        recipients: u32,
        known: Known,
        rng: &mut Rng,
    ) -> Self {
        let count = usize::try_from(recipients).unwrap_or_default();
        Self {
            hosts: Hosts::new(exchangers, policies, rng),
            pending: (0..recipients).collect(),
            asked: vec![0; count],
            catch_all: known.catch_all,
            known_catch_all: known.catch_all,
            seen: Seen { accepts: known.accepts_others, refuses: false },
            randoms: Randoms::default(),
            misses: 0,
            checked: false,
            accepted: Vec::new(),
            denied: Vec::new(),
            fruitless: 0,
            flight_max: u32::MAX,
            last: None,
            fates: Vec::with_capacity(count),
        }
    }

    /// The exchanger of this index: its name and policy.
    pub fn exchanger(&self, index: usize) -> (&MxHost, &Arc<Policy>) {
        self.hosts.exchanger(index)
    }

    /// The policy of the exchanger that is being asked.
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.hosts.policy()
    }

    /// The exchanger that is being asked, or was asked last.
    pub fn current(&self) -> Option<&MxHost> {
        self.hosts.current().map(|index| self.hosts.exchanger(index).0)
    }

    /// How many RCPT the plan would send now if there were room for all.
    pub fn wants(&self) -> u32 {
        let pending = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        pending.saturating_add(u32::from(self.wants_random()))
    }

    /// Whether the domain accepts any local part, as far as is known.
    pub fn catch_all(&self) -> CatchAll {
        self.catch_all
    }

    /// Whether the domain has accepted some address.
    pub fn accepts_others(&self) -> bool {
        self.seen.accepts
    }

    /// How many mailboxes did not exist at this exchanger lately, whoever asked: it counts them all.
    pub fn note_misses(&mut self, misses: u32) {
        self.misses = self.misses.max(misses);
    }

    /// The fates that were decided since the last call.
    pub fn take_fates(&mut self) -> Vec<(u32, Fate)> {
        std::mem::take(&mut self.fates)
    }

    /// What to do next. `room` says how many RCPT the open session may still carry; none where there is no session.
    pub fn next(&mut self, room: Option<u32>) -> Action {
        if self.wants() == 0 {
            return self.finish();
        }
        match room {
            Some(room) if room == 0 || self.hosts.moved() => Action::Leave,
            Some(room) => self.flight(room),
            None => match self.hosts.next() {
                Some(action) => action,
                None => self.give_up(),
            },
        }
    }

    fn flight(&mut self, room: u32) -> Action {
        let most = self.hosts.policy().map_or(1, |policy| policy.flight_rcpt.max(1));
        let most = most.min(room.max(1)).min(self.flight_max);
        let random = self.wants_random() && (most > 1 || self.pending.is_empty());
        let count = usize::try_from(most - u32::from(random)).unwrap_or(1).min(self.pending.len());
        let recipients: Vec<u32> = self.pending.drain(..count).collect();
        for recipient in &recipients {
            self.asked[index(*recipient)] += 1;
        }
        Action::Ask { recipients, random }
    }

    /// A session with the exchanger stands.
    pub fn linked(&mut self) {
        self.last = None;
        self.hosts.linked();
    }

    /// The session was left without harm; another one may be opened.
    pub fn left(&mut self) {
        self.hosts.fruitful();
    }

    /// The addresses of an exchanger.
    pub fn resolved(&mut self, exchanger: usize, found: Found) {
        self.hosts.resolved(exchanger, found);
    }

    /// There is no session.
    pub fn dial_failed(&mut self, fault: DialFault) {
        match fault {
            DialFault::Tls if self.hosts.try_clear() => {}
            DialFault::Tls => self.unreached(Silence::Tls, Some(Stage::StartTls)),
            DialFault::Silent(how, stage) => self.unreached(how, stage),
            DialFault::SentAway { stage, reply, reading } => self.sent_away(stage, reply, &reading),
        }
    }

    fn unreached(&mut self, how: Silence, stage: Option<Stage>) {
        self.last = Some(self.silent(how, stage));
        self.hosts.skip_address();
    }

    fn sent_away(&mut self, stage: Stage, reply: Reply, reading: &Reading) {
        let about_us = reading.meaning.is_about_us().is_some();
        let told = self.told(stage, reply, reading);
        if about_us {
            let after_ms = self.pause_ms(reading);
            self.defer_all(&told, after_ms, "blocked");
        } else {
            self.last = Some(told);
            self.hosts.skip_host();
        }
    }

    /// These recipients' fates are taken back, for nobody knows whether the answers were meant for them: they are asked about
    /// again, one a flight.
    pub fn ask_alone(&mut self, recipients: &[u32]) {
        if !recipients.is_empty() {
            self.flight_max = 1;
        }
        self.pending.extend(recipients);
    }
}

fn index(recipient: u32) -> usize {
    usize::try_from(recipient).expect("a recipient's number is an index")
}

#[cfg(test)]
mod tests;
