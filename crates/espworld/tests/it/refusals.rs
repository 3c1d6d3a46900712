//! What the platforms refuse: calls of a wrong form, too many of them, and traps that are worth knowing. A judge that lets
//! everything pass proves nothing.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use probity_connectors::{
    ActionKind, ActionOrder, ActionOutcome, ActionTarget, Catalog, ConnectorFile, ContactsGoal, ErrorClass, Method,
    Origin, ReadGoal, ReadStep, Reading, Request, TestOutcome, VerdictFacts,
};
use probity_espworld::{EspContact, EspEffectKind, EspFaults, EspOptions, EspState, EspVendor, judge};
use ring::hmac;
use serde_json::{Value, json};

use crate::driver::act;
use crate::rig::{Rig, credentials, for_each_of, seeds};

/// Runs a scenario on a runtime of its own.
fn run(scenario: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(scenario);
}

/// Makes a call with the credentials of the connector's file.
async fn call(rig: &mut Rig, method: Method, target: &str, body: Option<&Value>) -> (u16, Value) {
    let file = rig.file.clone();
    let testing = probity_connectors::Testing::new(&file, &rig.credentials);
    let mut request = testing.request(rig.now()).unwrap();
    request.method = method;
    request.url = format!("{}{target}", rig.world.base());
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("Content-Type"));
    request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    request.body = body.map(|body| body.to_string().into_bytes());
    answer(rig, &request).await
}

