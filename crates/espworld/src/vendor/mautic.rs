//! Mautic 5, REST API: contacts in an object by ID, which is an array if it is empty; a missing item gives 404.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "mautic",
    root: "/api",
    states: &[EspState::Unsubscribed, EspState::Bounced],
    routes: ROUTES,
    key: |key| format!("{}:x", &key[..16]),
    credentials: |secrets, key| {
        vec![("url", secrets.origin.clone()), ("username", "probity".to_owned()), ("password", key)]
    },
    admit: |desk, call| desk.admits(call.basic() == Some(("probity".to_owned(), desk.key()))),
    refused: || error(401, "API authorization denied.").with("WWW-Authenticate", "Basic realm=\"Secured Area\""),
    limited: |excess| error(429, "API rate limit exceeded").with("Retry-After", excess.seconds()),
    absent: no_path,
    contact_id: |contact, _| id_of(contact).to_string(),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/users/self", |_, _, _| {
        ok(&json!({"id": 7, "username": "probity", "firstName": "Pro", "lastName": "Bity", "email": "p@example.com"}))
    }),
    on("GET", "/segments", segments),
    on("GET", "/contacts", contacts),
    on("GET", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        ok(&json!({"contact": shown(desk, &contact)}))
    }),
    on("PATCH", "/contacts/*/edit", edit),
    on("DELETE", "/contacts/*/delete", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        let mut shown = shown(desk, &contact);
        shown["id"] = Value::Null;
        desk.account.delete(contact.number);
        ok(&json!({"contact": shown}))
    }),
    on("POST", "/contacts/*/dnc/email/add", dnc),
    on("POST", "/segments/*/contact/*/remove", |desk, _, stars| {
        let contact = find(desk, &stars[1])?;
        let list = stars[0].parse().map_err(|_| missing())?;
        desk.account.leave(contact.number, list);
        ok(&json!({"success": 1}))
    }),
    on("GET", "/fields/contact", fields),
    on("POST", "/fields/contact/new", make_field),
    on("POST", "/hooks/new", hook),
    on("GET", "/hooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[0]).ok_or_else(missing)?;
        Ok(EspReply::json(200, &json!({"hook": {"id": hook.id, "webhookUrl": hook.url, "isPublished": true}})))
    }),
    on("DELETE", "/hooks/*/delete", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { ok(&json!({"hook": {"id": null}})) } else { Err(missing()) }
    }),
];

fn id_of(contact: &EspContact) -> u64 {
    ids::decimal(90, contact.number)
}

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"errors": [{"code": status, "message": message, "details": []}]}))
}

/// Returns the error of a path that does not exist, which has a type and no details.
fn no_path() -> EspReply {
    let error = json!({"code": 404, "message": "Looks like I encountered an error (error #404).", "type": null});
    EspReply::json(404, &json!({"errors": [error]}))
}

fn missing() -> EspReply {
    error(404, "Item was not found.")
}

/// Encodes records as PHP does: by key, and as an empty array if there are none.
fn keyed(records: impl Iterator<Item = (String, Value)>) -> Value {
    let members: Map<String, Value> = records.collect();
    if members.is_empty() { json!([]) } else { Value::Object(members) }
}

fn span(call: &EspCall) -> Result<(usize, usize), EspReply> {
    let start = call.number("start", 0).ok_or_else(|| error(400, "start").blaming("start"))?;
    let limit = call.number("limit", 30).ok_or_else(|| error(400, "limit").blaming("limit"))?;
    Ok((start, if limit == 0 { 30 } else { limit }))
}

