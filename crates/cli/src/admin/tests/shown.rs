//! Output of results as text.

use probity_contract::published::operator::audit::AuditFinding;
use probity_contract::published::operator::credits::{BucketCredits, CreditBalance};
use serde_json::{Value, json};

use super::super::*;
use super::ORG;
use crate::exit::Exit;
use crate::output::Style;
use crate::output::printout::{AnswerView, OneField, join};

const TABLE: Style = Style::Table { colours: false };

fn shown(objects: &[Value], view: AnswerView) -> String {
    Printout::of(objects, view).unwrap().render(TABLE).unwrap()
}

fn key() -> Value {
    json!({
        "organization": ORG, "id": "key_1", "name": "shop", "kind": "rk", "prefix": "probity_rk_", "last4": "aB3x",
        "created_at": "1970-01-01T00:00:00.000Z", "expires_at": null, "last_used_at": "1970-01-01T00:01:00.999Z",
        "revoked_at": null
    })
}

#[test]
fn people_get_tables() {
    let org = |id: &str, name: &str| json!({ "id": id, "name": name, "plan": "metered", "status": "active", "created_at": "1970-01-01T00:00:01.500Z" });
    assert_eq!(
        shown(&[org("org_1", "Long enough"), org("org_22", "\u{1b}[2J")], AnswerView::Rows(orgs::ORGANIZATIONS)),
        "\
ORGANIZATION  STATUS  PLAN     CREATED               NAME
org_1         active  metered  1970-01-01T00:00:01Z  Long enough
org_22        active  metered  1970-01-01T00:00:01Z  \\u{1b}[2J
"
    );
    let mut revoked = key();
    (revoked["revoked_at"], revoked["last_used_at"]) = (json!("1970-01-01T00:00:00.000Z"), Value::Null);
    assert_eq!(
        shown(&[key(), revoked], AnswerView::Rows(keys::KEYS)),
        "\
ID     KEY                 ENDS                          LAST USED             NAME
key_1  probity_rk_...aB3x  never                         1970-01-01T00:01:00Z  shop
key_1  probity_rk_...aB3x  revoked 1970-01-01T00:00:00Z  never                 shop
"
    );
    let mut made = key();
    made["secret"] = json!("probity_rk_secret");
    let created = shown(&[made], keys::NEW_KEY);
    assert!(created.ends_with("shown once.\n\n    probity_rk_secret\n"), "{created}");
}

#[test]
fn a_balance_has_a_row_for_each_kind_and_the_sum() {
    let account = |available, held, spent| BucketCredits { available, held, spent };
    let balance = CreditBalance { subscription: account(5, 0, 0), prepaid: account(100, 2, 40), total: 105 };
    let printout = Printout::one(balance, credits::BALANCE).unwrap();
    assert_eq!(
        printout.render(TABLE).unwrap(),
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
    let two = Printout::of([1, 2].map(|id| json!({ "id": id })), AnswerView::Rows(keys::KEYS)).unwrap();
    assert_eq!(two.render(Style::Json).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
    let none = Printout::of(Vec::<Value>::new(), AnswerView::Rows(keys::KEYS)).unwrap();
    assert_eq!(none.render(Style::Json).unwrap(), "");
    let account = BucketCredits { available: 5, held: 0, spent: 0 };
    let answer = CreditBalance { subscription: account, prepaid: account, total: 10 };
    let of = join(OneField("organization", ORG), answer);
    let line = Printout::one(of, credits::BALANCE).unwrap().render(Style::Json).unwrap();
    assert!(line.starts_with(&format!("{{\"organization\":\"{ORG}\",\"subscription\":{{\"available\":5")), "{line}");
}

#[test]
fn an_audit_says_what_does_not_agree_and_fails() {
    let well = installation::print_findings(Vec::new()).unwrap();
    assert_eq!(well.render(TABLE).unwrap(), "Audit passed.\n");
    assert_eq!((well.render(Style::Json).unwrap().as_str(), well.exit()), ("", Exit::Done));
    let at = AuditFinding {
        organization: "org_1".into(),
        invariant: "account_spent".into(),
        rule: "spent = captured".into(),
        subject: "prepaid".into(),
        said: 5,
        found: 4,
    };
    let ill = installation::print_findings(vec![at]).unwrap();
    assert_eq!(
        ill.render(TABLE).unwrap(),
        "\
ORGANIZATION  OF       SAID  FOUND  BROKEN RULE
org_1         prepaid  5     4      spent = captured
"
    );
    let json = concat!(
        r#"{"organization":"org_1","invariant":"account_spent","rule":"spent = captured","#,
        r#""subject":"prepaid","said":5,"found":4}"#
    );
    assert_eq!((ill.render(Style::Json).unwrap().trim_end(), ill.exit()), (json, Exit::NotPassed));
}

fn delivery() -> Value {
    json!({
        "organization": ORG, "id": "dlv_1", "event": "evt_1", "kind": "job.finished", "webhook": null,
        "url": "https://hooks.example.com/", "state": "waiting", "attempts": 2, "next_at": "1970-01-01T00:01:00.000Z",
        "last_at": "1970-01-01T00:00:01.000Z", "last_status": null, "last_error": "timeout", "last_took_ms": 10_000,
        "created_at": "1970-01-01T00:00:00.000Z"
    })
}

#[test]
fn deliveries_are_shown_to_people() {
    let mut done = delivery();
    (done["state"], done["last_status"]) = (json!("delivered"), json!(204));
    (done["last_error"], done["next_at"]) = (Value::Null, Value::Null);
    assert_eq!(
        shown(&[delivery(), done], AnswerView::Rows(deliveries::DELIVERIES)),
        "\
ID     STATE      ATTEMPTS  LAST     NEXT                  URL
dlv_1  waiting    2         timeout  1970-01-01T00:01:00Z  https://hooks.example.com/
dlv_1  delivered  2         204      never                 https://hooks.example.com/
"
    );
    let mut detail = delivery();
    (detail["body"], detail["last_answer"]) = (json!("{\"id\":\"job_1\"}"), json!("\u{1b}[2Jno"));
    detail["earlier_attempts"] = json!([{
        "at": "1970-01-01T00:00:00.000Z", "url": "https://hooks.example.com/old", "status": 500, "error": null,
        "took_ms": 7, "answer": "\u{1b}[2Jno"
    }]);
    let text = shown(&[detail], deliveries::SHOWN);
    assert!(text.contains("last result       timeout in 10000 ms\n"), "{text}");
    assert!(text.contains("first attempt     never\n"), "{text}");
    assert!(
        text.contains("before            1970-01-01T00:00:00Z 500 in 7 ms, https://hooks.example.com/old "),
        "{text}"
    );
    assert!(text.contains("body              {\"id\":\"job_1\"}\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn lists_are_shown_to_people() {
    let job = json!({
        "id": "job_1", "status": "completed", "source": "csv", "created_at": "1970-01-01T00:00:00.000Z", "name": "Spring",
        "results": { "total": 3, "passed": 1, "undeliverable": 1, "risky": 1, "unknown": 0 }
    });
    let queued = json!({
        "id": "job_2", "status": "queued", "source": "api", "created_at": "1970-01-01T00:00:00.000Z", "results": null
    });
    assert_eq!(
        shown(&[job, queued], lists::LISTED),
        "\
JOB    STATUS     SOURCE  CREATED               ROWS  PASSED  UNDELIVERABLE  RISKY  UNKNOWN  NAME
job_1  completed  csv     1970-01-01T00:00:00Z  3     1       1              1      0        Spring
job_2  queued     api     1970-01-01T00:00:00Z  -     -       -              -      -
"
    );
    let row = json!({ "index": 0, "email": "a\u{1b}[2J@x.org", "provider": null });
    let text = shown(&[row], AnswerView::Rows(lists::ROWS));
    assert!(text.contains("0    a\\u{1b}[2J@x.org  pending\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn that_there_is_nothing_is_a_note() {
    let noted = |objects: &[Value]| Printout::of(objects, lists::LISTED).unwrap().or_note("no lists found");
    assert_eq!((noted(&[json!({})]).note(), noted(&[]).note()), (None, Some("no lists found")));
    assert_eq!(noted(&[]).render(Style::Json).unwrap(), "");
    assert!(shown(&[json!({ "job": null })], settings::TRIED).starts_with("No completed list"));
}

#[test]
fn a_link_is_told_with_its_end() {
    let link = json!({ "url": "https://verify.example.com/#/link/abc", "expires_at": "1970-01-02T00:00:00.000Z" });
    let text = users::link_text(&link, "of usr_1", "org_1");
    assert!(text.starts_with("https://verify.example.com/#/link/abc\n"), "{text}");
    assert!(text.contains("usr_1") && text.contains("1970-01-02T00:00:00Z"), "{text}");
    let created = json!({ "id": "org_1", "name": "A", "link": link });
    let text = shown(&[created], orgs::CREATED);
    assert!(
        text.contains("\nhttps://verify.example.com/#/link/abc\n") && text.contains("of the owner in org_1"),
        "{text}"
    );
}

#[test]
fn a_forecast_says_what_is_not_known() {
    let forecast = json!({
        "counts": { "addresses": 4, "distinct": 3, "duplicates": 1, "empty": 0, "invalid": 0 },
        "providers": [{ "id": "google", "name": "Google", "addresses": 3, "never_tells": false, "held_until": null }],
        "accept_all": 0, "unknown": { "low": 0, "high": null },
        "credits": { "held": 4, "low": 0, "high": 3, "available": 2, "enough": false },
        "time": { "low_s": 3, "high_s": 3, "slowest": "google" }
    });
    let text = shown(&[forecast], lists::adding::FORECAST);
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

#[test]
fn a_run_that_waits_is_shown_with_the_command_that_confirms_it() {
    let sums = json!({ "planned": 2, "due": 0, "done": 0, "failed": 0, "ignored": 0 });
    let mut run = json!({
        "id": "job_1", "connection_id": "conn_1", "trigger": "manual", "dry_run": true, "state": "needs_confirmation",
        "held_by": "dry_run", "fault": null, "contacts": 9, "rows": 8, "actions": sums,
        "created_at": "1970-01-01T00:00:00.000Z", "waits_until": null, "confirmed_at": null, "finished_at": null,
        "counts": [{ "action": "delete", "reason": "nonexistent", "planned": 2, "due": 0, "done": 0, "failed": 0, "ignored": 0 }],
        "examples": [{
            "email": "\u{1b}a@example.org", "contact_id": "1", "action": "delete", "reason": "nonexistent",
            "state": "planned", "suggestion": null, "message": null
        }]
    });
    let text = shown(&[run.clone()], integrations::shown::RUN);
    for line in [
        "state             needs_confirmation (dry_run)\n",
        "delete  nonexistent  2        0    0     0       0\n",
        "\\u{1b}a@example.org  delete  nonexistent  planned\n",
        "\nto let it happen: probity integrations runs confirm conn_1 job_1 --actions 2\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    run["state"] = json!("finished");
    assert!(!shown(&[run], integrations::shown::RUN).contains("confirm conn_1"));
}

#[test]
fn the_timeline_says_who_did_what_with_names() {
    let event = |what: Value| {
        let mut event =
            json!({ "at": "1970-01-01T00:00:01Z", "actor": { "type": "api_key", "id": "key_1", "name": "Website" } });
        event.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        event
    };
    let job = json!({ "id": "job_1", "status": "completed", "name": "Spring" });
    let run = json!({ "type": "connection_change", "provider": "ghost", "change": "run_confirmed", "run_id": "job_2", "contacts": 12 });
    let staff = json!({ "type": "account_event", "kind": "key_created", "actor": { "type": "staff" } });
    let events = [event(json!({ "type": "job", "trigger": "api", "job": job })), event(run), event(staff)];
    let shown = shown(&events, AnswerView::Rows(reports::EVENTS));
    for line in [
        "job                api_key Website  Spring: job_1 completed, by api",
        "connection_change  api_key Website  ghost: run_confirmed, job_2, contacts: 12",
        "account_event      staff            key_created",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}
