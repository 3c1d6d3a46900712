//! Lists on the command line, beside a service: from a file to its results.

use probity_trialdb::postgres;
use serde_json::{Value, json};

use crate::program::Ran;
use crate::serve::bench::node::{Installation, wait_for};

/// Three customers, one of them twice, with more columns than addresses.
const CUSTOMERS: &str = "\
name,E-mail,note
Ann,valid@sandbox.test,=1+1
Bob,nobody@sandbox.test,
Cy,info@sandbox.test,x
Ann,VALID@sandbox.test,again
";

fn objects(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Creates an installation with a file of customers.
fn with_customers(credits: u32) -> (Installation, String) {
    with_customers_on(Installation::on_sqlite(), credits)
}

fn with_customers_on(installation: Installation, credits: u32) -> (Installation, String) {
    let installation = installation.counted(credits);
    let file = installation.place.path("customers.csv");
    std::fs::write(&file, CUSTOMERS).unwrap();
    (installation, file.to_str().unwrap().to_owned())
}

fn prepaid(installation: &Installation) -> Value {
    installation.ask(&["credits", "show", "--json"])["prepaid"].clone()
}

#[test]
#[ignore = "thorough"]
fn a_list_is_forecast_verified_searched_and_downloaded() {
    forecast_to_download(Installation::on_sqlite());
}

#[test]
#[ignore = "thorough"]
fn a_list_is_forecast_verified_searched_and_downloaded_on_postgresql() {
    let Some(cluster) = postgres() else { return };
    forecast_to_download(Installation::on(cluster.create_database()));
}

fn forecast_to_download(installation: Installation) {
    let (installation, file) = with_customers_on(installation, 100);
    let node = installation.start();
    let before = prepaid(&installation);
    let forecast = installation.ask(&["lists", "add", &file, "--forecast", "--json"]);
    assert_eq!((&forecast["credits"]["held"], &forecast["credits"]["enough"]), (&json!(4), &json!(true)), "{forecast}");
    assert_eq!((&forecast["counts"]["distinct"], &forecast["counts"]["duplicates"]), (&json!(3), &json!(1)));
    assert_eq!(prepaid(&installation), before, "a forecast costs nothing");
    let nothing = installation.run(&["lists", "list", "--json"]);
    assert_eq!((objects(&nothing), nothing.err.as_str()), (Vec::new(), "no lists found\n"), "nor is it a list");

    let added = installation.ask(&["lists", "add", &file, "--json"]);
    let job = added["id"].as_str().unwrap().to_owned();
    assert_eq!((&added["rows"], &added["source"]), (&json!(4), &json!("csv")), "{added}");
    let done = wait_for("the list", || {
        Some(installation.ask(&["lists", "show", &job, "--json"])).filter(|shown| shown["over"] == true)
    });
    assert_eq!((&done["status"], &done["credits"]["spent"]), (&json!("completed"), &json!(3)), "{done}");
    node.stop();

    let listed = installation.run(&["lists", "list", "--status", "completed", "--json"]);
    assert_eq!(listed.err, "");
    let listed = objects(&listed);
    assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(job)));
    let passed = objects(&installation.run(&["lists", "rows", &job, "--reason", "valid", "--json"]));
    assert_eq!(passed.iter().map(|row| &row["index"]).collect::<Vec<_>>(), [&json!(0), &json!(3)]);
    let found = objects(&installation.run(&["lists", "find", "Valid@sandbox.test", "--json"]));
    assert_eq!(
        found.iter().map(|row| (&row["job"], &row["index"])).collect::<Vec<_>>(),
        [(&json!(job), &json!(0)), (&json!(job), &json!(3)),]
    );
    downloads(&installation, &job);
    let cancelled = installation.run(&["lists", "cancel", &job]);
    assert_eq!(
        (cancelled.code, cancelled.err.contains("already completed or stopped")),
        (Some(2), true),
        "{}",
        cancelled.err
    );

    let event = &objects(&installation.run(&["timeline", "--json"]))[0];
    assert_eq!((&event["trigger"], &event["source_action"]), (&json!("staff"), &json!("cli.upload")), "{event}");
    assert_eq!(event["actor"], json!({ "type": "staff" }));
    let usage = installation.ask(&["usage", "report", "--period", "lifetime", "--json"]);
    assert_eq!((&usage["total"], &usage["statuses"]["passed"]), (&json!(3), &json!(1)), "{usage}");
    let divided = installation.ask(&["usage", "breakdown", "--json"]);
    assert_eq!((&divided["total"], &divided["parts"][0]["verified"]), (&json!(3), &json!(3)), "{divided}");
}

