//! Keap, API 2: tokens for pages, IDs as text, several addresses per contact, and a state per address.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "keap",
    base: Some("https://api.infusionsoft.com/crm/rest/v2"),
    root: "/crm/rest/v2",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained],
    limits: &[
        EspLimit { is_rolling: true, ..EspLimit::of_all(1_000, 10) },
        EspLimit { is_rolling: true, ..EspLimit::of_all(60_000, 240) },
    ],
    routes: ROUTES,
    key: |key| format!("KeapAK-{}", &key[..48]),
    admit: |desk, call| desk.admits(call.header("X-Keap-API-Key") == Some(desk.key().as_str())),
    refused: || error(401, "UNAUTHENTICATED", "Invalid access token"),
    limited: |excess| error(429, "RESOURCE_EXHAUSTED", "Quota exceeded").with("Retry-After", excess.seconds()),
    absent: || error(404, "NOT_FOUND", "Not Found"),
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/contacts", contacts),
    on("GET", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        Ok(noting(EspReply::json(200, &shown(&contact)), &strange_params(call, "fields")))
    }),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("PATCH", "/emailAddresses/*/status", opt),
    on("GET", "/tags", |desk, call, _| {
        let size = size_of(call)?;
        let from = position(desk, call)?.map_or(0, |last| last as usize + 1);
        let all = each(&desk.account.tags, |tag| json!({"id": tag.id.to_string(), "name": tag.name}));
        let part: Vec<_> = all.iter().skip(from).take(size).collect();
        let last = from + size;
        let next = if last < all.len() { desk.cursor(&(last - 1).to_string()) } else { String::new() };
        ok(&json!({"tags": part, "next_page_token": next}))
    }),
    on("POST", "/tags", |desk, call, _| {
        let body = call.body_json(|| invalid("the body"))?;
        let name = text(&body, "/name").filter(|name| !name.is_empty()).ok_or_else(|| invalid("name"))?;
        if desk.account.tag(&name).is_some() {
            return Err(error(409, "ALREADY_EXISTS", "A tag with this name exists"));
        }
        let tag = desk.account.make_tag(&name);
        let reply = EspReply::json(201, &json!({"id": tag.id.to_string(), "name": name}));
        Ok(noting(reply, &strangers(&body, "name description category")))
    }),
    on("POST", "/tags/*/contacts:applyTags", tag),
];

fn id_of(contact: &EspContact) -> String {
    ids::decimal(20, contact.number).to_string()
}

fn error(code: u16, status: &str, message: &str) -> EspReply {
    EspReply::json(code, &json!({"code": code, "status": status, "message": message, "details": []}))
}

fn invalid(what: &str) -> EspReply {
    error(400, "INVALID_ARGUMENT", "Invalid argument").blaming(what)
}

fn size_of(call: &EspCall) -> Result<usize, EspReply> {
    call.number("page_size", 100).filter(|size| (1..=1000).contains(size)).ok_or_else(|| invalid("page_size"))
}

fn position(desk: &mut Desk, call: &EspCall) -> Result<Option<u32>, EspReply> {
    let Some(token) = call.param("page_token").filter(|token| !token.is_empty()) else { return Ok(None) };
    let (position, is_used) = desk.open_cursor(&token).ok_or_else(|| invalid("page_token"))?;
    if is_used {
        return Err(invalid("the token was used before"));
    }
    Ok(position.parse().ok())
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed | EspState::Pending => "SINGLE_OPT_IN",
        EspState::Unsubscribed | EspState::Archived => "MANUAL",
        EspState::Bounced => "HARD_BOUNCE",
        EspState::Complained => "SPAM",
    }
}

fn shown(contact: &EspContact) -> Value {
    json!({"id": id_of(contact), "create_time": time::iso_ms(contact.created), "update_time": time::iso_ms(contact.updated),
        "email_addresses": [{"email": contact.email, "field": "EMAIL1", "email_opt_status": status(contact.state),
            "is_opt_in": contact.state == EspState::Subscribed}]})
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let size = size_of(call)?;
    let after = position(desk, call)?;
    let filter = call.param("filter").unwrap_or_default();
    let since = match filter.strip_prefix("start_update_time==") {
        Some(at) => Some(time::of_iso(at).filter(|_| at.contains('.')).ok_or_else(|| invalid("filter"))?),
        None if filter.is_empty() => None,
        None => return Err(invalid("filter")),
    };
    if call.param("order_by").is_some_and(|order| order != "id asc") {
        return Err(invalid("order_by"));
    }
    let keep = |contact: &EspContact| since.is_none_or(|at| contact.updated >= at);
    let selection = Selection::all(None, PageOrder::Oldest).keeping(&filter, &keep);
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let all: Vec<_> = slice.contacts.iter().map(shown).collect();
    let last = slice.contacts.last().map(|contact| contact.number.to_string()).filter(|_| more);
    let next = last.map(|position| desk.cursor(&position)).unwrap_or_default();
    let reply = EspReply::json(200, &json!({"contacts": all, "next_page_token": next}));
    Ok(noting(reply, &strange_params(call, "filter page_token order_by page_size fields")))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = ids::of_decimal(20, id);
    number.and_then(|number| desk.account.contact(number)).ok_or_else(|| error(404, "NOT_FOUND", "Contact not found"))
}

fn opt(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = desk.account.contact_of(&stars[0]);
    let contact = contact.ok_or_else(|| error(404, "NOT_FOUND", "Email address not found"))?;
    let body = call.body_json(|| invalid("the body"))?;
    if body["opted_in"] != false || text(&body, "/reason").is_none_or(|reason| reason.is_empty()) {
        return Err(invalid("opted_in and reason are required"));
    }
    desk.account.set_state(contact.number, None, EspState::Unsubscribed);
    let reply = EspReply::json(200, &json!({"email": contact.email, "opted_in": false, "status": "MANUAL"}));
    Ok(noting(reply, &strangers(&body, "opted_in reason")))
}

fn tag(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body"))?;
    let known = stars[0].parse().ok().filter(|id| desk.account.tag_by_id(*id).is_some());
    let id = known.ok_or_else(|| error(404, "NOT_FOUND", "Tag not found"))?;
    let wanted = body["contact_ids"].as_array().ok_or_else(|| invalid("contact_ids"))?;
    if wanted.len() > 100 || !wanted.iter().all(Value::is_string) {
        return Err(invalid("contact_ids"));
    }
    let ids: Vec<_> = wanted.iter().filter_map(Value::as_str).collect();
    // Whether one missing contact fails the whole call is not documented.
    let found: Vec<_> = ids.iter().map(|id| find(desk, id)).collect();
    if desk.varies(1)
        && let Some(Err(missing)) = found.iter().find(|contact| contact.is_err())
    {
        return Err(missing.clone());
    }
    for contact in found.into_iter().flatten() {
        desk.account.tag_contact(contact.number, id);
    }
    Ok(noting(EspReply::json(200, &json!({"results": {}})), &strangers(&body, "contact_ids")))
}
