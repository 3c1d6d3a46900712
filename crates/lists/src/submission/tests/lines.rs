//! JSON lines.

use super::*;

const LINES: SubmissionFormat = SubmissionFormat::Ndjson;

#[test]
fn strings_and_objects_are_read() {
    let table: [(&str, &[&str]); 6] = [
        ("\"a@x.com\"\n\"b@x.com\"\n", &["a@x.com", "b@x.com"]),
        ("{\"email\":\"a@x.com\"}\r\n\r\n  \n \"b@x.com\" ", &["a@x.com", "b@x.com"]),
        (r#"{"id":{"email":5},"email":"\u0061@x.com","x":[1,"\n"]}"#, &["a@x.com"]),
        ("\"\"\n", &[""]),
        ("\"j\u{f6}rg@x.com\"", &["jörg@x.com"]),
        (r#""\ud83d\ude00\u0000""#, &["\u{1f600}\0"]),
    ];
    for (body, addresses) in table {
        assert_eq!(rows(LINES, body), addresses, "{body}");
    }
}

#[test]
fn faults_name_the_line() {
    let no_address = "must be a JSON string or an object with the string `email`";
    let table: [(&[u8], &str); 12] = [
        (b"", ""),
        (b"\n \r\n", ""),
        (b"a@x.com", "line 1: "),
        (b"\"a\"\n\n17\n", "line 3: "),
        (b"\"a\"\n[\"b\"]\n", "line 2: "),
        (b"{\"mail\":\"b\"}", "line 1: "),
        (b"{\"email\":null}", "line 1: "),
        (b"{\"email\":\"a\",\"email\":\"b\"}", "line 1: "),
        (b"\"a\"\n\"b\" \"c\"", "line 2: "),
        (b"\"a\"\n\"b", "line 2: "),
        (b"\"\\ud800\"", "line 1: "),
        (b"\xef\xbb\xbf\"a\"", "line 1: "),
    ];
    for (body, place) in table {
        let message = if place.is_empty() { "the body has no address".into() } else { format!("{place}{no_address}") };
        assert_eq!(fault(LINES, body), message, "{}", body.escape_ascii());
    }
    assert_eq!(fault(LINES, b"\"a\"\n\"\xff\""), "line 2: must be UTF-8");
}

#[test]
fn lines_and_addresses_are_bounded() {
    let address = |length: usize| format!("\"a\"\n\"{}\"", "x".repeat(length));
    assert_eq!(rows(LINES, address(1_024))[1].len(), ADDRESS_MAX_BYTES);
    assert_eq!(fault(LINES, address(1_025)), "line 2: the address may have at most 1024 bytes");
    let line = |length: usize| format!("{{\"email\":\"a\",\"x\":\"{}\"}}", "x".repeat(length - 20));
    for size in [usize::MAX, 1, 1_000, LINE_MAX_BYTES] {
        for end in ["", "\n"] {
            let body = line(LINE_MAX_BYTES) + end;
            assert_eq!(read(LINES, 9, body.as_bytes().chunks(size)).unwrap().1, [b"a"]);
            let body = line(LINE_MAX_BYTES + 1) + end;
            let fault = read(LINES, 9, body.as_bytes().chunks(size)).unwrap_err();
            assert_eq!(fault.to_string(), "line 1: may have at most 65536 bytes", "pieces of {size}");
        }
    }
}
