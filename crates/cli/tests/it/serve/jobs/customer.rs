//! A customer who submits lists, retries unanswered requests, reads and cancels, one request at a time.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_mail::rng::Rng;
use serde_json::Value;

use super::receiver::Receiver;
use super::submission::Submission;
use super::trial::Counted;
use crate::serve::bench::client::{Answer, Client, Failed};
use crate::serve::bench::node::{wait_for, wait_within};

/// Maximum number of open jobs.
const OPEN_MAX: usize = 6;
/// Maximum number of unanswered requests; at this number, the customer submits nothing new.
const UNANSWERED_MAX: usize = 3;
/// Delay before the customer retries after a 503.
const RETRY: Duration = Duration::from_millis(20);
/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// There was no response.
    Failed(Failed),
    /// 503 as the contract defines it, or the request's deadline passed first.
    Unavailable,
}

impl From<Failed> for Miss {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl Miss {
    /// Returns the JSON of a 200. Any other response is wrong, unless it says that the request may be repeated.
    pub(super) fn or_json(answer: &Answer) -> Result<Value, Self> {
        match answer.status {
            200 => Ok(answer.json()),
            503 if answer.is_unavailable() => Err(Self::Unavailable),
            500 if answer.json()["error"]["message"].as_str().unwrap().starts_with("timeout:") => {
                Err(Self::Unavailable)
            }
            _ => panic!("{answer:?}"),
        }
    }
}

/// Outcome of a request that is repeated if a busy machine was too slow.
pub(super) trait OrUnavailable<T> {
    /// Returns the response; `None` if the service was unavailable. Panics if there was no response.
    fn or_unavailable(self) -> Option<T>;
}

impl<T> OrUnavailable<T> for Result<T, Miss> {
    fn or_unavailable(self) -> Option<T> {
        match self {
            Ok(value) => Some(value),
            Err(Miss::Unavailable) => None,
            Err(Miss::Failed(failed)) => panic!("nobody answered: {failed:?}"),
        }
    }
}

/// Counts of a customer's outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Submissions answered with an ID, without repeats.
    pub(super) accepted: u64,
    /// Repeated submissions that got the earlier response.
    pub(super) replayed: u64,
    pub(super) cancelled: u64,
    /// 409 responses: the key is still held by a run that may be dead.
    pub(super) in_progress: u64,
    pub(super) unavailable: u64,
    /// Requests without a response.
    pub(super) lost: u64,
}

pub(super) struct Customer {
    name: usize,
    dice: Rng,
    receiver: String,
    pub(super) jobs: Vec<Submission>,
    pub(super) seen: Seen,
}

impl Customer {
    pub(super) fn new(name: usize, seed: u64, receiver: &Receiver) -> Self {
        let dice = Rng::new(seed.wrapping_mul(1_000).wrapping_add(u64::try_from(name).unwrap()));
        Self { name, dice, receiver: receiver.url(), jobs: Vec::new(), seen: Seen::default() }
    }

