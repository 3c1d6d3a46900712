//! Ghost 6, Admin API. Observed on a running 6.65: reduced page sizes, token errors, 422 for a taken address, 404 for a
//! second deletion.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;

use crate::account::{EspTag, Slice};
use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "ghost",
    root: "/ghost/api/admin",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Complained],
    routes: ROUTES,
    key: |key| format!("{}:{key}", id()),
    credentials: |secrets, key| vec![("url", secrets.origin.clone()), ("admin_api_key", key)],
    admit,
    refused: || unauthorized("Unknown Admin API Key", "UNKNOWN_ADMIN_API_KEY"),
    limited: |excess| error(429, "TooManyRequestsError", "Too many requests").with("Retry-After", excess.seconds()),
    absent: || error(404, "NotFoundError", "Resource not found"),
    contact_id: |contact, _| ids::object_id(contact.number),
    list_id: |list| ids::object_id(0x00f0_0000 + list),
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/site/", |_, _, _| ok(&json!({"site": {"title": "A site", "version": "6.65"}}))),
    on("GET", "/config/", |_, _, _| ok(&json!({"config": {"version": "6.65.0"}}))),
    on("GET", "/newsletters/", newsletters),
    on("GET", "/labels/", labels),
    on("GET", "/members/", members),
    on("GET", "/members/*/", member),
    on("PUT", "/members/*/", edit),
    on("DELETE", "/members/*/", delete),
    on("POST", "/webhooks/", hook),
    on("PUT", "/webhooks/*/", rehook),
    on("DELETE", "/webhooks/*/", unhook),
];

/// Properties of a member that calls may write.
const WRITABLE: &str =
    "id email name note geolocation labels newsletters subscribed comped tiers products email_disabled";

fn id() -> String {
    ids::object_id(0x00ad_0000)
}

fn error(status: u16, kind: &str, message: &str) -> EspReply {
    let error = json!({"message": message, "context": null, "type": kind, "details": null, "property": null, "help": null,
        "code": null, "id": ids::hex32(1, 1), "ghostErrorCode": null});
    EspReply::json(status, &json!({"errors": [error]}))
}

fn unauthorized(message: &str, code: &str) -> EspReply {
    let error =
        json!({"message": message, "context": null, "type": "UnauthorizedError", "code": code, "property": null});
    EspReply::json(401, &json!({"errors": [error]}))
}

fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    if !call.path.ends_with('/') {
        let place = format!("{}/", call.path);
        return Err(EspReply::empty(301).with("Location", place).blaming("the path lacks its slash at the end"));
    }
    let Some(header) = call.header("Authorization") else {
        return Err(error(403, "NoPermissionError", "Authorization failed"));
    };
    let Some(token) = header.strip_prefix("Ghost ") else {
        return Err(unauthorized(
            "Authorization header format is \"Authorization: Ghost [token]\"",
            "INVALID_AUTH_HEADER",
        ));
    };
    let parts: Vec<&str> = token.split('.').collect();
    let invalid = |what: &str| unauthorized(&format!("Invalid token: {what}"), "INVALID_JWT");
    let [header, claims, tag] = parts.as_slice() else { return Err(invalid("jwt malformed")) };
    let read =
        |part: &str| -> Option<Value> { serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok() };
    let (Some(head), Some(body)) = (read(header), read(claims)) else { return Err(invalid("jwt malformed")) };
    if head["kid"] != json!(id()) {
        return Err(unauthorized("Unknown Admin API Key", "UNKNOWN_ADMIN_API_KEY"));
    }
    if head["alg"] != "HS256" {
        return Err(invalid("invalid algorithm"));
    }
    let signed = format!("{header}.{claims}");
    let secret = secret_bytes(&desk.secrets.key);
    let tag = BASE64_URL_SAFE_NO_PAD.decode(tag).map_err(|_| invalid("invalid signature"))?;
    let verifier = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    hmac::verify(&verifier, signed.as_bytes(), &tag).map_err(|_| invalid("invalid signature"))?;
    let now = desk.now.div_euclid(1000);
    let seconds = |name: &str| body[name].as_i64();
    if seconds("exp").is_some_and(|exp| now >= exp) {
        return Err(invalid("jwt expired"));
    }
    let Some(issued) = seconds("iat") else { return Err(invalid("iat required when maxAge is specified")) };
    if now >= issued + 300 {
        return Err(invalid("maxAge exceeded"));
    }
    if seconds("exp").is_some_and(|exp| exp > issued + 300) {
        return Err(invalid("jwt lives for more than 5 minutes").blaming("the token lives for too long"));
    }
    if !matches!(body["aud"].as_str(), Some("/admin/" | "/v6/admin/" | "/v5/admin/")) {
        return Err(invalid("jwt audience invalid. expected: /\\/?(admin)\\/?$/"));
    }
    Ok(())
}

