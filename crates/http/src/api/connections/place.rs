//! Which connection, list of rules or rule a path means. What cannot be read gets 404.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use probity_account::connections::RuleKind;
use probity_account::id::{JobId, RuleId};
use probity_contract::error::ApiError;
use probity_service::connections::ConnectionPlace;

use crate::error::Refusal;

/// A connection.
pub(crate) struct AtConnection(pub(crate) ConnectionPlace);

/// A list of keyword rules.
pub(crate) struct AtRules(pub(crate) ConnectionPlace, pub(crate) RuleKind);

/// A keyword rule.
pub(crate) struct AtRule(pub(crate) ConnectionPlace, pub(crate) RuleKind, pub(crate) RuleId);

/// A run.
pub(crate) struct AtRun(pub(crate) ConnectionPlace, pub(crate) JobId);

/// The parameters of a path, by name.
struct PathNames(BTreeMap<String, String>);

impl PathNames {
    async fn of<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(names) = Path::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        Ok(Self(names))
    }

    fn get<T: FromStr>(&self, name: &str) -> Result<T, Refusal> {
        let found = self.0.get(name).and_then(|text| text.parse().ok());
        Ok(found.ok_or_else(ApiError::not_found)?)
    }

    fn place(&self) -> Result<ConnectionPlace, Refusal> {
        Ok(ConnectionPlace { provider: self.get("type")?, id: self.get("id")? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtConnection {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        Ok(Self(PathNames::of(parts, state).await?.place()?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtRules {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let names = PathNames::of(parts, state).await?;
        Ok(Self(names.place()?, names.get("kind")?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtRule {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let names = PathNames::of(parts, state).await?;
        Ok(Self(names.place()?, names.get("kind")?, names.get("rule_id")?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtRun {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let names = PathNames::of(parts, state).await?;
        Ok(Self(names.place()?, names.get("run_id")?))
    }
}
