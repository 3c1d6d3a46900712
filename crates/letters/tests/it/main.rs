//! Each letter in each language: all its figures, no place left open, a subject that mail programs show whole.

use jiff::civil::date;
use probity_account::connections::{BrakeReason, ContactAction};
use probity_account::id::{ConnId, JobId};
use probity_account::language::PageLanguage;
use probity_account::reports::{ReportKind, ReportPeriod};
use probity_letters::{
    CreditLetter, Letter, LinkLetter, ListLetter, LossLetter, LostConnection, PeriodLetter, ReportLinks, RunLetter,
    RunWait, UnsubscribeTexts, WaitingLine,
};
use probity_mail::time::Millis;

const DASHBOARD: &str = "https://verify.example.com";
const LINKS: ReportLinks<'_> =
    ReportLinks { dashboard: DASHBOARD, unsubscribe: "https://verify.example.com/unsubscribe/abc" };
const HOSTILE: &str = "<img src=x onerror=\"a()\">\r\nBcc: eve@example.org & {n}";
/// 2026-11-23T13:00Z.
const AT: Millis = Millis(1_795_438_800_000);

fn run<'a>(connection: &'a str, waits: Option<RunWait<'a>>) -> RunLetter<'a> {
    RunLetter {
        id: JobId::from_bits(7),
        connection,
        connection_id: ConnId::from_bits(3),
        platform: "ghost",
        date: date(2026, 11, 23),
        contacts: 345_678,
        verdicts: [212_021, 190, 212, 57],
        done: &[(ContactAction::Delete, 41), (ContactAction::Unsubscribe, 18), (ContactAction::Delete, 2)],
        refused: 5,
        waits,
    }
}

fn period(name: Option<&str>, kind: ReportKind) -> PeriodLetter<'_> {
    PeriodLetter {
        org_name: name,
        period: ReportPeriod::starting(kind, "2026-11-16").expect("a week or a month"),
        addresses: 51_023,
        verdicts: [50_900, 100, 20, 3],
        done: &[(ContactAction::Fix, 18)],
        waiting: &[
            WaitingLine { name: "Shop", is_refused: false, planned: 208 },
            WaitingLine { name: "Blog", is_refused: true, planned: 0 },
            WaitingLine { name: "Club", is_refused: false, planned: 0 },
        ],
    }
}

/// All letters in a language, for customers with this name, each with what it must say beside the name.
fn letters(language: PageLanguage, name: Option<&str>) -> Vec<(Letter, Vec<&'static str>)> {
    let shown = name.unwrap_or("Newsletter");
    let link = LinkLetter { org_name: name, link: "https://verify.example.com/#/link/secret", expires_at: AT };
    let over = ListLetter { title: name, id: JobId::from_bits(2), rows: 76, processed: 76, passed: 68 };
    let refused = [LostConnection { name: shown, platform: "ghost" }];
    let loss = LossLetter { org_name: name, connections: &refused, dashboard: DASHBOARD };
    let waits = |held_by, fault| Some(RunWait { planned: 208, held_by, fault });
    let mut all = vec![
        (link.invitation(language), vec!["/#/link/secret", "23", "2026", "00 "]),
        (link.new_password(language, false), vec!["/#/link/secret", "23", "2026", "00 "]),
        (link.new_password(language, true), vec!["/#/link/secret", "23", "2026", "00 "]),
        (CreditLetter { org_name: name, dashboard: DASHBOARD }.written(language), vec![DASHBOARD]),
        (loss.written(language), vec!["ghost", "10", "https://verify.example.com/#/connections"]),
        (over.written(language, DASHBOARD), vec!["76", "68", "https://verify.example.com/#/lists/job_"]),
        (ListLetter { processed: 70, ..over }.written(language, DASHBOARD), vec!["76", "70", "68"]),
        (run(shown, None).written(language, LINKS), vec!["678", "190", "212", "57", "43", "18", "5", "?run=job_"]),
        (
            period(name, ReportKind::Weekly).written(language, LINKS),
            vec!["023", "900", "100", "20", "3", "18", "208", "16", "22"],
        ),
        (
            period(name, ReportKind::Monthly).written(language, LINKS),
            vec!["Shop", "Blog", "Club", "/#/usage", "/unsubscribe/abc"],
        ),
    ];
    for by in BrakeReason::ALL {
        all.push((
            run(shown, waits(Some(by), None)).written(language, LINKS),
            vec!["208", "#/connections/ghost/conn_"],
        ));
    }
    all.push((
        run(shown, waits(None, Some("the platform is gone"))).written(language, LINKS),
        vec!["the platform is gone"],
    ));
    all
}

