//! Output: answer to text.

use super::super::credits::Account;
use super::*;
use crate::exit::Exit;
use crate::output::Style;

#[test]
fn people_get_tables() {
    let shown = |answer: Answer| answer.show(Style::Table { colours: false }).unwrap();
    assert_eq!(
        shown(Answer::Orgs(vec![org("org_1", "Long enough"), org("org_22", "\u{1b}[2J")])),
        "\
ORGANIZATION  STATUS  PLAN     CREATED               NAME
org_1         active  metered  1970-01-01T00:00:01Z  Long enough
org_22        active  metered  1970-01-01T00:00:01Z  \\u{1b}[2J
"
    );
    let revoked = Key { revoked_at: Some(Millis(0)), last_used_at: None, ..key() };
    assert_eq!(
        shown(Answer::Keys(vec![key(), revoked])),
        "\
ID     KEY                 ENDS                          LAST USED             NAME
key_1  probity_rk_...aB3x  never                         1970-01-01T00:01:00Z  shop
key_1  probity_rk_...aB3x  revoked 1970-01-01T00:00:00Z  never                 shop
"
    );
    let created = shown(Answer::NewKey(Box::new(key()), "probity_rk_secret".into()));
    assert!(created.ends_with("shown once.\n\n    probity_rk_secret\n"), "{created}");
    let account = |available, held, spent| Account { available, held, spent };
    let balance =
        Balance { organization: ORG.into(), subscription: account(5, 0, 0), prepaid: account(100, 2, 40), total: 105 };
    assert_eq!(
        shown(Answer::Balance(balance)),
        "\
CREDITS       AVAILABLE  HELD  SPENT
subscription  5          0     0
prepaid       100        2     40
total         105        2     40
"
    );
}

#[test]
fn programs_get_one_object_a_line() {
    let shown = |answer: Answer| answer.show(Style::Json).unwrap();
    assert_eq!(
        shown(Answer::Orgs(vec![org("org_1", "A"), org("org_2", "B")])).lines().last().unwrap(),
        r#"{"id":"org_2","name":"B","plan":"metered","status":"active","created_at":"1970-01-01T00:00:01Z"}"#
    );
    assert_eq!(shown(Answer::Keys(vec![])), "");
    let created: serde_json::Value =
        serde_json::from_str(&shown(Answer::NewKey(Box::new(key()), "probity_rk_secret".into()))).unwrap();
    assert_eq!(created["secret"], "probity_rk_secret");
    assert_eq!(created["last_used_at"], "1970-01-01T00:01:00Z");
    assert_eq!(created["expires_at"], serde_json::Value::Null);
    assert!(!shown(Answer::Keys(vec![key()])).contains("secret"));
}

#[test]
fn an_audit_says_what_does_not_agree_and_fails() {
    let well = Answer::Audit(vec![]);
    let text = |answer: &Answer, style| answer.show(style).unwrap();
    assert_eq!(text(&well, Style::Table { colours: false }), "Audit passed.\n");
    assert_eq!((text(&well, Style::Json).as_str(), well.exit()), ("", Exit::Done));
    let at = Discrepancy {
        organization: "org_1".into(),
        invariant: "account_spent".into(),
        rule: "spent = captured".into(),
        subject: "prepaid".into(),
        said: 5,
        found: 4,
    };
    let ill = Answer::Audit(vec![at]);
    assert_eq!(
        text(&ill, Style::Table { colours: false }),
        "\
ORGANIZATION  OF       SAID  FOUND  BROKEN RULE
org_1         prepaid  5     4      spent = captured
"
    );
    let json = concat!(
        r#"{"organization":"org_1","invariant":"account_spent","rule":"spent = captured","#,
        r#""subject":"prepaid","said":5,"found":4}"#
    );
    assert_eq!((text(&ill, Style::Json).trim_end(), ill.exit()), (json, Exit::NotPassed));
}

fn delivery() -> Delivery {
    Delivery {
        id: "dlv_1".into(),
        organization: ORG.into(),
        event: "evt_1".into(),
        kind: "job.finished".into(),
        webhook: None,
        url: "https://hooks.example.com/".into(),
        state: "waiting".into(),
        attempts: 2,
        next_at: Some(Millis(60_000)),
        last_at: Some(Millis(1_000)),
        last_status: None,
        last_error: Some("timeout".into()),
        last_took_ms: Some(10_000),
        created_at: Millis(0),
    }
}

#[test]
fn deliveries_are_shown_to_people_and_programs() {
    let done =
        Delivery { state: "delivered".into(), last_status: Some(204), last_error: None, next_at: None, ..delivery() };
    let table = Style::Table { colours: false };
    assert_eq!(
        Answer::Deliveries(vec![delivery(), done]).show(table).unwrap(),
        "\
ID     STATE      ATTEMPTS  LAST     NEXT                  URL
dlv_1  waiting    2         timeout  1970-01-01T00:01:00Z  https://hooks.example.com/
dlv_1  delivered  2         204      never                 https://hooks.example.com/
"
    );
    let detail = Detail {
        delivery: delivery(),
        first_at: None,
        body: "{\"id\":\"job_1\"}".into(),
        last_answer: "\u{1b}[2Jno".into(),
        earlier_attempts: vec![Attempt {
            at: Millis(0),
            url: "https://hooks.example.com/old".into(),
            status: Some(500),
            error: None,
            took_ms: 7,
            answer: "\u{1b}[2Jno".into(),
        }],
    };
    let answer = Answer::Delivery(Box::new(detail));
    let text = answer.show(table).unwrap();
    assert!(text.contains("last result    timeout in 10000 ms\n"), "{text}");
    assert!(text.contains("before         1970-01-01T00:00:00Z 500 in 7 ms, https://hooks.example.com/old "), "{text}");
    assert!(text.contains("body           {\"id\":\"job_1\"}\n") && !text.contains('\u{1b}'), "{text}");
    let json: serde_json::Value = serde_json::from_str(&answer.show(Style::Json).unwrap()).unwrap();
    assert_eq!((&json["id"], &json["body"]), (&"dlv_1".into(), &"{\"id\":\"job_1\"}".into()));
    assert_eq!(json["next_at"], "1970-01-01T00:01:00Z");
}

fn told(objects: &[&str], table: fn(&[serde_json::Value]) -> String) -> Answer {
    let raw = |object: &&str| serde_json::value::RawValue::from_string((*object).to_owned()).unwrap();
    Answer::Told(Told::all(objects.iter().map(raw).collect(), table))
}

#[test]
fn objects_of_the_api_are_shown_to_people_and_left_alone_for_programs() {
    let table = Style::Table { colours: false };
    let job = r#"{"id":"job_1","status":"completed","source":"csv","created_at":"T","results":{"total":3,"passed":1,"undeliverable":1,"risky":1,"unknown":0}}"#;
    let queued = r#"{"id":"job_2","status":"queued","source":"api","created_at":"T","results":null}"#;
    let jobs = told(&[job, queued], lists::table);
    assert_eq!(
        jobs.show(table).unwrap(),
        "\
JOB    STATUS     SOURCE  CREATED  ROWS  PASSED  UNDELIVERABLE  RISKY  UNKNOWN
job_1  completed  csv     T        3     1       1              1      0
job_2  queued     api     T        -     -       -              -      -
"
    );
    assert_eq!(jobs.show(Style::Json).unwrap(), format!("{job}\n{queued}\n"));
    let rows = told(&[r#"{"index":0,"email":"a\u001b[2J@x.org","provider":null}"#], lists::rows_table);
    let text = rows.show(table).unwrap();
    assert!(text.contains("0    a\\u{1b}[2J@x.org  pending\n") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(jobs.note(), None);
    let nothing = |objects: &[&str]| match told(objects, lists::table) {
        Answer::Told(told) => Answer::Told(told.or_none("no lists found")),
        other => other,
    };
    assert_eq!((nothing(&[job]).note(), nothing(&[]).note()), (None, Some("no lists found")));
    assert_eq!(nothing(&[]).show(Style::Json).unwrap(), "");
    let none = told(&[r#"{"job":null}"#], settings::trials);
    assert!(none.show(table).unwrap().starts_with("No completed list"));
}

#[test]
fn a_forecast_says_what_is_not_known() {
    let forecast = r#"{"counts":{"addresses":4,"distinct":3,"duplicates":1,"empty":0,"invalid":0},
        "providers":[{"id":"google","name":"Google","addresses":3,"never_tells":false,"held_until":null}],"accept_all":0,
        "unknown":{"low":0,"high":null},"credits":{"held":4,"low":0,"high":3,"available":2,"enough":false},
        "time":{"low_s":3,"high_s":3,"slowest":"google"}}"#;
    let text = told(&[forecast], lists::forecasts).show(Style::Table { colours: false }).unwrap();
    for line in [
        "expected unknown   0 to not known\n",
        "cost in credits    0 to 3\n",
        "available credits  2: not enough\n",
        "time in seconds    3\n",
        "google    Google  3\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
}
