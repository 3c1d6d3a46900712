//! Kit (ConvertKit), API 4: cursors in both directions, dates without times, errors for unknown fields, no header with a
//! wait.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "convertkit",
    base: Some("https://api.kit.com/v4"),
    root: "/v4",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained, EspState::Pending],
    is_lower: true,
    limits: &[EspLimit { is_rolling: true, ..EspLimit::of_all(60_000, 120) }],
    routes: ROUTES,
    key: |key| format!("kit_{}", &key[..32]),
    admit: |desk, call| desk.admits(call.header("X-Kit-Api-Key") == Some(desk.key().as_str())),
    refused: || error(401, "The API key is invalid"),
    limited: |_| error(429, "Rate limit exceeded"),
    absent: || error(404, "Not Found"),
    contact_id: |contact, _| id_of(contact).to_string(),
    list_id: |list| list_id(list).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/account", |_, _, _| {
        let account = json!({"name": "Acme", "plan_type": "creator", "primary_email_address": "a@example.com"});
        ok(&json!({"user": {"id": 5, "email": "a@example.com"}, "account": account}))
    }),
    on("GET", "/tags", tags),
    on("POST", "/tags", make_tag),
    on("GET", "/forms", |desk, call, _| named(desk, call, "forms")),
    on("GET", "/segments", |desk, call, _| named(desk, call, "segments")),
    on("GET", "/subscribers", |desk, call, _| subscribers(desk, call, None)),
    on("GET", "/forms/*/subscribers", |desk, call, stars| {
        let list =
            desk.account.lists.iter().map(|list| list.number).find(|list| list_id(*list).to_string() == stars[0]);
        let list = list.ok_or_else(|| error(404, "Not Found"))?;
        subscribers(desk, call, Some(list))
    }),
    on("GET", "/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        ok(&json!({"subscriber": shown(desk, &contact, false)}))
    }),
    on("PUT", "/subscribers/*", edit),
    on("POST", "/subscribers/*/unsubscribe", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.set_state(contact.number, None, EspState::Unsubscribed);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/tags/*/subscribers/*", tag),
    on("GET", "/custom_fields", fields),
    on("POST", "/custom_fields", make_field),
    on("POST", "/webhooks", hook),
    on("GET", "/webhooks", |desk, _, _| {
        let shown =
            desk.account.hooks.iter().map(|hook| json!({"id": hook.id, "account_id": 5, "target_url": hook.url}));
        Ok(EspReply::json(200, &json!({"webhooks": shown.collect::<Vec<_>>(), "pagination": {"has_next_page": false}})))
    }),
    on("DELETE", "/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { Ok(EspReply::empty(204)) } else { Err(error(404, "Not Found")) }
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(2_900_000_000, contact.number)
}

fn list_id(list: u32) -> u64 {
    6_000_000 + u64::from(list)
}

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"errors": [message]}))
}

/// Returns the page size: 500 records by default, at most 1,000.
fn size_of(call: &EspCall) -> Result<usize, EspReply> {
    let size = call.number("per_page", 500).filter(|size| *size > 0);
    Ok(size.ok_or_else(|| error(422, "per_page is invalid").blaming("per_page"))?.min(1000))
}

/// Returns the start of a page: the position of its cursor.
fn position(desk: &mut Desk, call: &EspCall) -> Result<Option<u32>, EspReply> {
    let Some(cursor) = call.param("after").filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    let (position, is_used) =
        desk.open_cursor(&cursor).ok_or_else(|| error(422, "cursor is invalid").blaming("after"))?;
    if is_used {
        return Err(error(422, "cursor is invalid").blaming("the cursor was used before"));
    }
    Ok(position.parse().ok())
}

/// Returns the pagination. The last page has an end cursor too.
fn pagination(desk: &mut Desk, call: &EspCall, size: usize, (last, more): (Option<u32>, bool)) -> Value {
    let end = last.map(|last| desk.cursor(&last.to_string()));
    json!({"has_previous_page": call.param("after").is_some(), "has_next_page": more, "start_cursor": end.clone(), "end_cursor": end,
        "per_page": size})
}

fn page_of(desk: &mut Desk, call: &EspCall, name: &str, all: &[Value]) -> EspAnswer {
    let size = size_of(call)?;
    let from = position(desk, call)?.map_or(0, |last| last as usize + 1);
    let part: Vec<_> = all.iter().skip(from).take(size).cloned().collect();
    let last =
        (from + part.len()).checked_sub(1).and_then(|last| u32::try_from(last).ok()).filter(|_| !part.is_empty());
    let pagination = pagination(desk, call, size, (last, from + size < all.len()));
    let mut body = Map::new();
    body.insert(name.to_owned(), Value::Array(part));
    body.insert("pagination".to_owned(), pagination);
    ok(&Value::Object(body))
}

fn tags(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let at = time::iso(desk.now);
    let all = each(&desk.account.tags, |tag| json!({"id": tag.id, "name": tag.name, "created_at": at}));
    page_of(desk, call, "tags", &all)
}

fn named(desk: &mut Desk, call: &EspCall, name: &str) -> EspAnswer {
    let at = time::iso(desk.account.mold.epoch);
    let all = each(
        &desk.account.lists,
        |list| json!({"id": list_id(list.number), "name": list.name, "created_at": at, "type": "embed", "archived": false}),
    );
    page_of(desk, call, name, &all)
}

fn state(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "active",
        EspState::Unsubscribed | EspState::Archived => "cancelled",
        EspState::Bounced => "bounced",
        EspState::Complained => "complained",
        EspState::Pending => "inactive",
    }
}

fn shown(desk: &Desk, contact: &EspContact, is_slim: bool) -> Value {
    let mut shown = json!({"id": id_of(contact), "first_name": null, "email_address": contact.email,
        "state": state(contact.state), "created_at": time::iso(contact.created)});
    if !is_slim {
        let fields = desk
            .account
            .fields
            .iter()
            .map(|field| (field.key.clone(), contact.fields.get(&field.key).cloned().unwrap_or_default()));
        shown["fields"] = Value::Object(fields.collect());
    }
    shown
}

const LIST_PARAMS: &str = "status after before per_page created_after created_before updated_after updated_before email_address \
        sort_field sort_order include_total_count slim include";

fn subscribers(desk: &mut Desk, call: &EspCall, list: Option<u32>) -> EspAnswer {
    let size = size_of(call)?;
    // Whether the day itself is included is unknown.
    let shift = if desk.varies(1) { 86_400_000 } else { 0 };
    let day = |name: &str| {
        let Some(text) = call.param(name) else { return Ok(None) };
        let at = time::of_day(&text).map(|at| Some(at + shift));
        at.ok_or_else(|| error(422, "is not a date as in 2026-11-22").blaming(name.to_owned()))
    };
    let (created, updated) = (day("created_after")?, day("updated_after")?);
    let wanted = call.param("status").unwrap_or_else(|| "active".to_owned());
    if !["active", "inactive", "bounced", "complained", "cancelled", "all"].contains(&wanted.as_str()) {
        return Err(error(422, "status is invalid").blaming("status"));
    }
    let order = if call.param("sort_order").as_deref() == Some("asc") { PageOrder::Oldest } else { PageOrder::Newest };
    let keep = |contact: &EspContact| {
        (wanted == "all" || wanted == state(contact.state))
            && created.is_none_or(|at| contact.created >= at)
            && updated.is_none_or(|at| contact.updated >= at)
    };
    let name = format!("{wanted}?{created:?}{updated:?}");
    let all = Selection::all(list, order);
    let is_plain = wanted == "all" && created.is_none() && updated.is_none();
    let selection = if is_plain { all } else { all.keeping(&name, &keep) };
    let after = position(desk, call)?;
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let is_slim = call.param("slim").as_deref() == Some("true");
    let part: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact, is_slim)).collect();
    let end = slice.contacts.last().map(|contact| contact.number);
    let pagination = pagination(desk, call, size, (end, more));
    let reply = EspReply::json(200, &json!({"subscribers": part, "pagination": pagination}));
    Ok(noting(reply, &strange_params(call, LIST_PARAMS)))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let known = ids::of_decimal(2_900_000_000, id).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| error(404, "Not Found"))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| error(422, "The request body is not JSON"))?;
    let strange = strangers(&body, "first_name email_address fields");
    let fields = body["fields"].as_object();
    if let Some(key) =
        fields.into_iter().flatten().map(|(key, _)| key).find(|key| desk.account.field(None, key).is_none())
    {
        return Err(error(422, &format!("Custom field {key} does not exist")).blaming("an unknown custom field"));
    }
    if let Some(email) = text(&body, "/email_address") {
        if !is_address(&email) {
            return Err(error(422, "Email address is invalid"));
        }
        if !desk.account.readdress(contact.number, &email.to_lowercase()) {
            return Err(error(422, "Email address has already been taken"));
        }
    }
    for (key, value) in fields.into_iter().flatten() {
        desk.account.write(contact.number, key, value);
    }
    let contact = find(desk, &stars[0])?;
    Ok(noting(EspReply::json(200, &json!({"subscriber": shown(desk, &contact, false)})), &strange))
}

fn make_tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(422, "The request body is not JSON"))?;
    let name = text(&body, "/name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| error(422, "Name can't be blank").blaming("name"))?;
    let known = desk.account.tag(&name).cloned();
    let status = if known.is_some() { 200 } else { 201 };
    let tag = known.unwrap_or_else(|| desk.account.make_tag(&name));
    Ok(EspReply::json(status, &json!({"tag": {"id": tag.id, "name": tag.name, "created_at": time::iso(desk.now)}})))
}

fn tag(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    if !call.body.is_empty() {
        call.body_json(|| error(422, "The request body is not JSON"))?;
    }
    let tag = stars[0].parse().ok().filter(|id| desk.account.tag_by_id(*id).is_some());
    let tag: u32 = tag.ok_or_else(|| error(404, "Not Found"))?;
    let contact = find(desk, &stars[1])?;
    let status = if contact.tags.contains(&tag) { 200 } else { 201 };
    desk.account.tag_contact(contact.number, tag);
    Ok(EspReply::json(status, &json!({"subscriber": shown(desk, &contact, false)})))
}

fn fields(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let all = each(
        &desk.account.fields,
        |field| json!({"id": field.id, "name": format!("ck_field_{}_{}", field.id, field.key), "key": field.key, "label": field.name}),
    );
    page_of(desk, call, "custom_fields", &all)
}

fn make_field(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(422, "The request body is not JSON"))?;
    let label = text(&body, "/label").map(|label| label.trim().to_owned()).filter(|label| !label.is_empty());
    let label = label.ok_or_else(|| error(422, "Label can't be blank").blaming("label"))?;
    if desk.account.fields.iter().any(|field| field.name.eq_ignore_ascii_case(&label)) {
        return Err(error(422, "Label has already been taken"));
    }
    let key = label.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let field = desk.account.make_field(None, &key, &label);
    let name = format!("ck_field_{}_{key}", field.id);
    made(&json!({"custom_field": {"id": field.id, "name": name, "key": key, "label": label}}))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(422, "The request body is not JSON"))?;
    let (Some(url), Some(event)) = (text(&body, "/target_url"), text(&body, "/event/name")) else {
        return Err(error(422, "target_url and event are required").blaming("target_url and event"));
    };
    if !event.starts_with("subscriber.") && !event.starts_with("purchase.") {
        return Err(error(422, "event is invalid").blaming("event"));
    }
    let hook = desk.account.make_hook(None, &url, None, true);
    let shown = json!({"id": hook.id, "account_id": 5, "event": {"name": event}, "target_url": url});
    made(&json!({"webhook": shown}))
}
