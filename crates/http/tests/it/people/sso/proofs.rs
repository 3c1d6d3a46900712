//! The end of a proof: a domain that no longer counts admits no one, and is free for others.

use std::time::Duration;

use probity_account::role::MemberRole;
use probity_backend::outbound::Unresolved;
use probity_contract::error::Code;
use probity_mail::time::Millis;
use probity_service::accounts::people::sso::domains::{confirm_domain, release_domain};
use probity_store::accounts::sso::{self, DueDomain};
use serde_json::{Value, json};

use super::{BOB, Customer, DOMAIN, OWNER, Outside};
use crate::people::browser::Browser;
use crate::people::{PASSWORD, signed_in};
use crate::test_app::{TestApp, pass};

#[tokio::test]
async fn a_released_domain_admits_nobody_and_is_free_for_others() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut other = Customer::new(app, &outside, "all").await;
        let mut customer = Customer::with_sso(app, &outside).await;
        let (bob, mut left_open) = signed_in(app, &customer.org, BOB, MemberRole::Contributor).await;
        assert_eq!(customer.refused().await, "", "he is bound now");
        customer.set(json!({ "required": true })).await.ok(200);
        let mut under_way = Browser::new(app);
        let path = customer.go(&mut under_way, BOB).await;

        // In another spelling, and repeated.
        for domain in [" @ACME-Team.com", DOMAIN] {
            let release = async |app: &_, staff: &_| release_domain(app, staff, domain).await;
            let shown = app.admin.act(&customer.org, release).await.unwrap();
            assert_eq!(shown.domains.len(), 1, "the claim stays");
            assert!(shown.domains[0].proven_at.is_none());
        }
        let release = async |app: &_, staff: &_| release_domain(app, staff, "other-team.com").await;
        let refused = app.admin.act(&customer.org, release).await.err().unwrap();
        assert_eq!(refused.code(), Code::NotFound);
        let released: Vec<_> =
            customer.events().await.into_iter().filter(|(kind, _)| kind == "domain_released").collect();
        assert_eq!(released, [("domain_released".to_owned(), "staff".to_owned())]);

        // It admits no one: neither a bound member, nor a sign-in in progress, nor a new user.
        assert_eq!(super::come_back(&mut under_way, &path).await, "/#/sign-in?sso=domain");
        let mut browser = Browser::new(app);
        browser.post("/app/sso/sign-in", &json!({ "email": BOB })).await.error(404, "not_found");
        // Sessions continue, and passwords work again.
        assert!(left_open.is_in().await);
        browser.sign_in(BOB, PASSWORD).await.ok(200);
        assert_eq!(browser.get("/app/session").await.ok(200)["user"]["id"], json!(bob.id));

        other.set(json!({})).await.ok(200);
        other.prove(DOMAIN).await.ok(200);
        customer.prove(DOMAIN).await.error(409, "conflict");
        let confirm = async |app: &_, staff: &_| confirm_domain(app, staff, DOMAIN).await;
        let refused = app.admin.act(&customer.org, confirm).await.err().unwrap();
        assert_eq!(refused.code(), Code::Conflict);
        let mut browser = Browser::new(app);
        assert_eq!(other.sign_in(&mut browser, BOB).await, "/");
        assert_eq!(browser.get("/app/session").await.ok(200)["organization"]["id"], other.org.id.to_string());
    })
    .await;
}

#[tokio::test]
async fn a_bound_member_is_admitted_by_a_domain_that_is_still_proven() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        customer.set(json!({ "domains": [DOMAIN, "second-team.com"] })).await.ok(200);
        customer.prove("second-team.com").await.ok(200);
        assert_eq!(customer.refused().await, "");
        let release = async |app: &_, staff: &_| release_domain(app, staff, DOMAIN).await;
        app.admin.act(&customer.org, release).await.unwrap();
        let mut browser = Browser::new(app);
        let come = async |browser: &mut Browser<'_>| customer.sign_in(browser, "bob@second-team.com").await;
        assert_eq!(come(&mut browser).await, "/#/sign-in?sso=domain", "the provider still says the old address");
        outside.provider.change(|script| script.claims = json!({ "email": "bob@second-team.com" }));
        assert_eq!(come(&mut browser).await, "/");
        assert_eq!(customer.members().await, 2, "the same member");
    })
    .await;
}

const NAME: &str = "_probity.acme-team.com";

