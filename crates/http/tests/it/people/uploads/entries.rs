//! Tests of lists whose addresses follow names, in every format of a list.

use serde_json::{Value, json};

use super::{put_up, with_ann};
use crate::people::browser::Browser;
use crate::people::config;
use crate::test_app::{PLENTY, TestApp};

/// Entries of a list, with the domain and status of each. The first two name one mailbox. The fifth names two: in a file, its row
/// is left out and reported.
const ENTRIES: [(&str, &str, &str); 6] = [
    ("Ann Lee <ann@honest-mail.com>", "honest-mail.com", "passed"),
    ("\"Lee, \u{202e}Ann\" <ANN@Honest-Mail.com>", "honest-mail.com", "passed"),
    ("bob@example.org <user1@honest-mail.com>;", "honest-mail.com", "passed"),
    ("<nobody@null-mx.com>", "null-mx.com", "undeliverable"),
    ("ann@honest-mail.com, Bob <user1@honest-mail.com>", "", "undeliverable"),
    ("<<<>>>", "", "undeliverable"),
];

fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

/// Returns the entries in each file format: name and content.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let entries = || ENTRIES.iter().map(|(entry, ..)| *entry);
    let mut book = rust_xlsxwriter::Workbook::new();
    let sheet = book.add_worksheet();
    sheet.write_column(0, 1, std::iter::once("Kontakt").chain(entries())).unwrap();
    sheet.write_column(0, 0, ["id"; 7]).unwrap();
    let csv: Vec<String> = entries().map(|entry| format!("1;{}\r\n", quoted(entry))).collect();
    let json: String = entries().map(|entry| json!({ "email": entry }).to_string() + "\n").collect();
    vec![
        ("name=a.csv", format!("id;Kontakt\r\n{}", csv.concat()).into()),
        ("name=a.txt", entries().collect::<Vec<_>>().join("\n").into()),
        ("name=a.xlsx", book.save_to_buffer().unwrap()),
        ("name=a.jsonl", json.into()),
    ]
}

/// Returns the entries in each body format of the API: media type and content.
fn bodies() -> Vec<(&'static str, String)> {
    let entries: Vec<&str> = ENTRIES.iter().map(|(entry, ..)| *entry).collect();
    let lines = |shown: &dyn Fn(&str) -> String| entries.iter().map(|entry| shown(entry) + "\n").collect();
    vec![
        ("application/json", json!({ "emails": entries }).to_string()),
        ("text/csv", lines(&quoted)),
        ("application/x-ndjson", lines(&|entry| json!(entry).to_string())),
    ]
}

/// Checks the rows of a job: each entry as submitted, with the verdict of its address.
async fn check(app: &TestApp, browser: &mut Browser<'_>, job: &Value, form: &str, entries: &[(&str, &str, &str)]) {
    app.settled().await;
    let id = job["id"].as_str().unwrap();
    let rows = browser.get(&format!("/app/v1/batch-verify/{id}/results")).await.ok(200);
    let shown: Vec<[&str; 3]> = rows["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["email", "domain", "status"].map(|field| row[field].as_str().unwrap()))
        .collect();
    let expected: Vec<[&str; 3]> = entries.iter().map(|(entry, domain, status)| [*entry, *domain, *status]).collect();
    assert_eq!(shown, expected, "{form}");
    let found = browser.get("/app/lookup?q=ann@honest-mail.com").await.ok(200);
    let found = found["data"].as_array().unwrap().iter().filter(|place| place["job"] == id).count();
    let with_ann = entries.iter().filter(|(entry, ..)| entry.to_lowercase().contains("ann@honest-mail.com"));
    assert_eq!(found, with_ann.count(), "{form}");
}

#[tokio::test]
async fn addresses_are_read_behind_names() {
    let of_one_address = [&ENTRIES[..4], &ENTRIES[5..]].concat();
    with_ann(config(), PLENTY, async |app, browser| {
        for (query, bytes) in files() {
            let (view, place) = put_up(browser, query, bytes).await;
            assert_eq!(
                view["counts"],
                json!({ "addresses": 5, "distinct": 4, "duplicates": 1, "empty": 1, "invalid": 1 }),
                "{query}"
            );
            let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
            check(app, browser, &job, query, &of_one_address).await;
        }
        for (media_type, body) in bodies() {
            let call = browser.call("POST", "/app/v1/batch-verify").bytes(body).header("content-type", media_type);
            let job = browser.send(call).await.ok(200);
            let is_file = media_type == "text/csv";
            check(app, browser, &job, media_type, if is_file { &of_one_address } else { &ENTRIES }).await;
        }
    })
    .await;
}

/// Pasted text may be the recipients of a message: each becomes a row.
#[tokio::test]
async fn pasted_recipients_are_rows_of_their_own() {
    with_ann(config(), PLENTY, async |app, browser| {
        let pasted = ENTRIES.map(|(entry, ..)| entry).join("\n");
        let (view, place) = put_up(browser, "source=input", pasted).await;
        let counts = json!({ "addresses": 7, "distinct": 4, "duplicates": 3, "empty": 0, "invalid": 1 });
        assert_eq!((&view["counts"], &view["rows"]), (&counts, &json!(7)));
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let id = job["id"].as_str().unwrap();
        let rows = browser.get(&format!("/app/v1/batch-verify/{id}/results")).await.ok(200);
        let shown = |row: usize| ["email", "status"].map(|field| rows["data"][row][field].as_str().unwrap());
        assert_eq!(shown(0), ["Ann Lee <ann@honest-mail.com>", "passed"]);
        assert_eq!(shown(4), ["ann@honest-mail.com", "passed"]);
        assert_eq!(shown(5), ["Bob <user1@honest-mail.com>", "passed"]);
        assert_eq!(shown(6), ["<<<>>>", "undeliverable"]);
    })
    .await;
}

/// A cell may have up to 64 KiB, a row of a job 1 KiB: only the address of a longer cell is kept.
#[tokio::test]
async fn long_names_leave_their_address() {
    with_ann(config(), PLENTY, async |app, browser| {
        let long = format!("{} <ann@honest-mail.com>", "ü".repeat(2_000));
        let list = format!("n,email\n1,{}\n2,{}\n", quoted(&long), "<".repeat(5_000));
        let (view, place) = put_up(browser, "name=a.csv", list).await;
        assert_eq!((&view["counts"]["addresses"], &view["counts"]["invalid"]), (&json!(2), &json!(1)));
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        app.settled().await;
        let id = job["id"].as_str().unwrap();
        let rows = browser.get(&format!("/app/v1/batch-verify/{id}/results")).await.ok(200);
        assert_eq!(rows["data"][0]["email"], "ann@honest-mail.com");
        assert_eq!(rows["data"][1]["status"], "undeliverable");
        let file = browser.get(&format!("/app/v1/batch-verify/{id}/download?columns=original")).await;
        assert!(file.text().contains(&format!("\n1,{long},honest-mail.com,true,true,passed,")), "as it was given");
    })
    .await;
}
