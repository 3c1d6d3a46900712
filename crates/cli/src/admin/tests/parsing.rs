//! Parsing of command lines into requests to acts.

use probity_account::id::{OrgId, UserId};
use probity_contract::merge_patch::PatchField;
use probity_contract::published::whole::Whole;
use probity_mail::time::Millis;
use serde_json::json;

use super::super::*;
use super::ORG;
use crate::admin::erasures::ErasuresCommand;
use crate::admin::integrations::IntegrationsCommand;
use crate::admin::keys::KeysCommand;
use crate::admin::orgs::OrgsCommand;
use crate::admin::settings::SettingsCommand;
use crate::admin::suppressions::SuppressionsCommand;
use crate::args::{Cli, Command};

fn parse(line: &str) -> Result<AdminCommand> {
    let cli = Cli::parse_line(std::iter::once("probity").chain(line.split_whitespace()))?;
    match cli.command {
        Command::Admin(command) => Ok(command),
        other => panic!("{other:?}"),
    }
}

/// Parses a line, and performs the checks before the database is opened or an act is called.
fn check(line: &str) -> Result<AdminCommand> {
    let command = parse(line)?;
    match &command {
        AdminCommand::Orgs(args) => {
            if let OrgsCommand::Change(args) = &args.command {
                orgs::read_change(args)?;
            }
        }
        AdminCommand::Settings(args) => match &args.command {
            SettingsCommand::Set(args) => drop(settings::read_change("set", args)?),
            SettingsCommand::Try(args) => drop(settings::read_change("try", args)?),
            SettingsCommand::Show(_) => {}
        },
        AdminCommand::Integrations(args) => {
            if let IntegrationsCommand::Change(args) = &args.command {
                integrations::change::read_change(args)?;
            }
        }
        AdminCommand::Suppressions(args) => {
            if let SuppressionsCommand::Add(these) | SuppressionsCommand::Remove { these, all: false } = &args.command {
                suppressions::read_addresses(these)?;
            }
        }
        AdminCommand::Erasures(args) => {
            if let ErasuresCommand::Erase { addresses, file, .. } = &args.command {
                erasures::read_addresses(addresses, file.as_deref())?;
            }
        }
        _ => {}
    }
    Ok(command)
}

#[test]
fn addresses_to_erase_come_from_arguments_and_a_file_each_once() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), " b@example.org \n\na@example.org").unwrap();
    let named = ["a@example.org".to_owned()];
    let read = erasures::read_addresses(&named, Some(file.path())).unwrap();
    assert_eq!(read, ["a@example.org", "b@example.org"]);
    assert!(check("erasures erase").unwrap_err().to_string().contains("no addresses"));
}

