//! Tests of downloads with the columns and the format of the uploaded file.

use std::fs;
use std::path::Path;

use calamine::{Data, Reader as _, Xlsx};
use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::{put, put_up, swollen, with_ann};
use crate::people::browser::Browser;
use crate::people::{config, signed_in};
use crate::test_app::{PLENTY, TestApp};

/// Returns the ID of a finished job of a file.
async fn finished(app: &TestApp, browser: &mut Browser<'_>, bytes: impl Into<Vec<u8>>) -> String {
    let (_, place) = put_up(browser, "name=list", bytes).await;
    let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
    app.settled().await;
    job["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn results_are_taken_away_with_the_columns_of_the_file() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "Kunde;E-Mail;Status\r\n\"=A; \"\"B\"\"\";ann@honest-mail.com;+1\r\nÖ;;\r\nC;nobody@null-mx.com\r\n";
        let job = finished(app, browser, list).await;
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original");
        let csv = browser.get(&place).await;
        csv.assert_status(200);
        let lines: Vec<&str> = csv.text().split("\r\n").collect();
        assert_eq!(
            lines[0],
            "Kunde;E-Mail;Status;probity_domain;probity_processed;probity_passed;probity_status;probity_reason;\
             probity_suggestion;probity_completed_at;probity_index"
        );
        assert!(
            lines[1].starts_with("\"'=A; \"\"B\"\"\";ann@honest-mail.com;'+1;honest-mail.com;true;true;passed;valid;;")
        );
        assert!(lines[2].starts_with("Ö;;;;false;;;"), "{}: it has no address", lines[2]);
        assert!(lines[3].starts_with("C;nobody@null-mx.com;;null-mx.com;true;false;undeliverable;"), "{}", lines[3]);
        let raw = browser.get(&format!("{place}&format=raw&status=passed")).await;
        assert!(raw.text().contains("\"=A; \"\"B\"\"\";ann@honest-mail.com;+1;"), "{}", raw.text());
        assert_eq!(raw.text().lines().count(), 2);
        let lines = browser.get(&format!("{place}&format=ndjson")).await;
        let first: Value = serde_json::from_str(lines.text().lines().next().unwrap()).unwrap();
        assert_eq!((&first["Kunde"], &first["probity"]["reason"]), (&json!("=A; \"B\""), &json!("valid")));
        // Without its file, a job has the default columns.
        let plain = browser.get(&format!("/app/v1/batch-verify/{job}/download")).await;
        assert!(plain.text().starts_with("email,domain,"));
        browser.get(&format!("{place}&columns=x")).await.assert_status(200);
        browser.get(&format!("/app/v1/batch-verify/{job}/download?columns=x")).await.error(400, "invalid_request");
    })
    .await;
}

/// Returns a text with its times replaced.
fn timeless(text: &str) -> String {
    let mut parts = text.split("2027-03-17T");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| format!("TIME{}", part.split_once('Z').unwrap().1));
    [first].into_iter().chain(rest).collect()
}

#[tokio::test]
async fn files_come_back_as_they_came() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lists/tests/golden");
    let files: Vec<_> = fs::read_dir(folder.join("in")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(files.len() > 10);
    with_ann(config(), PLENTY, async |app, browser| {
        for file in &files {
            let job = finished(app, browser, fs::read(folder.join("in").join(file)).unwrap()).await;
            let output = browser.get(&format!("/app/v1/batch-verify/{job}/download?columns=original")).await;
            let expected = fs::read_to_string(folder.join("download").join(file)).unwrap();
            assert_eq!(timeless(output.text()), expected, "{}", file.display());
        }
    })
    .await;
}

#[tokio::test]
async fn a_title_in_a_workbook_stays_above_the_header() {
    let mut book = rust_xlsxwriter::Workbook::new();
    let sheet = book.add_worksheet();
    sheet.write_string(0, 0, "Contacts, May").unwrap();
    sheet.write_row(2, 0, ["Name", "E-Mail"]).unwrap();
    sheet.write_row(3, 0, ["Ann", "ann@honest-mail.com"]).unwrap();
    sheet.write_string(6, 0, "Bob").unwrap();
    sheet.write_row(8, 0, ["Cid", "user1@honest-mail.com"]).unwrap();
    let bytes = book.save_to_buffer().unwrap();
    with_ann(config(), PLENTY, async |app, browser| {
        let view = put(browser, "name=list.xlsx", bytes.clone()).await.ok(201);
        assert_eq!((&view["columns"], &view["rows"]), (&json!(["Name", "E-Mail"]), &json!(3)));
        assert_eq!(view["without"]["first"][0]["row"], 7, "the row has the number that a spreadsheet shows");
        let job = finished(app, browser, bytes.clone()).await;
        for (index, line) in [(0, 4), (1, 9)] {
            let origin = browser.get(&format!("/app/jobs/{job}/rows/{index}/origin")).await.ok(200);
            assert_eq!((&origin["line"], &origin["sheet"]), (&json!(line), &json!("Sheet1")));
        }
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original");
        let csv = browser.get(&place).await;
        assert!(csv.text().starts_with("\"Contacts, May\"\r\nName,E-Mail,probity_domain,"), "{}", csv.text());
        let file = browser.get(&format!("{place}&format=xlsx")).await;
        let mut book = Xlsx::new(std::io::Cursor::new(file.body.to_vec())).unwrap();
        let rows = book.worksheet_range("results").unwrap();
        let first: Vec<_> = rows.rows().take(3).map(|row| row[0].clone()).collect();
        assert_eq!(first, ["Contacts, May", "Name", "Ann"].map(|text| Data::String(text.into())));
    })
    .await;
}

