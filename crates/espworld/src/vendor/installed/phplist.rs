//! phpList, version 2 of the API: a login gives a key for an hour, which is the password of each call; pages follow an ID.

use crate::vendor::prelude::*;

/// Lifetime of a session.
const LIFE_MS: i64 = 3_600_000;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "phplist",
    root: "/api/v2",
    states: &[EspState::Unsubscribed, EspState::Pending, EspState::Archived],
    routes: ROUTES,
    key: |key| key[5..25].to_owned(),
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("login", "admin".to_owned()), ("password", key)],
    admit: |desk, call| {
        let is_login = call.method == "POST" && call.path == "/api/v2/sessions";
        let key = call.basic().map(|(_, key)| key);
        let is_in = is_login || key.is_some_and(|key| desk.tokens.is_valid(&key, desk.now));
        desk.admits(is_in)
    },
    refused: || error(403, "No valid session key was provided as basic auth password."),
    absent: || error(404, "No route found"),
    contact_id: |contact, _| (u64::from(contact.number) + 1).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("POST", "/sessions", |desk, call, _| {
        let body = call.body_json(|| error(400, "JSON"))?;
        let login = text(&body, "/login_name").zip(text(&body, "/password"));
        let (name, given) = login.ok_or_else(|| error(422, "login_name and password").blaming("login_name"))?;
        if name != "admin" || given != desk.key() {
            return Err(error(401, "Not authorized."));
        }
        let (key, now) = (desk.secrets.key.clone(), desk.now);
        let token = desk.tokens.give(&key, now, LIFE_MS);
        let reply = EspReply::json(201, &json!({"id": 17, "key": token, "expiry": time::iso_offset(now + LIFE_MS)}));
        Ok(noting(reply, &strangers(&body, "login_name password")))
    }),
    on("GET", "/lists", |desk, call, _| {
        let (after, limit) = page(call)?;
        let lists = desk.account.lists.iter().filter(|list| list.number > after).take(limit);
        let items: Vec<_> = lists.map(|list| json!({"id": list.number, "name": list.name, "public": true})).collect();
        Ok(paged(call, &items, limit, desk.account.lists.len()))
    }),
    on("GET", "/lists/*/subscribers", |desk, call, stars| {
        let list = list_of(&desk.account, &stars[0], SHEET.list_id);
        let list = list.ok_or_else(|| error(404, "Subscriber list not found."))?;
        let (after, limit) = page(call)?;
        let selection = Selection::all(Some(list), PageOrder::Oldest);
        let (slice, _) = desk.account.page_after(&selection, after.checked_sub(1), limit);
        let items: Vec<_> = slice.contacts.iter().map(shown).collect();
        // The program counts the subscribers of all lists.
        Ok(paged(call, &items, limit, desk.account.everyone().len()))
    }),
    on("GET", "/subscribers/*", |desk, _, stars| ok(&shown(&find(desk, &stars[0])?))),
    on("DELETE", "/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/blacklist/add", |desk, call, _| {
        let body = call.body_json(|| error(400, "JSON"))?;
        let email = text(&body, "/email").filter(|email| is_address(email));
        let email = email.ok_or_else(|| error(422, "email").blaming("email"))?;
        // Addresses of nobody are kept, too.
        if let Some(contact) = desk.account.contact_of(&email) {
            desk.account.set_state(contact.number, None, EspState::Unsubscribed);
        }
        let reply = EspReply::json(
            201,
            &json!({"email": email, "added": time::iso_offset(desk.now), "reason": body["reason"]}),
        );
        Ok(noting(reply, &strangers(&body, "email reason")))
    }),
];

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"message": message}))
}

/// Returns the ID after which a page begins, and its size.
fn page(call: &EspCall) -> Result<(u32, usize), EspReply> {
    let after = call.number("after_id", 0).and_then(|after| u32::try_from(after).ok());
    let limit = call.number("limit", 25).filter(|limit| (1..=100).contains(limit));
    let after = after.ok_or_else(|| error(422, "after_id").blaming("after_id"))?;
    Ok((after, limit.ok_or_else(|| error(422, "limit").blaming("limit"))?))
}

fn paged(call: &EspCall, items: &[Value], limit: usize, total: usize) -> EspReply {
    let next = items.last().map(|item| item["id"].clone());
    let pagination = json!({"total": total, "limit": limit, "has_more": items.len() == limit, "next_cursor": next});
    let reply = EspReply::json(200, &json!({"items": items, "pagination": pagination}));
    noting(reply, &strange_params(call, "after_id limit"))
}

fn shown(contact: &EspContact) -> Value {
    let is = |state: EspState| contact.state == state;
    json!({"id": contact.number + 1, "email": contact.email, "created_at": time::iso_offset(contact.created),
        "updated_at": time::iso_offset(contact.updated), "confirmed": !is(EspState::Pending),
        "blacklisted": is(EspState::Unsubscribed), "disabled": is(EspState::Archived), "bounce_count": 0,
        "html_email": true, "subscribed_lists": []})
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = id.parse::<u32>().ok().and_then(|id| id.checked_sub(1));
    number.and_then(|number| desk.account.contact(number)).ok_or_else(|| error(404, "Subscriber not found."))
}
