//! Credits of an organization, granted through the operator's API and at the command line.

use serde_json::{Value, json};

use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, Node};

const KEY: &str = "an operator's key of more than 32 characters";
const PAST: &str = "2001-01-01T00:00:00Z";

/// Grants subscription credits over the operator's API. Returns whether they were booked, or why not.
fn over_http(node: &Node, org: &str, (amount, until, reference): (i64, Option<&str>, &str)) -> Result<bool, String> {
    let body = json!({ "bucket": "subscription", "amount": amount, "until": until, "reference": reference });
    let path = format!("/admin/v1/organizations/{org}/credits/grants");
    let body = body.to_string();
    let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    let answer = Client::new(node.address, KEY).exchange("POST", &path, &fields, &body).unwrap().json();
    let refused = || answer["error"]["message"].as_str().unwrap().to_owned();
    answer["booked"].as_bool().ok_or_else(refused)
}

/// Grants the same at the command line. A flag in the message is named as the API's field.
fn at_command_line(
    installation: &Installation,
    (amount, until, reference): (i64, Option<&str>, &str),
) -> Result<bool, String> {
    let amount = amount.to_string();
    let mut line =
        vec!["credits", "grant", "--bucket", "subscription", "--amount", &amount, "--reference", reference, "--json"];
    line.extend(until.iter().flat_map(|until| ["--until", until]));
    let ran = installation.run(&line);
    if ran.code == Some(0) {
        return Ok(serde_json::from_str::<Value>(&ran.out).unwrap()["booked"].as_bool().unwrap());
    }
    let said = ran.err.lines().find_map(|line| line.strip_prefix("probity: "));
    Err(said.unwrap_or_else(|| panic!("{}", ran.err)).trim_start_matches("--").to_owned())
}

#[test]
#[ignore = "thorough"]
fn a_grant_has_the_same_answer_from_both_faces() {
    let installation = Installation::on_sqlite().counted(5).set(&[&format!("admin.key={KEY}")]);
    let node = installation.start();
    let org = installation.ask(&["orgs", "list", "--json"])["id"].as_str().unwrap().to_owned();
    assert_eq!(over_http(&node, &org, (5, None, "first")), Ok(true));
    assert_eq!(at_command_line(&installation, (5, None, "second")), Ok(true));
    for (grant, expected) in [
        ((5, None, "first"), Ok(false)),
        ((5, None, "second"), Ok(false)),
        // A repetition is found before its time is checked.
        ((5, Some(PAST), "first"), Err("the reference is already used")),
        ((5, Some(PAST), "third"), Err("until: must be in the future")),
        ((0, None, "first"), Err("amount: must be from 1 to 1000000000000")),
        ((-5, None, "third"), Err("amount: must be from 1 to 1000000000000")),
        ((5, None, "ä"), Err("reference: must have 1 to 100 printable ASCII characters")),
    ] {
        let answers = [over_http(&node, &org, grant), at_command_line(&installation, grant)];
        let [http, line] = answers.each_ref().map(|answer| answer.as_ref().map_err(String::as_str));
        assert_eq!(http, line, "{grant:?}");
        match (http, expected) {
            (Err(said), Err(expected)) => assert!(said.starts_with(expected), "{grant:?}: {said}"),
            _ => assert_eq!(http.copied(), expected, "{grant:?}"),
        }
    }
    node.stop();
}
