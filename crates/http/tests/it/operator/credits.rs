//! Tests of credits: grants and corrections are booked once per reference, and their consequences.

use std::time::Duration;

use probity_account::credits::CreditBucket;
use probity_contract::error::Code;
use probity_mail::time::Millis;
use probity_service::operator::credits::{CreditOrder, Until};
use probity_store::ScopedFutureExt as _;
use probity_store::credits::hold;
use serde_json::{Value, json};

use super::{ORGS, config, customer, get, patch, post};
use crate::test_app::{TestApp, pass, upkeep};

#[tokio::test]
async fn credits_are_booked_once_for_a_reference() {
    TestApp::each(config(false), async |app| {
        let (org, key) = customer(app, "metered").await;
        let grants = format!("{org}/credits/grants");
        let grant = json!({"bucket": "prepaid", "amount": 100, "reference": "INV-1"});
        let both = tokio::join!(post(app, &grants, grant.clone()), post(app, &grants, grant.clone()));
        let booked = [both.0.ok(200), both.1.ok(200)].map(|answer| answer["booked"] == true);
        assert!(booked[0] != booked[1], "{booked:?}");
        let again = post(app, &grants, grant).await.ok(200);
        assert_eq!((&again["booked"], &again["prepaid"]["available"]), (&json!(false), &json!(107)));
        let other = json!({"bucket": "prepaid", "amount": 101, "reference": "INV-1"});
        post(app, &grants, other).await.error(409, "conflict");
        let adjustments = format!("{org}/credits/adjustments");
        let back = json!({"bucket": "prepaid", "amount": -107, "reference": "INV-1"});
        assert_eq!(post(app, &adjustments, back.clone()).await.ok(200)["prepaid"]["available"], 0);
        assert_eq!(post(app, &adjustments, back).await.ok(200)["booked"], false);
        let more = json!({"bucket": "prepaid", "amount": -1, "reference": "INV-2"});
        post(app, &adjustments, more).await.error(409, "conflict");
        let until = json!({"bucket": "subscription", "amount": 5, "until": "2099-01-01T00:00:00Z", "reference": "S"});
        assert_eq!(post(app, &grants, until.clone()).await.ok(200)["subscription_ends_at"], "2099-01-01T00:00:00.000Z");
        assert_eq!(post(app, &grants, until.clone()).await.ok(200)["booked"], false);
        for end in [json!("2099-01-02T00:00:00Z"), json!("2001-01-01T00:00:00Z"), Value::Null] {
            let mut other = until.clone();
            other["until"] = end;
            post(app, &grants, other).await.error(409, "conflict");
        }
        let ledger = get(app, &format!("{org}/credits/ledger?per_page=2")).await.ok(200);
        assert_eq!(ledger["data"][0]["cause"], "ref:S");
        let next = ledger["pagination"]["next_cursor"].as_str().unwrap();
        let rest = get(app, &format!("{org}/credits/ledger?next={next}")).await.ok(200);
        assert_eq!(rest["data"].as_array().unwrap().last().unwrap()["cause"], "initial");
        let all = get(app, &format!("{org}/credits/ledger?per_page=4")).await.ok(200);
        assert_eq!((all["data"].as_array().unwrap().len(), &all["pagination"]["has_more"]), (4, &json!(false)));
        for (wrong, field) in [
            (json!({"bucket": "free", "amount": 1, "reference": "a"}), "bucket"),
            (json!({"bucket": "prepaid", "amount": 0, "reference": "a"}), "amount"),
            (json!({"bucket": "prepaid", "amount": 1, "reference": "a b"}), "reference"),
            (json!({"bucket": "prepaid", "amount": 1, "reference": "a", "until": "2099-01-01T00:00:00Z"}), "until"),
        ] {
            assert!(post(app, &grants, wrong).await.error(400, "invalid_request").contains(field), "{field}");
        }
        assert_eq!(app.get(&key, "/v1/check-key").await.ok(200)["freeMatches"], 5);
    })
    .await;
}

#[tokio::test]
async fn what_comes_between_two_months_is_not_lost() {
    TestApp::each(config(false), async |app| {
        let (org, _) = customer(app, "team").await;
        let book = async |what: &str, bucket: &str, amount: i64, reference: &str| {
            let body = json!({"bucket": bucket, "amount": amount, "reference": reference});
            post(app, &format!("{org}/credits/{what}"), body).await
        };
        let both = ["grants", "adjustments"];
        book("grants", "subscription", 5, "before").await.ok(200);
        post(app, &format!("{org}/hold"), json!({"status": "suspended"})).await.ok(200);
        for what in both {
            book(what, "subscription", 3, "held").await.ok(200);
        }
        pass(Duration::from_hours(24 * 32)).await;
        // The past month's credits end now, not at some time between the requests.
        upkeep().await;
        for what in both {
            let refused = book(what, "subscription", 5, "between").await.error(409, "conflict");
            assert!(refused.contains("lift the restriction"), "{refused}");
            book(what, "prepaid", 5, "prepaid").await.ok(200);
        }
        assert_eq!(book("grants", "subscription", 5, "before").await.ok(200)["booked"], false, "it was booked before");
        book("grants", "subscription", 6, "before").await.error(409, "conflict");
        let refused = book("adjustments", "subscription", -1, "less").await.error(409, "conflict");
        assert!(refused.contains("more credits than are available"), "a removal waits for no month: {refused}");
        // Until now, nothing has started the month to which the credits are granted.
        post(app, &format!("{org}/lift"), json!({})).await.ok(200);
        for what in both {
            book(what, "subscription", 5, "after").await.ok(200);
        }
        upkeep().await;
        let ledger = get(app, &format!("{org}/credits/ledger?per_page=1")).await.ok(200);
        let shown = book("grants", "subscription", 5, "after").await.ok(200);
        assert_eq!(shown["subscription"]["available"], 1_010, "{ledger}");
    })
    .await;
}

