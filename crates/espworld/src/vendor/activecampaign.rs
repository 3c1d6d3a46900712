//! ActiveCampaign, API 3: 5 calls per second and account, IDs as text, states of a contact per list.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "activecampaign",
    root: "/api/3",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Pending],
    limits: &[EspLimit::of_all(1_000, 5)],
    routes: ROUTES,
    credentials: |secrets, key| vec![("api_url", secrets.origin.clone()), ("api_key", key)],
    admit: |desk, call| desk.admits(call.header("Api-Token") == Some(desk.key().as_str())),
    refused: || message(403, "The request could not be authenticated"),
    limited: |excess| {
        message(429, "API rate limit exceeded")
            .counting(excess, ["RateLimit-Limit", "RateLimit-Remaining", "Retry-After"])
    },
    absent: || message(404, "No Route found"),
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/users/me", |_, _, _| {
        ok(&json!({"user": {"username": "admin", "firstName": "Ad", "email": "a@example.com", "id": "1"}}))
    }),
    on("GET", "/lists", lists),
    on("GET", "/contacts", contacts),
    on("GET", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        let in_list = |(list, state): (&u32, &EspState)| json!({"list": list.to_string(), "status": status(*state)});
        let lists: Vec<_> = contact.lists.iter().map(in_list).collect();
        ok(&json!({"contactLists": lists, "contact": shown(&contact)}))
    }),
    on("PUT", "/contacts/*", edit),
    on("DELETE", "/contacts/*", |desk, _, stars| {
        let contact = find(desk, &stars[0])?;
        desk.account.delete(contact.number);
        ok(&json!({}))
    }),
    on("POST", "/contactLists", subscribe),
    on("GET", "/tags", tags),
    on("POST", "/tags", make_tag),
    on("POST", "/contactTags", tag_contact),
    on("GET", "/fields", fields),
    on("POST", "/fields", make_field),
    on("POST", "/fieldRels", |_, _, _| made(&json!({"fieldRel": {"id": "1"}}))),
    on("POST", "/fieldValues", write),
    on("POST", "/webhooks", hook),
    on("GET", "/webhooks/*", |desk, _, stars| {
        let hook = desk.account.hook(&stars[0]).ok_or_else(|| message(404, "No Result found for Webhook"))?;
        Ok(EspReply::json(200, &json!({"webhook": {"id": stars[0], "url": hook.url, "events": ["subscribe"]}})))
    }),
    on("DELETE", "/webhooks/*", |desk, _, stars| {
        let removed = stars[0].parse().is_ok_and(|id| desk.account.remove_hook(id));
        if removed { ok(&json!({})) } else { Err(message(404, "No Result found for Webhook")) }
    }),
];

fn id_of(contact: &EspContact) -> String {
    ids::decimal(1, contact.number).to_string()
}

fn message(status: u16, text: &str) -> EspReply {
    EspReply::json(status, &json!({"message": text}))
}

/// Returns a validation error: 422 with a list of errors.
fn invalid(title: &str, code: &str, pointer: &str) -> EspReply {
    EspReply::json(
        422,
        &json!({"errors": [{"title": title, "detail": "", "code": code, "source": {"pointer": pointer}}]}),
    )
}

/// Returns the requested span. Pages have 20 records by default, and at most 100, to which larger sizes are reduced
/// silently.
fn span(call: &EspCall) -> Result<(usize, usize), EspReply> {
    let limit = call.number("limit", 20).ok_or_else(|| message(400, "limit").blaming("limit"))?;
    let offset = call.number("offset", 0).ok_or_else(|| message(400, "offset").blaming("offset"))?;
    Ok((offset, limit.clamp(1, 100)))
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, limit) = span(call)?;
    let at = time::shown_at(desk.account.mold.epoch, -5, "%Y-%m-%dT%H:%M:%S-05:00");
    let part = each(
        part(&desk.account.lists, offset, limit),
        |list| json!({"id": list.number.to_string(), "name": list.name, "stringid": list.name.to_lowercase(), "cdate": at}),
    );
    ok(&json!({"lists": part, "meta": {"total": desk.account.lists.len().to_string()}}))
}

fn status(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "1",
        EspState::Unsubscribed | EspState::Complained | EspState::Archived => "2",
        EspState::Bounced => "3",
        EspState::Pending => "0",
    }
}

