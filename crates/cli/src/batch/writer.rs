//! Stores answers: in the work file, in memory, and in the output.
//!
//! One thread owns all three, so that an answer is on its way to disk before it counts anywhere. Data is passed to the system
//! whenever no further answers are waiting, and synced about once a second. The thread also stops a run that can reach nothing: a
//! million `unverified` rows because port 25 is closed are useless.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Result;
use probity_backend::nodes::verifier::Verifier;
use probity_engine::AddressOutcome;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Verification};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::answer::{AnswerTable, PutOff, StoredAnswer, plain_domain};
use super::feed::Halt;
use super::forecast::ListForecast;
use super::order::Order;
use super::output::Output;
use super::progress::{Deferred, RunProgress};
use super::workfile::WorkFile;

/// Interval between checks of the state without events.
const TICK: Duration = Duration::from_millis(100);
/// Maximum time until data is synced to disk, in milliseconds.
const SYNC_MS: i64 = 1_000;
/// Maximum number of answers until data is synced to disk.
const SYNC_ANSWERS: u64 = 65_536;
/// Answers between checks whether the output can grow.
const ADVANCE_ANSWERS: u64 = 4_096;
/// Number of unreachable MX hosts after which a run stops, if none was reached.
const UNREACHED_MAX: usize = 20;
/// Number of failed domain look-ups after which a run stops, if none succeeded.
const NAMELESS_MAX: usize = 50;

/// Events for the writer.
pub(crate) enum WriterEvent {
    /// Outcomes of some rows, with their slots.
    Outcomes(Vec<(u64, AddressOutcome)>, Option<OwnedSemaphorePermit>),
    /// Rows could not be read.
    Failed(anyhow::Error),
    /// No more events follow.
    End,
}

pub(crate) struct OutcomeWriter {
    pub verifier: Arc<dyn Verifier>,
    pub order: Arc<Order>,
    pub work: WorkFile,
    /// All answers in short form.
    pub answers: AnswerTable,
    pub output: Output,
    pub progress: RunProgress,
    pub halt: watch::Sender<Option<Halt>>,
    /// Reachability; `None` if it does not matter.
    pub reach: Option<Reachability>,
    /// Deferred rows, and the earliest retry of each.
    pub deferred: HashMap<u32, Millis>,
    /// Time left; `None` if it is not shown.
    pub forecast: Option<ListForecast>,
}

impl OutcomeWriter {
    /// Forecast of the rows without a verdict, of which some are `waiting`; `None` if one cannot be read, which its verification
    /// will report.
    pub(super) fn foreseen(&self, waiting: &[PutOff]) -> Option<ListForecast> {
        let open = |at: usize| !self.answers.has(self.order.ask[at]);
        let forecast = ListForecast::of(self.verifier.clone(), &self.order, self.work.reader(), open);
        Some(forecast.ok()?.waiting(waiting))
    }

    /// Handles events until the end; an error stops the run.
    pub(crate) fn run(mut self, events: &Receiver<WriterEvent>) -> (Self, Result<()>) {
        let result = self.take(events);
        if result.is_err() {
            self.halt.send_replace(Some(Halt::Broken));
        }
        self.progress.finish();
        (self, result)
    }

