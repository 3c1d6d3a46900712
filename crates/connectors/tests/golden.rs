//! Every platform against the requests that it is expected to get, and answers as its documentation shows them.
//!
//! A case of `golden/<slug>.json` says what to do and what the platform answers; its requests and results are compared with what
//! the connector does. `UPDATE_GOLDEN=1` writes them again, to be reviewed as a diff.

mod cases;
#[path = "../embedding.rs"]
mod embedding;
mod vendors;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use cases::{Golden, Ran};
use probity_connectors::{ActionKind, Catalog, ConnectorFile, Response, TestOutcome, Testing};
use serde_json::Value;

/// A platform that is not built in, made up for the example of docs/connectors.md.
const ADDED: &str = "acme";

/// Returns the built-in platforms and the added one.
fn catalog() -> &'static Catalog {
    static ALL: OnceLock<Catalog> = OnceLock::new();
    ALL.get_or_init(|| Catalog::embedded().with_texts([("acme.toml", added())]).expect("a valid example"))
}

/// Returns the file of the added platform.
fn added() -> &'static str {
    let page = include_str!("../../../docs/connectors.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("the end of the example").0
}

fn path(slug: &str) -> PathBuf {
    let folder = if slug == ADDED { "data" } else { "golden" };
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{folder}/{slug}.json"))
}

fn golden(slug: &str) -> Value {
    let text = std::fs::read_to_string(path(slug)).unwrap_or_else(|_| panic!("{slug} has no tests/golden/{slug}.json"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("tests/golden/{slug}.json: {error}"))
}

#[test]
fn every_platform_does_what_its_golden_file_says() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for file in catalog().iter() {
        let slug = &file.provider.slug;
        let before = golden(slug);
        let mut after = before.clone();
        let golden = Golden::of(file, &before);
        for (number, case) in before["cases"].as_array().expect("cases").iter().enumerate() {
            let Ran { requests, result, .. } = golden.run(case);
            for (exchange, request) in requests.into_iter().enumerate() {
                after["cases"][number]["exchanges"][exchange]["request"] = request;
            }
            after["cases"][number]["result"] = result;
        }
        if update {
            // The other tests read these files at the same time.
            let part = path(slug).with_extension("part");
            std::fs::write(&part, serde_json::to_string_pretty(&after).unwrap() + "\n").unwrap();
            std::fs::rename(part, path(slug)).unwrap();
            continue;
        }
        for (is, should) in after["cases"].as_array().unwrap().iter().zip(before["cases"].as_array().unwrap()) {
            let name = should["name"].as_str().unwrap_or("?");
            assert_eq!(is, should, "{slug}: {name}");
        }
    }
}

#[test]
fn a_platform_is_added_by_its_file_and_its_golden_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in Catalog::texts() {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("acme.toml"), added()).unwrap();
    std::fs::write(folder.path().join("acme.toml~"), "left by an editor").unwrap();
    let table = embedding::table(folder.path()).unwrap();
    assert_eq!(table.matches("include_str!").count(), Catalog::texts().len() + 1);
    assert!(table.contains("acme.toml"));
    // The other tests hold for it as they do for the others.
    assert_eq!(catalog().iter().count(), Catalog::texts().len() + 1);
    let lines = [added().lines().count(), std::fs::read_to_string(path(ADDED)).unwrap().lines().count()];
    assert!(lines[0] <= 90 && lines[1] <= 600, "{lines:?} lines are too many to write in half an hour");
}

#[test]
fn every_golden_file_covers_what_its_platform_can_do() {
    for file in catalog().iter() {
        let missing = missing(file, &golden(&file.provider.slug));
        assert!(missing.is_empty(), "{}: no case for {missing:?}", file.provider.slug);
    }
}

/// Returns what no case shows.
fn missing(file: &ConnectorFile, golden: &Value) -> Vec<String> {
    let shown: BTreeSet<String> = golden["cases"].as_array().expect("cases").iter().flat_map(shown).collect();
    let can = file.capabilities();
    let always = ["test", "wrong credential", "fault throttled", "wait", "fault transient", "fault unreadable"];
    let mut wanted: Vec<String> = always.map(Into::into).into();
    let kinds = [
        ("lists", can.lists),
        ("pages", can.contacts),
        ("since created", can.since_created),
        ("since updated", can.since_updated),
        ("hook", can.hook),
        ("token", file.token.is_some()),
        ("refused token", file.token.is_some()),
        ("changed", ActionKind::ALL.into_iter().any(|kind| file.looks_before(kind))),
    ];
    wanted.extend(kinds.iter().filter(|(_, can)| *can).map(|(name, _)| (*name).to_owned()));
    wanted.extend(can.actions.iter().map(|(kind, _)| kind.name().to_owned()));
    wanted.retain(|name| !shown.contains(name));
    wanted
}

