//! Requests with one mistake each, which the descriptions must find.

use probity_connectors::Catalog;
use serde_json::{Value, json};

use super::description::VendorDescription;
use super::judge::{judge_request, operation_name, unexcused};
use super::{exchanges, judged};

/// Change of a request that makes it wrong.
enum Mistake {
    /// Replaces a part of the request line.
    Line(&'static str, &'static str),
    /// Sets a member of the request, given by its pointer, to a JSON text.
    Set(&'static str, &'static str),
    /// Removes a member of an object, given by the object's pointer.
    Remove(&'static str, &'static str),
}

use Mistake::{Line, Remove, Set};

/// Platform, operation, mistake, and the place of the fault.
const MISTAKES: &[(&str, &str, Mistake, &str)] = &[
    ("activecampaign", "GET /contacts", Line("status=1", "status=active"), "query status"),
    ("activecampaign", "GET /contacts", Line("limit=100", "limit=1000"), "query limit"),
    ("activecampaign", "GET /contacts", Line("=asc", "=up"), "query orders[id]"),
    ("activecampaign", "POST /webhooks", Remove("/json/webhook", "sources"), "body /webhook"),
    ("activecampaign", "POST /contactLists", Set("/json/contactList/status", "9"), "body /contactList/status"),
    ("braze", "GET /segments/list", Line("sort_direction=asc", "sort_direction=up"), "query sort_direction"),
    ("braze", "POST /email/status", Set("/json/subscription_state", "\"left\""), "body /subscription_state"),
    ("brevo", "GET /contacts", Line("limit=1000", "limit=1001"), "query limit"),
    (
        "brevo",
        "GET /contacts",
        Line("createdSince=2026-11-20T08%3A20%3A00.000Z", "createdSince=2026-11-20"),
        "query createdSince",
    ),
    ("brevo", "PUT /contacts/{identifier}", Line("=contact_id", "=id"), "query identifierType"),
    ("brevo", "POST /webhooks", Set("/json/events/0", "\"list_addition\""), "body /events/0"),
    ("campaign_monitor", "DELETE /subscribers/{list_id}.json", Line("?email", "?mail"), "query email"),
    ("campaign_monitor", "PUT /subscribers/{list_id}.json", Remove("/json", "ConsentToTrack"), "body "),
    ("campaign_monitor", "GET /lists/{list_id}/active.json", Line("=asc", "=up"), "query orderdirection"),
    ("constant_contact", "GET /v3/contacts", Line("limit=500", "limit=501"), "query limit"),
    ("constant_contact", "PUT /v3/contacts/{contact_id}", Remove("/json", "update_source"), "body "),
    (
        "constant_contact",
        "POST /v3/activities/contacts_taggings_add",
        Set("/json/tag_ids/0", "\"vip\""),
        "body /tag_ids/0",
    ),
    (
        "constant_contact",
        "POST /oauth2/default/v1/token",
        Set("/form", "\"grant_type=password&refresh_token=r\""),
        "form /grant_type",
    ),
    ("convertkit", "GET /subscribers", Line("per_page=1000", "per_page=1001"), "query per_page"),
    ("convertkit", "GET /subscribers", Line("status=all", "status=any"), "query status"),
    ("convertkit", "POST /webhooks", Set("/json/event/name", "\"subscriber.tag_add\""), "body /event"),
    ("convertkit", "POST /tags/{tag_id}/subscribers/{id}", Line("/tags/7", "/tags/vip"), "path tag_id"),
    ("customer_io", "POST /v1/customers", Line("limit=1000", "limit=1001"), "query limit"),
    ("customer_io", "GET /v1/customers/{customer_id}/attributes", Line("=cio_id", "=cio"), "query id_type"),
    ("customer_io", "PUT /api/v1/customers/{identifier}", Set("/json/unsubscribed", "\"yes\""), "body /unsubscribed"),
    ("drip", "GET /{account_id}/subscribers", Line("per_page=1000", "per_page=1001"), "query per_page"),
    ("drip", "POST /{account_id}/tags", Remove("/json/tags/0", "email"), "body /tags/0"),
    ("drip", "GET /{account_id}/subscribers", Remove("/headers", "User-Agent"), "header User-Agent"),
    ("getresponse", "POST /tags", Set("/json/name", "\"Probity: undeliverable\""), "body /name"),
    ("getresponse", "POST /custom-fields", Remove("/json", "hidden"), "body "),
    ("getresponse", "GET /contacts", Line("perPage=1000", "perPage=1001"), "query perPage"),
    ("ghost", "PUT /members/{id}/", Set("/json/members/0/email", "7"), "body /members/0/email"),
    ("ghost", "POST /webhooks/", Remove("/json/webhooks/0", "target_url"), "body /webhooks/0"),
    ("ghost", "GET /members/", Line("include=labels", "include=labels%2Cposts"), "query include"),
    ("ghost", "GET /members/", Remove("/headers", "Accept-Version"), "header Accept-Version"),
    ("hubspot", "POST /crm/v3/objects/contacts/search", Set("/json/limit", "\"200\""), "body /limit"),
    ("hubspot", "POST /crm/v3/objects/contacts/search", Set("/json/sorts/0/direction", "\"ASC\""), "body /sorts/0"),
    (
        "hubspot",
        "POST /communication-preferences/v4/statuses/{subscriberIdString}/unsubscribe-all",
        Line("?channel=EMAIL", ""),
        "query channel",
    ),
    ("iterable", "POST /lists/unsubscribe", Set("/json/listId", "\"701\""), "body /listId"),
    ("iterable", "GET /lists/getUsers", Line("listId=", "list="), "query list"),
    ("keap", "GET /contacts", Line("page_size=1000", "page_size=1001"), "query page_size"),
    ("keap", "PATCH /emailAddresses/{email}/status", Remove("/json", "reason"), "body "),
    ("keap", "POST /tags/{tag_id}/contacts:applyTags", Set("/json/contact_ids/0", "1"), "body /contact_ids/0"),
    ("keap", "GET /contacts", Remove("/headers", "X-Keap-API-Key"), "header X-Keap-API-Key"),
    ("keila", "GET /contacts", Line("page_size%5D=100", "page_size%5D=all"), "query paginate[page_size]"),
    ("keila", "PATCH /contacts/{id}", Set("/json/data/status", "\"gone\""), "body /data/status"),
    ("klaviyo", "GET /lists/{id}/profiles", Line("=100", "=101"), "query page[size]"),
    ("klaviyo", "GET /lists/{id}/profiles", Line("sort=joined_group_at", "sort=created"), "query sort"),
    ("klaviyo", "GET /accounts", Set("/headers/revision", "\"2024-10-15\""), "header revision"),
    ("klaviyo", "DELETE /lists/{id}/relationships/profiles", Set("/json/data/0/type", "\"list\""), "body /data/0/type"),
    ("klaviyo", "POST /webhooks", Remove("/json/data/attributes", "secret_key"), "body /data/attributes"),
    ("listmonk", "PUT /subscribers/lists", Set("/json/action", "\"delete\""), "body /action"),
    ("listmonk", "DELETE /subscribers", Line("id=1", "ids=1"), "query ids"),
    ("listmonk", "GET /subscribers", Line("order_by=id", "order_by=uuid"), "query order_by"),
    ("mailchimp", "GET /lists/{list_id}/members", Line("count=1000", "count=1001"), "query count"),
    ("mailchimp", "GET /lists/{list_id}/members", Line("sort_dir=ASC", "sort_dir=asc"), "query sort_dir"),
    (
        "mailchimp",
        "PATCH /lists/{list_id}/members/{subscriber_hash}",
        Line("/members/8", "/members/Ann"),
        "path subscriber_hash",
    ),
    ("mailchimp", "POST /lists/{list_id}/merge-fields", Set("/json/tag", "\"PROBITY_STATUS\""), "body /tag"),
    ("mailerlite", "PUT /subscribers/{id}", Set("/json/status", "\"bouncing\""), "body /status"),
    ("mailerlite", "POST /webhooks", Remove("/json", "events"), "body "),
    ("mailerlite", "GET /subscribers", Remove("/headers", "Accept"), "header Accept"),
    (
        "moosend",
        "GET /lists/{MailingListID}/subscribers/{Status}.json",
        Line("/Subscribed.json", "/Active.json"),
        "path Status",
    ),
    ("moosend", "POST /subscribers/{MailingListID}/remove.json", Remove("/json", "Email"), "body "),
    ("phplist", "GET /lists/{listId}/subscribers", Line("limit=100", "limit=101"), "query limit"),
    ("phplist", "POST /sessions", Remove("/json", "password"), "body "),
    ("sendlane", "POST /contacts/{contactId}/tags", Set("/json/tag_ids/0", "\"4\""), "body /tag_ids/0"),
    ("sendlane", "GET /lists/{listId}/contacts", Line("limit=100", "limit=1000"), "query limit"),
];