async fn answer(rig: &mut Rig, request: &Request) -> (u16, Value) {
    let response = rig.send(request).await.unwrap();
    (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
}

/// Changes a connector's file, and says what the platform then holds against its calls.
async fn blames(vendor: EspVendor, from: &str, to: &str) -> Vec<String> {
    let mut rig = Rig::new(vendor, 3, EspFaults::none()).await;
    let (name, text) = probity_connectors::Catalog::texts()
        .iter()
        .find(|(name, _)| name.trim_end_matches(".toml") == vendor.slug())
        .unwrap();
    assert!(text.contains(from), "{name} has no {from}");
    rig.file = ConnectorFile::parse(name, &text.replace(from, to), Origin::Embedded).unwrap();
    rig.credentials = credentials(&rig.file, &rig.world, &rig.world.credentials());
    let (file, credentials) = (rig.file.clone(), rig.credentials.clone());
    if let Ok(TestOutcome::Valid { .. }) = rig.test(&credentials).await {
        Box::pin(rig.authorize()).await;
    }
    let credentials = if file.token.is_some() { rig.credentials.clone() } else { credentials };
    let mut reading = Reading::new(&file, &credentials, ReadGoal::Contacts(ContactsGoal::default())).unwrap();
    for _ in 0..6 {
        let Ok(ReadStep::Send(request)) = reading.next(rig.now()) else { break };
        let Ok(response) = rig.send(&request).await else { break };
        let _ = reading.answer(&response);
    }
    judge::malformed(&rig.world)
}

#[test]
fn files_with_a_fault_are_found_out() {
    let faults = [
        (EspVendor::Klaviyo, "revision = \"2026-07-15\"", "Other = \"1\"", "revision"),
        (EspVendor::Klaviyo, "\"page[size]\"", "\"page_size\"", "not a valid query parameter"),
        (EspVendor::Klaviyo, "size = 100,", "size = 101,", "between 1 and 100"),
        (EspVendor::Mailerlite, "Accept = \"application/json\"", "Accept = \"*/*\"", "Accept"),
        (EspVendor::Mailerlite, "Content-Type = \"application/json\"", "Other = \"1\"", "Content-Type"),
        (EspVendor::Mailchimp, "size = 1000", "size = 1001", "count"),
        (EspVendor::Mailchimp, "\"timestamp_opt\"", "\"created\"", "sort_field"),
        (EspVendor::Brevo, "size = 1000", "size = 1001", "limit"),
        (EspVendor::Brevo, "get = \"/contacts\"", "get = \"/Contacts\"", "no such path"),
        (EspVendor::CampaignMonitor, "/{state}.json", "/{state}", "no such path"),
        (EspVendor::CampaignMonitor, "size = 1000", "size = 1001", "pagesize"),
        (EspVendor::Ghost, "\"/members/\"", "\"/members\"", "slash"),
        (EspVendor::Ghost, "order = \"id asc\"", "order = \"email asc\"", "order"),
        (EspVendor::Hubspot, "page = { kind = \"token\", size = 100", "page = { kind = \"token\", size = 101", "limit"),
        (EspVendor::Listmonk, "list_id = \"{list.id}\"", "list_id = \"9{list.id}\"", "list_id"),
        (EspVendor::Mailman, ", page = \"{page.number}\" }", ", Page = \"{page.number}\" }", "count and page"),
        (EspVendor::Activecampaign, "listid =", "listID =", "listID"),
        (EspVendor::Convertkit, "status = \"all\"", "state = \"all\"", "state"),
        (EspVendor::ConstantContact, "size = 500, at", "size = 501, at", "limit"),
        (EspVendor::Phplist, "login_name = ", "login = ", "login_name"),
        (EspVendor::CustomerIo, "size = 1000", "size = 1001", "limit"),
        (EspVendor::Drip, "size = 1000", "size = 1001", "per_page"),
        (EspVendor::Drip, "User-Agent = ", "Other = ", "User-Agent"),
        (EspVendor::Getresponse, "size = 1000", "size = 1001", "perPage"),
        (EspVendor::Gist, "order_by = ", "orderby = ", "orderby"),
        (EspVendor::Iterable, "listId = \"{list.id}\" }, headers", "list = \"{list.id}\" }, headers", "listId"),
        (EspVendor::Keap, "order_by = \"id asc\"", "order_by = \"id\"", "order_by"),
        (EspVendor::Keila, "\"paginate[page_size]\"", "page_size", "page_size"),
        (EspVendor::Mailtrain, "start = ", "Start = ", "Start"),
        (EspVendor::Moosend, "size = 500", "size = 1001", "PageSize"),
        (EspVendor::Ontraport, "sortDir = ", "sortdir = ", "sortdir"),
        (EspVendor::Sendlane, "size = 100", "size = 101", "limit"),
        (EspVendor::Mautic, "orderByDir = \"asc\"", "orderbydir = \"asc\"", "orderbydir"),
    ];
    for (vendor, from, to, expected) in faults {
        run(async move {
            let blames = Box::pin(blames(vendor, from, to)).await;
            assert!(blames.iter().any(|blame| blame.contains(expected)), "{}: {to}: {blames:?}", vendor.slug());
        });
    }
}

#[test]
fn characters_that_need_it_must_be_encoded() {
    run(async {
        let mut rig = Rig::new(EspVendor::Klaviyo, 1, EspFaults::none()).await;
        let (status, _) = call(&mut rig, Method::Get, "/lists?page%5Bsize%5D=5", None).await;
        assert_eq!((status, judge::malformed(&rig.world).len()), (200, 0));
        call(&mut rig, Method::Get, "/lists?page[size]=5", None).await;
        assert!(judge::malformed(&rig.world)[0].contains("not percent-encoded"));
    });
}

/// Makes a token for Ghost.
fn token(key: &str, change: impl FnOnce(&mut Value, &mut Value), now: i64) -> String {
    let (id, secret) = key.split_once(':').unwrap();
    let mut head = json!({"alg": "HS256", "kid": id, "typ": "JWT"});
    let mut claims = json!({"aud": "/admin/", "iat": now, "exp": now + 300});
    change(&mut head, &mut claims);
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&head), encode(&claims));
    let secret: Vec<u8> =
        (0..secret.len() / 2).map(|at| u8::from_str_radix(&secret[at * 2..at * 2 + 2], 16).unwrap()).collect();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
}

