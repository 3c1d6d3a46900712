//! Brevo, API 3: pages of at most 1,000 contacts and 50 lists, attributes that must exist, 404 for an unknown contact.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "brevo",
    base: Some("https://api.brevo.com/v3"),
    root: "/v3",
    states: &[EspState::Unsubscribed],
    is_lower: true,
    limits: LIMITS,
    routes: ROUTES,
    key: |key| format!("xkeysib-{key}"),
    admit: |desk, call| match call.header("api-key") {
        Some(given) if given == desk.key() => Ok(()),
        Some(_) => Err((SHEET.refused)()),
        None => Err(error(401, "unauthorized", "authentication not found in headers")),
    },
    refused: || error(401, "unauthorized", "Key not found"),
    limited: |excess| {
        error(429, "too_many_requests", "The expected rate limit is exceeded.")
            .counting(excess, ["x-sib-ratelimit-limit", "x-sib-ratelimit-remaining", "x-sib-ratelimit-reset"])
    },
    absent: || error(404, "not_found", "Route not found"),
    contact_id: |contact, _| id_of(contact).to_string(),
    list_id: |list| (list + 2).to_string(),
    ..USUAL
};

const LIMITS: &[EspLimit] = &[
    EspLimit::of(&["/contacts"], 1_000, 10),
    EspLimit::of(&["/contacts"], 3_600_000, 36_000),
    EspLimit { except: &["/contacts"], ..EspLimit::of_all(3_600_000, 100) },
];

