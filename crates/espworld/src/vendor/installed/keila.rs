//! Keila, API 1: pages from 0, sorted by time, filters as JSON, bodies in `data`; a deletion answers 204 in any case.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "keila",
    root: "/api/v1",
    states: &[EspState::Unsubscribed, EspState::Bounced],
    routes: ROUTES,
    key: |key| format!("k_{}", &key[..40]),
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("api_key", key)],
    admit: |desk, call| desk.admits(call.bearer() == Some(desk.key().as_str())),
    refused: || error(403, "Not authorized"),
    limited: |_| error(429, "Too many requests"),
    contact_id: |contact, _| id_of(contact),
    list_id: |list| format!("sgm_{list}"),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/contacts", contacts),
    on("GET", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        Ok(noting(EspReply::json(200, &json!({"data": shown(&contact)})), &strange_params(call, "id_type")))
    }),
    on("PATCH", "/contacts/*", edit),
    on("PATCH", "/contacts/*/data", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        let data = data(call)?;
        for (key, value) in &data {
            desk.account.write(contact.number, key, value);
        }
        ok(&json!({"data": shown(&find(desk, &stars[0])?)}))
    }),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        if let Ok(contact) = find(desk, &stars[0]) {
            desk.account.delete(contact.number);
        }
        Ok(EspReply::empty(204))
    }),
];

fn id_of(contact: &EspContact) -> String {
    format!("c_{:x}", u64::from(contact.number) + 5_000)
}

fn error(status: u16, title: &str) -> EspReply {
    EspReply::json(status, &json!({"errors": [{"status": status.to_string(), "title": title}]}))
}

fn invalid(detail: &str, field: &str) -> EspReply {
    EspReply::json(
        400,
        &json!({"errors": [{"status": "400", "title": "Validation failed", "detail": detail,
            "pointer": format!("/data/attributes/{field}")}]}),
    )
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed | EspState::Pending => "active",
        EspState::Bounced => "unreachable",
        _ => "unsubscribed",
    }
}

fn shown(contact: &EspContact) -> Value {
    json!({"id": id_of(contact), "email": contact.email, "first_name": null, "last_name": null, "external_id": null,
        "data": contact.fields, "status": status(contact.state), "inserted_at": time::iso(contact.created), "updated_at": time::iso(contact.updated)})
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let page = call.number("paginate[page]", 0).ok_or_else(|| error(400, "page").blaming("paginate[page]"))?;
    let size = call.number("paginate[page_size]", 50).filter(|size| *size > 0);
    let size = size.ok_or_else(|| error(400, "page_size").blaming("paginate[page_size]"))?;
    let filter = call.param("filter").unwrap_or_else(|| "{}".to_owned());
    let bad = || error(400, "Request error: invalid_type").blaming("filter");
    let given: Value = serde_json::from_str(&filter).map_err(|_| bad())?;
    if !strangers(&given, "inserted_at").is_empty() {
        return Err(bad());
    }
    let since = given.pointer("/inserted_at/$gte").map(|at| at.as_str().and_then(time::of_iso).ok_or_else(bad));
    let since = since.transpose()?;
    let keep = |contact: &EspContact| since.is_none_or(|at| contact.created / 1000 >= at / 1000);
    let selection = Selection::all(None, PageOrder::Oldest).keeping(&filter, &keep);
    let slice = desk.account.page(&selection, page * size, size);
    let data: Vec<_> = slice.contacts.iter().map(shown).collect();
    let meta = json!({"page": page, "page_count": slice.total.div_ceil(size), "count": slice.total});
    let known = "paginate[page] paginate[page_size] filter";
    Ok(noting(EspReply::json(200, &json!({"meta": meta, "data": data})), &strange_params(call, known)))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = id.strip_prefix("c_").and_then(|hex| u64::from_str_radix(hex, 16).ok()?.checked_sub(5_000));
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.and_then(|number| desk.account.contact(number)).ok_or_else(|| error(404, "Not found"))
}

/// Returns the members of `data` in a body.
fn data(call: &EspCall) -> Result<Map<String, Value>, EspReply> {
    let body = call.body_json(|| error(400, "Invalid JSON"))?;
    body["data"].as_object().cloned().ok_or_else(|| error(400, "Missing field").blaming("data"))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let data = Value::Object(data(call)?);
    if !strangers(&data, "email first_name last_name data status external_id").is_empty() {
        return Err(error(400, "Unexpected field").blaming("data"));
    }
    if let Some(email) = text(&data, "/email") {
        if !is_address(&email) {
            return Err(invalid("has invalid format", "email"));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(invalid("has already been taken", "email"));
        }
    }
    match text(&data, "/status").as_deref() {
        Some("unsubscribed") => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
        Some(_) => return Err(error(400, "Request error: invalid_enum").blaming("status")),
        None => {}
    }
    ok(&json!({"data": shown(&find(desk, &stars[0])?)}))
}
