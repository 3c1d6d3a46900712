//! HubSpot, CRM API 3: properties that must exist and be requested, searches limited to 10,000 hits, archiving that can be
//! repeated.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "hubspot",
    base: Some("https://api.hubapi.com"),
    states: &[EspState::Unsubscribed],
    is_lower: true,
    limits: LIMITS,
    routes: ROUTES,
    key: |key| format!("pat-eu1-{}", &key[..36]),
    credentials: |_, key| vec![("token", key)],
    admit: |desk, call| desk.admits(call.bearer() == Some(desk.key().as_str())),
    refused,
    limited,
    absent: || EspReply::text(404, "text/html;charset=iso-8859-1", "<html><body><h2>HTTP ERROR 404</h2></body></html>"),
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const LIMITS: &[EspLimit] = &[
    EspLimit { except: &["/crm/v3/objects/contacts/search"], is_rolling: true, ..EspLimit::of_all(10_000, 100) },
    EspLimit { is_rolling: true, ..EspLimit::of(&["/crm/v3/objects/contacts/search"], 1_000, 4) },
];

const ROUTES: &[EspRoute] = &[
    on("GET", "/account-info/v3/details", |_, _, _| {
        ok(&json!({"portalId": 12345, "accountType": "STANDARD", "timeZone": "Etc/UTC", "uiDomain": "app.hubspot.com"}))
    }),
    on("GET", "/crm/v3/objects/contacts", contacts),
    on("POST", "/crm/v3/objects/contacts/search", search),
    on("POST", "/crm/v3/objects/contacts/batch/archive", archive_many),
    on("GET", "/crm/v3/objects/contacts/*", |desk, call, stars| {
        let contact = find(desk, &stars[0])?;
        ok(&shown(&contact, &asked(call)))
    }),
    on("PATCH", "/crm/v3/objects/contacts/*", edit),
    on("DELETE", "/crm/v3/objects/contacts/*", |desk, _, stars| {
        if let Ok(contact) = find(desk, &stars[0]) {
            desk.account.delete(contact.number);
        }
        Ok(EspReply::empty(204))
    }),
    on("POST", "/crm/v3/lists/search", lists),
    on("GET", "/crm/v3/lists/*/memberships", memberships),
    on("GET", "/crm/v3/properties/contacts/*", |desk, _, stars| {
        let field = desk.account.field(None, &stars[0]).cloned();
        let field = field.ok_or_else(|| error(404, "OBJECT_NOT_FOUND", "Property does not exist"))?;
        ok(&json!({"name": field.key, "label": field.name, "type": "string", "fieldType": "text"}))
    }),
    on("GET", "/crm/v3/properties/contacts", properties),
    on("POST", "/crm/v3/properties/contacts", make_property),
    on("POST", "/communication-preferences/v4/statuses/*/unsubscribe-all", unsubscribe),
];

fn id_of(contact: &EspContact) -> String {
    ids::decimal(7_000_001, contact.number).to_string()
}

fn error(status: u16, category: &str, message: &str) -> EspReply {
    EspReply::json(
        status,
        &json!({"status": "error", "message": message, "correlationId": ids::hex32(1, 1), "category": category}),
    )
}

fn invalid(message: &str) -> EspReply {
    error(400, "VALIDATION_ERROR", message).blaming(message.to_owned())
}

fn refused() -> EspReply {
    let message = "Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at \
                   https://developers.hubspot.com/docs/methods/auth/oauth-overview";
    error(401, "INVALID_AUTHENTICATION", message)
}

/// Returns 429 without `Retry-After`. The name of the policy says which span is used up.
fn limited(excess: &EspExcess) -> EspReply {
    let is_secondly = excess.limit.per_ms == 1_000;
    let (policy, message) = if is_secondly {
        ("SECONDLY", "You have reached your secondly limit.")
    } else {
        ("TEN_SECONDLY_ROLLING", "You have reached your ten_secondly_rolling limit.")
    };
    let body = json!({"status": "error", "message": message, "errorType": "RATE_LIMIT", "correlationId": ids::hex32(1, 1),
        "policyName": policy});
    EspReply::json(429, &body)
        .with("X-HubSpot-RateLimit-Max", excess.limit.max)
        .with("X-HubSpot-RateLimit-Remaining", 0)
        .with("X-HubSpot-RateLimit-Interval-Milliseconds", excess.limit.per_ms)
}

