//! Constant Contact, version 3: OAuth 2.0 with refresh tokens that rotate, next pages as paths, and a PUT that replaces a contact.

use std::collections::BTreeMap;

use crate::account::EspTokens;
use crate::vendor::prelude::*;

/// Lifetime of an access token.
const LIFE_MS: i64 = 86_400_000;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "constant_contact",
    base: Some("https://api.cc.email"),
    states: &[EspState::Unsubscribed, EspState::Pending, EspState::Archived],
    limits: &[EspLimit::of(&["/v3"], 1_000, 4), EspLimit::of(&["/v3"], 86_400_000, 10_000)],
    routes: ROUTES,
    key: |key| key[10..40].to_owned(),
    credentials: |secrets, key| {
        vec![
            ("client_id", "b3f1-client".to_owned()),
            ("client_secret", key),
            ("refresh_token", EspTokens::refresh_token(&secrets.key, 0)),
        ]
    },
    admit: |desk, call| {
        if call.path.starts_with("/oauth2/") {
            return Ok(());
        }
        desk.admits(call.bearer().is_some_and(|token| desk.tokens.is_valid(token, desk.now)))
    },
    refused: || EspReply::json(401, &json!({"error_key": "unauthorized", "error_message": "Unauthorized"})),
    limited: |excess| {
        let key = if excess.wait_ms > 60_000 { "quota_exceeded" } else { "throttled" };
        EspReply::json(429, &json!({"error_key": key, "error_message": "Too many requests"}))
    },
    absent: || error(404, "not_found", "Resource not found"),
    contact_id: |contact, _| uuid(contact.number, 0),
    list_id: |list| uuid(list, 1),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("POST", "/oauth2/default/v1/token", token),
    on("GET", "/v3/contact_lists", lists),
    on("GET", "/v3/contacts", contacts),
    on("GET", "/v3/contacts/*", |desk, call, stars| {
        let include = call.param("include");
        let shown = find_or_deleted(desk, &stars[0], include.as_deref().unwrap_or_default())?;
        let reply = EspReply::json(200, &shown);
        Ok(noting(reply, &strange_params(call, "include")))
    }),
    on("PUT", "/v3/contacts/*", put),
    on("DELETE", "/v3/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("GET", "/v3/contact_tags", tags),
    on("POST", "/v3/contact_tags", |desk, call, _| {
        let body = call.body_json(|| error(400, "contacts.api.json", "JSON"))?;
        let name = text(&body, "/name").ok_or_else(|| error(400, "contacts.api.validation", "name").blaming("name"))?;
        if desk.account.tag(&name).is_some() {
            return Err(error(409, "contacts.api.conflict", "A tag with this name exists"));
        }
        let tag = desk.account.make_tag(&name);
        Ok(noting(EspReply::json(201, &tag_shown(tag.id, &name)), &strangers(&body, "name tag_source")))
    }),
    on("POST", "/v3/activities/contacts_taggings_add", taggings),
];

fn uuid(number: u32, kind: u32) -> String {
    ids::uuid(&ids::hex32(number, kind))
}

/// Returns an error, which is a list of errors but for a few.
fn error(status: u16, key: &str, message: &str) -> EspReply {
    EspReply::json(status, &json!([{"error_key": key, "error_message": message}]))
}

fn token(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wrong = |status: u16, error: &str| EspReply::json(status, &json!({"error": error, "error_description": error}));
    let given = call.basic().filter(|(user, password)| user == "b3f1-client" && *password == desk.key());
    given.ok_or_else(|| wrong(401, "invalid_client"))?;
    let fields = call.fields();
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if field("grant_type") != Some("refresh_token") {
        return Err(wrong(400, "unsupported_grant_type").blaming("grant_type"));
    }
    let refresh = field("refresh_token").ok_or_else(|| wrong(400, "invalid_request").blaming("refresh_token"))?;
    let key = desk.secrets.key.clone();
    let now = desk.now;
    let pair = desk.tokens.refresh(&key, refresh, now, LIFE_MS).ok_or_else(|| wrong(400, "invalid_grant"))?;
    ok(&json!({"token_type": "Bearer", "expires_in": LIFE_MS / 1_000, "access_token": pair.0, "refresh_token": pair.1,
            "scope": "account_read contact_data offline_access"}))
}

