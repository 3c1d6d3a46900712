//! MailerLite, the API of 2022: both `Accept` and `Content-Type` required on every call, cursors for subscribers and pages
//! for groups. A PUT with groups replaces them; an address cannot be changed.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "mailerlite",
    base: Some("https://connect.mailerlite.com/api"),
    root: "/api",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained, EspState::Pending],
    is_lower: true,
    limits: &[EspLimit::of_all(60_000, 120)],
    routes: ROUTES,
    key: |key| format!("eyJ0eXAiOiJKV1Qi.{key}"),
    admit,
    refused: || message(401, "Unauthenticated."),
    limited: |excess| {
        message(429, "Too Many Attempts.")
            .counting(excess, ["X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"])
    },
    absent: || message(404, "The route could not be found."),
    contact_id: |contact, _| id_of(contact).to_string(),
    list_id: |list| list_id(list).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/groups", groups),
    on("POST", "/groups", make_group),
    on("GET", "/groups/*/subscribers", |desk, call, stars| {
        let list = list_of(&desk.account, &stars[0], SHEET.list_id).ok_or_else(missing)?;
        subscribers(desk, call, Some(list))
    }),
    on("GET", "/subscribers", |desk, call, _| subscribers(desk, call, None)),
    on("GET", "/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        ok(&json!({"data": shown(desk, &contact)}))
    }),
    on("PUT", "/subscribers/*", edit),
    on("DELETE", "/subscribers/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/subscribers/*/forget", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        ok(&json!({"message": "Subscriber data will be completely deleted and forgotten within 30 days."}))
    }),
    on("POST", "/subscribers/*/groups/*", assign),
    on("DELETE", "/subscribers/*/groups/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        let list = list_of(&desk.account, &stars[1], SHEET.list_id).ok_or_else(missing)?;
        desk.account.leave(contact.number, list);
        Ok(EspReply::empty(204))
    }),
    on("GET", "/fields", fields),
    on("POST", "/fields", make_field),
    on("POST", "/webhooks", hook),
    on("GET", "/webhooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[0]).ok_or_else(missing)?;
        Ok(EspReply::json(200, &json!({"data": {"id": stars[0], "url": hook.url, "enabled": true}})))
    }),
    on("DELETE", "/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { Ok(EspReply::empty(204)) } else { Err(missing()) }
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(31_986_843_064_990_000, contact.number)
}

fn list_id(list: u32) -> u64 {
    4_243_829_086_487_000 + u64::from(list)
}

/// Returns the ID of a group used as a tag.
fn tag_id(tag: u32) -> u64 {
    4_243_829_086_900_000 + u64::from(tag)
}

fn message(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"message": message}))
}

fn missing() -> EspReply {
    message(404, "Resource not found.")
}

fn invalid(field: &str, what: &str) -> EspReply {
    EspReply::json(422, &json!({"message": what, "errors": {field: [what]}}))
}

fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    let is_json = |name: &str| call.header(name).is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json("Accept") {
        // A call that does not request JSON is redirected to the sign-in page.
        let place = EspReply::page(302, "Redirecting to https://dashboard.mailerlite.com/login");
        return Err(place
            .with("Location", "https://dashboard.mailerlite.com/login")
            .blaming("Accept is not application/json"));
    }
    if !is_json("Content-Type") {
        return Err(message(415, "Unsupported Media Type").blaming("Content-Type is not application/json"));
    }
    desk.admits(call.bearer() == Some(desk.key().as_str()))
}

fn size_of(call: &EspCall, default: usize, max: usize) -> Result<usize, EspReply> {
    let size = call.number("limit", default).filter(|size| (1..=max).contains(size));
    size.ok_or_else(|| invalid("limit", &format!("The limit must be between 1 and {max}.")).blaming("limit"))
}