fn shown(contact: &EspContact) -> Value {
    let at = |ms: i64| time::shown_at(ms, -5, "%Y-%m-%dT%H:%M:%S-05:00");
    json!({"id": id_of(contact), "email": contact.email, "firstName": "", "lastName": "", "phone": "", "orgid": "0",
        "cdate": at(contact.created), "udate": at(contact.updated), "deleted": "0", "bounced_hard": "0", "bounced_soft": "0",
        "links": {}, "scoreValues": []})
}

const LIST_PARAMS: &str = "listid limit offset id_greater status email search include tagid segmentid";

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, limit) = span(call)?;
    let stranger = call.params().into_iter().map(|(name, _)| name).find(|name| {
        let is_known = name.starts_with("orders[") || name.starts_with("filters[");
        !among(LIST_PARAMS, name) && !is_known
    });
    let list = call.param("listid").map(|id| list_of(&desk.account, &id, SHEET.list_id).unwrap_or(0));
    let at = |name: &str| {
        let Some(text) = call.param(&format!("filters[{name}]")) else { return Ok(None) };
        let at = time::of_iso(&text).or_else(|| time::of_sql(&text));
        at.map(Some).ok_or_else(|| message(400, "invalid date").blaming(name.to_owned()))
    };
    let (created, updated) = (at("created_after")?, at("updated_after")?);
    let wanted = call.param("status").filter(|status| status != "-1");
    let order = order_of(call.param("orders[id]").as_deref(), PageOrder::Oldest);
    let order = order_of(call.param("orders[cdate]").as_deref(), order);
    let keep = |contact: &EspContact| {
        let state = match list {
            Some(list) => contact.state_in(list),
            None => Some(contact.state),
        };
        wanted.as_deref().is_none_or(|wanted| state.map(status) == Some(wanted))
            && created.is_none_or(|at| contact.created > at)
            && updated.is_none_or(|at| contact.updated > at)
    };
    let name = format!("contacts?{wanted:?}{created:?}{updated:?}");
    let all = Selection::all(list, order);
    let is_plain = wanted.is_none() && created.is_none() && updated.is_none();
    let selection = if is_plain { all } else { all.keeping(&name, &keep) };
    let slice = match call.param("id_greater") {
        Some(_) if order != PageOrder::Oldest => {
            return Err(message(400, "not simulated").blaming("id_greater without orders[id]=asc"));
        }
        Some(id) => {
            let id = id.parse::<u64>().map_err(|_| message(400, "id_greater").blaming("id_greater"))?;
            let after = id.checked_sub(1).and_then(|number| u32::try_from(number).ok());
            desk.account.page_after(&selection, after, limit).0
        }
        None => desk.account.page(&selection, offset, limit),
    };
    let shown: Vec<_> = slice.contacts.iter().map(shown).collect();
    let body = json!({"scoreValues": [], "contacts": shown, "meta": {"total": slice.total.to_string()}});
    Ok(noting(EspReply::json(200, &body), &stranger.into_iter().collect::<Vec<_>>()))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let known = ids::of_decimal(1, id).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| message(404, &format!("No Result found for Subscriber with id {id}")))
}

/// Returns the object under a key of the body, and refuses any other form.
fn item(call: &EspCall, name: &str) -> Result<Value, EspReply> {
    let body = call.body_json(|| message(400, "The request body is not JSON"))?;
    let item = body.get(name).filter(|item| item.is_object()).cloned();
    item.ok_or_else(|| message(400, "The request body is not as expected").blaming(format!("{name} is missing")))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let wanted = item(call, "contact")?;
    let contact = find(desk, &stars[0])?;
    if let Some(email) = text(&wanted, "/email") {
        if !is_address(&email) {
            return Err(invalid("Email address is not valid.", "email_invalid", "/data/attributes/email"));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(invalid("Email address already exists in the system", "duplicate", "/data/attributes/email"));
        }
    }
    let contact = find(desk, &stars[0])?;
    ok(&json!({"fieldValues": [], "contact": shown(&contact)}))
}

fn subscribe(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "contactList")?;
    let part = |name: &str| text(&wanted, name).ok_or_else(|| message(400, "required").blaming(name.to_owned()));
    let (list, id, status) = (part("/list")?, part("/contact")?, part("/status")?);
    let contact = find(desk, &id)?;
    let list = list_of(&desk.account, &list, SHEET.list_id).ok_or_else(|| message(404, "No Result found for List"))?;
    let state = match status.as_str() {
        "1" => EspState::Subscribed,
        "2" => EspState::Unsubscribed,
        _ => return Err(message(400, "status").blaming("status is 1 or 2")),
    };
    // A contact that is not in the list is added to it with that state.
    desk.account.join(contact.number, list, state);
    desk.account.set_state(contact.number, Some(list), state);
    let shown = json!({"contact": id, "list": list.to_string(), "status": status, "id": "7"});
    made(&json!({"contacts": [], "contactList": shown}))
}

