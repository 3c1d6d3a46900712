//! Tests of starting a file's job: its forecast, and that there is only one job.

use probity_account::id::{JobId, UploadId};
use probity_account::plans::{Plan, Plans, Refill};
use probity_account::role::MemberRole;
use probity_mail::time::Millis;
use probity_store::uploads::{self, ColumnChoice, ColumnContent, UploadNo};
use probity_store::{ScopedFutureExt as _, StoreError};
use serde_json::{Value, json};

use super::{put, put_up, with_ann};
use crate::people::{config, signed_in};
use crate::test_app::{PLENTY, TestApp};

#[tokio::test]
async fn changes_at_the_same_time_lose_nothing_and_no_job_has_another_column() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "name,email,second\nA,ann@honest-mail.com,user1@honest-mail.com\n";
        let (_, place) = put_up(browser, "name=list.csv", list).await;
        let change = |change: Value| browser.call("PATCH", &place).json(&change).into_request();
        let both = (change(json!({ "column": 2 })), change(json!({ "header": false })));
        let (one, other) = tokio::join!(app.send_request(both.0), app.send_request(both.1));
        one.ok(200);
        other.ok(200);
        let view = browser.get(&place).await.ok(200);
        assert_eq!(
            (&view["column"], &view["header"], &view["counts"]["addresses"]),
            (&json!(2), &json!(false), &json!(2))
        );
        // A start with an outdated choice of column and header fails.
        let id: UploadId = view["id"].as_str().unwrap().parse().unwrap();
        let org = app.admin.list_orgs().await.unwrap()[0].no;
        let job = JobId::from_bits(1);
        for choice in [(Some(1), false), (Some(2), true), (None, false)] {
            let choice = ColumnChoice { column: choice.0, header: choice.1 };
            let start = app
                .store
                .write(|tx| uploads::start(tx, (org, id, false), (job, choice), Millis(0)).scope_boxed())
                .await;
            assert!(matches!(start, Err(StoreError::Conflict)), "{choice:?}");
            let stale = ColumnContent { addresses: 77, ..ColumnContent::default() };
            let no = UploadNo::of_id(id);
            app.store.write(|tx| uploads::recount(tx, org, no, choice, &stale).scope_boxed()).await.unwrap();
        }
        assert_eq!(browser.get(&place).await.ok(200), view);
        browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_started_of_a_column_that_was_not_looked_at() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "name,email,second\nA,ann@honest-mail.com,user1@honest-mail.com\n";
        let (view, place) = put_up(browser, "name=list.csv", list).await;
        let seen = json!({ "column": view["column"], "header": view["header"] });
        assert_eq!(seen, json!({ "column": 1, "header": true }));
        // Another member selects another column before the first choice is started.
        let other = json!({ "column": 2, "header": false });
        let call = browser.call("PATCH", &place).json(&other);
        browser.send(call).await.ok(200);
        let start = format!("{place}/start");
        for stale in [&seen, &json!({ "column": 1 }), &json!({ "header": true })] {
            browser.post(&start, stale).await.error(409, "conflict");
            let call = browser.call("POST", &start).once("a").json(stale);
            browser.send(call).await.error(409, "conflict");
        }
        browser.post(&start, &json!({ "colum": 2 })).await.error(400, "invalid_request");
        assert_eq!(browser.get(&place).await.ok(200)["job"], Value::Null);
        assert_eq!(browser.get("/app/v1/jobs").await.ok(200)["data"], json!([]));
        let job = browser.post(&start, &other).await.ok(200);
        assert_eq!(browser.post(&start, &other).await.ok(200), job);
        // One column's choice does not return another column's job.
        browser.post(&start, &seen).await.error(409, "conflict");
        // A start without a choice uses the current one, also with an empty body.
        let call = browser.call("POST", &start);
        assert_eq!(browser.send(call).await.ok(200), job);
        app.settled().await;
    })
    .await;
}

