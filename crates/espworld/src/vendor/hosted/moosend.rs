//! Moosend, API 3: every answer has the status 200 and a code in its body; the key is in the query, and lists are paged in
//! the path.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "moosend",
    base: Some("https://api.moosend.com/v3"),
    root: "/v3",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Archived],
    limits: &[EspLimit::of(&["POST /subscribers"], 10_000, 20)],
    routes: ROUTES,
    key: ids::uuid,
    admit: |desk, call| desk.admits(call.param("apikey") == Some(desk.key())),
    refused: || coded(104, "API_KEY_NOT_VALID"),
    limited: |_| coded(429, "RATE-LIMITING"),
    contact_id: |contact, list| id_of(contact, list.unwrap_or(0)),
    list_id,
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/lists/*/*", lists),
    on("GET", "/lists/*/subscribers/*", members),
    on("POST", "/subscribers/*/unsubscribe.json", |desk, call, stars| {
        let (list, contact) = member(desk, call, &stars[0])?;
        if contact.state_in(list) == Some(EspState::Subscribed) {
            desk.account.set_state(contact.number, Some(list), EspState::Unsubscribed);
        }
        Ok(done(call))
    }),
    on("POST", "/subscribers/*/remove.json", |desk, call, stars| {
        let (list, contact) = member(desk, call, &stars[0])?;
        desk.account.set_state(contact.number, Some(list), EspState::Archived);
        Ok(done(call))
    }),
];

fn id_of(contact: &EspContact, list: u32) -> String {
    ids::uuid(&ids::hex32(contact.number, list))
}

fn list_id(list: u32) -> String {
    ids::uuid(&ids::hex32(list, 9))
}

fn coded(code: u32, error: &str) -> EspReply {
    EspReply::json(200, &json!({"Code": code, "Error": error, "Context": null}))
}

fn good(context: &Value) -> EspReply {
    EspReply::json(200, &json!({"Code": 0, "Error": null, "Context": context}))
}

fn done(call: &EspCall) -> EspReply {
    noting(good(&Value::Null), &strangers(&call.json().unwrap_or_default(), "Email"))
}

fn at(ms: i64) -> String {
    format!("/Date({ms}+0000)/")
}

fn paging(total: usize, page: usize, size: usize) -> Value {
    json!({"PageSize": size, "CurrentPage": page, "TotalResults": total, "TotalPageCount": total.div_ceil(size),
        "SortExpression": "CreatedOn", "SortIsAscending": false})
}

fn lists(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let numbers = stars[0].parse::<usize>().ok().zip(stars[1].strip_suffix(".json").and_then(|size| size.parse().ok()));
    let Some((page, size)) = numbers.filter(|(page, size)| *page > 0 && (1..=1000).contains(size)) else {
        return Err((SHEET.absent)().blaming("lists are at /lists/PAGE/SIZE.json"));
    };
    let count = |list: u32| desk.account.members(list).len();
    let all = each(
        &desk.account.lists,
        |list| json!({"ID": list_id(list.number), "Name": list.name, "ActiveMemberCount": count(list.number), "Status": 0}),
    );
    let part: Vec<_> = all.iter().skip((page - 1) * size).take(size).collect();
    let reply = good(&json!({"Paging": paging(all.len(), page, size), "MailingLists": part}));
    Ok(noting(reply, &strange_params(call, "apikey ShortBy SortMethod")))
}

fn kind(state: EspState) -> (&'static str, u32) {
    match state {
        EspState::Unsubscribed | EspState::Complained => ("Unsubscribed", 2),
        EspState::Bounced => ("Bounced", 3),
        EspState::Archived => ("Removed", 4),
        EspState::Subscribed | EspState::Pending => ("Subscribed", 1),
    }
}

fn list(desk: &Desk, id: &str) -> Result<u32, EspReply> {
    list_of(&desk.account, id, list_id).ok_or_else(|| coded(200, "MAILING_LIST_NOT_FOUND"))
}

fn members(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let wanted = stars[1].strip_suffix(".json").unwrap_or_default().to_owned();
    if !["Subscribed", "Unsubscribed", "Bounced", "Removed"].contains(&wanted.as_str()) {
        return Err((SHEET.absent)().blaming("the path ends with a status and .json"));
    }
    let page = call.number("Page", 1).filter(|page| *page > 0).ok_or_else(|| coded(501, "Page").blaming("Page"))?;
    let size = call.number("PageSize", 500).filter(|size| (1..=1000).contains(size));
    let size = size.ok_or_else(|| coded(501, "PageSize").blaming("PageSize"))?;
    let keep = |contact: &EspContact| contact.state_in(list).is_some_and(|state| kind(state).0 == wanted);
    let selection = Selection::all(Some(list), PageOrder::Oldest).keeping(&wanted, &keep);
    let slice = desk.account.page(&selection, (page - 1) * size, size);
    let shown: Vec<_> = slice
        .contacts
        .iter()
        .map(|contact| {
            let state = contact.state_in(list).unwrap_or(contact.state);
            json!({"ID": id_of(contact, list), "Name": "", "Email": contact.email, "CreatedOn": at(contact.created),
            "UpdatedOn": at(contact.updated), "SubscribeType": kind(state).1, "SubscribeMethod": 2, "CustomFields": []})
        })
        .collect();
    let reply = good(&json!({"Paging": paging(slice.total, page, size), "Subscribers": shown}));
    Ok(noting(reply, &strange_params(call, "apikey Since Page PageSize SortBy SortMethod")))
}

fn member(desk: &Desk, call: &EspCall, list_id: &str) -> Result<(u32, EspContact), EspReply> {
    let list = list(desk, list_id)?;
    let body = call.body_json(|| coded(501, "VALIDATION_ERROR"))?;
    let email = text(&body, "/Email").filter(|email| is_address(email));
    let email = email.ok_or_else(|| coded(501, "INVALID_EMAIL_ADDRESS").blaming("Email"))?;
    let contact = desk.account.contact_of(&email);
    let is_in = |contact: &EspContact| contact.state_in(list).is_some_and(|state| state != EspState::Archived);
    contact.filter(is_in).map(|contact| (list, contact)).ok_or_else(|| coded(300, "MEMBER_NOT_FOUND"))
}
