//! The operator at the command line: the parts of the service that acts need, and in whose name an act is done.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use probity_account::id::OrgId;
use probity_contract::error::{ApiError, Code, Detail};
use probity_contract::query::{FromQuery, Query};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::operator::organizations::{find_organization, read_all_organizations};
use probity_service::store::{OrgRecord, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::OrgFlag;
use crate::exit::{Exit, ExitsWith};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::AnswerColumn;

/// Calls acts in the operator's name.
pub(crate) struct LocalOperator<'a> {
    pub(crate) app: &'a Arc<App>,
}

impl LocalOperator<'_> {
    /// Returns the organization with an ID.
    pub(crate) async fn find_org(&self, id: &str) -> Result<OrgRecord> {
        let unknown = || anyhow!("there is no organization {id}; to list all: `probity orgs list`");
        let known: OrgId = id.parse().map_err(|_| unknown())?;
        find_organization(self.app, known).await.or_missing(unknown)
    }

    /// Returns the organization that a command names, or the only one.
    pub(crate) async fn choose_org(&self, some: &OrgFlag) -> Result<OrgRecord> {
        if let Some(id) = &some.org {
            return self.find_org(id).await;
        }
        let mut all = self.read_orgs().await?;
        let named: Vec<String> = all.iter().map(|org| org.id.to_string()).collect();
        check_only(&named)?;
        Ok(all.remove(0))
    }

    /// Returns every organization, oldest first.
    pub(crate) async fn read_orgs(&self) -> Result<Vec<OrgRecord>> {
        Ok(read_all_organizations(self.app).await?)
    }

    /// Returns the operator as the caller of acts about an organization's live data.
    pub(crate) async fn act_for(&self, some: &OrgFlag) -> Result<Caller> {
        Ok(staff(self.choose_org(some).await?, false))
    }
}

/// Returns the operator as a caller; if `test`, about what test keys made.
pub(crate) fn staff(org: OrgRecord, test: bool) -> Caller {
    Caller::Staff { org: Arc::new(org), test }
}

/// An answer of an act, with the organization that it belongs to.
#[derive(Serialize)]
pub(crate) struct AnswerOnOrganization<T> {
    pub(crate) organization: OrgId,
    #[serde(flatten)]
    pub(crate) answer: T,
}

/// What an act ended, as printed.
#[derive(Serialize)]
pub(crate) struct DeletedObject<T> {
    #[serde(flatten)]
    pub(crate) answer: T,
    /// Always true.
    pub(crate) deleted: bool,
}

/// Adds the caller's organization to an answer.
pub(crate) fn with_org<T>(caller: &Caller, answer: T) -> AnswerOnOrganization<T> {
    AnswerOnOrganization { organization: caller.org_id(), answer }
}

/// Adds the caller's organization to each row.
pub(crate) fn each_with_org<T>(caller: &Caller, rows: Vec<T>) -> impl Iterator<Item = AnswerOnOrganization<T>> {
    let organization = caller.org_id();
    rows.into_iter().map(move |answer| AnswerOnOrganization { organization, answer })
}

/// An object with its sort, which the API leaves to the key that asks.
#[derive(Serialize)]
pub(crate) struct MarkedObject<T> {
    /// Made for test keys.
    pub(crate) test: bool,
    #[serde(flatten)]
    pub(crate) object: T,
}

/// Prints an answer with the caller's organization.
pub(crate) fn print_one<T: Serialize>(caller: &Caller, answer: T, view: AnswerView) -> Result<Printout> {
    Printout::one(with_org(caller, answer), view)
}

/// Prints a table, with the caller's organization in each row.
pub(crate) fn print_rows<T: Serialize>(
    caller: &Caller,
    rows: Vec<T>,
    columns: &'static [AnswerColumn],
) -> Result<Printout> {
    Printout::of(each_with_org(caller, rows), AnswerView::Rows(columns))
}

/// Maximum number of organizations that a message lists.
const NAMED_MAX: usize = 5;

/// Checks that there is one organization, for commands that name none.
pub(super) fn check_only(named: &[String]) -> Result<()> {
    match named {
        [] => bail!("there is no organization yet: create one with `probity orgs create NAME`"),
        [_] => Ok(()),
        several => {
            let more = if several.len() > NAMED_MAX { ", ..." } else { "" };
            let first = several[..several.len().min(NAMED_MAX)].join(", ");
            bail!("there are {} organizations; select one with --org: {first}{more}", several.len())
        }
    }
}

/// Reads parameters of the API, by the API's rules.
pub(crate) fn query<T: FromQuery>(parameters: &[(&str, &str)]) -> Result<T> {
    Query::of_pairs(parameters).and_then(|query| T::from_query(&query)).map_err(refuse)
}

/// Reads a body of the API, by the API's rules.
pub(crate) fn body<T: DeserializeOwned>(body: Value) -> Result<T> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let (field, what) = (error.path().to_string(), error.inner().to_string());
        FieldRefusal { field, what }.into()
    })
}

/// A refusal that blames one field of the API. [`super::flags`] names the flag in its place.
#[derive(Debug)]
pub(crate) struct FieldRefusal {
    pub(crate) field: String,
    /// Completes the sentence that the field begins.
    pub(crate) what: String,
}

impl fmt::Display for FieldRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.what)
    }
}

impl std::error::Error for FieldRefusal {}

/// Maps the error of an act: a failure of the service is a local one, a refusal a usage error.
pub(crate) fn refuse(error: ApiError) -> anyhow::Error {
    if let Some((field, what)) = error.field() {
        return FieldRefusal { field: field.to_owned(), what: what.to_owned() }.into();
    }
    let is_failure = error.code().status().is_server_error();
    let message = error.message().to_owned();
    match (error.into_detail(), is_failure) {
        (Some(detail), true) => fail(detail),
        (None, true) => anyhow!("{message}").context(ExitsWith(Exit::Local)),
        (Some(detail), false) => match detail.downcast::<StoreError>() {
            Ok(cause) if matches!(*cause, StoreError::CreditsHeld) => {
                anyhow!("{cause}; pause the organization, or retry when the holds have ended")
            }
            Ok(cause) => anyhow!("{cause}"),
            Err(_) => anyhow!("{message}"),
        },
        (None, false) => anyhow!("{message}"),
    }
}

/// Maps a failure of the service to a local one.
pub(crate) fn fail(detail: Detail) -> anyhow::Error {
    anyhow::Error::from_boxed(detail).context(ExitsWith(Exit::Local))
}

/// Maps what ended a command, if that is the error of an act.
pub(super) fn explain(error: anyhow::Error) -> anyhow::Error {
    error.downcast().map_or_else(|other| other, refuse)
}

/// The answer of an act about something that may not exist.
pub(crate) trait OrMissing<T> {
    /// Replaces the error by the command's own message if nothing exists, unless the act says what is missing.
    fn or_missing(self, missing: impl FnOnce() -> anyhow::Error) -> Result<T>;
}

impl<T> OrMissing<T> for Result<T, ApiError> {
    fn or_missing(self, missing: impl FnOnce() -> anyhow::Error) -> Result<T> {
        self.map_err(|error| {
            let is_unexplained = error.code() == Code::NotFound && error.message() == ApiError::not_found().message();
            if is_unexplained { missing() } else { error.into() }
        })
    }
}
