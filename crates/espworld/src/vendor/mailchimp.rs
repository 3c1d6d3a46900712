//! Mailchimp Marketing 3.0: problem documents, the MD5 hash of the address as ID, 405 for members that cannot be archived.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "mailchimp",
    base: Some("https://{dc}.api.mailchimp.com/3.0"),
    root: "/3.0",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Pending, EspState::Archived],
    overlaps: false,
    concurrency: Some(10),
    routes: ROUTES,
    key: |key| format!("{}-us19", &key[..32]),
    admit: |desk, call| desk.admits(call.basic().is_some_and(|(_, password)| password == desk.key())),
    refused: || {
        problem(
            401,
            "API Key Invalid",
            "Your API key may be invalid, or you've attempted to access the wrong datacenter.",
        )
    },
    limited: |_| problem(429, "Too Many Requests", "You have exceeded the limit of 10 simultaneous connections."),
    absent: missing,
    contact_id: |contact, _| ids::md5_lower(&contact.email),
    list_id: |list| format!("{:010x}", 0xa1_b2c3_d400_u64 + u64::from(list)),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/ping", |_, _, _| ok(&json!({"health_status": "Everything's Chimpy!"}))),
    on("GET", "/", |_, _, _| Ok(account())),
    on("GET", "/lists", lists),
    on("GET", "/lists/*/members", members),
    on("GET", "/lists/*/members/*", |desk, call, stars| {
        let (list, contact) = member(desk, &stars[0], &stars[1])?;
        let body = selected(call, shown(desk, &contact, list));
        Ok(noting(EspReply::json(200, &body), &strange_params(call, "fields exclude_fields")))
    }),
    on("PATCH", "/lists/*/members/*", edit),
    on("DELETE", "/lists/*/members/*", archive),
    on("POST", "/lists/*/members/*/actions/delete-permanent", |desk, _, stars| {
        let (_, contact) = member(desk, &stars[0], &stars[1])?;
        desk.account.delete(contact.number);
        Ok(EspReply::empty(204))
    }),
    on("POST", "/lists/*/members/*/tags", tag),
    on("GET", "/lists/*/merge-fields", merge_fields),
    on("POST", "/lists/*/merge-fields", make_merge_field),
    on("POST", "/lists/*/webhooks", hook),
    on("GET", "/lists/*/webhooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[1]).ok_or_else(missing)?;
        Ok(EspReply::json(200, &json!({"id": stars[1], "url": hook.url, "list_id": stars[0]})))
    }),
    on("DELETE", "/lists/*/webhooks/*", |desk, _, stars| {
        let removed = stars[1].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { Ok(EspReply::empty(204)) } else { Err(missing()) }
    }),
];

fn problem(status: u16, title: &str, detail: &str) -> EspReply {
    let body = json!({"type": "https://mailchimp.com/developer/marketing/docs/errors/", "title": title, "status": status,
        "detail": detail, "instance": ids::hex32(1, 1)});
    EspReply::json(status, &body).of_kind("application/problem+json; charset=utf-8")
}

fn missing() -> EspReply {
    problem(404, "Resource Not Found", "The requested resource could not be found.")
}

fn invalid(field: &str, message: &str) -> EspReply {
    let mut body = json!({"type": "https://mailchimp.com/developer/marketing/docs/errors/", "title": "Invalid Resource",
        "status": 400, "instance": ids::hex32(1, 1)});
    body["detail"] =
        json!("The resource submitted could not be validated. For field-specific details, see the 'errors' array.");
    body["errors"] = json!([{"field": field, "message": message}]);
    EspReply::json(400, &body).of_kind("application/problem+json; charset=utf-8")
}

fn account() -> EspReply {
    EspReply::json(
        200,
        &json!({"account_id": "8d3a3db4d97663a9074efcc16", "account_name": "Acme", "email": "a@example.com"}),
    )
}

/// Returns the requested span: 10 members by default, at most 1,000.
fn span(call: &EspCall) -> Result<(usize, usize), EspReply> {
    let count = call.number("count", 10).filter(|count| *count <= 1000);
    let count = count.ok_or_else(|| invalid("count", "This value should be between 0 and 1000.").blaming("count"))?;
    let offset = call.number("offset", 0).ok_or_else(|| invalid("offset", "not a number").blaming("offset"))?;
    Ok((offset, count))
}

/// Keeps only the members in `fields`, in dot notation.
fn selected(call: &EspCall, body: Value) -> Value {
    let Some(fields) = call.param("fields") else { return body };
    let mut kept = Map::new();
    for path in fields.split(',') {
        let mut parts = path.splitn(2, '.');
        let (Some(head), rest) = (parts.next(), parts.next()) else { continue };
        match (body.get(head), rest) {
            (Some(Value::Array(items)), Some(rest)) => {
                let name = rest.split('.').next().unwrap_or_default();
                let known = kept.entry(head).or_insert_with(|| json!(vec![json!({}); items.len()]));
                for (to, from) in known.as_array_mut().into_iter().flatten().zip(items) {
                    if let Some(value) = from.get(name) {
                        to[name] = value.clone();
                    }
                }
            }
            (Some(value), _) => {
                kept.insert(head.to_owned(), value.clone());
            }
            (None, _) => {}
        }
    }
    Value::Object(kept)
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, count) = span(call)?;
    let shown = each(part(&desk.account.lists, offset, count), |list| {
        let members = desk.account.members(list.number).len();
        json!({"id": (SHEET.list_id)(list.number), "web_id": list.number, "name": list.name, "stats": {"member_count": members}})
    });
    let body = json!({"lists": shown, "total_items": desk.account.lists.len(), "constraints": {"may_create": true}});
    ok(&selected(call, body))
}