fn secret_bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).filter_map(|at| u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()).collect()
}

/// Returns the page number and the page size: 15 by default, at most 100.
fn page_of(call: &EspCall) -> (usize, usize) {
    let limit = match call.param("limit").as_deref() {
        None => 15,
        Some("all") => 100,
        Some(text) => text.parse().unwrap_or(15),
    };
    (limit.clamp(1, 100), call.number("page", 1).unwrap_or(1).max(1))
}

fn pagination(limit: usize, page: usize, total: usize) -> Value {
    let pages = total.div_ceil(limit).max(1);
    let next = (page < pages).then_some(page + 1);
    let prev = (page > 1).then(|| page - 1);
    json!({"pagination": {"page": page, "limit": limit, "pages": pages, "total": total, "next": next, "prev": prev}})
}

fn newsletter(desk: &Desk, list: u32) -> Value {
    let name = desk.account.list(list).map(|list| list.name.clone()).unwrap_or_default();
    json!({"id": (SHEET.list_id)(list), "uuid": ids::hex32(list, 9), "name": name, "slug": slug(&name),
        "status": "active", "visibility": "members", "subscribe_on_signup": true, "sort_order": list})
}

fn slug(name: &str) -> String {
    name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn newsletters(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (limit, page) = page_of(call);
    let all: Vec<u32> = desk.account.lists.iter().map(|list| list.number).collect();
    let shown: Vec<_> = all.iter().skip((page - 1) * limit).take(limit).map(|list| newsletter(desk, *list)).collect();
    ok(&json!({"newsletters": shown, "meta": pagination(limit, page, all.len())}))
}

fn label(tag: &EspTag) -> Value {
    json!({"id": ids::object_id(0x00e0_0000 + tag.id), "name": tag.name, "slug": slug(&tag.name)})
}

fn labels(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (limit, page) = page_of(call);
    let all: Vec<_> = desk.account.tags.iter().map(label).collect();
    let shown: Vec<_> = all.iter().skip((page - 1) * limit).take(limit).collect();
    ok(&json!({"labels": shown, "meta": pagination(limit, page, all.len())}))
}

fn shown(desk: &Desk, contact: &EspContact) -> Value {
    let subscribed = contact.lists.iter().filter(|(_, state)| **state == EspState::Subscribed);
    let newsletters: Vec<_> = subscribed.map(|(list, _)| newsletter(desk, *list)).collect();
    let labels: Vec<_> = contact.tags.iter().filter_map(|id| desk.account.tag_by_id(*id)).map(label).collect();
    let reason = match contact.state {
        EspState::Bounced => Some("fail"),
        EspState::Complained => Some("spam"),
        _ => None,
    };
    let info = reason.map(|reason| json!({"reason": reason, "timestamp": time::iso_ms(contact.updated)}));
    json!({
        "id": ids::object_id(contact.number), "uuid": ids::hex32(contact.number, 0), "email": contact.email,
        "name": null, "note": contact.fields.get("note"), "geolocation": null, "subscribed": !newsletters.is_empty(),
        "created_at": time::iso_ms(contact.created), "updated_at": time::iso_ms(contact.updated), "labels": labels,
        "subscriptions": [], "avatar_image": null, "comped": false, "email_count": 0, "email_opened_count": 0,
        "email_open_rate": null, "status": "free", "last_seen_at": null, "tiers": [],
        "email_suppression": {"suppressed": info.is_some(), "info": info}, "newsletters": newsletters,
    })
}

/// NQL condition on members, limited to what reading contacts needs.
type Condition = Box<dyn Fn(&EspContact) -> bool>;

fn condition(desk: &Desk, text: &str) -> Option<Condition> {
    let (name, rest) = text.split_once(':')?;
    let (operator, value) = match rest {
        _ if rest.starts_with(">=") => (">=", &rest[2..]),
        _ if rest.starts_with('>') => (">", &rest[1..]),
        _ => ("=", rest),
    };
    let value = value.trim_matches('\'');
    match name {
        "created_at" | "updated_at" if operator != "=" => {
            let at = time::of_iso(value).or_else(|| time::of_sql(value))?;
            let (is_created, or_equal) = (name == "created_at", operator == ">=");
            Some(Box::new(move |contact| {
                let known = if is_created { contact.created } else { contact.updated };
                known > at || or_equal && known == at
            }))
        }
        "subscribed" => {
            let wanted = value == "true";
            let is = |contact: &EspContact| contact.lists.values().any(|state| *state == EspState::Subscribed);
            Some(Box::new(move |contact| is(contact) == wanted))
        }
        "newsletters" => {
            let list = desk.account.lists.iter().find(|list| slug(&list.name) == value).map(|list| list.number)?;
            Some(Box::new(move |contact| contact.state_in(list) == Some(EspState::Subscribed)))
        }
        "label" | "labels" => {
            let tag = desk.account.tags.iter().find(|tag| slug(&tag.name) == value).map(|tag| tag.id);
            Some(Box::new(move |contact| tag.is_some_and(|tag| contact.tags.contains(&tag))))
        }
        _ => None,
    }
}

/// Parses `filter`: a contact after which to continue, and conditions.
fn filter(desk: &Desk, text: &str) -> Option<(Option<String>, Vec<Condition>)> {
    let (mut after, mut conditions) = (None, Vec::new());
    for part in text.split('+').filter(|part| !part.is_empty()) {
        if let Some(id) = part.strip_prefix("id:>") {
            after = Some(id.trim_matches('\'').to_owned());
        } else {
            conditions.push(condition(desk, part)?);
        }
    }
    Some((after, conditions))
}

fn members(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let (limit, page) = page_of(call);
    let text = call.param("filter").unwrap_or_default();
    let (after, conditions) =
        filter(desk, &text).ok_or_else(|| error(400, "BadRequestError", "Error parsing filter").blaming("filter"))?;
    let order = match call.param("order").unwrap_or_default().to_lowercase().as_str() {
        "" | "created_at desc" | "id desc" => PageOrder::Newest,
        "created_at asc" | "id asc" | "created_at" | "id" => PageOrder::Oldest,
        "updated_at asc" | "updated_at" => PageOrder::Updated,
        _ => return Err(error(400, "BadRequestError", "Unknown order").blaming("order")),
    };
    let name: Vec<_> = text.split('+').filter(|part| !part.starts_with("id:>")).collect();
    let name = name.join("+");
    let keep = |contact: &EspContact| conditions.iter().all(|condition| condition(contact));
    let all = Selection::all(None, order);
    let selection = if conditions.is_empty() { all } else { all.keeping(&name, &keep) };
    let slice = match after {
        None => desk.account.page(&selection, (page - 1) * limit, limit),
        Some(after) if order == PageOrder::Oldest => {
            let before = desk.account.select(&selection).partition_point(|number| ids::object_id(*number) <= after);
            let slice = desk.account.page(&selection, before + (page - 1) * limit, limit);
            Slice { total: slice.total - before, ..slice }
        }
        Some(_) => {
            return Err(error(400, "BadRequestError", "not simulated").blaming("filter by id without order=id asc"));
        }
    };
    let shown: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact)).collect();
    ok(&json!({"members": shown, "meta": pagination(limit, page, slice.total)}))
}