impl Mistake {
    fn apply(&self, request: &Value) -> Value {
        let mut wrong = request.clone();
        match self {
            Line(from, to) => wrong["line"] = json!(wrong["line"].as_str().expect("a line").replacen(from, to, 1)),
            Set(at, text) => {
                let value = serde_json::from_str(text).expect("JSON");
                let (object, name) = at.rsplit_once('/').expect("a pointer");
                match wrong.pointer_mut(object) {
                    Some(Value::Array(items)) => items[name.parse::<usize>().expect("an index")] = value,
                    Some(Value::Object(members)) => drop(members.insert(name.to_owned(), value)),
                    _ => {}
                }
            }
            Remove(at, name) => {
                wrong.pointer_mut(at).and_then(Value::as_object_mut).and_then(|members| members.remove(*name));
            }
        }
        wrong
    }
}

fn faults(description: &VendorDescription, request: &Value) -> Vec<String> {
    unexcused(description, judge_request(description, request))
}

#[test]
fn each_mistake_is_found_where_it_was_made() {
    for (slug, operation, mistake, place) in MISTAKES {
        let description = VendorDescription::of(slug).expect("a description");
        let golden = crate::golden(slug);
        let requests = exchanges(&golden).map(|exchange| &exchange["request"]);
        let mut changed = requests
            .filter(|request| operation_name(&description, request).as_deref() == Some(*operation))
            .map(|request| (request, mistake.apply(request)))
            .filter(|(request, wrong)| *request != wrong)
            .peekable();
        assert!(changed.peek().is_some(), "{slug}: {operation}: {place}: no request to change");
        for (request, wrong) in changed {
            assert_eq!(faults(&description, request), [""; 0], "{slug}");
            let found = faults(&description, &wrong);
            let is_found = found.iter().any(|fault| fault.contains(&format!("{operation}: {place}: ")));
            assert!(is_found, "{slug}: {place}: found only {found:?} in {wrong}");
        }
    }
}

#[test]
fn what_no_description_names_is_found_in_every_request() {
    for (file, golden, description) in judged(Catalog::embedded()) {
        for request in exchanges(&golden).map(|exchange| &exchange["request"]) {
            let line = request["line"].as_str().expect("a line");
            let (path, query) = line.split_once('?').unwrap_or((line, ""));
            for changed in [format!("{path}?{query}&probity=1"), format!("{path}/probity?{query}")] {
                let mut wrong = request.clone();
                wrong["line"] = json!(changed);
                assert!(!faults(&description, &wrong).is_empty(), "{}: {changed}", file.provider.slug);
            }
            let mut wrong = request.clone();
            wrong["json"]["probity"] = json!(1);
            wrong["headers"]["Content-Type"] = json!("application/json");
            assert!(!faults(&description, &wrong).is_empty(), "{}: field: {line}", file.provider.slug);
        }
    }
}
