//! Tests of `/v1/batch-verify/{id}/download`: complete jobs as files.

use super::*;

async fn download(app: &TestApp, key: &str, id: &str, query: &str) -> Answer {
    app.get(key, &format!("/v1/batch-verify/{id}/download?{query}")).await
}

fn lines(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_file_has_every_row_and_goes_in_again() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let mut emails: Vec<String> = (0..2_100).map(|n| format!("row {n}, \"of\" many")).collect();
    emails.extend(["valid@sandbox.test", "=1+1", "+plus@sandbox.test", "inbox_full@sandbox.test"].map(str::to_owned));
    let id = submit(&app, &key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await;
    done(&app, &key, &id).await;
    let shown = rows(&app, &key, &id, 1_000).await;

    let file = download(&app, &key, &id, "format=ndjson").await;
    assert_eq!(file.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(file.header("content-disposition"), Some(&*format!("attachment; filename=\"{id}.ndjson\"")));
    assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(lines(&file), shown);

    // Raw CSV and NDJSON can be resubmitted unchanged; the resulting job has the same rows.
    for (query, kind) in
        [("format=csv&raw=true", "text/csv"), ("format=raw", "text/csv"), ("format=ndjson", "application/x-ndjson")]
    {
        let file = download(&app, &key, &id, query).await;
        let call = Call::with_body("/v1/batch-verify", kind, file.body.to_vec()).key(&key);
        let again = app.send(call).await.ok(200)["id"].as_str().unwrap().to_owned();
        done(&app, &key, &again).await;
        let again = rows(&app, &key, &again, 1_000).await;
        assert_eq!(reasons(&again), reasons(&shown), "{query}");
        assert!(again.iter().zip(&shown).all(|(again, shown)| again["email"] == shown["email"]), "{query}");
    }
    let safe = download(&app, &key, &id, "").await;
    assert!(safe.header("content-type").unwrap().starts_with("text/csv"));
    let text = safe.text();
    assert_eq!(text.lines().count(), emails.len() + 1);
    assert!(text.starts_with("email,domain,processed,") && text.contains("\r\n'=1+1,") && text.contains("\r\n'+plus@"));

    let book = download(&app, &key, &id, "format=xlsx").await;
    let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    assert_eq!(book.header("content-type"), Some(kind));
    assert_eq!(book.header("content-disposition"), Some(&*format!("attachment; filename=\"{id}.xlsx\"")));
    assert_eq!(book.header("content-length"), Some(&*book.body.len().to_string()));
    let sheet = sheet(&book);
    assert_eq!(sheet.len(), emails.len() + 1);
    assert!(sheet.iter().skip(1).zip(&emails).all(|(row, email)| row[0] == *email));
    app.stop().await;
}

/// Returns the rows of a workbook as a reader sees them. No cell may be a formula.
fn sheet(answer: &Answer) -> Vec<Vec<String>> {
    use calamine::Reader as _;
    let mut book = calamine::Xlsx::new(std::io::Cursor::new(answer.body.clone())).unwrap();
    assert!(book.worksheet_formula("results").unwrap().is_empty());
    let rows = book.worksheet_range("results").unwrap();
    rows.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

#[tokio::test]
async fn a_file_can_be_of_some_rows() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let emails = ["ann@honest-mail.com", "x", "nobody@null-mx.com", "info@honest-mail.com", "waits@honest-mail.com"];
    let id = submit(&app, &key, &emails).await;
    for _ in 0..50 {
        if status(&app, &key, &id).await["emailsProcessed"] == 4 {
            break;
        }
        pass(Duration::from_secs(2)).await;
    }
    let cases = [
        ("", vec![0, 1, 2, 3, 4]),
        ("&status=passed", vec![0]),
        ("&status=undeliverable", vec![1, 2]),
        ("&status=undeliverable&reason=invalid", vec![1]),
        ("&status=passed&reason=invalid", vec![]),
        ("&reason=role_based", vec![3]),
        ("&status=&reason=&provider=", vec![0, 1, 2, 3, 4]),
        ("&provider=other", vec![0, 1, 2, 3]),
        ("&provider=other&status=passed", vec![0]),
        ("&provider=google", vec![]),
    ];
    for (query, expected) in cases {
        let file = download(&app, &key, &id, &format!("format=ndjson{query}")).await;
        assert_eq!(
            lines(&file).iter().map(|row| row["index"].as_i64().unwrap()).collect::<Vec<_>>(),
            expected,
            "{query}"
        );
        let places: Vec<String> = expected.iter().map(ToString::to_string).collect();
        let book = download(&app, &key, &id, &format!("format=xlsx{query}")).await;
        assert_eq!(sheet(&book)[1..].iter().map(|row| row[8].clone()).collect::<Vec<_>>(), places, "{query}");
    }
    for query in ["format=xls", "format=CSV", "status=good", "reason=bad", "raw=yes"] {
        let message = download(&app, &key, &id, query).await.error(400, "invalid_request");
        assert!(message.starts_with(query.split('=').next().unwrap()), "{message}");
    }
    for format in ["csv", "raw", "ndjson", "xlsx"] {
        let path = format!("/v1/batch-verify/{id}/download?format={format}");
        let (head, get) = (app.send(Call::new("HEAD", &path).key(&key)).await, app.get(&key, &path).await);
        assert_eq!((head.status, head.body.len()), (200, 0), "{format}");
        assert_eq!(head.header("content-length"), None, "{format}: GET's length is not known before it is written");
        for name in ["content-type", "content-disposition"] {
            assert_eq!(head.header(name), get.header(name), "{format}");
        }
    }
    let original = format!("/v1/batch-verify/{id}/download?columns=original");
    app.send(Call::new("HEAD", &original).key(&key)).await.assert_status(404);
    app.live.gate.add_permits(1);
    done(&app, &key, &id).await;
    app.stop().await;
}