/// Returns the properties that a call requests.
fn asked(call: &EspCall) -> Vec<String> {
    let given = call.params().into_iter().filter(|(name, _)| name == "properties");
    given.flat_map(|(_, value)| value.split(',').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns a contact with the requested properties, or with 6 default ones.
fn shown(contact: &EspContact, asked: &[String]) -> Value {
    let standard =
        ["createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"].map(str::to_owned);
    let names = if asked.is_empty() { standard.to_vec() } else { asked.to_vec() };
    let always = ["createdate", "hs_object_id", "lastmodifieddate"].map(str::to_owned);
    let mut properties = Map::new();
    for name in names.into_iter().chain(always) {
        let value = match name.as_str() {
            "createdate" => json!(time::iso_ms(contact.created)),
            "lastmodifieddate" => json!(time::iso_ms(contact.updated)),
            "hs_object_id" => json!(id_of(contact)),
            "email" => json!(contact.email),
            "hs_email_optout" => json!((contact.state == EspState::Unsubscribed).then_some("true")),
            other => contact.fields.get(other).cloned().unwrap_or(Value::Null),
        };
        properties.insert(name, value);
    }
    json!({"id": id_of(contact), "properties": properties, "createdAt": time::iso_ms(contact.created),
        "updatedAt": time::iso_ms(contact.updated), "archived": false})
}

fn contacts(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let limit = call.number("limit", 10).filter(|limit| (1..=100).contains(limit));
    let limit = limit.ok_or_else(|| invalid("limit must be less than or equal to 100"))?;
    let after =
        call.param("after").map(|after| ids::of_decimal(7_000_000, &after).ok_or_else(|| invalid("after is not one")));
    // The cursor is the ID at which the next page starts.
    let after = after.transpose()?.map(|next| next.wrapping_sub(1)).and_then(|number| number.checked_sub(1));
    let (slice, more) = desk.account.page_after(&Selection::all(None, PageOrder::Oldest), after, limit);
    let asked = asked(call);
    let results: Vec<_> = slice.contacts.iter().map(|contact| shown(contact, &asked)).collect();
    let mut body = json!({"results": results});
    if let Some(last) = slice.contacts.last().filter(|_| more) {
        let next = (ids::decimal(7_000_001, last.number) + 1).to_string();
        body["paging"] = json!({"next": {"after": next, "link": format!("https://api.hubapi.com/crm/v3/objects/contacts?after={next}")}});
    }
    let known = "limit after properties propertiesWithHistory associations archived";
    Ok(noting(EspReply::json(200, &body), &strange_params(call, known)))
}

/// Filter of a search.
struct SearchFilter {
    property: String,
    operator: String,
    at: i64,
}

fn filters(body: &Value) -> Result<Vec<SearchFilter>, EspReply> {
    let groups = body["filterGroups"].as_array().map_or(&[][..], Vec::as_slice);
    if groups.len() > 1 {
        return Err(invalid("several groups are not simulated"));
    }
    let filters = groups.iter().flat_map(|group| group["filters"].as_array().into_iter().flatten());
    filters
        .map(|filter| {
            let parts = (text(filter, "/propertyName"), text(filter, "/operator"), text(filter, "/value"));
            let (Some(property), Some(operator), Some(value)) = parts else {
                return Err(invalid("propertyName, operator and value are required"));
            };
            if !["createdate", "lastmodifieddate"].contains(&property.as_str()) {
                return Err(invalid(&format!("There was a problem with the request: {property}")));
            }
            let at =
                value.parse().ok().or_else(|| time::of_iso(&value)).ok_or_else(|| invalid("value is not a date"))?;
            if !["GT", "GTE", "LT", "LTE"].contains(&operator.as_str()) {
                return Err(invalid("operator"));
            }
            Ok(SearchFilter { property, operator, at })
        })
        .collect()
}

fn passes(contact: &EspContact, filter: &SearchFilter) -> bool {
    let known = if filter.property == "createdate" { contact.created } else { contact.updated };
    match filter.operator.as_str() {
        "GT" => known > filter.at,
        "GTE" => known >= filter.at,
        "LT" => known < filter.at,
        _ => known <= filter.at,
    }
}

fn order(body: &Value) -> Result<PageOrder, EspReply> {
    let Some(sort) = body["sorts"].as_array().and_then(|sorts| sorts.first()) else { return Ok(PageOrder::Oldest) };
    let direction = text(sort, "/direction").unwrap_or_else(|| "ASCENDING".to_owned());
    match (text(sort, "/propertyName").as_deref(), direction.as_str()) {
        (Some("createdate" | "hs_object_id"), "ASCENDING") => Ok(PageOrder::Oldest),
        (Some("createdate" | "hs_object_id"), "DESCENDING") => Ok(PageOrder::Newest),
        (Some("lastmodifieddate"), "ASCENDING") => Ok(PageOrder::Updated),
        _ => Err(invalid("sorts")),
    }
}

fn search(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("Invalid input JSON"))?;
    let strange = strangers(&body, "filterGroups sorts query properties limit after");
    let limit = body["limit"].as_u64().unwrap_or(10);
    let limit =
        usize::try_from(limit).ok().filter(|limit| (1..=200).contains(limit)).ok_or_else(|| invalid("limit"))?;
    let after: usize = match text(&body, "/after") {
        Some(after) if !after.is_empty() => after.parse().map_err(|_| invalid("after"))?,
        _ => 0,
    };
    if after + limit > 10_000 {
        return Err(invalid("paging past 10000 results is not supported"));
    }
    let filters = filters(&body)?;
    let keep = |contact: &EspContact| filters.iter().all(|filter| passes(contact, filter));
    let name = format!("search?{}", body["filterGroups"]);
    let slice = desk.account.page(&Selection::all(None, order(&body)?).keeping(&name, &keep), after, limit);
    let asked: Vec<String> = body["properties"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let results: Vec<_> = slice.contacts.iter().map(|contact| shown(contact, &asked)).collect();
    let mut reply = json!({"total": slice.total, "results": results});
    if after + limit < slice.total {
        reply["paging"] = json!({"next": {"after": (after + limit).to_string()}});
    }
    Ok(noting(EspReply::json(200, &reply), &strange))
}

fn find(desk: &Desk, id: &str) -> Result<EspContact, EspReply> {
    let known = ids::of_decimal(7_000_001, id).and_then(|number| desk.account.contact(number));
    known.ok_or_else(|| error(404, "OBJECT_NOT_FOUND", "resource not found"))
}

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("Invalid input JSON"))?;
    let properties = body["properties"].as_object().ok_or_else(|| invalid("properties are required"))?;
    let own = ["email", "firstname", "lastname"];
    if let Some(name) =
        properties.keys().find(|name| !own.contains(&name.as_str()) && desk.account.field(None, name).is_none())
    {
        let what = format!(
            "Property values were not valid: [{{\"isValid\":false,\"message\":\"Property \\\"{name}\\\" does not exist\",\
                            \"error\":\"PROPERTY_DOESNT_EXIST\",\"name\":\"{name}\"}}]"
        );
        return Err(invalid(&what));
    }
    let contact = find(desk, &stars[0])?;
    for (name, value) in properties {
        if name == "email" {
            let email = value.as_str().unwrap_or_default().to_lowercase();
            if !is_address(&email) {
                return Err(error(400, "VALIDATION_ERROR", "Property values were not valid: INVALID_EMAIL"));
            }
            if !desk.account.readdress(contact.number, &email) {
                return Err(error(409, "CONFLICT", "Contact already exists. Existing ID: 12345"));
            }
        } else {
            desk.account.write(contact.number, name, value);
        }
    }
    let contact = find(desk, &stars[0])?;
    ok(&shown(&contact, &[]))
}

