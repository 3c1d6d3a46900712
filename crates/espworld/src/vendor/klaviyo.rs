//! Klaviyo, revision 2026-07-15, from its published description. Unsubscribing from a list unsubscribes profiles that are
//! not on it everywhere, and creates profiles for unknown addresses.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "klaviyo",
    base: Some("https://a.klaviyo.com/api"),
    root: "/api",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained],
    limits: LIMITS,
    routes: ROUTES,
    key: |key| format!("pk_{}", &key[..34]),
    admit,
    refused: || error(401, "authentication_failed", "Incorrect authentication credentials."),
    limited,
    absent: || error(404, "not_found", "The requested resource was not found"),
    contact_id: |contact, _| ids::ulid(contact.number),
    list_id: |list| format!("Y6nR{list:02}"),
    ..USUAL
};

/// Limits per path, each with a burst and a steady rate.
const LIMITS: &[EspLimit] = &[
    EspLimit::of(&["/accounts"], 1_000, 1),
    EspLimit::of(&["/accounts"], 60_000, 15),
    EspLimit::of(&["GET /lists"], 1_000, 75),
    EspLimit::of(&["GET /lists"], 60_000, 750),
    EspLimit::of(&["DELETE /lists"], 1_000, 10),
    EspLimit::of(&["DELETE /lists"], 60_000, 150),
    EspLimit::of(&["/profiles"], 1_000, 75),
    EspLimit::of(&["/profiles"], 60_000, 750),
    EspLimit::of(&["POST /profile-subscription-bulk-delete-jobs"], 1_000, 75),
    EspLimit::of(&["POST /profile-subscription-bulk-delete-jobs"], 60_000, 750),
    EspLimit::of(&["POST /data-privacy-deletion-jobs"], 1_000, 3),
    EspLimit::of(&["POST /data-privacy-deletion-jobs"], 60_000, 60),
    EspLimit::of(&["/webhooks"], 1_000, 1),
    EspLimit::of(&["/webhooks"], 60_000, 15),
];

const ROUTES: &[EspRoute] = &[
    on("GET", "/accounts", |_, _, _| Ok(account())),
    on("GET", "/lists", lists),
    on("GET", "/lists/*/profiles", |desk, call, stars| profiles(desk, call, Some(&stars[0]))),
    on("DELETE", "/lists/*/relationships/profiles", remove),
    on("GET", "/profiles", |desk, call, _| profiles(desk, call, None)),
    on("GET", "/profiles/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        Ok(document(200, &json!({"data": shown(&contact, call, None)})))
    }),
    on("PATCH", "/profiles/*", edit),
    on("POST", "/profile-subscription-bulk-delete-jobs", unsubscribe),
    on("POST", "/data-privacy-deletion-jobs", delete),
    on("POST", "/webhooks", hook),
    on("GET", "/webhooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[0]).ok_or_else(|| error(404, "not_found", "A webhook does not exist."))?;
        Ok(EspReply::json(
            200,
            &json!({"data": {"type": "webhook", "id": stars[0], "attributes": {"endpoint_url": origin(&hook.url), "enabled": true}}}),
        ))
    }),
    on("DELETE", "/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { Ok(EspReply::empty(204)) } else { Err(error(404, "not_found", "A webhook does not exist.")) }
    }),
];

fn document(status: u16, body: &Value) -> EspReply {
    EspReply::json(status, body).of_kind("application/vnd.api+json")
}

fn error(status: u16, code: &str, detail: &str) -> EspReply {
    let error = json!({"id": ids::hex32(1, 1), "status": status, "code": code, "title": detail, "detail": detail,
        "source": {"pointer": "/data/"}, "links": {}, "meta": {}});
    document(status, &json!({"errors": [error]}))
}

fn invalid(what: &str) -> EspReply {
    error(400, "invalid", &format!("Invalid input: {what}")).blaming(what.to_owned())
}

fn limited(excess: &EspExcess) -> EspReply {
    let wait = excess.seconds();
    let detail =
        format!("Request was throttled. Expected available in {wait} second{}.", if wait == 1 { "" } else { "s" });
    error(429, "throttled", &detail).with("Retry-After", wait)
}

fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    let wanted = format!("Klaviyo-API-Key {}", desk.key());
    match call.header("Authorization") {
        None => return Err(error(401, "not_authenticated", "Authentication credentials were not provided.")),
        Some(given) if given != wanted => {
            return Err(error(401, "authentication_failed", "Incorrect authentication credentials."));
        }
        Some(_) => {}
    }
    let revision = call.header("revision").unwrap_or_default();
    let is_dated = time::of_day(revision).is_some();
    if !is_dated || !("2024-10-15"..="2026-07-15").contains(&revision) {
        return Err(invalid("the revision header is missing, retired or not one"));
    }
    let kind = call.header("Content-Type").unwrap_or("application/vnd.api+json");
    if !call.body.is_empty() && !kind.starts_with("application/vnd.api+json") && !kind.starts_with("application/json") {
        return Err(error(415, "unsupported_media_type", "Unsupported media type").blaming("Content-Type"));
    }
    Ok(())
}