#[tokio::test]
async fn a_grant_says_which_end_counts_and_may_be_repeated_after_it() {
    let app = TestApp::with(config(false)).await;
    let (org, _) = customer(&app, "metered").await;
    let grants = format!("{org}/credits/grants");
    let grant = async |reference: &str, until: Option<Millis>| {
        let until = until.map(Millis::to_rfc3339);
        let body = json!({"bucket": "subscription", "amount": 5, "until": until, "reference": reference});
        post(&app, &grants, body).await
    };
    let now = app.now(&app.admin.org(&org[ORGS.len() + 1..]).await.unwrap()).await;
    let soon = now + 60_000;
    assert_eq!(grant("soon", Some(soon)).await.ok(200)["subscription_ends_at"], json!(soon.to_rfc3339()));
    pass(Duration::from_mins(2)).await;
    assert_eq!(grant("soon", Some(soon)).await.ok(200)["booked"], false, "whenever it comes");
    assert!(grant("later", Some(soon)).await.error(400, "invalid_request").contains("until"));
    // Credits without an end stay without one when others are added.
    assert_eq!(grant("stays", None).await.ok(200)["subscription_ends_at"], Value::Null);
    let next = grant("ends", Some(soon + 86_400_000)).await.ok(200);
    assert_eq!((&next["subscription_ends_at"], &next["booked"]), (&Value::Null, &json!(true)));
    app.stop().await;
}

#[tokio::test]
async fn a_grant_is_told_by_the_end_that_was_asked_for() {
    TestApp::each(config(false), async |app| {
        let org = app.org("metered", 0).await;
        let now = app.now(&org).await;
        let grant = async |reference: &str, until: Option<Until>| {
            let order = CreditOrder::grant(CreditBucket::Subscription, 5, until, Some(reference.to_owned())).unwrap();
            app.admin.grant_ordered(&org, order).await.map(|account| account.booked)
        };
        let day = |days: i64| Some(Until::After(days * 86_400_000));
        assert!(grant("S", day(30)).await.unwrap());
        assert!(!grant("S", day(30)).await.unwrap(), "the same, said later");
        for other in [day(31), None, Some(Until::At(now))] {
            assert_eq!(grant("S", other).await.unwrap_err().code(), Code::Conflict, "{other:?}");
        }
        assert!(grant("G", None).await.unwrap());
        assert!(!grant("G", None).await.unwrap());
        assert_eq!(grant("G", day(30)).await.unwrap_err().code(), Code::Conflict);
    })
    .await;
}

#[tokio::test]
async fn nobody_leaves_the_unlimited_plan_while_its_credits_are_set_aside() {
    TestApp::each(config(false), async |app| {
        let (org, _) = customer(app, "unlimited").await;
        let unlimited = app.admin.org(&org[ORGS.len() + 1..]).await.unwrap();
        let (no, at) = (unlimited.no, Millis(1));
        app.store.write(|tx| hold::place(tx, no, "job", 1_000_000, at).scope_boxed()).await.unwrap();
        let to = json!({"plan": "metered", "name": "Another"});
        let refused = patch(app, &org, to.clone()).await.error(409, "conflict");
        assert!(refused.contains("on hold"), "{refused}");
        assert_eq!(get(app, &org).await.ok(200)["name"], "Example Ltd", "all or nothing");
        let part = hold::HoldPart { org: no, id: "job", captured: 0, released: 1_000_000, cause: "over", at };
        app.store.write(|tx| hold::settle(tx, &part).scope_boxed()).await.unwrap();
        patch(app, &org, to).await.ok(200);
        assert_eq!(app.balance(&unlimited).await.available.total(), 0);
    })
    .await;
}

#[tokio::test]
async fn another_threshold_tells_of_a_low_balance_again() {
    let app = TestApp::with(config(false)).await;
    let (org, key) = customer(&app, "metered").await;
    let told = async || {
        let events = app.get(&key, "/v1/account/timeline").await.ok(200)["events"].clone();
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "low_balance").count()
    };
    for (threshold, expected) in [(json!(10), 1), (Value::Null, 1), (json!(12), 2), (json!(7), 2)] {
        patch(&app, &org, json!({"low_balance": threshold})).await.ok(200);
        upkeep().await;
        assert_eq!(told().await, expected, "{threshold}");
    }
    app.stop().await;
}
