//! Many consecutive nights, with platforms that fail, credits that run out, and nodes that die.
//!
//! A seed determines the year: platforms, new contacts, outages. In any case, every added contact is verified within the promised
//! time, every contact is verified again within a period, and no night has two runs. `PROBITY_NIGHTS` is the number of nights,
//! `PROBITY_NIGHTS_SEED` the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use probity_account::id::ConnId;
use probity_contract::published::connections::RunShown;
use probity_espworld::{EspFaults, EspOptions, EspState, EspVendor, EspWorld};
use probity_http::service::ServiceConfig;
use probity_mail::rng::Rng;
use probity_store::accounts::organization::OrgRecord;
use probity_store::connections::runs::{self, RunState};
use probity_store::connections::schedule;
use serde_json::json;

use super::plans;
use crate::test_app::{Call, TestApp, real_moment};

const ZONE: &str = "Europe/Berlin";
/// Number of nights, unless the environment sets another.
const NIGHTS: usize = 30;
/// Period of decay protection, in days.
const PERIOD: i64 = 10;
const HOUR_MS: i64 = 3_600_000;
/// Time at which days of the test begin, in UTC.
const EVENING_MS: i64 = 20 * HOUR_MS;
/// Length of a step in which the service works, and the number of idle steps after which it is at rest.
const STEP_MS: i64 = 2_000;
const QUIET: i64 = 8;
const STEPS_MAX: i64 = 300;
/// Maximum number of real-time pauses per step in which it waits for runs.
const MOMENTS_MAX: u32 = 250;
/// Initial number of contacts of each platform.
const CONTACTS: u32 = 40;
/// Platforms on customers' own servers, which need only the built-in file.
const VENDORS: [EspVendor; 4] = [EspVendor::Ghost, EspVendor::Listmonk, EspVendor::Mautic, EspVendor::Mailman];

/// Connection with its platform.
struct Place {
    world: EspWorld,
    path: String,
    /// Time at which each contact was added, or left.
    added: BTreeMap<String, i64>,
    /// Time at which each contact was verified.
    verified: BTreeMap<String, Vec<i64>>,
    /// Runs that were already examined.
    seen: BTreeSet<String>,
    /// Nights with the row counts of their complete runs, by trigger.
    nights: BTreeMap<(&'static str, Date), Vec<i64>>,
    /// Start and end of each failure of the platform or the credits.
    outages: Vec<(i64, i64)>,
}

impl Place {
    fn connection(&self) -> ConnId {
        self.path.rsplit('/').next().unwrap().parse().unwrap()
    }
}

struct Year<'a> {
    app: &'a TestApp,
    org: OrgRecord,
    key: String,
    dice: Rng,
    places: Vec<Place>,
    now: i64,
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

async fn worlds(seed: u64) -> Vec<EspWorld> {
    let mut all = Vec::new();
    for (vendor, seed) in VENDORS.into_iter().zip(seed..) {
        let options = EspOptions {
            contacts: CONTACTS,
            lists: 1,
            domains: vec!["honest-mail.com".to_owned()],
            is_limited: false,
            ..EspOptions::new(seed)
        };
        all.push(EspWorld::open(vendor, options).await.unwrap());
    }
    all
}

fn config(worlds: &[EspWorld]) -> ServiceConfig {
    let mut config = plans();
    for world in worlds {
        config.platforms.hosts.0.push(world.host().to_owned());
    }
    config
}

impl<'a> Year<'a> {
    async fn begin(app: &'a TestApp, worlds: Vec<EspWorld>, seed: u64) -> Self {
        let plan = app.admin.plan(Some("all")).unwrap().clone();
        let org = app.admin.create_org("Example Ltd", plan).await.unwrap();
        app.admin.grant(&org, CreditBucket::Prepaid, 1_000_000, None).await.unwrap();
        let key = app.key(&org, KeyKind::Live).await;
        let zone = json!({ "time_zone": ZONE });
        app.send(Call::new("PATCH", "/v1/organization/settings").json(&zone).key(&key)).await.ok(200);
        let now = app.now(&org).await.0;
        let mut year = Self { app, org, key, dice: Rng::new(seed), places: Vec::new(), now };
        // Connected in the evening: at another hour, the first night may end before the first check.
        let day = 24 * HOUR_MS;
        year.pass(day - (year.now - EVENING_MS).rem_euclid(day)).await;
        for world in worlds {
            world.clock().advance(year.now - world.clock().now());
            year.connect(world).await;
        }
        year
    }

