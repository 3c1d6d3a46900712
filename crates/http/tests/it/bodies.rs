//! Tests of request bodies: which ones are accepted or rejected, and that a rejection is cheap.

use crate::served::{Answer, Served, hasty_bodies};

const JSON: &str = "content-type: application/json\r\n";
const MEBIBYTE: usize = 1 << 20;

fn assert_refused(answer: &Answer, status: u16, code: &str) -> String {
    answer.assert_error(status, code, "invalid_request_error")
}

#[tokio::test]
async fn json_is_read_by_its_label() {
    let served = Served::start().await;
    let thing = r#"{"name":"a"}"#;
    for label in
        ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json ;a=\"b\""]
    {
        let answer = served.post("/v1/things", &format!("content-type: {label}\r\n"), thing).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, thing), "{label}");
    }
    let refused = [
        "text/json",
        "application/vnd.api+json",
        "application/jsonx",
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
    ];
    for label in refused {
        let answer = served.post("/v1/things", &format!("content-type: {label}\r\n"), thing).await;
        assert_refused(&answer, 415, "unsupported_media_type");
    }
    assert_refused(&served.post("/v1/things", "", thing).await, 415, "unsupported_media_type");
    assert_refused(&served.post("/v1/things", &JSON.repeat(2), thing).await, 415, "unsupported_media_type");
}

