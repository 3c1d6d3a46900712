//! Sendy: forms in, plain text out under the type of a web page, always with the status 200; no call lists subscribers.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "sendy",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained],
    routes: ROUTES,
    key: |key| key[..20].to_owned(),
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("api_key", key), ("brand_id", "1".to_owned())],
    // Each script checks the key for itself, and unsubscribing needs none.
    admit: |_, _| Ok(()),
    refused: || said("Invalid API key"),
    list_id: |list| format!("{}Qe", &ids::hex32(list, 7)[..20]),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("POST", "/api/lists/get-lists.php", |desk, call, _| {
        admit(desk, call)?;
        if field(call, "brand_id").ok_or_else(|| said("Brand ID not passed").blaming("brand_id"))? != "1" {
            return Err(said("Brand does not exist"));
        }
        let lists = desk.account.lists.iter().enumerate();
        let lists: Map<String, Value> = lists
            .map(|(place, list)| {
                let shown = json!({"id": (SHEET.list_id)(list.number), "name": list.name});
                (format!("list{}", place + 1), shown)
            })
            .collect();
        Ok(said(&Value::Object(lists).to_string()))
    }),
    on("POST", "/unsubscribe", |desk, call, _| {
        let missing = || said("Some fields are missing.").blaming("email, list and boolean");
        if field(call, "boolean").as_deref() != Some("true") {
            return Err(EspReply::page(200, "You're unsubscribed").blaming("boolean"));
        }
        let (email, list) = field(call, "email").zip(field(call, "list")).ok_or_else(missing)?;
        if !is_address(&email) {
            return Err(said("Invalid email address."));
        }
        let (list, contact) = subscriber(desk, &list, &email).map_err(|_| said("Email does not exist."))?;
        desk.account.set_state(contact.number, Some(list), EspState::Unsubscribed);
        Ok(said("1"))
    }),
    on("POST", "/api/subscribers/delete.php", |desk, call, _| {
        admit(desk, call)?;
        let list = field(call, "list_id").ok_or_else(|| said("List ID not passed").blaming("list_id"))?;
        let email = field(call, "email").ok_or_else(|| said("Email address not passed").blaming("email"))?;
        let (list, contact) = subscriber(desk, &list, &email)?;
        desk.account.leave(contact.number, list);
        Ok(said("true"))
    }),
];

/// Returns a text as PHP sends it unless told otherwise.
fn said(text: &str) -> EspReply {
    EspReply::text(200, "text/html; charset=UTF-8", text.to_owned())
}

fn field(call: &EspCall, name: &str) -> Option<String> {
    let fields = call.fields().into_iter();
    fields.filter(|(known, _)| known == name).map(|(_, value)| value).find(|value| !value.is_empty())
}

fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    match field(call, "api_key") {
        Some(given) if given == desk.key() => Ok(()),
        Some(_) => Err((SHEET.refused)()),
        None => Err(said("API key not passed").blaming("api_key")),
    }
}

fn subscriber(desk: &Desk, list: &str, email: &str) -> Result<(u32, EspContact), EspReply> {
    let list = list_of(&desk.account, list, SHEET.list_id).ok_or_else(|| said("List does not exist"))?;
    let contact = desk.account.contact_of(email).filter(|contact| contact.state_in(list).is_some());
    contact.map(|contact| (list, contact)).ok_or_else(|| said("Subscriber does not exist"))
}