#[tokio::test]
async fn a_title_is_no_formula_in_a_download() {
    with_ann(config(), PLENTY, async |app, browser| {
        let job = finished(app, browser, "=1+1;\r\nemail;n\r\nann@honest-mail.com;1\r\n").await;
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original");
        assert!(browser.get(&place).await.text().starts_with("'=1+1;\r\nemail;n;probity_domain"));
        assert!(browser.get(&format!("{place}&format=raw")).await.text().starts_with("=1+1;\r\nemail;n;"));
    })
    .await;
}

#[tokio::test]
async fn a_text_comes_back_in_the_form_in_which_it_came() {
    with_ann(config(), PLENTY, async |app, browser| {
        for (list, begins) in [
            (&b"\xef\xbb\xbfMail;Ort\r\nann@honest-mail.com;K\xc3\xb6ln\r\n"[..], "\u{feff}Mail;Ort;probity_domain;"),
            (&b"Mail;Ort\r\nann@honest-mail.com;K\xf6ln\r\n"[..], "\u{feff}Mail;Ort;probity_domain;"),
            (&b"Mail\tOrt\nann@honest-mail.com\tK, L\n"[..], "Mail\tOrt\tprobity_domain\t"),
            (&b"Mail,Probity_Status\nann@honest-mail.com,x\n"[..], "Mail,Probity_Status,probity_domain_2,"),
        ] {
            let ends = if list.windows(2).any(|pair| pair == b"\r\n") { "\r\n" } else { "\n" };
            let job = finished(app, browser, list).await;
            let file = browser.get(&format!("/app/v1/batch-verify/{job}/download?columns=original")).await;
            let text = file.text();
            assert!(text.starts_with(begins), "{text}");
            assert_eq!((text.matches(ends).count(), text.ends_with(ends)), (2, true), "{text:?}");
            assert_eq!(text.contains('\r'), ends == "\r\n");
        }
    })
    .await;
}

