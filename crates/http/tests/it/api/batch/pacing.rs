//! Tests that work which waits for mail servers does not delay other work.

use probity_backend::jobs::JobsConfig;
use probity_backend::nodes::NodeConfig;
use probity_backend::nodes::roles::NodeRole;

use super::*;

fn numbered(local: &str, domain: &str, count: u64) -> Vec<String> {
    (0..count).map(|n| format!("{local}{n}@{domain}")).collect()
}

async fn submit_all(app: &TestApp, key: &str, emails: &[String]) -> String {
    submit(app, key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await
}

/// Number of addresses at a domain without limits: enough for chunks of its own.
const OTHERS: u64 = 600;

#[tokio::test]
async fn what_our_own_limits_hold_back_holds_nobody_up_and_is_not_written_again_and_again() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let list = [numbered("user", "tight-mail.com", 1_000), numbered("user", "honest-mail.com", OTHERS)].concat();
        let id = submit_all(app, &key, &list).await;
        let (mut rounds, mut others_done_at) = (0, None);
        loop {
            let now = status(app, &key, &id).await;
            if others_done_at.is_none() && now["emailsProcessed"].as_u64().is_some_and(|rows| rows >= OTHERS) {
                others_done_at = Some(app.live.tight.calls());
            }
            if now["processed"] == true {
                break;
            }
            pass(Duration::from_secs(1)).await;
            rounds += 1;
            assert!(rounds < 600, "{now}");
        }
        // The other domain does not wait for this one, which alone would need a dozen calls for as many addresses.
        assert!(others_done_at < Some(6), "{others_done_at:?}");
        // Each call settles one burst and leaves the rest in place; the domain asserts that. A call costs two small writes, to
        // claim the chunk and to release it. That is less than a twentieth of a write per address of the burst.
        assert_eq!(app.live.tight.calls(), 1_000 / crate::test_app::BURST);
    })
    .await;
}

#[tokio::test]
async fn a_small_list_gets_through_while_a_large_one_of_the_same_customer_waits_for_slow_servers() {
    let jobs = JobsConfig { slots: 4, ..JobsConfig::default() };
    TestApp::each(ServiceConfig { jobs, ..ServiceConfig::default() }, async |app| {
        let (_, key) = app.customer().await;
        let large = submit_all(app, &key, &numbered("waits", "honest-mail.com", 6_000)).await;
        // The large list takes all slots before other lists exist.
        pass(Duration::from_secs(5)).await;
        for _ in 0..3 {
            let small = submit(app, &key, &["ann@honest-mail.com", "info@honest-mail.com"]).await;
            done(app, &key, &small).await;
        }
        assert_eq!(status(app, &key, &large).await["emailsProcessed"], 0);
        cancel(app, &key, &large).await.ok(200);
    })
    .await;
}

/// Configures a node with only the role `worker`; mail servers see this source IP.
fn worker(seen_as: &str) -> ServiceConfig {
    let (roles, sources) = ([NodeRole::Worker].into_iter().collect(), vec![seen_as.parse().ok()]);
    ServiceConfig { node: NodeConfig { roles, sources, ..NodeConfig::default() }, ..ServiceConfig::default() }
}

/// Starts a service without workers. Returns it with the key and ID of a job with one greylisted address, which a stopped node
/// has probed from 198.51.100.1.
async fn greylisted() -> Option<(TestApp, String, String)> {
    let node = NodeConfig { roles: [NodeRole::Api].into_iter().collect(), ..NodeConfig::default() };
    let app = TestApp::on_postgres(ServiceConfig { node, ..ServiceConfig::default() }).await?;
    let first = app.beside(worker("198.51.100.1")).await;
    let (_, key) = app.customer().await;
    let id = submit(&app, &key, &["ann@greylists.com"]).await;
    for _ in 0..200 {
        if app.sql("SELECT source FROM chunk") == "198.51.100.1" {
            first.stop().await;
            return Some((app, key, id));
        }
        pass(Duration::from_millis(200)).await;
    }
    panic!("it was not put off for its source: {}", app.sql("SELECT source, ready_at, leased_until FROM chunk"));
}

async fn minutes(count: u32) {
    for _ in 0..count {
        pass(Duration::from_mins(1)).await;
    }
}

#[tokio::test]
async fn a_greylisted_address_waits_for_the_node_that_servers_know() {
    let Some((app, key, id)) = greylisted().await else { return };
    let asked = app.live.net.hosts().rcpt;
    let another = app.beside(worker("198.51.100.2")).await;
    minutes(20).await;
    assert_eq!(status(&app, &key, &id).await["processed"], false);
    assert_eq!(app.live.net.hosts().rcpt, asked, "nobody has asked again");
    let back = app.beside(worker("198.51.100.1")).await;
    minutes(20).await;
    done(&app, &key, &id).await;
    assert_eq!(rows(&app, &key, &id, 10).await[0]["reason"], "valid");
    for node in [back, another, app] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_greylisted_address_whose_node_stays_away_goes_to_another_after_an_hour() {
    let Some((app, key, id)) = greylisted().await else { return };
    let asked = app.live.net.hosts().rcpt;
    let another = app.beside(worker("198.51.100.2")).await;
    minutes(55).await;
    assert_eq!(app.live.net.hosts().rcpt, asked, "nobody has asked again");
    minutes(20).await;
    done(&app, &key, &id).await;
    assert!(app.live.net.hosts().rcpt > asked);
    // The server does not know the new source IP and defers the address again. The hour was our own delay and did not use up
    // retries.
    assert_eq!(rows(&app, &key, &id, 10).await[0]["reason"], "valid");
    for node in [another, app] {
        node.stop().await;
    }
}
