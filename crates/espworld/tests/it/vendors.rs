//! Compares what simulated platforms receive and answer with the descriptions that their vendors publish.
#![expect(dead_code, reason = "the tests of the connectors use all of it")]

#[path = "../../../connectors/tests/vendors/description.rs"]
mod description;
#[path = "../../../connectors/tests/vendors/judge.rs"]
mod judge;

use std::collections::BTreeMap;
use std::sync::Mutex;

use description::VendorDescription;
use judge::{judge_answer, judge_request, unexcused, written};
use probity_connectors::{Request, Response};
use serde_json::{Value, json};

/// Returns a platform's description, which is read once.
fn description(slug: &str) -> Option<&'static VendorDescription> {
    static KNOWN: Mutex<BTreeMap<String, Option<&'static VendorDescription>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let read = || VendorDescription::of(slug).map(|one| &*Box::leak(Box::new(one)));
    *known.entry(slug.to_owned()).or_insert_with(read)
}

/// Returns what a vendor does not describe of a call and its answer.
pub(crate) fn undescribed(slug: &str, request: &Request, response: &Response) -> Vec<String> {
    let Some(description) = description(slug) else { return Vec::new() };
    let request = written(request);
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let mut faults = judge_request(description, &request);
    faults.extend(judge_answer(description, &request, &json!({"status": response.status, "json": body})));
    unexcused(description, faults)
}
