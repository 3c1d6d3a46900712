//! Tests of uploaded lists: upload, inspection, forecast, a single start, and deletion.

mod columns;
mod entries;
mod keeping;
mod reading;
mod starting;

use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use serde_json::Value;

use super::browser::Browser;
use super::signed_in;
use crate::test_app::{Answer, TestApp};

pub(super) async fn put(browser: &mut Browser<'_>, query: &str, body: impl Into<Vec<u8>>) -> Answer {
    let call = browser.call("POST", &format!("/app/uploads?{query}")).bytes(body);
    browser.send(call).await
}

/// Uploads a list. Returns its view and its path.
pub(super) async fn put_up(browser: &mut Browser<'_>, query: &str, body: impl Into<Vec<u8>>) -> (Value, String) {
    let view = put(browser, query, body).await.ok(201);
    let place = format!("/app/uploads/{}", view["id"].as_str().unwrap());
    (view, place)
}

/// Runs a test with a service and a member who can upload files.
async fn with_ann(config: ServiceConfig, credits: i64, test: impl AsyncFn(&TestApp, &mut Browser<'_>)) {
    TestApp::each(config, async |app| {
        let org = app.org("Example Ltd", credits).await;
        let (_, mut browser) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        test(app, &mut browser).await;
    })
    .await;
}

/// Returns a small workbook whose cells share one long text: an address, and that text many times in each row.
fn swollen(rows: u32) -> Vec<u8> {
    let mut book = rust_xlsxwriter::Workbook::new();
    let sheet = book.add_worksheet();
    let long = "ü".repeat(32_767);
    for row in 0..rows {
        sheet.write_string(row, 0, format!("user{row}@honest-mail.com")).unwrap();
        for column in 1..16 {
            sheet.write_string(row, column, &long).unwrap();
        }
    }
    book.save_to_buffer().unwrap()
}