#[test]
fn commands_are_understood() {
    let lines = [
        "orgs create Example --plan metered",
        "orgs list --json",
        "orgs ban ORG --reason abuse",
        "orgs review ORG",
        "orgs lift ORG",
        "orgs sso confirm ORG example.com",
        "orgs sso release ORG example.com",
        "orgs sso delete ORG",
        "plans --json",
        "keys create",
        "keys create --org ORG --kind rk --name shop --scope verify --scope read:jobs --expires 1d --rate 60",
        "keys create --kind pub --origin https://Shop.example.com:8443 --daily-cap 500",
        "keys list --data /srv",
        "keys rename key_1 Shop",
        "keys rotate key_1 --overlap 0",
        "keys revoke key_1",
        "credits grant --amount 5 --reference INV-1",
        "credits grant --amount 5 --bucket subscription --until 1970-01-01",
        "credits adjust --bucket subscription --amount -5",
        "credits ledger --limit 5",
        "credits audit",
        "audit",
        "deliveries list --state exhausted --limit 5",
        "deliveries show dlv_1",
        "deliveries resend dlv_1",
        "erasures find a@example.org b@example.org",
        "erasures erase a@example.org b@example.org",
        "erasures show era_1",
        "webhooks create https://crm.example.com --name CRM --event job.finished --event status.risky --test",
        "webhooks rotate whk_1",
        "suppressions add bounced jo@example.org x",
        "suppressions remove bounced --all",
        "suppressions find jo@example.org",
        "outcomes import mail.log --form postfix",
        "outcomes import Maildir",
        "outcomes sources list",
        "outcomes sources add News --service mailgun --signing-key key.txt --test",
        "outcomes sources remove osr_1",
        "lists add a.xlsx --column E-mail --no-header --sheet May --forecast",
        "lists add - --reference export-7 --encoding shift_jis",
        "lists list --status queued --source csv --limit 3 --test",
        "lists rows job_1 --status risky --provider google --search ann --after 10 --limit 5 --test",
        "lists download job_1 --format xlsx --language de --original --reason spam -o a.xlsx --test",
        "lists find ann@example.com",
        "lists cancel job_1 --test",
        "settings try --rate default",
        "usage report --period lifetime --connection conn_1",
        "usage daily --days 7",
        "usage breakdown --by key --id key_1 --from 2026-11-01 --to 2026-11-21",
        "usage providers",
        "timeline --summary --days 1",
        "nodes",
        "users invite ann@example.com --name Ann",
        "users identity usr_1 requires-input",
        "users role usr_1 administrator",
        "users sign-out usr_1 --session ses_1",
        "users remove ann@example.com --org ORG",
        "users reset-link usr_1 --without-second-factor",
        "link",
    ];
    for line in lines {
        let line = line.replace("ORG", ORG);
        check(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn commands_of_connections_are_understood() {
    let lines = [
        "integrations platforms list --org ORG",
        "integrations platforms show ghost",
        "integrations connect ghost --credentials ghost.txt --name Newsletter --test",
        "integrations list --json",
        "integrations show conn_1 --org ORG",
        "integrations change conn_1 --action none --manual-mode on --lists a,b",
        "integrations test conn_1",
        "integrations lists conn_1",
        "integrations delete conn_1",
        "integrations rules list conn_1 blacklist --limit 5",
        "integrations rules add conn_1 whitelist example.org --match contains --part domain --part email",
        "integrations rules remove conn_1 whitelist rule_1",
        "integrations run conn_1 --dry-run",
        "integrations runs list conn_1",
        "integrations runs show conn_1 job_1",
        "integrations runs confirm conn_1 job_1 --actions 12",
        "integrations runs cancel conn_1 job_1",
        "integrations changes --since 2026-11-23T00:00:00Z --limit 5",
        "integrations review list conn_1",
        "integrations review decide conn_1 job_1 whitelist 3 4",
    ];
    for line in lines {
        let line = line.replace("ORG", ORG);
        check(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn only_a_forecast_needs_an_engine() {
    assert!(needs_engine(&parse("lists add a.csv --forecast").unwrap()));
    for line in ["lists add a.csv", "lists list", "orgs list"] {
        assert!(!needs_engine(&parse(line).unwrap()), "{line}");
    }
}

#[test]
fn a_key_is_asked_for_with_what_belongs_to_its_kind() {
    let asked = |line: &str| {
        let AdminCommand::Keys(args) = parse(line).unwrap() else { panic!("{line}") };
        let KeysCommand::Create(args) = args.command else { panic!("{line}") };
        keys::new_key(&args, Millis(5))
    };
    let live = asked("keys create");
    assert_eq!((live.name.as_str(), live.scopes.is_none(), live.allowed_origins.is_none()), ("live key", true, true));
    let restricted = asked(
        "keys create --kind rk --name shop --scope verify --scope read:jobs --scope verify --rate 60 --expires 7s",
    );
    assert_eq!(restricted.scopes.unwrap().iter().count(), 2);
    assert_eq!((restricted.name.as_str(), restricted.rate_limit_per_minute), ("shop", Some(Whole(60))));
    assert_eq!(restricted.expires_at.unwrap().0, Millis(7_005));
    let widget = asked("keys create --kind pub --origin https://shop.example.com --daily-cap 500");
    assert_eq!(widget.allowed_origins.unwrap(), ["https://shop.example.com"]);
    assert_eq!(widget.daily_cap, Some(Whole(500)));
}

#[test]
fn an_organization_is_changed_where_something_is_said() {
    let change = |line: &str| {
        let AdminCommand::Orgs(args) = parse(line).unwrap() else { panic!("{line}") };
        let OrgsCommand::Change(args) = args.command else { panic!("{line}") };
        orgs::read_change(&args).unwrap()
    };
    let patch = change(
        "orgs change org_1 --plan team --seats 20 --low-balance plan --entitle webhooks --deny autofloss --as-plan sso",
    );
    assert_eq!((patch.plan.as_deref(), patch.name), (Some("team"), None));
    assert_eq!((patch.seats, patch.low_balance), (PatchField::Given(Whole(20)), PatchField::Cleared));
    assert_eq!(patch.rate_limit_per_minute, PatchField::Nothing);
    let entitlements = [("autofloss", Some(false)), ("sso", None), ("webhooks", Some(true))];
    assert_eq!(patch.entitlements, entitlements.map(|(name, said)| (name.to_owned(), said)).into_iter().collect());
    for wrong in ["orgs change", "orgs change org_1", "orgs change org_1 --seats 0", "orgs change org_1 --deny all"] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn settings_are_changed_by_a_merge_patch() {
    let line = "settings set --ignored-reasons role_based,,accept_all --role-words= --retention-days 90 \
        --delivery-retention-days 7 --rate default";
    let AdminCommand::Settings(args) = parse(line).unwrap() else { panic!("{line}") };
    let SettingsCommand::Set(args) = args.command else { panic!("{line}") };
    let expected = json!({
        "ignored_reasons": ["role_based", "accept_all"], "role_words": [], "retention_days": 90,
        "delivery_retention_days": 7, "rate_limit_per_minute": null
    });
    assert_eq!(settings::read_change("set", &args).unwrap(), expected);
}

#[test]
fn a_connection_is_changed_by_a_merge_patch() {
    let line = "integrations change conn_1 --action none --aggressiveness aggressive --checks accept_all,unverified \
        --no-checks spam --manual-mode on --fix-typos off --lists a,,b --tag {status}";
    let AdminCommand::Integrations(args) = parse(line).unwrap() else { panic!("{line}") };
    let IntegrationsCommand::Change(args) = args.command else { panic!("{line}") };
    let expected = json!({
        "action": null, "aggressiveness": "aggressive", "manual_mode": true, "fix_typos": false, "lists": ["a", "b"],
        "checks": { "accept_all": true, "unverified": true, "spam": false }, "tag": "{status}"
    });
    assert_eq!(integrations::change::read_change(&args).unwrap(), expected);
}

#[test]
fn bodies_are_read_by_the_rules_of_the_api() {
    use probity_contract::published::accounts::settings::SettingsPatch;
    use probity_contract::published::accounts::users::Invite;
    let refused = |error: anyhow::Error| error.to_string();
    let invited = operator::body::<Invite>(json!({ "email": "nonsense", "name": null, "role": "contributor" }));
    assert_eq!(refused(invited.err().unwrap()), "email: must be an email address");
    let patch = operator::body::<SettingsPatch>(json!({ "ignored_reasons": ["bad_luck"] }));
    let said = refused(patch.err().unwrap());
    assert!(said.starts_with("ignored_reasons") && said.contains("role_based"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = [
        ("lists list --status lost", "completed"),
        ("lists rows job_1 --status failed", "pending"),
        ("lists download job_1 --format pdf", "xlsx"),
        ("settings set", "see `probity settings set --help`"),
        ("settings try", "see `probity settings try --help`"),
        ("suppressions find ", "ADDRESS"),
        ("orgs change org_1 --entitle sso --deny sso", "sso may be in only one of --entitle, --deny and --as-plan"),
        ("orgs change org_1 --deny sso --as-plan sso", "only one of"),
        ("settings set --retention-days 0", "default"),
        ("usage report --period today", "lifetime"),
        ("usage breakdown --by weather", "connection"),
        ("timeline --days 91", "90"),
        ("users role usr_1 owner", "administrator"),
        ("webhooks create https://crm.example.com --name CRM", "--event"),
        ("webhooks create https://crm.example.com --name CRM --event job.began", "job.finished"),
        ("integrations change conn_1", "see `probity integrations change --help`"),
        ("integrations change conn_1 --action archive", "unsubscribe"),
        ("integrations change conn_1 --manual-mode maybe", "off"),
        ("integrations change conn_1 --checks spam --no-checks spam", "spam may be in only one of"),
        ("integrations change conn_1 --checks valid", "nonexistent"),
        ("integrations connect ghost", "--credentials"),
        ("integrations rules add conn_1 greylist a", "whitelist"),
        ("integrations rules add conn_1 whitelist", "KEYWORD"),
        ("integrations runs confirm conn_1 job_1", "--actions"),
        ("integrations review decide conn_1 job_1 perhaps 3", "whitelist"),
        ("outcomes import", "PATH"),
        ("outcomes import x --form maillog", "postfix"),
        ("outcomes sources add News", "--service"),
        ("outcomes sources add News --service sendmail", "sparkpost"),
        ("suppressions add bounced", "standard input"),
        ("suppressions add disliked jo@example.org", "complained"),
        ("suppressions remove bounced", "standard input"),
        ("suppressions remove bounced jo@example.org --all", "cannot be used"),
        ("users identity usr_1 proven", "verified"),
        ("keys create --kind rk --scope read:everything", "read:jobs"),
        ("keys create --kind gold", "live"),
        ("keys create --expires yesterday", "90d"),
        ("keys create --kind pub --origin https://a.example --daily-cap 0", "0"),
        ("keys create --rate 0", "0"),
        ("credits adjust --amount 5", "--bucket"),
        ("orgs suspend", "ORG"),
        ("deliveries list --limit 0", "0"),
        ("deliveries list --state lost", "exhausted"),
        ("deliveries show", "DELIVERY_ID"),
    ];
    for (line, message) in table {
        let said = check(line).unwrap_err().to_string();
        assert!(said.contains(message), "{line}: {said}");
    }
}

#[test]
fn people_see_that_a_repeated_booking_had_no_effect() {
    let account = json!({ "available": 5, "held": 0, "spent": 0 });
    let text = |booked: bool| {
        let balance = json!({ "booked": booked, "subscription": account, "prepaid": account, "total": 10 });
        Printout::one(balance, credits::BALANCE).unwrap().render(Style::Table { colours: false }).unwrap()
    };
    assert!(text(true).ends_with("total         10         0     0\n"), "{}", text(true));
    assert_eq!(text(false), format!("{}\nNothing was booked: the reference was already used.\n", text(true)));
}

#[test]
fn without_a_name_the_only_organization_is_meant() {
    let named = |count: usize| (1..=count).map(|n| format!("org_{n}")).collect::<Vec<_>>();
    assert!(operator::check_only(&named(0)).unwrap_err().to_string().contains("orgs create"));
    assert!(operator::check_only(&named(1)).is_ok());
    let said = operator::check_only(&named(6)).unwrap_err().to_string();
    assert!(
        said.contains("6 organizations") && said.ends_with("--org: org_1, org_2, org_3, org_4, org_5, ..."),
        "{said}"
    );
}

#[test]
fn one_person_is_meant() {
    let [a, b] = [1, 2].map(OrgId::from_bits);
    let found = |orgs: &[OrgId]| orgs.iter().map(|org| (*org, UserId::from_bits(7))).collect::<Vec<_>>();
    let choose = |orgs: &[OrgId], org: Option<&OrgId>| {
        users::choose_one(found(orgs), "ann", org.map(ToString::to_string).as_deref()).map(|(org, _)| org)
    };
    assert_eq!(choose(&[a], None).unwrap(), a);
    assert_eq!(choose(&[a, b], Some(&b)).unwrap(), b);
    let several = choose(&[a, b], None).unwrap_err().to_string();
    assert!(several.contains(&format!("{a}, {b}")), "{several}");
    assert!(choose(&[], None).is_err());
    assert!(choose(&[a], Some(&b)).is_err());
}
