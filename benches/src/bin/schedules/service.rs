//! The program with organizations and connections to simulated platforms.

use std::time::Duration;

use anyhow::{Context, ensure};
use probity_benches::client::{Connection, get, post};
use probity_benches::place::{Place, PlaceArguments};
use probity_benches::program::Program;
use probity_espworld::{EspOptions, EspVendor, EspWorld};
use serde_json::{Value, json};

/// Key of the operator's API.
const ADMIN_KEY: &str = "measured-measured-measured-measured";
/// URL that platforms are given. They are asked what they would send there.
pub(super) const PUBLIC_URL: &str = "https://verify.example.com";

/// A service that is ready.
pub(super) struct Service {
    pub(super) program: Program,
    pub(super) place: Place,
    connection: Connection,
}

/// Opens Ghosts with this many contacts each.
pub(super) async fn worlds(count: u64, contacts: u32) -> anyhow::Result<Vec<EspWorld>> {
    worlds_of(EspVendor::Ghost, count, contacts).await
}

/// Opens platforms with this many contacts each.
pub(super) async fn worlds_of(vendor: EspVendor, count: u64, contacts: u32) -> anyhow::Result<Vec<EspWorld>> {
    let mut worlds = Vec::new();
    for seed in 1..=count {
        let options = EspOptions {
            contacts,
            lists: 1,
            is_limited: false,
            is_real_time: true,
            ..EspOptions::new(seed).sandboxed()
        };
        worlds.push(EspWorld::open(vendor, options).await?);
    }
    Ok(worlds)
}

impl Service {
    pub(super) async fn start(arguments: &PlaceArguments, worlds: &[EspWorld], set: &[String]) -> anyhow::Result<Self> {
        let mut arguments = arguments.clone();
        let hosts: Vec<_> = worlds.iter().map(|world| format!("{:?}", world.host())).collect();
        arguments.set.push(format!("integrations.allow=[{}]", hosts.join(",")));
        arguments.set.push(format!("server.public_url={PUBLIC_URL}"));
        arguments.set.push(format!("admin.key={ADMIN_KEY}"));
        arguments.set.extend_from_slice(set);
        let place = Place::new(&arguments)?;
        let program = Program::start(&mut place.sandbox()?).await?;
        let connection = Connection::open(program.address).await?;
        Ok(Self { program, place, connection })
    }

    /// Creates an organization; returns its key.
    pub(super) async fn organization(&mut self, number: usize) -> anyhow::Result<String> {
        let body = json!({ "name": format!("Organization {number}"), "plan": "unlimited", "first_key": true });
        let made = self.ask("POST", "/admin/v1/organizations", ADMIN_KEY, &body).await?;
        Ok(made["key"].as_str().context("a key")?.to_owned())
    }

    /// Connects a platform with these settings; returns the path of the connection.
    pub(super) async fn connect(&mut self, key: &str, world: &EspWorld, settings: &Value) -> anyhow::Result<String> {
        let all = format!("/v1/integrations/{}/connections", world.vendor().slug());
        let body = json!({ "credentials": world.credentials() });
        let made = self.ask("POST", &all, key, &body).await?;
        let path = format!("{all}/{}", made["id"].as_str().context("an id")?);
        self.ask("PATCH", &path, key, settings).await?;
        Ok(path)
    }

    pub(super) async fn ask(&mut self, method: &str, path: &str, key: &str, body: &Value) -> anyhow::Result<Value> {
        let request = post(path, key, body.to_string().as_bytes());
        let request = [method.as_bytes(), request.strip_prefix(b"POST").context("a method")?].concat();
        let (status, answer) = self.connection.ask(&request).await?;
        ensure!(matches!(status, 200 | 201), "{path}: {status} {}", String::from_utf8_lossy(answer));
        Ok(serde_json::from_slice(answer)?)
    }

    /// Returns the sum of a metric over the labels that contain a text.
    pub(super) async fn metric(&mut self, name: &str, label: &str) -> anyhow::Result<u64> {
        let (status, answer) = self.connection.ask(&get("/metrics", None)).await?;
        ensure!(status == 200, "/metrics: {status}");
        let text = String::from_utf8_lossy(answer).into_owned();
        let lines = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
        let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
        Ok(values.sum())
    }

    /// Runs a statement in the service's database.
    pub(super) fn sql(&self, statement: &str) -> anyhow::Result<String> {
        let database = self.place.database().context("PostgreSQL")?;
        database.query(statement).map_err(anyhow::Error::msg)
    }

    /// Waits until a statement returns a text.
    pub(super) async fn until(&self, statement: &str, text: &str, patience: Duration) -> anyhow::Result<()> {
        let began = std::time::Instant::now();
        loop {
            let found = self.sql(statement)?;
            if found == text {
                return Ok(());
            }
            ensure!(began.elapsed() < patience, "{statement}: {found}, not {text}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
