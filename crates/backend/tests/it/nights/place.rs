//! Connections with the contacts at their platforms, and the results of their runs.

use std::collections::{BTreeMap, BTreeSet};

use probity_account::connections::{AccountZone, ConnectionSettings, RunCause};
use probity_account::credits::CreditBucket;
use probity_account::id::{ConnId, OrgId};
use probity_account::plans::METERED_PLAN;
use probity_mail::rng::Rng;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::contacts::{self, ReadContact};
use probity_store::connections::runs::{self, RunState};
use probity_store::connections::schedule;
use probity_store::credits::{self, CreditBooking};
use probity_store::jobs::JobNo;
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use super::{Outage, START, Scale};

pub(super) const CREDITS: i64 = 1_000_000_000;
/// Time zones: with and without daylight saving, by half an hour, on both halves of the globe.
const ZONES: [&str; 8] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Auckland",
    "America/Santiago",
    "Africa/Casablanca",
    "UTC",
];
/// Initial number of contacts at a platform.
const CONTACTS: usize = 30;
/// Maximum number of runs of a connection between two checks.
const RUNS: i64 = 50;

pub(super) struct Customer {
    pub(super) org: OrgNo,
    pub(super) zone: AccountZone,
    /// Period without credits.
    pub(super) out: Option<Outage>,
    pub(super) is_out: bool,
}

impl Customer {
    pub(super) async fn begin(store: &Store, dice: &mut Rng, number: usize, scale: Scale) -> Self {
        let id = OrgId::new(START, random(dice));
        let org = OrgRecord::new(id, None, METERED_PLAN.to_owned(), START);
        let bought =
            CreditBooking { org: org.no, bucket: CreditBucket::Prepaid, amount: CREDITS, cause: "first", at: START };
        let name = ZONES[number % ZONES.len()];
        let local = OrgSettings { time_zone: Some(name.to_owned()), ..OrgSettings::default() };
        let made = store.write(|tx| {
            async {
                organization::insert(tx, &org).await?;
                settings::write(tx, org.no, &local, START).await?;
                credits::grant(tx, &bought, None).await
            }
            .scope_boxed()
        });
        made.await.unwrap();
        let out = (number % 2 == 1).then(|| Outage::draw(dice, scale.nights));
        Self { org: org.no, zone: AccountZone::named(name).unwrap(), out, is_out: false }
    }
}

/// Contact at the platform.
pub(super) struct Person {
    pub(super) number: usize,
    pub(super) joined: Millis,
    /// Join date reported by the platform.
    pub(super) said: Millis,
    pub(super) left: Option<Millis>,
    pub(super) verified: Vec<Millis>,
    mark: [u8; 16],
    last: Option<JobNo>,
}

impl Person {
    /// Returns the contact as a run reads it.
    pub(super) fn contact(&self) -> ReadContact {
        ReadContact {
            id: format!("c{}", self.number),
            email: format!("user{}@example.org", self.number),
            list: None,
            report: None,
            changed_at: None,
            mark: self.mark,
            address: self.mark,
            created_at: Some(self.said),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) slot: Millis,
    pub(super) at: Millis,
    pub(super) ended_at: Millis,
    pub(super) rows: i64,
}

pub(super) struct Place {
    pub(super) customer: usize,
    org: OrgNo,
    pub(super) id: ConnId,
    /// Period of decay protection in days; `None` if it is off.
    pub(super) period: Option<i64>,
    pub(super) people: Vec<Person>,
    /// Outage of its platform.
    pub(super) dead: Option<Outage>,
    /// Complete runs of each kind, in the order of their starts.
    pub(super) done: BTreeMap<&'static str, Vec<Done>>,
    seen: BTreeSet<i64>,
}

impl Place {
    pub(super) async fn begin(
        store: &Store,
        dice: &mut Rng,
        (customer, customers): (usize, &[Customer]),
        scale: Scale,
    ) -> Self {
        let (id, period) = (ConnId::new(START, random(dice)), [None, Some(7), Some(10), Some(30)][dice.below(4)]);
        let (org, zone) = (customers[customer].org, &customers[customer].zone);
        let settings = ConnectionSettings { decay_days: period.unwrap_or(30), ..ConnectionSettings::default() };
        let new = StoredConnection {
            org,
            id,
            test: false,
            provider: "ghost".to_owned(),
            name: "Newsletter".to_owned(),
            disconnected: None,
            account_tag: [7; 16],
            settings,
            blacklist_count: 0,
            whitelist_count: 0,
            watermark: None,
            trusted_at: None,
            created_at: START,
            last_synced_at: None,
        };
        let made = store.write(|tx| {
            async {
                assert!(connection::insert(tx, &new, b"sealed", i64::MAX).await?);
                let decay = period.map(|_| RunCause::DecayProtection);
                for cause in [RunCause::Autofloss].into_iter().chain(decay) {
                    schedule::add(tx, (org, id, cause), zone.next_night(id, cause, START), START).await?;
                }
                Ok(())
            }
            .scope_boxed()
        });
        made.await.unwrap();
        let dead = (dice.below(2) == 0).then(|| Outage::draw(dice, scale.nights));
        let (people, done, seen) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let mut place = Self { customer, org, id, period, people, dead, done, seen };
        for _ in 0..CONTACTS {
            place.join(dice, START);
        }
        place
    }