fn alias(name: &str) -> String {
    name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn segments(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (start, limit) = span(call)?;
    let all: Vec<_> = desk
        .account
        .lists
        .iter()
        .map(|list| {
            let at = time::iso_offset(desk.account.mold.epoch);
            let shown = json!({"id": list.number, "name": list.name, "alias": alias(&list.name), "isPublished": true,
            "isGlobal": true, "dateAdded": at, "filters": []});
            (list.number.to_string(), shown)
        })
        .collect();
    let total = all.len();
    let part = all.into_iter().skip(start).take(limit);
    ok(&json!({"total": total.to_string(), "lists": keyed(part)}))
}

fn shown(desk: &Desk, contact: &EspContact) -> Value {
    let reason = match contact.state {
        EspState::Subscribed | EspState::Pending | EspState::Archived => None,
        EspState::Bounced | EspState::Complained => Some(2),
        EspState::Unsubscribed => Some(1),
    };
    let entry = |channel: &str, reason: u32| {
        let id = contact.number;
        json!({"id": id, "reason": reason, "comments": "", "channel": channel, "channelId": null})
    };
    // Some have answered a text message with STOP, which says nothing about email.
    let stopped = contact.number.is_multiple_of(3).then(|| entry("sms", 1));
    let dnc: Vec<_> = stopped.into_iter().chain(reason.map(|reason| entry("email", reason))).collect();
    let tags: Vec<_> = desk.account.tag_names(contact).into_iter().map(|tag| json!({"tag": tag})).collect();
    let mut all = Map::new();
    all.insert("id".into(), json!(id_of(contact).to_string()));
    all.insert("email".into(), json!(contact.email));
    all.insert("firstname".into(), Value::Null);
    all.extend(contact.fields.clone());
    let core =
        json!({"email": {"id": "6", "label": "Email", "alias": "email", "type": "email", "value": contact.email}});
    let modified = (contact.updated > contact.created).then(|| time::iso_offset(contact.updated));
    json!({"id": id_of(contact), "isPublished": true, "dateAdded": time::iso_offset(contact.created), "dateModified": modified,
        "points": 0, "fields": {"core": core, "social": [], "personal": [], "professional": [], "all": all},
        "tags": tags, "doNotContact": dnc})
}

/// Condition `where[N][col]`, `[expr]`, `[val]`.
struct Where {
    column: String,
    expression: String,
    value: String,
}

fn wheres(call: &EspCall) -> Vec<Where> {
    let part = |number: usize, name: &str| call.param(&format!("where[{number}][{name}]"));
    let one = |number: usize| {
        let (column, expression) = (part(number, "col")?, part(number, "expr")?);
        Some(Where { column, expression, value: part(number, "val").unwrap_or_default() })
    };
    (0..4).map_while(one).collect()
}

/// Returns whether a contact meets a condition; `None` if the condition is not supported.
fn fits(contact: &EspContact, condition: &Where) -> Option<bool> {
    let (known, wanted) = match condition.column.as_str() {
        "id" => (i64::try_from(id_of(contact)).ok()?, condition.value.parse().ok()?),
        "dateAdded" | "date_added" | "dateModified" | "date_modified" => {
            let at = time::of_sql(&condition.value).or_else(|| time::of_iso(&condition.value))?;
            let is_added = condition.column.ends_with("dded");
            (if is_added { contact.created } else { contact.updated }, at)
        }
        _ => return None,
    };
    Some(match condition.expression.as_str() {
        "gt" => known > wanted,
        "gte" => known >= wanted,
        "lt" => known < wanted,
        "eq" => known == wanted,
        _ => return None,
    })
}

const LIST_PARAMS: &str = "search start limit orderBy orderByDir publishedOnly minimal";

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (start, limit) = span(call)?;
    let stranger = call
        .params()
        .into_iter()
        .map(|(name, _)| name)
        .find(|name| !among(LIST_PARAMS, name) && !name.starts_with("where[") && !name.starts_with("order["));
    let search = call.param("search").unwrap_or_default();
    let mut list = None;
    for word in search.split_whitespace() {
        match word.split_once(':') {
            Some(("segment", wanted)) => {
                let known = desk.account.lists.iter().find(|list| alias(&list.name) == wanted);
                // An unknown segment matches no contact.
                list = Some(known.map_or(0, |list| list.number));
            }
            _ if word == "!is:anonymous" => {}
            _ => return Err(error(400, "not simulated").blaming(format!("search {word}"))),
        }
    }
    let conditions = wheres(call);
    let order = order_of(call.param("orderByDir").as_deref(), PageOrder::Oldest);
    let order = match call.param("orderBy").as_deref() {
        None | Some("id" | "date_added" | "dateAdded" | "l.id" | "l.date_added") => order,
        Some("date_modified") => PageOrder::Updated,
        Some(other) => return Err(error(500, "not simulated").blaming(format!("orderBy {other}"))),
    };
    let probe = desk.account.mold.contact(0);
    if conditions.iter().any(|condition| fits(&probe, condition).is_none()) {
        return Err(error(400, "The filter is not valid").blaming("where"));
    }
    // Pages by ID continue after an ID; the remaining conditions filter.
    let is_after =
        |condition: &&Where| condition.column == "id" && condition.expression == "gt" && order == PageOrder::Oldest;
    let after = conditions.iter().find(is_after).and_then(|condition| condition.value.parse::<u64>().ok());
    let rest: Vec<&Where> = conditions.iter().filter(|condition| !is_after(condition)).collect();
    let name =
        rest.iter().map(|one| format!("{}{}{}", one.column, one.expression, one.value)).collect::<Vec<_>>().join("&");
    let keep = |contact: &EspContact| rest.iter().all(|condition| fits(contact, condition) == Some(true));
    let all = Selection::all(list, order);
    let selection = if rest.is_empty() { all } else { all.keeping(&name, &keep) };
    let passed = after.map(|after| u32::try_from(after.saturating_sub(90)).unwrap_or(u32::MAX));
    let is_first = after.is_none_or(|after| after < 90);
    let before =
        if is_first { 0 } else { desk.account.select(&selection).partition_point(|number| Some(*number) <= passed) };
    let slice = desk.account.page(&selection, before + start, limit);
    let records: Vec<_> =
        slice.contacts.iter().map(|contact| (id_of(contact).to_string(), shown(desk, contact))).collect();
    let reply = json!({"total": (slice.total - before).to_string(), "contacts": keyed(records.into_iter())});
    Ok(noting(EspReply::json(200, &reply), &stranger.into_iter().collect::<Vec<_>>()))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    ids::of_decimal(90, id).and_then(|number| desk.account.contact(number)).ok_or_else(missing)
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let Value::Object(body) = call.body_json(|| error(400, "Form data is missing"))? else {
        return Err(error(400, "Form data is missing").blaming("the body is not an object"));
    };
    let mut strange = Vec::new();
    for (name, value) in &body {
        match name.as_str() {
            "email" => {
                let email = value.as_str().unwrap_or_default();
                if !is_address(email) {
                    return Err(error(422, "email: email is invalid."));
                }
                readdress(desk, &contact, email);
            }
            "tags" => {
                for tag in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    tag_contact(desk, contact.number, tag);
                }
            }
            "overwriteWithBlank" | "ipAddress" | "owner" | "lastActive" => {}
            alias if desk.account.field(None, alias).is_some() => desk.account.write(contact.number, alias, value),
            other => strange.push(other.to_owned()),
        }
    }
    let contact = find(desk, &stars[0])?;
    Ok(noting(EspReply::json(200, &json!({"contact": shown(desk, &contact)})), &strange))
}