#[test]
fn every_letter_in_every_language_has_its_figures_and_no_open_place() {
    for language in PageLanguage::ALL {
        for name in [Some("Example Ltd"), None] {
            for (letter, parts) in letters(language, name) {
                let Letter { subject, text, html } = &letter;
                assert!(subject.chars().count() < 78, "{language}: {subject}");
                for part in parts.into_iter().chain(name) {
                    assert!(text.contains(part) && html.contains(part), "{language}: {part}: {text}\n{html}");
                }
                for open in ["{", "}", "  \n", "::"] {
                    assert!(!text.contains(open) && !subject.contains(open), "{language}: {open:?}: {text}");
                }
                assert!(!html.contains('{') && html.contains(&format!("<html lang=\"{language}\">")), "{html}");
            }
        }
    }
}

#[test]
fn html_says_what_the_text_says() {
    for language in PageLanguage::ALL {
        for (letter, _) in letters(language, Some("Example & Sons")) {
            let html = letter.html.replace("&amp;", "&").replace("&quot;", "\"");
            let lines = letter.text.lines().map(|line| line.trim().trim_end_matches([':', '\u{a0}']));
            for line in lines.filter(|line| !line.is_empty() && *line != "--") {
                let parts = line.split_once(": ").map(|(label, value)| (label.trim_end_matches('\u{a0}'), value));
                let is_row = parts.is_some_and(|(label, value)| html.contains(label) && html.contains(value));
                assert!(html.contains(line) || is_row, "{language}: {line:?}: {html}");
            }
        }
    }
}

#[test]
fn names_of_customers_stay_text_and_one_line() {
    for language in PageLanguage::ALL {
        for (letter, _) in letters(language, Some(HOSTILE)) {
            let Letter { subject, text, html } = &letter;
            assert!(!subject.chars().any(char::is_control), "{subject:?}");
            assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
            assert!(!html.contains("<img") && !html.contains("\"a()"), "{html}");
        }
    }
    let list = ListLetter { title: Some(HOSTILE), id: JobId::from_bits(2), rows: 1, processed: 1, passed: 1 };
    let html = list.written(PageLanguage::En, DASHBOARD).html;
    assert!(
        html.contains("&lt;img src=x onerror=&quot;a()&quot;&gt;  Bcc: eve@example.org &amp; {n} is verified"),
        "{html}"
    );
}

#[test]
fn the_punctuation_is_that_of_the_language() {
    for language in PageLanguage::ALL {
        for (letter, _) in letters(language, Some("Example Ltd")) {
            let lines = letter.text.lines().map(|line| line.split("https://").next().unwrap_or_default());
            let said = lines.collect::<Vec<_>>().join("\n").replace("13:00", "");
            let (is_french, mut before) = (language == PageLanguage::Fr, ' ');
            for char in said.chars() {
                if is_french && ":;!?»".contains(char) {
                    assert_eq!(before, '\u{a0}', "{char:?}: {said}");
                }
                assert!(!"“”".contains(char) || language != PageLanguage::Fr, "{said}");
                assert!(!(char == '\u{a0}' && language == PageLanguage::En), "{said}");
                before = char;
            }
        }
    }
}

#[test]
fn a_long_name_is_cut_in_the_subject_and_whole_in_the_text() {
    let name = "Gesellschaft ".repeat(20);
    for language in PageLanguage::ALL {
        for (letter, _) in letters(language, Some(&name)) {
            assert!(letter.subject.chars().count() < 100, "{language}: {}", letter.subject);
            let is_of_customer = letter.subject.contains('…');
            assert!(!is_of_customer || letter.text.contains(&name), "{language}: {}", letter.text);
        }
    }
}

