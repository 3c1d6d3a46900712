//! Query and response types of `POST /v1/batch-verify`.

use std::borrow::Cow;

use probity_account::id::JobId;
use probity_account::name::NAME_MAX;
use probity_lists::submission::WEBHOOK_URL_MAX_BYTES;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::error::ApiError;
use crate::parameters::describe_query;
use crate::query::{FromQuery, Query};
use crate::schema;

/// Query of a submission.
#[derive(Clone, Default)]
pub struct SubmitQuery {
    /// Callback URL, with the same maximum length as in a JSON body. Its form is checked later.
    pub webhook_url: Option<String>,
    /// Name of the list, not checked yet.
    pub name: Option<String>,
}

impl FromQuery for SubmitQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let webhook_url = query.text("webhook_url")?;
        if webhook_url.as_ref().is_some_and(|url| url.len() > WEBHOOK_URL_MAX_BYTES) {
            let most = format_args!("may have at most {WEBHOOK_URL_MAX_BYTES} bytes");
            return Err(ApiError::invalid("webhook_url", most));
        }
        let name = query.text("name")?.filter(|name| !name.is_empty());
        Ok(Self { webhook_url: webhook_url.map(Cow::into_owned), name: name.map(Cow::into_owned) })
    }
}

describe_query! { SubmitQuery:
    "webhook_url" = "Callback URL for bodies that are not JSON: receives the finished job as a POST. In JSON, the body's field takes \
        precedence.", ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(WEBHOOK_URL_MAX_BYTES)),
        "https://www.example.com/finished";
    "name" = "Name of the list for bodies that are not JSON. In JSON, the body's field takes precedence.",
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(NAME_MAX)), "Newsletter, spring";
}

/// An accepted job.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Submitted)]
pub struct SubmittedJob {
    #[schema(schema_with = schema::job_id)]
    pub id: JobId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_the_query_is_bounded_as_that_of_the_body() {
        let read = |length: usize| {
            let query = Query::of(&format!("/?webhook_url={}", "a".repeat(length)).parse().unwrap());
            SubmitQuery::from_query(&query).map(|query| query.webhook_url)
        };
        assert_eq!(read(WEBHOOK_URL_MAX_BYTES).unwrap().map(|url| url.len()), Some(WEBHOOK_URL_MAX_BYTES));
        assert_eq!(read(WEBHOOK_URL_MAX_BYTES + 1).unwrap_err().message(), "webhook_url: may have at most 2048 bytes");
    }
}
