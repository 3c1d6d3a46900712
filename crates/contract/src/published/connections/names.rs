//! Names of the contract for values of connections.

use probity_account::connections::{Aggressiveness, ConnectionAction};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::schema;

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
