//! Campaign Monitor, API 3.3: the address is the key, a page has 10 to 1,000 records, a foreign list gives 401, and a
//! missing subscriber gives 400 with code 203.

use crate::vendor::prelude::*;

pub(super) static SHEET: VendorSheet = VendorSheet {
    slug: "campaign_monitor",
    base: Some("https://api.createsend.com/api/v3.3"),
    root: "/api/v3.3",
    states: &[EspState::Unsubscribed, EspState::Bounced, EspState::Pending, EspState::Archived],
    overlaps: false,
    routes: ROUTES,
    credentials: |secrets, key| vec![("api_key", key), ("client_id", client(secrets))],
    admit,
    refused: || error(401, 100, "Invalid API Key"),
    limited: |excess| {
        error(429, 429, "Rate limit exceeded")
            .counting(excess, ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"])
    },
    absent: || EspReply::page(404, "404 - File or directory not found."),
    list_id,
    ..USUAL
};

const ROUTES: &[EspRoute] = &[
    on("GET", "/clients.json", |desk, _, _| ok(&json!([{"ClientID": client(&desk.secrets), "Name": "Acme"}]))),
    on("GET", "/clients/*/lists.json", lists),
    on("GET", "/lists/*/active.json", |desk, call, stars| members(desk, call, &stars[0], "Active")),
    on("GET", "/lists/*/unconfirmed.json", |desk, call, stars| members(desk, call, &stars[0], "Unconfirmed")),
    on("GET", "/lists/*/unsubscribed.json", |desk, call, stars| members(desk, call, &stars[0], "Unsubscribed")),
    on("GET", "/lists/*/bounced.json", |desk, call, stars| members(desk, call, &stars[0], "Bounced")),
    on("GET", "/lists/*/deleted.json", |desk, call, stars| members(desk, call, &stars[0], "Deleted")),
    on("POST", "/subscribers/*/unsubscribe.json", unsubscribe),
    on("GET", "/subscribers/*", |desk, call, stars| {
        let (list, contact) = subscriber(desk, call, &stars[0])?;
        ok(&shown(desk, &contact, list))
    }),
    on("PUT", "/subscribers/*", edit),
    on("DELETE", "/subscribers/*", delete),
    on("GET", "/lists/*/customfields.json", |desk, _, stars| {
        let list = list(desk, &stars[0])?;
        let fields = desk.account.fields.iter().filter(|field| field.list == Some(list)).map(|field| {
            json!({"FieldName": field.name, "Key": field.key, "DataType": "Text", "FieldOptions": [], "VisibleInPreferenceCenter": true})
        });
        ok(&Value::Array(fields.collect()))
    }),
    on("POST", "/lists/*/customfields.json", make_field),
    on("POST", "/lists/*/webhooks.json", hook),
    on("GET", "/lists/*/webhooks.json", |desk, _, stars| {
        let list = list(desk, &stars[0])?;
        let of_list = desk.account.hooks.iter().filter(|hook| hook.list == Some(list));
        let shown =
            of_list.map(|hook| json!({"WebhookID": ids::hex32(hook.id, 7), "Url": hook.url, "Status": "Active"}));
        Ok(EspReply::json(200, &Value::Array(shown.collect())))
    }),
    on("PUT", "/lists/*/webhooks/*/activate.json", |_, _, _| Ok(EspReply::empty(200))),
    on("DELETE", "/lists/*/webhooks/*", |desk, _, stars| {
        let id = stars[1].trim_end_matches(".json");
        let number = desk.account.hooks.iter().map(|hook| hook.id).find(|number| ids::hex32(*number, 7) == id);
        let removed = number.is_some_and(|number| desk.account.remove_hook(number));
        if removed { Ok(EspReply::empty(200)) } else { Err(error(400, 601, "Webhook not found")) }
    }),
];

fn list_id(list: u32) -> String {
    ids::hex32(list, 3)
}

/// Returns the client ID, which is not secret: wrong keys come with the right client ID.
fn client(secrets: &VendorSecrets) -> String {
    let mut digits: Vec<char> = secrets.key.chars().collect();
    digits.sort_unstable();
    digits.into_iter().take(32).collect()
}

fn error(status: u16, code: u32, message: &str) -> EspReply {
    EspReply::json(status, &json!({"Code": code, "Message": message}))
}

#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "no file: the platform takes this ending and no other"
)]
fn admit(desk: &Desk, call: &EspCall) -> Result<(), EspReply> {
    if !call.path.ends_with(".json") && call.header("Accept") != Some("application/json") {
        let xml = "<?xml version=\"1.0\"?><Result><Code>404</Code></Result>";
        return Err(EspReply::text(404, "application/xml; charset=utf-8", xml).blaming("the path lacks .json"));
    }
    match call.basic() {
        None => Err(error(401, 50, "Must supply a valid HTTP Basic Authorization header")),
        Some((user, _)) if user != desk.key() => Err(error(401, 100, "Invalid API Key")),
        Some(_) => Ok(()),
    }
}