fn groups(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let size = size_of(call, 25, 1000)?;
    let page =
        call.number("page", 1).filter(|page| *page > 0).ok_or_else(|| invalid("page", "page").blaming("page"))?;
    let at = time::sql(desk.account.mold.epoch);
    let wanted = call.param("filter[name]").unwrap_or_default().to_lowercase();
    let lists = desk.account.lists.iter().map(|list| (list_id(list.number), list.name.clone()));
    let tags = desk.account.tags.iter().map(|tag| (tag_id(tag.id), tag.name.clone()));
    let all: Vec<_> = lists.chain(tags).filter(|(_, name)| name.to_lowercase().contains(&wanted)).map(|(id, name)| {
        json!({"id": id.to_string(), "name": name, "active_count": 0, "sent_count": 0, "created_at": at})
    }).collect();
    let part: Vec<_> = all.iter().skip((page - 1) * size).take(size).collect();
    let pages = all.len().div_ceil(size).max(1);
    let meta = json!({"current_page": page, "from": 1, "last_page": pages, "per_page": size, "to": part.len(), "total": all.len()});
    let next = (page < pages).then(|| format!("https://connect.mailerlite.com/api/groups?page={}", page + 1));
    ok(&json!({"data": part, "links": {"first": null, "last": null, "prev": null, "next": next}, "meta": meta}))
}

fn make_group(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("name", "The name field is required."))?;
    let name = text(&body, "/name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid("name", "The name field is required.").blaming("name"))?;
    // Names are not unique: a repetition creates a second group.
    let tag = desk.account.make_tag(&name);
    made(&json!({"data": {"id": tag_id(tag.id).to_string(), "name": name, "created_at": time::sql(desk.now)}}))
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "active",
        EspState::Unsubscribed | EspState::Archived => "unsubscribed",
        EspState::Pending => "unconfirmed",
        EspState::Bounced => "bounced",
        EspState::Complained => "junk",
    }
}

fn shown(desk: &Desk, contact: &EspContact) -> Value {
    let mut fields = Map::new();
    for field in &desk.account.fields {
        fields.insert(field.key.clone(), contact.fields.get(&field.key).cloned().unwrap_or_default());
    }
    json!({"id": id_of(contact).to_string(), "email": contact.email, "status": status(contact.state), "source": "api", "sent": 0,
        "opens_count": 0, "clicks_count": 0, "open_rate": 0, "click_rate": 0, "ip_address": null,
        "subscribed_at": time::sql(contact.created), "unsubscribed_at": null, "created_at": time::sql(contact.created),
        "updated_at": time::sql(contact.updated), "fields": fields, "opted_in_at": null, "optin_ip": null})
}

