//! GNU Mailman 3.3.10, REST API 3.1, from its source code: pages past the end have no `entries`, and a roster is sorted by
//! address.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "mailman",
    root: "/3.1",
    is_lower: true,
    is_by_name: true,
    routes: ROUTES,
    key: |key| key[..24].to_owned(),
    credentials: |secrets, key| {
        vec![("url", secrets.origin.clone()), ("rest_user", "restadmin".to_owned()), ("rest_password", key)]
    },
    admit: |desk, call| desk.admits(call.basic() == Some(("restadmin".to_owned(), desk.key()))),
    refused: || {
        EspReply::json(401, &json!({"title": "401 Unauthorized", "description": "REST API authorization failed"}))
            .with("WWW-Authenticate", "Basic realm=\"mailman3-rest\",charset=\"utf-8\"")
    },
    limited: |_| described(429, "Too many requests"),
    absent: || described(404, "404 Not Found"),
    contact_id: |contact, list| ids::hex32(contact.number, list.unwrap_or(0)),
    list_id,
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/system/versions", versions),
    on("GET", "/lists", lists),
    on("GET", "/lists/*/roster/member", roster),
    on("DELETE", "/lists/*/roster/member", unsubscribe_many),
    on("POST", "/lists/*/bans", |_, _, _| Ok(EspReply::empty(201))),
    on("GET", "/members/*", |desk, _, stars| {
        let (contact, list) = membership(desk, &stars[0])?;
        ok(&shown(desk, &contact, list))
    }),
    on("DELETE", "/members/*", |desk, _, stars| {
        let (contact, list) = membership(desk, &stars[0])?;
        desk.account.leave(contact.number, list);
        Ok(EspReply::empty(204))
    }),
    on("PATCH", "/members/*", change),
    on("PATCH", "/members/*/preferences", prefer),
    on("GET", "/addresses/*", |desk, _, stars| {
        let contact = desk.account.contact_of(&stars[0]).ok_or_else(missing)?;
        ok(&json!({"email": contact.email, "original_email": contact.email, "http_etag": "\"1\""}))
    }),
    on("DELETE", "/addresses/*", |desk, _, stars| {
        let contact = desk.account.contact_of(&stars[0]).ok_or_else(missing)?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/addresses/*/verify", verify),
    on("POST", "/users/*/addresses", add_address),
];

fn list_id(list: u32) -> String {
    format!("list{list}.lists.example.com")
}

/// Key that stores an address that belongs to a contact without being subscribed.
const SPARE: &str = "(spare address)";
const VERIFIED: &str = "(verified)";

fn described(status: u16, what: &str) -> EspReply {
    EspReply::json(status, &json!({"title": format!("{status}"), "description": what}))
}

fn missing() -> EspReply {
    described(404, "404 Not Found")
}

fn versions(desk: &mut Desk, _: &EspCall, _: &[String]) -> EspAnswer {
    let link = format!("{}/3.1/system/versions", desk.secrets.public);
    let shown = json!({"mailman_version": "GNU Mailman 3.3.10 (Tom Sawyer)", "python_version": "3.11.2", "api_version": "3.1",
        "self_link": link, "http_etag": "\"1\""});
    ok(&shown)
}

/// Returns the start and the size of a page, or everything if neither is given. One without the other is a server error.
fn span(call: &EspCall, total: usize) -> Result<(usize, usize), EspReply> {
    match (call.param("count"), call.param("page")) {
        (None, None) => Ok((0, total)),
        (Some(count), Some(page)) => {
            let wrong = |name: &str| described(400, &format!("Invalid parameter: {name}")).blaming(name.to_owned());
            let count: usize = count.parse().map_err(|_| wrong("count"))?;
            let page: usize = page.parse().ok().filter(|page| *page > 0).ok_or_else(|| wrong("page"))?;
            Ok(((page - 1).saturating_mul(count), count))
        }
        _ => Err(EspReply::text(500, "text/plain", "A server error occurred").blaming("count and page go together")),
    }
}

fn collection(start: usize, total: usize, entries: Vec<Value>) -> EspReply {
    let mut body = Map::new();
    body.insert("start".into(), json!(start));
    body.insert("total_size".into(), json!(total));
    if !entries.is_empty() {
        body.insert("entries".into(), Value::Array(entries));
    }
    body.insert("http_etag".into(), json!("\"1\""));
    EspReply::json(200, &Value::Object(body))
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let total = desk.account.lists.len();
    let (start, count) = span(call, total)?;
    let entry = |number: u32| {
        let name = desk.account.list(number).map(|list| list.name.clone()).unwrap_or_default();
        json!({"list_id": list_id(number), "fqdn_listname": format!("list{number}@lists.example.com"),
            "display_name": name, "list_name": format!("list{number}"), "mail_host": "lists.example.com",
            "member_count": desk.account.members(number).len(), "volume": 1, "advertised": true, "description": "",
            "self_link": format!("{}/3.1/lists/{}", desk.secrets.public, list_id(number)), "http_etag": "\"1\""})
    };
    let numbers: Vec<u32> = desk.account.lists.iter().map(|list| list.number).skip(start).take(count).collect();
    Ok(collection(start, total, numbers.into_iter().map(entry).collect()))
}

fn shown(desk: &Desk, contact: &EspContact, list: u32) -> Value {
    let origin = &desk.secrets.public;
    let id = ids::hex32(contact.number, list);
    json!({
        "address": format!("{origin}/3.1/addresses/{}", contact.email), "bounce_score": 0, "delivery_mode": "regular",
        "display_name": "", "email": contact.email, "list_id": list_id(list), "member_id": id, "role": "member",
        "subscription_mode": "as_address", "last_warning_sent": "0001-01-01T00:00:00", "total_warnings_sent": 0,
        "self_link": format!("{origin}/3.1/members/{id}"), "user": format!("{origin}/3.1/users/{}", ids::hex32(contact.number, 0)),
        "http_etag": "\"1\"",
    })
}

fn roster(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list_of(&desk.account, &stars[0], list_id).ok_or_else(missing)?;
    let total = desk.account.members(list).len();
    let (from, count) = span(call, total)?;
    let slice = desk.account.page(&Selection::all(Some(list), PageOrder::Oldest), from, count);
    let entries = slice.contacts.iter().map(|contact| shown(desk, contact, list)).collect();
    Ok(collection(from, slice.total, entries))
}

fn unsubscribe_many(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list_of(&desk.account, &stars[0], list_id).ok_or_else(missing)?;
    let fields = parameters(call, "emails", "emails")?;
    let mut status = Map::new();
    for (_, email) in fields {
        let left = desk.account.contact_of(&email).is_some_and(|contact| desk.account.leave(contact.number, list));
        status.insert(email, json!(left));
    }
    status.insert("http_etag".into(), json!("\"1\""));
    ok(&Value::Object(status))
}

/// Returns the parameters of a body. Unknown and missing ones are errors.
fn parameters(call: &EspCall, known: &str, required: &str) -> Result<Vec<(String, String)>, EspReply> {
    let fields = call.fields();
    if let Some((name, _)) = fields.iter().find(|(name, _)| !among(known, name)) {
        return Err(described(400, &format!("Unexpected parameters: {name}")).blaming(format!("unexpected {name}")));
    }
    if let Some(name) = required.split_whitespace().find(|name| !fields.iter().any(|(known, _)| known == name)) {
        return Err(described(400, &format!("Missing Parameter: {name}")).blaming(format!("missing {name}")));
    }
    Ok(fields)
}

fn membership(desk: &Desk, id: &str) -> Result<(EspContact, u32), EspReply> {
    let (number, list) = ids::of_hex32(id).ok_or_else(missing)?;
    let contact = desk.account.contact(number).filter(|contact| contact.lists.contains_key(&list));
    contact.map(|contact| (contact, list)).ok_or_else(missing)
}

fn change(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (contact, _) = membership(desk, &stars[0])?;
    let fields = parameters(call, "address delivery_mode moderation_action", "")?;
    let Some((_, address)) = fields.into_iter().find(|(name, _)| name == "address") else {
        return Ok(EspReply::empty(204));
    };
    let address = address.to_lowercase();
    if let Some(owner) = desk.account.contact_of(&address) {
        if owner.number == contact.number {
            return Ok(EspReply::empty(204));
        }
        return Err(described(400, "Address is not controlled by user"));
    }
    if contact.fields.get(SPARE) != Some(&json!(address)) {
        return Err(described(400, "Address not registered"));
    }
    if contact.fields.get(VERIFIED) != Some(&json!(address)) {
        return Err(described(400, "Unverified address"));
    }
    desk.account.readdress(contact.number, &address);
    Ok(EspReply::empty(204))
}

fn prefer(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (contact, list) = membership(desk, &stars[0])?;
    let known = "delivery_status delivery_mode acknowledge_posts hide_address preferred_language";
    for (name, value) in parameters(call, known, "")? {
        if name == "delivery_status" {
            let state = if value == "enabled" { EspState::Subscribed } else { EspState::Archived };
            desk.account.set_state(contact.number, Some(list), state);
        }
    }
    Ok(EspReply::empty(204))
}

fn add_address(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = desk.account.contact_of(&stars[0]).ok_or_else(missing)?;
    let fields = parameters(call, "email display_name absorb_existing", "email")?;
    let email = fields.into_iter().find(|(name, _)| name == "email").map(|(_, email)| email).unwrap_or_default();
    if !is_address(&email) {
        return Err(described(400, "Invalid email address"));
    }
    let email = email.to_lowercase();
    // Also if the other user is this one, so a repetition fails.
    if desk.account.contact_of(&email).is_some() || owner_of_spare(desk, &email).is_some() {
        return Err(described(400, "Address belongs to other user"));
    }
    desk.account.write(contact.number, SPARE, &json!(email));
    Ok(EspReply::empty(201).with("Location", format!("{}/3.1/addresses/{email}", desk.secrets.public)))
}

fn owner_of_spare(desk: &mut Desk, email: &str) -> Option<u32> {
    let wanted = json!(email);
    let all = desk.account.select(&Selection::all(None, PageOrder::Oldest));
    let has = |number: &&u32| desk.account.contact(**number).is_some_and(|one| one.fields.get(SPARE) == Some(&wanted));
    all.iter().find(has).copied()
}

fn verify(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let email = stars[0].to_lowercase();
    if desk.account.contact_of(&email).is_some() {
        return Ok(EspReply::empty(204));
    }
    let owner = owner_of_spare(desk, &email).ok_or_else(missing)?;
    desk.account.write(owner, VERIFIED, &json!(email));
    Ok(EspReply::empty(204))
}
