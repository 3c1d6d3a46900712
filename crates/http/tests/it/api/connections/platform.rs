//! A platform on loopback, described by an operator's file. Its responses depend on the key in the request.

use probity_backend::connections::{HostAllowance, PlatformConfig};
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};

use crate::webhooks::receivers::{Manner, Receiver};

/// File of the platform, which supports only tags and unsubscribing.
const FILE: &str = r#"
[provider]
slug = "trial"
aliases = ["trial_mail"]
name = "Trial Mail"
checked = "2026-11-22, these tests"
docs = "https://trial.example/docs"
confidence = "high"

[[credential]]
name = "url"
label = "URL"
kind = "url"

[[credential]]
name = "api_key"
label = "API key"
kind = "secret"
help = "Settings, API"

[http]
base = "{credential.url}/api"
headers = { Authorization = "Bearer {credential.api_key}" }

[test]
request = { get = "/account" }
account = ["/name"]

[lists]
request = { get = "/lists" }
records = "/lists"
id = "/id"
name = "/name"
page = { kind = "none" }

[contacts]
scope = "list"
request = { get = "/lists/{list.id}/contacts" }
records = "/contacts"
page = { kind = "none" }

[contacts.fields]
id = "/id"
email = "/email"
state = []
state_default = "unknown"

[field]
own = ["first_name"]

[actions.unsubscribe]
scope = "account"
note = "The contact stays in the account."
request = { post = "/contacts/{contact.id}/unsubscribe" }
errors = [{ status = [404], at = "/error", is = ["no such contact"], class = "gone" }]

[actions.tag]
scope = "account"
request = { post = "/contacts/{contact.id}/tags", json = { name = "{tag.name}" } }
errors = [{ status = [404], at = "/error", is = ["no such contact"], class = "gone" }]
"#;

/// Address at which nothing listens.
pub(crate) const CLOSED: &str = "127.0.0.1:1";
/// End of every key, which occurs nowhere else.
pub(crate) const SECRET: &str = "canary-of-a-platform-9f3k";

pub(crate) struct TrialPlatform {
    pub(crate) receiver: Receiver,
}

impl TrialPlatform {
    pub(crate) async fn start() -> Self {
        Self { receiver: Receiver::start(Manner::ByRequest(answer)).await }
    }

    /// Returns the configuration of a service that can connect it.
    pub(crate) fn service(&self) -> ServiceConfig {
        self.service_with(ServiceConfig::default())
    }

    pub(crate) fn service_with(&self, config: ServiceConfig) -> ServiceConfig {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("trial.toml"), FILE).unwrap();
        let hosts = HostAllowance(vec![self.receiver.address.to_string(), CLOSED.to_owned()]);
        ServiceConfig { platforms: PlatformConfig::read(Some(directory.path()), hosts).unwrap(), ..config }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.receiver.address)
    }

    /// Returns credentials that cause a certain response of the platform.
    pub(crate) fn credentials(&self, manner: &str) -> Value {
        json!({"url": self.url(), "api_key": format!("{manner}-{SECRET}")})
    }

    /// Returns the body that creates a connection.
    pub(crate) fn wish(&self, manner: &str) -> Value {
        json!({"credentials": self.credentials(manner)})
    }
}

fn say(status: u16, more: &str, body: &str) -> Manner {
    let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n{more}\r\n", body.len());
    Manner::Say(head + body)
}

fn answer(request: &str) -> Manner {
    let key = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or_default();
    let manner = key.strip_suffix(SECRET).map_or("", |manner| manner.trim_end_matches('-'));
    let path = request.split(' ').nth(1).unwrap_or_default();
    match (manner, path) {
        ("good", "/api/account") => say(200, "", r#"{"name": "Example Ltd"}"#),
        ("mail", "/api/account") => say(200, "", r#"{"name": "owner@example.org"}"#),
        ("good", "/api/lists") => say(200, "", r#"{"lists": [{"id": 7, "name": "News"}, {"id": "b", "name": "Old"}]}"#),
        ("busy", _) => say(429, "retry-after: 7\r\n", "{}"),
        ("broken", _) => say(500, "", "{}"),
        ("page", _) => say(200, "content-type: text/html\r\n", "<html><body>Hello</body></html>"),
        ("hang", _) => Manner::Hang,
        _ => say(401, "", &format!(r#"{{"error": "the key {key} is unknown"}}"#)),
    }
}
