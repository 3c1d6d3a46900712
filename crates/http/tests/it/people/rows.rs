//! Tests of the search for rows in a list, and for an address in all lists.

use probity_account::role::MemberRole;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::browser::Browser;
use super::lists::patch;
use super::{PASSWORD, config, signed_in};
use crate::staff::Plan;
use crate::test_app::{PLENTY, TestApp, at_one_moment, real_moment};

/// Submits a list and waits until all rows are settled, except those that wait at the gate.
async fn list(app: &TestApp, browser: &mut Browser<'_>, emails: &[String]) -> String {
    let answer = browser.post("/app/v1/batch-verify", &json!({ "emails": emails })).await.ok(200);
    let id = answer["id"].as_str().unwrap().to_owned();
    let waiting = emails.iter().filter(|email| email.starts_with("waits")).count();
    for _ in 0..5_000 {
        let progress = browser.get(&format!("/app/jobs/{id}/progress")).await.ok(200);
        if progress["processed"] == emails.len() - waiting {
            return id;
        }
        real_moment().await;
    }
    panic!("the list does not come on: {:?}", app.live.failures);
}

/// Returns all rows that a query finds, read response by response.
async fn all(browser: &mut Browser<'_>, id: &str, query: &str) -> Vec<Value> {
    let (mut rows, mut after) = (Vec::new(), 0);
    loop {
        let answer = browser.get(&format!("/app/jobs/{id}/rows?after={after}&{query}")).await.ok(200);
        rows.extend(answer["data"].as_array().unwrap().iter().cloned());
        assert_eq!(answer["next"].is_null(), answer["scanned"] == answer["rows"]);
        match answer["next"].as_i64() {
            None => return rows,
            Some(next) => {
                assert!(next > after, "it comes on");
                after = next;
            }
        }
    }
}

fn indexes(rows: &[Value]) -> Vec<i64> {
    rows.iter().map(|row| row["index"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn rows_are_found_by_what_they_say() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        // More than one step of the search; every hundredth mailbox does not exist.
        let address = |n: usize| match n % 100 {
            7 => format!("nobody{n}@honest-mail.com"),
            _ => format!("user{n}@honest-mail.com"),
        };
        let mut emails: Vec<String> = (0..9_000).map(address).collect();
        emails[8_500] = "Needle.In@honest-mail.com".into();
        emails[8_501] = "waits@honest-mail.com".into();
        emails[8_502] = "no address".into();
        let id = list(app, &mut ann, &emails).await;

        let whole = all(&mut ann, &id, "per_page=500").await;
        assert_eq!(indexes(&whole), (0..9_000).collect::<Vec<_>>());
        let by = |wanted: &dyn Fn(&Value) -> bool| {
            indexes(&whole.iter().filter(|row| wanted(row)).cloned().collect::<Vec<_>>())
        };
        for status in ["passed", "undeliverable", "risky", "unknown"] {
            let expected = by(&|row| row["status"] == status);
            assert_eq!(
                indexes(&all(&mut ann, &id, &format!("status={status}&per_page=30")).await),
                expected,
                "{status}"
            );
        }
        assert_eq!(indexes(&all(&mut ann, &id, "status=pending").await), [8_501]);
        assert_eq!(indexes(&all(&mut ann, &id, "reason=invalid").await), [8_502]);
        assert_eq!(indexes(&all(&mut ann, &id, "reason=invalid&status=passed").await), [0_i64; 0]);
        assert_eq!(indexes(&all(&mut ann, &id, "q=needle.IN@").await), [8_500]);
        assert_eq!(indexes(&all(&mut ann, &id, "q=user42%40").await), [42]);
        let found = by(&|row| row["email"].as_str().unwrap().contains("107") && row["reason"] == "nonexistent");
        assert_eq!(indexes(&all(&mut ann, &id, "q=107&reason=nonexistent&per_page=1").await), found);
        assert!(found.len() > 1);
        let others = by(&|row| row["processed"] == true);
        assert_eq!(indexes(&all(&mut ann, &id, "provider=other&per_page=500").await), others);
        assert_eq!(indexes(&all(&mut ann, &id, "provider=google").await), [0_i64; 0]);
        assert_eq!(whole[0]["host"], "mx.honest-mail.com");
        let decided = |of: &Value| of["decided"]["meta"].as_str().map(str::to_owned);
        let missing = whole.iter().find(|row| row["reason"] == "nonexistent").unwrap();
        assert_eq!(decided(missing).unwrap(), "smtp_550_5.1.1", "{missing}");
        assert_eq!(whole.iter().find(|row| row["processed"] == false).and_then(decided), None);
        for filter in ["status=passed", "q=107&reason=nonexistent", "provider=google", "status=pending"] {
            let (mut count, mut after) = (0_usize, json!(0));
            while !after.is_null() {
                let part = ann.get(&format!("/app/jobs/{id}/rows/count?after={after}&{filter}")).await.ok(200);
                count += usize::try_from(part["count"].as_u64().unwrap()).unwrap();
                after = part["next"].clone();
            }
            assert_eq!(count, all(&mut ann, &id, filter).await.len(), "{filter}");
        }
        for refused in ["status=bad", "reason=bad", "after=-1", "per_page=0"] {
            ann.get(&format!("/app/jobs/{id}/rows?{refused}")).await.error(400, "invalid_request");
        }
        ann.get(&format!("/app/jobs/{id}/rows?after=99999999")).await.ok(200);
        app.live.gate.add_permits(1);
        app.settled().await;
    })
    .await;
}

