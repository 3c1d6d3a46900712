//! State machine of one domain's probe: which address to dial, which recipients to ask, what the answers mean.
//!
//! A plan holds the recipients of one domain and its MX hosts. The shell takes the next [`ProbeAction`], performs it and reports
//! the result; the plan never waits and never fails. At the end every recipient has exactly one [`RecipientFate`]. Rules, in order:
//!
//! * MX hosts are tried by preference, equal ones shuffled (RFC 5321 §5.1). If a host can't be reached or is broken, the next one
//!   is tried. A client refusal ends the plan, because all MX hosts of a domain have the same operator.
//! * If the domain may be a catch-all, a random recipient ends the first flight. A second one follows only if the first was
//!   accepted. Acceptances wait for the result.
//! * After many misses, an acceptance counts only once a random recipient is refused, because some servers start accepting
//!   everything.
//! * An unanswered recipient is asked again, at most [`ASKS_MAX`] times.
//! * A refusal for a limit of the transaction or the session is about nobody: what it left open is asked in the next one.
//! * If a flight of several recipients breaks off without a reply, all of them are asked again, one per flight, and a refusal ends
//!   the session.
//! * If a flight in groups fails, it is repeated once, one command at a time ([`ProbePlan::check_group`]).
//! * Recipients that our own limits hold back are deferred, and so are acceptances that wait for them.
//!
//! A plan never decides that an address is undeliverable: it passes readings to `verdict::judge`.

mod answers;
mod catch_all;
mod fates;
mod hosts;
mod lock_step;
mod random;
mod requeue;
mod strangers;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use crate::classify::{DialogStage, ReplyReading};
use crate::policy::Policy;
use crate::rng::Rng;
use crate::smtp::reply::Reply;
use crate::verdict::{CatchAll, MxHost, NotAsked, Silence};

pub use answers::{FlightFindings, FlightReader};
pub use fates::{RecipientFate, RecipientReport};
pub use hosts::{ADDRESSES_PER_HOST, DIALS_MAX, EXCHANGERS_MAX, ResolvedHost};
pub use lock_step::is_out_of_place;
pub use random::person_like;
pub use strangers::HostOwner;

use hosts::Hosts;
use strangers::DoubtedRefusal;

/// Attempts per recipient in one plan, if answers get lost.
pub const ASKS_MAX: u8 = 2;
/// Recent misses after which a random recipient checks every acceptance, at servers without a known policy. Servers that count
/// errors react after tens of them; a check costs one RCPT per flight.
pub const MISSES_TRUSTED_MAX: u32 = 10;
/// Sessions without any answer before the next MX host is tried.
const FRUITLESS_MAX: u32 = 2;
/// Retry delay after greylisting without a stated time: the default of postgrey and most others.
const GREYLIST_MS: i64 = 300_000;
/// Retry delay while the server verifies the recipient itself (Postfix's address verification takes seconds).
const IN_PROGRESS_MS: i64 = 20_000;
/// Retry delay after a temporary failure.
const TEMPORARY_MS: i64 = 600_000;
/// Retry delay if no MX host could be reached.
const UNREACHED_MS: i64 = 300_000;

/// The next step for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAction {
    /// Look up the addresses of an exchanger and report with [`ProbePlan::resolved`].
    Resolve {
        /// Its index.
        exchanger: usize,
    },
    /// Open a session and report with [`ProbePlan::linked`] or [`ProbePlan::dial_failed`].
    Dial {
        /// The exchanger's index.
        exchanger: usize,
        /// The address to dial.
        address: IpAddr,
        /// Connect without TLS, because TLS failed there.
        clear: bool,
    },
    /// Ask these recipients in one flight, in this order, the random one last; report with [`ProbePlan::answered`].
    Ask {
        /// Their indexes.
        recipients: Vec<u32>,
        /// Whether a random recipient ends the flight.
        random: bool,
    },
    /// Close the session, because it can't carry more recipients; report with [`ProbePlan::left`].
    Leave,
    /// Every recipient has its fate.
    Done,
}

/// Why no session was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialFault {
    /// No connection, or no usable SMTP dialog.
    Silent(Silence, Option<DialogStage>),
    /// The TLS handshake failed.
    Tls,
    /// The server refused the session.
    SentAway {
        /// Stage of the refusal.
        stage: DialogStage,
        /// The refusal.
        reply: Reply,
        /// Its reading.
        reading: ReplyReading,
    },
}

/// A reply whose meaning depends on facts about the domain that are still missing.
#[derive(Clone, Debug)]
struct HeldReply {
    recipient: u32,
    reading: ReplyReading,
    reply: Reply,
}

