//! Values for the placeholders of one request.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Credentials;
use crate::template::{Placeholder, PlaceholderFamily, PlaceholderValues};

/// Values by family and name, in addition to the credentials of a connection.
#[derive(Clone)]
pub(crate) struct Values<'a> {
    credentials: &'a Credentials,
    map: BTreeMap<(PlaceholderFamily, String), Value>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(credentials: &'a Credentials) -> Self {
        Self { credentials, map: BTreeMap::new() }
    }

    /// Sets or replaces a value.
    pub(crate) fn set(&mut self, family: PlaceholderFamily, name: &str, value: impl Into<Value>) {
        self.map.insert((family, name.to_owned()), value.into());
    }
}

impl PlaceholderValues for Values<'_> {
    fn lookup(&self, placeholder: &Placeholder) -> Option<Value> {
        if placeholder.family == PlaceholderFamily::Credential {
            return self.credentials.get(&placeholder.name).map(|text| Value::String(text.to_owned()));
        }
        if placeholder.family == PlaceholderFamily::Token {
            return self.credentials.token().map(|text| Value::String(text.to_owned()));
        }
        self.map.get(&(placeholder.family, placeholder.name.clone())).cloned()
    }
}