#[tokio::test]
async fn a_job_is_made_once_of_all_rows_in_their_order() {
    with_ann(config(), PLENTY, async |app, browser| {
        let rows: Vec<String> = (0..2_500).map(|n| format!("{n};user{}@honest-mail.com", n % 2_400)).collect();
        let list = format!("n;email\n{}\n;\nlast;no address\n", rows.join("\n"));
        let (view, place) = put_up(browser, "name=list.csv", list).await;
        assert_eq!((&view["rows"], &view["counts"]["duplicates"]), (&json!(2_501), &json!(100)));
        let first = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        let again = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        assert_eq!(first, again);
        let job = first["id"].as_str().unwrap();
        assert_eq!(browser.get(&place).await.ok(200)["job"], job);
        app.settled().await;
        let job = browser.get(&format!("/app/v1/jobs/{job}")).await.ok(200);
        assert_eq!((&job["source"], &job["results"]["total"]), (&json!("csv"), &json!(2_501)));
        let id = job["id"].as_str().unwrap();
        let page = browser.get(&format!("/app/v1/batch-verify/{id}/results?per_page=100")).await.ok(200);
        assert_eq!(page["data"][7]["email"], "user7@honest-mail.com");
        let events = browser.get("/app/v1/account/timeline").await.ok(200);
        let event = events["events"].as_array().unwrap().iter().find(|event| event["type"] == "job").unwrap();
        assert_eq!((&event["trigger"], &event["source_action"]), (&json!("manual"), &json!("dashboard.upload")));
        // The choice of a started file is fixed, and deleting the file keeps its job.
        let call = browser.call("PATCH", &place).json(&json!({ "column": 0 }));
        browser.send(call).await.error(409, "conflict");
        browser.delete(&place, &json!({})).await.ok(200);
        browser.get(&place).await.error(404, "not_found");
        browser.get(&format!("/app/v1/jobs/{id}")).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn rows_without_an_address_cost_nothing_and_come_back() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "n;email\n1;ann@honest-mail.com\n2;\nn;email\n3;user1@honest-mail.com\n\n4;a@x.org, b@x.org\n";
        let (view, place) = put_up(browser, "name=list.csv", list).await;
        let counts = json!({ "addresses": 2, "distinct": 2, "duplicates": 0, "empty": 3, "invalid": 0 });
        assert_eq!((&view["counts"], &view["better_column"]), (&counts, &Value::Null));
        let blank = |row| json!({ "row": row, "line": row, "reason": "blank", "addresses": null });
        let several = json!({ "row": 6, "line": 7, "reason": "several", "addresses": 2 });
        let first = [blank(3), blank(4), several];
        assert_eq!(view["without"], json!({ "blank": 2, "several": 1, "unknown_encoding": 0, "first": first }));
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        assert_eq!((&forecast["credits"]["held"], &forecast["credits"]["high"]), (&json!(2), &json!(2)));
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let id = job["id"].as_str().unwrap();
        let job = browser.get(&format!("/app/v1/jobs/{id}")).await.ok(200);
        assert_eq!(job["results"]["total"], 2);
        let file = browser.get(&format!("/app/v1/batch-verify/{id}/download?columns=original")).await;
        let text = file.text();
        let lines: Vec<&str> = text.lines().collect();
        for (line, begins) in lines.iter().zip([
            "n;email;probity_domain;probity_processed;",
            "1;ann@honest-mail.com;honest-mail.com;true;",
            "2;;;false;;;;;;",
            "n;email;;false;;;;;;",
            "3;user1@honest-mail.com;honest-mail.com;true;",
            "4;a@x.org, b@x.org;;false;;;;;;",
        ]) {
            assert!(line.starts_with(begins), "{begins}: {text}");
        }
        assert_eq!(lines.len(), 6);
    })
    .await;
}

#[tokio::test]
async fn a_column_without_an_address_is_refused_with_the_one_that_has_some() {
    with_ann(config(), PLENTY, async |_, browser| {
        let (_, place) = put_up(browser, "name=list.csv", "name;email\nA;ann@honest-mail.com\nB;\n").await;
        let call = browser.call("PATCH", &place).json(&json!({ "column": 0 }));
        assert_eq!(browser.send(call).await.ok(200)["better_column"], 1);
        let refused = browser.post(&format!("{place}/start"), &json!({})).await;
        let said = refused.error(400, "invalid_request");
        assert_eq!(said, "column: has no address; choose the column \"email\", which has 1");
        assert_eq!(browser.get("/app/v1/jobs").await.ok(200)["data"], json!([]));
        let several = "email,n\na@x.org ::: b@x.org,1\nc@x.org; d@x.org,2\n";
        let (view, place) = put_up(browser, "name=list.csv", several).await;
        assert_eq!(view["better_column"], Value::Null);
        let said = browser.post(&format!("{place}/start"), &json!({})).await.error(400, "invalid_request");
        assert!(said.starts_with("column: has several addresses in each cell"), "{said}");
        let fuller = "email,E-mail 2\na@x.org,b@x.org\n,c@x.org\n";
        let (view, _) = put_up(browser, "name=list.csv", fuller).await;
        assert_eq!((&view["column"], &view["better_column"]), (&json!(0), &json!(1)));
        assert_eq!(view["other_columns"], json!([{ "column": 1, "addresses": 2 }]));
    })
    .await;
}

