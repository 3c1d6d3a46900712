//! Tests of recognizing lists in files, and of files that are not lists.

use futures_util::future::join_all;
use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::{put, put_up, swollen, with_ann};
use crate::people::browser::Browser;
use crate::people::{config, signed_in};
use crate::test_app::{PLENTY, TestApp};

fn wide(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// File, name, and expected view: kind, encoding, column, header, rows, columns.
type Case = (Vec<u8>, &'static str, Value);

fn files() -> Vec<Case> {
    let shown = |kind: &str, encoding: &str, column: i64, header: bool, rows: i64, columns: &[&str]| json!({ "kind": kind, "encoding": encoding, "column": column, "header": header, "rows": rows, "columns": columns });
    vec![
        (
            "Kunde;E-Mail-Adresse\r\n\"A; B\";ann@honest-mail.com\r\nC;user1@honest-mail.com\r\n".into(),
            "kunden.csv",
            shown("csv", "utf-8", 1, true, 2, &["Kunde", "E-Mail-Adresse"]),
        ),
        (
            b"Nom,Courriel\nJos\xe9,ann@honest-mail.com\n".to_vec(),
            "clients.txt",
            shown("csv", "windows-1252", 1, true, 1, &["Nom", "Courriel"]),
        ),
        (
            wide("Correo electrónico\tn\nann@honest-mail.com\t1\n"),
            "lista.csv",
            shown("csv", "utf-16le", 0, true, 1, &["Correo electrónico", "n"]),
        ),
        (
            "ann@honest-mail.com\nuser1@honest-mail.com\n\n".into(),
            "list.csv",
            shown("txt", "utf-8", 0, false, 2, &["column 1"]),
        ),
        (
            "1,ann@honest-mail.com\n2,user1@honest-mail.com\n".into(),
            "",
            shown("csv", "utf-8", 1, false, 2, &["column 1", "column 2"]),
        ),
        (
            "{\"id\":1,\"mail\":\"ann@honest-mail.com\"}\n{\"mail\":\"x\",\"more\":[1]}\n".into(),
            "x.json",
            shown("jsonl", "utf-8", 1, false, 2, &["id", "mail", "more"]),
        ),
    ]
}

#[tokio::test]
async fn a_file_is_known_by_what_is_in_it() {
    with_ann(config(), PLENTY, async |_, browser| {
        for (bytes, name, expected) in files() {
            let view = put(browser, &format!("name={name}"), bytes.clone()).await.ok(201);
            for (field, value) in expected.as_object().unwrap() {
                assert_eq!(&view[field], value, "{name}: {field} of {view}");
            }
            assert_eq!((&view["name"], &view["source"]), (&json!(name), &json!("csv")));
            assert_eq!(view["size"], bytes.len());
            assert_eq!(
                view["preview"].as_array().unwrap().len(),
                usize::try_from(view["rows"].as_i64().unwrap()).unwrap()
            );
        }
        let all = browser.get("/app/uploads").await.ok(200);
        assert_eq!(all["data"].as_array().unwrap().len(), files().len());
        assert_eq!(all["limits"]["rows"], 1_000_000);
    })
    .await;
}

#[tokio::test]
async fn an_encoding_is_chosen_where_it_is_a_guess() {
    with_ann(config(), PLENTY, async |_, browser| {
        let list = b"n,email\nA,ann@honest-mail.com\nB,x\xe6@honest-mail.com\n";
        let view = put(browser, "name=list.csv", list).await.ok(201);
        assert_eq!((&view["guessed"], &view["encoding_chosen"]), (&json!(true), &json!(false)));
        assert_eq!((&view["counts"]["addresses"], &view["without"]["unknown_encoding"]), (&json!(1), &json!(1)));
        assert!(view["encodings"].as_array().unwrap().contains(&json!("windows-1250")));
        for (encoding, letter) in [("windows-1250", "\u{107}"), ("windows-1251", "\u{436}")] {
            let view = put(browser, &format!("name=list.csv&encoding={encoding}"), list).await.ok(201);
            let read = ["encoding", "guessed", "encoding_chosen", "foreign_row"].map(|field| view[field].clone());
            let row = json!({ "line": 3, "cells": [format!("x{letter}@honest-mail.com")] });
            assert_eq!(read, [json!(encoding), json!(false), json!(true), row]);
            assert_eq!((&view["counts"]["addresses"], &view["counts"]["empty"]), (&json!(2), &json!(0)));
        }
        let sure = put(browser, "name=list.csv", "email\nann@honest-mail.com\n").await.ok(201);
        assert_eq!((&sure["encodings"], &sure["foreign_row"]), (&json!([]), &Value::Null));
        let refused = put(browser, "name=list.csv&encoding=latin", list).await.error(400, "invalid_request");
        assert!(refused.starts_with("encoding: must be one of windows-1252, "), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn rows_that_are_quoted_as_a_whole_are_unpacked_and_that_is_said() {
    with_ann(config(), PLENTY, async |_, browser| {
        let list = "\"Name,Email\"\r\n\"Ann,ann@honest-mail.com\"\r\n\"Bob,user1@honest-mail.com\"\r\n";
        let view = put(browser, "name=list.csv", list).await.ok(201);
        assert_eq!((&view["wrapped"], &view["columns"]), (&json!(true), &json!(["Name", "Email"])));
        assert_eq!((&view["counts"]["addresses"], &view["counts"]["invalid"]), (&json!(2), &json!(0)));
        let usual =
            put(browser, "name=list.csv", "\"Name\",\"Email\"\n\"Ann\",\"ann@honest-mail.com\"\n").await.ok(201);
        assert_eq!(usual["wrapped"], false);
    })
    .await;
}

/// Returns a typical workbook: a cover with one address, notes, a hidden copy, and the list in a named sheet.
fn report() -> Vec<u8> {
    let mut book = rust_xlsxwriter::Workbook::new();
    let cover = book.add_worksheet().set_name("Deckblatt").unwrap();
    cover.write_column(0, 0, ["Kundenliste", "Fragen an", "office@example.org"]).unwrap();
    book.add_worksheet().set_name("Notizen").unwrap().write_column(0, 0, ["nichts", "hier"]).unwrap();
    for (name, rows) in [("Alt", 9), ("Liste", 3)] {
        let sheet = book.add_worksheet().set_name(name).unwrap().set_hidden(name == "Alt");
        sheet.write_row(0, 0, ["Nr", "Ansprechpartner", "Vertreter"]).unwrap();
        for row in 1..=rows {
            sheet.write_number(row, 0, row).unwrap();
            sheet.write_string(row, 1, format!("Person {row} <user{row}@honest-mail.com>")).unwrap();
        }
        sheet.write_string(1, 2, "ann@honest-mail.com").unwrap();
    }
    book.save_to_buffer().unwrap()
}

#[tokio::test]
async fn the_sheet_and_the_column_with_the_addresses_are_found() {
    with_ann(config(), PLENTY, async |_, browser| {
        let view = put(browser, "name=a.xlsx", report()).await.ok(201);
        assert_eq!((&view["sheet"], &view["sheets"]), (&json!("Liste"), &json!(["Deckblatt", "Notizen", "Liste"])));
        let seen = ["column", "header", "rows"].map(|field| &view[field]);
        assert_eq!(seen, [&json!(1), &json!(true), &json!(3)]);
        assert_eq!(view["columns"], json!(["Nr", "Ansprechpartner", "Vertreter"]));
        // Another sheet is read on request; without addresses anywhere, the first one with content is read.
        let cover = put(browser, "sheet=Deckblatt", report()).await.ok(201);
        assert_eq!(
            (&cover["sheet"], &cover["rows"]),
            (&json!("Deckblatt"), &json!(3)),
            "in one column, only the name of an address column is a header"
        );
        let mut none = rust_xlsxwriter::Workbook::new();
        none.add_worksheet().set_name("Empty").unwrap();
        none.add_worksheet().set_name("First").unwrap().write_string(0, 0, "a").unwrap();
        none.add_worksheet().set_name("Second").unwrap().write_column(0, 0, ["b", "c"]).unwrap();
        let view = put(browser, "name=a.xlsx", none.save_to_buffer().unwrap()).await.ok(201);
        assert_eq!(view["sheet"], "First");
    })
    .await;
}

#[tokio::test]
async fn counts_follow_the_column_and_the_header() {
    with_ann(config(), PLENTY, async |_, browser| {
        let list = "name,email,second\nA,ann@honest-mail.com,user1@honest-mail.com\nB,ANN@Honest-Mail.com,\n\
                    C,,\nD,no address,user2@honest-mail.com\n";
        let (view, place) = put_up(browser, "name=list.csv", list).await;
        assert_eq!(view["counts"], json!({ "addresses": 3, "distinct": 2, "duplicates": 1, "empty": 1, "invalid": 1 }));
        let change = async |browser: &mut Browser<'_>, change: Value| {
            let call = browser.call("PATCH", &place).json(&change);
            browser.send(call).await
        };
        let other = change(browser, json!({ "column": 2 })).await.ok(200);
        assert_eq!(
            other["counts"],
            json!({ "addresses": 2, "distinct": 2, "duplicates": 0, "empty": 2, "invalid": 0 })
        );
        let headless = change(browser, json!({ "header": false })).await.ok(200);
        assert_eq!((&headless["rows"], &headless["counts"]["invalid"]), (&json!(5), &json!(1)));
        assert_eq!(headless["columns"], json!(["column 1", "column 2", "column 3"]));
        assert_eq!(headless["preview"][0], json!(["name", "email", "second"]));
        assert_eq!(browser.get(&place).await.ok(200), headless);
        for wrong in [json!({ "column": 3 }), json!({ "column": -1 }), json!({ "sheet": 1 })] {
            change(browser, wrong).await.error(400, "invalid_request");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_no_list_is_refused_in_a_word() {
    with_ann(config(), PLENTY, async |_, browser| {
        let table: [(&[u8], &str, Option<&str>); 9] = [
            (b"", "empty", None),
            (b"\r\n \n", "empty", None),
            (b"%PDF-1.7 list", "pdf", None),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "old_workbook", None),
            (b"\x1f\x8b\x08\0....", "compressed", None),
            (b"[{\"email\":\"ann@honest-mail.com\"}]", "json_array", None),
            (b"email,name\n\"ann@honest-mail.com,A\n", "open_quote", Some("2")),
            (b"{ann@honest-mail.com}\n{bob@honest-mail.com}\n", "not_json", Some("1")),
            (b"PK\x03\x04 no archive", "damaged", None),
        ];
        for (bytes, word, number) in table {
            let answer = put(browser, "name=list.jsonl", bytes).await;
            answer.error(400, "invalid_request");
            let said = (answer.header("x-upload-fault"), answer.header("x-upload-fault-number"));
            assert_eq!(said, (Some(word), number), "{}", answer.text());
        }
        let named = put(browser, "name=list.csv&sheet=May", "email\nann@honest-mail.com\n").await;
        assert_eq!(named.error(400, "invalid_request"), "sheet: is only for workbooks; omit it for other files");
        // Many lines after the fault do not hide it.
        let long = ["email,n\n\"ann@honest-mail.com\n", &"user@honest-mail.com,1\n".repeat(200_000)].concat();
        let answer = put(browser, "name=list.csv", long).await;
        assert_eq!(answer.header("x-upload-fault"), Some("record_too_long"));
        assert_eq!(browser.get("/app/uploads").await.ok(200)["data"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn texts_that_cells_share_count_as_often_as_they_are_shared() {
    let mut small = config();
    small.api.uploads.body_max = 100_000;
    with_ann(small, PLENTY, async |_, browser| {
        let bytes = swollen(2);
        assert!(bytes.len() < 20_000, "{}", bytes.len());
        let answer = put(browser, "name=l", bytes).await;
        answer.error(400, "invalid_request");
        assert_eq!(answer.header("x-upload-fault"), Some("unpacks"));
    })
    .await;
}

/// More workbooks than are read at a time: the third waits for its turn and is not rejected.
#[tokio::test]
async fn workbooks_of_several_organizations_at_once_are_all_read() {
    const ROWS: u32 = 3_000;
    let mut book = rust_xlsxwriter::Workbook::new();
    let sheet = book.add_worksheet();
    for row in 0..ROWS {
        sheet.write_string(row, 0, format!("user{row}@honest-mail.com")).unwrap();
    }
    let bytes = book.save_to_buffer().unwrap();
    TestApp::each(config(), async |app| {
        let one = async |name: &str| {
            let org = app.org(name, PLENTY).await;
            let (_, mut browser) = signed_in(app, &org, &format!("{name}@example.com"), MemberRole::Contributor).await;
            put(&mut browser, "name=people.xlsx", bytes.clone()).await.ok(201)
        };
        let names = ["one", "two", "three", "four"];
        for view in join_all(names.into_iter().map(one)).await {
            assert_eq!((&view["kind"], &view["rows"]), (&json!("xlsx"), &json!(ROWS)));
        }
    })
    .await;
}
