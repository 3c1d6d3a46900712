//! Handles calls: counts, disturbs, admits, executes and records them.
//!
//! Everything except the socket is in this module, without I/O, so one seed and one sequence of calls always give the same
//! run.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use probity_mail::rng::Rng;

use crate::account::EspTokens;
use crate::account::{EspAccount, EspState, mixed};
use crate::call::EspCall;
use crate::clock::EspClock;
use crate::faults::{DEAD_MS, EspFault, EspFaults};
use crate::ledger::{EspLedger, EspRecord};
use crate::limits::{EspCounts, EspExcess, EspLimit};
use crate::reply::EspReply;
use crate::vendor::{VendorSecrets, VendorSheet};

/// Delay of a slow reply.
pub(crate) const SLOW_MS: i64 = 4_000;

/// Outcome of a call for its caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Reply(EspReply),
    /// The connection closes without a reply.
    Silence,
}

/// Cursor that a reply contained.
#[derive(Debug)]
struct Cursor {
    position: String,
    /// Whether the page after it arrived.
    is_used: bool,
}

/// One platform with its account.
#[derive(Debug)]
pub(crate) struct Desk {
    pub sheet: &'static VendorSheet,
    pub account: EspAccount,
    pub secrets: VendorSecrets,
    pub tokens: EspTokens,
    pub ledger: EspLedger,
    pub now: i64,
    seed: u64,
    clock: EspClock,
    is_limited: bool,
    counts: EspCounts,
    faults: EspFaults,
    rng: Rng,
    dead_until: Option<i64>,
    cursors: BTreeMap<String, Cursor>,
    opened: Option<String>,
    /// Last page that arrived, with its walk.
    last_page: Option<(String, EspReply)>,
}

/// Parts of a desk.
pub(crate) struct DeskParts {
    pub sheet: &'static VendorSheet,
    pub account: EspAccount,
    pub secrets: VendorSecrets,
    pub seed: u64,
    pub clock: EspClock,
    pub is_limited: bool,
    pub faults: EspFaults,
}

impl Desk {
    pub(crate) fn new(parts: DeskParts) -> Self {
        let DeskParts { sheet, account, secrets, seed, clock, is_limited, faults } = parts;
        Self {
            sheet,
            account,
            secrets,
            tokens: EspTokens::default(),
            ledger: EspLedger::default(),
            now: clock.now(),
            seed,
            clock,
            is_limited,
            counts: EspCounts::default(),
            faults,
            rng: Rng::new(seed ^ 0xde5c),
            dead_until: None,
            cursors: BTreeMap::new(),
            opened: None,
            last_page: None,
        }
    }

    /// Decides an unknown fact about the platform by the seed, consistently within a run.
    pub(crate) fn varies(&self, fact: u64) -> bool {
        mixed(self.seed, fact ^ 0xfac7) & 1 == 1
    }

    /// Returns the secret credential of the account.
    pub(crate) fn key(&self) -> String {
        (self.sheet.key)(&self.secrets.key)
    }

    /// Refuses a call without the account's credentials.
    pub(crate) fn admits(&self, is_known: bool) -> Result<(), EspReply> {
        if is_known { Ok(()) } else { Err((self.sheet.refused)()) }
    }

    /// Handles a call. `in_flight` is the number of calls in progress, including this one.
    pub(crate) fn answer(&mut self, call: &EspCall, in_flight: usize) -> Outcome {
        let number = self.ledger.total() + 1;
        self.now = self.clock.now();
        self.account.call = (number, self.now);
        let drawn = self.faults.draw(&mut self.rng).filter(|_| self.ledger.faults() < self.faults.max);
        // A success that nothing was done for deceives every caller; only reading shows it.
        let drawn = drawn.filter(|fault| *fault != EspFault::ErrorInside || call.method == "GET");
        let (mut reply, mut fault, is_excess) = self.decide(call, number, drawn, in_flight);
        if let Some(what) = misspelled(call) {
            reply.blame.get_or_insert_with(|| what.to_owned());
        }
        let status = reply.status;
        let blame = reply.blame.clone();
        let outcome = self.deliver(call, reply, &mut fault);
        let (target, method) = (target(call), call.method.clone());
        self.ledger.add(EspRecord { number, at: self.now, method, target, status, fault, is_excess, blame });
        self.settle_cursor(matches!(fault, None | Some(EspFault::Slow)) && status < 300);
        if call.method == "GET" && status < 300 && fault.is_none() {
            self.churn();
        }
        outcome
    }

