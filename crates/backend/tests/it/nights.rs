//! A year of many connections: the real planner on the real store, with runs that start, finish and fail there.
//!
//! A seed determines time zones, contacts that join and leave, platforms that are down for three days, credits that run out and
//! return, and two nodes, each of which may die at any step. Verdicts are not simulated: a run that has read its contacts has
//! them. No night may lack its run or have two, missed nights are made up once, and every contact is verified in time.
//!
//! `PROBITY_CONNECTIONS` is the number of connections, `PROBITY_NIGHTS` that of nights, `PROBITY_NIGHTS_SEED` the seed.

mod judge;
mod node;
mod place;

use std::num::NonZeroU32;

use probity_account::credits::CreditBucket;
use probity_account::plans::{METERED_PLAN, Plans};
use probity_mail::rng::Rng;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::connections::runs;
use probity_store::credits::{self, CreditBooking};
use probity_store::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig};
use tokio::task::JoinSet;

use node::{Node, Planner};
use place::{Customer, Place};

const HOUR_MS: i64 = 3_600_000;
/// Time between two polls of a node. Real nodes poll every few seconds.
const STEP_MS: i64 = HOUR_MS / 2;
/// Steps until another node may die, so that consecutive deaths do not delay a run.
const BETWEEN_DEATHS: i64 = 6;
/// Connections of an organization.
const OF_CUSTOMER: usize = 4;
/// Connections of a database.
const OF_DATABASE: usize = 250;
/// Retention of runs, and number of runs removed at a time.
const RUNS_KEEP_MS: i64 = 40 * DAY_MS;
const RUNS_MAX: i64 = 1_000;
/// 2026-11-01, 12:00 UTC.
const START: Millis = Millis(1_793_534_400_000);

/// Size of the simulation.
#[derive(Clone, Copy)]
struct Scale {
    connections: usize,
    nights: i64,
    seed: u64,
}

impl Scale {
    fn from_environment(connections: u32, nights: u32) -> Self {
        let read = |name: &str, usual: u32| {
            let asked: Option<NonZeroU32> = std::env::var(name).ok().and_then(|text| text.parse().ok());
            asked.map_or(usual, NonZeroU32::get)
        };
        Self {
            connections: read("PROBITY_CONNECTIONS", connections) as usize,
            nights: read("PROBITY_NIGHTS", nights).into(),
            seed: read("PROBITY_NIGHTS_SEED", 1).into(),
        }
    }

    /// Splits connections over databases that can be written in parallel.
    fn parts(self) -> Vec<Self> {
        let parts = self.connections.div_ceil(OF_DATABASE);
        let part = |number: usize| Self {
            connections: OF_DATABASE.min(self.connections - number * OF_DATABASE),
            seed: self.seed * 1_000 + number as u64,
            ..self
        };
        (0..parts).map(part).collect()
    }
}

/// Period of an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outage {
    from: Millis,
    to: Millis,
}

impl Outage {
    /// Draws an outage of three days.
    fn draw(dice: &mut Rng, nights: i64) -> Self {
        let from = START + (dice.next_u64() % (nights * DAY_MS).unsigned_abs()).cast_signed();
        Self { from, to: from + 3 * DAY_MS }
    }

    fn has(&self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}

struct Year {
    store: Store,
    scale: Scale,
    dice: Rng,
    customers: Vec<Customer>,
    places: Vec<Place>,
    nodes: [Node; 2],
    /// Periods without any node.
    dark: Vec<Outage>,
    died_at: Millis,
    now: Millis,
    runs: usize,
}

impl Year {
    async fn begin(store: Store, scale: Scale) -> Self {
        let mut dice = Rng::new(scale.seed);
        let (mut customers, mut places) = (Vec::new(), Vec::new());
        for number in 0..scale.connections {
            if number % OF_CUSTOMER == 0 {
                customers.push(Customer::begin(&store, &mut dice, customers.len(), scale).await);
            }
            places.push(Place::begin(&store, &mut dice, (customers.len() - 1, &customers), scale).await);
        }
        let nodes = [Node::default(), Node::default()];
        let (dark, died_at) = (Vec::new(), START);
        Self { store, scale, dice, customers, places, nodes, dark, died_at, now: START, runs: 0 }
    }

    /// Advances the time by a step, in which both nodes work.
    async fn step(&mut self, planner: &Planner) {
        self.now = self.now + STEP_MS;
        self.spend().await;
        self.people();
        self.fate();
        let [one, other] = &mut self.nodes;
        let world = (&*self.places, self.now);
        tokio::join!(Box::pin(one.work(planner, world)), Box::pin(other.work(planner, world)));
        let is_dark = self.nodes.iter().all(|node| node.is_dead(self.now));
        match self.dark.last_mut().filter(|outage| outage.to == self.now) {
            Some(outage) if is_dark => outage.to = self.now + STEP_MS,
            _ if is_dark => self.dark.push(Outage { from: self.now + -STEP_MS, to: self.now + STEP_MS }),
            _ => {}
        }
    }

