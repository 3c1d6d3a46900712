//! A customer of a running service: connects a platform, starts runs, confirms them and downloads their rows.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_connectors::{CredentialKind, Method, Request};
use serde_json::{Value, json};

use crate::platforms::exchange;
use crate::platforms::running::Platform;
use crate::serve::bench::account::audit;
use crate::serve::bench::client::{Answer, Client};
use crate::serve::bench::node::{Installation, Node, wait_within};
use crate::serve::jobs::receiver::Receiver;

const CREDITS: u32 = 100_000;
/// Maximum duration of a run on a busy machine. Ghost accepts a few changes at a time.
const RUN_MAX: Duration = Duration::from_mins(5);

/// A service that may reach a platform, and a key of its organization.
pub(super) struct Customer {
    pub(super) installation: Installation,
    pub(super) node: Node,
    client: Client,
    key: String,
    slug: String,
    /// Path of the connection.
    path: String,
    asked: usize,
}

impl Customer {
    /// Starts a service that may reach the platform.
    pub(super) fn of(platform: &Platform) -> Self {
        Self::with(platform, &[])
    }

    fn with(platform: &Platform, more: &[&str]) -> Self {
        let allowed = format!("integrations.allow=[\"{}\"]", platform.host());
        let installation = Installation::on_sqlite().counted(CREDITS).set(&[
            &*allowed,
            "allow.networks=127.0.0.0/8",
            "batch.lease=1s",
            "log.level=trace",
        ]);
        let installation = installation.set(more);
        let node = installation.start();
        let key = node.key("Live key");
        let slug = platform.file.provider.slug.clone();
        Self { client: node.client(&key), installation, node, key, slug, path: String::new(), asked: 0 }
    }

    /// Starts a service, and connects the platform with these settings.
    pub(super) fn connected(platform: &Platform, settings: &Value) -> Self {
        Self::of(platform).connected_with(platform, settings)
    }

    /// Starts a service that the platform reaches at a URL, and connects the platform.
    pub(super) fn reachable(platform: &Platform, url: &str, settings: &Value) -> Self {
        Self::with(platform, &[&format!("server.public_url={url}")]).connected_with(platform, settings)
    }

    fn connected_with(self, platform: &Platform, settings: &Value) -> Self {
        let mut customer = self;
        let made = customer.connect(&json!(platform.entered));
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        assert_eq!((&made["status"], &made["settings"]["action"]), (&json!("active"), &Value::Null), "{made}");
        customer.path = format!("{}/{}", customer.connections(), made["id"].as_str().unwrap());
        customer.change(settings);
        customer
    }

    fn connections(&self) -> String {
        format!("/v1/integrations/{}/connections", self.slug)
    }

    /// Requests a connection with these credentials.
    pub(super) fn connect(&mut self, credentials: &Value) -> Answer {
        let path = self.connections();
        self.send("POST", &path, &json!({ "credentials": credentials }))
    }