#[test]
#[ignore = "thorough"]
fn what_test_keys_made_is_shown_where_it_is_asked_for() {
    let (installation, _) = with_customers(10);
    let node = installation.start();
    let mut client = node.client(&node.key("Test key"));
    let accepted = client.post("/v1/batch-verify", "list", r#"{"emails":["valid@sandbox.test","nobody"]}"#).unwrap();
    let job = accepted.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(installation.run(&["lists", "list", "--json"]).err, "no lists found\n");
    let listed = objects(&installation.run(&["lists", "list", "--test", "--json"]));
    assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(job)));
    let shown = installation.run(&["lists", "show", &job]);
    assert_eq!((shown.code, shown.err.contains("--test")), (Some(2), true), "{}", shown.err);
    let done = wait_for("the list", || {
        Some(installation.ask(&["lists", "show", &job, "--test", "--json"])).filter(|shown| shown["over"] == true)
    });
    assert_eq!((&done["processed"], &done["credits"]), (&json!(2), &Value::Null), "it costs nothing: {done}");
    node.stop();
    let rows = objects(&installation.run(&["lists", "rows", &job, "--test", "--json"]));
    assert_eq!((rows.len(), &rows[0]["status"]), (2, &json!("passed")), "{rows:?}");
    let original = installation.run(&["lists", "download", &job, "--test", "--original"]);
    let why = "--original: the job has no uploaded file";
    assert_eq!((original.code, original.err.contains(why)), (Some(2), true), "{}", original.err);
    let printed = installation.run(&["lists", "download", &job, "--test", "--format", "json"]);
    assert_eq!(objects(&printed).len(), 2);
}

/// Checks that the download keeps the file's own columns, in a new file or on standard output.
fn downloads(installation: &Installation, job: &str) {
    let out = installation.place.path("verified.csv");
    let place = out.to_str().unwrap();
    let written = installation.ask(&["lists", "download", job, "--original", "--out", place, "--json"]);
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!((&written["bytes"], &written["file"]), (&json!(text.len()), &json!(place)));
    assert!(text.lines().next().unwrap().contains("name,E-mail,note"), "{text}");
    assert!(
        text.lines().any(|line| line.contains("Bob,nobody@sandbox.test") && line.contains("undeliverable")),
        "{text}"
    );
    assert!(!out.with_file_name("verified.csv.part").exists());
    let printed = installation.run(&["lists", "download", job, "--format", "json", "--status", "undeliverable"]);
    let rows = objects(&printed);
    assert_eq!((rows.len(), &rows[0]["email"]), (1, &json!("nobody@sandbox.test")));
    let refused = installation.run(&["lists", "download", "job_01h455vb4pex5vsknk084sn02q", "--out", place]);
    assert_eq!((refused.code, refused.err.contains("lists list")), (Some(2), true), "{}", refused.err);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text, "what is there stays");
}