    /// Returns the reply, the fault that caused it, and whether a limit was exceeded.
    fn decide(
        &mut self,
        call: &EspCall,
        number: usize,
        drawn: Option<EspFault>,
        in_flight: usize,
    ) -> (EspReply, Option<EspFault>, bool) {
        if drawn == Some(EspFault::WebPage) {
            let status = [200, 502, 503, 403][self.rng.below(4)];
            return (EspReply::page(status, "Checking your browser"), drawn, false);
        }
        if let Some(excess) = self.excess(call, in_flight) {
            return ((self.sheet.limited)(&excess), None, true);
        }
        if self.faults.dead_from == Some(number) {
            self.dead_until = Some(self.now + DEAD_MS);
        }
        if self.dead_until.is_some_and(|until| self.now < until) {
            return ((self.sheet.refused)(), None, false);
        }
        if let Err(reply) = (self.sheet.admit)(self, call) {
            return (reply, None, false);
        }
        match drawn {
            Some(EspFault::Error) => return (self.failure(), drawn, false),
            Some(EspFault::ErrorInside) => {
                let body = serde_json::json!({"errors": [{"message": "Internal error"}], "message": "Internal error"});
                return (EspReply::json(200, &body), drawn, false);
            }
            _ => {}
        }
        let sheet = self.sheet;
        (sheet.answer(self, call), drawn, false)
    }

    fn excess(&mut self, call: &EspCall, in_flight: usize) -> Option<EspExcess> {
        if !self.is_limited {
            return None;
        }
        if self.sheet.concurrency.is_some_and(|max| in_flight > max) {
            return Some(EspExcess { limit: EspLimit::of_all(1_000, in_flight), wait_ms: 1_000 });
        }
        let path = call.path.strip_prefix(self.sheet.root).unwrap_or(&call.path);
        self.counts.take(self.sheet.limits, &call.method, path, self.now)
    }

    /// Returns a failure of the platform, or of a proxy in front of it.
    fn failure(&mut self) -> EspReply {
        if self.sheet.slug == "mailchimp" && self.rng.below(2) == 0 {
            // Overload without a message.
            return EspReply::empty(403);
        }
        let status = [500, 502, 503, 504][self.rng.below(4)];
        match self.rng.below(3) {
            0 => EspReply::empty(status),
            1 => EspReply::text(status, "text/plain", "upstream connect error"),
            _ => EspReply::json(status, &serde_json::json!({"message": "Internal Server Error"})),
        }
    }

    /// Applies faults to a reply on its way.
    fn deliver(&mut self, call: &EspCall, mut reply: EspReply, fault: &mut Option<EspFault>) -> Outcome {
        match fault {
            Some(EspFault::LostReply) => return Outcome::Silence,
            // A cut text looks like a whole one; on a real connection, its length tells.
            Some(EspFault::Cut) if reply.is_success() && reply.body.len() > 2 && !reply.is_text() => {
                reply.body.truncate(reply.body.len() / 2);
            }
            Some(EspFault::RepeatedPage) => match &self.last_page {
                Some((walk, page))
                    if page_walk(call).as_ref() == Some(walk)
                        && page.body != reply.body
                        && reply.is_success()
                        && !self.was_asked(call) =>
                {
                    reply = page.clone();
                }
                _ => *fault = None,
            },
            Some(EspFault::Slow) => self.clock.advance(SLOW_MS),
            Some(EspFault::Flood) if reply.is_success() => reply = reply.flooding(),
            Some(EspFault::Empty) if reply.is_success() && !reply.is_text() => reply.body.clear(),
            Some(EspFault::Cut | EspFault::Empty | EspFault::Flood) => *fault = None,
            Some(EspFault::Error | EspFault::ErrorInside | EspFault::WebPage) | None => {}
        }
        let arrives = matches!(fault, None | Some(EspFault::Slow));
        if call.method == "GET" && reply.is_success() && arrives {
            self.last_page = Some((walk(call), reply.clone()));
        }
        Outcome::Reply(reply)
    }