#[test]
fn ghost_reads_its_tokens() {
    run(async {
        let mut rig = Rig::new(EspVendor::Ghost, 1, EspFaults::none()).await;
        let key = rig.world.credentials()["admin_api_key"].clone();
        let now = rig.now().0 / 1000;
        let other = format!("{}:{}", key.split_once(':').unwrap().0, "ab".repeat(32));
        let tokens = [
            (200, token(&key, |_, _| {}, now)),
            (401, token(&other, |_, _| {}, now)),
            (401, token(&key, |head, _| head["kid"] = json!("5f0c1e"), now)),
            (401, token(&key, |head, _| head["alg"] = json!("none"), now)),
            (401, token(&key, |_, claims| claims["aud"] = json!("/content/"), now)),
            (401, token(&key, |_, _| {}, now - 301)),
            (401, token(&key, |_, claims| claims["exp"] = json!(now + 3600), now)),
            (401, token(&key, |_, claims| *claims = json!({"aud": "/admin/", "exp": now + 300}), now)),
            (401, "abc".to_owned()),
        ];
        for (expected, token) in tokens {
            let file = rig.file.clone();
            let mut request = probity_connectors::Testing::new(&file, &rig.credentials).request(rig.now()).unwrap();
            request.headers.retain(|(name, _)| name != "Authorization");
            request.headers.push(("Authorization".to_owned(), format!("Ghost {token}")));
            let (status, body) = answer(&mut rig, &request).await;
            assert_eq!(status, expected, "{body}");
        }
        // A token that was right is not right for ever.
        let file = rig.file.clone();
        let request = probity_connectors::Testing::new(&file, &rig.credentials).request(rig.now()).unwrap();
        rig.world.clock().advance(300_000);
        assert_eq!(answer(&mut rig, &request).await.0, 401);
    });
}

#[test]
fn the_call_too_many_is_refused_in_the_dialect_of_the_platform() {
    let limited = [
        EspVendor::Activecampaign,
        EspVendor::Brevo,
        EspVendor::Convertkit,
        EspVendor::CustomerIo,
        EspVendor::Getresponse,
        EspVendor::Hubspot,
        EspVendor::Klaviyo,
        EspVendor::Mailerlite,
    ];
    for_each_of(&limited, &[1], |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        rig.file.rate.limits.clear();
        let right = rig.credentials.clone();
        let fault = loop {
            match rig.test(&right).await.unwrap() {
                TestOutcome::Valid { .. } => assert!(rig.world.ledger().total() <= 150, "no limit"),
                TestOutcome::Failed(fault) => break fault,
                TestOutcome::Wrong { message, .. } => panic!("{message}"),
            }
        };
        assert_eq!((fault.class, fault.status), (ErrorClass::Throttled, 429));
        // These do not say how long.
        let is_silent = matches!(vendor, EspVendor::Convertkit | EspVendor::CustomerIo | EspVendor::Hubspot);
        assert_eq!(fault.wait_ms.is_none(), is_silent, "{fault:?}");
        assert_eq!(judge::excesses(&rig.world), 1);
        rig.world.clock().advance(fault.wait_ms.unwrap_or(60_000));
        assert!(matches!(rig.test(&right).await.unwrap(), TestOutcome::Valid { .. }));
    });
}

#[test]
fn a_limit_under_the_status_of_a_success_is_waited_for() {
    for_each_of(&[EspVendor::Moosend], &seeds(), |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        rig.file.rate.limits.clear();
        let list = rig.world.list_id(1);
        let members = rig.world.account(|account| {
            let all = account.members(1).iter().filter_map(|number| account.contact(*number));
            all.filter(|contact| contact.state_in(1) == Some(EspState::Subscribed)).take(45).collect::<Vec<_>>()
        });
        let target = |contact: &EspContact| ActionTarget {
            id: String::new(),
            email: contact.email.clone(),
            lists: Vec::new(),
            verdict: VerdictFacts::default(),
            value: None,
        };
        let targets: Vec<_> = members.iter().map(target).collect();
        let order = ActionOrder { kind: ActionKind::Unsubscribe, list: Some(list), tag: None, field: None, targets };
        let outcomes = act(&mut rig, order, &mut BTreeMap::new()).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, ActionOutcome::Done { .. })), "{outcomes:?}");
        // 20 in 10 s: the 21st and the 41st were refused, asked again after a wait, and nobody was asked for twice.
        assert_eq!(judge::excesses(&rig.world), 2);
        assert!(rig.world.ledger().calls().iter().all(|call| call.status == 200));
        let effects = rig.world.effects();
        assert_eq!((effects.len(), judge::doubled(&effects)), (45, Vec::new()));
    });
}

