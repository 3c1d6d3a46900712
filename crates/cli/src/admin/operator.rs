//! The operator at the command line: callers of acts, their inputs, and printed results.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use probity_account::id::OrgId;
use probity_contract::error::{ApiError, Code};
use probity_contract::page::PageQuery;
use probity_contract::query::{FromQuery, Query};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::operator::organizations::{find_organization, read_all_organizations};
use probity_service::store::{OrgRecord, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::OrgFlag;
use crate::exit;
use crate::output::printout::{AnswerView, JoinedObjects, OneField, Printout, join};
use crate::output::table::AnswerColumn;

/// Returns the organization with an ID.
pub(crate) async fn find_org(app: &App, id: &str) -> Result<OrgRecord> {
    let unknown = || anyhow!("there is no organization {id}; to list all: `probity orgs list`");
    let known: OrgId = id.parse().map_err(|_| unknown())?;
    find_organization(app, known).await.or_missing(unknown)
}

/// Returns the organization that a command names, or the only one.
pub(crate) async fn choose_org(app: &App, some: &OrgFlag) -> Result<OrgRecord> {
    if let Some(id) = &some.org {
        return find_org(app, id).await;
    }
    let mut all = read_all_organizations(app).await?;
    let named: Vec<String> = all.iter().map(|org| org.id.to_string()).collect();
    check_only(&named)?;
    Ok(all.remove(0))
}

/// Returns the operator as the caller of acts about an organization's live data.
pub(crate) async fn act_for(app: &App, some: &OrgFlag) -> Result<Caller> {
    Ok(staff(choose_org(app, some).await?, false))
}

/// Returns the operator as a caller; if `test`, for data of test keys.
pub(crate) fn staff(org: OrgRecord, test: bool) -> Caller {
    Caller::Staff { org: Arc::new(org), test }
}

/// Reads data of live keys, then data of test keys, each with its caller.
pub(crate) async fn read_both<T>(
    app: &App,
    some: &OrgFlag,
    read: impl AsyncFn(&Caller) -> Result<Vec<T>, ApiError>,
) -> Result<Vec<(Caller, T)>> {
    let org = choose_org(app, some).await?;
    let mut all = Vec::new();
    for caller in [false, true].map(|test| staff(org.clone(), test)) {
        let some = read(&caller).await?;
        all.extend(some.into_iter().map(|one| (caller.clone(), one)));
    }
    Ok(all)
}

/// Adds to an object whether it belongs to test keys, which the API omits.
pub(crate) fn marked<T>(caller: &Caller, object: T) -> JoinedObjects<OneField<bool>, T> {
    join(OneField("test", caller.is_test()), object)
}

/// Adds the caller's organization to an answer.
pub(crate) fn with_org<T>(caller: &Caller, answer: T) -> JoinedObjects<OneField<OrgId>, T> {
    join(OneField("organization", caller.org_id()), answer)
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
    Printout::of(rows.into_iter().map(|row| with_org(caller, row)), AnswerView::Rows(columns))
}

/// Prints a table of data of live and of test keys.
pub(crate) fn print_both<T: Serialize>(rows: &[(Caller, T)], columns: &'static [AnswerColumn]) -> Result<Printout> {
    Printout::of(rows.iter().map(|(caller, row)| with_org(caller, marked(caller, row))), AnswerView::Rows(columns))
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

/// Parses parameters of the API, by the API's rules; those without a value are omitted.
pub(crate) fn query<'a, T: FromQuery>(parameters: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Result<T> {
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Query::of_pairs(&given.collect::<Vec<_>>()).and_then(|query| T::from_query(&query)).map_err(refuse)
}

/// Requests all rows of a list that has only one page.
pub(crate) const WHOLE: PageQuery = PageQuery { per_page: u32::MAX, cursor: None };

/// Requests the first rows of a list.
pub(crate) fn first_page(per_page: u32) -> PageQuery {
    PageQuery { per_page, cursor: None }
}

/// Builds a merge patch of the fields that a command sets.
pub(crate) fn merge_patch<const N: usize>(command: &str, fields: [(&str, Option<Value>); N]) -> Result<Value> {
    let said: Map<_, _> = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if said.is_empty() {
        bail!("nothing to change; see `probity {command} --help`");
    }
    Ok(Value::Object(said))
}

/// Parses a body of the API, by the API's rules.
pub(crate) fn body<T: DeserializeOwned>(body: Value) -> Result<T> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let (field, what) = (error.path().to_string(), error.inner().to_string());
        FieldRefusal { field, what }.into()
    })
}

/// Refusal that blames one field of the API. [`super::flags`] names the flag instead.
#[derive(Debug)]
pub(crate) struct FieldRefusal {
    pub(crate) field: String,
    /// Text that completes the sentence after the field's name.
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
        (Some(detail), true) => exit::local(anyhow::Error::from_boxed(detail)),
        (None, true) => exit::local(anyhow!("{message}")),
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

/// Maps a command's error, if it is that of an act.
pub(super) fn explain(error: anyhow::Error) -> anyhow::Error {
    error.downcast().map_or_else(|other| other, refuse)
}

/// Result of an act about something that may not exist.
pub(crate) trait OrMissing<T> {
    /// Replaces the error by the command's own message if nothing exists, unless the act names the missing object.
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