#[tokio::test]
async fn an_address_is_found_in_all_lists_of_its_organization_and_in_no_other() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let other = app.org("Other Ltd", PLENTY).await;
        let (_, mut eve) = signed_in(app, &other, "eve@example.com", MemberRole::Administrator).await;
        let first = list(app, &mut ann, &["ann@honest-mail.com".into(), "bob@honest-mail.com".into()]).await;
        let mut many: Vec<String> = (0..150).map(|n| format!("user{n}@honest-mail.com")).collect();
        many.push("ANN@honest-mail.com".into());
        let second = list(app, &mut ann, &many).await;
        list(app, &mut eve, &["ann@honest-mail.com".into()]).await;

        patch(&mut ann, &format!("/app/jobs/{first}"), json!({ "name": "Customers" })).await.ok(200);
        // A slow look-up ends early.
        let found = at_one_moment(ann.get("/app/lookup?q=Ann@Honest-Mail.com")).await.ok(200);
        let places: Vec<_> =
            found["data"].as_array().unwrap().iter().map(|place| (&place["job"], &place["index"])).collect();
        assert_eq!(places, [(&json!(second), &json!(150)), (&json!(first), &json!(0))]);
        assert_eq!((&found["data"][1]["status"], &found["next"]), (&json!("passed"), &Value::Null));
        let names = (&found["data"][0]["name"], &found["data"][1]["name"]);
        assert_eq!(names, (&Value::Null, &json!("Customers")));
        assert_eq!(found["scanned"], 153);
        assert_eq!(ann.get("/app/lookup?q=nobody@honest-mail.com").await.ok(200)["data"], json!([]));

        // The domain occurs in more rows than one response returns.
        let (mut seen, mut next) = (Vec::new(), String::new());
        loop {
            let answer = ann.get(&format!("/app/lookup?q=honest-mail.com{next}")).await.ok(200);
            let data = answer["data"].as_array().unwrap();
            assert!(data.len() <= 100);
            seen.extend(
                data.iter().map(|place| (place["job"].as_str().unwrap().to_owned(), place["index"].as_i64().unwrap())),
            );
            let Some(cursor) = answer["next"].as_str() else { break };
            next = format!("&next={cursor}");
        }
        let expected = (0..151).map(|row| (second.clone(), row)).chain((0..2).map(|row| (first.clone(), row)));
        assert_eq!(seen, expected.collect::<Vec<_>>());

        eve.get(&format!("/app/lookup?q=honest-mail.com{next}")).await.error(400, "invalid_request");
        let part = at_one_moment(ann.get("/app/lookup?q=USER14")).await.ok(200);
        let found: Vec<_> =
            part["data"].as_array().unwrap().iter().map(|place| place["index"].as_i64().unwrap()).collect();
        assert_eq!(found, [14, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149], "a part of an address");
        for refused in ["", "?q="] {
            ann.get(&format!("/app/lookup{refused}")).await.error(400, "invalid_request");
        }
        Browser::new(app).get("/app/lookup?q=honest-mail.com").await.error(401, "not_signed_in");
    })
    .await;
}

