//! Members of Ghost, as shown by Ghost.

use std::collections::BTreeMap;

use probity_connectors::Method;
use serde_json::Value;

use crate::platforms::running::Platform;

impl Platform {
    /// Returns all members of Ghost, by address.
    pub(super) fn members(&self) -> BTreeMap<String, Value> {
        let mut members = BTreeMap::new();
        for page in 1.. {
            let path = format!("/members/?limit=100&page={page}&include=labels,newsletters&order=id%20asc");
            let (status, answer) = self.call(Method::Get, &path, None);
            assert_eq!(status, 200, "{answer}");
            for member in answer["members"].as_array().unwrap() {
                members.insert(member["email"].as_str().unwrap().to_owned(), member.clone());
            }
            if answer["meta"]["pagination"]["next"].is_null() {
                break;
            }
        }
        members
    }
}