    /// Adds a contact. The platform backdates one in five, like imports.
    pub(super) fn join(&mut self, dice: &mut Rng, now: Millis) {
        let back = if dice.below(5) == 0 { 2 + dice.next_u64() % 60 } else { 0 };
        let said = now + -(back.cast_signed() * DAY_MS);
        let mut mark = [0; 16];
        mark[..8].copy_from_slice(&dice.next_u64().to_be_bytes());
        mark[8..].copy_from_slice(&dice.next_u64().to_be_bytes());
        let number = self.people.len();
        self.people.push(Person { number, joined: now, said, left: None, verified: Vec::new(), mark, last: None });
    }

    /// Removes a contact, unless few are left.
    pub(super) fn leave(&mut self, dice: &mut Rng, now: Millis) {
        let there: Vec<_> = self.people.iter().filter(|person| person.left.is_none()).map(|one| one.number).collect();
        if there.len() > CONTACTS / 2 {
            self.people[there[dice.below(there.len())]].left = Some(now);
        }
    }

    /// Returns the platform's contacts from a number on.
    pub(super) fn there(&self, since: Option<Millis>, from: usize, now: Millis) -> Vec<&Person> {
        let is_there = |one: &&Person| one.joined <= now && one.left.is_none_or(|left| now < left);
        let from = self.people.iter().filter(|one| one.number >= from);
        from.filter(is_there).filter(|one| since.is_none_or(|since| one.said >= since)).collect()
    }

    /// Notes the runs that have ended since the last look; returns their number.
    pub(super) async fn look(&mut self, store: &Store) -> usize {
        let mut conn = store.read().await.unwrap();
        let listed = runs::page(&mut conn, self.org, self.id, None, RUNS).await.unwrap();
        let mut finished = BTreeSet::new();
        let mut ended = 0;
        for run in listed.iter().rev().filter(|run| run.state.is_over()) {
            if !self.seen.insert(run.job.0) {
                continue;
            }
            ended += 1;
            if run.state == RunState::Finished {
                let (slot, ended_at) = (run.due_at.expect("a slot"), run.finished_at.expect("an end"));
                let done = Done { slot, at: run.created_at, ended_at, rows: run.rows };
                self.done.entry(run.cause.as_str()).or_default().push(done);
                if run.rows > 0 {
                    finished.insert(run.job);
                }
            }
        }
        if finished.is_empty() {
            return ended;
        }
        let marks = self.people.iter().map(|person| person.mark);
        let known = contacts::marks(&mut conn, self.org, self.id, marks).await.unwrap();
        for person in &mut self.people {
            let Some(mark) = known.get(&person.mark) else { continue };
            if finished.contains(&mark.job) && person.last != Some(mark.job) {
                person.last = Some(mark.job);
                person.verified.push(mark.seen_at);
            }
        }
        ended
    }
}

fn random(dice: &mut Rng) -> [u8; 10] {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&dice.next_u64().to_be_bytes());
    random[8..].copy_from_slice(&dice.next_u64().to_be_bytes()[..2]);
    random
}