/// Returns where a page begins, and its size.
fn page(desk: &mut Desk, call: &EspCall, default: usize, most: usize) -> Result<(Option<u32>, usize), EspReply> {
    let size = call.number("limit", default).filter(|size| (1..=most).contains(size));
    let size = size.ok_or_else(|| error(400, "contacts.api.validation", "limit").blaming("limit"))?;
    let Some(cursor) = call.param("cursor") else { return Ok((None, size)) };
    let position = desk.open_cursor(&cursor).and_then(|(position, _)| position.parse().ok());
    position.map(|position| (Some(position), size)).ok_or_else(|| error(400, "contacts.api.validation", "cursor"))
}

/// Returns the links of a page: the next one is a path, with what the call had in its query.
fn links(desk: &mut Desk, call: &EspCall, next: Option<u32>) -> Value {
    let Some(position) = next else { return json!({}) };
    let cursor = desk.cursor(&position.to_string());
    let encode =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let kept = call.params().into_iter().filter(|(name, _)| name != "cursor");
    let pairs = kept.chain([("cursor".to_owned(), cursor)]);
    let query: Vec<_> = pairs.map(|(name, value)| format!("{}={}", encode(&name), encode(&value))).collect();
    json!({"next": {"href": format!("{}?{}", call.path, query.join("&"))}})
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (after, size) = page(desk, call, 50, 1_000)?;
    let from = after.unwrap_or(0) as usize;
    let all = desk.account.lists.len();
    let shown = each(
        part(&desk.account.lists, from, size),
        |list| json!({"list_id": (SHEET.list_id)(list.number), "name": list.name, "favorite": false}),
    );
    let next = (from + size < all).then(|| u32::try_from(from + size).unwrap_or(u32::MAX));
    let links = links(desk, call, next);
    let reply = EspReply::json(200, &json!({"lists": shown, "lists_count": all, "_links": links}));
    Ok(noting(reply, &strange_params(call, "limit cursor include_count status name")))
}

fn permission(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "implicit",
        EspState::Pending => "pending_confirmation",
        EspState::Unsubscribed | EspState::Complained => "unsubscribed",
        EspState::Bounced | EspState::Archived => "temp_hold",
    }
}

fn shown(contact: &EspContact, include: &str) -> Value {
    let at = time::iso(contact.created);
    let mut shown = json!({
        "contact_id": (SHEET.contact_id)(contact, None),
        "email_address": {"address": contact.email, "permission_to_send": permission(contact.state), "created_at": at,
            "updated_at": at, "opt_in_source": "Account", "opt_in_date": at, "confirm_status": "off"},
        "first_name": "Ann", "update_source": "Contact", "create_source": "Account",
        "created_at": at, "updated_at": time::iso(contact.updated),
    });
    if include.split(',').any(|name| name == "list_memberships") {
        let lists: Vec<_> = contact.lists.keys().map(|list| (SHEET.list_id)(*list)).collect();
        shown["list_memberships"] = json!(lists);
    }
    shown
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let known = "limit cursor lists status include created_after updated_after include_count";
    let (after, size) = page(desk, call, 50, 500)?;
    let wrong = |name: &str| error(400, "contacts.api.validation", name).blaming(name);
    let list = call.param("lists").map(|id| list_of(&desk.account, &id, SHEET.list_id).ok_or_else(|| wrong("lists")));
    let list = list.transpose()?;
    let date = |name: &str| call.param(name).map(|text| time::of_iso(&text).ok_or_else(|| wrong(name))).transpose();
    let (created, updated) = (date("created_after")?, date("updated_after")?);
    let keep = |contact: &EspContact| {
        created.is_none_or(|at| contact.created >= at) && updated.is_none_or(|at| contact.updated >= at)
    };
    let name = format!("{created:?} {updated:?}");
    let selection = Selection::all(list, PageOrder::Oldest).keeping(&name, &keep);
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let next = slice.contacts.last().map(|contact| contact.number).filter(|_| more);
    let include = call.param("include").unwrap_or_default();
    let shown: Vec<_> = slice.contacts.iter().map(|contact| shown(contact, &include)).collect();
    let links = links(desk, call, next);
    Ok(noting(EspReply::json(200, &json!({"contacts": shown, "_links": links})), &strange_params(call, known)))
}

fn number_of(id: &str) -> Option<u32> {
    ids::of_hex32(&id.replace('-', "")).filter(|(_, kind)| *kind == 0).map(|(number, _)| number)
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    number_of(id)
        .and_then(|number| desk.account.contact(number))
        .ok_or_else(|| error(404, "contacts.api.not_found", "Not found"))
}