const ROUTES: &[EspRoute] = &[
    on("GET", "/account", |_, _, _| {
        ok(&json!({"email": "a@example.com", "firstName": "A", "lastName": "B", "companyName": "Acme",
            "address": {}, "plan": [], "relay": {"enabled": true}}))
    }),
    on("GET", "/contacts/lists", lists),
    on("GET", "/contacts/lists/*/contacts", |desk, call, stars| {
        let list = list_of(&desk.account, &stars[0], SHEET.list_id);
        let list = list.ok_or_else(|| error(404, "document_not_found", "List ID does not exist"))?;
        contacts(desk, call, Some(list), 500)
    }),
    on("GET", "/contacts/attributes", attributes),
    on("POST", "/contacts/attributes/*/*", make_attribute),
    on("GET", "/contacts", contacts_of_lists),
    on("GET", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, call, &stars[0])?;
        ok(&shown(&contact))
    }),
    on("PUT", "/contacts/*", edit),
    on("DELETE", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, call, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/contacts/lists/*/contacts/remove", remove),
    on("POST", "/webhooks", hook),
    on("GET", "/webhooks/*", |desk, _, stars| {
        let hook = desk
            .account
            .hook(&stars[0])
            .ok_or_else(|| error(404, "document_not_found", "Webhook ID does not exist"))?;
        Ok(EspReply::json(
            200,
            &json!({"id": hook.id, "url": hook.url, "type": "marketing", "events": ["listAddition"]}),
        ))
    }),
    on("DELETE", "/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed {
            Ok(EspReply::empty(204))
        } else {
            Err(error(404, "document_not_found", "Webhook ID does not exist"))
        }
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(4_000, contact.number)
}

fn error(status: u16, code: &str, message: &str) -> EspReply {
    EspReply::json(status, &json!({"code": code, "message": message}))
}

fn span(call: &EspCall, default: usize, max: usize) -> Result<(usize, usize), EspReply> {
    let wrong = |name: &str| error(400, "out_of_range", &format!("{name} is out of range")).blaming(name.to_owned());
    let limit = call.number("limit", default).filter(|limit| *limit <= max).ok_or_else(|| wrong("limit"))?;
    Ok((call.number("offset", 0).ok_or_else(|| wrong("offset"))?, limit))
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, limit) = span(call, 10, 50)?;
    let order = order_of(call.param("sort").as_deref(), PageOrder::Newest);
    let mut numbers: Vec<u32> = desk.account.lists.iter().map(|list| list.number).collect();
    if order == PageOrder::Newest {
        numbers.reverse();
    }
    let part: Vec<_> = numbers.iter().skip(offset).take(limit).map(|number| {
        let name = desk.account.list(*number).map(|list| list.name.clone()).unwrap_or_default();
        let members = desk.account.members(*number).len();
        json!({"id": number + 2, "name": name, "folderId": 1, "uniqueSubscribers": members, "totalSubscribers": members, "totalBlacklisted": 0})
    }).collect();
    ok(&json!({"count": numbers.len(), "lists": part}))
}

fn shown(contact: &EspContact) -> Value {
    let at = |ms: i64| time::shown_at(ms, 1, "%Y-%m-%dT%H:%M:%S.%3f+01:00");
    let listed: Vec<_> = contact.lists.keys().map(|list| list + 2).collect();
    json!({"id": id_of(contact), "email": contact.email, "emailBlacklisted": contact.state == EspState::Unsubscribed,
        "smsBlacklisted": false, "createdAt": at(contact.created), "modifiedAt": at(contact.updated), "listIds": listed,
        "listUnsubscribed": null, "attributes": contact.fields})
}

fn contacts_of_lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let named: Vec<String> =
        call.params().into_iter().filter(|(name, _)| name == "listIds").map(|(_, id)| id).collect();
    let list = match named.as_slice() {
        [] => None,
        [one] => {
            let missing = || error(400, "invalid_parameter", "List ID does not exist").blaming("listIds");
            Some(list_of(&desk.account, one, SHEET.list_id).ok_or_else(missing)?)
        }
        _ => return Err(error(400, "invalid_parameter", "not simulated").blaming("several listIds")),
    };
    contacts(desk, call, list, 1_000)
}

const LIST_PARAMS: &str = "limit offset modifiedSince createdSince sort segmentId listIds filter";

fn contacts(desk: &mut Desk, call: &EspCall, list: Option<u32>, max: usize) -> EspAnswer {
    let (offset, limit) = span(call, 50, max)?;
    let at = |name: &str| {
        let Some(text) = call.param(name) else { return Ok(None) };
        // UTC with milliseconds, or with an offset; shorter forms are refused.
        let at = time::of_iso(&text).filter(|_| text.contains('T'));
        at.map(Some).ok_or_else(|| {
            error(400, "invalid_parameter", &format!("{name} is not a valid date")).blaming(name.to_owned())
        })
    };
    let (created, modified) = (at("createdSince")?, at("modifiedSince")?);
    let order = order_of(call.param("sort").as_deref(), PageOrder::Newest);
    let keep = |contact: &EspContact| {
        created.is_none_or(|at| contact.created > at) && modified.is_none_or(|at| contact.updated > at)
    };
    let name = format!("contacts?{created:?}{modified:?}");
    let all = Selection::all(list, order);
    let selection = if created.is_none() && modified.is_none() { all } else { all.keeping(&name, &keep) };
    let slice = desk.account.page(&selection, offset, limit);
    let shown: Vec<_> = slice.contacts.iter().map(shown).collect();
    let reply = EspReply::json(200, &json!({"contacts": shown, "count": slice.total}));
    Ok(noting(reply, &strange_params(call, LIST_PARAMS)))
}

fn find(desk: &Desk, call: &EspCall, identifier: &str) -> Result<EspContact, EspReply> {
    let by_id = || ids::of_decimal(4_000, identifier).and_then(|number| desk.account.contact(number));
    let by_email = || desk.account.contact_of(identifier);
    let contact = match call.param("identifierType").as_deref() {
        Some("contact_id") => by_id(),
        Some("email_id") => by_email(),
        None => by_email().or_else(by_id),
        Some(_) => return Err(error(400, "invalid_parameter", "identifierType is not valid").blaming("identifierType")),
    };
    contact.ok_or_else(|| error(404, "document_not_found", "Contact does not exist"))
}

const WRITABLE: &str = "attributes emailBlacklisted smsBlacklisted listIds unlinkListIds smtpBlacklistSender ext_id";

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, call, &stars[0])?;
    let body = call.body_json(|| error(400, "bad_request", "Input must be a valid JSON object"))?;
    let mut strange = strangers(&body, WRITABLE);
    for (name, value) in body["attributes"].as_object().into_iter().flatten() {
        if name == "EMAIL" {
            readdress(desk, &contact, value.as_str().unwrap_or_default())?;
        } else if desk.account.field(None, name).is_some() {
            desk.account.write(contact.number, name, value);
        } else {
            strange.push(format!("attribute {name}, which is ignored"));
        }
    }
    match body.get("emailBlacklisted") {
        Some(Value::Bool(true)) => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
        Some(Value::Bool(false)) => desk.account.set_state(contact.number, None, EspState::Subscribed),
        Some(_) => {
            return Err(
                error(400, "invalid_parameter", "emailBlacklisted should be a boolean").blaming("emailBlacklisted")
            );
        }
        None => {}
    }
    for list in body["unlinkListIds"].as_array().into_iter().flatten() {
        let id =
            list.as_u64().ok_or_else(|| error(400, "invalid_parameter", "unlinkListIds").blaming("unlinkListIds"))?;
        if let Some(list) = list_of(&desk.account, &id.to_string(), SHEET.list_id) {
            desk.account.leave(contact.number, list);
        }
    }
    Ok(noting(EspReply::empty(204), &strange))
}

fn readdress(desk: &mut Desk, contact: &EspContact, email: &str) -> Result<(), EspReply> {
    if !is_address(email) {
        return Err(error(400, "invalid_parameter", "Invalid email address"));
    }
    if desk.account.readdress(contact.number, &email.to_lowercase()) {
        return Ok(());
    }
    // Both codes have been observed.
    let code = if desk.varies(1) { "duplicate_parameter" } else { "invalid_parameter" };
    let body = json!({"code": code, "message": "Unable to update contact, email is already associated with another Contact",
        "metadata": {"duplicate_identifiers": ["email"]}});
    Err(EspReply::json(400, &body))
}

fn attributes(desk: &mut Desk, _: &EspCall, _: &[String]) -> EspAnswer {
    let own = json!({"name": "FIRSTNAME", "category": "normal", "type": "text"});
    let made = desk.account.fields.iter().map(|field| json!({"name": field.key, "category": "normal", "type": "text"}));
    let all: Vec<_> = std::iter::once(own).chain(made).collect();
    ok(&json!({"attributes": all}))
}

fn make_attribute(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "bad_request", "Input must be a valid JSON object"))?;
    if stars[0] != "normal" || text(&body, "/type").is_none() {
        return Err(error(400, "missing_parameter", "type is missing").blaming("category normal and type are required"));
    }
    let name = stars[1].to_uppercase();
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(error(400, "invalid_parameter", "Attribute name is not valid").blaming("attribute name"));
    }
    if desk.account.field(None, &name).is_some() {
        let code = if desk.varies(2) { "duplicate_parameter" } else { "invalid_parameter" };
        return Err(error(400, code, "Attribute name already exists"));
    }
    desk.account.make_field(None, &name, &name);
    Ok(EspReply::empty(201))
}

fn remove(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list_of(&desk.account, &stars[0], SHEET.list_id);
    let list = list.ok_or_else(|| error(404, "document_not_found", "List ID does not exist"))?;
    let body = call.body_json(|| error(400, "bad_request", "Input must be a valid JSON object"))?;
    let ids = body["ids"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|id| id.to_string());
    let by_id: Vec<_> = ids.map(|id| (id.clone(), ids::of_decimal(4_000, &id))).collect();
    let emails = body["emails"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let by_email = emails.map(|email| (email.to_owned(), desk.account.contact_of(email).map(|contact| contact.number)));
    let wanted: Vec<_> = by_id.into_iter().chain(by_email).collect();
    let (mut success, mut failure) = (Vec::new(), Vec::new());
    for (name, number) in wanted {
        let left = number.is_some_and(|number| desk.account.leave(number, list));
        if left { success.push(name) } else { failure.push(name) }
    }
    if success.is_empty() {
        return Err(error(400, "invalid_parameter", "Contact already removed from list and/or does not exist"));
    }
    made(&json!({"contacts": {"success": success, "failure": failure}}))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "bad_request", "Input must be a valid JSON object"))?;
    let (Some(url), Some(events)) = (text(&body, "/url"), body["events"].as_array()) else {
        return Err(error(400, "missing_parameter", "url and events are required").blaming("url and events"));
    };
    let known = [
        "spam",
        "opened",
        "click",
        "hardBounce",
        "softBounce",
        "unsubscribed",
        "listAddition",
        "delivered",
        "contactUpdated",
        "contactDeleted",
    ];
    if body["type"] == "marketing" && events.iter().any(|event| !known.contains(&event.as_str().unwrap_or_default())) {
        return Err(error(400, "invalid_parameter", "Invalid events").blaming("events"));
    }
    let hook = desk.account.make_hook(None, &url, text(&body, "/auth/token"), true);
    made(&json!({"id": hook.id}))
}
