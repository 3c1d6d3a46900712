//! Notifications of new contacts, as platforms send them: bodies from the vendors' documentation, with real signatures.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use serde_json::{Value, json};

use super::{EspVendor, time};
use crate::account::ids::hex;
use crate::account::{EspContact, EspHook, ids};

/// Notification that a platform sends to a registered URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspNotice {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Returns the notification of a new contact; `None` if the platform sends none.
pub(crate) fn notice(vendor: EspVendor, hook: &EspHook, contact: &EspContact, now: i64) -> Option<EspNotice> {
    let id = (vendor.sheet().contact_id)(contact, hook.list);
    let list = hook.list.map(vendor.sheet().list_id).unwrap_or_default();
    let email = contact.email.as_str();
    let secret = hook.secret.as_deref().unwrap_or_default();
    let (kind, body) = match vendor {
        EspVendor::Mailchimp => {
            let pairs =
                [("type", "subscribe"), ("data[id]", id.as_str()), ("data[email]", email), ("data[list_id]", &list)];
            (FORM, form(&pairs))
        }
        EspVendor::Activecampaign => {
            let list = contact.lists.keys().next().map(u32::to_string).unwrap_or_default();
            let pairs =
                [("type", "subscribe"), ("contact[id]", id.as_str()), ("contact[email]", email), ("list", &list)];
            (FORM, form(&pairs))
        }
        _ => (JSON, json_body(vendor, contact, (&id, &list), now)?.to_string()),
    };
    let mut headers = vec![("Content-Type".to_owned(), kind.to_owned())];
    headers.extend(proof(vendor, secret, &body, now));
    Some(EspNotice { url: hook.url.clone(), headers, body: body.into_bytes() })
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

fn form(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect::<Vec<_>>().join("&")
}

fn json_body(vendor: EspVendor, contact: &EspContact, (id, list): (&str, &str), now: i64) -> Option<Value> {
    let email = contact.email.as_str();
    let number = || id.parse::<u64>().ok();
    Some(match vendor {
        EspVendor::Ghost => {
            json!({"member": {"current": {"id": id, "email": email, "status": "free"}, "previous": {}}})
        }
        EspVendor::Klaviyo => {
            let profile = json!({"data": {"type": "profile", "id": id}});
            let payload = json!({"data": {"type": "event", "relationships": {"profile": profile}}});
            let event = json!({"topic": "event:klaviyo.subscribed_to_email_marketing", "payload": payload});
            json!({"data": [event], "meta": {"klaviyo_account_id": "XyZ123"}})
        }
        EspVendor::Brevo => {
            let lists: Vec<_> = contact.lists.keys().map(|list| list + 2).collect();
            json!({"event": "list_addition", "id": 9, "email": email, "key": "k", "list_id": lists, "ts": now / 1000})
        }
        EspVendor::CampaignMonitor => {
            let event = json!({"Type": "Subscribe", "Date": time::sql(now), "State": "Active", "EmailAddress": email, "Name": "",
                "CustomFields": []});
            json!({"ListID": list, "Events": [event]})
        }
        EspVendor::Convertkit => {
            json!({"subscriber": {"id": number()?, "first_name": null, "email_address": email, "state": "active"}})
        }
        EspVendor::Drip => {
            let subscriber = json!({"id": id, "status": "active", "email": email, "custom_fields": {}, "tags": []});
            json!({"event": "subscriber.created", "data": {"account_id": "9999999", "subscriber": subscriber},
                "occurred_at": time::iso(now)})
        }
        EspVendor::Mailerlite => json!({"id": id, "email": email, "status": "active", "event": "subscriber.created"}),
        EspVendor::Mautic => {
            let fields = json!({"core": {"email": {"alias": "email", "value": email}}});
            json!({"mautic.lead_post_save_new": [{"contact": {"id": number()?, "fields": fields}, "timestamp": time::iso_offset(now)}]})
        }
        _ => return None,
    })
}

/// Returns the headers that prove the origin of a notification.
fn proof(vendor: EspVendor, secret: &str, body: &str, now: i64) -> Vec<(String, String)> {
    let tag = |text: String| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text.as_bytes());
    let header = |name: &str, value: String| (name.to_owned(), value);
    match vendor {
        EspVendor::Ghost => {
            vec![header("X-Ghost-Signature", format!("sha256={}, t={now}", hex(tag(format!("{body}{now}")).as_ref())))]
        }
        EspVendor::Klaviyo => {
            let seconds = now / 1000;
            let signature = hex(tag(format!("{body}{seconds}")).as_ref());
            let id = ids::hex32(1, 6);
            vec![
                header("Klaviyo-Signature", signature),
                header("Klaviyo-Timestamp", seconds.to_string()),
                header("Klaviyo-Webhook-Id", id),
            ]
        }
        EspVendor::Mailerlite => vec![header("Signature", hex(tag(body.to_owned()).as_ref()))],
        EspVendor::Mautic => vec![header("Webhook-Signature", BASE64_STANDARD.encode(tag(body.to_owned()).as_ref()))],
        EspVendor::Brevo => vec![header("Authorization", format!("Bearer {secret}"))],
        _ => Vec::new(),
    }
}
