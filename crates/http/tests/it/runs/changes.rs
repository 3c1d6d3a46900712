//! Changed verdicts of contacts, as clients read them.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use serde_json::{Value, json};

use super::{Customer, with_contacts};
use crate::test_app::{Answer, pass};

const MINUTE: Duration = Duration::from_secs(61);

async fn changes(customer: &Customer<'_>, key: &str, query: &str) -> Answer {
    customer.app.get(key, &format!("/v1/changes?{query}")).await
}

/// Puts addresses on the blacklist, and verifies everything again.
async fn blacklist(customer: &Customer<'_>, emails: &[&str]) -> String {
    let rules: Vec<Value> =
        emails.iter().map(|email| json!({ "keyword": email, "applies_to": { "email": true } })).collect();
    customer.post("keywords/blacklist", json!({ "rules": rules })).await.ok(201);
    let id = customer.start(true).await;
    customer.until(&id, "needs_confirmation").await;
    id
}

#[tokio::test]
#[ignore = "thorough"]
async fn contacts_with_another_verdict_are_listed_after_a_minute() {
    let contacts = ["ann@honest-mail.com", "nobody@honest-mail.com", "user1@honest-mail.com"];
    with_contacts(&contacts, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let first = customer.start(true).await;
        customer.until(&first, "needs_confirmation").await;
        let before = app.now(&customer.org).await;
        let run = blacklist(&customer, &["ann@honest-mail.com", "user1@honest-mail.com"]).await;
        let of = async |query: &str| changes(&customer, &customer.key, query).await.ok(200);
        assert_eq!(of("").await["data"], json!([]), "a transaction may still write an earlier one");
        pass(MINUTE).await;
        let all = of("").await;
        let rows: Vec<_> = all["data"].as_array().unwrap().iter().collect();
        assert_eq!(rows.len(), 2, "{all:#}");
        let shown = |row: &Value| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            assert_eq!(row["run_id"], run);
            (row["index"].as_i64().unwrap(), text("email"), text("previous_status"), text("status"), text("reason"))
        };
        let of_row = |idx: i64, email: &str| {
            (idx, email.to_owned(), "passed".to_owned(), "risky".to_owned(), "blacklisted".to_owned())
        };
        let expected = [of_row(0, "ann@honest-mail.com"), of_row(2, "user1@honest-mail.com")];
        assert_eq!([shown(rows[0]), shown(rows[1])], expected);
        let path: Vec<_> = customer.path.split('/').collect();
        assert_eq!(rows[0]["connection_id"], *path.last().unwrap());

        let page = of("per_page=1").await;
        let next = page["pagination"]["next_cursor"].as_str().unwrap().to_owned();
        let second = of(&format!("per_page=1&next={next}")).await;
        assert_eq!((&page["data"][0], &second["data"][0]), (rows[0], rows[1]));
        assert_eq!(second["pagination"]["has_more"], false);
        let since = |at: &str| format!("since={}", at.replace('+', "%2B"));
        assert_eq!(of(&since(&before.to_rfc3339())).await["data"], all["data"]);
        assert_eq!(of(&since(&app.now(&customer.org).await.to_rfc3339())).await["data"], json!([]));
        for wrong in ["since=yesterday", "since="] {
            let refused = changes(&customer, &customer.key, wrong).await;
            assert!(refused.error(400, "invalid_request").contains("since"), "{}", refused.text());
        }
        let filtered = format!("{}&next={next}", since(&before.to_rfc3339()));
        changes(&customer, &customer.key, &filtered).await.error(400, "invalid_request");

        let test = app.key(&customer.org, KeyKind::Test).await;
        assert_eq!(changes(&customer, &test, "").await.ok(200)["data"], json!([]));
        let (_, stranger) = app.customer().await;
        assert_eq!(changes(&customer, &stranger, "").await.ok(200)["data"], json!([]));
        changes(&customer, &stranger, &format!("next={next}")).await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn an_erased_address_is_neither_listed_nor_known() {
    with_contacts(&["ann@honest-mail.com", "nobody@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let first = customer.start(true).await;
        customer.until(&first, "needs_confirmation").await;
        blacklist(&customer, &["ann@honest-mail.com"]).await;
        pass(MINUTE).await;
        let erasure = app.admin.erase(&customer.org, "ann@honest-mail.com").await.unwrap();
        let mut done = json!(null);
        for _ in 0..500 {
            done = app.get(&customer.key, &format!("/v1/erasures/{}", erasure.id)).await.ok(200);
            if done["status"] == "completed" {
                break;
            }
            pass(Duration::from_secs(1)).await;
        }
        assert_eq!(done["removed"]["address_verdict"], 1, "{done:#}");
        let all = changes(&customer, &customer.key, "").await.ok(200);
        assert_eq!((&all["data"][0]["email"], &all["data"][0]["reason"]), (&json!("erased"), &json!("blacklisted")));
    })
    .await;
}
