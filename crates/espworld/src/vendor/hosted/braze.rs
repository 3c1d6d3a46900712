//! Braze: pages of segments from 0, always a hundred; subscriptions by address, at most 50 in a call; users only as exports.

use crate::vendor::prelude::*;

/// Segments of a page.
const PAGE: usize = 100;
/// Addresses of a call.
const ADDRESSES_MAX: usize = 50;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "braze",
    states: &[EspState::Unsubscribed, EspState::Bounced],
    is_lower: true,
    limits: &[EspLimit::of_all(3_600_000, 250_000)],
    routes: ROUTES,
    key: ids::uuid,
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("api_key", key)],
    admit: |desk, call| desk.admits(call.bearer() == Some(desk.key().as_str())),
    refused: || error(401, "Invalid API key"),
    limited: |_| error(429, "Rate limit exceeded"),
    absent: || error(404, "Invalid URL"),
    contact_id: |contact, _| ids::hex32(contact.number, 0)[..24].to_owned(),
    list_id: |list| ids::hex32(list, 5),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[on("GET", "/segments/list", segments), on("POST", "/email/status", status)];

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"message": message}))
}

fn segments(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let page = call.number("page", 0).ok_or_else(|| error(400, "page").blaming("page"))?;
    if call.param("sort_direction").is_some_and(|direction| !["asc", "desc"].contains(&direction.as_str())) {
        return Err(error(400, "sort_direction").blaming("sort_direction"));
    }
    let lists = desk.account.lists.iter().skip(page * PAGE).take(PAGE);
    let lists: Vec<_> = lists
        .map(|list| {
            let id = (SHEET.list_id)(list.number);
            json!({"id": id, "name": list.name, "analytics_tracking_enabled": false, "tags": []})
        })
        .collect();
    let reply = EspReply::json(200, &json!({"message": "success", "segments": lists}));
    Ok(noting(reply, &strange_params(call, "page sort_direction")))
}

fn status(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "Invalid JSON"))?;
    let wrong = |what: &str| error(400, &format!("Invalid '{what}'")).blaming(what);
    let emails = match &body["email"] {
        Value::String(email) => vec![email.clone()],
        Value::Array(emails) => emails.iter().filter_map(|email| email.as_str().map(str::to_owned)).collect(),
        _ => return Err(wrong("email")),
    };
    if emails.is_empty() || emails.len() > ADDRESSES_MAX || emails.iter().any(|email| !is_address(email)) {
        return Err(wrong("email"));
    }
    if body["subscription_state"] != "unsubscribed" {
        return Err(wrong("subscription_state"));
    }
    // An address that no user has is kept for one who comes later.
    for contact in emails.iter().filter_map(|email| desk.account.contact_of(email)).collect::<Vec<_>>() {
        desk.account.set_state(contact.number, None, EspState::Unsubscribed);
    }
    let reply = EspReply::json(201, &json!({"message": "success"}));
    Ok(noting(reply, &strangers(&body, "email subscription_state")))
}