fn account() -> EspReply {
    let contact = json!({"default_sender_name": "Acme", "default_sender_email": "a@example.com", "organization_name": "Acme",
        "website_url": "https://example.com", "street_address": {}});
    let data = json!([{"type": "account", "id": "XyZ123", "attributes": {"test_account": false, "contact_information": contact}}]);
    document(200, &json!({"data": data, "links": {"self": "https://a.klaviyo.com/api/accounts"}}))
}

/// Refuses parameters that the platform does not define.
fn check_params(call: &EspCall, known: &str) -> Result<(), EspReply> {
    match call.params().iter().find(|(name, _)| !among(known, name)) {
        Some((name, _)) => Err(invalid(&format!("'{name}' is not a valid query parameter"))),
        None => Ok(()),
    }
}

fn size_of(call: &EspCall, default: usize, max: usize) -> Result<usize, EspReply> {
    let size = call.number("page[size]", default).filter(|size| (1..=max).contains(size));
    size.ok_or_else(|| invalid(&format!("Page size must be an integer between 1 and {max}.")))
}

/// Returns the start of a page: the position of its cursor.
fn position(desk: &mut Desk, call: &EspCall) -> Result<Option<String>, EspReply> {
    let Some(cursor) = call.param("page[cursor]") else { return Ok(None) };
    let (position, is_used) = desk.open_cursor(&cursor).ok_or_else(|| invalid("the cursor is not one"))?;
    if is_used {
        return Err(invalid("the cursor was used before"));
    }
    Ok(Some(position))
}

/// Returns the links of a page. The next link is a URL with all parameters.
fn links(desk: &mut Desk, call: &EspCall, next: Option<String>) -> Value {
    let here = format!("{}{}", desk.secrets.public, call.path);
    let next = next.map(|position| {
        let cursor = desk.cursor(&position);
        let encode =
            |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        let kept = call.params().into_iter().filter(|(name, _)| name != "page[cursor]");
        let pairs = kept.chain([("page[cursor]".to_owned(), cursor)]);
        let query: Vec<_> = pairs.map(|(name, value)| format!("{}={}", encode(&name), encode(&value))).collect();
        format!("{here}?{}", query.join("&"))
    });
    json!({"self": here, "prev": null, "next": next})
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    check_params(call, "page[size] page[cursor] fields[list] filter sort include")?;
    let size = size_of(call, 10, 10)?;
    let from: usize = position(desk, call)?.and_then(|text| text.parse().ok()).unwrap_or(0);
    let all = desk.account.lists.len();
    let at = time::iso_offset(desk.account.mold.epoch);
    let data = each(part(&desk.account.lists, from, size), |list| {
        let id = (SHEET.list_id)(list.number);
        json!({"type": "list", "id": id, "links": {"self": format!("{}/api/lists/{id}", desk.secrets.public)},
            "attributes": {"name": list.name, "created": at, "updated": at, "opt_in_process": "double_opt_in"}})
    });
    let links = links(desk, call, (from + size < all).then(|| (from + size).to_string()));
    Ok(document(200, &json!({"data": data, "links": links})))
}

fn marketing(contact: &EspContact) -> Value {
    let at = time::iso_offset(contact.updated);
    let reason = match contact.state {
        EspState::Bounced => Some("HARD_BOUNCE"),
        EspState::Complained => Some("SPAM_COMPLAINT"),
        EspState::Unsubscribed => Some("UNSUBSCRIBE"),
        _ => None,
    };
    let consent = if contact.state == EspState::Unsubscribed { "UNSUBSCRIBED" } else { "SUBSCRIBED" };
    let suppression: Vec<_> = reason.map(|reason| json!({"reason": reason, "timestamp": at})).into_iter().collect();
    json!({"can_receive_email_marketing": reason.is_none(), "consent": consent, "consent_timestamp": at, "last_updated": at,
        "method": "FORM", "method_detail": "", "custom_method_detail": null, "double_optin": false,
        "suppression": suppression, "list_suppressions": []})
}