    /// Sends requests until told to stop or a request gets no response; counts the outcomes.
    pub(super) fn work(&mut self, address: SocketAddr, key: &str, ending: &AtomicBool, counted: &Counted) {
        let mut client = Client::new(address, key);
        while !ending.load(Ordering::Relaxed) {
            match self.step(&mut client) {
                Ok(()) => drop(counted.answers.fetch_add(1, Ordering::Relaxed)),
                Err(Miss::Unavailable) => {
                    self.seen.unavailable += 1;
                    counted.unavailable.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(RETRY);
                }
                Err(Miss::Failed(failed)) => {
                    self.seen.lost += u64::from(failed == Failed::Lost);
                    counted.left.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        }
    }

    /// Sends one request, or the few needed to read a job.
    fn step(&mut self, client: &mut Client) -> Result<(), Miss> {
        let unanswered = self.places(Submission::is_unanswered);
        let open = self.places(|job| !job.is_unanswered() && !job.is_over());
        match self.dice.below(10) {
            0..4 if !unanswered.is_empty() => self.repeat(client, unanswered[0]),
            0..4 if open.len() < OPEN_MAX && unanswered.len() < UNANSWERED_MAX => {
                let key = format!("{}-{}", self.name, self.jobs.len());
                self.jobs.push(Submission::drawn(&mut self.dice, key, &self.receiver));
                self.repeat(client, self.jobs.len() - 1)
            }
            4 if !open.is_empty() => {
                let place = open[self.dice.below(open.len())];
                self.jobs[place].cancelling = true;
                self.repeat(client, place)
            }
            5 | 6 if !open.is_empty() => self.jobs[open[self.dice.below(open.len())]].look(client),
            7..9 if !open.is_empty() => self.jobs[open[self.dice.below(open.len())]].glance(client),
            _ => {
                let accepted = self.places(|job| job.id.is_some());
                if accepted.is_empty() {
                    return Ok(());
                }
                let place = accepted[self.dice.below(accepted.len())];
                if self.dice.below(2) == 0 { self.submit(client, place) } else { self.jobs[place].look(client) }
            }
        }
    }

    /// Sends the job's pending request: its submission or its cancellation.
    fn repeat(&mut self, client: &mut Client, place: usize) -> Result<(), Miss> {
        if self.jobs[place].id.is_none() { self.submit(client, place) } else { self.cancel(client, place) }
    }

    pub(super) fn submit(&mut self, client: &mut Client, place: usize) -> Result<(), Miss> {
        let job = &mut self.jobs[place];
        let answer = client.post("/v1/batch-verify", &job.idempotency_key, &job.body)?;
        if self.seen.is_in_progress(&answer) {
            return Ok(());
        }
        let replayed = answer.head.to_ascii_lowercase().contains("idempotent-replayed: true");
        Miss::or_json(&answer).map(|told| {
            assert!(replayed || job.id.is_none(), "run again: {told} {job:?}");
            self.seen.replayed += u64::from(replayed);
            self.seen.accepted += u64::from(job.id.is_none());
            job.accepted(&told);
        })
    }

    fn cancel(&mut self, client: &mut Client, place: usize) -> Result<(), Miss> {
        let job = &mut self.jobs[place];
        let id = job.id.as_ref().unwrap();
        let key = format!("cancel-{}", job.idempotency_key);
        let answer = client.post(&format!("/v1/batch-verify/{id}/cancel"), &key, "")?;
        if self.seen.is_in_progress(&answer) {
            return Ok(());
        }
        let told = Miss::or_json(&answer)?;
        let outcome = told["status"].as_str().unwrap().to_owned();
        self.seen.cancelled += u64::from(outcome == "success");
        job.cancelled = Some(outcome);
        // The effect is visible when the call returns.
        job.glance(client)?;
        assert!(job.is_over(), "{job:?}");
        Ok(())
    }

    /// Repeats until every request has a response and every job has ended; fails after `patience`.
    pub(super) fn come_to_an_end(&mut self, client: &mut Client, patience: Duration) {
        wait_within(patience, "the end of all jobs", || {
            let unanswered = self.places(Submission::is_unanswered);
            for place in unanswered {
                self.repeat(client, place).or_unavailable();
            }
            let open = self.places(|job| !job.is_unanswered() && !job.is_over());
            for place in open {
                self.jobs[place].glance(client).or_unavailable();
            }
            self.places(|job| job.is_unanswered() || !job.is_over()).is_empty().then_some(())
        });
        for job in &mut self.jobs {
            wait_for("all of a job", || job.look(client).or_unavailable());
            job.check_end();
        }
    }

    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.jobs.iter().filter_map(|job| job.id.clone()).collect()
    }

    fn places(&self, which: impl Fn(&Submission) -> bool) -> Vec<usize> {
        self.jobs.iter().enumerate().filter(|(_, job)| which(job)).map(|(place, _)| place).collect()
    }
}

impl Seen {
    fn is_in_progress(&mut self, answer: &Answer) -> bool {
        let is = answer.status == 409 && answer.json()["error"]["code"] == "idempotency_in_progress";
        self.in_progress += u64::from(is);
        is
    }
}

/// Lists the IDs of all jobs.
pub(super) fn listed(client: &mut Client) -> Result<BTreeSet<String>, Miss> {
    let (mut ids, mut next) = (BTreeSet::new(), String::new());
    loop {
        let page = Miss::or_json(&client.get(&format!("/v1/jobs?per_page=100{next}"))?)?;
        ids.extend(page["data"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()));
        match page["pagination"]["next_cursor"].as_str() {
            Some(cursor) => next = format!("&next={cursor}"),
            None => return Ok(ids),
        }
    }
}