    async fn connect(&mut self, world: EspWorld) {
        let all = format!("/v1/integrations/{}/connections", world.vendor().slug());
        let body = json!({ "credentials": world.credentials() });
        let made = self.app.send(Call::new("POST", &*all).json(&body).key(&self.key)).await.ok(201);
        let path = format!("{all}/{}", made["id"].as_str().unwrap());
        let on = json!({ "autofloss": true, "decay_protection": true, "decay_days": PERIOD });
        self.app.send(Call::new("PATCH", &*path).json(&on).key(&self.key)).await.ok(200);
        let known =
            world.account(|account| account.everyone().iter().filter_map(|n| account.contact(*n)).collect::<Vec<_>>());
        let subscribed = known.into_iter().filter(|one| one.state == EspState::Subscribed);
        let added = subscribed.map(|one| (one.email.to_lowercase(), self.now)).collect();
        let (verified, seen, nights) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        self.places.push(Place { world, path, added, verified, seen, nights, outages: Vec::new() });
    }

    async fn advance(&mut self, ms: i64) {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(ms.unsigned_abs())).await;
        tokio::time::resume();
        real_moment().await;
        self.now += ms;
        for place in &self.places {
            place.world.clock().advance(ms);
        }
    }

    /// Lets time pass, first in one step, then in steps in which the service does due work.
    async fn pass(&mut self, ms: i64) {
        self.advance(ms - QUIET * STEP_MS).await;
        let (mut steps, mut quiet) = (0, 0);
        while quiet < QUIET && steps < STEPS_MAX {
            self.advance(STEP_MS).await;
            steps += 1;
            // The clock stands still meanwhile: on a busy machine, a run would otherwise outlast the night.
            let mut moments = 0;
            while moments < MOMENTS_MAX && self.has_going_run().await {
                real_moment().await;
                moments += 1;
            }
            quiet = if moments > 0 || self.has_due_schedule().await { 0 } else { quiet + 1 };
        }
    }

    async fn has_due_schedule(&self) -> bool {
        let now = self.app.now(&self.org).await;
        let mut conn = self.app.store.read().await.unwrap();
        !schedule::due(&mut conn, now, 1).await.unwrap().is_empty()
    }

    /// Returns whether a run is doing anything but waiting for its platform.
    async fn has_going_run(&self) -> bool {
        let now = self.app.now(&self.org).await;
        let mut conn = self.app.store.read().await.unwrap();
        for place in &self.places {
            let run = runs::going(&mut conn, self.org.no, place.connection()).await.unwrap();
            if run.is_some_and(|run| RunShown::of(run, &[], now).waits_until.is_none()) {
                return true;
            }
        }
        false
    }

    /// Simulates a day and its night, in which a contact may join.
    async fn day(&mut self) {
        for place in &mut self.places {
            for _ in 0..self.dice.below(3) {
                let email = format!("user{}@honest-mail.com", 100_000 + place.added.len());
                place.world.account(|account| account.add(&email, EspState::Subscribed, &[1]));
                place.added.insert(email, self.now);
            }
        }
        // From the evening on. The night is checked every two hours, so a run starts at most that late.
        for hours in [3, 2, 2, 2, 2] {
            self.pass(hours * HOUR_MS).await;
        }
        let day = 24 * HOUR_MS;
        self.pass(day - (self.now - EVENING_MS).rem_euclid(day)).await;
        self.look().await;
    }

    /// Records the verdicts of the day's runs.
    async fn look(&mut self) {
        let zone = TimeZone::get(ZONE).unwrap();
        for place in &mut self.places {
            let mut conn = self.app.store.read().await.unwrap();
            let listed = runs::page(&mut conn, self.org.no, place.connection(), None, 50).await.unwrap();
            drop(conn);
            for run in listed {
                if !run.state.is_over() || !place.seen.insert(run.id.to_string()) || run.state != RunState::Finished {
                    continue;
                }
                // Night of the run's slot: after an outage, it may start in the next one.
                let slot = Timestamp::from_millisecond(run.due_at.unwrap().0).unwrap();
                place.nights.entry((run.cause.as_str(), zone.to_datetime(slot).date())).or_default().push(run.rows);
                if run.rows == 0 {
                    continue;
                }
                let target = format!("/v1/batch-verify/{}/results?per_page=1000", run.id);
                for row in self.app.get(&self.key, &target).await.ok(200)["data"].as_array().unwrap() {
                    let email = row["email"].as_str().unwrap().to_lowercase();
                    place.verified.entry(email).or_default().push(run.created_at.0);
                }
            }
        }
    }

