//! Ontraport, API 1: at most 50 contacts a page, conditions as JSON in the query, numbers as text, errors as plain text.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "ontraport",
    base: Some("https://api.ontraport.com/1"),
    root: "/1",
    states: &[EspState::Unsubscribed, EspState::Bounced],
    limits: &[EspLimit { is_rolling: true, ..EspLimit::of_all(60_000, 180) }],
    routes: ROUTES,
    key: |key| key[..15].to_owned(),
    credentials: |_, key| vec![("app_id", APP.to_owned()), ("api_key", key)],
    admit: |desk, call| {
        let is_key = call.header("Api-Key") == Some(desk.key().as_str());
        desk.admits(is_key && call.header("Api-Appid") == Some(APP))
    },
    refused: || plain(401, "Your App ID and API key do not authenticate."),
    limited: |excess| {
        plain(429, "Rate limit exceeded")
            .counting(excess, ["X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"])
    },
    absent: || plain(404, "Invalid endpoint."),
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const APP: &str = "2_12345_AbCdEfGhI";

const ROUTES: &[EspRoute] = &[
    on("GET", "/Contacts", contacts),
    on("PUT", "/Contacts", edit),
    on("GET", "/Contact", |desk, call, _| {
        let contact = find(desk, &call.param("id").unwrap_or_default())?;
        Ok(noting(good(&shown(&contact)), &strange_params(call, "id")))
    }),
    on("DELETE", "/Contact", |desk, call, _| {
        let contact = find(desk, &call.param("id").unwrap_or_default())?;
        desk.account.delete(contact.number);
        Ok(good(&Value::Null))
    }),
    on("PUT", "/objects/tagByName", tag),
];

fn id_of(contact: &EspContact) -> String {
    ids::decimal(1, contact.number).to_string()
}

fn plain(status: u16, text: &str) -> EspReply {
    EspReply::text(status, "text/plain; charset=utf-8", text)
}

fn good(data: &Value) -> EspReply {
    EspReply::json(200, &json!({"code": 0, "data": data, "account_id": "12345"}))
}

fn bulk_mail(state: EspState) -> i32 {
    match state {
        EspState::Subscribed | EspState::Pending => 1,
        EspState::Bounced => -2,
        _ => 0,
    }
}

fn shown(contact: &EspContact) -> Value {
    json!({"id": id_of(contact), "email": contact.email, "bulk_mail": bulk_mail(contact.state).to_string(),
        "date": (contact.created / 1000).to_string(), "dlm": (contact.updated / 1000).to_string()})
}

/// Returns the comparisons of a condition, as field, operator and value.
fn comparisons(text: &str) -> Option<Vec<(String, String, i64)>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut found = Vec::new();
    for (number, part) in value.as_array()?.iter().enumerate() {
        if number % 2 == 1 {
            (part == "AND").then_some(())?;
            continue;
        }
        let (field, op) = (part.pointer("/field/field")?.as_str()?, part["op"].as_str()?);
        let value =
            part.pointer("/value/value").map(|value| value.as_str().map_or_else(|| value.to_string(), Into::into))?;
        let fits = ["id", "date", "dlm"].contains(&field) && [">", ">=", "<", "="].contains(&op);
        found.push((field.to_owned(), op.to_owned(), value.parse().ok().filter(|_| fits)?));
    }
    Some(found)
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let range = call.number("range", 50).ok_or_else(|| plain(400, "Invalid range").blaming("range"))?.clamp(1, 50);
    let start = call.number("start", 0).ok_or_else(|| plain(400, "Invalid start").blaming("start"))?;
    let condition = call.param("condition").unwrap_or_else(|| "[]".to_owned());
    let wanted = comparisons(&condition).ok_or_else(|| plain(400, "Invalid condition").blaming("condition"))?;
    let keep = |contact: &EspContact| {
        wanted.iter().all(|(field, op, value)| {
            let is = match field.as_str() {
                "id" => i64::from(contact.number) + 1,
                "date" => contact.created / 1000,
                _ => contact.updated / 1000,
            };
            match op.as_str() {
                ">" => is > *value,
                ">=" => is >= *value,
                "<" => is < *value,
                _ => is == *value,
            }
        })
    };
    let selection = Selection::all(None, PageOrder::Oldest).keeping(&condition, &keep);
    let slice = desk.account.page(&selection, start, range);
    let data: Vec<_> = slice.contacts.iter().map(shown).collect();
    let known = "range start condition sort sortDir listFields ids search externs";
    Ok(noting(good(&Value::Array(data)), &strange_params(call, known)))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = ids::of_decimal(1, id);
    number.and_then(|number| desk.account.contact(number)).ok_or_else(|| plain(404, "Object not found"))
}

fn edit(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| plain(400, "Invalid body"))?;
    let id = text(&body, "/id").ok_or_else(|| plain(422, "id is required").blaming("id"))?;
    let contact = find(desk, &id)?;
    match body["bulk_mail"].as_i64() {
        Some(0) => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
        Some(_) => return Err(plain(422, "bulk_mail").blaming("bulk_mail")),
        None => {}
    }
    if let Some(email) = text(&body, "/email") {
        // Two contacts may have the same address; the account of a world cannot hold that.
        desk.account.readdress(contact.number, &email);
    }
    let reply = good(&json!({"attrs": {"id": id, "dlm": (desk.now / 1000).to_string()}}));
    Ok(noting(reply, &strangers(&body, "id bulk_mail email")))
}

fn tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| plain(400, "Invalid body"))?;
    let (Some(ids), Some(names), Some(0)) =
        (body["ids"].as_array(), body["add_names"].as_array(), body["objectID"].as_i64())
    else {
        return Err(plain(422, "ids and add_names are required").blaming("objectID, ids and add_names"));
    };
    for name in names.iter().filter_map(Value::as_str) {
        let numbers: Vec<_> = ids.iter().filter_map(|id| find(desk, &id.to_string()).ok()).collect();
        // Nothing is made for nobody.
        let Some(_) = numbers.first() else { continue };
        let tag = desk.account.tag_named(name);
        for contact in numbers {
            desk.account.tag_contact(contact.number, tag);
        }
    }
    let reply = good(&json!("The tag is now being processed."));
    Ok(noting(reply, &strangers(&body, "objectID ids add_names")))
}