#[tokio::test]
async fn an_empty_body_needs_no_label_where_it_may_be_empty() {
    let served = Served::start().await;
    assert_eq!(served.post("/v1/maybe", "", "").await.body, "false");
    assert_eq!(served.post("/v1/maybe", JSON, "").await.body, "false");
    assert_eq!(served.post("/v1/maybe", JSON, " null\n").await.body, "false");
    assert_eq!(served.ask("POST /v1/maybe HTTP/1.1\r\nhost: x\r\n\r\n").await.body, "false");
    let chunked = "POST /v1/maybe HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(served.ask(chunked).await.body, "false");
    assert_eq!(served.post("/v1/maybe", JSON, r#"{"name":"a"}"#).await.body, "true");
    assert_refused(&served.post("/v1/maybe", "", "{}").await, 415, "unsupported_media_type");
    let labelless = "POST /v1/maybe HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    assert_refused(&served.ask(labelless).await, 415, "unsupported_media_type");
    let message = assert_refused(&served.post("/v1/things", JSON, "").await, 400, "invalid_request");
    assert_eq!(message, "the body is empty; send JSON");
}

#[tokio::test]
async fn broken_bodies_are_a_400_that_names_the_field() {
    let served = Served::start().await;
    let cases = [
        ("{\"name\":", "the body is not JSON: EOF while parsing a value at line 1 column 8"),
        ("{\"name\":1}", "name: must be a string"),
        ("{}", "name: is required"),
        ("{\"name\":\"a\\u0000b\"}", "name: must not contain the character U+0000"),
    ];
    for (body, message) in cases {
        assert_eq!(assert_refused(&served.post("/v1/things", JSON, body).await, 400, "invalid_request"), message);
    }
}

#[tokio::test]
async fn a_million_brackets_are_refused() {
    let served = Served::start().await;
    for bracket in ["[", "{\"a\":", "[["] {
        let body = bracket.repeat(1_000_000 / bracket.len());
        let message = assert_refused(&served.post("/v1/things", JSON, &body).await, 400, "invalid_request");
        assert!(message.contains("32 deep"), "{message}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_refused_unread() {
    let served = Served::start().await;
    for coding in ["gzip", "br", "identity, gzip", "identity\r\ncontent-encoding: gzip"] {
        for path in ["/raw", "/v1/things", "/v1/maybe"] {
            // Only the head is sent: the response does not wait for the 1,000 bytes.
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-encoding: {coding}\r\n{JSON}content-length: 1000\r\n\r\n"
            );
            let answer = served.ask(&head).await;
            assert_refused(&answer, 415, "unsupported_media_type");
            assert_eq!(answer.header("accept-encoding"), Some("identity"));
        }
    }
    assert_eq!(served.post("/raw", "content-encoding: Identity\r\n", "abc").await.body, "3");
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_unread() {
    let served = Served::start().await;
    for (path, length) in [("/raw", MEBIBYTE + 1), ("/raw", usize::MAX / 2), ("/small", 11)] {
        let answer = served.ask(&format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n")).await;
        assert_refused(&answer, 413, "payload_too_large");
    }
    assert_eq!(served.post("/raw", "", &"x".repeat(MEBIBYTE)).await.body, MEBIBYTE.to_string());
    assert_eq!(served.post("/small", "", "0123456789").await.body, "10");
}

#[tokio::test]
async fn who_expects_100_continue_is_refused_before_sending() {
    let served = Served::start().await;
    let expecting = |length: usize| {
        format!("POST /small HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
    };
    assert_refused(&served.ask(&expecting(11)).await, 413, "payload_too_large");
    let mut client = served.connect().await;
    client.send(expecting(3).as_bytes()).await;
    assert_eq!(client.answer(false).await.status, 100);
    client.send(b"abc").await;
    assert_eq!(client.answer(false).await.body, "3");
}

#[tokio::test]
async fn an_endless_chunked_body_ends_at_the_limit() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    client.send(b"POST /raw HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    // The limit is 16 chunks. Sending more than the socket's buffers hold would have to wait for the response.
    for _ in 0..17 {
        client.send(chunk.as_bytes()).await;
    }
    assert_refused(&client.answer(false).await, 413, "payload_too_large");
    // The response is sent, and the connection accepts no more requests.
    client.until_closed().await;
}

#[tokio::test]
async fn a_body_that_stalls_is_a_408() {
    let served = Served::with(hasty_bodies()).await;
    for head in ["content-length: 100\r\n\r\nabc", "transfer-encoding: chunked\r\n\r\n3\r\nab"] {
        let answer = served.ask(&format!("POST /raw HTTP/1.1\r\nhost: x\r\n{head}")).await;
        assert_refused(&answer, 408, "request_timeout");
    }
}

#[tokio::test]
async fn a_malformed_chunk_is_a_400_or_the_end() {
    let served = Served::start().await;
    for body in ["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "3\r\nabcd\r\n"] {
        let mut client = served.connect().await;
        let head = "POST /raw HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
        client.send(format!("{head}{body}").as_bytes()).await;
        let all = client.until_closed().await;
        assert!(all.is_empty() || all.starts_with("HTTP/1.1 400 "), "{body:?}: {all}");
    }
}

#[tokio::test]
async fn a_connection_outlives_a_small_body_that_nobody_reads() {
    let served = Served::start().await;
    let mut client = served.connect().await;
    // More than one read of the socket returns; the second half arrives when the response could already be sent.
    let body = "x".repeat(300_000);
    for _ in 0..3 {
        client
            .send(format!("POST /ignore HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes())
            .await;
        client.send(&body.as_bytes()[..150_000]).await;
        tokio::task::yield_now().await;
        client.send(&body.as_bytes()[150_000..]).await;
        let answer = client.answer(false).await;
        assert_eq!((answer.status, answer.header("connection")), (200, None));
    }
}

#[tokio::test]
async fn the_answer_says_so_where_a_body_that_nobody_reads_ends_the_connection() {
    let served = Served::start().await;
    let head = "POST /ignore HTTP/1.1\r\nhost: x\r\n";
    // The first rest is too large to be read. The second is never sent, because the client waits for `100 Continue`.
    for (fields, sent) in [("content-length: 1048577\r\n", "x"), ("content-length: 5\r\nexpect: 100-continue\r\n", "")]
    {
        let mut client = served.connect().await;
        client.send(format!("{head}{fields}\r\n{sent}").as_bytes()).await;
        let answer = client.answer(false).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{fields}");
        assert_eq!(client.until_closed().await, "");
    }
}
