//! Names of the contract for values of connections.

use probity_account::connections::{Aggressiveness, ConnectionAction};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::schema;

schema::schemas! {
    pub(super) rule_id = schema::id("rule", "Rule ID.");
    pub(super) action = schema::one_of(ConnectionAction::ALL.map(ConnectionAction::as_str), "Name of an action.");
    pub(super) action_or_null = schema::or_null(schema::one_of(ConnectionAction::ALL.map(ConnectionAction::as_str),
        "Action on contacts whose verdict matches the checks. Null until it is chosen: then contacts are only \
        verified. The platform must have the action."));
    pub(super) aggressiveness = schema::one_of(Aggressiveness::ALL.map(Aggressiveness::as_str), "Preset of `checks`. \
        `normal`: mailboxes that do not exist, or that bounced or complained. `aggressive`: also mailboxes unlikely \
        to have a reader. `custom`: the checks as set.");
    pub(super) connection_name = schema::line("Display name.", "Newsletter").build();
    pub(super) platform_type: ObjectBuilder = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[a-z0-9_]+$"))
        .description(Some("Name of the platform in the API."))
        .examples(["mailchimp"]);
}