/// Results of the domain's random recipients.
#[derive(Clone, Copy, Debug, Default)]
struct Randoms {
    accepted: u32,
    /// A random recipient got an inconclusive answer; no further one is sent.
    useless: bool,
    /// Random recipients without an answer, because their session broke.
    lost: u32,
    /// Our own limits kept the random recipient from being sent.
    put_off: Option<PlannedRetry>,
}

/// Time and cause of the retry.
#[derive(Clone, Copy, Debug)]
struct PlannedRetry {
    after_ms: i64,
    why: &'static str,
    /// Our own limit, if one is the cause.
    ours: Option<NotAsked>,
}

/// What the domain's answers say about its recipient checks.
#[derive(Clone, Copy, Debug, Default)]
struct SeenAnswers {
    /// It accepted some address.
    accepts: bool,
    /// It refused a recipient as missing, at this host in this plan.
    refuses: bool,
}

/// Stored facts about a domain at one MX host.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownDomain {
    /// Whether it is a catch-all.
    pub catch_all: CatchAll,
    /// Whether it recently accepted some address.
    pub accepts_others: bool,
}

/// One domain's probe.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the probe")]
pub struct ProbePlan {
    hosts: Hosts,
    pending: VecDeque<u32>,
    asked: Vec<u8>,
    catch_all: CatchAll,
    /// Facts from before this plan, of the current MX host.
    known: KnownDomain,
    seen: SeenAnswers,
    randoms: Randoms,
    /// Recent missing mailboxes at this MX host.
    misses: u32,
    /// The last flight ended with a random recipient that was refused.
    checked: bool,
    accepted: Vec<HeldReply>,
    denied: Vec<HeldReply>,
    /// What the current host refused, which may be a stranger's, and what hosts before it did.
    doubted: Vec<DoubtedRefusal>,
    doubted_before: Vec<DoubtedRefusal>,
    fruitless: u32,
    /// One recipient per flight, and none after a refusal. No answer can then be taken for another recipient's, and a server that
    /// disconnects after a refusal has answered already.
    alone: bool,
    /// How many recipients this MX host was seen to take in a transaction.
    rcpt_max: u32,
    /// Flights of the open session that told something.
    flights: u32,
    /// The site takes mail without a login.
    needs_no_login: bool,
    /// One command at a time.
    lock_step: bool,
    /// The open session is to be left.
    leaves: bool,
    last: Option<RecipientReport>,
    fates: Vec<(u32, RecipientFate)>,
}

impl ProbePlan {
    /// Makes a plan for `recipients` recipients, numbered from 0, with `exchangers` sorted by preference, and the policy and owner
    /// of each. At each host it is told what is known, with [`ProbePlan::meet`].
    pub fn new(
        exchangers: &[MxHost],
        policies: Vec<Arc<Policy>>,
        owners: Vec<HostOwner>,
        recipients: u32,
        rng: &mut Rng,
    ) -> Self {
        let count = usize::try_from(recipients).unwrap_or_default();
        Self {
            hosts: Hosts::new(exchangers, policies, owners, rng),
            pending: (0..recipients).collect(),
            asked: vec![0; count],
            catch_all: CatchAll::Unknown,
            known: KnownDomain::default(),
            seen: SeenAnswers::default(),
            randoms: Randoms::default(),
            misses: 0,
            checked: false,
            accepted: Vec::new(),
            denied: Vec::new(),
            doubted: Vec::new(),
            doubted_before: Vec::new(),
            fruitless: 0,
            alone: false,
            rcpt_max: u32::MAX,
            flights: 0,
            needs_no_login: false,
            lock_step: false,
            leaves: false,
            last: None,
            fates: Vec::with_capacity(count),
        }
    }

    /// Name and policy of an MX host.
    pub fn exchanger(&self, index: usize) -> (&MxHost, &Arc<Policy>) {
        self.hosts.exchanger(index)
    }

