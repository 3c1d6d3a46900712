use super::*;
use crate::file::{ActionKind, Origin};
use crate::request::HostAllowance;
use crate::source::header;

/// Platform with batches whose responses name the failed contacts.
const BATCHES: &str = concat!(
    include_str!("../../tests/small.toml"),
    r#"[actions.unsubscribe]
scope = "account"
request = { delete = "/members", json = { emails = [] } }
[actions.unsubscribe.batch]
max = 2
at = "/emails"
each = "{contact.email}"
partial = { records = "", form = "map", email = "key", failed = { at = "", is = ["false"] }, class = "gone" }
"#
);

fn file() -> ConnectorFile {
    ConnectorFile::parse("small.toml", BATCHES, Origin::Operator).unwrap()
}

fn credentials(file: &ConnectorFile) -> Credentials {
    let entered = [("url", "https://api.example.org"), ("key", "hush-hush")];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Credentials::new(file, &entered, &HostAllowance::default()).unwrap()
}

fn target(email: &str) -> ActionTarget {
    let verdict = VerdictFacts::default();
    ActionTarget { id: email.to_owned(), email: email.to_owned(), lists: Vec::new(), verdict, value: None }
}

fn order(emails: &[&str]) -> ActionOrder {
    let targets = emails.iter().map(|email| target(email)).collect();
    ActionOrder { kind: ActionKind::Unsubscribe, list: None, tag: None, field: None, targets }
}

fn response(status: u16, body: &str) -> Response {
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    Response { status, headers, body: body.as_bytes().to_vec(), is_cut: false, at: Millis(0) }
}

