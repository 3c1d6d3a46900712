//! JSON: tables, and `serde_json` as the reference for arbitrary bodies.

use serde::Deserialize;

use super::*;

const JSON: SubmissionFormat = SubmissionFormat::Json;

fn url(body: &str) -> Option<String> {
    cut(JSON, body.as_bytes()).unwrap().0.webhook_url
}

#[test]
fn bodies_of_all_shapes_are_read() {
    let table: [(&str, &[&str]); 12] = [
        (r#"{"emails":["a@x.com"]}"#, &["a@x.com"]),
        (" {\r\n\t\"emails\" : [ \"a@x.com\" , \"b@x.com\" ] } \n", &["a@x.com", "b@x.com"]),
        (r#"{"emails":["","  ","no address"]}"#, &["", "  ", "no address"]),
        (r#"{"emails":["a\u0000b"]}"#, &["a\0b"]),
        (r#"{"emails":["jörg@münchen.de","日本@例え.jp"]}"#, &["jörg@münchen.de", "日本@例え.jp"]),
        (r#"{"emails":["\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC"]}"#, &["\"\\/\u{8}\u{c}\n\r\tAé€"]),
        (r#"{"emails":["\ud83d\ude00","\uDBFF\uDFFF"]}"#, &["\u{1f600}", "\u{10ffff}"]),
        (r#"{"\u0065mails":["a"]}"#, &["a"]),
        (r#"{"Emails":1,"email":[2],"emails":["a"],"":{"emails":[3]}}"#, &["a"]),
        (r#"{"x":[[],{},[{"y":[null,true,false,-0.5e+7,0,"\ud800 \" é"]}]],"emails":["a"]}"#, &["a"]),
        (r#"{"emails":["a"],"x":{"webhook_url":5,"emails":"no"}}"#, &["a"]),
        (r#"{"emails":["a"],"n":12}"#, &["a"]),
    ];
    for (body, addresses) in table {
        assert_eq!(rows(JSON, body), addresses, "{body}");
    }
}

#[test]
fn the_right_spelling_of_the_url_wins() {
    let table = [
        (r#"{"emails":["a"]}"#, None),
        (r#"{"emails":["a"],"webhook_url":null}"#, None),
        (r#"{"emails":["a"],"webhook_url":""}"#, Some("")),
        (r#"{"webhook_url":"https:\/\/x.com/\u00e9","emails":["a"]}"#, Some("https://x.com/é")),
        (r#"{"webhookUrl":"old","emails":["a"]}"#, Some("old")),
        (r#"{"webhookUrl":"old","emails":["a"],"webhook_url":"new"}"#, Some("new")),
        (r#"{"webhook_url":"new","emails":["a"],"webhookUrl":"old"}"#, Some("new")),
        (r#"{"webhook_url":null,"emails":["a"],"webhookUrl":"old"}"#, Some("old")),
        (r#"{"webhook_url":"","emails":["a"],"webhookUrl":"old"}"#, Some("")),
        (r#"{"webhook_url":null,"emails":["a"],"webhookUrl":""}"#, Some("")),
    ];
    for (body, expected) in table {
        assert_eq!(url(body).as_deref(), expected, "{body}");
    }
}

#[test]
fn faults_name_the_place() {
    let table: [(&[u8], &str); 36] = [
        (b"", "the body ends in the middle of its JSON, or is empty"),
        (b" \n", "the body ends in the middle of its JSON, or is empty"),
        (b"{\"emails\":[\"a\"]", "the body ends in the middle of its JSON, or is empty"),
        (b"{\"emails\":[\"a", "the body ends in the middle of its JSON, or is empty"),
        (b"[]", "the body must be a JSON object"),
        (b"null", "the body must be a JSON object"),
        (b"\xef\xbb\xbf{}", "the body is not JSON (byte 0)"),
        (b"{}", "emails: is required"),
        (br#"{"emails":[]}"#, "emails: must have at least one address"),
        (br#"{"emails":null}"#, "emails: must be an array of strings"),
        (br#"{"emails":"a"}"#, "emails: must be an array of strings"),
        (br#"{"emails":{"0":"a"}}"#, "emails: must be an array of strings"),
        (br#"{"emails":["a"],"emails":["b"]}"#, "emails: is given twice; send it once"),
        (br#"{"emails":["a","b",17]}"#, "emails[2]: must be a string"),
        (br#"{"emails":[null]}"#, "emails[0]: must be a string"),
        (br#"{"emails":["a",["b"]]}"#, "emails[1]: must be a string"),
        (b"{\"emails\":[\"a\",\"\xff\"]}", "emails[1]: must be UTF-8"),
        (b"{\"emails\":[\"\xed\xa0\x80\"]}", "emails[0]: must be UTF-8"),
        (b"{\"emails\":[\"a\nb\"]}", "emails[0]: has a control character that is not escaped"),
        (br#"{"emails":["a","b\ud800"]}"#, "emails[1]: has half of a surrogate pair"),
        (br#"{"emails":["\ud800\u0041"]}"#, "emails[0]: has half of a surrogate pair"),
        (br#"{"emails":["\udc00\ud800"]}"#, "emails[0]: has half of a surrogate pair"),
        (br#"{"emails":["\x41"]}"#, "emails[0]: has an escape that is not valid in JSON"),
        (br#"{"emails":["\u00g1"]}"#, "emails[0]: has an escape that is not valid in JSON"),
        (br#"{"emails":["\u+041"]}"#, "emails[0]: has an escape that is not valid in JSON"),
        (br#"{"emails":["a",]}"#, "the body is not JSON (byte 15)"),
        (br#"{"emails":["a" "b"]}"#, "the body is not JSON (byte 15)"),
        (br#"{"emails":["a"],}"#, "the body is not JSON (byte 16)"),
        (br#"{"emails":["a"]} x"#, "the body is not JSON (byte 17)"),
        (br#"{"x":01}"#, "the body is not JSON (byte 6)"),
        (br#"{"x":"\u12"}"#, "the body is not JSON (byte 10)"),
        (b"{\"x\":\"ab\xff\"}", "the body is not JSON (byte 8)"),
        (br#"{"\ud800":1}"#, "a field name in the body has half of a surrogate pair"),
        (br#"{"webhook_url":5}"#, "webhook_url: must be a string or null"),
        (br#"{"webhookUrl":"a\u0000"}"#, "webhookUrl: must not contain the character U+0000"),
        (br#"{"webhook_url":null,"webhook_url":"x"}"#, "webhook_url: is given twice; send it once"),
    ];
    for (body, message) in table {
        assert_eq!(fault(JSON, body), message, "{}", body.escape_ascii());
    }
}

#[test]
fn texts_are_bounded_as_they_read() {
    let body = |text: &str| format!(r#"{{"emails":["{text}"]}}"#);
    let most = ["x".repeat(1024), "\\u0041".repeat(1024), "é".repeat(512), "\\ud83d\\ude00".repeat(256)];
    for text in most {
        assert_eq!(rows(JSON, body(&text))[0].len(), ADDRESS_MAX_BYTES);
        for more in ["x", "\\n", "\\u0041"] {
            assert_eq!(fault(JSON, body(&format!("{text}{more}"))), "emails[0]: may have at most 1024 bytes");
        }
    }
    let endless = format!(r#"{{"emails":["{}"#, "x".repeat(6 * 1024 + 1));
    assert_eq!(fault(JSON, endless), "emails[0]: may have at most 1024 bytes", "refused before it ends");
    let url = |length| format!(r#"{{"emails":["a"],"webhook_url":"{}"}}"#, "x".repeat(length));
    assert_eq!(super::json::url(&url(2_048)).unwrap().len(), WEBHOOK_URL_MAX_BYTES);
    assert_eq!(fault(JSON, url(2_049)), "webhook_url: may have at most 2048 bytes");
    let name = format!(r#"{{"{}":1}}"#, "x".repeat(1_025));
    assert_eq!(fault(JSON, name), "a field name in the body may have at most 1024 bytes");
}

#[test]
fn what_is_ignored_is_not_kept_and_not_too_deep() {
    let nested = |depth: usize| format!(r#"{{"x":{}{},"emails":["a"]}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(rows(JSON, nested(31)), ["a"]);
    assert_eq!(fault(JSON, nested(32)), "the body may nest arrays and objects at most 32 deep");
    let mut intake = JsonReader::new();
    let mut blocks = Blocks::new(10);
    intake.push(b"{\"x\":{\"", &mut blocks).unwrap();
    for _ in 0..1_000 {
        intake.push(&[b'x'; 1_000], &mut blocks).unwrap();
    }
    intake.push(b"\":[\"", &mut blocks).unwrap();
    for _ in 0..1_000 {
        intake.push("é".repeat(500).as_bytes(), &mut blocks).unwrap();
    }
    assert_eq!(intake.held_bytes(), 0);
    intake.push(b"\"]},\"emails\":[\"a\"]}", &mut blocks).unwrap();
    assert_eq!(intake.finish().unwrap().unknown, ["x"]);
}

/// The body as `serde_json` reads it.
#[derive(Deserialize)]
struct Judge {
    emails: Vec<String>,
    #[serde(default)]
    webhook_url: Option<String>,
    #[serde(default, rename = "webhookUrl")]
    legacy: Option<String>,
}

fn judge(body: &[u8]) -> Option<(Option<String>, Vec<String>)> {
    let text = str::from_utf8(body).ok()?;
    // serde also accepts an array for a struct.
    text.trim_ascii_start().starts_with('{').then_some(())?;
    let judge: Judge = serde_json::from_str(text).ok()?;
    let urls = [judge.webhook_url, judge.legacy];
    let fit = !judge.emails.is_empty() && urls.iter().flatten().all(|url| !url.contains('\0'));
    let [url, legacy] = urls;
    fit.then(|| (url.or(legacy), judge.emails))
}

/// A JSON text, mostly a valid one.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        12 => "[a-z@. ]{1,8}",
        4 => "[^\"\\\\\\x00-\\x1f]",
        2 => "\\\\u[0-9a-cA-C][0-9a-fA-F]{3}",
        2 => "\\\\[\"\\\\/bfnrt]",
        1 => "\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}",
    ];
    let wrong = prop_oneof!["\\\\ud[89a-f]00", "\\\\[a-z]", "\\\\u[0-9a-g]{1,4}", "[\\x00-\\x1f]"];
    let character = prop_oneof![200 => character.boxed(), 1 => wrong.boxed()];
    proptest::collection::vec(character, 0..6).prop_map(|characters| format!("\"{}\"", characters.concat()))
}

fn blank() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \n\r\t]{1,2}"]
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        20 => text().boxed(),
        6 => prop_oneof!["null", "true", "false"].boxed(),
        6 => "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?".boxed(),
        1 => prop_oneof!["nul", "01", "1\\.", "-", "2e", "\\.5", "True"].boxed(),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let items = proptest::collection::vec((blank(), inner.clone(), blank()), 0..4);
        let items = items.prop_map(|items| items.iter().map(|(a, b, c)| format!("{a}{b}{c}")).collect::<Vec<_>>());
        let members = proptest::collection::vec((text(), blank(), inner), 0..3);
        let members = members.prop_map(|all| all.iter().map(|(a, b, c)| format!("{a}{b}:{c}")).collect::<Vec<_>>());
        prop_oneof![
            items.prop_map(|items| format!("[{}]", items.join(","))),
            members.prop_map(|members| format!("{{{}}}", members.join(",")))
        ]
    })
}

fn emails() -> impl Strategy<Value = String> {
    let list = (blank(), proptest::collection::vec(text(), 0..6), blank());
    let list = list.prop_map(|(front, texts, back)| format!("[{front}{}{back}]", texts.join(&format!("{front},"))));
    let other = (text(), value()).prop_map(|(text, value)| format!("[{text},{value}]"));
    prop_oneof![12 => list.boxed(), 1 => other.boxed(), 1 => value().boxed()]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let url = prop_oneof![4 => text().boxed(), 2 => Just("null".to_owned()).boxed(), 1 => value().boxed()];
    let name = prop_oneof![4 => Just("\"emails\"".to_owned()), 1 => Just("\"\\u0065mails\"".to_owned())];
    let list = (name, emails()).boxed();
    let other = prop_oneof![
        2 => ("\"webhook_url\"", url.clone()).boxed(),
        2 => ("\"webhookUrl\"", url).boxed(),
        6 => (text(), value()).boxed(),
        1 => list.clone(),
    ];
    let others = || proptest::collection::vec(other.clone(), 0..3);
    let list = proptest::option::weighted(0.9, list);
    let members = (others(), list, others(), blank(), blank()).prop_map(|(front, list, back, a, b)| {
        let all = front.into_iter().chain(list).chain(back);
        let all: Vec<_> = all.map(|(name, value)| format!("{a}{name}{b}:{b}{value}{a}")).collect();
        format!("{{{}}}", all.join(","))
    });
    let change = proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8));
    (members, change).prop_map(|(text, change)| {
        let mut body = text.into_bytes();
        if let Some((at, byte, kind)) = change {
            let at = at.index(body.len());
            match kind {
                0 => body[at] = byte,
                1 => body.insert(at, byte),
                _ => body.truncate(at),
            }
        }
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn serde_json_reads_the_same(body in body(), size in 1..30_usize) {
        let outcome = whole(JSON, &body);
        let plain = outcome.clone().ok().map(|(submission, rows)| {
            (submission.webhook_url, rows.into_iter().map(|row| String::from_utf8(row).unwrap()).collect::<Vec<_>>())
        });
        prop_assert_eq!(plain, judge(&body), "{} {:?}", body.escape_ascii(), outcome);
        prop_assert_eq!(&read(JSON, 1_000, body.chunks(size)), &outcome);
        prop_assert_eq!(&read(JSON, 1_000, body.chunks(1)), &outcome);
    }
}