fn archive_many(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("Invalid input JSON"))?;
    let inputs = body["inputs"].as_array().filter(|inputs| (1..=100).contains(&inputs.len()));
    for input in inputs.ok_or_else(|| invalid("1 to 100 inputs"))? {
        let id = text(input, "/id").ok_or_else(|| invalid("inputs have an id"))?;
        if let Ok(contact) = find(desk, &id) {
            desk.account.delete(contact.number);
        }
    }
    Ok(EspReply::empty(204))
}

fn lists(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("Invalid input JSON"))?;
    let offset = usize::try_from(body["offset"].as_u64().unwrap_or(0)).unwrap_or(0);
    let count = usize::try_from(body["count"].as_u64().unwrap_or(20)).unwrap_or(0);
    if !(1..=500).contains(&count) {
        return Err(invalid("count must be between 1 and 500"));
    }
    let part = each(part(&desk.account.lists, offset, count), |list| {
        let size = desk.account.members(list.number).len().to_string();
        json!({"listId": list.number.to_string(), "name": list.name, "objectTypeId": "0-1", "processingType": "MANUAL",
            "additionalProperties": {"hs_list_size": size}})
    });
    let total = desk.account.lists.len();
    let next = offset + part.len();
    ok(&json!({"lists": part, "total": total, "hasMore": next < total, "offset": next}))
}