#[test]
#[ignore = "thorough"]
fn without_a_service_a_list_waits_and_can_be_cancelled() {
    let (installation, file) = with_customers(4);
    installation.start().stop();
    let before = prepaid(&installation);
    let unknown = installation.run(&["lists", "add", &file, "--column", "mail address"]);
    assert_eq!((unknown.code, unknown.err.contains("name, E-mail, note")), (Some(2), true), "{}", unknown.err);
    let added = installation.ask(&["lists", "add", &file, "--column", "2", "--json"]);
    assert_eq!((&added["status"], &added["credits"]["set_aside"]), (&json!("queued"), &json!(4)), "{added}");
    let short = installation.run(&["lists", "add", &file]);
    assert_eq!((short.code, short.err.contains("credits")), (Some(2), true), "{}", short.err);
    let job = added["id"].as_str().unwrap();
    let cancelled = installation.ask(&["lists", "cancel", job, "--json"]);
    assert_eq!((&cancelled["status"], &cancelled["credits"]["returned"]), (&json!("cancelled"), &json!(4)));
    assert_eq!(prepaid(&installation), before);

    let org = installation.ask(&["orgs", "list", "--json"])["id"].as_str().unwrap().to_owned();
    installation.ask(&["orgs", "suspend", &org, "--json"]);
    let stopped = installation.run(&["lists", "add", &file]);
    assert_eq!((stopped.code, stopped.err.contains("suspended")), (Some(2), true), "{}", stopped.err);
    assert_eq!(objects(&installation.run(&["lists", "list", "--json"])).len(), 1, "what there is can be looked at");
}

#[test]
#[ignore = "thorough"]
fn a_list_may_come_on_standard_input() {
    use std::io::Write as _;
    let installation = Installation::on_sqlite();
    installation.start().stop();
    let mut command = installation.command(&["lists", "add", "-", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"valid@sandbox.test\nnobody@sandbox.test\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let added: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&added["rows"], &added["source"]), (&json!(2), &json!("input")), "{added}");
}

#[test]
#[ignore = "thorough"]
fn with_the_same_reference_a_list_is_added_once() {
    let (installation, file) = with_customers(10);
    installation.start().stop();
    let add = |more: &[&str]| installation.run(&[&["lists", "add", &file, "--json"], more].concat());
    let first = objects(&add(&["--reference", "export-7"]));
    let again = objects(&add(&["--reference", "export-7"]));
    assert_eq!((&again[0]["id"], &prepaid(&installation)["held"]), (&first[0]["id"], &json!(4)));
    let other = objects(&add(&["--reference", "export-8"]));
    assert!(other[0]["id"] != first[0]["id"], "{other:?}");
    let column = add(&["--reference", "export-7", "--column", "name"]);
    assert_eq!((column.code, column.err.contains("another list")), (Some(2), true), "{}", column.err);
    std::fs::write(&file, CUSTOMERS.replace("Bob", "Bill")).unwrap();
    let changed = add(&["--reference", "export-7"]);
    assert_eq!((changed.code, changed.err.contains("another list")), (Some(2), true), "{}", changed.err);
    assert_eq!(objects(&installation.run(&["lists", "list", "--json"])).len(), 2);
}

#[test]
#[ignore = "thorough"]
fn a_file_that_is_no_list_is_refused_with_its_name_or_flag() {
    let (installation, file) = with_customers(10);
    installation.start().stop();
    let refused = |args: &[&str], why: &str| {
        let ran = installation.run(&[&["lists"], args].concat());
        assert_eq!((ran.code, ran.err.contains(why)), (Some(2), true), "{args:?}: {}", ran.err);
    };
    let directory = installation.place.path("");
    let directory = directory.to_str().unwrap();
    refused(&["add", directory], &format!("{directory} is a directory"));
    refused(&["add", "/does/not/exist.csv"], "/does/not/exist.csv");
    for more in [&[][..], &["--forecast"]] {
        refused(&[&["add", &file, "--sheet", "May"], more].concat(), "--sheet: is only for workbooks");
        refused(&[&["add", &file, "--column", "mail"], more].concat(), "--column: must be one of: name, E-mail, note");
    }
    refused(&["find", ""], "ADDRESS: must be an address, a part of one, or a domain");
    assert_eq!(objects(&installation.run(&["lists", "list", "--json"])), Vec::<Value>::new());
}