    /// Asserts the promised schedule.
    fn judge(&self, seed: u64) {
        for place in &self.places {
            let who = format!("{} of seed {seed}", place.world.vendor().slug());
            let down_ms = |from: i64, to: i64| -> i64 {
                place.outages.iter().map(|(begin, end)| (to.min(*end) - from.max(*begin)).max(0)).sum()
            };
            // A night, its spread, two hours until the next check, and the retries after an outage.
            let night = |from: i64| {
                32 * HOUR_MS
                    + down_ms(from, from + 6 * 24 * HOUR_MS)
                    + if place.outages.is_empty() { 0 } else { 8 * HOUR_MS }
            };
            for (email, added) in &place.added {
                let mut last = *added;
                let times = place.verified.get(email).cloned().unwrap_or_default();
                let first = times.first().copied().unwrap_or(i64::MAX);
                assert!(
                    first - added <= night(*added) || self.now - added <= night(*added),
                    "{who}: {email} was added and seen too late: {}",
                    (first - added) / HOUR_MS
                );
                for at in times.into_iter().chain([self.now]) {
                    let most = PERIOD * 24 * HOUR_MS + night(last) + down_ms(last, at);
                    assert!(
                        at - last <= most,
                        "{who}: {email} was not verified for {} days",
                        (at - last) / HOUR_MS / 24
                    );
                    last = at;
                }
            }
            for ((trigger, date), runs) in &place.nights {
                let is_quiet = place.outages.is_empty();
                assert!(!is_quiet || runs.len() == 1, "{who}: {trigger} of {date}: {runs:#?}");
                let most = (i64::try_from(place.added.len()).unwrap() / PERIOD + 2) * 3 / 2;
                let rows: i64 = runs.iter().sum();
                assert!(*trigger == "autofloss" || !is_quiet || rows <= most, "{who}: a peak of {rows} on {date}");
            }
            if place.outages.is_empty() {
                for trigger in ["autofloss", "decay_protection"] {
                    let dates: Vec<Date> =
                        place.nights.keys().filter(|(of, _)| *of == trigger).map(|(_, date)| *date).collect();
                    let (first, last) = (dates.first().unwrap(), dates.last().unwrap());
                    let span = usize::try_from((*last - *first).get_days()).unwrap() + 1;
                    assert_eq!(dates.len(), span, "{who}: a night without its {trigger}");
                }
            }
        }
    }

    /// Makes the platform of a connection fail for three days.
    async fn outage(&mut self, place: usize) {
        let begin = self.now;
        self.places[place].world.disturb(EspFaults { errors: 1_000, max: usize::MAX, ..EspFaults::none() });
        for _ in 0..3 {
            self.day().await;
        }
        self.places[place].world.disturb(EspFaults::none());
        let end = self.now;
        self.places[place].outages.push((begin, end));
    }

    /// Removes all credits for three days.
    async fn poverty(&mut self) {
        let begin = self.now;
        let left = self.app.balance(&self.org).await.available.prepaid;
        self.app.admin.adjust(&self.org, CreditBucket::Prepaid, -left).await.unwrap();
        for _ in 0..3 {
            self.day().await;
        }
        self.app.admin.grant(&self.org, CreditBucket::Prepaid, 1_000_000, None).await.unwrap();
        for place in &mut self.places {
            place.outages.push((begin, self.now));
        }
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn no_night_goes_by_without_its_runs() {
    let seed = from_environment("PROBITY_NIGHTS_SEED", 1);
    let nights = usize::try_from(from_environment("PROBITY_NIGHTS", NIGHTS as u64)).unwrap();
    let worlds = worlds(seed).await;
    let app = TestApp::with(config(&worlds)).await;
    let mut year = Year::begin(&app, worlds, seed).await;
    let broken = year.dice.below(VENDORS.len());
    let mut days = 0;
    while days < nights {
        if days == nights / 3 {
            year.outage(broken).await;
            days += 3;
        } else {
            year.day().await;
            days += 1;
        }
    }
    year.judge(seed);
    // From here on, every connection has had an outage.
    year.poverty().await;
    for _ in 0..PERIOD + 3 {
        year.day().await;
    }
    year.judge(seed);
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn two_nodes_share_the_nights_and_one_is_enough() {
    let worlds = worlds(5).await;
    let config = config(&worlds);
    let Some(app) = TestApp::on_postgres(config.clone()).await else { return };
    let other = app.beside(config).await;
    let mut year = Year::begin(&app, worlds, 5).await;
    for _ in 0..4 {
        year.day().await;
    }
    other.stop().await;
    for _ in 0..4 {
        year.day().await;
    }
    year.judge(5);
    app.stop().await;
}