#[tokio::test]
async fn json_lines_come_back_as_they_were() {
    with_ann(config(), PLENTY, async |app, browser| {
        let list = "{\"id\":1.50,\"mail\":\"ann@honest-mail.com\",\"probity\":[1, 2]}\n{\"mail\":null}\nnonsense\n";
        let job = finished(app, browser, list).await;
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original&format=ndjson");
        let answer = browser.get(&place).await;
        let lines: Vec<&str> = answer.text().lines().collect();
        assert!(
            lines[0].starts_with(
                "{\"id\":1.50,\"mail\":\"ann@honest-mail.com\",\"probity\":[1, 2],\"probity_2\":{\"email\""
            ),
            "{}",
            lines[0]
        );
        assert!(lines[1].starts_with("{\"mail\":null,\"probity\":{\"email\":\"\""), "{}", lines[1]);
        assert!(lines[2].starts_with("{\"probity\":{\"email\":\"\""), "{}", lines[2]);
        let csv = browser.get(&format!("/app/v1/batch-verify/{job}/download?columns=original")).await;
        assert!(csv.text().starts_with("id,mail,probity,probity_domain,"), "{}", csv.text());
        assert!(csv.text().contains("\n1.50,ann@honest-mail.com,\"[1, 2]\",honest-mail.com,"), "{}", csv.text());
        // A job that was not uploaded has no file.
        let call = browser.call("POST", "/app/v1/batch-verify").json(&json!({ "emails": ["ann@honest-mail.com"] }));
        let plain = browser.send(call).await.ok(200);
        let place = format!("/app/v1/batch-verify/{}/download?columns=original", plain["id"].as_str().unwrap());
        browser.get(&place).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn columns_with_one_name_have_keys_that_differ() {
    with_ann(config(), PLENTY, async |app, browser| {
        let job = finished(app, browser, "email,a,a_2,a\nann@honest-mail.com,1,2,3\n").await;
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original&format=ndjson");
        let answer = browser.get(&place).await;
        let own = "{\"email\":\"ann@honest-mail.com\",\"a\":\"1\",\"a_2\":\"2\",\"a_3\":\"3\",\"probity\":";
        assert!(answer.text().starts_with(own), "{}", answer.text());
    })
    .await;
}

#[tokio::test]
async fn a_workbook_is_read_and_given_back_as_one() {
    with_ann(config(), PLENTY, async |app, browser| {
        let mut book = rust_xlsxwriter::Workbook::new();
        book.add_worksheet().set_name("Notes").unwrap();
        let sheet = book.add_worksheet().set_name("People").unwrap();
        sheet.write_row(0, 0, ["Name", "E-Mail"]).unwrap();
        for (row, (name, email)) in (1..).zip([("=1+1", "ann@honest-mail.com"), ("Ünal", "user1@honest-mail.com")]) {
            sheet.write_string(row, 0, name).unwrap();
            sheet.write_string(row, 1, email).unwrap();
        }
        let bytes = book.save_to_buffer().unwrap();
        let view = put(browser, "name=people.xlsx", bytes.clone()).await.ok(201);
        assert_eq!((&view["kind"], &view["sheet"]), (&json!("xlsx"), &json!("People")));
        assert_eq!((&view["sheets"], &view["rows"]), (&json!(["Notes", "People"]), &json!(2)));
        let empty = put(browser, "sheet=Notes", bytes.clone()).await;
        assert_eq!(empty.header("x-upload-fault"), Some("empty"));
        let job = finished(app, browser, bytes).await;
        let place = format!("/app/v1/batch-verify/{job}/download?columns=original&format=xlsx");
        let answer = browser.get(&place).await;
        answer.assert_status(200);
        let mut read = Xlsx::new(std::io::Cursor::new(answer.body.to_vec())).unwrap();
        let rows = read.worksheet_range("results").unwrap();
        let cell = |row, column| rows.get_value((row, column)).map(ToString::to_string).unwrap_or_default();
        assert_eq!((cell(0, 0), cell(1, 0), cell(2, 0)), ("Name".into(), "=1+1".into(), "Ünal".into()));
        assert_eq!((cell(0, 2), cell(1, 6)), ("probity_domain".into(), "valid".into()));
        assert!(read.worksheet_formula("results").unwrap().is_empty());
    })
    .await;
}

/// Numbers and booleans of any file keep their type in the workbook; codes stay text.
#[tokio::test]
async fn columns_of_numbers_come_back_as_numbers() {
    with_ann(config(), PLENTY, async |app, browser| {
        let email = "ann@honest-mail.com";
        let csv = format!("email,sum,on,code,mixed\n{email},12.5,true,01067,1\n{email},,false,50667,x\n");
        let json = format!(
            "{{\"email\":\"{email}\",\"sum\":12.5,\"on\":true,\"code\":\"1\",\"mixed\":1}}\n\
             {{\"email\":\"{email}\",\"sum\":null,\"on\":false,\"code\":\"2\",\"mixed\":\"x\"}}\n"
        );
        for (list, code) in [(csv, "01067"), (json, "1")] {
            let job = finished(app, browser, list).await;
            let place = format!("/app/v1/batch-verify/{job}/download?columns=original&format=xlsx");
            let answer = browser.get(&place).await;
            let mut read = Xlsx::new(std::io::Cursor::new(answer.body.to_vec())).unwrap();
            let rows = read.worksheet_range("results").unwrap();
            let cells =
                |row: u32| (1..5).map(|column| rows.get_value((row, column)).unwrap().clone()).collect::<Vec<_>>();
            let text = |text: &str| Data::String(text.to_owned());
            assert_eq!(cells(1), [Data::Float(12.5), Data::Bool(true), text(code), text("1")]);
            assert_eq!(cells(2)[..2], [Data::Empty, Data::Bool(false)]);
            // Our own columns: whether it passed, the time, and the position.
            assert_eq!(rows.get_value((1, 7)), Some(&Data::Bool(true)));
            assert!(matches!(rows.get_value((1, 11)), Some(Data::DateTime(_))));
            assert_eq!(rows.get_value((2, 12)), Some(&Data::Float(1.0)));
        }
    })
    .await;
}

#[tokio::test]
async fn long_rows_come_back_in_smaller_parts() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Contributor).await;
    let job = finished(&app, &mut browser, swollen(10)).await;
    let place = format!("/app/v1/batch-verify/{job}/download?columns=original");
    let answer = browser.get(&place).await;
    answer.assert_status(200);
    let text = answer.text();
    assert!(text.len() > 9 << 20);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 10);
    for (row, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("user{row}@honest-mail.com,ü")), "{row}");
        assert!(line.contains(",honest-mail.com,true,"), "{row}");
    }
}