/// Returns what a case shows.
fn shown(case: &Value) -> Vec<String> {
    let mut shown = Vec::new();
    let mut show = |is: bool, name: &str| shown.extend(is.then(|| name.to_owned()));
    let exchanges = case["exchanges"].as_array().expect("exchanges");
    let status = exchanges.first().and_then(|exchange| exchange["answer"]["status"].as_u64());
    show(case["test"].is_object(), "test");
    let is_refused = case["result"]["fault"]["class"] == "credential";
    show(case["token"].is_object() && !is_refused, "token");
    show(case["token"].is_object() && is_refused, "refused token");
    show(case["read"] == "lists", "lists");
    show(case["read"].is_object() && exchanges.len() > 1, "pages");
    show(case["register"].is_object(), "hook");
    show(case["result"]["outcomes"].as_array().is_some_and(|all| all.contains(&"changed".into())), "changed");
    // Moosend says everything in the body, and Sendy in plain text.
    let is_said = exchanges.first().is_some_and(|exchange| {
        let text = exchange["answer"]["text"].as_str();
        exchange["answer"]["json"]["Code"].is_u64() || text.is_some_and(|text| !text.starts_with('<'))
    });
    show(case["result"]["wrong"].is_array() && (matches!(status, Some(401 | 403)) || is_said), "wrong credential");
    show(case["result"]["fault"]["wait_ms"].as_i64().is_some_and(|wait| wait > 0), "wait");
    let named = [
        ("since ", &case["read"]["since"]["kind"]),
        ("", &case["act"]["kind"]),
        ("fault ", &case["result"]["fault"]["class"]),
    ];
    for (before, name) in named {
        show(name.is_string(), &format!("{before}{}", name.as_str().unwrap_or_default()));
    }
    shown
}

#[test]
fn no_result_shows_a_credential() {
    for file in catalog().iter() {
        let value = golden(&file.provider.slug);
        let golden = Golden::of(file, &value);
        for case in value["cases"].as_array().expect("cases") {
            let Ran { result, debug, .. } = golden.run(case);
            let shown = format!("{result} {debug}");
            for field in &file.credentials {
                let secret = value["credentials"][&field.name].as_str().unwrap_or_default();
                let is_secret = field.kind == probity_connectors::CredentialKind::Secret;
                assert!(!is_secret || !shown.contains(secret), "{}: {}", file.provider.slug, case["name"]);
            }
        }
    }
}

/// Forms in which a host may quote what it was sent.
const QUOTED: [fn(&str) -> String; 3] = [str::to_owned, |text| escaped(text, "%", 2), |text| escaped(text, "\\u", 4)];

/// Escapes everything but letters and digits.
fn escaped(text: &str, mark: &str, digits: usize) -> String {
    let one = |c: char| if c.is_ascii_alphanumeric() { c.into() } else { format!("{mark}{:0digits$x}", u32::from(c)) };
    text.chars().map(one).collect()
}

#[test]
fn a_host_that_quotes_its_headers_tells_no_credential() {
    for file in catalog().iter() {
        let slug = &file.provider.slug;
        let golden = Golden::of(file, &golden(slug));
        let testing = Testing::new(file, &golden.credentials);
        for (name, value) in testing.request(golden.now).expect("a request").headers {
            let token = value.split_once(' ').map_or(value.as_str(), |(_, token)| token);
            for quote in QUOTED {
                let body = serde_json::json!({ "message": format!("what is <{}>", quote(&value)) });
                let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
                let body = body.to_string().into_bytes();
                let response = Response { status: 401, headers, body, is_cut: false, at: golden.now };
                let message = match testing.answer(&response) {
                    TestOutcome::Wrong { message, .. } => message,
                    TestOutcome::Failed(fault) => fault.message,
                    TestOutcome::Valid { .. } => panic!("{slug}: 401 is no success"),
                };
                let is_secret =
                    !["Accept", "Accept-Version", "Content-Type", "User-Agent", "X-Version", "revision", "Api-Appid"]
                        .contains(&name.as_str());
                assert_eq!(is_secret, message.contains("(redacted)>"), "{slug}: {name}: {message}");
                assert!(!is_secret || !message.contains(&quote(token)), "{slug}: {name}: {message}");
            }
        }
    }
}
