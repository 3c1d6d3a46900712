//! Time from a contact's creation to its verdict, for a platform that sends events and for one that is polled.
//!
//! In real time: people sign up at Ghosts and listmonks at random moments. A Ghost posts its event at once. The delay ends when the
//! run that verified the contact has ended, by the service's clock. A poll's lag is the same from the time at which it was due.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use probity_benches::client::{Connection, get};
use probity_benches::place::PlaceArguments;
use probity_espworld::{EspState, EspVendor, EspWorld};
use probity_mail::rng::Rng;
use serde_json::{Value, json};

use super::events::request;
use super::service::{Service, worlds_of};

/// People who sign up at each platform, and the time in which they do.
const SIGN_UPS: usize = 6;
const SPAN: Duration = Duration::from_mins(5);
/// Maximum time until the last verdict: two intervals of a poll, and more.
const PATIENCE: Duration = Duration::from_mins(15);

/// A connection whose platform gets contacts.
struct Growing {
    world: EspWorld,
    path: String,
    /// When each contact signed up, in milliseconds since 1970.
    joined: HashMap<String, i64>,
}

pub(super) async fn measure(place: &PlaceArguments, connections: u32) -> anyhow::Result<()> {
    // Without contacts at first, which would be as new as those who sign up.
    let hooked = worlds_of(EspVendor::Ghost, u64::from(connections), 0).await?;
    let polled = worlds_of(EspVendor::Listmonk, u64::from(connections), 0).await?;
    let worlds: Vec<_> = hooked.into_iter().chain(polled).collect();
    let mut service = Service::start(place, &worlds, &[]).await?;
    let key = service.organization(1).await?;
    let other = service.organization(2).await?;
    let mut all = Vec::new();
    for world in worlds {
        let key = if world.vendor() == EspVendor::Ghost { &key } else { &other };
        let path = service.connect(key, &world, &json!({ "instafloss": true })).await?;
        all.push(Growing { world, path, joined: HashMap::new() });
    }
    let registered = "SELECT COUNT(*) FROM connection_hook WHERE registered_at IS NOT NULL";
    service.until(registered, &connections.to_string(), Duration::from_mins(2)).await?;
    let address = service.program.address;
    try_join_all(all.iter_mut().zip(1..).map(|(growing, seed)| growing.grow(address, seed))).await?;
    wait(&service).await?;
    for (vendor, key) in [(EspVendor::Ghost, key), (EspVendor::Listmonk, other)] {
        let of = all.iter().filter(|growing| growing.world.vendor() == vendor);
        let mut measured = Delays::default();
        for growing in of {
            measured.add(&mut service, &key, growing).await?;
        }
        measured.print(vendor.slug());
    }
    service.program.stop().await
}

impl Growing {
    /// Lets people sign up at random moments. A platform with webhooks posts its events at once.
    async fn grow(&mut self, service: SocketAddr, seed: u64) -> anyhow::Result<()> {
        let mut dice = Rng::new(seed);
        let span = usize::try_from(SPAN.as_millis())?;
        let mut moments: Vec<_> = (0..SIGN_UPS).map(|_| dice.below(span) as u64).collect();
        moments.sort_unstable();
        let began = Instant::now();
        for (moment, number) in moments.into_iter().zip(1..) {
            let left = Duration::from_millis(moment).saturating_sub(began.elapsed());
            tokio::time::sleep(left).await;
            let email = format!("joined{number}@sandbox.test");
            self.joined.insert(email.clone(), now_ms()?);
            let contact = self.world.account(|account| account.add(&email, EspState::Subscribed, &[1]));
            for notice in self.world.notices(contact) {
                let (status, _) = Connection::open(service).await?.ask(&request(&notice)).await?;
                ensure!(status == 200, "an event: {status}");
            }
        }
        Ok(())
    }
}

/// Waits until as many contacts were verified as have signed up.
async fn wait(service: &Service) -> anyhow::Result<()> {
    let began = Instant::now();
    let verified = "SELECT COALESCE(SUM(rows_total), 0) FROM connection_run WHERE state = 'finished'";
    let connections: usize = service.sql("SELECT COUNT(*) FROM connection")?.parse()?;
    loop {
        let found: usize = service.sql(verified)?.parse()?;
        if found == connections * SIGN_UPS {
            return Ok(());
        }
        ensure!(found < connections * SIGN_UPS, "a contact was verified twice");
        ensure!(began.elapsed() < PATIENCE, "{found} contacts of {} were verified", connections * SIGN_UPS);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Measured times in milliseconds.
#[derive(Default)]
struct Delays {
    /// From the sign-up to the verdict.
    whole: Vec<i64>,
    /// From the time at which the poll was due to the verdict.
    lag: Vec<i64>,
    /// The longest that the API says of each connection, in seconds.
    told: Vec<i64>,
}

impl Delays {
    async fn add(&mut self, service: &mut Service, key: &str, growing: &Growing) -> anyhow::Result<()> {
        let id = growing.path.rsplit('/').next().context("an id")?;
        let runs = service.sql(&format!(
            "SELECT id, due_at, finished_at FROM connection_run WHERE connection_id = '{id}' AND rows_total > 0"
        ))?;
        let mut seen = 0;
        for run in runs.lines() {
            let columns: Vec<&str> = run.split('|').collect();
            let [run, due, finished] = columns[..] else { anyhow::bail!("a run: {columns:?}") };
            let (due, finished): (i64, i64) = (due.parse()?, finished.parse()?);
            let rows = fetch(service, key, &format!("/v1/batch-verify/{run}/results?per_page=1000")).await?;
            for row in rows["data"].as_array().context("rows")? {
                let email = row["email"].as_str().context("an address")?;
                let joined = growing.joined.get(email).with_context(|| format!("{email} did not sign up"))?;
                self.whole.push(finished - joined);
                seen += 1;
            }
            self.lag.push(finished - due);
        }
        ensure!(seen == growing.joined.len(), "{seen} contacts of {} were verified", growing.joined.len());
        let schedule = fetch(service, key, &format!("{}/schedule", growing.path)).await?;
        self.told.push(schedule["instafloss"]["longest_s"].as_i64().context("a measured delay")?);
        Ok(())
    }

    fn print(mut self, what: &str) {
        let whole = spread(&mut self.whole);
        let lag = spread(&mut self.lag);
        println!("delay: {what}, {} contacts       {whole} from sign-up to verdict", self.whole.len());
        println!(
            "delay: {what}, {} polls          {lag} from the time at which the poll was due to the verdict",
            self.lag.len()
        );
        println!("delay: {what}, as the API says   at most {} s", self.told.iter().max().unwrap_or(&0));
    }
}

/// Describes times by their median, p99 and maximum.
fn spread(times: &mut [i64]) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).unwrap_or(&0);
    format!("p50 {} ms, p99 {} ms, longest {} ms", at(50), at(99), at(100))
}

async fn fetch(service: &mut Service, key: &str, path: &str) -> anyhow::Result<Value> {
    Connection::open(service.program.address).await?.json(&get(path, Some(key))).await
}

fn now_ms() -> anyhow::Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}
