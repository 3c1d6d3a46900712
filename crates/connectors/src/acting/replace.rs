//! Read-change-write, for platforms that replace a value with what they receive.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Acting;
use crate::answer::Fault;
use crate::source::{Found, Source};

impl Acting<'_> {
    /// Returns the value to change.
    pub(super) fn old_value(&self, body: &Value) -> Option<Value> {
        self.rule.replace.as_ref()?.from.value(Found { body, headers: &[], key: None })
    }

    /// Returns the changed value, and the other values that the write needs.
    pub(super) fn change(&self, body: &Value, index: usize) -> Result<(Value, BTreeMap<String, Value>), Fault> {
        let Some(rule) = &self.rule.replace else { return Err(Fault::invalid("nothing is replaced")) };
        let found = Found { body, headers: &[], key: None };
        let values = self.values(Some(index));
        let kept = rule.keep.iter().map(|(name, at)| (name.clone(), at.value(found).unwrap_or_default())).collect();
        let old = rule.from.value(found);
        if let Some(add) = &rule.add {
            let mut items = match old {
                None => Vec::new(),
                Some(Value::Array(items)) => items,
                Some(_) => return Err(Fault::unreadable("the value to replace is not an array")),
            };
            if let Some(item) = add.fill(&values)?
                && !items.iter().any(|known| is_same(known, &item, rule.same.as_ref()))
            {
                items.push(item);
            }
            return Ok((Value::Array(items), kept));
        }
        let mut members = match old {
            None => Map::new(),
            Some(Value::Object(members)) => members,
            // PHP encodes an empty object as an empty array.
            Some(Value::Array(items)) if items.is_empty() => Map::new(),
            Some(_) => return Err(Fault::unreadable("the value to replace is not an object")),
        };
        members.retain(|name, _| !rule.without.contains(name));
        if let Some(Value::Object(set)) = rule.set.as_ref().map(|set| set.fill(&values)).transpose()?.flatten() {
            members.extend(set);
        }
        Ok((Value::Object(members), kept))
    }
}

/// Returns whether two items are equal, ignoring case, as platforms compare tag names.
fn is_same(known: &Value, item: &Value, at: Option<&Source>) -> bool {
    let name = |value: &Value| {
        let found = Found { body: value, headers: &[], key: None };
        at.and_then(|at| at.text(found)).map(|name| name.to_lowercase())
    };
    match (name(known), name(item)) {
        (Some(known), Some(item)) => known == item,
        _ => known == item,
    }
}
