//! listmonk, from its source code. A missing subscriber gives 400 by its number and is ignored in calls for several; wrong
//! credentials give 403.

use std::collections::BTreeMap;

use crate::reply::JSON;
use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "listmonk",
    root: "/api",
    states: &[EspState::Unsubscribed, EspState::Archived],
    is_lower: true,
    routes: ROUTES,
    key: |key| key[..32].to_owned(),
    credentials: |secrets, key| {
        vec![("url", secrets.origin.clone()), ("username", "probity".to_owned()), ("token", key)]
    },
    admit: |desk, call| {
        let wanted = ("probity".to_owned(), desk.key());
        let by_header = format!("token probity:{}", desk.key());
        desk.admits(call.basic() == Some(wanted) || call.header("Authorization") == Some(by_header.as_str()))
    },
    refused: || error(403, "invalid API credentials"),
    limited: |_| error(429, "too many requests"),
    absent: || error(404, "Not Found"),
    contact_id: |contact, _| id_of(contact).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/health", |_, _, _| Ok(data(&json!(true)))),
    on("GET", "/lists", lists),
    on("GET", "/subscribers", subscribers),
    on("PUT", "/subscribers/lists", manage),
    on("PUT", "/subscribers/blocklist", blocklist),
    on("DELETE", "/subscribers", delete_many),
    on("GET", "/subscribers/*", |desk, _, stars| Ok(subscriber(desk, &find(desk, &stars[0])?))),
    on("PATCH", "/subscribers/*", patch),
    on("PUT", "/subscribers/*", replace),
    on("DELETE", "/subscribers/*", |desk, _, stars| {
        if let Some(number) = ids::of_decimal(1, &stars[0]) {
            desk.account.delete(number);
        }
        Ok(data(&json!(true)))
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(1, contact.number)
}

fn data(value: &Value) -> EspReply {
    EspReply::json(200, &json!({"data": value}))
}

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"message": message}))
}

/// Returns the page. Some installations limit pages to 50 records; newer ones do not.
fn page_of(desk: &Desk, call: &EspCall) -> (usize, usize) {
    let page = call.number("page", 1).unwrap_or(1).max(1);
    let size = match call.param("per_page").as_deref() {
        Some("all") => usize::MAX,
        Some(text) => text.parse().ok().filter(|size| *size > 0).unwrap_or(20),
        None => 20,
    };
    let size = if desk.varies(1) { size.min(50) } else { size };
    (page, size)
}