fn find(desk: &Desk, id: &str, act: &str) -> Result<EspContact, EspReply> {
    let known = ids::of_object_id(id).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| {
        let message = format!("Resource not found error, cannot {act} member.");
        let error = json!({"message": message, "context": "Member not found.", "type": "NotFoundError", "code": null});
        EspReply::json(404, &json!({"errors": [error]}))
    })
}

fn member(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0], "read")?;
    ok(&json!({"members": [shown(desk, &contact)]}))
}

fn invalid(message: &str, context: &str, property: Option<&str>) -> EspReply {
    let error = json!({"message": message, "context": context, "type": "ValidationError", "property": property});
    EspReply::json(422, &json!({"errors": [error]}))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let malformed = |what: &str| invalid("Validation error, cannot edit member.", what, None).blaming(what);
    let body = call.body_json(|| malformed("No root key ('members') provided."))?;
    let Some([wanted]) = body["members"].as_array().map(Vec::as_slice) else {
        return Err(malformed("No root key ('members') provided."));
    };
    if let Some(name) = strangers(wanted, WRITABLE).first() {
        return Err(malformed(&format!("must NOT have additional properties: {name}")));
    }
    let contact = find(desk, &stars[0], "edit")?;
    let newsletters = newsletters_of(desk, wanted)?;
    if let Some(email) = text(wanted, "/email") {
        if !is_address(&email) {
            return Err(invalid("Validation error, cannot edit member.", "Invalid Email", Some("email")));
        }
        if !desk.account.readdress(contact.number, &email) {
            let context = "Member already exists. Attempting to edit member with existing email address.";
            return Err(invalid("Validation error, cannot edit member.", context, Some("email")));
        }
    }
    if let Some(wanted) = newsletters {
        subscribe(desk, &contact, &wanted);
    }
    if let Some(labels) = wanted["labels"].as_array() {
        let tags: Vec<u32> = labels.iter().map(|wanted| label_of(desk, wanted)).collect::<Result<_, _>>()?;
        desk.account.retag(contact.number, &tags);
    }
    if let Some(note) = wanted.get("note") {
        desk.account.write(contact.number, "note", note);
    }
    let contact = find(desk, &stars[0], "edit")?;
    ok(&json!({"members": [shown(desk, &contact)]}))
}