/// Changes an address. An existing contact with this address is no error: Mautic then has two.
fn readdress(desk: &mut Desk, contact: &EspContact, email: &str) {
    if !desk.account.readdress(contact.number, email) {
        desk.account.write(contact.number, "(second owner of)", &json!(email));
    }
}

fn tag_contact(desk: &mut Desk, number: u32, name: &str) {
    if name.starts_with('-') {
        return;
    }
    let tag = desk.account.tag_named(name);
    desk.account.tag_contact(number, tag);
}

fn dnc(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0])?;
    let fields = call.fields();
    let reason = fields.iter().find(|(name, _)| name == "reason").map(|(_, reason)| reason.as_str());
    let state = match reason {
        Some("2") => EspState::Bounced,
        None | Some("1" | "3") => EspState::Unsubscribed,
        Some(_) => return Err(error(400, "Invalid DNC reason provided").blaming("reason")),
    };
    desk.account.set_state(contact.number, None, state);
    let contact = find(desk, &stars[0])?;
    ok(&json!({"contact": shown(desk, &contact)}))
}

fn fields(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (start, limit) = span(call)?;
    let own = json!({"id": 6, "label": "Email", "alias": "email", "type": "email", "object": "lead"});
    let made = desk.account.fields.iter().map(
        |field| json!({"id": field.id, "label": field.name, "alias": field.key, "type": "text", "object": "lead"}),
    );
    let search = call.param("search").unwrap_or_default().to_lowercase();
    let all: Vec<_> = std::iter::once(own)
        .chain(made)
        .filter(|field| {
            let has = |name: &str| field[name].as_str().unwrap_or_default().to_lowercase().contains(&search);
            search.is_empty() || has("label") || has("alias")
        })
        .collect();
    let part = all.iter().skip(start).take(limit);
    // Unknown: an array as documented, or an object by ID as elsewhere.
    let part = if desk.varies(1) {
        keyed(part.map(|field| (field["id"].to_string(), field.clone())))
    } else {
        Value::Array(part.cloned().collect())
    };
    ok(&json!({"total": all.len(), "fields": part}))
}

fn make_field(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "Form data is missing"))?;
    let label = text(&body, "/label").filter(|label| !label.is_empty());
    let label = label.ok_or_else(|| error(400, "label: A label is required.").blaming("label"))?;
    let wanted = text(&body, "/alias").unwrap_or_else(|| alias(&label));
    // A taken alias gets a number, so a repetition creates a second field.
    let mut key = wanted.clone();
    let mut number = 0;
    while desk.account.field(None, &key).is_some() {
        number += 1;
        key = format!("{wanted}{number}");
    }
    let field = desk.account.make_field(None, &key, &label);
    let shown = json!({"id": field.id, "label": label, "alias": key, "type": body["type"], "object": "lead"});
    made(&json!({"field": shown}))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "Form data is missing"))?;
    let (Some(url), Some(triggers)) = (text(&body, "/webhookUrl"), body["triggers"].as_array()) else {
        return Err(error(400, "webhookUrl: A value is required.").blaming("webhookUrl and triggers"));
    };
    let secret = text(&body, "/secret").unwrap_or_else(|| ids::hex32(1, 2));
    let hook = desk.account.make_hook(None, &url, Some(secret.clone()), true);
    let shown = json!({"id": hook.id, "name": body["name"], "webhookUrl": url, "triggers": triggers, "secret": secret});
    made(&json!({"hook": shown}))
}
