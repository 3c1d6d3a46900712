//! Tests of the command line's administration, next to a running service or before its first start.

use crate::staff::Plan;
use crate::test_app::TestApp;

#[tokio::test]
async fn a_first_start_adds_nothing_to_what_was_made_before_it() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    assert!(app.admin.first_start("My organization", Plan::Unlimited).await.unwrap().is_none());
    assert_eq!(app.admin.list_orgs().await.unwrap(), [org]);
    app.stop().await;
}

#[tokio::test]
async fn of_first_starts_one_makes_keys() {
    let app = TestApp::start().await;
    assert!(app.admin.first_start("My organization", Plan::Unlimited).await.unwrap().is_some());
    assert!(app.admin.first_start("My organization", Plan::Unlimited).await.unwrap().is_none());
    assert_eq!(app.admin.list_orgs().await.unwrap().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_made_that_cannot_be_called_so() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    for name in ["", " ", "a\u{202e}b", "a\nb"] {
        let made = app.admin.create_org(name, Plan::Unlimited).await;
        assert!(made.is_err(), "{made:?}");
        let refused = app.admin.create_live_key(&org, name).await.err().unwrap();
        assert!(refused.message().starts_with("name: "), "{}", refused.message());
    }
    assert_eq!(app.admin.list_orgs().await.unwrap().len(), 1);
    let made = app.admin.create_live_key(&org, " Shop ").await.unwrap();
    assert_eq!(made.key.name, "Shop");
    app.stop().await;
}