#[test]
#[ignore = "thorough"]
fn a_second_by_the_machines_clock_is_a_second() {
    run(async {
        let options = EspOptions { is_real_time: true, ..EspOptions::new(1) };
        let mut rig = Rig::with(EspVendor::Activecampaign, options).await;
        rig.file.rate.limits.clear();
        let right = rig.credentials.clone();
        let mut refused = 0;
        for _ in 0..11 {
            refused += usize::from(!matches!(rig.test(&right).await.unwrap(), TestOutcome::Valid { .. }));
        }
        // Eleven calls fall into two spans at most.
        assert!(refused >= 1, "five calls a second are allowed");
        tokio::time::sleep(std::time::Duration::from_millis(1_050)).await;
        assert!(matches!(rig.test(&right).await.unwrap(), TestOutcome::Valid { .. }));
    });
}

#[test]
fn dead_credentials_live_again_after_an_hour() {
    for_each_of(&EspVendor::ALL, &[1], |vendor, seed| async move {
        let gives_tokens = Catalog::embedded().get(vendor.slug()).unwrap().token.is_some();
        let faults = EspFaults { dead_from: Some(2 + usize::from(gives_tokens)), ..EspFaults::none() };
        let mut rig = Rig::new(vendor, seed, faults).await;
        for (wait, is_valid) in [(0, true), (2_000, false), (3_600_000, true)] {
            rig.world.clock().advance(wait);
            let right = rig.credentials.clone();
            assert_eq!(matches!(rig.test(&right).await.unwrap(), TestOutcome::Valid { .. }), is_valid, "{wait}");
        }
    });
}

#[test]
fn a_cursor_serves_once() {
    run(async {
        let mut rig = Rig::new(EspVendor::Mailerlite, 1, EspFaults::none()).await;
        let (_, first) = call(&mut rig, Method::Get, "/subscribers?limit=10", None).await;
        let cursor = first["meta"]["next_cursor"].as_str().unwrap().replace('=', "%3D").replace('+', "%2B");
        let target = format!("/subscribers?limit=10&cursor={cursor}");
        assert_eq!(call(&mut rig, Method::Get, &target, None).await.0, 200);
        assert_eq!(call(&mut rig, Method::Get, &target, None).await.0, 422);
    });
}

#[test]
fn klaviyos_unsubscription_reaches_everything_where_the_profile_is_not_in_the_list() {
    run(async {
        let mut rig = Rig::new(EspVendor::Klaviyo, 1, EspFaults::none()).await;
        let outside = rig.world.account(|account| {
            let mut all = account.everyone().iter().filter_map(|number| account.contact(*number));
            all.find(|contact| contact.state_in(1).is_none() && contact.state == EspState::Subscribed).unwrap()
        });
        let profile = json!({"type": "profile", "attributes": {"email": outside.email,
            "subscriptions": {"email": {"marketing": {"consent": "UNSUBSCRIBED"}}}}});
        let list = json!({"list": {"data": {"type": "list", "id": rig.world.list_id(1)}}});
        let body = json!({"data": {"type": "profile-subscription-bulk-delete-job", "relationships": list,
            "attributes": {"profiles": {"data": [profile]}}}});
        let (status, _) = call(&mut rig, Method::Post, "/profile-subscription-bulk-delete-jobs", Some(&body)).await;
        assert_eq!(status, 202);
        let effects = rig.world.effects();
        assert_eq!((&effects[0].kind, effects[0].list), (&EspEffectKind::Moved(EspState::Unsubscribed), None));
        assert_eq!(judge::strayed(&effects, |effect| effect.list == Some(1)).len(), 1);
    });
}