    /// Returns whether a call was sent before. Then the last page is not the one before it: the caller has gone back after a crash.
    fn was_asked(&self, call: &EspCall) -> bool {
        let target = target(call);
        self.ledger.calls().iter().any(|known| known.target == target)
    }

    /// Replaces the faults. The count of past ones continues.
    pub(crate) fn set_faults(&mut self, faults: EspFaults) {
        self.faults = faults;
    }

    /// Creates a cursor for a position.
    pub(crate) fn cursor(&mut self, position: &str) -> String {
        let nonce = self.cursors.len();
        let cursor = BASE64_STANDARD.encode(format!("{position}|{nonce}"));
        self.cursors.insert(cursor.clone(), Cursor { position: position.to_owned(), is_used: false });
        cursor
    }

    /// Returns the position of a cursor, and whether its page arrived before.
    pub(crate) fn open_cursor(&mut self, cursor: &str) -> Option<(String, bool)> {
        let known = self.cursors.get(cursor)?;
        self.opened = Some(cursor.to_owned());
        Some((known.position.clone(), known.is_used))
    }

    fn settle_cursor(&mut self, arrived: bool) {
        if let Some(known) = self.opened.take().and_then(|cursor| self.cursors.get_mut(&cursor)) {
            known.is_used |= arrived;
        }
    }

    /// Adds and removes contacts between two pages.
    fn churn(&mut self) {
        let mut happens = |share: u32| self.rng.below(1_000) < share as usize;
        let (comes, goes) = (happens(self.faults.arrivals), happens(self.faults.departures));
        self.account.call = (0, self.now);
        if comes {
            let list = u32::try_from(self.rng.below(self.account.lists.len())).unwrap_or(0) + 1;
            let email = self.account.mold.late_comer(self.ledger.total());
            self.account.add(&email, EspState::Subscribed, &[list]);
            if self.sheet.is_by_name {
                self.account.scatter(list, self.rng.next_u64());
            }
        }
        if goes {
            let place = self.rng.below(self.account.everyone().len());
            if let Some(number) = self.account.everyone().get(place).copied() {
                self.account.delete(number);
            }
        }
    }
}

/// Returns path and query.
fn target(call: &EspCall) -> String {
    if call.query.is_empty() { call.path.clone() } else { format!("{}?{}", call.path, call.query) }
}

/// Parameters that select a page.
const PAGE_PARAMS: [&str; 9] =
    ["page", "Page", "offset", "start", "cursor", "after", "page[cursor]", "paginate[page]", "id_greater"];

/// Returns the properties that the pages of a walk share.
fn walk(call: &EspCall) -> String {
    let kept = call.params().into_iter().filter(|(name, _)| !PAGE_PARAMS.contains(&name.as_str()));
    format!("{}?{:?}", call.path, kept.collect::<Vec<_>>())
}

/// Returns these properties for a page that is not the first of its walk.
fn page_walk(call: &EspCall) -> Option<String> {
    let is_later = |(name, value): &(String, String)| {
        PAGE_PARAMS.contains(&name.as_str()) && !["", "0", "1"].contains(&value.as_str())
    };
    (call.method == "GET" && call.params().iter().any(is_later)).then(|| walk(call))
}

/// Returns a fault of the request target that any platform may refuse (RFC 3986 §3.3, §3.4).
fn misspelled(call: &EspCall) -> Option<&'static str> {
    let odd = |text: &str| text.contains(['[', ']', '{', '}', '|', '"', '<', '>', '\\', '^', '`', ' ']);
    if odd(&call.query) {
        return Some("a character of the query is not percent-encoded");
    }
    odd(&call.path).then_some("a character of the path is not percent-encoded")
}
