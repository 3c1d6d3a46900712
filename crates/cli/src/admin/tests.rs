//! From a command line to what is asked, and from an answer to what is printed.

use clap::Parser as _;

use super::credits::Account;
use super::*;
use crate::args::{Cli, Command};

const ORG: &str = "org_01h455vb4pex5vsknk084sn02q";

fn request(line: &str) -> Result<Request> {
    let cli = Cli::try_parse_from(std::iter::once("probity").chain(line.split_whitespace()))?;
    match cli.command {
        Command::Orgs(args) => orgs::request(&args.command),
        Command::Keys(args) => keys::request(&args.command),
        Command::Credits(args) => credits::request(&args.command),
        Command::Audit(_) => Ok(Request::Audit),
        Command::Deliveries(args) => Ok(deliveries::request(&args.command)),
        Command::Users(args) => Ok(users::request(&args.command)),
        other => panic!("{other:?}"),
    }
}

fn org(id: &str, name: &str) -> Org {
    Org { id: id.into(), name: name.into(), plan: "metered".into(), status: "active".into(), created_at: Millis(1_500) }
}

fn key() -> Key {
    Key {
        id: "key_1".into(),
        organization: ORG.into(),
        name: "shop".into(),
        kind: "rk".into(),
        prefix: "probity_rk_".into(),
        last4: "aB3x".into(),
        scopes: vec!["verify".into()],
        origins: vec![],
        created_at: Millis(0),
        expires_at: None,
        last_used_at: Some(Millis(60_000)),
        revoked_at: None,
    }
}