#[test]
fn an_english_report_reads_so() {
    let text = run("Newsletter", Some(RunWait { planned: 208, held_by: Some(BrakeReason::First), fault: None }))
        .written(PageLanguage::En, LINKS)
        .text;
    let expected = format!(
        "Newsletter: 208 actions are waiting for you\n\nThe run of November 23, 2026 is waiting for you.\n\n\
         The first run with these settings and rules asks before it acts. Nothing was changed.\n\n\
         Verified\n  Contacts: 345,678\n  Deliverable: 212,021\n  Risky: 190\n  Undeliverable: 212\n  Unknown: 57\n\n\
         Actions\n  Unsubscribed: 18\n  Deleted: 43\n  Refused by the platform: 5\n\n\
         Waiting for you\n  Planned actions: 208\n\nReview the run:\n{DASHBOARD}/#/connections/ghost/{}?run={}\n\n--\n\
         You get this email because “After a connection's run” is on in your notifications.\n\
         Notifications: {DASHBOARD}/#/account\nUnsubscribe: {DASHBOARD}/unsubscribe/abc\n",
        ConnId::from_bits(3),
        JobId::from_bits(7)
    );
    assert_eq!(text, expected);
}

#[test]
fn a_french_report_reads_so() {
    let letter = period(Some("Exemple SA"), ReportKind::Weekly).written(PageLanguage::Fr, LINKS);
    assert_eq!(letter.subject, "Exemple SA\u{a0}: 51\u{202f}023 adresses vérifiées sur la semaine");
    for part in [
        "\n\nDu 16 novembre 2026 au 22 novembre 2026.\n\nVérifiées\n  Adresses\u{a0}: 51\u{202f}023\n",
        "\n  Adresse corrigée\u{a0}: 18\n",
        "\nAttend votre accord\n  Shop\u{a0}: 208 actions attendent votre accord\n",
        "\nSe désabonner\u{a0}: https://verify.example.com/unsubscribe/abc\n",
    ] {
        assert!(letter.text.contains(part), "{part}: {}", letter.text);
    }
}

#[test]
fn verdicts_agree_with_what_is_counted() {
    for (language, contacts, addresses) in [
        (PageLanguage::Fr, ["Risqué", "Inconnu"], ["Risquée", "Inconnue"]),
        (PageLanguage::Es, ["De riesgo", "Desconocido"], ["De riesgo", "Desconocida"]),
    ] {
        let of_run = run("Newsletter", None).written(language, LINKS).html;
        let of_week = period(None, ReportKind::Weekly).written(language, LINKS).html;
        assert!(contacts.iter().all(|word| of_run.contains(&format!(">{word}<"))), "{of_run}");
        assert!(addresses.iter().all(|word| of_week.contains(&format!(">{word}<"))), "{of_week}");
    }
}

#[test]
fn links_lead_to_screens_of_the_dashboard() {
    let screens = include_str!("../../../../web/app/screens.js");
    for (letter, _) in letters(PageLanguage::En, None) {
        for rest in letter.text.split("/#/").skip(1) {
            let name = rest.split(['/', '?', '\n']).next().unwrap();
            assert!(screens.contains(&format!("{name}: () => import(")), "{name}");
        }
    }
}

#[test]
fn screen_readers_read_each_value_with_its_label() {
    let html = run("Newsletter", None).written(PageLanguage::Es, LINKS).html;
    assert!(html.contains("<th scope=\"row\"") && !html.contains("role=\"presentation\""), "{html}");
}

#[test]
fn the_page_that_ends_reports_says_which() {
    for kind in ReportKind::ALL {
        let headings = PageLanguage::ALL.map(|language| UnsubscribeTexts::question(language, kind).heading);
        let done = PageLanguage::ALL.map(|language| UnsubscribeTexts::done(language, kind).paragraph);
        for texts in [headings, done] {
            for (n, said) in texts.iter().enumerate() {
                assert!(!said.is_empty() && !texts[..n].contains(said), "{texts:?}");
            }
        }
    }
    assert_eq!(
        UnsubscribeTexts::question(PageLanguage::De, ReportKind::Weekly).heading,
        "Wöchentliche Berichte abbestellen?"
    );
}

#[test]
fn members_who_need_single_sign_on_are_told() {
    let link =
        LinkLetter { org_name: Some("Example"), link: "https://verify.example.com/#/link/secret", expires_at: AT };
    for (language, words) in [
        (PageLanguage::En, "requires single sign-on"),
        (PageLanguage::De, "verlangt Single Sign-on"),
        (PageLanguage::Fr, "exige l’authentification unique"),
        (PageLanguage::Es, "exige el inicio de sesión único"),
    ] {
        let told = |requires_sso| link.new_password(language, requires_sso).text.contains(words);
        assert!(told(true) && !told(false), "{words}");
    }
}
