//! Parsing: command line to request. [`shown`] tests output: answer to text.

mod shown;

use clap::Parser as _;
use probity_account::webhook::Topic;
use probity_mail::time::Millis;
use probity_mail::verdict::Status;

use super::*;
use crate::args::{Cli, Command};

const ORG: &str = "org_01h455vb4pex5vsknk084sn02q";

fn request(line: &str) -> Result<Request> {
    let cli = Cli::try_parse_from(std::iter::once("probity").chain(line.split_whitespace()))?;
    match cli.command {
        Command::Orgs(args) => orgs::request(&args.command),
        Command::Plans(_) => Ok(Request::Plans),
        Command::Keys(args) => keys::request(&args.command),
        Command::Credits(args) => credits::request(&args.command),
        Command::Audit(_) => Ok(Request::Audit),
        Command::Deliveries(args) => Ok(deliveries::request(&args.command)),
        Command::Erasures(args) => erasures::request(&args.command),
        Command::Webhooks(args) => Ok(webhooks::request(&args.command)),
        Command::Suppressions(args) => suppressions::request(&args.command),
        Command::Lists(args) => Ok(lists::request(&args.command)),
        Command::Settings(args) => settings::request(&args.command),
        Command::Usage(args) => Ok(reports::usage(&args.command)),
        Command::Timeline(args) => Ok(reports::timeline(&args)),
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
        daily_cap: None,
        created_at: Millis(0),
        expires_at: None,
        last_used_at: Some(Millis(60_000)),
        revoked_at: None,
    }
}

fn booking(is_grant: bool, bucket: Bucket, amount: i64) -> Booking {
    Booking { org: None, is_grant, bucket, amount, until: None, reference: None }
}

#[test]
fn wishes_to_erase_become_requests() {
    let emails = || vec!["a@example.org".to_owned(), "b@example.org".to_owned()];
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), " b@example.org \n\n").unwrap();
    let from_file = format!("erasures erase a@example.org --file {}", file.path().display());
    let cases = [
        ("erasures list", ErasureWish::List { org: None, limit: 50 }),
        ("erasures erase a@example.org b@example.org", ErasureWish::Erase { org: None, emails: emails() }),
        (&from_file, ErasureWish::Erase { org: None, emails: emails() }),
        ("erasures show era_1", ErasureWish::Show { org: None, erasure: "era_1".into() }),
    ];
    for (line, wish) in cases {
        assert_eq!(request(line).unwrap(), Request::Erasures(wish), "{line}");
    }
    assert!(request("erasures erase").unwrap_err().to_string().contains("no addresses"));
}