#[test]
fn an_answer_settles_each_contact_of_a_batch() {
    let (file, now) = (file(), Millis(0));
    let credentials = credentials(&file);
    let mut acting =
        Acting::new(&file, &credentials, order(&["a@x.org", "B@x.org", "c@x.org"]), BTreeMap::new()).unwrap();
    let ActStep::Send(request) = acting.next(now).unwrap() else { panic!("a request") };
    assert_eq!(request.body.as_deref(), Some(br#"{"emails":["a@x.org","B@x.org"]}"#.as_slice()));
    assert_eq!(header(&request.headers, "content-type"), Some("application/json"));
    let settled = acting.answer(&response(200, r#"{"a@x.org": true, "b@x.org": false}"#)).unwrap();
    assert_eq!(settled[0].outcome, ActionOutcome::Done { id: None });
    assert_eq!(settled[1].outcome, ActionOutcome::Gone);
    let ActStep::Send(request) = acting.next(now).unwrap() else { panic!("a request") };
    assert_eq!(request.body.as_deref(), Some(br#"{"emails":["c@x.org"]}"#.as_slice()));
    acting.answer(&response(200, r#"{"c@x.org": true}"#)).unwrap();
    assert_eq!(acting.next(now), Ok(ActStep::Done));
}

#[test]
fn a_broken_answer_is_no_success() {
    let now = Millis(0);
    let bare = BATCHES.replace("scope = \"account\"", "scope = \"account\"\nbare = true");
    for (text, is_bare) in [(BATCHES, false), (&bare, true)] {
        let file = ConnectorFile::parse("small.toml", text, Origin::Operator).unwrap();
        let credentials = credentials(&file);
        let answer = |status, body: &str| {
            let mut acting = Acting::new(&file, &credentials, order(&["a@x.org"]), BTreeMap::new()).unwrap();
            let first = acting.next(now).unwrap();
            let answered = acting.answer(&response(status, body));
            let is_repeated = acting.next(now).unwrap() == first;
            assert_eq!(answered.is_err(), is_repeated, "{body}");
            answered.map_err(|fault| fault.class)
        };
        for cut in [r#"{"a@x.org": tr"#, r#"{"a@x.org": true}}"#, "OK"] {
            assert_eq!(answer(200, cut), Err(ErrorClass::Unreadable), "{cut}");
        }
        for empty in ["{}", "[]", "", "null"] {
            assert_eq!(answer(200, empty).is_ok(), is_bare, "{empty}");
        }
        assert!(answer(204, "").is_ok() && answer(200, r#"{"ok": true}"#).is_ok());
    }
}

#[test]
fn only_the_contact_that_a_platform_rejects_is_left_out_of_a_batch() {
    let file = ConnectorFile::parse("small.toml", &BATCHES.replace("max = 2", "max = 8"), Origin::Operator).unwrap();
    let (credentials, now) = (credentials(&file), Millis(0));
    let emails = ["a@x.org", "b@x.org", "bad@x.org", "d@x.org", "e@x.org", "f@x.org", "g@x.org", "h@x.org"];
    let mut acting = Acting::new(&file, &credentials, order(&emails), BTreeMap::new()).unwrap();
    let mut left_out = Vec::new();
    while let ActStep::Send(request) = acting.next(now).unwrap() {
        let is_bad = String::from_utf8(request.body.unwrap()).unwrap().contains("bad@x.org");
        if let Err(fault) = acting.answer(&response(if is_bad { 422 } else { 200 }, "{\"ok\": true}")) {
            assert_eq!(fault.class, ErrorClass::Invalid);
            left_out.push(acting.leave_out(&fault.message));
        }
    }
    assert_eq!(left_out, [Some(2)]);
    let done = acting.outcomes().iter().filter(|outcome| **outcome == Some(ActionOutcome::Done { id: None }));
    assert_eq!(done.count(), emails.len() - 1);
}

#[test]
fn a_batch_that_fails_can_be_narrowed_to_one_contact() {
    let file = ConnectorFile::parse("small.toml", &BATCHES.replace("max = 2", "max = 8"), Origin::Operator).unwrap();
    let (credentials, now) = (credentials(&file), Millis(0));
    let mut acting =
        Acting::new(&file, &credentials, order(&["bad@x.org", "b@x.org", "c@x.org"]), BTreeMap::new()).unwrap();
    let mut left_out = None;
    while let ActStep::Send(request) = acting.next(now).unwrap() {
        let is_bad = String::from_utf8(request.body.unwrap()).unwrap().contains("bad@x.org");
        if let Err(fault) = acting.answer(&response(if is_bad { 500 } else { 200 }, "{\"ok\": true}")) {
            assert_eq!((fault.class, fault.status), (ErrorClass::Transient, 500));
            let before = left_out.or_else(|| acting.leave_out(&fault.message));
            assert!(before.is_some() || acting.narrow());
            left_out = before;
        }
    }
    assert_eq!(left_out, Some(0));
    assert!(!acting.narrow(), "nothing is left");
}

#[test]
fn a_fault_settles_nothing_and_is_asked_again() {
    let (file, now) = (file(), Millis(0));
    let credentials = credentials(&file);
    let mut acting = Acting::new(&file, &credentials, order(&["a@x.org"]), BTreeMap::new()).unwrap();
    let first = acting.next(now).unwrap();
    for status in [401, 403, 404, 429, 500, 503, 302] {
        acting.answer(&response(status, "{}")).unwrap_err();
        assert_eq!(acting.next(now).unwrap(), first, "{status}");
        assert_eq!(acting.outcomes(), [None]);
    }
    let mut cut = response(200, "{}");
    cut.is_cut = true;
    assert_eq!(acting.answer(&cut).unwrap_err().class, ErrorClass::Unreadable);
}

#[test]
fn faults_never_repeat_credentials_or_addresses() {
    let file = file();
    let credentials = credentials(&file);
    let mut acting = Acting::new(&file, &credentials, order(&["a@x.org"]), BTreeMap::new()).unwrap();
    let body = r#"{"message": "key hush-hush may not touch a@x.org"}"#;
    let fault = acting.answer(&response(401, body)).unwrap_err();
    assert_eq!(fault.message, "Small answered 401: key (redacted) may not touch (address)");
    let body = r#"{"message": "no member at /members/a%40x.org"}"#;
    let fault = acting.answer(&response(500, body)).unwrap_err();
    assert_eq!(fault.message, "Small answered 500: no member at (address)");
    assert!(!format!("{credentials:?}").contains("hush"));
}

#[test]
fn what_a_platform_lacks_is_refused_at_once() {
    let file = file();
    let credentials = credentials(&file);
    let delete = ActionOrder { kind: ActionKind::Delete, ..order(&["a@x.org"]) };
    assert!(Acting::new(&file, &credentials, delete, BTreeMap::new()).is_err());
}

/// Platform that lists its tags in pages, without a search by name.
const TAGS: &str = r#"
[actions.tag]
scope = "account"
ensure = ["tag"]
request = { post = "/members/{contact.id}/tags", json = { id = "{ensured.tag}" } }
[ensure.tag.find]
request = { get = "/tags", query = { after = "{page.token}", limit = "{page.size}" } }
page = { kind = "token", size = 2, at = "/next" }
records = "/tags"
where = "/name"
is = "{tag.name}"
id = "/id"
[ensure.tag.make]
request = { post = "/tags", json = { name = "{tag.name}" } }
id = "/id"
"#;

fn tagging() -> (ConnectorFile, ActionOrder) {
    let file = ConnectorFile::parse("tags.toml", &format!("{BATCHES}{TAGS}"), Origin::Operator).unwrap();
    (file, ActionOrder { kind: ActionKind::Tag, tag: Some("Probity".into()), ..order(&["a@x.org"]) })
}

fn sent(acting: &mut Acting<'_>) -> (String, String) {
    let ActStep::Send(request) = acting.next(Millis(0)).unwrap() else { panic!("a request") };
    (request.method.name().to_owned(), request.url.strip_prefix("https://api.example.org/api").unwrap().to_owned())
}

#[test]
fn a_tag_is_looked_for_on_every_page_before_it_is_made() {
    let (file, order) = tagging();
    let credentials = credentials(&file);
    let page = |names: [&str; 2], next: &str| {
        let tags = names.map(|name| format!(r#"{{"name": "{name}", "id": "id-{name}"}}"#)).join(",");
        response(200, &format!(r#"{{"tags": [{tags}], "next": {next}}}"#))
    };
    let mut acting = Acting::new(&file, &credentials, order.clone(), BTreeMap::new()).unwrap();
    assert_eq!(sent(&mut acting).1, "/tags?limit=2");
    acting.answer(&page(["a", "b"], "\"t2\"")).unwrap();
    acting.answer(&response(503, "{}")).unwrap_err();
    assert_eq!(sent(&mut acting).1, "/tags?after=t2&limit=2", "a fault leaves the page");
    acting.answer(&page(["c", "probity"], "\"t3\"")).unwrap();
    assert_eq!(sent(&mut acting), ("POST".into(), "/members/a%40x.org/tags".into()));
    assert_eq!(acting.memory().values().collect::<Vec<_>>(), ["id-probity"]);

    let mut acting = Acting::new(&file, &credentials, order, BTreeMap::new()).unwrap();
    for next in ["\"t2\"", "\"t3\"", "null"] {
        assert_eq!(sent(&mut acting).0, "GET");
        acting.answer(&page(["a", "b"], next)).unwrap();
    }
    assert_eq!(sent(&mut acting), ("POST".into(), "/tags".into()));
}

#[test]
fn pages_of_tags_without_end_make_nothing() {
    let (file, order) = tagging();
    let credentials = credentials(&file);
    let page = |number: u32| {
        response(200, &format!(r#"{{"tags": [{{"name": "n{number}", "id": "1"}}], "next": "t{number}"}}"#))
    };
    let mut acting = Acting::new(&file, &credentials, order.clone(), BTreeMap::new()).unwrap();
    let ended = (0..1_000).find_map(|number| acting.answer(&page(number)).err());
    assert_eq!(ended.unwrap().class, ErrorClass::Unreadable);
    let mut acting = Acting::new(&file, &credentials, order, BTreeMap::new()).unwrap();
    acting.answer(&page(1)).unwrap();
    assert!(acting.answer(&page(1)).unwrap_err().message.contains("comes again"));
    assert_eq!(sent(&mut acting).0, "GET");
}

#[test]
fn what_may_have_been_made_is_looked_for_before_it_is_made_again() {
    let (file, order) = tagging();
    let credentials = credentials(&file);
    let mut acting = Acting::new(&file, &credentials, order, BTreeMap::new()).unwrap();
    let (find, make) = (("GET", "/tags?limit=2"), ("POST", "/tags"));
    let (find, make) = ((find.0.into(), find.1.into()), (make.0.into(), make.1.into()));
    assert_eq!(sent(&mut acting), find);
    acting.answer(&response(200, r#"{"tags": []}"#)).unwrap();
    assert_eq!(sent(&mut acting), make);
    // The response is lost, or reports a failure although the change may have been made.
    assert_eq!(sent(&mut acting), find);
    acting.answer(&response(200, r#"{"tags": []}"#)).unwrap();
    assert_eq!(sent(&mut acting), make);
    acting.answer(&response(502, "")).unwrap_err();
    assert_eq!(sent(&mut acting), find);
    acting.answer(&response(200, r#"{"tags": [{"name": "probity", "id": 7}]}"#)).unwrap();
    assert_eq!(sent(&mut acting), ("POST".into(), "/members/a%40x.org/tags".into()));
    assert_eq!(acting.memory().values().collect::<Vec<_>>(), ["7"]);
}

#[test]
fn an_answer_without_the_contact_is_no_reason_to_write() {
    let file = crate::Catalog::embedded().get("listmonk").unwrap();
    let entered = [("url", "https://lists.example.org"), ("username", "u"), ("token", "t")];
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let credentials = Credentials::new(file, &entered, &HostAllowance::default()).unwrap();
    let target = ActionTarget { id: "1".to_owned(), value: Some("bad".into()), ..target("a@x.org") };
    let order = ActionOrder {
        kind: ActionKind::Fields,
        list: None,
        tag: None,
        field: Some("probity".to_owned()),
        targets: vec![target],
    };
    let mut acting = Acting::new(file, &credentials, order, BTreeMap::new()).unwrap();
    let first = acting.next(Millis(0)).unwrap();
    for body in
        [r#"{"data": {"attribs": {"city": "Ul"#, "", "{}", r#"{"message": "Internal error"}"#, r#"{"data": {}}"#]
    {
        let fault = acting.answer(&response(200, body)).unwrap_err();
        assert_eq!(fault.class, ErrorClass::Unreadable, "{body}");
        assert_eq!(acting.next(Millis(0)).unwrap(), first, "the value is read again");
    }
}
