//! GetResponse, API 3: arrays with the numbers of pages in headers, active contacts only, each in one list; names of tags
//! have letters, digits and underscores.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "getresponse",
    base: Some("https://api.getresponse.com/v3"),
    root: "/v3",
    overlaps: false,
    is_lower: true,
    limits: &[EspLimit::of_all(600_000, 30_000), EspLimit::of_all(1_000, 80)],
    concurrency: Some(10),
    routes: ROUTES,
    key: |key| key[..32].to_owned(),
    admit: |desk, call| desk.admits(call.header("X-Auth-Token") == Some(format!("api-key {}", desk.key()).as_str())),
    refused: || error(401, 1014, "Unable to authenticate request. Check credentials or authentication method details"),
    limited: |excess| {
        error(429, 1015, "You have reached your requests limit for this time window, please wait...")
            .with("X-RateLimit-Limit", excess.limit.max)
            .with("X-RateLimit-Remaining", 0)
            .with("X-RateLimit-Reset", format!("{} seconds", excess.seconds()))
    },
    absent: || error(404, 1001, "Resource is not found"),
    contact_id: |contact, _| id_of(contact),
    list_id,
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/accounts", |_, _, _| {
        ok(&json!({"accountId": "VfEj6", "email": "a@example.com", "companyName": "Acme"}))
    }),
    on("GET", "/campaigns", |desk, call, _| {
        let at = at(desk.account.mold.epoch);
        let all = each(
            &desk.account.lists,
            |list| json!({"campaignId": list_id(list.number), "name": list.name, "description": list.name, "createdOn": at}),
        );
        paged(call, &all)
    }),
    on("GET", "/contacts", contacts),
    on("GET", "/contacts/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        Ok(noting(EspReply::json(200, &shown(&contact)), &strange_params(call, "fields")))
    }),
    on("POST", "/contacts/*", edit),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/contacts/*/tags", tag),
    on("POST", "/contacts/*/custom-fields", write),
    on("GET", "/tags", |desk, call, _| {
        let all = each(&desk.account.tags, |tag| json!({"tagId": tag_id(tag.id), "name": tag.name}));
        paged(call, &named(call, all)?)
    }),
    on("POST", "/tags", make_tag),
    on("GET", "/custom-fields", |desk, call, _| {
        let all = each(&desk.account.fields, |field| json!({"customFieldId": tag_id(field.id), "name": field.name}));
        paged(call, &named(call, all)?)
    }),
    on("POST", "/custom-fields", make_field),
];

fn id_of(contact: &EspContact) -> String {
    format!("p{:x}", ids::decimal(70_000, contact.number))
}

fn list_id(list: u32) -> String {
    format!("V{list}J")
}

fn tag_id(tag: u32) -> String {
    format!("vBd{tag}")
}

fn at(ms: i64) -> String {
    time::shown(ms, "%Y-%m-%dT%H:%M:%S+0000")
}

fn error(status: u16, code: u32, message: &str) -> EspReply {
    EspReply::json(
        status,
        &json!({"httpStatus": status, "code": code, "codeDescription": message, "message": message,
            "moreInfo": format!("https://apidocs.getresponse.com/en/v3/errors/{code}"), "context": {}, "uuid": "77dabfd1"}),
    )
}

fn invalid(what: &str) -> EspReply {
    error(400, 1000, "Validation error, see context section for more information").blaming(what)
}

fn missing() -> EspReply {
    error(404, 1013, "Resource not found")
}

/// Returns the page and its size: 100 records by default, at most 1,000.
fn span(call: &EspCall) -> Result<(usize, usize), EspReply> {
    let page = call.number("page", 1).filter(|page| *page > 0).ok_or_else(|| invalid("page"))?;
    let size =
        call.number("perPage", 100).filter(|size| (1..=1000).contains(size)).ok_or_else(|| invalid("perPage"))?;
    Ok((page, size))
}

fn counted(reply: EspReply, (page, size): (usize, usize), total: usize) -> EspReply {
    reply.with("CurrentPage", page).with("TotalPages", total.div_ceil(size)).with("TotalCount", total)
}

fn paged(call: &EspCall, all: &[Value]) -> EspAnswer {
    let (page, size) = span(call)?;
    let part: Vec<_> = all.iter().skip((page - 1) * size).take(size).collect();
    Ok(counted(EspReply::json(200, &json!(part)), (page, size), all.len()))
}

