use probity_account::connections::{AccountZone, BrakeReason, ConnectionSettings, ContactAction, RunCause};
use probity_account::id::{ConnId, JobId};
use probity_account::language::PageLanguage;
use probity_letters::PeriodLetter;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::OrgNo;
use probity_store::activity::report_mail::{DoneActions, WaitingConnection};
use probity_store::activity::reports::UsageSum;
use probity_store::connections::actions::{ActionCount, ActionState};
use probity_store::connections::connection::StoredConnection;
use probity_store::connections::runs::{ConnectionRun, ContactPick, RunState};
use probity_store::jobs::{JobCounts, JobNo};

use super::of_period::PeriodFigures;
use super::of_run::ReportedRun;
use super::*;

const ORG: OrgNo = OrgNo(5);
/// 2026-11-23.
const NOW: Millis = Millis(1_795_392_000_000);

const LINKS: ReportLinks<'_> =
    ReportLinks { dashboard: "https://verify.example.com", unsubscribe: "https://verify.example.com/unsubscribe/abc" };

fn connection(name: &str) -> StoredConnection {
    StoredConnection {
        org: ORG,
        id: ConnId::from_bits(3),
        test: false,
        provider: "ghost".into(),
        name: name.to_owned(),
        disconnected: None,
        account_tag: [0; 16],
        settings: ConnectionSettings::default(),
        blacklist_count: 0,
        whitelist_count: 0,
        watermark: None,
        trusted_at: None,
        created_at: NOW,
        last_synced_at: None,
    }
}

fn run(state: RunState, brake: Option<BrakeReason>) -> ConnectionRun {
    ConnectionRun {
        org: ORG,
        id: JobId::from_bits(7),
        job: JobNo(7),
        connection: ConnId::from_bits(3),
        cause: RunCause::Autofloss,
        is_dry: false,
        state,
        fault: None,
        brake,
        together: None,
        settings: "{}".into(),
        account_tag: Vec::new(),
        since: None,
        due_at: None,
        pick: ContactPick::All,
        contacts: 12_800,
        skipped: 0,
        rows: 12_480,
        next_at: NOW,
        failures: 0,
        refused_at: None,
        delay_ms: None,
        created_at: NOW,
        confirmed_at: None,
        finished_at: None,
    }
}

const VERDICTS: JobCounts =
    JobCounts { processed: 12_480, passed: 12_021, undeliverable: 212, risky: 190, unknown: 57 };

fn count(kind: ContactAction, state: ActionState, actions: i64) -> ActionCount {
    ActionCount { kind, reason: Reason::Nonexistent, state, actions }
}

/// Returns the English report of a run.
fn of_run(run: ConnectionRun, zone: &str, counts: &[ActionCount]) -> Option<Letter> {
    let zone = AccountZone::named(zone).unwrap();
    let report =
        ReportedRun { run, zone, connection: connection("Newsletter"), verdicts: VERDICTS, counts: counts.to_vec() };
    report.letter(|letter| letter.written(PageLanguage::En, LINKS))
}

#[test]
fn a_waiting_run_says_what_was_checked_and_why_it_waits() {
    let counts = [count(ContactAction::Delete, ActionState::Planned, 208)];
    let letter = of_run(run(RunState::NeedsConfirmation, Some(BrakeReason::ManualMode)), "UTC", &counts).unwrap();
    assert_eq!(letter.subject, "Newsletter: 208 actions are waiting for you");
    let run = JobId::from_bits(7);
    let url = format!("https://verify.example.com/#/connections/ghost/{}?run={run}\n", ConnId::from_bits(3));
    for part in [
        "\n\nYou asked to decide first. Nothing was changed.\n",
        "  Contacts: 12,480\n  Deliverable: 12,021\n  Risky: 190\n  Undeliverable: 212\n  Unknown: 57\n",
        "  Contacts changed: 0\n",
        "  Planned actions: 208\n",
        &url,
    ] {
        assert!(letter.text.contains(part), "{part}: {}", letter.text);
    }
}

