//! Keeps answers: into the work file, into memory, and onward to the output.
//!
//! One thread owns all three, so an answer is on its way to the disk before it counts anywhere. Data is handed to the system after every
//! group of answers and forced to disk about once a second. The thread also watches whether anything can be reached at all: a
//! million `unverified` rows because port 25 is closed help nobody.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Result;
use probity_core::time::Millis;
use probity_core::verdict::{Reason, Verification};
use probity_engine::Outcome;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::answer::{Answer, Answers, PutOff};
use super::feed::Halt;
use super::order::Order;
use super::output::Output;
use super::progress::Progress;
use super::workfile::WorkFile;
use crate::verifier::Verifier;

/// How often the state is looked at where nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// Data is forced to disk after this time, in milliseconds.
const SYNC_MS: i64 = 1_000;
/// Or after so many answers.
const SYNC_ANSWERS: u64 = 65_536;
/// Answers between two looks at whether the output can grow.
const ADVANCE_ANSWERS: u64 = 4_096;
/// Different exchangers that cannot be reached, while none can, before a run stops.
const UNREACHED_MAX: usize = 20;
/// Different domains that cannot be looked up, while none can, before a run stops.
const NAMELESS_MAX: usize = 50;

/// What reaches the writer.
pub(crate) enum Event {
    /// Outcomes of some rows, with the leave for their call to be in flight.
    Outcomes(Vec<(u64, Outcome)>, Arc<OwnedSemaphorePermit>),
    /// Rows could not be read.
    Failed(anyhow::Error),
    /// Nothing more comes.
    End,
}

/// Keeps answers.
pub(crate) struct Writer {
    /// Who answers.
    pub verifier: Arc<dyn Verifier>,
    /// The order of asking.
    pub order: Arc<Order>,
    /// Where answers are kept.
    pub work: WorkFile,
    /// All answers in short.
    pub answers: Answers,
    /// Where results go.
    pub output: Output,
    /// How far we are.
    pub progress: Progress,
    /// To stop the run.
    pub halt: watch::Sender<Option<Halt>>,
    /// Whether anything can be reached; none where that does not matter.
    pub reach: Option<Reachability>,
    /// Rows that wait for another try.
    pub waiting: HashSet<u32>,
}

impl Writer {
    /// Takes events until the end; an error stops the run.
    pub(crate) fn run(mut self, events: &Receiver<Event>) -> (Self, Result<()>) {
        let result = self.take(events);
        if result.is_err() {
            self.halt.send_replace(Some(Halt::Broken));
        }
        self.progress.finish();
        (self, result)
    }

    fn take(&mut self, events: &Receiver<Event>) -> Result<()> {
        let mut synced = self.verifier.now();
        let (mut unsynced, mut unwritten) = (0, 0);
        loop {
            let idle = match events.recv_timeout(TICK) {
                Ok(Event::Outcomes(outcomes, _in_flight)) => {
                    unsynced += outcomes.len() as u64;
                    unwritten += outcomes.len() as u64;
                    self.outcomes(outcomes)?;
                    false
                }
                Ok(Event::Failed(error)) => return Err(error),
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => true,
            };
            if unwritten >= ADVANCE_ANSWERS || (idle && unwritten > 0) {
                unwritten = 0;
                self.work.flush()?;
                self.output.advance(&self.order, &self.answers)?;
            }
            let now = self.verifier.now();
            if unsynced >= SYNC_ANSWERS || (unsynced > 0 && now.since(synced) >= SYNC_MS) {
                self.work.sync()?;
                (synced, unsynced) = (now, 0);
            }
            self.show(now);
        }
        self.work.sync()?;
        self.output.advance(&self.order, &self.answers)
    }

    fn show(&mut self, now: Millis) {
        self.progress.waiting(self.waiting.len() as u64);
        self.progress.tick(now);
    }

    fn outcomes(&mut self, outcomes: Vec<(u64, Outcome)>) -> Result<()> {
        for (key, outcome) in outcomes {
            let Ok(row) = u32::try_from(key) else { continue };
            match outcome {
                Outcome::Settled(verification) => self.settle(row, &verification)?,
                Outcome::PutOff { not_before, tries, why } => {
                    self.waiting.insert(row);
                    self.work.put_off(&PutOff { row, not_before, tries })?;
                    if let Some(reach) = &mut self.reach {
                        reach.put_off(row, why);
                    }
                }
            }
        }
        self.look_around();
        Ok(())
    }

    fn settle(&mut self, row: u32, verification: &Verification) -> Result<()> {
        // Each key comes once; should one come twice, the first answer stands.
        if self.answers.has(row) {
            return Ok(());
        }
        let answer = Answer::of(row, verification);
        let place = self.work.answer(&answer)?;
        self.answers.keep(&answer, place);
        self.waiting.remove(&row);
        self.progress.settled(verification.verdict.status());
        if let Some(reach) = &mut self.reach {
            reach.settled(verification);
        }
        Ok(())
    }

    fn look_around(&mut self) {
        let Some(reach) = &self.reach else { return };
        if reach.proven {
            self.reach = None;
            return;
        }
        if let Some(halt) = reach.judge(&self.verifier.counters()) {
            self.reach = None;
            self.halt.send_replace(Some(halt));
        }
    }
}

/// Whether anything can be reached, as far as the first answers tell.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    unreached: HashSet<u64>,
    nameless: HashSet<u64>,
    named: bool,
    proven: bool,
}

impl Reachability {
    fn settled(&mut self, verification: &Verification) {
        let evidence = &verification.evidence;
        match (&evidence.probe, &evidence.domain) {
            (Some(probe), _) if probe.code.is_some() => self.proven = true,
            (Some(probe), _) => {
                self.named = true;
                self.unreached.insert(hash(&probe.host));
            }
            (None, Some(domain)) if domain.exists.is_some() => self.named = true,
            (None, Some(_)) if verification.verdict.reason == Reason::Unverified => {
                self.nameless.insert(hash(&verification.domain));
            }
            (None, _) => {}
        }
    }

    fn put_off(&mut self, row: u32, why: &str) {
        match why {
            "timeout" | "connect_refused" | "unreachable" | "local" | "closed" => self.unreached.insert(hash(&row)),
            _ if why.starts_with("dns") => self.nameless.insert(hash(&row)),
            _ => false,
        };
    }

    fn judge(&self, counters: &probity_engine::Counters) -> Option<Halt> {
        let failures = usize::try_from(counters.connect_failures).unwrap_or(usize::MAX);
        if counters.connections == 0 && failures >= UNREACHED_MAX && self.unreached.len() >= UNREACHED_MAX {
            return Some(Halt::Unreachable);
        }
        let nameless = !self.named && counters.connections == 0 && self.nameless.len() >= NAMELESS_MAX;
        nameless.then_some(Halt::Nameless)
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