fn list(desk: &Desk, id: &str) -> Result<u32, EspReply> {
    list_of(&desk.account, id, SHEET.list_id).ok_or_else(missing)
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "subscribed",
        EspState::Unsubscribed | EspState::Complained => "unsubscribed",
        EspState::Pending => "pending",
        EspState::Bounced => "cleaned",
        EspState::Archived => "archived",
    }
}

fn shown(desk: &Desk, contact: &EspContact, list: u32) -> Value {
    let state = contact.state_in(list).unwrap_or(EspState::Archived);
    let merge: Map<String, Value> = desk
        .account
        .fields
        .iter()
        .filter(|field| field.list == Some(list))
        .map(|field| {
            let value = contact.fields.get(&field.key).cloned().unwrap_or_else(|| json!(""));
            (field.key.clone(), value)
        })
        .collect();
    let tags: Vec<_> = contact
        .tags
        .iter()
        .filter_map(|id| desk.account.tag_by_id(*id))
        .map(|tag| json!({"id": tag.id, "name": tag.name}))
        .collect();
    let opted = if state == EspState::Pending { String::new() } else { time::iso_offset(contact.created) };
    json!({"id": ids::md5_lower(&contact.email), "email_address": contact.email, "unique_email_id": ids::hex32(contact.number, 4),
        "contact_id": ids::hex32(contact.number, 5), "full_name": "", "web_id": contact.number, "email_type": "html",
        "status": status(state), "merge_fields": merge, "timestamp_signup": "", "timestamp_opt": opted,
        "last_changed": time::iso_offset(contact.updated), "tags_count": tags.len(), "tags": tags, "list_id": (SHEET.list_id)(list)})
}

const MEMBER_PARAMS: &str = "fields exclude_fields count offset email_type status since_timestamp_opt before_timestamp_opt \
        since_last_changed before_last_changed unique_email_id vip_only sort_field sort_dir";

fn members(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let (offset, count) = span(call)?;
    let at = |name: &str| {
        let Some(text) = call.param(name) else { return Ok(None) };
        time::of_iso(&text).map(Some).ok_or_else(|| invalid(name, "not a date in ISO 8601").blaming(name.to_owned()))
    };
    let (opted, changed) = (at("since_timestamp_opt")?, at("since_last_changed")?);
    let wanted = call.param("status");
    let order = order_of(call.param("sort_dir").as_deref(), PageOrder::Oldest);
    let order = match call.param("sort_field").as_deref() {
        None | Some("timestamp_opt" | "timestamp_signup") => order,
        Some("last_changed") if order == PageOrder::Oldest => PageOrder::Updated,
        Some(_) => return Err(invalid("sort_field", "not simulated").blaming("sort_field")),
    };
    let keep = |contact: &EspContact| {
        let state = contact.state_in(list);
        wanted.as_deref().is_none_or(|wanted| state.map(status) == Some(wanted))
            && opted.is_none_or(|at| contact.created >= at && state != Some(EspState::Pending))
            && changed.is_none_or(|at| contact.updated >= at)
    };
    let name = format!("members?{opted:?}{changed:?}{wanted:?}");
    let is_plain = opted.is_none() && changed.is_none() && wanted.is_none();
    let all = Selection::all(Some(list), order);
    let selection = if is_plain { all } else { all.keeping(&name, &keep) };
    let slice = desk.account.page(&selection, offset, count);
    let shown: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact, list)).collect();
    let body = json!({"members": shown, "list_id": stars[0], "total_items": slice.total});
    Ok(noting(EspReply::json(200, &selected(call, body)), &strange_params(call, MEMBER_PARAMS)))
}

fn member(desk: &mut Desk, list_id: &str, hash: &str) -> Result<(u32, EspContact), EspReply> {
    let list = list(desk, list_id)?;
    let by_hash = desk.account.contact_of_md5(hash);
    // An address is accepted in place of its hash.
    let contact = by_hash.or_else(|| if hash.contains('@') { desk.account.contact_of(hash) } else { None });
    contact.filter(|contact| contact.lists.contains_key(&list)).map(|contact| (list, contact)).ok_or_else(missing)
}

