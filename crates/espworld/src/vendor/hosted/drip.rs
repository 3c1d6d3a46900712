//! Drip, API 2: one account with people and no lists, totals in every page, tags by address; a write to an unknown address
//! adds a person.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "drip",
    base: Some("https://api.getdrip.com/v2"),
    root: "/v2",
    states: &[EspState::Unsubscribed, EspState::Bounced],
    is_lower: true,
    limits: &[
        EspLimit { is_rolling: true, ..EspLimit::of_all(3_600_000, 3_600) },
        EspLimit { is_rolling: true, ..EspLimit::of(&["POST /9999999/unsubscribes/batches"], 3_600_000, 50) },
    ],
    routes: ROUTES,
    key: |key| key[..32].to_owned(),
    credentials: |_, key| vec![("api_token", key), ("account_id", ACCOUNT.to_owned())],
    admit,
    refused: || error(401, "authentication_error", "Authentication failed, check your credentials"),
    limited: |_| EspReply::json(429, &json!({"message": "API rate limit exceeded. Please try again in an hour."})),
    absent: missing,
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const ACCOUNT: &str = "9999999";

const ROUTES: &[EspRoute] = &[
    on("GET", "/accounts/*", |_, _, stars| {
        if stars[0] != ACCOUNT {
            return Err(missing());
        }
        ok(&json!({"links": {}, "accounts": [{"id": ACCOUNT, "name": "Acme, Inc."}]}))
    }),
    on("GET", "/9999999/subscribers", subscribers),
    on("POST", "/9999999/subscribers", upsert),
    on("GET", "/9999999/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        Ok(one(desk, &contact))
    }),
    on("DELETE", "/9999999/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/9999999/subscribers/*/unsubscribe_all", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.set_state(contact.number, None, EspState::Unsubscribed);
        let contact = find(desk, &stars[0])?;
        Ok(one(desk, &contact))
    }),
    on("POST", "/9999999/unsubscribes/batches", unsubscribe_many),
    on("POST", "/9999999/tags", tag),
    on("POST", "/9999999/webhooks", hook),
    on("GET", "/9999999/webhooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[0]).ok_or_else(missing)?;
        Ok(EspReply::json(
            200,
            &json!({"links": {}, "webhooks": [{"id": stars[0], "post_url": hook.url, "version": "2"}]}),
        ))
    }),
    on("DELETE", "/9999999/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { Ok(EspReply::empty(204)) } else { Err(missing()) }
    }),
];

fn id_of(contact: &EspContact) -> String {
    ids::hex32(contact.number, 5)
}

fn error(status: u16, code: &str, message: &str) -> EspReply {
    EspReply::json(status, &json!({"errors": [{"code": code, "message": message}]}))
}

fn missing() -> EspReply {
    error(404, "not_found_error", "The resource you requested was not found")
}

fn invalid(code: &str, attribute: &str) -> EspReply {
    EspReply::json(
        422,
        &json!({"errors": [{"code": code, "attribute": attribute, "message": format!("{attribute} is invalid")}]}),
    )
}

fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    if call.header("User-Agent").is_none_or(|agent| !agent.contains('(')) {
        let reply = error(403, "authorization_error", "User-Agent");
        return Err(reply.blaming("User-Agent has no name and address"));
    }
    desk.admits(call.basic() == Some((desk.key(), String::new())))
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed | EspState::Pending => "active",
        EspState::Bounced => "undeliverable",
        _ => "unsubscribed",
    }
}

fn shown(desk: &Desk, contact: &EspContact) -> Value {
    json!({"id": id_of(contact), "status": status(contact.state), "email": contact.email, "custom_fields": contact.fields,
        "tags": desk.account.tag_names(contact), "created_at": time::iso(contact.created), "utc_offset": -440})
}

fn one(desk: &Desk, contact: &EspContact) -> EspReply {
    EspReply::json(200, &json!({"links": {}, "subscribers": [shown(desk, contact)]}))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let by_id = ids::of_hex32(id).filter(|(_, list)| *list == 5).and_then(|(number, _)| desk.account.contact(number));
    let by_email = || desk.account.contact_of(id).filter(|_| id.contains('@'));
    by_id.or_else(by_email).ok_or_else(missing)
}

