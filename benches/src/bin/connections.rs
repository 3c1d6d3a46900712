//! Speed of a run of a connection: contacts read from a platform, verified, and acted upon.
//!
//! Starts a simulated listmonk (`probity-espworld`) without limits, whose every reply takes 20 ms, and the real program
//! (`probity serve --sandbox`) over a new database. One contact in eight does not exist, is read again, and is unsubscribed, 100 in
//! a call. The ceiling of the platform is what its replies allow, one call after another: its share is the time of the calls by
//! that of the phase. The program fails if a contact was not read, or not done, or done twice.
//!
//! `cargo build --release -p probity-cli && cargo run --release -p probity-benches --bin connections` reads 1,000,000 contacts.

#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use probity_benches::client::{Connection, get, post};
use probity_benches::place::{Place, PlaceArguments};
use probity_benches::process::{float, peak_mib};
use probity_benches::program::Program;
use probity_espworld::{EspOptions, EspVendor, EspWorld, judge};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Poll interval.
const LOOK: Duration = Duration::from_millis(20);
/// Time limit of a run.
const PATIENCE: Duration = Duration::from_hours(2);
/// Path of the platform's connections.
const CONNECTIONS: &str = "/v1/integrations/listmonk/connections";

/// Runs a connection over a large account and prints the times of its phases.
#[derive(Parser)]
struct Arguments {
    /// Contacts of the account.
    #[arg(long, default_value_t = 1_000_000)]
    contacts: u32,
    /// Time of every reply of the platform, in milliseconds.
    #[arg(long, default_value_t = 20)]
    latency: u64,
    #[command(flatten)]
    place: PlaceArguments,
}

/// The service with a connection.
struct Service {
    program: Program,
    key: String,
    connection: Connection,
}

/// One phase of a run.
struct Phase {
    took: Duration,
    calls: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(mut arguments: Arguments) -> anyhow::Result<()> {
    let options = EspOptions {
        contacts: arguments.contacts,
        lists: 1,
        latency_ms: arguments.latency,
        ..EspOptions::throughput(1)
    };
    let world = EspWorld::open(EspVendor::Listmonk, options.sandboxed()).await?;
    arguments.place.set.push(format!("integrations.allow={}", world.host()));
    let place = Place::new(&arguments.place)?;
    let mut service = Service::start(&place, &world).await?;
    let call = call_of(&world).await?;

    let run = service.begin(&world).await?;
    let reading = service.phase(&world, &run, &["verifying", "needs_confirmation"]).await?;
    let rows = service.look(&run).await?["rows"].as_u64().context("rows")?;
    reading.print("read", rows, call);
    let verifying = service.phase(&world, &run, &["needs_confirmation"]).await?;
    verifying.print("verified", rows, Duration::ZERO);
    let planned = service.look(&run).await?["actions"]["planned"].as_u64().context("planned")?;
    service.post(&format!("{run}/confirm"), &json!({ "actions": planned })).await?;
    let acting = service.phase(&world, &run, &["finished"]).await?;
    acting.print("unsubscribed", planned, call);
    let peak = peak_mib(service.program.process())?;
    println!("peak memory             {peak:.0} MiB ({:.0} MB)", peak * 1.048_576);

    let done = service.look(&run).await?["actions"]["done"].as_u64();
    let effects = world.effects();
    ensure!(done == Some(planned), "of {planned} actions, {done:?} were done");
    ensure!(judge::touched(&effects).len() as u64 == planned, "the platform has done something else");
    ensure!(judge::doubled(&effects).is_empty(), "something was done twice");
    service.program.stop().await
}

/// Returns the time of a call with a small reply, by a client that does nothing else, and prints that of a page too. The platform
/// selects its contacts for the first page of each state, which is no part of the measurement.
async fn call_of(world: &EspWorld) -> anyhow::Result<Duration> {
    let mut connection = Connection::open(world.host().parse()?).await?;
    let token = world.credentials().remove("token").context("a token")?;
    let request = |target: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token probity:{token}\r\n\r\n").into_bytes()
    };
    let page = |state: &str| {
        request(&format!("/api/subscribers?list_id=1&subscription_status={state}&page=1&per_page=500&order=asc"))
    };
    for state in ["confirmed", "unconfirmed", "unsubscribed"] {
        connection.json(&page(state)).await?;
    }
    let call = timed(&mut connection, "a call", &request("/api/health")).await?;
    timed(&mut connection, "a page of 500", &page("confirmed")).await?;
    Ok(call)
}