fn memberships(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = stars[0].parse().ok().filter(|list| desk.account.list(*list).is_some());
    let list = list.ok_or_else(|| error(404, "OBJECT_NOT_FOUND", "List does not exist"))?;
    let limit = call.number("limit", 100).filter(|limit| (1..=250).contains(limit)).ok_or_else(|| invalid("limit"))?;
    let after = call.param("after").and_then(|after| ids::of_decimal(7_000_001, &after));
    let (slice, more) = desk.account.page_after(&Selection::all(Some(list), PageOrder::Oldest), after, limit);
    let results: Vec<_> = slice.contacts.iter().map(|contact| json!({"recordId": id_of(contact)})).collect();
    let mut body = json!({"results": results});
    if let Some(last) = slice.contacts.last().filter(|_| more) {
        body["paging"] = json!({"next": {"after": id_of(last)}});
    }
    ok(&body)
}

fn properties(desk: &mut Desk, _: &EspCall, _: &[String]) -> EspAnswer {
    let made =
        desk.account.fields.iter().map(|field| json!({"name": field.key, "label": field.name, "type": "string"}));
    ok(&json!({"results": made.collect::<Vec<_>>()}))
}

fn make_property(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| invalid("Invalid input JSON"))?;
    let part = |name: &str| text(&body, name).ok_or_else(|| invalid(&format!("{name} is required")));
    let (name, label) = (part("/name")?, part("/label")?);
    let (_, _, group) = (part("/type")?, part("/fieldType")?, part("/groupName")?);
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Err(invalid("the name of a property has lower-case letters, digits and underscores"));
    }
    if desk.account.field(None, &name).is_some() {
        return Err(error(409, "OBJECT_ALREADY_EXISTS", &format!("A property named '{name}' already exists.")));
    }
    desk.account.make_field(None, &name, &label);
    made(&json!({"name": name, "label": label, "type": "string", "fieldType": "text", "groupName": group}))
}

fn unsubscribe(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    if call.param("channel").as_deref() != Some("EMAIL") {
        return Err(invalid("channel is required"));
    }
    if !is_address(&stars[0]) {
        return Err(error(400, "VALIDATION_ERROR", "not an email address"));
    }
    if let Some(contact) = desk.account.contact_of(&stars[0]) {
        desk.account.set_state(contact.number, None, EspState::Unsubscribed);
    }
    let at = time::iso_ms(desk.now);
    ok(&json!({"status": "COMPLETE", "results": [], "startedAt": at, "completedAt": at}))
}
