//! Parameters of integrations and connections.

use probity_account::connections::RuleKind;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::parameters::{path_id, path_part, path_part_of};

/// First path parameter of everything about a platform.
#[derive(Debug)]
pub struct IntegrationPath;

impl IntoParams for IntegrationPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_part("type", "Platform, by its name in the API or an alias, as in `kit`.", "mailchimp")]
    }
}

/// Second path parameter, after the platform.
#[derive(Debug)]
pub struct ConnectionPath;

impl IntoParams for ConnectionPath {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parts = IntegrationPath::into_params(place);
        parts.push(path_id("Connection ID, as listed.", "conn_01h455vb4pex5vsknk084sn02q"));
        parts
    }
}

/// Path of a list of keyword rules.
#[derive(Debug)]
pub struct KeywordPath;

impl IntoParams for KeywordPath {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parts = ConnectionPath::into_params(place);
        let kind =
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(RuleKind::ALL.map(RuleKind::as_str)));
        let means =
            "`blacklist`: contacts to act upon, whatever their verdict. `whitelist`: contacts never to act upon.";
        parts.push(path_part_of("kind", means, kind, "whitelist"));
        parts
    }
}

/// Path of a keyword rule.
#[derive(Debug)]
pub struct RulePath;

impl IntoParams for RulePath {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parts = KeywordPath::into_params(place);
        parts.push(path_part("rule_id", "Rule ID, as listed.", "rule_01h455vb4pex5vsknk084sn02q"));
        parts
    }
}

/// Path of a run.
#[derive(Debug)]
pub struct RunPath;

impl IntoParams for RunPath {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parts = ConnectionPath::into_params(place);
        parts.push(path_part("run_id", "Run ID, as listed.", "job_01h455vb4pex5vsknk084sn02q"));
        parts
    }
}
