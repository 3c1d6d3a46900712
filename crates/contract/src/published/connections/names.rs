//! Names of the contract for values of connections.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use probity_account::connections::{Aggressiveness, ConnectionAction};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::schema;

/// Name of what is done to contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionName(pub ConnectionAction);

impl Serialize for ActionName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for ActionName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        named(from, &ConnectionAction::ALL).map(Self)
    }
}

/// Name of a preset of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggressivenessName(pub Aggressiveness);

impl Serialize for AggressivenessName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for AggressivenessName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        named(from, &Aggressiveness::ALL).map(Self)
    }
}

fn named<'de, D: Deserializer<'de>, T: FromStr + fmt::Display>(from: D, all: &[T]) -> Result<T, D::Error> {
    let name = Cow::<'de, str>::deserialize(from)?;
    name.parse().map_err(|_| {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        de::Error::custom(format_args!("must be one of {}", names.join(", ")))
    })
}

pub(super) fn rule_id() -> Object {
    schema::id("rule", "Rule ID.")
}

/// Canonical name of a platform.
pub(super) fn platform_type() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[a-z0-9_]+$"))
        .description(Some("Name of the platform in the API."))
        .examples(["mailchimp"])
        .build()
}

pub(super) fn action() -> Object {
    schema::one_of(ConnectionAction::ALL.map(ConnectionAction::as_str), "Name of an action.")
}

pub(super) fn action_or_null() -> Object {
    let means = "Action on contacts whose verdict passes the checks. Null until it is chosen: then contacts are only \
        verified. The platform must have the action.";
    schema::or_null(schema::one_of(ConnectionAction::ALL.map(ConnectionAction::as_str), means))
}

pub(super) fn aggressiveness() -> Object {
    let means = "Preset of `checks`. `normal`: mailboxes that do not exist, or that bounced or complained. \
        `aggressive`: also mailboxes unlikely to have a reader. `custom`: the checks as set.";
    schema::one_of(Aggressiveness::ALL.map(Aggressiveness::as_str), means)
}

pub(super) fn connection_name() -> Object {
    schema::line("Display name.", "Newsletter").build()
}