#[test]
fn commands_become_requests() {
    let some = Some(ORG.to_owned());
    let status = |status| Request::SetStatus { org: ORG.into(), status, reason: None };
    let live = NewKey {
        kind: KeyKind::Live,
        name: String::new(),
        scopes: vec![],
        origins: vec![],
        daily_cap: None,
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
    let origins = vec!["https://shop.example.com:8443".into()];
    let widget = NewKey { kind: KeyKind::Pub, origins, daily_cap: Some(500), ..live.clone() };
    let table = [
        ("orgs create Example", Request::CreateOrg { name: "Example".into(), plan: None }),
        ("orgs create X --plan metered", Request::CreateOrg { name: "X".into(), plan: Some("metered".into()) }),
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
            "keys create --kind pub --origin https://Shop.example.com:8443 --daily-cap 500",
            Request::CreateKey { org: None, key: widget },
        ),
        ("keys list --data /srv", Request::ListKeys { org: None }),
        ("keys revoke key_1", Request::RevokeKey { org: None, key: "key_1".into() }),
        ("credits grant --amount 5", Request::Book(booking(true, Bucket::Prepaid, 5))),
        (
            "credits grant --amount 5 --bucket subscription --until 1970-01-01",
            Request::Book(Booking {
                until: Some(Moment::At(Millis(86_400_000))),
                ..booking(true, Bucket::Subscription, 5)
            }),
        ),
        (&format!("credits show --org {ORG}"), Request::Balance { org: some }),
        ("credits audit", Request::AuditCredits),
        ("audit", Request::Audit),
        ("credits adjust --bucket subscription --amount -5", Request::Book(booking(false, Bucket::Subscription, -5))),
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
fn commands_about_plans_become_requests() {
    let change = Change {
        plan: Some("team".into()),
        seats: Own::Given(20),
        low_balance: Own::AsPlan,
        entitlements: vec![("sso".into(), None), ("webhooks".into(), Some(true)), ("autofloss".into(), Some(false))],
        ..Change::default()
    };
    let org = || ORG.to_owned();
    let held =
        |status, reason: Option<&str>| Request::SetStatus { org: org(), status, reason: reason.map(str::to_owned) };
    let booking =
        |is_grant, amount| Booking { reference: Some("INV-1".into()), ..booking(is_grant, Bucket::Prepaid, amount) };
    let table = [
        ("plans --json", Request::Plans),
        (&*format!("orgs show {ORG}"), Request::ShowOrg { org: org() }),
        (
            &*format!(
                "orgs change {ORG} --plan team --seats 20 --low-balance plan --entitle webhooks --deny autofloss --as-plan sso"
            ),
            Request::ChangeOrg { org: org(), change },
        ),
        (&*format!("orgs ban {ORG} --reason abuse"), held(OrgStatus::Banned, Some("abuse"))),
        (&*format!("orgs review {ORG}"), held(OrgStatus::UnderReview, None)),
        ("credits grant --amount 5 --reference INV-1", Request::Book(booking(true, 5))),
        ("credits adjust --bucket prepaid --amount -5 --reference INV-1", Request::Book(booking(false, -5))),
        ("credits ledger --limit 5", Request::Ledger { org: None, limit: 5 }),
    ];
    for (line, expected) in table {
        assert_eq!(request(line).unwrap(), expected, "{line}");
    }
    for wrong in ["orgs change", "orgs change org_1", "orgs change org_1 --seats 0", "orgs change org_1 --deny all"] {
        assert!(request(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn commands_about_people_become_requests() {
    let table: [(&str, Request); 9] = [
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
        (
            "users identity usr_1 requires-input",
            Request::Identify { who: "usr_1".into(), org: None, identity: Identity::RequiresInput },
        ),
        (
            "users role usr_1 administrator",
            Request::ChangeUser { who: "usr_1".into(), org: None, fate: Fate::Role("administrator".into()) },
        ),
        ("users sessions usr_1", Request::Sessions { who: "usr_1".into(), org: None }),
        (
            "users sign-out usr_1 --session ses_1",
            Request::SignOut { who: "usr_1".into(), org: None, session: Some("ses_1".into()) },
        ),
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
fn commands_about_webhooks_and_suppression_lists_become_requests() {
    let webhook = webhooks::NewWebhook {
        name: "CRM".into(),
        url: "https://crm.example.com".into(),
        events: vec![Topic::JobFinished, Topic::Status(Status::Risky)],
        test: true,
    };
    let about = |wish| Request::Webhooks { org: None, wish };
    let list = |wish| Request::Suppressions { org: None, wish };
    let (id, bounced) = (|| "whk_1".to_owned(), || "bounced".to_owned());
    let jo = || vec!["jo@example.org".to_owned(), "x".to_owned()];
    let of_org = Request::Webhooks { org: Some(ORG.into()), wish: webhooks::Wish::List };
    let table = [
        (&*format!("webhooks list --org {ORG}"), of_org),
        (
            "webhooks create https://crm.example.com --name CRM --event job.finished --event status.risky --test",
            about(webhooks::Wish::Create(webhook)),
        ),
        ("webhooks pause whk_1", about(webhooks::Wish::Pause(id()))),
        ("webhooks resume whk_1", about(webhooks::Wish::Resume(id()))),
        ("webhooks remove whk_1", about(webhooks::Wish::Remove(id()))),
        ("webhooks test whk_1", about(webhooks::Wish::Test(id()))),
        ("webhooks rotate whk_1", about(webhooks::Wish::Rotate(id()))),
        ("suppressions count", list(suppressions::Wish::Count)),
        ("suppressions add bounced jo@example.org x", list(suppressions::Wish::Add(bounced(), jo()))),
        ("suppressions remove bounced jo@example.org x", list(suppressions::Wish::Remove(bounced(), jo()))),
        ("suppressions remove bounced --all", list(suppressions::Wish::Clear(bounced()))),
    ];
    for (line, expected) in table {
        assert_eq!(request(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn commands_about_lists_become_requests() {
    use lists::{Download, Listing, NewList, Rows, Wish};
    let new = |file: Option<&str>| NewList {
        file: file.map(Into::into),
        column: None,
        no_header: false,
        sheet: None,
        forecast: false,
        reference: None,
    };
    let forecast = NewList {
        column: Some("E-mail".into()),
        no_header: true,
        sheet: Some("May".into()),
        forecast: true,
        ..new(Some("a.xlsx"))
    };
    let job = || "job_1".to_owned();
    let narrowed = vec![("status", "risky".to_owned()), ("provider", "google".to_owned()), ("q", "ann".to_owned())];
    let parameters = |format: &str| vec![("format", format.to_owned())];
    let original =
        [parameters("xlsx"), vec![("columns", "original".to_owned()), ("reason", "spam".to_owned())]].concat();
    let table = [
        ("lists add -", Wish::Add(new(None))),
        ("lists add a.xlsx --column E-mail --no-header --sheet May --forecast", Wish::Add(forecast)),
        (
            "lists add a.csv --reference export-7",
            Wish::Add(NewList { reference: Some("export-7".into()), ..new(Some("a.csv")) }),
        ),
        ("lists list", Wish::List(Listing { limit: 50, ..Listing::default() })),
        (
            "lists list --status queued --source csv --limit 3",
            Wish::List(Listing { status: Some("queued".into()), source: Some("csv".into()), limit: 3 }),
        ),
        ("lists show job_1", Wish::Show(job())),
        (
            "lists rows job_1 --status risky --provider google --search ann --after 10 --limit 5",
            Wish::Rows(Rows { job: job(), filters: narrowed, after: 10, limit: 5 }),
        ),
        ("lists download job_1", Wish::Download(Download { job: job(), parameters: parameters("csv"), out: None })),
        (
            "lists download job_1 --format xlsx --original --reason spam -o a.xlsx",
            Wish::Download(Download { job: job(), parameters: original, out: Some("a.xlsx".into()) }),
        ),
        ("lists find ann@example.com", Wish::Find("ann@example.com".into(), 100)),
        ("lists cancel job_1", Wish::Cancel(job())),
    ];
    for (line, wish) in table {
        let lists = |test, wish: &Wish| Request::Desk { org: None, wish: DeskWish::Lists { wish: wish.clone(), test } };
        assert_eq!(request(line).unwrap(), lists(false, &wish), "{line}");
        if !matches!(wish, Wish::Add(_) | Wish::Find(..)) {
            let line = format!("{line} --test");
            assert_eq!(request(&line).unwrap(), lists(true, &wish), "{line}");
        }
    }
}

#[test]
fn commands_about_settings_and_reports_become_requests() {
    use reports::{About, Question};
    use settings::Wish;
    let change = serde_json::json!({
        "ignored_reasons": ["role_based", "accept_all"], "role_words": [], "retention_days": 90,
        "delivery_retention_days": 7, "rate_limit_per_minute": null
    });
    let set = "--ignored-reasons role_based,,accept_all --role-words= --retention-days 90 --delivery-retention-days 7 --rate default";
    let report = |about, parameters: &[(&'static str, &str)]| {
        let parameters = parameters.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        DeskWish::Report(Question { about, parameters })
    };
    let table = [
        ("settings show", DeskWish::Settings(Wish::Show)),
        (&*format!("settings set {set}"), DeskWish::Settings(Wish::Set(change.clone()))),
        (&*format!("settings try {set}"), DeskWish::Settings(Wish::Try(change))),
        ("usage report", report(About::Usage, &[("period", "this_month")])),
        (
            "usage report --period lifetime --connection conn_1",
            report(About::Usage, &[("period", "lifetime"), ("connection_id", "conn_1")]),
        ),
        ("usage daily --days 7", report(About::Days, &[("days", "7")])),
        ("usage providers", report(About::Providers, &[("days", "30")])),
        ("timeline --limit 5", report(About::Timeline, &[("days", "30"), ("limit", "5")])),
        ("timeline --summary --days 1", report(About::Summary, &[("days", "1"), ("limit", "60")])),
        ("suppressions find jo@example.org", DeskWish::FindSuppression("jo@example.org".into())),
    ];
    for (line, wish) in table {
        assert_eq!(request(line).unwrap(), Request::Desk { org: None, wish }, "{line}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = [
        ("lists list --status lost", "completed"),
        ("lists rows job_1 --status failed", "pending"),
        ("lists download job_1 --format pdf", "xlsx"),
        ("settings set", "nothing to change"),
        ("settings set --retention-days 0", "default"),
        ("usage report --period today", "lifetime"),
        ("timeline --days 91", "90"),
        ("users role usr_1 owner", "administrator"),
        ("webhooks create https://crm.example.com --name CRM", "--event"),
        ("webhooks create https://crm.example.com --name CRM --event job.began", "job.finished"),
        ("suppressions add bounced", "standard input"),
        ("suppressions add disliked jo@example.org", "complained"),
        ("suppressions remove bounced", "standard input"),
        ("suppressions remove bounced jo@example.org --all", "cannot be used"),
        ("users identity usr_1 proven", "verified"),
        ("keys create --kind rk", "--scope"),
        ("keys create --scope verify", "kind rk"),
        ("keys create --kind pub", "--origin"),
        ("keys create --kind pub --origin https://a.example --scope verify", "kind rk"),
        ("keys create --kind test --origin https://a.example", "kind pub"),
        ("keys create --kind pub --origin https://a.example/page", "without a path"),
        ("keys create --kind pub --origin shop.example.com", "https://"),
        ("keys create --kind rk --scope read:everything", "read:jobs"),
        ("keys create --expires yesterday", "90d"),
        ("keys create --daily-cap 500", "kind pub"),
        ("keys create --kind pub --origin https://a.example --daily-cap 0", "0"),
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