fn subscribers(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let page = call
        .number("page", 1)
        .filter(|page| *page > 0)
        .ok_or_else(|| invalid("range_error", "page").blaming("page"))?;
    let size = call.number("per_page", 100).filter(|size| (1..=1000).contains(size));
    let size = size.ok_or_else(|| invalid("range_error", "per_page").blaming("per_page"))?;
    let wanted = call.param("status").unwrap_or_else(|| "active".to_owned());
    if !["all", "active", "unsubscribed", "active_or_unsubscribed", "undeliverable"].contains(&wanted.as_str()) {
        return Err(invalid("format_error", "status").blaming("status"));
    }
    let since = call.param("subscribed_after");
    let since =
        since.map(|at| time::of_iso(&at).ok_or_else(|| invalid("time_error", "subscribed_after").blaming("date")));
    let since = since.transpose()?;
    let keep = |contact: &EspContact| {
        let status = status(contact.state);
        (wanted == "all" || wanted.split("_or_").any(|one| one == status))
            && since.is_none_or(|at| contact.created > at)
    };
    let name = format!("{wanted} {since:?}");
    let selection = Selection::all(None, PageOrder::Oldest).keeping(&name, &keep);
    let slice = desk.account.page(&selection, (page - 1) * size, size);
    let all: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact)).collect();
    let meta = json!({"page": page, "count": all.len(), "total_pages": slice.total.div_ceil(size), "total_count": slice.total});
    let known = "status tags subscribed_before subscribed_after page per_page";
    let reply = EspReply::json(200, &json!({"links": {}, "meta": meta, "subscribers": all}));
    Ok(noting(reply, &strange_params(call, known)))
}

fn upsert(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "format_error", "The body is not JSON"))?;
    let given = body.pointer("/subscribers/0").cloned().ok_or_else(|| invalid("presence_error", "subscribers"))?;
    let known = "id email new_email custom_fields tags remove_tags status initial_status";
    let strange = strangers(&given, known);
    let name = text(&given, "/id").or_else(|| text(&given, "/email"));
    let name = name.ok_or_else(|| invalid("presence_error", "email").blaming("id or email"))?;
    let contact = find(desk, &name).ok();
    let new = text(&given, "/new_email");
    let Some(contact) = contact else {
        let email = new.unwrap_or(name);
        desk.account.add(&email, EspState::Subscribed, &[]);
        return ok(&json!({"links": {}, "subscribers": []}));
    };
    if let Some(email) = new {
        if !is_address(&email) {
            return Err(invalid("email_error", "new_email"));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(invalid("uniqueness_error", "new_email"));
        }
    }
    if let Some(fields) = given["custom_fields"].as_object() {
        let lost = contact.fields.keys().filter(|known| !fields.contains_key(*known)).cloned().collect::<Vec<_>>();
        // Whether the others stay is not documented.
        for key in lost.iter().filter(|_| desk.varies(1)).cloned().collect::<Vec<_>>() {
            desk.account.write(contact.number, &key, &Value::Null);
        }
        for (key, value) in fields {
            desk.account.write(contact.number, key, value);
        }
    }
    let contact = find(desk, &id_of(&contact))?;
    Ok(noting(one(desk, &contact), &strange))
}

fn unsubscribe_many(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "format_error", "The body is not JSON"))?;
    let given = body.pointer("/batches/0/subscribers").and_then(Value::as_array).filter(|all| !all.is_empty());
    let given = given.ok_or_else(|| invalid("presence_error", "subscribers").blaming("subscribers"))?;
    if given.len() > 1_000 {
        return Err(invalid("range_error", "subscribers").blaming("more than 1000 subscribers"));
    }
    let emails: Option<Vec<_>> =
        given.iter().map(|one| text(one, "/email").filter(|email| is_address(email))).collect();
    for email in emails.ok_or_else(|| invalid("email_error", "email").blaming("email"))? {
        if let Some(contact) = desk.account.contact_of(&email) {
            desk.account.set_state(contact.number, None, EspState::Unsubscribed);
        }
    }
    let strange = given.iter().flat_map(|one| strangers(one, "email")).collect::<Vec<_>>();
    Ok(noting(EspReply::empty(204), &strange))
}

fn tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "format_error", "The body is not JSON"))?;
    let given = body.pointer("/tags/0").cloned().ok_or_else(|| invalid("presence_error", "tags").blaming("tags"))?;
    let email = text(&given, "/email").filter(|email| is_address(email));
    let email = email.ok_or_else(|| invalid("email_error", "email").blaming("email"))?;
    let name = text(&given, "/tag").ok_or_else(|| invalid("presence_error", "tag").blaming("tag"))?;
    let number = match desk.account.contact_of(&email) {
        Some(contact) => contact.number,
        None => desk.account.add(&email, EspState::Subscribed, &[]),
    };
    let id = desk.account.tag_named(&name);
    desk.account.tag_contact(number, id);
    Ok(noting(EspReply::json(201, &json!({})), &strangers(&given, "email tag")))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "format_error", "The body is not JSON"))?;
    let url =
        text(&body, "/webhooks/0/post_url").ok_or_else(|| invalid("presence_error", "post_url").blaming("post_url"))?;
    if !body.pointer("/webhooks/0/events").is_some_and(Value::is_array) {
        return Err(invalid("presence_error", "events").blaming("events"));
    }
    let hook = desk.account.make_hook(None, &url, None, true);
    made(&json!({"links": {}, "webhooks": [{"id": hook.id.to_string(), "post_url": url, "version": "2"}]}))
}