fn tags(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, limit) = span(call)?;
    let search =
        call.param("search").or_else(|| call.param("filters[search][contains]")).unwrap_or_default().to_lowercase();
    let all: Vec<_> = desk
        .account
        .tags
        .iter()
        .filter(|tag| tag.name.to_lowercase().contains(&search))
        .map(|tag| json!({"id": tag.id.to_string(), "tag": tag.name, "tagType": "contact", "description": ""}))
        .collect();
    let part: Vec<_> = all.iter().skip(offset).take(limit).collect();
    ok(&json!({"tags": part, "meta": {"total": all.len().to_string()}}))
}

fn make_tag(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "tag")?;
    let name = text(&wanted, "/tag").filter(|_| wanted["tagType"] == "contact");
    let name =
        name.ok_or_else(|| invalid("tag and tagType are required", "required", "/data").blaming("tag and tagType"))?;
    if desk.account.tag(&name).is_some() {
        return Err(invalid("The tag already exists.", "duplicate", "/data/attributes/tag"));
    }
    let tag = desk.account.make_tag(&name);
    made(&json!({"tag": {"id": tag.id.to_string(), "tag": tag.name, "tagType": "contact"}}))
}

fn tag_contact(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "contactTag")?;
    let contact = find(desk, &text(&wanted, "/contact").unwrap_or_default())?;
    let tag = text(&wanted, "/tag").and_then(|id| id.parse().ok()).and_then(|id| desk.account.tag_by_id(id)).cloned();
    let tag = tag.ok_or_else(|| invalid("The tag does not exist.", "related_missing", "/data/attributes/tag"))?;
    desk.account.tag_contact(contact.number, tag.id);
    let shown = json!({"id": "9", "contact": id_of(&contact), "tag": tag.id.to_string()});
    made(&json!({"contactTag": shown}))
}

fn fields(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (offset, limit) = span(call)?;
    let part = each(
        part(&desk.account.fields, offset, limit),
        |field| json!({"id": field.id.to_string(), "title": field.name, "type": "text", "perstag": field.key}),
    );
    ok(&json!({"fieldOptions": [], "fields": part, "meta": {"total": desk.account.fields.len().to_string()}}))
}

fn make_field(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "field")?;
    let (Some(title), Some(kind)) = (text(&wanted, "/title"), text(&wanted, "/type")) else {
        return Err(invalid("title and type are required", "required", "/data").blaming("title and type"));
    };
    let key = text(&wanted, "/perstag").unwrap_or_else(|| title.to_uppercase().replace(' ', "_"));
    // Titles are not unique: a repetition creates a second field.
    let field = desk.account.make_field(None, &key, &title);
    made(&json!({"field": {"id": field.id.to_string(), "title": title, "type": kind, "perstag": key}}))
}

fn write(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "fieldValue")?;
    let contact = find(desk, &text(&wanted, "/contact").unwrap_or_default())?;
    let id = text(&wanted, "/field").and_then(|id| id.parse().ok()).unwrap_or(0);
    let key = desk.account.fields.iter().find(|field| field.id == id).map(|field| field.key.clone());
    let key = key.ok_or_else(|| invalid("The field does not exist.", "related_missing", "/data/attributes/field"))?;
    desk.account.write(contact.number, &key, &wanted["value"]);
    let shown = json!({"id": "11", "contact": id_of(&contact), "field": id.to_string(), "value": wanted["value"]});
    ok(&json!({"contacts": [], "fieldValue": shown}))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let wanted = item(call, "webhook")?;
    let parts =
        (text(&wanted, "/name"), text(&wanted, "/url"), wanted["events"].as_array(), wanted["sources"].as_array());
    let (Some(_), Some(url), Some(_), Some(_)) = parts else {
        return Err(invalid("name, url, events and sources are required", "required", "/data").blaming("webhook"));
    };
    let hook = desk.account.make_hook(None, &url, None, true);
    made(&json!({"webhook": {"id": hook.id.to_string(), "url": url, "events": wanted["events"]}}))
}
