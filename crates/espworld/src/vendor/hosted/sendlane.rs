//! Sendlane, API 2: pages with a total, contacts without dates, IDs as numbers.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "sendlane",
    base: Some("https://api.sendlane.com/v2"),
    root: "/v2",
    states: &[EspState::Unsubscribed, EspState::Archived],
    is_lower: true,
    limits: &[EspLimit { is_rolling: true, ..EspLimit::of_all(60_000, 240) }],
    routes: ROUTES,
    key: |key| format!("eyJ0eXAi.{key}"),
    admit: |desk, call| desk.admits(call.bearer() == Some(desk.key().as_str())),
    refused: || message(401, "Unauthenticated."),
    limited: |_| message(429, "Too Many Attempts."),
    absent: || message(404, "The route could not be found."),
    contact_id: |contact, _| id_of(contact).to_string(),
    list_id: |list| (list + 30).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/lists", |desk, call, _| {
        let all = each(&desk.account.lists, |list| json!({"id": list.number + 30, "list_name": list.name}));
        paged(call, &all)
    }),
    on("GET", "/lists/*/contacts", contacts),
    on("GET", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        let data = shown(&contact, contact.state);
        Ok(noting(EspReply::json(200, &json!({"data": data})), &strange_params(call, "")))
    }),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(accepted())
    }),
    on("POST", "/contacts/*/unsubscribe", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        if contact.state == EspState::Subscribed {
            desk.account.set_state(contact.number, None, EspState::Unsubscribed);
        }
        ok(&json!({"data": {"message": "Contact unsubscribed successfully"}}))
    }),
    on("POST", "/contacts/*/tags", tag),
    on("POST", "/contacts/*/custom-fields", write),
    on("GET", "/tags", |desk, call, _| {
        let all = each(&desk.account.tags, |tag| json!({"id": tag.id, "name": tag.name}));
        paged(call, &all)
    }),
    on("POST", "/tags", |desk, call, _| {
        let name = name(call)?;
        if desk.account.tag(&name).is_some() {
            return Err(taken());
        }
        let tag = desk.account.make_tag(&name);
        ok(&json!({"data": {"id": tag.id, "name": name}}))
    }),
    on("GET", "/custom-fields", |desk, call, _| {
        // Described as a text, unlike everywhere else.
        let all =
            each(&desk.account.fields, |field| json!({"id": field.id.to_string(), "name": field.name, "type": "text"}));
        paged(call, &all)
    }),
    on("POST", "/custom-fields", |desk, call, _| {
        let name = name(call)?;
        if desk.account.field(None, &name).is_some() {
            return Err(taken());
        }
        let field = desk.account.make_field(None, &name, &name);
        let made = json!({"id": field.id.to_string(), "name": name, "type": "text"});
        // The description says a list, which the examples of other calls contradict.
        let data = if desk.varies(1) { json!([made]) } else { made };
        ok(&json!({"data": data}))
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(4_000_000, contact.number)
}

fn message(status: u16, text: &str) -> EspReply {
    EspReply::json(status, &json!({"message": text}))
}

fn invalid(field: &str) -> EspReply {
    EspReply::json(422, &json!({"message": "The given data was invalid.", "errors": {field: ["is invalid"]}}))
        .blaming(field)
}

fn taken() -> EspReply {
    message(422, "The name has already been taken.")
}

fn accepted() -> EspReply {
    EspReply::json(202, &json!({"data": {"message": "Successfully handled request"}}))
}

/// Returns the page and its size: 10 records by default, at most 100.
fn span(call: &EspCall) -> Result<(usize, usize), EspReply> {
    let page = call.number("page", 1).filter(|page| *page > 0).ok_or_else(|| invalid("page"))?;
    let size = call.number("limit", 10).filter(|size| (1..=100).contains(size)).ok_or_else(|| invalid("limit"))?;
    Ok((page, size))
}

fn body(call: &EspCall, part: &[Value], (page, size): (usize, usize), total: usize) -> EspReply {
    let last = total.div_ceil(size).max(1);
    let link = |page: usize| format!("https://api.sendlane.com{}?page={page}", call.path);
    let links =
        json!({"first": link(1), "last": link(last), "prev": null, "next": (page < last).then(|| link(page + 1))});
    let meta = json!({"current_page": page, "from": 1, "last_page": last, "path": link(1), "per_page": size, "to": part.len(), "total": total});
    EspReply::json(200, &json!({"data": part, "links": links, "meta": meta}))
}

fn paged(call: &EspCall, all: &[Value]) -> EspAnswer {
    let (page, size) = span(call)?;
    let part: Vec<_> = all.iter().skip((page - 1) * size).take(size).cloned().collect();
    Ok(noting(body(call, &part, (page, size), all.len()), &strange_params(call, "page limit")))
}

fn shown(contact: &EspContact, state: EspState) -> Value {
    json!({"id": id_of(contact), "email": contact.email, "first_name": "", "last_name": "", "phone": null,
        "sms_consent": [], "subscribed": state != EspState::Unsubscribed, "suppressed": state == EspState::Archived})
}

fn contacts(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (page, size) = span(call)?;
    let list = list_of(&desk.account, &stars[0], SHEET.list_id).ok_or_else(|| message(404, "Resource not found."))?;
    let slice = desk.account.page(&Selection::all(Some(list), PageOrder::Oldest), (page - 1) * size, size);
    let members = slice.contacts.iter();
    let shown: Vec<_> =
        members.map(|contact| shown(contact, contact.state_in(list).unwrap_or(contact.state))).collect();
    let reply = body(call, &shown, (page, size), slice.total);
    Ok(noting(reply, &strange_params(call, "page limit from to")))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = ids::of_decimal(4_000_000, id);
    number.and_then(|number| desk.account.contact(number)).ok_or_else(|| message(404, "Resource not found."))
}

fn name(call: &EspCall) -> Result<String, EspReply> {
    let body = call.body_json(|| invalid("name"))?;
    text(&body, "/name").filter(|name| !name.is_empty()).ok_or_else(|| invalid("name"))
}

fn tag(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("tag_ids"))?;
    for id in body["tag_ids"].as_array().ok_or_else(|| invalid("tag_ids"))? {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| invalid("tag_ids.0"))?;
        if !desk.account.tag_contact(contact.number, id) {
            return Err(invalid("tag_ids.0"));
        }
    }
    Ok(noting(EspReply::json(200, &json!({"data": []})), &strangers(&body, "tag_ids")))
}

fn write(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("custom_fields"))?;
    for one in body["custom_fields"].as_array().ok_or_else(|| invalid("custom_fields"))? {
        let id = one["id"].as_u64().ok_or_else(|| invalid("custom_fields.0.id"))?;
        let field = desk.account.fields.iter().find(|field| u64::from(field.id) == id).map(|field| field.key.clone());
        let field = field.ok_or_else(|| invalid("custom_fields.0.id"))?;
        let value =
            one.get("value").filter(|value| value.is_string()).ok_or_else(|| invalid("custom_fields.0.value"))?;
        desk.account.write(contact.number, &field, value);
    }
    Ok(noting(EspReply::json(200, &json!({"data": []})), &strangers(&body, "custom_fields")))
}
