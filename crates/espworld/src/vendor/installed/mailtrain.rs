//! Mailtrain 2: lists of a namespace, subscribers without a total, the address as the key; a subscriber who is not subscribed
//! is not found.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "mailtrain",
    root: "/api",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained],
    routes: ROUTES,
    key: |key| key[..40].to_owned(),
    credentials: |secrets, key| {
        vec![("url", secrets.origin.clone()), ("access_token", key), ("namespace", "1".to_owned())]
    },
    admit: |desk, call| match call.header("access-token") {
        Some(given) if given == desk.key() => Ok(()),
        Some(_) => Err((SHEET.refused)()),
        None => Err(error(403, "Missing access_token")),
    },
    refused: || error(403, "Invalid or expired access_token"),
    absent: || error(404, "Not Found"),
    contact_id: |contact, list| ids::hex32(contact.number, list.unwrap_or(0))[..16].to_owned(),
    list_id: |list| format!("Ab{list}cD"),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/lists-by-namespace/*", |desk, _, stars| {
        if stars[0] != "1" {
            return Err(error(403, "Permission denied"));
        }
        let lists = each(
            &desk.account.lists,
            |list| json!({"id": list.number, "cid": (SHEET.list_id)(list.number), "name": list.name}),
        );
        ok(&json!({"data": lists}))
    }),
    on("GET", "/subscriptions/*", subscriptions),
    on("POST", "/unsubscribe/*", |desk, call, stars| {
        let (list, contact) = subscriber(desk, call, &stars[0])?;
        if contact.state_in(list) != Some(EspState::Subscribed) {
            return Err(missing());
        }
        desk.account.set_state(contact.number, Some(list), EspState::Unsubscribed);
        ok(&json!({"data": {"id": (SHEET.contact_id)(&contact, Some(list)), "unsubscribed": true}}))
    }),
    on("POST", "/delete/*", |desk, call, stars| {
        let (list, contact) = subscriber(desk, call, &stars[0])?;
        desk.account.leave(contact.number, list);
        ok(&json!({"data": {"id": (SHEET.contact_id)(&contact, Some(list)), "deleted": true}}))
    }),
];

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"error": message, "data": []}))
}

/// Returns the error of a missing subscriber, which has no message.
fn missing() -> EspReply {
    EspReply::json(404, &json!({"error": {"status": 404, "type": "NotFoundError"}, "data": []}))
}

fn list(desk: &Desk, cid: &str) -> Result<u32, EspReply> {
    list_of(&desk.account, cid, SHEET.list_id).ok_or_else(|| error(403, "Permission denied"))
}

fn subscriptions(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let offset = call.number("start", 0).ok_or_else(|| error(500, "start").blaming("start"))?;
    let limit = call.number("limit", 10_000).ok_or_else(|| error(500, "limit").blaming("limit"))?;
    let slice = desk.account.page(&Selection::all(Some(list), PageOrder::Oldest), offset, limit);
    let shown: Vec<_> = slice.contacts.iter().map(|contact| shown(contact, list)).collect();
    // The program means to send a total, and does not.
    let reply = EspReply::json(200, &json!({"data": {"start": offset, "limit": limit, "subscriptions": shown}}));
    Ok(noting(reply, &strange_params(call, "start limit")))
}

fn shown(contact: &EspContact, list: u32) -> Value {
    let status = match contact.state_in(list).unwrap_or(contact.state) {
        EspState::Subscribed | EspState::Pending => 1,
        EspState::Unsubscribed | EspState::Archived => 2,
        EspState::Bounced => 3,
        EspState::Complained => 4,
    };
    json!({"id": contact.number + 1, "cid": (SHEET.contact_id)(contact, Some(list)), "email": contact.email, "status": status,
        "created": time::iso_ms(contact.created), "is_test": 0})
}

fn subscriber(desk: &Desk, call: &EspCall, cid: &str) -> Result<(u32, EspContact), EspReply> {
    let list = list(desk, cid)?;
    let fields = call.fields();
    let email = fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("EMAIL")).map(|(_, email)| email);
    let email = email.filter(|email| !email.is_empty()).ok_or_else(|| error(400, "Missing EMAIL").blaming("EMAIL"))?;
    let contact = desk.account.contact_of(&email).filter(|contact| contact.state_in(list).is_some());
    contact.map(|contact| (list, contact)).ok_or_else(missing)
}