    /// Sends JSON to a path of the API.
    pub(super) fn send(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.asked += 1;
        let (body, number) = (body.to_string(), self.asked);
        let fields = format!(
            "Idempotency-Key: {number}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        self.client.exchange(method, path, &fields, &body).unwrap()
    }

    /// Gets JSON from a path of the API.
    pub(super) fn get(&mut self, path: &str) -> Value {
        let answer = self.client.get(path).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Sends JSON to a path below the connection.
    pub(super) fn post(&mut self, rest: &str, body: &Value) -> Answer {
        let path = format!("{}/{rest}", self.path);
        self.send("POST", &path, body)
    }

    /// Gets a path below the connection.
    pub(super) fn look(&mut self, rest: &str) -> Value {
        let path = format!("{}{rest}", self.path);
        self.get(&path)
    }

    /// Changes the connection.
    pub(super) fn change(&mut self, settings: &Value) {
        let answer = self.try_change(settings);
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub(super) fn try_change(&mut self, settings: &Value) -> Answer {
        let path = self.path.clone();
        self.send("PATCH", &path, settings)
    }

    /// Kills the service, and starts it again.
    pub(super) fn killed_and_started(&mut self) {
        self.node.launched.die();
        self.node = self.installation.start();
        self.client = self.node.client(&self.key);
    }

    /// Receives events of a topic from now on.
    pub(super) fn receive(&mut self, topic: &str) -> Receiver {
        let receiver = Receiver::start();
        let webhook = json!({ "name": "CRM", "url": receiver.url_of_rows(), "events": [topic] });
        assert_eq!(self.send("POST", "/v1/webhooks", &webhook).status, 201);
        receiver
    }

    /// Adds a rule about a whole address.
    pub(super) fn add_rule(&mut self, list: &str, email: &str) {
        let rule = json!({ "keyword": email, "applies_to": { "email": true } });
        let added = self.post(&format!("keywords/{list}"), &json!({ "rules": [rule] }));
        assert_eq!(added.status, 201, "{added:?}");
    }

    /// Starts a run; returns its ID.
    pub(super) fn start(&mut self, dry: bool) -> String {
        let started = self.post("runs", &json!({ "dry_run": dry }));
        assert_eq!(started.status, 201, "{started:?}");
        started.json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a run is in a state.
    pub(super) fn until(&mut self, id: &str, state: &str) -> Value {
        wait_within(RUN_MAX, state, || {
            let run = self.look(&format!("/runs/{id}"));
            let is_over = ["finished", "failed", "cancelled"].iter().any(|over| run["state"] == *over);
            assert!(!is_over || run["state"] == state, "{run:#}");
            (run["state"] == state).then_some(run)
        })
    }

    /// Waits until some actions of a run are done.
    pub(super) fn until_done(&mut self, id: &str, some: i64) {
        wait_within(RUN_MAX, "the first actions", || {
            let done = self.look(&format!("/runs/{id}"))["actions"]["done"].as_i64();
            done.is_some_and(|done| done >= some).then_some(())
        });
    }

    /// Confirms a number of actions.
    pub(super) fn confirm(&mut self, id: &str, actions: i64) -> Answer {
        self.post(&format!("runs/{id}/confirm"), &json!({ "actions": actions }))
    }

    /// Starts a dry run, confirms it, and returns the run at its end.
    pub(super) fn dry_run_then_confirm(&mut self) -> Value {
        let id = self.start(true);
        let shown = self.until(&id, "needs_confirmation");
        let confirmed = self.confirm(&id, shown["actions"]["planned"].as_i64().unwrap());
        assert_eq!(confirmed.status, 200, "{confirmed:?}");
        self.until(&id, "finished")
    }

    /// Downloads the rows of a run, by address.
    pub(super) fn download(&self, id: &str) -> BTreeMap<String, Value> {
        let path = format!("/v1/batch-verify/{id}/download?format=ndjson");
        let answer = exchange::send(&Request {
            method: Method::Get,
            url: format!("http://{}{path}", self.node.address),
            path,
            headers: vec![("Authorization".to_owned(), format!("Bearer {}", self.key))],
            body: None,
            timeout_ms: 0,
            body_max: u64::MAX,
        });
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, 200, "{text}");
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| (row["email"].as_str().unwrap().to_owned(), row)).collect()
    }

    /// Returns the credits spent so far.
    pub(super) fn spent(&self) -> u64 {
        self.installation.ask(&["credits", "show", "--json"])["prepaid"]["spent"].as_u64().unwrap()
    }

    /// Ends the service. Its database must have no discrepancies, and its log no address and no secret.
    pub(super) fn leave(self, platform: &Platform) {
        audit(&self.installation);
        self.node.stop();
        let log = self.installation.log();
        let fields = platform.file.credentials.iter().filter(|field| field.kind == CredentialKind::Secret);
        for secret in fields.map(|field| &*platform.entered[&field.name]).chain(["@acme-widgets.com", "@gmal.com"]) {
            assert!(!log.contains(secret), "the log has a secret or an address");
        }
        assert!(log.contains(" INFO "), "the log has no lines");
    }
}

/// Returns the numbers of a run's actions by reason.
pub(super) fn counts(run: &Value, which: &str) -> BTreeMap<String, i64> {
    let counts = run["counts"].as_array().unwrap().iter();
    let one = |count: &Value| (count["reason"].as_str().unwrap().to_owned(), count[which].as_i64().unwrap());
    counts.map(one).filter(|(_, number)| *number > 0).collect()
}