/// Returns a page of records, which are JSON. Measurements read thousands of pages, so their texts are joined.
fn results((page, size): (usize, usize), total: usize, shown: &[String]) -> EspReply {
    let shown = shown.join(",");
    let rest = format!(r#""query":"","total":{total},"page":{page},"per_page":{size}"#);
    EspReply::text(200, JSON, format!(r#"{{"data":{{"results":[{shown}],{rest}}}}}"#))
}

fn list(desk: &Desk, number: u32) -> Value {
    let name = desk.account.list(number).map(|list| list.name.clone()).unwrap_or_default();
    json!({"id": number, "uuid": ids::hex32(number, 0), "name": name, "type": "private", "optin": "single", "tags": [],
        "subscriber_count": desk.account.members(number).len(), "created_at": time::iso_ms(desk.account.mold.epoch)})
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (page, size) = page_of(desk, call);
    let all: Vec<u32> = desk.account.lists.iter().map(|list| list.number).collect();
    let shown: Vec<_> = all
        .iter()
        .skip((page - 1).saturating_mul(size))
        .take(size)
        .map(|number| list(desk, *number).to_string())
        .collect();
    Ok(results((page, size), all.len(), &shown))
}

fn status(contact: &EspContact) -> &'static str {
    if contact.state == EspState::Archived { "blocklisted" } else { "enabled" }
}

/// Lists as subscribers have them, by number and state of the subscription. A page has the same ones again and again.
type ShownLists = BTreeMap<(u32, EspState), String>;

fn membership(desk: &Desk, (number, state): (u32, EspState)) -> String {
    let mut shown = list(desk, number);
    let word = match state {
        EspState::Subscribed => "confirmed",
        EspState::Pending => "unconfirmed",
        _ => "unsubscribed",
    };
    // Within a subscriber, a list has neither its kind of opt-in nor its size.
    if let Some(members) = shown.as_object_mut() {
        members.retain(|name, _| !matches!(name.as_str(), "optin" | "subscriber_count"));
    }
    shown["subscription_status"] = json!(word);
    shown.to_string()
}

fn shown(desk: &Desk, contact: &EspContact, known: &mut ShownLists) -> String {
    let lists = contact.lists.iter().map(|(number, state)| {
        let of = (*number, *state);
        known.entry(of).or_insert_with(|| membership(desk, of)).clone()
    });
    let lists = lists.collect::<Vec<_>>().join(",");
    let at = |ms: i64| time::shown(ms, "%Y-%m-%dT%H:%M:%S.%6f+00:00");
    let (id, uuid, email) = (id_of(contact), ids::hex32(contact.number, 1), json!(contact.email));
    let (attribs, status) = (json!(contact.fields), status(contact));
    let (created, updated) = (at(contact.created), at(contact.updated));
    let names = format!(r#""id":{id},"uuid":"{uuid}","email":{email},"name":"""#);
    let times = format!(r#""created_at":"{created}","updated_at":"{updated}""#);
    format!(r#"{{{names},"attribs":{attribs},"status":"{status}","lists":[{lists}],{times}}}"#)
}

fn subscriber(desk: &Desk, contact: &EspContact) -> EspReply {
    let shown = shown(desk, contact, &mut ShownLists::new());
    EspReply::text(200, JSON, format!(r#"{{"data":{shown}}}"#))
}

fn subscribers(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    if call.param("query").is_some_and(|query| !query.is_empty()) {
        return Err(error(403, "permission denied: subscribers:sql_query"));
    }
    let (page, size) = page_of(desk, call);
    let wanted = call.param("list_id").map(|id| {
        list_of(&desk.account, &id, SHEET.list_id)
            .ok_or_else(|| error(403, "permission denied: list").blaming("list_id"))
    });
    let wanted = wanted.transpose()?;
    // Any other value, including other letter case, means descending.
    let ascends = call.param("order").as_deref() == Some("asc");
    let order = if ascends { PageOrder::Oldest } else { PageOrder::Newest };
    let order = match call.param("order_by").as_deref() {
        Some("updated_at") if ascends => PageOrder::Updated,
        Some("updated_at") => PageOrder::UpdatedNewest,
        Some("email" | "name" | "status") => return Err(error(500, "not simulated").blaming("order_by")),
        _ => order,
    };
    let subscription = call.param("subscription_status");
    let subscription = subscription.filter(|word| !word.is_empty());
    let keep = |contact: &EspContact| {
        let is_in = |state: &EspState| match subscription.as_deref() {
            Some("confirmed") => *state == EspState::Subscribed,
            Some("unconfirmed") => *state == EspState::Pending,
            _ => !matches!(state, EspState::Subscribed | EspState::Pending),
        };
        wanted.and_then(|list| contact.state_in(list)).as_ref().is_some_and(is_in)
    };
    let name = format!("subscribers?{subscription:?}");
    let all = Selection::all(wanted, order);
    let selection = if subscription.is_some() { all.keeping(&name, &keep) } else { all };
    let slice = desk.account.page(&selection, (page - 1).saturating_mul(size), size);
    let mut known = ShownLists::new();
    let shown: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact, &mut known)).collect();
    Ok(results((page, size), slice.total, &shown))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let Some(number) = id.parse::<u64>().ok().filter(|id| *id > 0) else {
        return Err(error(400, "Invalid ID(s).").blaming("the ID is not a number"));
    };
    let known = ids::of_decimal(1, &number.to_string()).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| error(400, &format!("Subscriber ({number}: ) not found")))
}

/// Returns the numbers of a body.
fn numbers(value: &Value) -> Result<Vec<u64>, EspReply> {
    let all = value.as_array().map(|all| all.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
    all.flatten().ok_or_else(|| error(400, "Invalid ID(s).").blaming("IDs must be an array of numbers"))
}

fn contact_number(id: u64) -> Option<u32> {
    ids::of_decimal(1, &id.to_string())
}

fn manage(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(415, "Unsupported Media Type"))?;
    let strange = strangers(&body, "ids action target_list_ids status");
    let subscribers = numbers(&body["ids"])?;
    if subscribers.is_empty() {
        return Err(error(400, "No IDs given.").blaming("no ids"));
    }
    let targets = numbers(&body["target_list_ids"])?;
    if targets.is_empty() {
        return Err(error(400, "No lists given.").blaming("no target_list_ids"));
    }
    // Lists that the user may not manage are skipped silently.
    let lists: Vec<u32> =
        targets.iter().filter_map(|id| list_of(&desk.account, &id.to_string(), SHEET.list_id)).collect();
    let action = text(&body, "/action").unwrap_or_default();
    for number in subscribers.into_iter().filter_map(contact_number) {
        for list in &lists {
            match action.as_str() {
                "unsubscribe" => desk.account.set_state(number, Some(*list), EspState::Unsubscribed),
                "remove" => {
                    desk.account.leave(number, *list);
                }
                "add" => desk.account.join(number, *list, EspState::Subscribed),
                _ => return Err(error(400, "Invalid action.").blaming("action")),
            }
        }
    }
    Ok(noting(data(&json!(true)), &strange))
}

fn blocklist(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(415, "Unsupported Media Type"))?;
    for number in numbers(&body["ids"])?.into_iter().filter_map(contact_number) {
        desk.account.set_state(number, None, EspState::Archived);
    }
    Ok(data(&json!(true)))
}

fn delete_many(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let params = call.params();
    let given: Option<Vec<u64>> =
        params.iter().filter(|(name, _)| name == "id").map(|(_, id)| id.parse().ok()).collect();
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return Err(error(400, "Invalid ID(s).").blaming("id"));
    };
    for number in given.into_iter().filter_map(contact_number) {
        desk.account.delete(number);
    }
    Ok(data(&json!(true)))
}

/// Writes the fields of a body. `PATCH` merges attributes, and `PUT` replaces them.
fn write(desk: &mut Desk, contact: &EspContact, body: &Value) -> Result<(), EspReply> {
    if let Some(email) = text(body, "/email") {
        if !is_address(&email) {
            return Err(error(400, "Invalid email."));
        }
        if !desk.account.readdress(contact.number, &email.to_lowercase()) {
            // The previous version replies as to any failed statement.
            let what = "Error updating subscriber: pq: duplicate key value violates unique constraint \"subscribers_email_key\"";
            let old = desk.varies(2);
            return Err(if old { error(500, what) } else { error(409, "E-mail already exists.") });
        }
    }
    if let Some(attribs) = body["attribs"].as_object() {
        for (name, value) in attribs {
            desk.account.write(contact.number, name, value);
        }
    }
    Ok(())
}

const WRITABLE: &str = "email name status attribs lists preconfirm_subscriptions";

fn patch(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| error(415, "Unsupported Media Type"))?;
    write(desk, &contact, &body)?;
    if body["status"] == "blocklisted" {
        desk.account.set_state(contact.number, None, EspState::Archived);
    }
    Ok(noting(subscriber(desk, &find(desk, &stars[0])?), &strangers(&body, WRITABLE)))
}

fn replace(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| error(415, "Unsupported Media Type"))?;
    if text(&body, "/email").is_none() {
        return Err(error(400, "Invalid email.").blaming("a PUT replaces everything"));
    }
    write(desk, &contact, &body)?;
    let kept: Vec<u64> = if body["lists"].is_null() { Vec::new() } else { numbers(&body["lists"])? };
    for list in contact.lists.keys().filter(|list| !kept.contains(&u64::from(**list))) {
        desk.account.leave(contact.number, *list);
    }
    Ok(subscriber(desk, &find(desk, &stars[0])?))
}
