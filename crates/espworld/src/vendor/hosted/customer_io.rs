//! Customer.io: an App API that searches people, and a Track API that writes without telling whether there was anybody.

use crate::vendor::prelude::*;

pub(in crate::vendor) static SHEET: VendorSheet = VendorSheet {
    slug: "customer_io",
    states: &[EspState::Unsubscribed],
    is_lower: true,
    limits: &[
        EspLimit::of(&["GET /v1", "POST /v1"], 1_000, 10),
        EspLimit::of(&["PUT /api/v1", "DELETE /api/v1"], 1_000, 100),
    ],
    routes: ROUTES,
    key: |key| key[..32].to_owned(),
    credentials: |secrets, key| {
        vec![
            ("app_api_key", key),
            ("site_id", SITE.to_owned()),
            ("track_api_key", track_key(secrets)),
            ("url", secrets.origin.clone()),
            ("track_url", secrets.origin.clone()),
        ]
    },
    admit: |desk, call| {
        desk.admits(if call.path.starts_with("/v1/") {
            call.bearer() == Some(desk.key().as_str())
        } else {
            call.basic() == Some((SITE.to_owned(), track_key(&desk.secrets)))
        })
    },
    refused: || error(401, "Unauthorized request"),
    limited: |_| error(429, "Too many requests"),
    absent: || error(404, "Not found"),
    contact_id: |contact, _| id_of(contact),
    ..USUAL
};

const SITE: &str = "5fca0b6c1d2e3f405162";

const ROUTES: &[EspRoute] = &[
    on("GET", "/v1/segments", |desk, _, _| {
        let segments = each(
            &desk.account.lists,
            |list| json!({"id": list.number, "name": list.name, "state": "finished", "type": "dynamic"}),
        );
        ok(&json!({"segments": segments}))
    }),
    on("POST", "/v1/customers", search),
    on("GET", "/v1/customers/*/attributes", |desk, call, stars| {
        if call.param("id_type").as_deref() != Some("cio_id") {
            return Err(error(400, "Invalid id_type").blaming("id_type"));
        }
        let contact = find(desk, &format!("cio_{}", stars[0])).ok_or_else(SHEET.absent)?;
        let attributes = json!({"cio_id": id_of(&contact), "email": contact.email,
            "unsubscribed": (contact.state == EspState::Unsubscribed).to_string()});
        let customer = json!({"id": null, "attributes": attributes, "timestamps": {}, "devices": []});
        Ok(noting(EspReply::json(200, &json!({"customer": customer})), &strange_params(call, "id_type")))
    }),
    on("PUT", "/api/v1/customers/*", identify),
    on("DELETE", "/api/v1/customers/*", |desk, _, stars| {
        if let Some(contact) = find(desk, &stars[0]) {
            desk.account.delete(contact.number);
        }
        ok(&json!({}))
    }),
];

fn track_key(secrets: &VendorSecrets) -> String {
    secrets.key[32..52].to_owned()
}

fn id_of(contact: &EspContact) -> String {
    format!("a3{:010x}", ids::decimal(7, contact.number))
}

fn error(status: u16, message: &str) -> EspReply {
    EspReply::json(status, &json!({"meta": {"error": message}}))
}

/// Returns the segment of a filter, and whether those who have unsubscribed are left out.
fn filter(body: &Value) -> Option<(u32, bool)> {
    let all = body.pointer("/filter/and")?.as_array()?;
    let segment = all.iter().find_map(|one| one.pointer("/segment/id")?.as_u64())?;
    let out = all.iter().find_map(|one| one.pointer("/not/attribute"));
    let is_out = json!({"field": "unsubscribed", "operator": "eq", "value": "true"});
    Some((u32::try_from(segment).ok()?, out.is_some_and(|out| *out == is_out)))
}

fn search(desk: &mut Desk, call: &EspCall, _: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "The body is not JSON"))?;
    let (segment, only) = filter(&body).ok_or_else(|| error(400, "Invalid filter").blaming("filter"))?;
    let size = call.number("limit", 50).filter(|size| (1..=1000).contains(size));
    let size = size.ok_or_else(|| error(400, "Invalid limit").blaming("limit"))?;
    let after = match call.param("start").filter(|start| !start.is_empty()) {
        None => None,
        Some(start) => {
            let known = desk.open_cursor(&start).ok_or_else(|| error(400, "Invalid start").blaming("start"))?;
            known.0.parse().ok()
        }
    };
    let keep = |contact: &EspContact| !only || contact.state != EspState::Unsubscribed;
    let name = format!("{only}");
    let selection = Selection::all(Some(segment), PageOrder::Oldest).keeping(&name, &keep);
    let (slice, more) = desk.account.page_after(&selection, after, size);
    let shown =
        slice.contacts.iter().map(|contact| json!({"cio_id": id_of(contact), "id": null, "email": contact.email}));
    let shown: Vec<_> = shown.collect();
    let last = slice.contacts.last().map(|contact| contact.number.to_string()).filter(|_| more);
    let next = last.map(|position| desk.cursor(&position)).unwrap_or_default();
    let reply = EspReply::json(200, &json!({"identifiers": shown, "ids": [], "next": next}));
    Ok(noting(reply, &strange_params(call, "start limit")))
}

fn find(desk: &Desk, name: &str) -> Option<EspContact> {
    let number = u64::from_str_radix(name.strip_prefix("cio_a3")?, 16).ok()?;
    desk.account.contact(ids::of_decimal(7, &number.to_string())?)
}

fn identify(desk: &mut Desk, call: &EspCall, stars: &[String]) -> EspAnswer {
    let body = call.body_json(|| error(400, "The body is not JSON"))?;
    let Some(contact) = find(desk, &stars[0]) else {
        // A name that is no cio_id makes a person.
        if is_address(&stars[0]) {
            desk.account.add(&stars[0], EspState::Subscribed, &[]);
        }
        return ok(&json!({}));
    };
    for (name, value) in body.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("unsubscribed", Value::Bool(true)) => desk.account.set_state(contact.number, None, EspState::Unsubscribed),
            ("email", _) => {
                let email = text(&body, "/email").unwrap_or_default();
                desk.account.readdress(contact.number, &email);
            }
            _ => desk.account.write(contact.number, name, value),
        }
    }
    ok(&json!({}))
}