    fn take(&mut self, events: &Receiver<WriterEvent>) -> Result<()> {
        let mut synced = self.verifier.now();
        let (mut unsynced, mut unwritten) = (0, 0);
        loop {
            let idle = match self.next(events)? {
                Ok(WriterEvent::Outcomes(outcomes, _in_flight)) => {
                    unsynced += outcomes.len() as u64;
                    unwritten += outcomes.len() as u64;
                    self.outcomes(outcomes)?;
                    false
                }
                Ok(WriterEvent::Failed(error)) => return Err(error),
                Ok(WriterEvent::End) | Err(RecvTimeoutError::Disconnected) => break,
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

    /// Returns the next event. If none is waiting, passes all data to the system first, so that it survives this process.
    fn next(&mut self, events: &Receiver<WriterEvent>) -> Result<Result<WriterEvent, RecvTimeoutError>> {
        if let Ok(event) = events.try_recv() {
            return Ok(Ok(event));
        }
        self.work.flush()?;
        Ok(events.recv_timeout(TICK))
    }

    fn show(&mut self, now: Millis) {
        let (deferred, forecast) = (&self.deferred, &mut self.forecast);
        self.progress.tick(now, || Deferred {
            rows: deferred.len() as u64,
            next: deferred.values().filter(|at| **at > now).min().copied(),
            longest: forecast.as_mut().and_then(|forecast| forecast.longest(now)),
        });
    }

    fn outcomes(&mut self, outcomes: Vec<(u64, AddressOutcome)>) -> Result<()> {
        for (key, outcome) in outcomes {
            let Ok(row) = u32::try_from(key) else { continue };
            match outcome {
                AddressOutcome::Settled(verification) => self.settle(row, &verification)?,
                AddressOutcome::PutOff { not_before, tries, why, held } => {
                    self.deferred.insert(row, not_before);
                    if let Some(forecast) = &mut self.forecast {
                        forecast.put_off(row, not_before, &tries, (why, held.is_some()), self.verifier.now());
                    }
                    self.work.put_off(&PutOff { row, not_before, tries })?;
                    if let Some(reach) = &mut self.reach {
                        let place = self.order.places[row as usize];
                        let email = self.work.reader().email(place, &mut Vec::new())?;
                        reach.put_off(&plain_domain(&email), why);
                    }
                }
            }
        }
        self.look_around();
        Ok(())
    }

    fn settle(&mut self, row: u32, verification: &Verification) -> Result<()> {
        // Each key occurs once. If one repeats, the first answer is kept.
        if self.answers.has(row) {
            return Ok(());
        }
        let answer = StoredAnswer::of(row, verification);
        let place = self.work.answer(&answer)?;
        self.answers.keep(&answer, place);
        self.deferred.remove(&row);
        self.progress.settled(verification.verdict.status());
        if let Some(forecast) = &mut self.forecast {
            forecast.settled(row, verification, self.verifier.now());
        }
        if let Some(reach) = &mut self.reach {
            reach.settled(verification);
        }
        Ok(())
    }

    fn look_around(&mut self) {
        let Some(reach) = &self.reach else { return };
        if reach.proven {
            self.reach = None;
        } else if let Some(halt) = reach.judge(&self.verifier.counters()) {
            // A halt by the user takes precedence over ours.
            self.halt.send_if_modified(|now| now.is_none() && now.replace(halt).is_none());
        } else if self.progress.done() + self.deferred.len() as u64 == self.progress.total {
            self.warn();
        }
    }

    /// Warns once that every address waits because nothing can be reached, long before their patience ends.
    fn warn(&mut self) {
        let Some(reach) = self.reach.as_mut().filter(|reach| !reach.warned) else { return };
        let what = match reach.nobody(&self.verifier.counters()) {
            Some(Halt::Nameless) => "No name could be looked up so far",
            Some(Halt::Unreachable) => "No mail server could be reached so far",
            _ => return,
        };
        reach.warned = true;
        self.progress.note(&format!("{what}; `probity doctor` finds the cause. All addresses are tried again."));
    }
}

/// Reachability of name servers and MX hosts, judged by the first answers.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    unreached: HashSet<u64>,
    nameless: HashSet<u64>,
    named: bool,
    proven: bool,
    /// Whether the warning was shown.
    warned: bool,
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

    /// Deferred rows name no MX host, so their domains are counted.
    fn put_off(&mut self, domain: &str, why: &str) {
        match why {
            "timeout" | "connect_refused" | "unreachable" | "local_failure" => self.unreached.insert(hash(&domain)),
            "dns_temporary" => self.nameless.insert(hash(&domain)),
            _ => false,
        };
    }

    /// Returns a halt if nothing at all could be reached by the end.
    pub(crate) fn nobody(&self, counters: &probity_engine::EngineCounters) -> Option<Halt> {
        match (self.proven || counters.connections > 0, self.named) {
            (true, _) => None,
            (false, false) if !self.nameless.is_empty() => Some(Halt::Nameless),
            (false, _) => (counters.connect_failures > 0).then_some(Halt::Unreachable),
        }
    }

    fn judge(&self, counters: &probity_engine::EngineCounters) -> Option<Halt> {
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

#[cfg(test)]
mod tests {
    use probity_engine::EngineCounters;

    use super::*;

    fn failures(connections: u64, connect_failures: u64) -> EngineCounters {
        EngineCounters { connections, connect_failures, ..EngineCounters::default() }
    }

    #[test]
    fn a_run_stops_only_where_nobody_can_be_reached() {
        let mut reach = Reachability::default();
        for row in 0..19 {
            reach.put_off(&format!("{row}.org"), "timeout");
        }
        assert_eq!(reach.judge(&failures(0, 100)), None);
        reach.put_off("18.org", "timeout");
        assert_eq!(reach.judge(&failures(0, 100)), None, "the same domain counts once");
        reach.put_off("19.org", "connect_refused");
        assert_eq!(reach.judge(&failures(0, 100)), Some(Halt::Unreachable));
        assert_eq!(reach.judge(&failures(1, 100)), None, "one connection is enough");
        let mut greylisted = Reachability::default();
        (0..100).for_each(|row| greylisted.put_off(&row.to_string(), "greylisted"));
        assert_eq!(greylisted.judge(&failures(0, 100)), None);
    }

    #[test]
    fn a_run_stops_where_no_name_can_be_looked_up() {
        let mut reach = Reachability::default();
        (0..50).for_each(|row| reach.put_off(&row.to_string(), "dns_temporary"));
        assert_eq!(reach.judge(&failures(0, 0)), Some(Halt::Nameless));
        reach.named = true;
        assert_eq!(reach.judge(&failures(0, 0)), None);
    }
}