/// Returns the mean time of a request.
async fn timed(connection: &mut Connection, what: &str, request: &[u8]) -> anyhow::Result<Duration> {
    const CALLS: u32 = 50;
    let began = Instant::now();
    for _ in 0..CALLS {
        connection.ask(request).await?;
    }
    let mean = began.elapsed() / CALLS;
    println!("{what:<23} {:.1} ms", mean.as_secs_f64() * 1_000.0);
    Ok(mean)
}

impl Service {
    async fn start(place: &Place, world: &EspWorld) -> anyhow::Result<Self> {
        let program = Program::start(&mut place.sandbox()?).await?;
        let key = program.live_key().context("a new installation prints its live key")?.to_owned();
        program.stop().await?;
        let program = Program::start(&mut place.sandbox()?).await?;
        let connection = Connection::open(program.address).await?;
        println!("platform                {} at {}", world.vendor().slug(), world.base());
        Ok(Self { program, key, connection })
    }

    /// Connects the platform and starts a run; returns its path.
    async fn begin(&mut self, world: &EspWorld) -> anyhow::Result<String> {
        let made = self.post(CONNECTIONS, &json!({ "credentials": world.credentials() })).await?;
        let path = format!("{CONNECTIONS}/{}", made["id"].as_str().context("an id")?);
        let settings = post(&path, &self.key, json!({ "action": "unsubscribe" }).to_string().as_bytes());
        let settings = [b"PATCH", settings.strip_prefix(b"POST").context("a method")?].concat();
        self.connection.json(&settings).await?;
        let started = self.post(&format!("{path}/runs"), &json!({})).await?;
        Ok(format!("{path}/runs/{}", started["id"].as_str().context("an id")?))
    }

    async fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let (status, answer) = self.connection.ask(&post(path, &self.key, body.to_string().as_bytes())).await?;
        ensure!(matches!(status, 200 | 201), "{path}: {status} {}", String::from_utf8_lossy(answer));
        Ok(serde_json::from_slice(answer)?)
    }

    async fn look(&mut self, run: &str) -> anyhow::Result<Value> {
        self.connection.json(&get(run, Some(&self.key))).await
    }

    /// Waits until a run is in one of these states.
    async fn phase(&mut self, world: &EspWorld, run: &str, states: &[&str]) -> anyhow::Result<Phase> {
        let (began, calls) = (Instant::now(), world.ledger().total());
        loop {
            let seen = self.look(run).await?;
            let state = seen["state"].as_str().context("a state")?;
            if states.contains(&state) {
                return Ok(Phase { took: began.elapsed(), calls: world.ledger().total() - calls });
            }
            let is_over = matches!(state, "failed" | "cancelled" | "finished");
            if is_over || began.elapsed() > PATIENCE {
                bail!("a run does not get on: {seen}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Phase {
    fn print(&self, what: &str, contacts: u64, call: Duration) {
        let seconds = self.took.as_secs_f64();
        let share = float(self.calls as u64) * call.as_secs_f64() / seconds * 100.0;
        let rate = float(contacts) / seconds;
        println!(
            "{what:<23} {contacts} in {seconds:.1} s, {rate:.0} a second, {} calls, {share:.0} % of the ceiling",
            self.calls
        );
    }
}