/// Returns what a read shows, which finds deleted contacts, too.
fn find_or_deleted(desk: &Desk, id: &str, include: &str) -> Result<Value, EspReply> {
    match find(desk, id) {
        Ok(contact) => Ok(shown(&contact, include)),
        Err(absent) => {
            let deleted = number_of(id).and_then(|number| desk.account.deleted(number)).ok_or(absent)?;
            let mut shown = shown(&EspContact { lists: BTreeMap::new(), ..deleted.clone() }, include);
            shown["deleted_at"] = json!(time::shown(deleted.updated, "%Y-%m-%d"));
            Ok(shown)
        }
    }
}

/// Replaces the properties of a contact, and the subresources that the body has. Lists restore a deleted contact.
fn put(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "contacts.api.json", "JSON"))?;
    let wrong = |name: &str| error(400, "contacts.api.validation", name).blaming(name);
    let email = text(&body, "/email_address/address").filter(|email| is_address(email));
    let email = email.ok_or_else(|| wrong("email_address"))?;
    let lists: Option<Vec<_>> =
        body["list_memberships"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect());
    if let (Some(number), Some([_, ..])) = (number_of(&stars[0]), lists.as_deref()) {
        desk.account.restore(number);
    }
    let contact = find(desk, &stars[0])?;
    if !["Account", "Contact"].contains(&text(&body, "/update_source").unwrap_or_default().as_str()) {
        return Err(wrong("update_source"));
    }
    if !desk.account.readdress(contact.number, &email) {
        return Err(error(409, "contacts.api.conflict", "The address belongs to another contact"));
    }
    let all: Vec<u32> = desk.account.lists.iter().map(|list| list.number).collect();
    for list in all.into_iter().filter(|_| lists.is_some()) {
        if lists.iter().flatten().any(|id| *id == (SHEET.list_id)(list)) {
            desk.account.join(contact.number, list, contact.state);
        } else {
            desk.account.leave(contact.number, list);
        }
    }
    match text(&body, "/email_address/permission_to_send").as_deref() {
        Some("unsubscribed") => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
        Some("implicit" | "explicit" | "not_set" | "pending_confirmation") | None => {}
        Some(_) => return Err(wrong("permission_to_send")),
    }
    let contact = find(desk, &stars[0])?;
    ok(&shown(&contact, "list_memberships"))
}

fn tag_shown(id: u32, name: &str) -> Value {
    json!({"tag_id": uuid(id, 2), "name": name, "tag_source": "Contact", "created_at": "2026-11-01T09:00:00Z"})
}

fn tags(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (after, size) = page(desk, call, 50, 500)?;
    let from = after.unwrap_or(0) as usize;
    let all = desk.account.tags.len();
    let shown: Vec<_> =
        desk.account.tags.iter().skip(from).take(size).map(|tag| tag_shown(tag.id, &tag.name)).collect();
    let next = (from + size < all).then(|| u32::try_from(from + size).unwrap_or(u32::MAX));
    let links = links(desk, call, next);
    let reply = EspReply::json(200, &json!({"tags": shown, "_links": links}));
    Ok(noting(reply, &strange_params(call, "limit cursor include_count")))
}

fn taggings(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "contacts.api.json", "JSON"))?;
    let wrong = |name: &str| error(400, "contacts.api.validation", name).blaming(name);
    let texts = |at: &str| -> Vec<String> {
        let items = body.pointer(at).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let (contacts, tags) = (texts("/source/contact_ids"), texts("/tag_ids"));
    if contacts.is_empty() || contacts.len() > 500 {
        return Err(wrong("source"));
    }
    let ids: Vec<u32> = desk.account.tags.iter().map(|tag| tag.id).filter(|id| tags.contains(&uuid(*id, 2))).collect();
    if ids.is_empty() || ids.len() != tags.len() {
        return Err(wrong("tag_ids"));
    }
    // Contacts that are gone are left out without a word.
    for contact in contacts.iter().filter_map(|id| find(desk, id).ok()).collect::<Vec<_>>() {
        for tag in &ids {
            desk.account.tag_contact(contact.number, *tag);
        }
    }
    let reply = EspReply::json(201, &json!({"activity_id": uuid(1, 9), "state": "initialized"}));
    Ok(noting(reply, &strangers(&body, "source exclude tag_ids")))
}