#[test]
fn commands_become_requests() {
    let some = Some(ORG.to_owned());
    let status = |status| Request::SetStatus { org: ORG.into(), status };
    let live = NewKey {
        kind: KeyKind::Live,
        name: String::new(),
        scopes: vec![],
        origins: vec![],
        expires: None,
        per_minute: None,
    };
    let rk = NewKey {
        kind: KeyKind::Rk,
        name: "shop".into(),
        scopes: vec!["read:jobs".into(), "verify".into()],
        expires: Some(Moment::After(86_400_000)),
        per_minute: Some(60),
        ..live.clone()
    };
    let widget = NewKey { kind: KeyKind::Pub, origins: vec!["https://shop.example.com:8443".into()], ..live.clone() };
    let table = [
        ("orgs create Example", Request::CreateOrg { name: "Example".into(), plan: None }),
        ("orgs create X --plan metered", Request::CreateOrg { name: "X".into(), plan: Some(Plan::Metered) }),
        ("orgs list --json", Request::ListOrgs),
        (&format!("orgs suspend {ORG}"), status(OrgStatus::Suspended)),
        (&format!("orgs pause {ORG}"), status(OrgStatus::Paused)),
        (&format!("orgs ban {ORG}"), status(OrgStatus::Banned)),
        (&format!("orgs lift {ORG}"), status(OrgStatus::Active)),
        ("keys create", Request::CreateKey { org: None, key: live }),
        (
            &format!(
                "keys create --org {ORG} --kind rk --name shop --scope verify --scope read:jobs --scope verify --expires 1d --rate 60"
            ),
            Request::CreateKey { org: some.clone(), key: rk },
        ),
        (
            "keys create --kind pub --origin https://Shop.example.com:8443",
            Request::CreateKey { org: None, key: widget },
        ),
        ("keys list --data /srv", Request::ListKeys { org: None }),
        ("keys revoke key_1", Request::RevokeKey { org: None, key: "key_1".into() }),
        ("credits grant --amount 5", Request::Grant { org: None, bucket: Bucket::Prepaid, amount: 5, until: None }),
        (
            "credits grant --amount 5 --bucket subscription --until 1970-01-01",
            Request::Grant {
                org: None,
                bucket: Bucket::Subscription,
                amount: 5,
                until: Some(Moment::At(Millis(86_400_000))),
            },
        ),
        (&format!("credits show --org {ORG}"), Request::Balance { org: some }),
        ("credits audit", Request::AuditCredits),
        ("audit", Request::Audit),
        (
            "credits adjust --bucket subscription --amount -5",
            Request::Adjust { org: None, bucket: Bucket::Subscription, amount: -5 },
        ),
        ("deliveries list", Request::ListDeliveries { org: None, state: None, limit: 50 }),
        (
            "deliveries list --state exhausted --limit 5",
            Request::ListDeliveries { org: None, state: Some(DeliveryState::Exhausted), limit: 5 },
        ),
        ("deliveries show dlv_1", Request::ShowDelivery { org: None, delivery: "dlv_1".into() }),
        ("deliveries resend dlv_1", Request::ResendDelivery { org: None, delivery: "dlv_1".into() }),
    ];
    for (line, expected) in table {
        assert_eq!(request(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn commands_about_people_become_requests() {
    let table: [(&str, Request); 5] = [
        (&format!("users list --org {ORG}"), Request::ListUsers { org: Some(ORG.into()) }),
        (
            "users invite ann@example.com --name Ann",
            Request::InviteUser {
                org: None,
                email: "ann@example.com".into(),
                name: Some("Ann".into()),
                role: "contributor".into(),
            },
        ),
        ("users pause usr_1", Request::ChangeUser { who: "usr_1".into(), org: None, fate: Fate::Pause }),
        ("users resume usr_1", Request::ChangeUser { who: "usr_1".into(), org: None, fate: Fate::Resume }),
        (
            &format!("users remove ann@example.com --org {ORG}"),
            Request::ChangeUser { who: "ann@example.com".into(), org: Some(ORG.into()), fate: Fate::Remove },
        ),
    ];
    for (line, expected) in table {
        assert_eq!(request(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = [
        ("keys create --kind rk", "--scope"),
        ("keys create --scope verify", "kind rk"),
        ("keys create --kind pub", "--origin"),
        ("keys create --kind pub --origin https://a.example --scope verify", "kind rk"),
        ("keys create --kind test --origin https://a.example", "kind pub"),
        ("keys create --kind pub --origin https://a.example/page", "without a path"),
        ("keys create --kind pub --origin shop.example.com", "https://"),
        ("keys create --kind rk --scope read:everything", "read:jobs"),
        ("keys create --expires yesterday", "90d"),
        ("keys create --rate 0", "0"),
        ("credits grant --amount 0", "0"),
        ("credits grant --amount -5", "-5"),
        ("credits grant --amount 5 --until 30d", "--bucket subscription"),
        ("credits adjust --bucket prepaid --amount 0", "changes nothing"),
        ("credits adjust --amount 5", "--bucket"),
        ("orgs suspend", "ORG"),
        ("deliveries list --limit 0", "0"),
        ("deliveries list --state lost", "exhausted"),
        ("deliveries show", "DELIVERY_ID"),
    ];
    for (line, message) in table {
        let said = request(line).unwrap_err().to_string();
        assert!(said.contains(message), "{line}: {said}");
    }
}

#[test]
fn without_a_name_the_only_organization_is_meant() {
    assert!(only(&[]).unwrap_err().to_string().contains("orgs create"));
    assert_eq!(only(&[org("org_1", "A")]).unwrap().id, "org_1");
    let several: Vec<Org> = (1..=6).map(|n| org(&format!("org_{n}"), "A")).collect();
    let said = only(&several).unwrap_err().to_string();
    assert!(
        said.contains("6 organizations") && said.ends_with("--org: org_1, org_2, org_3, org_4, org_5, ..."),
        "{said}"
    );
}

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
    let created = shown(Answer::NewKey(key(), "probity_rk_secret".into()));
    assert!(created.ends_with("shown only now.\n\n    probity_rk_secret\n"), "{created}");
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
        serde_json::from_str(&shown(Answer::NewKey(key(), "probity_rk_secret".into()))).unwrap();
    assert_eq!(created["secret"], "probity_rk_secret");
    assert_eq!(created["last_used_at"], "1970-01-01T00:01:00Z");
    assert_eq!(created["expires_at"], serde_json::Value::Null);
    assert!(!shown(Answer::Keys(vec![key()])).contains("secret"));
}

#[test]
fn an_audit_says_what_does_not_agree_and_fails() {
    let well = Answer::Audit(vec![]);
    let text = |answer: &Answer, style| answer.show(style).unwrap();
    assert_eq!(text(&well, Style::Table { colours: false }), "Everything agrees.\n");
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
    };
    let answer = Answer::Delivery(Box::new(detail));
    let text = answer.show(table).unwrap();
    assert!(text.contains("came to        timeout in 10000 ms\n"), "{text}");
    assert!(text.contains("body           {\"id\":\"job_1\"}\n") && !text.contains('\u{1b}'), "{text}");
    let json: serde_json::Value = serde_json::from_str(&answer.show(Style::Json).unwrap()).unwrap();
    assert_eq!((&json["id"], &json["body"]), (&"dlv_1".into(), &"{\"id\":\"job_1\"}".into()));
    assert_eq!(json["next_at"], "1970-01-01T00:01:00Z");
}
