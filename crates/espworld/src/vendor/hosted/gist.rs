//! Gist: pages without a total, times in seconds, and a write that makes a contact if there is none.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "gist",
    base: Some("https://api.getgist.com"),
    states: &[EspState::Unsubscribed],
    is_lower: true,
    routes: ROUTES,
    key: |key| key[..40].to_owned(),
    admit: |desk, call| desk.admits(call.bearer() == Some(desk.key().as_str())),
    refused: || error(401, "unauthorized", "Access Token Invalid"),
    limited: |_| error(429, "rate_limit_exceeded", "Rate limit exceeded"),
    absent: missing,
    contact_id: |contact, _| id_of(contact).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/contacts", contacts),
    on("POST", "/contacts", upsert),
    on("GET", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        ok(&json!({"contact": shown(&contact)}))
    }),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        ok(&json!({"id": id_of(&contact), "deleted": true}))
    }),
    on("POST", "/tags", tag),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(90_000_000, contact.number)
}

fn error(status: u16, code: &str, message: &str) -> EspReply {
    EspReply::json(status, &json!({"errors": [{"code": code, "message": message}]}))
}

fn missing() -> EspReply {
    error(404, "not_found", "Resource Not Found")
}

fn shown(contact: &EspContact) -> Value {
    json!({"id": id_of(contact), "type": "user", "email": contact.email, "created_at": contact.created / 1000,
        "updated_at": contact.updated / 1000, "unsubscribed_from_emails": contact.state == EspState::Unsubscribed,
        "custom_properties": contact.fields, "tags": [], "segments": []})
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let bad = |name: &str| error(400, "parameter_invalid", name).blaming(name);
    let page = call.number("page", 1).filter(|page| *page > 0).ok_or_else(|| bad("page"))?;
    let size = call.number("per_page", 50).filter(|size| *size > 0).ok_or_else(|| bad("per_page"))?.min(60);
    let order = order_of(call.param("order").as_deref(), PageOrder::Newest);
    let slice = desk.account.page(&Selection::all(None, order), (page - 1) * size, size);
    let all: Vec<_> = slice.contacts.iter().map(shown).collect();
    let reply = EspReply::json(200, &json!({"contacts": all, "pages": {"next": null}}));
    Ok(noting(reply, &strange_params(call, "page per_page order order_by")))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = ids::of_decimal(90_000_000, id);
    number.and_then(|number| desk.account.contact(number)).ok_or_else(missing)
}

fn upsert(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "parameter_invalid", "The body is not JSON"))?;
    let strange = strangers(&body, "id email name custom_properties unsubscribed_from_emails tags");
    let Some(id) = text(&body, "/id") else {
        let email = text(&body, "/email").filter(|email| is_address(email)).ok_or_else(missing)?;
        desk.account.add(&email, EspState::Subscribed, &[]);
        return ok(&json!({"contact": {"email": email}}));
    };
    let contact = find(desk, &id)?;
    if body["unsubscribed_from_emails"] == true {
        desk.account.set_state(contact.number, None, EspState::Unsubscribed);
    }
    for (key, value) in body["custom_properties"].as_object().into_iter().flatten() {
        desk.account.write(contact.number, key, value);
    }
    let contact = find(desk, &id)?;
    Ok(noting(EspReply::json(200, &json!({"contact": shown(&contact)})), &strange))
}

fn tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "parameter_invalid", "The body is not JSON"))?;
    let name = text(&body, "/name").ok_or_else(|| error(400, "parameter_not_found", "name").blaming("name"))?;
    let given = body["contacts"].as_array().cloned().unwrap_or_default();
    let found = given.iter().map(|one| find(desk, &text(one, "/id").unwrap_or_default()));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let id = desk.account.tag_named(&name);
    for contact in found {
        desk.account.tag_contact(contact.number, id);
    }
    Ok(noting(EspReply::json(200, &json!({"tag": {"id": id, "name": name}})), &strangers(&body, "name contacts")))
}