fn lists(desk: &mut Desk, _: &EspCall, stars: &[String]) -> EspAnswer {
    if stars[0] != client(&desk.secrets) {
        return Err(error(401, 102, "Invalid ClientID"));
    }
    let lists = desk.account.lists.iter().map(|list| json!({"ListID": list_id(list.number), "Name": list.name}));
    ok(&Value::Array(lists.collect()))
}

fn list(desk: &Desk, id: &str) -> Result<u32, EspReply> {
    list_of(&desk.account, id, list_id).ok_or_else(|| error(401, 101, "Invalid ListID"))
}

fn state(state: EspState) -> &'static str {
    match state {
        EspState::Subscribed => "Active",
        EspState::Pending => "Unconfirmed",
        EspState::Unsubscribed | EspState::Complained => "Unsubscribed",
        EspState::Bounced => "Bounced",
        EspState::Archived => "Deleted",
    }
}

fn shown(desk: &Desk, contact: &EspContact, list: u32) -> Value {
    let fields: Vec<_> = desk
        .account
        .fields
        .iter()
        .filter(|field| field.list == Some(list))
        .filter_map(|field| Some(json!({"Key": field.name, "Value": contact.fields.get(&field.key)?})))
        .collect();
    let word = contact.state_in(list).map_or("Deleted", state);
    let at = if word == "Active" { contact.created } else { contact.updated };
    json!({"EmailAddress": contact.email, "Name": "", "Date": time::sql(at), "ListJoinedDate": time::sql(contact.created),
        "State": word, "CustomFields": fields, "ReadsEmailWith": "", "ConsentToTrack": "Unchanged"})
}

fn members(desk: &mut Desk, call: &EspCall, list_id: &str, wanted: &'static str) -> EspAnswer {
    let list = list(desk, list_id)?;
    let page = call.number("page", 1).filter(|page| *page > 0);
    let page = page.ok_or_else(|| error(400, 800, "Invalid page").blaming("page"))?;
    let size = call.number("pagesize", 1000).filter(|size| (10..=1000).contains(size));
    let size = size.ok_or_else(|| error(400, 801, "Invalid page size").blaming("pagesize is 10 to 1000"))?;
    if let Some(field) = call.param("orderfield")
        && !["email", "name", "date"].contains(&field.as_str())
    {
        return Err(error(400, 802, "Invalid order field").blaming("orderfield"));
    }
    let since = call.param("date").filter(|date| !date.is_empty());
    let at = since.map(|date| time::of_sql(&date).ok_or_else(|| error(400, 5, "Invalid Date").blaming("date")));
    let at = at.transpose()?;
    let order = order_of(call.param("orderdirection").as_deref(), PageOrder::Oldest);
    let keep = |contact: &EspContact| {
        let since = if wanted == "Active" { contact.created } else { contact.updated };
        contact.state_in(list).map(state) == Some(wanted) && at.is_none_or(|at| since >= at)
    };
    let name = format!("{wanted}?{at:?}");
    let slice = desk.account.page(&Selection::all(Some(list), order).keeping(&name, &keep), (page - 1) * size, size);
    let results: Vec<_> = slice.contacts.iter().map(|contact| shown(desk, contact, list)).collect();
    let body = json!({"ResultsOrderedBy": "date", "OrderDirection": "asc", "PageNumber": page, "PageSize": size,
        "RecordsOnThisPage": results.len(), "TotalNumberOfRecords": slice.total, "NumberOfPages": slice.total.div_ceil(size),
        "Results": results});
    let known = "date page pagesize orderfield orderdirection includetrackinginformation includesmspreference";
    Ok(noting(EspReply::json(200, &body), &strange_params(call, known)))
}

fn not_in_list() -> EspReply {
    error(400, 203, "Subscriber not in list or has already been removed.")
}

/// Returns the subscriber with the address `email`, in any state except deleted.
fn subscriber(desk: &Desk, call: &EspCall, list_name: &str) -> Result<(u32, EspContact), EspReply> {
    let list = list(desk, list_name.trim_end_matches(".json"))?;
    let email = call.param("email").filter(|email| is_address(email));
    let email = email.ok_or_else(|| error(400, 1, "Invalid Email Address").blaming("email"))?;
    find(desk, list, &email).map(|contact| (list, contact))
}