#[test]
fn a_finished_run_says_what_was_done() {
    let counts = [
        count(ContactAction::Unsubscribe, ActionState::Done, 3),
        ActionCount { reason: Reason::Invalid, ..count(ContactAction::Unsubscribe, ActionState::Done, 1) },
        count(ContactAction::Unsubscribe, ActionState::Refused, 2),
        count(ContactAction::Fix, ActionState::Parked, 1),
        count(ContactAction::UpdateTags, ActionState::Gone, 9),
    ];
    let letter = of_run(run(RunState::Finished, None), "UTC", &counts).unwrap();
    assert_eq!(letter.subject, "Newsletter: 12,480 contacts verified");
    assert!(letter.text.contains("\n  Unsubscribed: 4\n  Refused by the platform: 3\n\n"), "{}", letter.text);
    assert!(!letter.text.contains("Waiting for you"), "nothing waits: {}", letter.text);
}

#[test]
fn a_run_that_stopped_says_why() {
    let counts = [count(ContactAction::Delete, ActionState::Planned, 1)];
    let stopped = ConnectionRun {
        fault: Some("the platform refuses the credentials".into()),
        ..run(RunState::NeedsConfirmation, Some(BrakeReason::ManualMode))
    };
    let letter = of_run(stopped, "UTC", &counts).unwrap();
    assert_eq!(letter.subject, "Newsletter: 1 action is waiting for you");
    assert!(letter.text.contains("  Error message: the platform refuses the credentials\n"), "{}", letter.text);
}

#[test]
fn a_run_that_went_on_meanwhile_is_not_reported() {
    let counts = [count(ContactAction::Delete, ActionState::Done, 1)];
    for state in RunState::ALL {
        let letter = of_run(run(state, None), "UTC", &counts);
        let expected = [RunState::NeedsConfirmation, RunState::Finished].contains(&state);
        assert_eq!(letter.is_some(), expected, "{state:?}");
    }
}

#[test]
fn the_date_of_a_run_is_that_of_the_organization() {
    for (zone, date) in [("Europe/Berlin", "November 23, 2026"), ("America/New_York", "November 22, 2026")] {
        // 11 p.m. in UTC.
        let run = ConnectionRun { created_at: NOW + -3_600_000, ..run(RunState::Finished, None) };
        let letter = of_run(run, zone, &[]).unwrap();
        assert!(letter.text.contains(&format!("\nThe run of {date} is complete.\n")), "{}", letter.text);
    }
}

fn figures() -> PeriodFigures {
    let sum = |of, verified| UsageSum { of, verified, charged: verified };
    let waiting =
        |name: &str| WaitingConnection { name: name.to_owned(), is_refused: false, planned: 0, needs_credits: false };
    PeriodFigures {
        verified: vec![sum(Reason::Valid, 1_000), sum(Reason::Nonexistent, 20), sum(Reason::Unverified, 3)],
        done: vec![DoneActions { kind: ContactAction::Delete, actions: 18 }],
        waiting: vec![
            WaitingConnection { planned: 2, ..waiting("Shop") },
            WaitingConnection { is_refused: true, ..waiting("Blog") },
            WaitingConnection { needs_credits: true, ..waiting("Club") },
        ],
    }
}

#[test]
fn a_period_has_the_figures_of_the_organization_and_what_waits() {
    let week = ReportPeriod::starting(ReportKind::Weekly, "2026-11-16").unwrap();
    let write = |letter: PeriodLetter<'_>| letter.written(PageLanguage::En, LINKS);
    let Letter { text, .. } = figures().letter(Some("Example Ltd"), week, write).unwrap();
    for part in [
        "Example Ltd: 1,023 addresses verified in the week\n\nNovember 16, 2026 to November 22, 2026.\n",
        "  Addresses: 1,023\n  Deliverable: 1,000\n  Risky: 0\n  Undeliverable: 20\n  Unknown: 3\n",
        "  Deleted: 18\n",
        "  Shop: 2 actions are waiting for you\n",
        "  Blog: The platform refuses the credentials: reconnect\n",
        "  Club: Automatic runs are waiting for credits\n",
        "https://verify.example.com/#/usage\n",
        "“Weekly report” is on",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let quiet = PeriodFigures { verified: Vec::new(), done: Vec::new(), waiting: Vec::new() };
    assert_eq!(quiet.letter(None, week, write), None, "nobody reads a report of nothing");
}