fn subscribers(desk: &mut Desk, call: &EspCall, list: Option<u32>) -> EspAnswer {
    let size = size_of(call, if list.is_some() { 50 } else { 25 }, 1000)?;
    let known = "limit cursor filter[status] include";
    if let Some((name, _)) = call.params().into_iter().find(|(name, _)| !among(known, name)) {
        return Err(invalid(&name, "The parameter is unknown.").blaming(format!("unknown {name}")));
    }
    let wanted = call.param("filter[status]").or_else(|| list.map(|_| "active".to_owned()));
    let words = ["active", "unsubscribed", "unconfirmed", "bounced", "junk"];
    if wanted.as_ref().is_some_and(|wanted| !words.contains(&wanted.as_str())) {
        return Err(invalid("filter.status", "The selected filter.status is invalid.").blaming("filter[status]"));
    }
    let keep = |contact: &EspContact| wanted.as_deref().is_none_or(|wanted| wanted == status(contact.state));
    let name = format!("{wanted:?}");
    let all = Selection::all(list, PageOrder::Oldest);
    let selection = if wanted.is_none() { all } else { all.keeping(&name, &keep) };
    let after = match call.param("cursor").filter(|cursor| !cursor.is_empty()) {
        None => None,
        Some(cursor) => {
            let opened = desk
                .open_cursor(&cursor)
                .ok_or_else(|| invalid("cursor", "The cursor is invalid.").blaming("cursor"))?;
            if opened.1 {
                return Err(invalid("cursor", "The cursor is invalid.").blaming("the cursor was used before"));
            }
            opened.0.parse().ok()
        }
    };
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let data: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact)).collect();
    let end = slice.contacts.last().map(|contact| contact.number.to_string()).filter(|_| more);
    let next = end.map(|position| desk.cursor(&position));
    let meta = json!({"path": "https://connect.mailerlite.com/api/subscribers", "per_page": size, "next_cursor": next, "prev_cursor": null});
    let links = json!({"first": null, "last": null, "prev": null, "next": next.as_ref().map(|_| "https://connect.mailerlite.com/api/")});
    ok(&json!({"data": data, "links": links, "meta": meta}))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let by_id = ids::of_decimal(31_986_843_064_990_000, id).and_then(|number| desk.account.contact(number));
    by_id.or_else(|| if id.contains('@') { desk.account.contact_of(id) } else { None }).ok_or_else(missing)
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let body = call.body_json(|| invalid("body", "The body is not JSON."))?;
    let mut strange = strangers(&body, "fields groups status ip_address opted_in_at optin_ip unsubscribed_at");
    match text(&body, "/status").as_deref() {
        None => {}
        Some("unsubscribed") => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
        Some("active") => desk.account.set_state(contact.number, None, EspState::Subscribed),
        Some(_) => return Err(invalid("status", "The selected status is invalid.").blaming("status")),
    }
    for (key, value) in body["fields"].as_object().into_iter().flatten() {
        if desk.account.field(None, key).is_some() {
            desk.account.write(contact.number, key, value);
        } else {
            strange.push(format!("field {key}, which is ignored"));
        }
    }
    if let Some(groups) = body["groups"].as_array() {
        let kept: Vec<&str> = groups.iter().filter_map(Value::as_str).collect();
        for list in contact.lists.keys().filter(|list| !kept.contains(&list_id(**list).to_string().as_str())) {
            desk.account.leave(contact.number, *list);
        }
    }
    let contact = find(desk, &stars[0])?;
    Ok(noting(EspReply::json(200, &json!({"data": shown(desk, &contact)})), &strange))
}

fn assign(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let tag = desk.account.tags.iter().map(|tag| tag.id).find(|tag| tag_id(*tag).to_string() == stars[1]);
    if let Some(tag) = tag {
        desk.account.tag_contact(contact.number, tag);
    } else {
        let list = list_of(&desk.account, &stars[1], SHEET.list_id).ok_or_else(missing)?;
        desk.account.join(contact.number, list, contact.state);
    }
    ok(&json!({"data": {"id": stars[1], "name": ""}}))
}

fn fields(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let size = size_of(call, 25, 1000)?;
    let page = call.number("page", 1).unwrap_or(1).max(1);
    let all = each(
        &desk.account.fields,
        |field| json!({"id": field.id.to_string(), "name": field.name, "key": field.key, "type": "text"}),
    );
    let part: Vec<_> = all.iter().skip((page - 1) * size).take(size).collect();
    let meta = json!({"current_page": page, "last_page": all.len().div_ceil(size).max(1), "per_page": size, "total": all.len()});
    ok(&json!({"data": part, "meta": meta}))
}

fn make_field(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("name", "The name field is required."))?;
    let name = text(&body, "/name")
        .filter(|_| ["text", "number", "date"].contains(&body["type"].as_str().unwrap_or_default()));
    let name = name.ok_or_else(|| invalid("type", "The type field is required.").blaming("name and type"))?;
    let key = name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if desk.account.field(None, &key).is_some() {
        return Err(invalid("name", "The name has already been taken."));
    }
    let field = desk.account.make_field(None, &key, &name);
    made(&json!({"data": {"id": field.id.to_string(), "name": name, "key": key, "type": "text"}}))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("url", "The url field is required."))?;
    let (Some(url), Some(events)) = (text(&body, "/url"), body["events"].as_array()) else {
        return Err(invalid("url", "The url and events fields are required.").blaming("url and events"));
    };
    let secret = ids::hex32(u32::try_from(events.len()).unwrap_or(0), 8);
    let hook = desk.account.make_hook(None, &url, Some(secret.clone()), true);
    let shown = json!({"id": hook.id.to_string(), "name": body["name"], "url": url, "events": events, "enabled": true, "secret": secret});
    made(&json!({"data": shown}))
}