/// Returns the newsletters that a call sets for a member; `None` if the call does not set them.
fn newsletters_of(desk: &Desk, wanted: &Value) -> Result<Option<Vec<u32>>, EspReply> {
    let Some(newsletters) = wanted["newsletters"].as_array() else {
        return Ok((wanted["subscribed"] == false).then(Vec::new));
    };
    let number = |wanted: &Value| {
        let list = text(wanted, "/id").and_then(|id| list_of(&desk.account, &id, SHEET.list_id));
        list.ok_or_else(|| {
            invalid("Validation error", "Newsletter not found", Some("newsletters")).blaming("newsletters")
        })
    };
    newsletters.iter().map(number).collect::<Result<_, _>>().map(Some)
}

fn subscribe(desk: &mut Desk, contact: &EspContact, wanted: &[u32]) {
    for list in contact.lists.keys() {
        let state = if wanted.contains(list) { EspState::Subscribed } else { EspState::Unsubscribed };
        desk.account.set_state(contact.number, Some(*list), state);
    }
    for list in wanted {
        desk.account.join(contact.number, *list, EspState::Subscribed);
    }
}

/// Returns the label that an item names, created if it is new.
fn label_of(desk: &mut Desk, wanted: &Value) -> Result<u32, EspReply> {
    let by_id = wanted["id"].as_str().and_then(|id| {
        desk.account.tags.iter().find(|tag| ids::object_id(0x00e0_0000 + tag.id) == id).map(|tag| tag.id)
    });
    let name = text(wanted, "/name").filter(|name| !name.trim().is_empty());
    let name =
        name.ok_or_else(|| invalid("Validation error", "A label needs a name", Some("labels")).blaming("labels"));
    if let Some(id) = by_id {
        return Ok(id);
    }
    let name = name?;
    Ok(desk.account.tag_named(&name))
}

fn delete(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let contact = find(desk, &stars[0], "delete")?;
    desk.account.delete(contact.number);
    Ok(EspReply::empty(204))
}

fn hook(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let malformed = |what: &str| invalid("Validation error, cannot save webhook.", what, None).blaming(what);
    let body = call.body_json(|| malformed("No root key ('webhooks') provided."))?;
    let wanted = &body["webhooks"][0];
    let (Some(event), Some(url)) = (text(wanted, "/event"), text(wanted, "/target_url")) else {
        return Err(malformed("event and target_url are required"));
    };
    if desk.account.hooks.iter().any(|hook| hook.url == url) {
        return Err(invalid("Target URL has already been used for this event.", "", Some("target_url")));
    }
    let hook = desk.account.make_hook(None, &url, text(wanted, "/secret"), true);
    let shown = json!({"id": ids::object_id(hook.id), "event": event, "target_url": url, "name": wanted["name"]});
    made(&json!({"webhooks": [shown]}))
}

fn rehook(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let missing = || error(404, "NotFoundError", "Resource not found error, cannot edit webhook.");
    let id = ids::of_object_id(&stars[0]).ok_or_else(missing)?;
    let hook = desk.account.hooks.iter_mut().find(|hook| hook.id == id).ok_or_else(missing)?;
    let body = call.body_json(|| invalid("Validation error, cannot edit webhook.", "", None))?;
    if let Some(url) = text(&body["webhooks"][0], "/target_url") {
        hook.url = url;
    }
    let shown = json!({"id": stars[0], "event": "member.added", "target_url": hook.url});
    Ok(EspReply::json(200, &json!({"webhooks": [shown]})))
}

fn unhook(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    let id = ids::of_object_id(&stars[0]);
    if id.is_some_and(|id| desk.account.remove_hook(id)) {
        return Ok(EspReply::empty(204));
    }
    Err(error(404, "NotFoundError", "Resource not found error, cannot delete webhook."))
}
