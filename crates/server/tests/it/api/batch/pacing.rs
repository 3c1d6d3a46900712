//! Work that must wait for mail servers, and work that need not.

use probity_server::jobs::JobsConfig;

use super::*;

fn numbered(local: &str, domain: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{local}{n}@{domain}")).collect()
}

async fn submit_all(app: &TestApp, key: &str, emails: &[String]) -> String {
    submit(app, key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await
}

#[tokio::test]
async fn what_our_own_limits_hold_back_is_not_written_again_and_again() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let id = submit_all(app, &key, &numbered("user", "tight-mail.com", 1_000)).await;
        let mut rounds = 0;
        while status(app, &key, &id).await["processed"] == false {
            pass(Duration::from_secs(1)).await;
            rounds += 1;
            assert!(rounds < 600, "{}", status(app, &key, &id).await);
        }
        // Each time a burst is through and the rest stays where it is: the domain sees to that. A call costs two small
        // writes, one to take the chunk up and one to let it go: a twentieth of a write for each address of the burst.
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
        // All that it can get, before anybody else is there.
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