impl Customer<'_> {
    /// Sets the result of looking up the domain's record.
    fn publish(&self, found: Result<&[&str], Unresolved>) {
        let found = found.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
        self.outside.records.0.lock().unwrap().insert(NAME.to_owned(), found);
    }

    /// Lets a day pass, in which the record is looked up.
    async fn look_again(&self) {
        let before = self.due().await;
        assert_eq!(before.len(), 1);
        pass(Duration::from_hours(24)).await;
        for _ in 0..1_000 {
            if self.due().await != before {
                return;
            }
            pass(Duration::from_secs(6)).await;
        }
        panic!("the record was not looked up");
    }

    /// Returns the domains to be looked up.
    async fn due(&self) -> Vec<DueDomain> {
        sso::due(&mut self.app.store.read().await.unwrap(), Millis(i64::MAX), 9).await.unwrap()
    }

    /// Returns the domain as shown to the owner.
    async fn domain(&mut self) -> Value {
        self.owner.sign_in(OWNER, PASSWORD).await.ok(200);
        self.owner.get("/app/sso").await.ok(200)["domains"][0].clone()
    }

    /// Returns the events of the proof, latest first.
    async fn story(&mut self) -> Vec<(String, String)> {
        self.owner.sign_in(OWNER, PASSWORD).await.ok(200);
        self.events().await.into_iter().filter(|(kind, _)| kind.starts_with("domain_")).collect()
    }
}

fn told(kinds: &[(&str, &str)]) -> Vec<(String, String)> {
    kinds.iter().map(|(kind, actor)| ((*kind).to_owned(), (*actor).to_owned())).collect()
}

#[tokio::test]
async fn a_record_that_is_gone_ends_the_proof_after_a_week() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        customer.look_again().await;
        assert_eq!(customer.domain().await["counts_until"], json!(null), "it is there");
        customer.publish(Ok(&["v=spf1 -all", "probity-domain=of-another-organization"]));
        customer.look_again().await;
        let until = customer.domain().await["counts_until"].clone();
        assert!(until.is_string());
        for day in 1..7 {
            // A failed lookup does not count.
            customer.publish(if day % 2 == 0 { Ok(&[]) } else { Err(Unresolved::Name) });
            customer.look_again().await;
            assert_eq!(customer.refused().await, "", "day {day}");
            assert_eq!(customer.domain().await["counts_until"], until, "day {day}");
        }
        customer.publish(Err(Unresolved::Busy));
        customer.look_again().await;
        customer.look_again().await;
        assert_eq!(customer.refused().await, "", "a failure ends no proof, however late");
        customer.publish(Ok(&[]));
        customer.look_again().await;
        let shown = customer.domain().await;
        assert_eq!((&shown["proven_at"], &shown["counts_until"]), (&json!(null), &json!(null)));
        assert_eq!(shown["domain"], DOMAIN, "the claim stays");
        assert_eq!(customer.due().await, []);
        Browser::new(app).post("/app/sso/sign-in", &json!({ "email": BOB })).await.error(404, "not_found");
        let story = [("domain_released", "system"), ("domain_record_missing", "system"), ("domain_proven", "user")];
        assert_eq!(customer.story().await, told(&story));
        customer.prove(DOMAIN).await.ok(200);
        assert_eq!(customer.refused().await, "");
    })
    .await;
}

#[tokio::test]
async fn a_record_that_is_back_in_time_keeps_the_proof() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let published = outside.records.0.lock().unwrap()[NAME].clone();
        let back = || outside.records.0.lock().unwrap().insert(NAME.to_owned(), published.clone());
        // Found by the daily lookup, and by an owner who does not wait for it.
        for is_owner in [false, true] {
            customer.publish(Ok(&[]));
            for _ in 0..6 {
                customer.look_again().await;
            }
            assert!(customer.domain().await["counts_until"].is_string());
            customer.owner.post("/app/sso/domains", &json!({ "domain": DOMAIN })).await.error(409, "conflict");
            assert!(customer.domain().await["counts_until"].is_string(), "it still counts");
            back();
            if is_owner {
                customer.owner.post("/app/sso/domains", &json!({ "domain": DOMAIN })).await.ok(200);
            } else {
                customer.look_again().await;
            }
            assert_eq!(customer.domain().await["counts_until"], json!(null));
        }
        assert_eq!(customer.refused().await, "");
        let missing = ("domain_record_missing", "system");
        assert_eq!(customer.story().await, told(&[missing, missing, ("domain_proven", "user")]));
    })
    .await;
}

#[tokio::test]
async fn what_the_operator_confirmed_is_not_looked_up() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        customer.publish(Ok(&[]));
        customer.look_again().await;
        let confirm = async |app: &_, staff: &_| confirm_domain(app, staff, DOMAIN).await;
        app.admin.act(&customer.org, confirm).await.unwrap();
        assert_eq!(customer.due().await, []);
        assert_eq!(customer.domain().await["counts_until"], json!(null));
        assert_eq!(customer.story().await, told(&[("domain_record_missing", "system"), ("domain_proven", "user")]));
    })
    .await;
}