#[test]
fn oddities_of_pages_are_those_of_the_platforms() {
    run(async {
        let mut mailman = Rig::new(EspVendor::Mailman, 1, EspFaults::none()).await;
        let list = mailman.world.list_id(1);
        let (status, past) =
            call(&mut mailman, Method::Get, &format!("/lists/{list}/roster/member?count=50&page=99"), None).await;
        assert_eq!((status, past.get("entries")), (200, None));
        let mut ghost = Rig::new(EspVendor::Ghost, 1, EspFaults::none()).await;
        let (_, all) = call(&mut ghost, Method::Get, "/members/?limit=all", None).await;
        assert_eq!(all["members"].as_array().unwrap().len(), 100);
        let empty = EspOptions { contacts: 0, ..EspOptions::new(1) };
        let mut mautic = Rig::with(EspVendor::Mautic, empty).await;
        assert_eq!(call(&mut mautic, Method::Get, "/contacts", None).await.1["contacts"], json!([]));
        let mut mautic = Rig::new(EspVendor::Mautic, 1, EspFaults::none()).await;
        assert!(call(&mut mautic, Method::Get, "/contacts", None).await.1["contacts"].is_object());
        let mut listmonk = Rig::new(EspVendor::Listmonk, 1, EspFaults::none()).await;
        assert_eq!(call(&mut listmonk, Method::Get, "/subscribers?query=id%3E1", None).await.0, 403);
        let mut hubspot = Rig::new(EspVendor::Hubspot, 1, EspFaults::none()).await;
        let deep = json!({"filterGroups": [], "limit": 200, "after": "9900"});
        assert_eq!(call(&mut hubspot, Method::Post, "/crm/v3/objects/contacts/search", Some(&deep)).await.0, 400);
    });
}

#[test]
fn a_second_deletion_is_a_missing_contact() {
    let wanted = [
        (EspVendor::Ghost, "/members/*/", 404),
        (EspVendor::Mailerlite, "/subscribers/*", 404),
        (EspVendor::Activecampaign, "/contacts/*", 404),
        (EspVendor::Brevo, "/contacts/*?identifierType=contact_id", 404),
        (EspVendor::Mautic, "/contacts/*/delete", 404),
        (EspVendor::Drip, "/9999999/subscribers/*", 404),
        (EspVendor::Getresponse, "/contacts/*", 404),
        (EspVendor::Gist, "/contacts/*", 404),
        (EspVendor::Keap, "/contacts/*", 404),
        (EspVendor::Ontraport, "/Contact?id=*", 404),
        // HubSpot repeats without a word, and so do Keila and listmonk.
        (EspVendor::Hubspot, "/crm/v3/objects/contacts/*", 204),
        (EspVendor::Listmonk, "/subscribers/*", 200),
        (EspVendor::Keila, "/contacts/*", 204),
    ];
    for (vendor, target, second) in wanted {
        run(async move {
            let mut rig = Rig::new(vendor, 1, EspFaults::none()).await;
            let contact = rig.world.account(|account| account.contact(7)).unwrap();
            let target = target.replace('*', &rig.world.contact_id(&contact, None));
            let (first, _) = call(&mut rig, Method::Delete, &target, None).await;
            assert!(matches!(first, 200 | 204), "{}: {first}", vendor.slug());
            assert_eq!(call(&mut rig, Method::Delete, &target, None).await.0, second, "{}", vendor.slug());
            let deleted = rig.world.effects().iter().filter(|effect| effect.kind == EspEffectKind::Deleted).count();
            assert_eq!(deleted, 1, "{}", vendor.slug());
        });
    }
}

#[test]
fn constant_contact_keeps_subresources_and_restores_deleted_contacts_in_lists() {
    run(async {
        let mut rig = Rig::new(EspVendor::ConstantContact, 1, EspFaults::none()).await;
        Box::pin(rig.authorize()).await;
        let contact = rig.world.account(|account| account.contact(account.members(1)[0])).unwrap();
        let target = format!("/v3/contacts/{}", rig.world.contact_id(&contact, None));
        let (_, before) = call(&mut rig, Method::Get, &target, None).await;
        assert_eq!(call(&mut rig, Method::Put, &target, Some(&before)).await.0, 200);
        assert_eq!(rig.world.account(|account| account.contact(contact.number)).unwrap().lists, contact.lists);
        assert_eq!(call(&mut rig, Method::Delete, &target, None).await.0, 204);
        let (status, deleted) = call(&mut rig, Method::Get, &target, None).await;
        assert!(status == 200 && deleted["deleted_at"].is_string(), "{deleted}");
        assert_eq!(call(&mut rig, Method::Put, &target, Some(&before)).await.0, 404);
        let with_lists = json!({"email_address": {"address": contact.email}, "update_source": "Account",
            "list_memberships": [rig.world.list_id(1)]});
        assert_eq!(call(&mut rig, Method::Put, &target, Some(&with_lists)).await.0, 200);
        assert!(call(&mut rig, Method::Get, &target, None).await.1["deleted_at"].is_null());
    });
}