#[tokio::test]
async fn what_is_pasted_is_a_list_of_source_input() {
    with_ann(config(), PLENTY, async |app, browser| {
        let pasted = "{not json\nann@honest-mail.com\nuser1@honest-mail.com";
        let (view, place) = put_up(browser, "source=input", pasted).await;
        assert_eq!((&view["kind"], &view["rows"], &view["header"]), (&json!("txt"), &json!(3), &json!(false)));
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let job = browser.get(&format!("/app/v1/jobs/{}", job["id"].as_str().unwrap())).await.ok(200);
        assert_eq!((&job["source"], &job["status"]), (&json!("input"), &json!("completed")));
    })
    .await;
}

#[tokio::test]
async fn without_the_credits_nothing_is_started() {
    with_ann(config(), 2, async |_, browser| {
        let list = "ann@honest-mail.com\nuser1@honest-mail.com\nuser2@honest-mail.com\n";
        let (_, place) = put_up(browser, "name=l", list).await;
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        let credits = json!({ "held": 3, "low": 0, "high": 3, "available": 2, "enough": false });
        assert_eq!(forecast["credits"], credits);
        browser.post(&format!("{place}/start"), &json!({})).await.error(402, "insufficient_credits");
        assert_eq!(browser.get(&place).await.ok(200)["job"], Value::Null);
        assert_eq!(browser.get("/app/v1/jobs").await.ok(200)["data"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn credits_that_ran_out_are_put_in_for_a_file_too() {
    let plan = Plan { refill: Some(Refill { credits: 2, times: 3 }), ..Plan::bare("refill") };
    let mut config = config();
    config.api.plans = Plans::new([plan.clone()], "refill", 0).unwrap().into();
    TestApp::each(config, async |app| {
        let org = app.admin.create_org("Example Ltd", plan.clone()).await.unwrap();
        let (_, mut browser) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let list = "ann@honest-mail.com\nuser1@honest-mail.com\nuser2@honest-mail.com\n";
        let (_, place) = put_up(&mut browser, "name=l", list).await;
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        assert_eq!((&forecast["credits"]["available"], &forecast["credits"]["enough"]), (&json!(0), &json!(true)));
        assert_eq!(app.balance(&org).await.granted.prepaid, 0, "a forecast puts nothing in");
        assert_eq!(browser.post(&format!("{place}/start"), &json!({})).await.status, 200);
        assert_eq!(app.balance(&org).await.granted.prepaid, 4, "as many refills as it takes");
        app.settled().await;
        // One refill remains, plus unused credits of the second: too few for a longer list.
        let longer = (0..9).map(|n| format!("user{n}@honest-mail.com")).collect::<Vec<_>>().join("\n");
        let (_, place) = put_up(&mut browser, "name=l", longer).await;
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        assert_eq!(forecast["credits"]["enough"], false);
        browser.post(&format!("{place}/start"), &json!({})).await.error(402, "insufficient_credits");
    })
    .await;
}

#[tokio::test]
async fn a_forecast_says_what_is_known_and_leaves_open_what_is_not() {
    with_ann(config(), PLENTY, async |_, browser| {
        let user = |n| format!("user{n}@gmail.com\nuser{n}@yahoo.fr\nuser{n}@honest-mail.com");
        let users: Vec<String> = (0..30).map(user).collect();
        let list = format!("email\n{}\nuser1@gmail.com\nno address\n", users.join("\n"));
        let (_, place) = put_up(browser, "name=l", list).await;
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        let share = |id: &str| {
            let shares = forecast["providers"].as_array().unwrap();
            shares.iter().find(|share| share["id"] == id).map(|share| share["addresses"].clone())
        };
        assert_eq!((share("google"), share("yahoo"), share("")), (Some(json!(30)), Some(json!(30)), Some(json!(30))));
        // None of these providers hides whether recipients exist, and there is no history of their verdicts.
        let unknown = json!({ "low": 0, "high": null, "never_tells": 0, "held": 0, "history": null });
        assert_eq!(forecast["unknown"], unknown);
        assert_eq!(forecast["credits"]["held"], 92);
        assert_eq!(forecast["credits"]["high"], 91);
        assert_eq!(forecast["counts"]["duplicates"], 1);
        assert!(forecast["time"]["low_s"].as_i64().is_some());
    })
    .await;
}

#[tokio::test]
async fn providers_and_numbers_are_those_of_the_forecast() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "email\nuser1@gmail.com\nUser1@GMAIL.com\nb@yahoo.fr\nAnn <ann@honest-mail.com>\nann@honest-mail.com \n\nno address\nNo Address\n                    user2@honest-mail.com\nann@b\u{fc}cher.com\nann@xn--bcher-kva.com\nemail\n";
        let (_, place) = put_up(browser, "name=l", list).await;
        let forecast = browser.get(&format!("{place}/forecast")).await.ok(200);
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let result = browser.get(&format!("/app/jobs/{}/progress", job["id"].as_str().unwrap())).await.ok(200);
        let number = |value: &Value| value.as_i64().unwrap();
        let distinct = number(&forecast["counts"]["distinct"]);
        assert_eq!(distinct, number(&result["rows"]) - number(&result["repeated"]), "{forecast} {result}");
        assert_eq!(forecast["credits"]["held"], result["rows"]);
        assert_eq!(result["without"], 1);
        let (spent, returned) = (number(&result["credits"]["spent"]), number(&result["credits"]["returned"]));
        assert_eq!(spent + returned, number(&forecast["credits"]["held"]));
        assert_eq!(number(&forecast["credits"]["high"]), distinct);
        assert_eq!(spent, distinct, "{result}");
        let named = |of: &Value| {
            let ids = of["providers"].as_array().unwrap().iter().filter_map(|share| share["id"].as_str());
            let mut ids: Vec<String> = ids.filter(|id| !id.is_empty()).map(str::to_owned).collect();
            ids.sort();
            ids
        };
        assert_eq!(named(&forecast), ["google", "yahoo"]);
        assert_eq!(named(&result), named(&forecast));
    })
    .await;
}

#[tokio::test]
async fn a_row_has_the_other_columns_of_its_file() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "name;email;city\nAnn;ann@honest-mail.com;Cologne\nNobody;;Bonn\nBob;user1@honest-mail.com;\n";
        let (_, place) = put_up(browser, "name=list.csv", list).await;
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let rows = format!("/app/jobs/{}/rows", job["id"].as_str().unwrap());
        let origin = browser.get(&format!("{rows}/1/origin")).await.ok(200);
        let columns = json!([{ "name": "name", "value": "Bob" }, { "name": "city", "value": "" }]);
        assert_eq!(origin, json!({ "columns": columns, "line": 4, "sheet": null }));
        for missing in ["2", "-1", "x"] {
            browser.get(&format!("{rows}/{missing}/origin")).await.error(404, "not_found");
        }
        let row = browser.get(&rows).await.ok(200)["data"][0].clone();
        assert_eq!((&row["decided"]["code"], &row["decided"]["source"]), (&json!(250), &json!("smtp")), "{row}");
        browser.delete(&place, &json!({})).await.ok(200);
        let gone = browser.get(&format!("{rows}/1/origin")).await.ok(200);
        assert_eq!(gone, json!({ "columns": null, "line": null, "sheet": null }));
        let other = app.org("Other Ltd", PLENTY).await;
        let (_, mut eve) = signed_in(app, &other, "eve@example.com", MemberRole::Administrator).await;
        eve.get(&format!("{rows}/1/origin")).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn what_was_started_takes_no_place_of_what_comes_next() {
    let mut few = config();
    few.api.uploads.at_once = 2;
    with_ann(few, PLENTY, async |_, browser| {
        let mut jobs = Vec::new();
        for _ in 0..3 {
            let (view, place) = put_up(browser, "name=l", "a@x.org\n").await;
            let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
            jobs.push((view["id"].clone(), job["id"].clone()));
        }
        let waiting = put(browser, "name=l", "a@x.org\n").await.ok(201);
        let ids = |all: &Value| all["data"].as_array().unwrap().iter().map(|of| of["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&browser.get("/app/uploads").await.ok(200)), [waiting["id"].clone()]);
        // A job's file is found by the job's ID, however many files there are.
        for (upload, job) in jobs {
            let of_job = format!("/app/uploads?job={}", job.as_str().unwrap());
            assert_eq!(ids(&browser.get(&of_job).await.ok(200)), [upload]);
        }
        assert!(ids(&browser.get("/app/uploads?job=job_00000000000000000000000000").await.ok(200)).is_empty());
        browser.get("/app/uploads?job=7").await.error(400, "invalid_request");
        put(browser, "name=l", "a@x.org\n").await.ok(201);
        put(browser, "name=l", "a@x.org\n").await.error(409, "conflict");
    })
    .await;
}