fn find(desk: &Desk, list: u32, email: &str) -> Result<EspContact, EspReply> {
    let contact = desk.account.contact_of(email);
    let is_in = |contact: &EspContact| contact.state_in(list).is_some_and(|state| state != EspState::Archived);
    contact.filter(is_in).ok_or_else(not_in_list)
}

fn unsubscribe(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let body = call.body_json(|| error(400, 400, "Failed to deserialize your request."))?;
    let email = text(&body, "/EmailAddress").filter(|email| is_address(email));
    let email = email.ok_or_else(|| error(400, 1, "Invalid Email Address").blaming("EmailAddress"))?;
    let contact = find(desk, list, &email)?;
    if contact.state_in(list) != Some(EspState::Subscribed) {
        return Err(not_in_list());
    }
    desk.account.set_state(contact.number, Some(list), EspState::Unsubscribed);
    Ok(noting(EspReply::empty(200), &strangers(&body, "EmailAddress")))
}

const WRITABLE: &str = "EmailAddress Name MobileNumber CustomFields Resubscribe RestartSubscriptionBasedAutoresponders \
        ConsentToTrack ConsentToSendSms";

fn edit(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (list, contact) = subscriber(desk, call, &stars[0])?;
    let body = call.body_json(|| error(400, 400, "Failed to deserialize your request."))?;
    let mut strange = strangers(&body, WRITABLE);
    match text(&body, "/ConsentToTrack").as_deref() {
        None => return Err(error(400, 214, "Please provide a consent to track value").blaming("ConsentToTrack")),
        Some("Yes" | "No" | "Unchanged") => {}
        Some(_) => {
            return Err(error(400, 215, "Please provide a valid consent to track value").blaming("ConsentToTrack"));
        }
    }
    if body["Resubscribe"] == true && contact.state_in(list) != Some(EspState::Subscribed) {
        desk.account.set_state(contact.number, Some(list), EspState::Subscribed);
    }
    if let Some(email) = text(&body, "/EmailAddress") {
        if !is_address(&email) {
            return Err(error(400, 211, "Invalid New Email Address"));
        }
        if !desk.account.readdress(contact.number, &email) {
            return Err(error(
                400,
                201,
                "New Email Address is already subscribed to the list. Subscriber not updated.",
            ));
        }
    }
    for field in body["CustomFields"].as_array().into_iter().flatten() {
        let key = text(field, "/Key").unwrap_or_default();
        let key = format!("[{}]", key.trim_matches(['[', ']']));
        if desk.account.field(Some(list), &key).is_some() {
            desk.account.write(contact.number, &key, &field["Value"]);
        } else {
            strange.push(format!("custom field {key}, which is ignored"));
        }
    }
    Ok(noting(EspReply::empty(200), &strange))
}

fn delete(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let (list, contact) = subscriber(desk, call, &stars[0])?;
    desk.account.set_state(contact.number, Some(list), EspState::Archived);
    Ok(EspReply::empty(200))
}

fn make_field(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let body = call.body_json(|| error(400, 400, "Failed to deserialize your request."))?;
    let name = text(&body, "/FieldName").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| error(400, 254, "Invalid Field Name").blaming("FieldName"))?;
    if !["Text", "Number", "Date"].contains(&body["DataType"].as_str().unwrap_or_default()) {
        return Err(error(400, 259, "Data type is incorrect").blaming("DataType"));
    }
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    let key = format!("[{}]", if letters.is_empty() { "field".to_owned() } else { letters });
    if desk.account.fields.iter().any(|field| field.list == Some(list) && field.name.eq_ignore_ascii_case(&name)) {
        return Err(error(400, 255, "The Field Name already exists in this list"));
    }
    let field = desk.account.make_field(Some(list), &key, &name);
    made(&json!(field.key))
}

fn hook(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let list = list(desk, &stars[0])?;
    let body = call.body_json(|| error(400, 400, "Failed to deserialize your request."))?;
    let url = text(&body, "/Url").ok_or_else(|| error(400, 602, "Invalid URL").blaming("Url"))?;
    let is_json = text(&body, "/PayloadFormat").is_some_and(|format| format.eq_ignore_ascii_case("json"));
    if !is_json || !body["Events"].is_array() {
        return Err(error(400, 600, "Invalid webhook").blaming("Events and PayloadFormat"));
    }
    let hook = desk.account.make_hook(Some(list), &url, None, true);
    made(&json!(ids::hex32(hook.id, 7)))
}
