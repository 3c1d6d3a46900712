//! Tests of several nodes on one database, each with other roles.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::id::NodeId;
use probity_backend::nodes::NodeConfig;
use probity_backend::nodes::roles::NodeRole;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_store::{ScopedFutureExt as _, nodes};
use serde_json::{Value, json};

use crate::test_app::{Call, TestApp, pass, real_moment};
use crate::webhooks::receivers::{Manner, Receiver, webhooks_to_loopback};

/// Ends the connections on which nodes receive wake-ups, and returns their number.
const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE application_name = 'probity listener' AND datname = current_database()";

fn only(role: NodeRole) -> ServiceConfig {
    let node = NodeConfig { roles: [role].into_iter().collect(), ..NodeConfig::default() };
    ServiceConfig { webhooks: webhooks_to_loopback(), node, ..ServiceConfig::default() }
}

async fn metrics(app: &TestApp) -> String {
    let answer = app.send(Call::get("/metrics").from("127.0.0.1")).await;
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// Waits until a node's metrics contain this line.
async fn until_measured(app: &TestApp, line: &str) {
    for _ in 0..5_000 {
        if metrics(app).await.lines().any(|one| one == line) {
            return;
        }
        real_moment().await;
    }
    panic!("{line} is not in:\n{}", metrics(app).await);
}

/// Submits a list with a callback, waits for the callback, and returns its body.
async fn told_of_a_job(app: &TestApp, key: &str) -> Value {
    let mut receiver = Receiver::start(Manner::status(204)).await;
    let body = json!({ "emails": ["valid@sandbox.test", "x"], "webhook_url": receiver.url() });
    let id = app.send(Call::post("/v1/batch-verify", body.to_string()).key(key)).await.ok(200)["id"].clone();
    let told = receiver.request().await;
    let told: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&told["id"], &told["status"]), (&id, &json!("completed")));
    told
}

#[tokio::test]
async fn nodes_with_one_role_each_complete_a_job_together() {
    let Some(api) = TestApp::on_postgres(only(NodeRole::Api)).await else { return };
    let worker = api.beside(only(NodeRole::Worker)).await;
    let delivery = api.beside(only(NodeRole::Delivery)).await;
    let (_, key) = api.tester().await;
    until_measured(&worker, "probity_bells_heard 1.0").await;
    until_measured(&delivery, "probity_bells_heard 1.0").await;
    told_of_a_job(&api, &key).await;
    for (role, nodes) in [("api", 1), ("worker", 1), ("delivery", 1), ("schedule", 0)] {
        until_measured(&delivery, &format!("probity_nodes{{role=\"{role}\"}} {nodes}.0")).await;
    }
    // Wake-ups are only hints: without them, nodes still find the work.
    assert_eq!(api.sql(CUT), "2");
    told_of_a_job(&api, &key).await;
    until_measured(&worker, "probity_bells_heard 1.0").await;
    told_of_a_job(&api, &key).await;
    delivery.stop().await;
    worker.stop().await;
    assert_eq!(api.admin.nodes().await.unwrap().len(), 1, "who has stopped is not listed");
    api.stop().await;
}

#[tokio::test]
async fn a_node_without_the_api_says_that_it_was_the_wrong_one() {
    let app = TestApp::with(only(NodeRole::Worker)).await;
    let (_, key) = app.customer().await;
    for (method, path) in [("GET", "/v1/jobs"), ("POST", "/v1/batch-verify"), ("DELETE", "/v1"), ("GET", "/v1/none")] {
        let answer = app.send(Call::new(method, path).key(&key)).await;
        answer.error(503, "service_unavailable");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    app.send(Call::get("/docs")).await.error(404, "not_found");
    for path in ["/healthz", "/readyz"] {
        app.send(Call::get(path)).await.ok(200);
    }
    app.stop().await;
}

/// Gives a node's source IP to an unknown node, or takes it back from that node.
async fn give_to_another(app: &TestApp, give: bool) {
    let (other, now) = (NodeId::from_bits(1), Millis(0));
    let own: Vec<NodeId> = app.admin.nodes().await.unwrap().into_iter().map(|listed| listed.id).collect();
    let changed = app.store.write(|tx| {
        async {
            for id in own.iter().chain([&other]) {
                nodes::leave(tx, *id).await?;
            }
            if give {
                nodes::take(tx, "source:192.0.2.1", other, now, Millis(i64::MAX)).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    changed.await.unwrap();
}

#[tokio::test]
async fn a_node_that_has_lost_its_source_asks_nobody_until_it_is_back() {
    let node = NodeConfig { sources: vec!["192.0.2.1".parse().ok()], ..NodeConfig::default() };
    let app = TestApp::with(ServiceConfig { node, ..ServiceConfig::default() }).await;
    let (org, key) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    until_measured(&app, "probity_sources_held 1.0").await;
    app.verify(&key, "ann@honest-mail.com").await.ok(200);

    give_to_another(&app, true).await;
    pass(Duration::from_secs(6)).await;
    until_measured(&app, "probity_sources_held 0.0").await;
    // The result of a readiness check is cached for 1 s.
    pass(Duration::from_secs(2)).await;
    assert!(app.send(Call::get("/readyz")).await.error(503, "service_unavailable").contains("sources"));
    let refused = app.verify(&key, "info@honest-mail.com").await;
    refused.error(503, "service_unavailable");
    assert_eq!((refused.header("retry-after"), app.balance(&org).await.held.total()), (Some("1"), 0));
    app.verify(&test, "valid@sandbox.test").await.ok(200);
    let body = json!({ "emails": ["info@honest-mail.com"] }).to_string();
    let id = app.send(Call::post("/v1/batch-verify", body).key(&key)).await.ok(200)["id"].as_str().unwrap().to_owned();
    until_measured(&app, "probity_jobs_open{state=\"ready\"} 1.0").await;
    pass(Duration::from_secs(6)).await;
    until_measured(&app, "probity_jobs_open{state=\"ready\"} 1.0").await;

    give_to_another(&app, false).await;
    pass(Duration::from_secs(6)).await;
    until_measured(&app, "probity_jobs_open{state=\"ready\"} 0.0").await;
    until_measured(&app, "probity_jobs_open{state=\"processing\"} 0.0").await;
    let status = app.get(&key, &format!("/v1/batch-verify/{id}/status")).await.ok(200);
    assert_eq!(status["status"], "completed");
    app.stop().await;
}