    /// Removes customers' credits, and restores them.
    async fn spend(&mut self) {
        for (number, customer) in self.customers.iter_mut().enumerate() {
            let is_out = customer.out.is_some_and(|out| out.has(self.now));
            if is_out == customer.is_out {
                continue;
            }
            customer.is_out = is_out;
            let left = credits::available(&mut self.store.read().await.unwrap(), customer.org).await.unwrap().prepaid;
            let amount = if is_out { -left } else { place::CREDITS };
            let cause = format!("{number} {}", self.now.0);
            let booking =
                CreditBooking { org: customer.org, bucket: CreditBucket::Prepaid, amount, cause: &cause, at: self.now };
            self.store.write(|tx| credits::adjust(tx, &booking).scope_boxed()).await.unwrap();
        }
    }

    /// Lets contacts join and leave: each platform has about one new contact a week.
    fn people(&mut self) {
        for place in &mut self.places {
            if self.dice.below(7 * 48) == 0 {
                place.join(&mut self.dice, self.now);
            }
            if self.dice.below(14 * 48) == 0 {
                place.leave(&mut self.dice, self.now);
            }
        }
    }

    /// Decides which node dies in this step, and after how many polls.
    fn fate(&mut self) {
        let is_alone = self.nodes.iter().any(|node| node.is_dead(self.now));
        let is_spared = self.now.since(self.died_at) < BETWEEN_DEATHS * STEP_MS;
        if is_spared || self.dice.below(if is_alone { 40 } else { 100 }) > 0 {
            return;
        }
        let back = self.now + (1 + self.dice.below(72).cast_signed() as i64) * STEP_MS;
        let scale = self.dice.below(10);
        let polls = self.dice.below(20 << scale);
        let victim = self.dice.below(2);
        let is_free = !self.nodes[victim].is_dead(self.now);
        if is_free {
            self.nodes[victim].kill(self.now, polls, back);
            self.died_at = self.now;
        }
    }

    /// Records the results of a day's runs, and removes old runs.
    async fn look(&mut self) {
        for place in &mut self.places {
            self.runs += place.look(&self.store).await;
        }
        let before = self.now + -RUNS_KEEP_MS;
        while self.store.write(|tx| runs::forget(tx, before, RUNS_MAX).scope_boxed()).await.unwrap() > 0 {}
    }

    fn judge(&self) {
        for place in &self.places {
            let customer = &self.customers[place.customer];
            judge::judge(place, customer, &self.dark, self.now);
        }
    }
}

async fn simulate(store: &Store, scale: Scale) {
    let planner = Planner::new(store, Plans::new([], METERED_PLAN, 0).unwrap());
    let mut year = Year::begin(store.clone(), scale).await;
    for _ in 0..scale.nights {
        for _ in 0..DAY_MS / STEP_MS {
            year.step(&planner).await;
        }
        year.look().await;
    }
    year.judge();
    let deaths: usize = year.nodes.iter().map(|node| node.deaths).sum();
    eprintln!(
        "{} nights of {} connections with seed {}: {} runs, {deaths} deaths, {} outages of both nodes",
        scale.nights,
        scale.connections,
        year.scale.seed,
        year.runs,
        year.dark.len()
    );
}

async fn open(place: DatabasePlace) -> Store {
    let patient = StoreConfig { acquire_timeout_ms: 60_000, ..StoreConfig::new(place) };
    let store = Store::open(&patient).await.unwrap();
    store.migrate().await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_connection_lacks_a_night_on_sqlite() {
    // In memory if this directory is: a thousand connections write for minutes.
    let memory = std::path::Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut years = JoinSet::new();
    for (number, part) in Scale::from_environment(8, 45).parts().into_iter().enumerate() {
        let path = directory.path().join(format!("{number}.db"));
        years.spawn(async move {
            let store = open(DatabasePlace::Sqlite(path)).await;
            simulate(&store, part).await;
            store.close().await;
        });
    }
    years.join_all().await;
}

#[tokio::test]
async fn no_connection_lacks_a_night_on_postgresql() {
    let Some(cluster) = probity_trialdb::postgres() else { return };
    let database = cluster.create_database();
    let store = open(DatabasePlace::Postgres(database.url().to_owned())).await;
    // Each statement is a message to another process.
    let whole = Scale::from_environment(8, 80);
    simulate(&store, Scale { nights: (whole.nights / 4).max(1), ..whole }).await;
    store.close().await;
}
