//! Tests of the widget's preview in the dashboard.

use probity_account::role::MemberRole;
use serde_json::json;

use super::{config, signed_in};
use crate::test_app::{Call, TestApp};

#[tokio::test]
async fn the_widgets_preview_asks_the_sandbox_and_costs_nothing() {
    let app = TestApp::with(config()).await;
    app.send(Call::get("/app/widget/preview?email=ada@gmial.com")).await.error(401, "not_signed_in");
    let org = app.org("Shop", 100).await;
    let (_, mut browser) = signed_in(&app, &org, "ada@example.com", MemberRole::Contributor).await;
    for (email, expected) in [
        ("valid@sandbox.test", json!({"result": "ok"})),
        ("nonexistent@sandbox.test", json!({"result": "reject"})),
        ("ada@gmial.com", json!({"result": "fix", "suggestion": "ada@gmail.com"})),
    ] {
        let preview = browser.get(&format!("/app/widget/preview?email={email}")).await;
        assert_eq!(preview.ok(200), expected);
    }
    browser.get("/app/widget/preview?email=").await.error(400, "invalid_request");
    assert_eq!(app.balance(&org).await.spent.total(), 0);
    assert_eq!(app.usage(&org).await, []);
    app.stop().await;
}