/// Returns a profile: subscriptions only if requested, and the attributes in `fields[profile]`.
fn shown(contact: &EspContact, call: &EspCall, list: Option<u32>) -> Value {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
    put("email", json!(contact.email));
    put("phone_number", Value::Null);
    put("external_id", Value::Null);
    put("created", json!(time::iso_offset(contact.created)));
    put("updated", json!(time::iso_offset(contact.updated)));
    put("properties", json!(contact.fields));
    if list.is_some() {
        put("joined_group_at", json!(time::iso_offset(contact.created)));
    }
    if call
        .param("additional-fields[profile]")
        .is_some_and(|names| names.split(',').any(|name| name == "subscriptions"))
    {
        put("subscriptions", json!({"email": {"marketing": marketing(contact)}, "sms": {"marketing": null}}));
    }
    if let Some(fields) = call.param("fields[profile]") {
        attributes.retain(|name, _| fields.split(',').any(|field| field.split('.').next() == Some(name.as_str())));
    }
    json!({"type": "profile", "id": ids::ulid(contact.number), "attributes": attributes, "links": {}})
}

/// Parses `greater-than(created,2026-11-22T10:00:00Z)`.
fn since(filter: &str, fields: &[&str]) -> Option<(String, bool, i64)> {
    let (operator, rest) = filter.split_once('(')?;
    let (field, value) = rest.strip_suffix(')')?.split_once(',')?;
    let or_equal = match operator {
        "greater-than" => false,
        "greater-or-equal" if field == "joined_group_at" => true,
        _ => return None,
    };
    let at = time::of_iso(value).filter(|_| fields.contains(&field))?;
    Some((field.to_owned(), or_equal, at))
}

fn profiles(desk: &mut Desk, call: &EspCall, list_id: Option<&str>) -> EspAnswer {
    let known = "page[size] page[cursor] additional-fields[profile] fields[profile] filter sort include";
    check_params(call, known)?;
    let list = list_id.map(|id| {
        let missing = || error(404, "not_found", &format!("A list with id {id} does not exist."));
        list_of(&desk.account, id, SHEET.list_id).ok_or_else(missing)
    });
    let list = list.transpose()?;
    let size = size_of(call, 20, 100)?;
    let (fields, sorts): (&[&str], &[&str]) = match list {
        Some(_) => (&["joined_group_at"], &["joined_group_at"]),
        None => (&["created", "updated"], &["created", "id", "updated"]),
    };
    let sort = call.param("sort").unwrap_or_default();
    if !sort.is_empty() && !sorts.contains(&sort.trim_start_matches('-')) {
        return Err(invalid(&format!("'{sort}' is not a sort field here")));
    }
    let filter = call.param("filter").unwrap_or_default();
    let since = if filter.is_empty() { None } else { Some(since(&filter, fields).ok_or_else(|| invalid("filter"))?) };
    let keep = |contact: &EspContact| {
        since.as_ref().is_none_or(|(field, or_equal, at)| {
            let known = if field == "updated" { contact.updated } else { contact.created };
            known > *at || *or_equal && known == *at
        })
    };
    let order = if sort.starts_with('-') { PageOrder::Newest } else { PageOrder::Oldest };
    let all = Selection::all(list, order);
    let selection = if since.is_none() { all } else { all.keeping(&filter, &keep) };
    let after = position(desk, call)?.and_then(|text| text.parse().ok());
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let data: Vec<_> = slice.contacts.iter().map(|contact| shown(contact, call, list)).collect();
    let end = slice.contacts.last().map(|contact| contact.number.to_string());
    let links = links(desk, call, end.filter(|_| more));
    Ok(document(200, &json!({"data": data, "links": links})))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let known = ids::of_ulid(id).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| error(404, "not_found", &format!("A profile with id {id} does not exist.")))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    if body["data"]["type"] != "profile" || text(&body, "/data/id").as_deref() != Some(stars[0].as_str()) {
        return Err(invalid("data.type must be profile, and data.id the ID of the path"));
    }
    let contact = find(desk, &stars[0])?;
    let attributes = body["data"]["attributes"].as_object().ok_or_else(|| invalid("data.attributes is required"))?;
    for (name, value) in attributes {
        match (name.as_str(), value) {
            ("email", Value::String(email)) => {
                if !is_address(email) {
                    return Err(error(400, "invalid", "Invalid email address"));
                }
                if !desk.account.readdress(contact.number, email) {
                    return Err(error(
                        409,
                        "duplicate_profile",
                        "A profile already exists with one of these identifiers.",
                    ));
                }
            }
            ("properties", Value::Object(properties)) => {
                for (key, value) in properties {
                    desk.account.write(contact.number, key, value);
                }
            }
            ("first_name" | "last_name" | "title" | "organization" | "external_id", _) => {}
            _ => return Err(invalid(&format!("'{name}' is not a valid field for the resource 'profile'."))),
        }
    }
    let contact = find(desk, &stars[0])?;
    Ok(document(200, &json!({"data": shown(&contact, call, None)})))
}

