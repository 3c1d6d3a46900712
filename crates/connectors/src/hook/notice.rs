//! Contents of a notification.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::answer::{Fault, RawRecord, records};
use crate::file::{HookBody, HookRule};
use crate::source::Found;

/// Maximum number of events per notification.
const EVENTS_MAX: usize = 1_000;
/// Maximum number of parameters per form.
const PAIRS_MAX: usize = 2_000;

/// Contact that a notification names, without proof.
#[derive(Clone, PartialEq, Eq)]
pub struct HookHint {
    pub id: Option<String>,
    pub email: Option<String>,
    pub list: Option<String>,
}

/// Omits the address.
impl std::fmt::Debug for HookHint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookHint").field("id", &self.id.is_some()).finish_non_exhaustive()
    }
}

/// Parses a notification. Other kinds of events are skipped.
pub fn hints(rule: &HookRule, body: &[u8]) -> Result<Vec<HookHint>, Fault> {
    let body = match rule.body {
        HookBody::Json => {
            serde_json::from_slice(body).map_err(|_| Fault::unreadable("the notification is not JSON"))?
        }
        HookBody::Form => form(body)?,
    };
    let found = Found { body: &body, headers: &[], key: None };
    let events = match &rule.records {
        Some(at) => records((at, rule.form), false, found, &[])?,
        None => vec![RawRecord { key: None, value: Cow::Borrowed(&body) }],
    };
    if events.len() > EVENTS_MAX {
        return Err(Fault::unreadable(format!("a notification has more than {EVENTS_MAX} events")));
    }
    Ok(events.iter().filter_map(|event| hint(rule, event.found())).collect())
}

fn hint(rule: &HookRule, found: Found<'_>) -> Option<HookHint> {
    if let Some(event) = &rule.event
        && !event.at.text(found).is_some_and(|text| event.is.contains(&text))
    {
        return None;
    }
    let text = |source: &Option<crate::source::Source>| {
        source.as_ref().and_then(|at| at.text(found)).filter(|text| !text.is_empty())
    };
    let contact = &rule.contact;
    let hint = HookHint { id: text(&contact.id), email: text(&contact.email), list: text(&contact.list) };
    (hint.id.is_some() || hint.email.is_some()).then_some(hint)
}

/// Parses a form as one flat object: `contact[id]` is a name, not a path.
fn form(body: &[u8]) -> Result<Value, Fault> {
    let mut members = Map::new();
    for (number, (name, value)) in url::form_urlencoded::parse(body).enumerate() {
        if number == PAIRS_MAX {
            return Err(Fault::unreadable(format!("a notification has more than {PAIRS_MAX} parameters")));
        }
        members.insert(name.into_owned(), Value::String(value.into_owned()));
    }
    Ok(Value::Object(members))
}
