//! An installation that moves from SQLite to PostgreSQL without a visible change for its customers.

use std::collections::BTreeMap;

use probity_trialdb::postgres;
use serde_json::Value;

use crate::serve::bench::account::{Account, audit};
use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, Node, wait_for};

const GRANTED: u32 = 1_000;
/// Number of addresses with an immediate verdict.
const QUICK: u64 = 60;
/// Address that takes longer than the service runs.
const SLOW: &str = "valid+delay-15s@sandbox.test";

fn list() -> String {
    let quick = (0..QUICK).map(|n| format!("user{n}@catchall.sandbox.test"));
    serde_json::json!({ "emails": quick.chain([SLOW.to_owned()]).collect::<Vec<_>>() }).to_string()
}

fn get(client: &mut Client, path: &str) -> Value {
    let answer = client.get(path).unwrap();
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

/// Customer's data from before the move.
struct Before {
    key: String,
    submitted: String,
    job: String,
    cursor: String,
    first_page: Value,
    secret: Value,
    account: Account,
}

/// Submits two lists; the service stops in the middle of the second.
fn begin(installation: &Installation, node: Node) -> Before {
    let key = node.key("Live key");
    let mut client = node.client(&key);
    let short = client.post("/v1/batch-verify", "short", r#"{"emails":["valid@sandbox.test"]}"#).unwrap();
    assert_eq!(short.status, 200, "{short:?}");
    let submitted = client.post("/v1/batch-verify", "long", &list()).unwrap();
    let job = submitted.json()["id"].as_str().unwrap().to_owned();
    wait_for("a job that is half done", || {
        let told = get(&mut client, &format!("/v1/batch-verify/{job}/status"));
        (told["emailsProcessed"] == QUICK).then_some(())
    });
    let first_page = get(&mut client, "/v1/jobs?per_page=1");
    let cursor = first_page["pagination"]["next_cursor"].as_str().unwrap().to_owned();
    let secret = get(&mut client, "/v1/webhooks/callback-secret");
    let ran = installation.run(&["move", "--to", "postgres://probity:s3cret@127.0.0.1:1/x"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.err.contains("is in use"), "{ran:?}");
    node.stop();
    Before { key, submitted: submitted.body, job, cursor, first_page, secret, account: Account::of(installation) }
}

/// Checks that no part of the job was lost, and that the customer's key, cursor and secret still work.
fn go_on(installation: &Installation, before: &Before) {
    assert_eq!(Account::of(installation), before.account);
    let node = installation.start();
    let mut client = node.client(&before.key);
    let again = client.post("/v1/batch-verify", "long", &list()).unwrap();
    assert!(again.head.to_ascii_lowercase().contains("idempotent-replayed: true"), "{again:?}");
    assert_eq!(again.body, before.submitted);
    let second = get(&mut client, &format!("/v1/jobs?per_page=1&next={}", before.cursor));
    assert_eq!(second["data"].as_array().unwrap().len(), 1);
    assert_ne!(second["data"][0]["id"], before.first_page["data"][0]["id"]);
    assert_eq!(get(&mut client, "/v1/webhooks/callback-secret"), before.secret);
    let path = format!("/v1/batch-verify/{}", before.job);
    let status = format!("{path}/status");
    wait_for("the end of the job", || (get(&mut client, &status)["status"] == "completed").then_some(()));
    let results = get(&mut client, &format!("{path}/results"));
    let done = results["data"].as_array().unwrap().iter().filter(|row| row["processed"] == true).count();
    assert_eq!(u64::try_from(done), Ok(QUICK + 1), "{results}");
    node.stop();
    let account = Account::of(installation);
    assert_eq!((account.total(), account.held), (u64::from(GRANTED), 0), "{account:?}");
    audit(installation);
}

#[test]
#[ignore = "thorough"]
fn a_moved_installation_goes_on_where_it_was() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let installation = Installation::on_sqlite().counted(GRANTED);
    let before = begin(&installation, installation.start());

    let ran = installation.run(&["move", "--to", database.url()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows: BTreeMap<String, u64> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["table"].as_str().unwrap().to_owned(), line["rows"].as_u64().unwrap()))
        .collect();
    assert_eq!((rows["org"], rows["job"], rows["api_key"]), (1, 2, 2), "{rows:?}");
    assert!(ran.err.contains("pepper"), "{ran:?}");
    let again = installation.run(&["move", "--to", database.url()]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("Already moved there at"), "{again:?}");

    for command in [&["serve", "--sandbox", "--listen", "127.0.0.1:0"][..], &["keys", "list"]] {
        let refused = installation.run(command);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(refused.err.contains("was moved to PostgreSQL at"), "{refused:?}");
    }
    go_on(&installation.moved_to(database), &before);
}

#[test]
#[ignore = "thorough"]
fn a_move_tells_what_is_wrong_and_never_the_password() {
    let installation = Installation::on_sqlite();
    let missing = installation.run(&["move", "--to", "postgres://probity:s3cret@127.0.0.1:1/x"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(!installation.place.has("data/probity.db") && !installation.place.has("data/pepper"));
    installation.start().stop();
    let cases = [
        (&["move"][..], 2, "no target"),
        (&["move", "--to", "mysql://probity:s3cret@127.0.0.1/x"], 2, "must look like"),
        (&["move", "--to", "postgres://probity:s3cret@127.0.0.1:1/x"], 5, "cannot open the PostgreSQL database"),
        (&["move", "--undo"], 0, "never moved"),
    ];
    for (command, code, told) in cases {
        let ran = installation.run(command);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(told), "{ran:?}");
        assert!(!ran.err.contains("s3cret") && ran.out.is_empty(), "{ran:?}");
    }
    // The source is unchanged.
    installation.start().stop();
}