/// Removes profiles from a list without other changes.
fn remove(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let missing = || error(404, "not_found", &format!("A list with id {} does not exist.", stars[0]));
    let list = list_of(&desk.account, &stars[0], SHEET.list_id).ok_or_else(missing)?;
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let data = body["data"].as_array().filter(|data| (1..=1000).contains(&data.len()));
    let data = data.ok_or_else(|| invalid("data has 1 to 1,000 profiles"))?;
    let mut numbers = Vec::new();
    for profile in data {
        let id = text(profile, "/id").filter(|_| profile["type"] == "profile");
        let id = id.ok_or_else(|| invalid("each profile has a type and an id"))?;
        match find(desk, &id) {
            Ok(contact) => numbers.push(contact.number),
            // Whether an unknown profile is an error is unknown.
            Err(missing) if desk.varies(1) => return Err(missing),
            Err(_) => {}
        }
    }
    for number in numbers {
        desk.account.leave(number, list);
    }
    Ok(EspReply::empty(204))
}

fn unsubscribe(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    if body["data"]["type"] != "profile-subscription-bulk-delete-job" {
        return Err(invalid("data.type must be profile-subscription-bulk-delete-job"));
    }
    let profiles = body.pointer("/data/attributes/profiles/data").and_then(Value::as_array);
    let profiles = profiles.ok_or_else(|| invalid("data.attributes.profiles.data is required"))?;
    if profiles.is_empty() || profiles.len() > 100 {
        return Err(invalid("1 to 100 profiles"));
    }
    let list = match body.pointer("/data/relationships/list/data") {
        None => None,
        Some(data) => {
            let id =
                text(data, "/id").filter(|_| data["type"] == "list").ok_or_else(|| invalid("relationships.list"))?;
            let missing = || error(404, "not_found", &format!("List with id {id} not found."));
            Some(list_of(&desk.account, &id, SHEET.list_id).ok_or_else(missing)?)
        }
    };
    let mut emails = Vec::new();
    for profile in profiles {
        let consent = text(profile, "/attributes/subscriptions/email/marketing/consent");
        if profile["type"] != "profile" || consent.as_deref() != Some("UNSUBSCRIBED") {
            return Err(invalid("each profile has a type and subscriptions.email.marketing.consent UNSUBSCRIBED"));
        }
        emails.push(text(profile, "/attributes/email").ok_or_else(|| invalid("each profile has an email"))?);
    }
    for email in emails {
        unsubscribe_one(desk, &email, list);
    }
    Ok(EspReply::empty(202))
}

/// Removes a profile from the list, or unsubscribes it everywhere if it is not on the list. Creates unknown profiles first.
fn unsubscribe_one(desk: &mut Desk, email: &str, list: Option<u32>) {
    let known = desk.account.contact_of(email).map(|contact| contact.number);
    let number = known.unwrap_or_else(|| desk.account.add(email, EspState::Subscribed, &[]));
    let left = list.is_some_and(|list| desk.account.leave(number, list));
    if !left {
        desk.account.set_state(number, None, EspState::Unsubscribed);
    }
}

fn delete(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let profile = body.pointer("/data/attributes/profile/data").cloned().unwrap_or_default();
    if body["data"]["type"] != "data-privacy-deletion-job" || profile["type"] != "profile" {
        return Err(invalid("data.type must be data-privacy-deletion-job, with a profile"));
    }
    if !profile["attributes"].is_object() {
        return Err(invalid("data.attributes.profile.data.attributes is required"));
    }
    let contact = match (text(&profile, "/id"), text(&profile, "/attributes/email")) {
        (Some(id), None) => ids::of_ulid(&id).and_then(|number| desk.account.contact(number)),
        (None, Some(email)) => desk.account.contact_of(&email),
        _ => return Err(invalid("exactly one identifier")),
    };
    if let Some(contact) = contact {
        desk.account.delete(contact.number);
    }
    Ok(EspReply::empty(202))
}

/// Klaviyo shows a webhook's URL "truncated for security".
fn origin(url: &str) -> &str {
    url.match_indices('/').nth(2).map_or(url, |(at, _)| &url[..at])
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let attributes = &body["data"]["attributes"];
    let topics = body.pointer("/data/relationships/webhook-topics/data").and_then(Value::as_array);
    let (Some(url), Some(secret), Some(_)) =
        (text(attributes, "/endpoint_url"), text(attributes, "/secret_key"), topics)
    else {
        return Err(invalid("endpoint_url, secret_key and webhook-topics are required"));
    };
    if body["data"]["type"] != "webhook" || text(attributes, "/name").is_none() {
        return Err(invalid("data.type must be webhook, with a name"));
    }
    let hook = desk.account.make_hook(None, &url, Some(secret), true);
    let data = json!({"type": "webhook", "id": hook.id.to_string(), "attributes": {"name": attributes["name"], "endpoint_url": origin(&url), "enabled": true}});
    Ok(document(201, &json!({"data": data})))
}
