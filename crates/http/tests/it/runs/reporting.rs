//! Reports by mail about runs and weeks, and their unsubscribe link.

use std::time::Duration;

use probity_access::mail::MailConfig;
use probity_account::connections::AccountZone;
use probity_account::language::PageLanguage;
use probity_account::reports::{ReportKind, ReportPlan};
use probity_http::service::ServiceConfig;
use probity_store::accounts::organization::OrgState;
use probity_store::accounts::users;
use probity_store::accounts::users::invitations::{self, Invitation, MailedLink};
use probity_store::accounts::users::profile::{self, UserProfile};
use probity_store::activity::letters::{self, LetterKind};
use probity_store::{ScopedFutureExt as _, Store};
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Customer, plans};
use crate::mail::{after, relay};
use crate::runs::acme::Acme;
use crate::test_app::{Call, TestApp, pass, upkeep};

const ROUND: Duration = Duration::from_secs(6);

/// Runs a test with a relay, and a platform with a good and a bad contact.
async fn with_relay(test: impl AsyncFn(&TestApp, &Acme, &mut UnboundedReceiver<String>)) {
    let acme = Acme::start().await;
    let (address, mut seen) = relay(&[]).await;
    let url = format!("smtp://{address}").into();
    let mail = MailConfig::new(&url, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    let seen = tokio::sync::Mutex::new(&mut seen);
    TestApp::each(acme.config(ServiceConfig { mail: Some(mail), ..plans() }), async |app| {
        acme.clear();
        acme.add(1, "ann@honest-mail.com", &[("news", "active")]);
        acme.add(2, "nobody@honest-mail.com", &[("news", "active")]);
        test(app, &acme, &mut **seen.lock().await).await;
    })
    .await;
}

/// Gives the owner an address that a mailed link has verified.
async fn with_address(customer: &Customer<'_>) {
    let now = customer.app.now(&customer.org).await;
    let addressed = customer.app.store.write(|tx| {
        async {
            let owner = users::primary(tx, customer.org.no).await?;
            users::set_email(tx, customer.org.no, owner.id, "owner@example.org").await?;
            let mailed = MailedLink { hash: [2; 32], seed: [1; 16] };
            let (org, user, expires_at) = (customer.org.no, owner.id, now + 1);
            let link = Invitation { org, user, hash: [1; 32], mailed: Some(mailed), created_at: now, expires_at };
            invitations::issue(tx, &link).await?;
            invitations::redeem(tx, &[2; 32], now).await
        }
        .scope_boxed()
    });
    addressed.await.unwrap();
}

/// Returns the path of the link in a mail.
fn link_of(mail: &str) -> &str {
    let (_, link) = mail.split_once("Unsubscribe: https://verify.example.com").unwrap();
    link.lines().next().unwrap()
}

/// Returns whether a report is queued, or will be retried.
async fn is_queued(store: &Store, customer: &Customer<'_>) -> bool {
    let later = customer.app.now(&customer.org).await + 86_400_000;
    letters::any_due(&mut store.read().await.unwrap(), LetterKind::Run, later).await.unwrap()
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_is_reported_when_it_waits_and_when_it_has_acted_until_the_member_unsubscribes() {
    with_relay(async |app, acme, seen| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        with_address(&customer).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let waits = after(ROUND, seen).await;
        for part in [
            "To: owner@example.org",
            ": 1 action is waiting for you",
            "  Contacts: 2",
            "  Undeliverable: 1",
            "  Planned actions: 1",
        ] {
            assert!(waits.contains(part), "{part}: {waits}");
        }
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        let acted = after(ROUND, seen).await;
        assert!(acted.contains("  Deleted: 1") && acted.contains(&format!("?run={id}")), "{acted}");

        let link = link_of(&waits);
        assert!(acted.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click"), "{acted}");
        let account = async || app.get(&customer.key, "/v1/account").await.ok(200)["notifications"].clone();
        let page = app.send(Call::get(link)).await;
        assert!(
            page.status == 200 && page.text().contains("<main>") && page.text().contains("<button"),
            "{}",
            page.text()
        );
        assert_eq!(account().await["after_flossing"], true, "a scanner that opens links ends nothing");
        for _ in 0..2 {
            let form = Call::with_body(link, "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click");
            assert_eq!(app.send(form).await.status, 200);
        }
        let expected =
            json!({ "after_flossing": false, "weekly_report": true, "monthly_report": true, "payment_receipts": true });
        assert_eq!(account().await, expected);
        let changes =
            app.get(&customer.key, "/v1/account/timeline").await.text().matches("account.notifications").count();
        assert_eq!(changes, 1, "the second request changes nothing");
        acme.add(3, "nobody3@honest-mail.com", &[("news", "active")]);
        let next = customer.start(false).await;
        customer.until(&next, "finished").await;
        assert!(!is_queued(&app.store, &customer).await);
        let damaged = app.send(Call::get(format!("{}xx", &link[..link.len() - 2]))).await;
        assert!(
            damaged.status == 404 && damaged.text().contains("<main>\n<h1>This link does not work"),
            "{}",
            damaged.text()
        );
    })
    .await;
}

/// Sets the owner's language, as a page would.
async fn speaking(customer: &Customer<'_>, language: PageLanguage) {
    let spoken = customer.app.store.write(|tx| {
        async {
            let owner = users::primary(tx, customer.org.no).await?.id;
            let profile = profile::read(tx, customer.org.no, owner).await?;
            profile::write(tx, customer.org.no, owner, &UserProfile { language: Some(language), ..profile }).await
        }
        .scope_boxed()
    });
    spoken.await.unwrap();
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_report_and_the_page_that_ends_it_are_in_the_language_of_the_member() {
    with_relay(async |app, acme, seen| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        with_address(&customer).await;
        speaking(&customer, PageLanguage::De).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let mail = after(ROUND, seen).await;
        for part in ["1 Aktion wartet auf Sie", "  Kontakte: 2", "  Geplante Aktionen: 1", "<html lang=\"de\">"] {
            assert!(mail.contains(part), "{part}: {mail}");
        }
        let (_, link) = mail.split_once("Abbestellen: https://verify.example.com").unwrap();
        let link = link.lines().next().unwrap();
        let page = app.send(Call::get(link)).await.text().to_owned();
        assert!(page.contains("<html lang=\"de\">") && page.contains("Berichte über Läufe abbestellen?"), "{page}");
        let form = Call::with_body(link, "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click");
        let page = app.send(form).await.text().to_owned();
        assert!(page.contains("keine Berichte über Läufe mehr"), "{page}");
        let damaged = Call::get(format!("{}xx", &link[..link.len() - 2])).header("accept-language", "fr-CA,en;q=0.5");
        let page = app.send(damaged).await.text().to_owned();
        assert!(page.contains("<h1>Ce lien ne fonctionne pas"), "{page}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nobody_of_a_restricted_organization_gets_a_report() {
    with_relay(async |app, acme, seen| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        with_address(&customer).await;
        let other = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        app.admin.set_status(&customer.org, OrgState::Suspended).await.unwrap();
        pass(ROUND).await;
        with_address(&other).await;
        let run = other.start(false).await;
        other.until(&run, "needs_confirmation").await;
        let first = after(ROUND, seen).await;
        assert!(first.contains(&run), "{first}");
    })
    .await;
}

/// Returns the first mail that contains a text.
async fn after_rounds(seen: &mut UnboundedReceiver<String>, text: &str) -> String {
    for _ in 0..20 {
        upkeep().await;
        while let Ok(mail) = seen.try_recv() {
            if mail.contains(text) {
                return mail;
            }
        }
    }
    panic!("never: {text}")
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_week_is_reported_after_it() {
    with_relay(async |app, acme, seen| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        with_address(&customer).await;
        customer.whole_run().await;
        let owner = users::primary(&mut app.store.read().await.unwrap(), customer.org.no).await.unwrap();
        let mut planned = None;
        let week = loop {
            let now = app.now(&customer.org).await;
            let plan = ReportPlan::at(&AccountZone::UTC, owner.id, planned, now);
            if plan.due.iter().any(|period| period.kind() == ReportKind::Weekly) {
                break after_rounds(seen, "Weekly report").await;
            }
            planned = Some(plan.next);
            upkeep().await;
            pass(Duration::from_millis(plan.next.since(app.now(&customer.org).await).unsigned_abs())).await;
        };
        for part in ["Example Ltd: 2 addresses verified in the week", "  Undeliverable: 1", "  Deleted: 1"] {
            assert!(week.contains(part), "{part}: {week}");
        }
    })
    .await;
}