const WRITABLE: &str = "email_address email_type status merge_fields interests language vip tags";

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (list, contact) = member(desk, &stars[0], &stars[1])?;
    let body =
        call.body_json(|| problem(400, "JSON Parse Error", "We encountered an unspecified JSON parsing error."))?;
    let strange = strangers(&body, WRITABLE);
    if let Some(email) = text(&body, "/email_address") {
        if !is_address(&email) {
            return Err(problem(400, "Invalid Resource", "Please provide a valid email address."));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(problem(
                400,
                "Member Exists",
                "The contact is already a list member. Use PUT to insert or update list members.",
            ));
        }
    }
    match text(&body, "/status").as_deref() {
        Some("unsubscribed") => desk.account.set_state(contact.number, Some(list), EspState::Unsubscribed),
        Some("cleaned") => desk.account.set_state(contact.number, Some(list), EspState::Bounced),
        Some("subscribed") if contact.state_in(list) != Some(EspState::Subscribed) => {
            return Err(problem(400, "Member In Compliance State", "The contact cannot be subscribed."));
        }
        None | Some("subscribed") => {}
        Some(_) => return Err(invalid("status", "Value must be one of the statuses.").blaming("status")),
    }
    for (tag, value) in body["merge_fields"].as_object().into_iter().flatten() {
        if desk.account.field(Some(list), tag).is_none() {
            // Ignored silently.
            let reply = EspReply::json(200, &shown(desk, &contact, list));
            return Ok(reply.blaming(format!("merge field {tag} does not exist")));
        }
        if value.as_str().is_some_and(|text| text.len() > 255) {
            return Err(invalid(tag, "This value is too long.").blaming("merge field"));
        }
        desk.account.write(contact.number, tag, value);
    }
    let contact = desk.account.contact(contact.number).ok_or_else(missing)?;
    Ok(noting(EspReply::json(200, &shown(desk, &contact, list)), &strange))
}

fn archive(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let (list, contact) = member(desk, &stars[0], &stars[1])?;
    if matches!(contact.state_in(list), Some(EspState::Archived | EspState::Bounced | EspState::Pending)) {
        let what = "This list member cannot be removed. Can not archive a contact that is bounced, pending or archived";
        return Err(problem(405, "Method Not Allowed", what).with("Allow", "GET, PUT"));
    }
    desk.account.set_state(contact.number, Some(list), EspState::Archived);
    Ok(EspReply::empty(204))
}

fn tag(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (_, contact) = member(desk, &stars[0], &stars[1])?;
    let body =
        call.body_json(|| problem(400, "JSON Parse Error", "We encountered an unspecified JSON parsing error."))?;
    let strange = strangers(&body, "tags is_syncing");
    let Some(tags) = body["tags"].as_array() else {
        return Err(invalid("tags", "This value is required.").blaming("tags"));
    };
    for wanted in tags {
        let (Some(name), Some(status)) = (text(wanted, "/name"), text(wanted, "/status")) else {
            return Err(invalid("tags", "name and status are required").blaming("tags"));
        };
        if status == "active" {
            let tag = desk.account.tag_named(&name);
            desk.account.tag_contact(contact.number, tag);
        }
    }
    Ok(noting(EspReply::empty(204), &strange))
}

fn merge_fields(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let (offset, count) = span(call)?;
    let all: Vec<_> = desk
        .account
        .fields
        .iter()
        .filter(|field| field.list == Some(list))
        .map(|field| json!({"merge_id": field.id, "tag": field.key, "name": field.name, "type": "text"}))
        .collect();
    let part: Vec<_> = all.iter().skip(offset).take(count).collect();
    ok(&selected(call, json!({"merge_fields": part, "list_id": stars[0], "total_items": all.len()})))
}

fn make_merge_field(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let body =
        call.body_json(|| problem(400, "JSON Parse Error", "We encountered an unspecified JSON parsing error."))?;
    let (Some(name), Some(_)) = (text(&body, "/name"), text(&body, "/type")) else {
        return Err(invalid("name", "This value is required.").blaming("name and type"));
    };
    let tag = text(&body, "/tag").unwrap_or_else(|| format!("MMERGE{}", desk.account.fields.len() + 5));
    let fits =
        tag.len() <= 10 && tag.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !fits {
        return Err(invalid("tag", "A merge tag has at most 10 upper-case letters and digits.").blaming("tag"));
    }
    if desk.account.field(Some(list), &tag).is_some() {
        let what = format!("A Merge Field with the tag \"{tag}\" already exists for this list.");
        return Err(problem(400, "Invalid Resource", &what));
    }
    let field = desk.account.make_field(Some(list), &tag, &name);
    ok(&json!({"merge_id": field.id, "tag": tag, "name": name, "type": "text", "list_id": stars[0]}))
}

fn hook(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let body =
        call.body_json(|| problem(400, "JSON Parse Error", "We encountered an unspecified JSON parsing error."))?;
    let url = text(&body, "/url").ok_or_else(|| invalid("url", "This value is required.").blaming("url"))?;
    if desk.account.hooks.iter().any(|hook| hook.url == url && hook.list == Some(list)) {
        return Err(problem(400, "Invalid Resource", "Sorry, you can't set up multiple WebHooks for one URL"));
    }
    let hook = desk.account.make_hook(Some(list), &url, None, true);
    let shown = json!({"id": hook.id.to_string(), "url": url, "events": body["events"], "sources": body["sources"], "list_id": stars[0]});
    ok(&shown)
}
