//! Results as people take them away: with the columns of their file, in its form.

use calamine::{Reader as _, Xlsx};
use probity_account::role::Role;
use serde_json::{Value, json};

use super::{put, put_up, swollen, with_ann};
use crate::people::browser::Browser;
use crate::people::{config, signed_in};
use crate::test_app::{PLENTY, TestApp};

/// A finished job of a file, and its id.
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
            "Kunde,E-Mail,Status,domain_2,processed_2,passed_2,status_2,reason_2,suggestion_2,completed_at_2,index_2"
        );
        assert!(
            lines[1].starts_with("\"'=A; \"\"B\"\"\",ann@honest-mail.com,'+1,honest-mail.com,true,true,passed,valid,,")
        );
        assert!(lines[2].starts_with("Ö,,,,true,false,undeliverable,invalid,,"), "{}", lines[2]);
        assert!(lines[3].starts_with("C,nobody@null-mx.com,,null-mx.com,true,false,undeliverable,"), "{}", lines[3]);
        let raw = browser.get(&format!("{place}&format=raw&status=passed")).await;
        assert!(raw.text().contains("\"=A; \"\"B\"\"\",ann@honest-mail.com,+1,"), "{}", raw.text());
        assert_eq!(raw.text().lines().count(), 2);
        let lines = browser.get(&format!("{place}&format=ndjson")).await;
        let first: Value = serde_json::from_str(lines.text().lines().next().unwrap()).unwrap();
        assert_eq!((&first["Kunde"], &first["probity"]["reason"]), (&json!("=A; \"B\""), &json!("valid")));
        // Without its file a job has its own columns.
        let plain = browser.get(&format!("/app/v1/batch-verify/{job}/download")).await;
        assert!(plain.text().starts_with("email,domain,"));
        browser.get(&format!("{place}&columns=x")).await.assert_status(200);
        browser.get(&format!("/app/v1/batch-verify/{job}/download?columns=x")).await.error(400, "invalid_request");
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
        assert!(csv.text().starts_with("id,mail,probity,domain,"), "{}", csv.text());
        assert!(csv.text().contains("\r\n1.50,ann@honest-mail.com,\"[1, 2]\",honest-mail.com,"), "{}", csv.text());
        // A job of no file has none.
        let call = browser.call("POST", "/app/v1/batch-verify").json(&json!({ "emails": ["ann@honest-mail.com"] }));
        let plain = browser.send(call).await.ok(200);
        let place = format!("/app/v1/batch-verify/{}/download?columns=original", plain["id"].as_str().unwrap());
        browser.get(&place).await.error(404, "not_found");
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
        assert_eq!((cell(0, 2), cell(1, 6)), ("domain".into(), "valid".into()));
        assert!(read.worksheet_formula("results").unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn long_rows_come_back_in_smaller_parts() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", Role::Contributor).await;
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
