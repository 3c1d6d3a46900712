//! Tests of credits under load and with clients that disconnect. When a test stops its service, an audit checks the ledger.

use futures_util::future::join_all;
use probity_account::api_key::KeyKind;
use probity_account::credits::{CreditBucket, Split};
use probity_http::service::ServiceConfig;

use crate::test_app::{TestApp, real_moment};

#[tokio::test]
async fn two_hundred_calls_at_once_spend_fifty_credits_and_no_more() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let org = app.org("Fifty", 50).await;
        let key = app.key(&org, KeyKind::Live).await;
        let emails: Vec<String> = (0..200).map(|n| format!("user{n}@honest-mail.com")).collect();
        let answers = join_all(emails.iter().map(|email| app.verify(&key, email))).await;
        for answer in &answers {
            match answer.status {
                200 => assert_eq!(answer.reason(), "valid"),
                _ => drop(answer.error(402, "insufficient_credits")),
            }
        }
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 50);
        let balance = app.balance(&org).await;
        assert_eq!((balance.available.total(), balance.held.total(), balance.spent.total()), (0, 0, 50));
        assert_eq!(app.usage(&org).await.iter().map(|(_, verified, _)| verified).sum::<i64>(), 50);
    })
    .await;
}

#[tokio::test]
async fn free_verdicts_cost_nothing() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let org = app.org("Ten", 10).await;
        let key = app.key(&org, KeyKind::Live).await;
        for _ in 0..3 {
            let answers = join_all((0..10).map(|_| app.verify(&key, "ann@blocks-us.com"))).await;
            assert!(answers.iter().all(|answer| answer.reason() == "failed_exchange"));
        }
        assert_eq!(app.balance(&org).await.available.total(), 10);
    })
    .await;
}

#[tokio::test]
async fn the_subscription_is_spent_first() {
    let app = TestApp::start().await;
    let org = app.org("Both", 2).await;
    app.admin.grant(&org, CreditBucket::Subscription, 2, None).await.unwrap();
    let key = app.key(&org, KeyKind::Live).await;
    let expected = [(1, 2), (0, 2), (0, 1), (0, 0)];
    for (subscription, prepaid) in expected {
        app.verify(&key, "no-address").await.ok(200);
        assert_eq!(app.balance(&org).await.available, Split { subscription, prepaid });
        let shown = app.get(&key, "/v1/organization").await.ok(200)["credits"].clone();
        let total = subscription + prepaid;
        assert_eq!(shown, serde_json::json!({"prepaid": prepaid, "subscription": subscription, "total": total}));
    }
    app.verify(&key, "no-address").await.error(402, "insufficient_credits");
    app.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_pays_nothing() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let org = app.org("Three", 3).await;
        let key = app.key(&org, KeyKind::Live).await;
        for round in 1..=3 {
            let calls = join_all((0..3).map(|_| app.verify(&key, "waits@honest-mail.com")));
            let gone = tokio::select! {
                _ = calls => false,
                () = app.live.asked(3 * round) => true,
            };
            assert!(gone, "the calls wait");
            assert_eq!(app.balance(&org).await.available.total(), 3);
        }
        assert!(app.usage(&org).await.is_empty(), "what nobody was told is no usage");
    })
    .await;
}

#[tokio::test]
async fn what_a_job_takes_meanwhile_is_refused_at_the_end_and_no_verdict_is_given() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let org = app.org("One", 1).await;
        let key = app.key(&org, KeyKind::Live).await;
        let meanwhile = async {
            app.live.asked(1).await;
            // A call is rejected at the start if the node's other calls leave no credit for it.
            app.verify(&key, "ann@honest-mail.com").await.error(402, "insufficient_credits");
            app.admin.adjust(&org, CreditBucket::Prepaid, -1).await.unwrap();
            app.live.gate.add_permits(1);
        };
        let (answer, ()) = tokio::join!(app.verify(&key, "waits@honest-mail.com"), meanwhile);
        answer.error(402, "insufficient_credits");
        let balance = app.balance(&org).await;
        assert_eq!((balance.available.total(), balance.spent.total()), (0, 0));
        assert!(app.usage(&org).await.is_empty());
        assert_eq!(app.live.timeouts.lock().unwrap().len(), 1, "who was refused at once asked nobody");
    })
    .await;
}

#[tokio::test]
async fn two_nodes_at_once_spend_fifty_credits_and_no_more() {
    let Some(app) = TestApp::on_postgres(ServiceConfig::default()).await else { return };
    let other = app.beside(ServiceConfig::default()).await;
    let org = app.org("Fifty", 50).await;
    let key = app.key(&org, KeyKind::Live).await;
    let emails: Vec<String> = (0..200).map(|n| format!("user{n}@honest-mail.com")).collect();
    let nodes = [&app, &other];
    let answers = join_all(emails.iter().enumerate().map(|(n, email)| nodes[n % 2].verify(&key, email))).await;
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.error(402, "insufficient_credits");
    }
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 50);
    let balance = app.balance(&org).await;
    assert_eq!((balance.available.total(), balance.held.total(), balance.spent.total()), (0, 0, 50));
    other.stop().await;
    app.stop().await;
}

/// Clients disconnect at any moment: before, during and after the charge.
#[tokio::test]
async fn whenever_clients_go_away_the_books_agree() {
    let app = TestApp::start().await;
    let org = app.org("Plenty", 1_000).await;
    let key = app.key(&org, KeyKind::Live).await;
    for polls in 0..60_u32 {
        let mut call = Box::pin(app.verify(&key, "ann@honest-mail.com"));
        for _ in 0..polls {
            if let std::task::Poll::Ready(answer) = futures_util::poll!(call.as_mut()) {
                answer.ok(200);
                break;
            }
            // Some clients disconnect at once, others when the database has had time to respond.
            if polls % 2 == 0 {
                tokio::task::yield_now().await;
            } else {
                real_moment().await;
            }
        }
        drop(call);
    }
    // This call's charge comes after all queued ones: from here on, nothing new is charged.
    app.verify(&key, "ann@honest-mail.com").await.ok(200);
    let balance = app.balance(&org).await;
    let charged: i64 = app.usage(&org).await.iter().map(|(_, _, charged)| charged).sum();
    assert_eq!(balance.spent.total(), charged);
    assert_eq!(balance.available.total(), 1_000 - charged);
    app.stop().await;
}