/// Keeps the resources whose names contain the one in `query[name]`.
fn named(call: &EspCall, all: Vec<Value>) -> Result<Vec<Value>, EspReply> {
    let known = "query[name] page perPage fields sort[createdAt] sort[name]";
    if let Some((name, _)) = call.params().into_iter().find(|(name, _)| !among(known, name)) {
        return Err(invalid(&name));
    }
    let part = call.param("query[name]").unwrap_or_default().to_lowercase();
    let has = |value: &Value| text(value, "/name").is_some_and(|name| name.to_lowercase().contains(&part));
    Ok(all.into_iter().filter(has).collect())
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    const KNOWN: &str = "query[email] query[name] query[campaignId] query[origin] query[createdOn][from] query[createdOn][to] \
        query[changedOn][from] query[changedOn][to] sort[createdOn] sort[changedOn] sort[email] \
        additionalFlags fields page perPage";
    if let Some((name, _)) = call.params().into_iter().find(|(name, _)| !among(KNOWN, name)) {
        return Err(invalid(&name));
    }
    let (page, size) = span(call)?;
    let list = call.param("query[campaignId]");
    // A list that does not exist has no contacts.
    let list = list.map(|id| list_of(&desk.account, &id, list_id).ok_or(())).transpose();
    let Ok(list) = list else { return Ok(counted(EspReply::json(200, &json!([])), (page, size), 0)) };
    let since = |name: &str| match call.param(name) {
        Some(given) => time::of_iso(&given).or_else(|| time::of_day(&given)).map(Some).ok_or_else(|| invalid(name)),
        None => Ok(None),
    };
    let (created, changed) = (since("query[createdOn][from]")?, since("query[changedOn][from]")?);
    let keep = |contact: &EspContact| {
        created.is_none_or(|at| contact.created / 1000 >= at / 1000)
            && changed.is_none_or(|at| contact.updated / 1000 >= at / 1000)
    };
    let order = order_of(call.param("sort[createdOn]").as_deref(), PageOrder::Newest);
    let name = format!("{created:?} {changed:?}");
    let selection = Selection::all(list, order).keeping(&name, &keep);
    let slice = desk.account.page(&selection, (page - 1) * size, size);
    let shown: Vec<_> = slice.contacts.iter().map(shown).collect();
    Ok(counted(EspReply::json(200, &Value::Array(shown)), (page, size), slice.total))
}

fn shown(contact: &EspContact) -> Value {
    json!({"contactId": id_of(contact), "email": contact.email, "createdOn": at(contact.created), "changedOn": at(contact.updated)})
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let number = id.strip_prefix('p').and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let number = number.and_then(|number| ids::of_decimal(70_000, &number.to_string()));
    number.and_then(|number| desk.account.contact(number)).ok_or_else(missing)
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let strange = strangers(&body, "email name campaign dayOfCycle scoring note");
    if let Some(email) = text(&body, "/email") {
        if !is_address(&email) {
            return Err(error(400, 1000, "Validation error"));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(error(409, 1008, "Property value is already taken"));
        }
    }
    Ok(noting(EspReply::json(200, &shown(&find(desk, &stars[0])?)), &strange))
}

fn tag(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let wanted = body["tags"].as_array().ok_or_else(|| invalid("tags"))?.clone();
    for one in &wanted {
        let id = text(one, "/tagId").unwrap_or_default();
        let tag = desk.account.tags.iter().map(|tag| tag.id).find(|tag| tag_id(*tag) == id);
        desk.account.tag_contact(contact.number, tag.ok_or_else(|| invalid("tagId"))?);
    }
    Ok(noting(EspReply::json(200, &Value::Array(wanted)), &strangers(&body, "tags")))
}

fn write(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    for one in body["customFieldValues"].as_array().ok_or_else(|| invalid("customFieldValues"))? {
        let id = text(one, "/customFieldId").unwrap_or_default();
        let field = desk.account.fields.iter().find(|field| tag_id(field.id) == id).map(|field| field.key.clone());
        let field = field.ok_or_else(|| invalid("customFieldId"))?;
        let values = one["value"].as_array().ok_or_else(|| invalid("value is not an array"))?;
        let value = values.first().filter(|value| value.is_string()).ok_or_else(|| invalid("value"))?;
        desk.account.write(contact.number, &field, value);
    }
    Ok(noting(EspReply::json(200, &json!([])), &strangers(&body, "customFieldValues")))
}

fn make_tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let is_word =
        |name: &str| (2..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = text(&body, "/name").filter(|name| is_word(name)).ok_or_else(|| invalid("name"))?;
    if desk.account.tag(&name).is_some() {
        return Err(error(409, 1008, "Property value is already taken"));
    }
    let tag = desk.account.make_tag(&name);
    Ok(noting(
        EspReply::json(201, &json!({"tagId": tag_id(tag.id), "name": name, "createdAt": at(desk.now)})),
        &strangers(&body, "name"),
    ))
}

fn make_field(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("the body is not JSON"))?;
    let is_name = |name: &String| {
        name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') && !name.is_empty()
    };
    let name = text(&body, "/name").filter(is_name).ok_or_else(|| invalid("name"))?;
    if body["type"] != "string" || body["format"] != "text" || body["hidden"] != "false" || !body["values"].is_array() {
        return Err(invalid("type, format, hidden and values are required"));
    }
    if desk.account.field(None, &name).is_some() {
        return Err(error(409, 1008, "Property value is already taken"));
    }
    let field = desk.account.make_field(None, &name, &name);
    made(&json!({"customFieldId": tag_id(field.id), "name": name, "type": "string", "format": "text"}))
}