#[tokio::test]
async fn settings_are_tried_on_the_last_list_and_change_nothing() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        assert_eq!(ann.post("/app/settings/trial", &json!({})).await.ok(200), json!({ "job": null }));
        let emails =
            ["ann@honest-mail.com", "nobody@honest-mail.com", "info@honest-mail.com", "Ann <full@honest-mail.com>"];
        let id = list(app, &mut ann, &emails.map(Into::into)).await;

        let wishes = json!({ "ignored_reasons": ["nonexistent", "role_based"], "banned_words": ["ann"] });
        let tried = ann.post("/app/settings/trial", &wishes).await.ok(200)["job"].clone();
        assert_eq!((&tried["id"], &tried["rows"], &tried["looked_at"]), (&json!(id), &json!(4), &json!(4)));
        assert_eq!(
            tried["before"]["reasons"],
            json!({ "valid": 1, "nonexistent": 1, "role_based": 1, "inbox_full": 1 })
        );
        assert_eq!(tried["after"]["reasons"], json!({ "valid": 2, "banned_words": 1, "inbox_full": 1 }));
        assert_eq!(tried["after"]["statuses"], json!({ "passed": 2, "risky": 1, "undeliverable": 1 }));
        assert_eq!(tried["changed"], 3);
        assert_eq!(tried["each"]["ignored_reasons"], json!({ "nonexistent": 1, "role_based": 1, "inbox_full": 1 }));
        assert_eq!((&tried["each"]["banned_words"], &tried["each"]["role_words"]), (&json!(1), &json!(0)));

        // The trial compares with the current settings, and does not change them.
        ann.send(ann.call("PATCH", "/app/v1/organization/settings").json(&wishes)).await.ok(200);
        let same = ann.post("/app/settings/trial", &json!({})).await.ok(200)["job"].clone();
        assert_eq!((&same["changed"], &same["before"]), (&json!(0), &same["after"]));
        assert_eq!(same["after"], tried["after"]);
        ann.post("/app/settings/trial", &json!({ "ignored_reasons": ["nonsense"] }))
            .await
            .error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn providers_and_the_way_to_mail_servers_are_told() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let (_, mut ann) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    list(&app, &mut ann, &["ann@honest-mail.com".into(), "ann@null-mx.com".into()]).await;
    app.settled().await;
    let mix = ann.get("/app/reports/providers?days=7").await.ok(200);
    assert_eq!(mix, json!({ "data": [{ "id": null, "name": null, "verified": 2, "unknown": 0 }] }));
    ann.get("/app/reports/providers?days=0").await.error(400, "invalid_request");

    // An administrator of a customer gets no information about nodes.
    let reduced = ann.get("/app/egress").await.ok(200);
    assert_eq!(reduced["data"], Value::Null);
    assert_eq!(reduced.as_object().unwrap().len(), 3, "{reduced}");
    let (_, mut bob) = signed_in(&app, &org, "bob@example.com", MemberRole::Contributor).await;
    assert_eq!(bob.get("/app/egress").await.ok(200), reduced, "contributors see whether servers are reachable");
    Browser::new(&app).get("/app/egress").await.error(401, "not_signed_in");
    app.stop().await;
}

#[tokio::test]
async fn whoever_runs_the_installation_sees_its_machines() {
    let app = TestApp::with(config()).await;
    let link = app.admin.first_start("Operator", Plan::Unlimited).await.unwrap().unwrap().link;
    let mut owner = Browser::new(&app);
    let wanted = json!({ "password": PASSWORD, "email": "op@example.com", "name": "Op" });
    owner.post(&format!("/app/link#{}", link.expose_secret()), &wanted).await.ok(200);
    let ways = owner.get("/app/egress").await.ok(200);
    let nodes = ways["data"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    assert!(nodes[0]["node"].as_str().unwrap().starts_with("node_"), "{ways}");
    let tenant = app.org("Tenant", PLENTY).await;
    let (_, mut eve) = signed_in(&app, &tenant, "eve@example.com", MemberRole::Administrator).await;
    let reduced = eve.get("/app/egress").await.ok(200);
    assert_eq!(reduced, json!({ "reachable": ways["reachable"], "missing": null, "data": null }));
    eve.post("/app/egress", &json!({})).await.error(403, "forbidden_scope");
    assert_eq!(owner.post("/app/egress", &json!({})).await.ok(200), json!({ "checking": true }));
    app.stop().await;
}