    /// Policy of the current MX host.
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.hosts.policy()
    }

    /// The current or last MX host.
    pub fn current(&self) -> Option<&MxHost> {
        self.hosts.current().map(|index| self.hosts.exchanger(index).0)
    }

    /// Number of RCPT commands the plan would send now, given unlimited room.
    pub fn wants(&self) -> u32 {
        let pending = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        pending.saturating_add(u32::from(self.wants_random()))
    }

    /// Whether the domain is a catch-all, as far as known.
    pub fn catch_all(&self) -> CatchAll {
        self.catch_all
    }

    /// Whether the domain accepted some address.
    pub fn accepts_others(&self) -> bool {
        self.seen.accepts
    }

    /// Sets the number of recent misses at this MX host, across all plans, because the server counts them all.
    pub fn note_misses(&mut self, misses: u32) {
        self.misses = self.misses.max(misses);
    }

    /// Records that this site has lately accepted somebody, without a login.
    pub fn note_acceptance(&mut self) {
        self.needs_no_login = true;
    }

    /// Takes the fates decided since the last call.
    pub fn take_fates(&mut self) -> Vec<(u32, RecipientFate)> {
        std::mem::take(&mut self.fates)
    }

    /// Returns the next step. `room` is the number of RCPT commands that the open session can still carry, `None` without a
    /// session.
    pub fn next(&mut self, room: Option<u32>) -> ProbeAction {
        if self.wants() == 0 && !self.ask_doubted_elsewhere() {
            return self.finish();
        }
        match room {
            Some(room) if room == 0 || self.leaves || self.hosts.moved() => ProbeAction::Leave,
            Some(room) => self.flight(room),
            None => match self.hosts.next() {
                Some(action) => action,
                None => self.give_up(),
            },
        }
    }

    /// Number of RCPT commands in a flight, given unlimited room.
    pub fn flight_max(&self) -> u32 {
        let most = self.hosts.policy().map_or(1, |policy| policy.flight_rcpt.max(1));
        if self.alone { 1 } else { most.min(self.rcpt_max) }
    }

    fn flight(&mut self, room: u32) -> ProbeAction {
        let most = self.flight_max().min(room.max(1));
        // In a flight of one there is no place beside others: the random recipient follows the first acceptance.
        let alone = self.pending.is_empty() || !(self.alone || self.accepted.is_empty());
        let random = self.wants_random() && (most > 1 || alone);
        let count = usize::try_from(most - u32::from(random)).unwrap_or(1).min(self.pending.len());
        let recipients: Vec<u32> = self.pending.drain(..count).collect();
        for recipient in &recipients {
            self.asked[index(*recipient)] += 1;
        }
        ProbeAction::Ask { recipients, random }
    }

    /// Records that a session is open.
    pub fn linked(&mut self) {
        (self.leaves, self.flights) = (false, 0);
        self.ask_unchecked_again();
        self.last = None;
        self.hosts.linked();
    }

    /// Records that the session was closed normally; another one may be opened.
    pub fn left(&mut self) {
        self.hosts.fruitful();
    }

    /// Records the addresses of an MX host.
    pub fn resolved(&mut self, exchanger: usize, found: ResolvedHost) {
        self.hosts.resolved(exchanger, found);
    }

    /// Records that no session was opened.
    pub fn dial_failed(&mut self, fault: DialFault) {
        match fault {
            DialFault::Tls if self.hosts.try_clear() => {}
            DialFault::Tls => self.unreached(Silence::Tls, Some(DialogStage::StartTls)),
            DialFault::Silent(how, stage) => self.unreached(how, stage),
            DialFault::SentAway { stage, reply, reading } => self.sent_away(stage, reply, &reading),
        }
    }

    fn unreached(&mut self, how: Silence, stage: Option<DialogStage>) {
        self.last = Some(self.silent(how, stage));
        self.hosts.skip_address();
    }

    fn sent_away(&mut self, stage: DialogStage, reply: Reply, reading: &ReplyReading) {
        let about_us = reading.meaning.is_about_us().is_some();
        let told = self.report(stage, reply, reading);
        if about_us {
            let after_ms = self.pause_ms(reading);
            self.defer_all(&told, after_ms, "blocked");
        } else {
            self.last = Some(told);
            self.hosts.skip_host();
        }
    }

    /// Revokes the fates of these recipients, because the answers may belong to others, and asks about each again, one per flight.
    pub fn ask_again_alone(&mut self, recipients: &[u32]) {
        if recipients.is_empty() {
            return;
        }
        self.ask_alone();
        self.uncount(recipients);
        self.pending.extend(recipients);
    }

    /// From now on sends one recipient per flight and closes the session after a refusal.
    pub fn ask_alone(&mut self) {
        self.alone = true;
    }

    /// Whether each flight has one recipient and a refusal ends the session.
    pub fn asks_alone(&self) -> bool {
        self.alone
    }

    /// Number of the next random recipient. It changes only after an acceptance: a refused or deferred one is reused, so that a
    /// greylisting server recognizes it.
    pub fn random_number(&self) -> u64 {
        u64::from(self.randoms.accepted)
    }

    /// Fates decided since they were last taken.
    pub fn fates(&self) -> &[(u32, RecipientFate)] {
        &self.fates
    }

    fn uncount(&mut self, recipients: &[u32]) {
        for recipient in recipients {
            let asked = &mut self.asked[index(*recipient)];
            *asked = asked.saturating_sub(1);
        }
    }
}

fn index(recipient: u32) -> usize {
    usize::try_from(recipient).expect("a recipient's number is an index")
}

#[cfg(test)]
mod tests;
