//! Tests of `/v1/integrations`: platforms, connections, keyword rules.

mod changing;
mod creating;
mod deleting;
mod listing;
pub(crate) mod platform;
mod rules;

use serde_json::{Value, json};

use crate::test_app::{Answer, Call, TestApp};
use platform::TrialPlatform;

pub(crate) const PATH: &str = "/v1/integrations/trial/connections";

/// Connects the trial platform. Returns the connection.
pub(crate) async fn connect(app: &TestApp, key: &str, platform: &TrialPlatform) -> Value {
    app.send(Call::post(PATH, platform.wish("good").to_string()).key(key)).await.ok(201)
}

pub(crate) fn place(connection: &Value) -> String {
    format!("{PATH}/{}", connection["id"].as_str().unwrap())
}

async fn patch(app: &TestApp, key: &str, connection: &Value, change: &Value) -> Answer {
    app.send(Call::patch(place(connection), change.to_string()).key(key)).await
}

/// Events of connections and their settings, oldest first, without times and IDs.
async fn happened(app: &TestApp, key: &str, connection: &Value) -> Vec<Value> {
    let shown = app.get(key, "/v1/account/timeline").await.ok(200);
    let mut events = shown["events"].as_array().unwrap().clone();
    events.retain(|event| event["connection_id"] == connection["id"]);
    for event in &mut events {
        assert_eq!(event["actor"]["type"], "api_key");
        for name in ["at", "actor", "connection_id"] {
            event.as_object_mut().unwrap().remove(name);
        }
    }
    events.reverse();
    events
}

fn connection_event(change: &str) -> Value {
    json!({"type": "connection_change", "provider": "trial", "change": change})
}
