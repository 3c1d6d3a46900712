//! Iterable: lists as text, one address a line; the address is the key.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "iterable",
    root: "/api",
    is_lower: true,
    limits: &[
        EspLimit { is_rolling: true, ..EspLimit::of(&["GET /lists/getUsers"], 60_000, 5) },
        EspLimit::of(&["POST /lists/unsubscribe"], 1_000, 5),
    ],
    routes: ROUTES,
    key: |key| key[..32].to_owned(),
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("api_key", key)],
    admit: |desk, call| desk.admits(call.header("Api-Key") == Some(desk.key().as_str())),
    refused: || error(401, "BadApiKey", "Invalid API key"),
    limited: |_| error(429, "RateLimitExceeded", "Exceeded rate limit for endpoint"),
    absent: || error(404, "NotFound", "Not found"),
    list_id: |list| (list + 700).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/lists", |desk, _, _| {
        let lists = each(
            &desk.account.lists,
            |list| json!({"id": list.number + 700, "name": list.name, "createdAt": 1, "listType": "Standard"}),
        );
        ok(&json!({"lists": lists}))
    }),
    on("GET", "/lists/getUsers", users),
    on("POST", "/lists/unsubscribe", unsubscribe),
    on("DELETE", "/users/*", |desk, _, stars| {
        // The description names no answer about a user who does not exist.
        let absent = if desk.varies(2) { (404, "NotFound") } else { (400, "UnknownEmailError") };
        let contact = desk.account.contact_of(&stars[0]).ok_or_else(|| error(absent.0, absent.1, "User not found"))?;
        desk.account.delete(contact.number);
        Ok(error(200, "Success", "The user will be deleted"))
    }),
];

fn error(status: u16, code: &str, message: &str) -> EspReply {
    EspReply::json(status, &json!({"msg": message, "code": code, "params": null}))
}

fn list(desk: &Desk, id: &str) -> Result<u32, EspReply> {
    list_of(&desk.account, id, SHEET.list_id).ok_or_else(|| error(400, "BadParams", "List not found"))
}

fn users(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let id = call.param("listId").ok_or_else(|| error(400, "BadParams", "listId").blaming("listId"))?;
    let list = list(desk, &id)?;
    let slice = desk.account.page(&Selection::all(Some(list), PageOrder::Oldest), 0, usize::MAX);
    let mut lines = slice.contacts.iter().map(|contact| contact.email.as_str()).collect::<Vec<_>>().join("\n");
    if desk.varies(1) {
        lines.push('\n');
    }
    let reply = EspReply::text(200, "text/plain; charset=utf-8", lines);
    Ok(noting(reply, &strange_params(call, "listId preferUserId")))
}

fn unsubscribe(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "BadJsonBody", "Invalid JSON"))?;
    let id = body["listId"].as_u64().ok_or_else(|| error(400, "BadParams", "listId").blaming("listId is a number"))?;
    let list = list(desk, &id.to_string())?;
    let given = body["subscribers"].as_array().ok_or_else(|| error(400, "BadParams", "subscribers").blaming("list"))?;
    let (mut done, mut invalid) = (0, Vec::new());
    for email in given.iter().filter_map(|one| text(one, "/email")) {
        let contact = desk.account.contact_of(&email);
        if !is_address(&email) {
            invalid.push(Value::String(email));
        } else if contact.is_some_and(|contact| desk.account.leave(contact.number, list)) {
            done += 1;
        }
    }
    let reply =
        json!({"successCount": done, "failCount": invalid.len(), "invalidEmails": invalid, "invalidUserIds": []});
    let strange = strangers(&body, "listId subscribers campaignId channelUnsubscribe");
    Ok(noting(EspReply::json(200, &reply), &strange))
}
