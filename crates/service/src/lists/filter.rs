//! Conditions that rows of a list must meet, in searches and in downloads.

#[cfg(feature = "xlsx")]
use probity_account::language::PageLanguage;
use probity_backend::lists::rows::OTHER_PROVIDERS;
use probity_backend::lists::search::SearchText;
use probity_contract::error::ApiError;
use probity_contract::published::jobs::download::DownloadQuery;
use probity_contract::query::{FromQuery, Query};
#[cfg(feature = "xlsx")]
use probity_letters::sheet::{SheetHeading, reason_words, status_words};
use probity_mail::verdict::{Reason, Status};
use probity_store::jobs::SettledResult;

/// Value of `status` for rows without a verdict.
const PENDING: &str = "pending";

/// Conditions that a row must meet. Empty ones are met by all rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowFilter {
    /// Statuses, or [`PENDING`].
    statuses: Vec<&'static str>,
    reason: Option<Reason>,
    /// Provider ID, or the name for other MX hosts.
    provider: Option<String>,
    /// Part of the address, and its domain.
    texts: Vec<SearchText>,
}

impl FromQuery for RowFilter {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let names: Vec<&'static str> = Status::ALL.map(Status::as_str).into_iter().chain([PENDING]).collect();
        let given = query.text("status")?.unwrap_or_default();
        let status = |name: &str| names.iter().find(|known| **known == name).copied();
        let refused = || ApiError::invalid("status", format_args!("must be one or more of {}", names.join(", ")));
        let statuses = given.split(',').filter(|name| !name.is_empty()).map(|name| status(name).ok_or_else(refused));
        let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let domain = query.filled("domain")?;
        let texts = [SearchText::part(query)?, domain.map(|name| SearchText::domain(&name)).transpose()?];
        Ok(Self {
            statuses: statuses.collect::<Result<_, _>>()?,
            reason: query.one_of("reason", &reasons)?.and_then(|name| Reason::from_name(&name)),
            provider: query.filled("provider")?,
            texts: texts.into_iter().flatten().collect(),
        })
    }
}

impl RowFilter {
    /// Returns the conditions of a download.
    pub(super) fn of_download(query: &DownloadQuery) -> Result<Self, ApiError> {
        let texts = [
            query.q.as_deref().map(SearchText::part_of).transpose()?.flatten(),
            query.domain.as_deref().map(SearchText::domain).transpose()?,
        ];
        Ok(Self {
            statuses: query.statuses.iter().map(|status| status.as_str()).collect(),
            reason: query.reason,
            provider: query.provider.clone(),
            texts: texts.into_iter().flatten().collect(),
        })
    }

    /// Returns whether all rows meet the conditions.
    pub(super) fn is_all(&self) -> bool {
        self.statuses.is_empty() && self.reason.is_none() && self.provider.is_none() && self.texts.is_empty()
    }

    /// Returns whether conditions on the address exist.
    pub(super) fn reads_addresses(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Returns whether an address meets the conditions; `None` is an erased one.
    pub(super) fn takes_address(&self, email: Option<&str>) -> bool {
        self.texts.iter().all(|text| email.is_some_and(|email| text.is_in(email)))
    }

    /// Returns whether a row is selected. A filtered download never selects rows without a verdict.
    pub(super) fn selects(&self, email: Option<&str>, standing: Option<&SettledResult>) -> bool {
        self.is_all() || (standing.is_some() && self.takes(standing) && self.takes_address(email))
    }

    /// Returns a label of the selection, for file names.
    pub(super) fn label(&self) -> String {
        let reason = self.reason.map(|reason| reason.as_str().replace('_', "-"));
        match (&*self.statuses, reason) {
            (_, Some(reason)) => reason,
            ([], None) if self.is_all() => "verified".to_owned(),
            (["passed"], None) => "deliverable".to_owned(),
            ([], None) => "selected".to_owned(),
            (statuses, None) => statuses.join("-").replace("passed", "deliverable"),
        }
    }

    /// Returns a description of the selection.
    #[cfg(feature = "xlsx")]
    pub(super) fn words(&self, language: PageLanguage) -> String {
        let is_of_verdicts = self.provider.is_none() && self.texts.is_empty();
        match (&*self.statuses, self.reason) {
            _ if self.is_all() => SheetHeading::AllRows.text(language).to_owned(),
            ([], Some(reason)) if is_of_verdicts => reason_words(language, reason).to_owned(),
            (statuses, None) if is_of_verdicts => {
                let known = statuses.iter().filter_map(|name| Status::from_name(name));
                known.map(|of| status_words(language, of)).collect::<Vec<_>>().join(", ")
            }
            _ => SheetHeading::FilteredRows.text(language).to_owned(),
        }
    }

    /// Returns whether a row with this result is selected, regardless of its address.
    pub(super) fn takes(&self, standing: Option<&SettledResult>) -> bool {
        let kind = standing.map(|standing| &standing.result.kind);
        let status = kind.map_or(PENDING, |kind| kind.reason.status().as_str());
        let provider = kind.map(|kind| kind.provider.as_deref().unwrap_or(OTHER_PROVIDERS));
        (self.statuses.is_empty() || self.statuses.contains(&status))
            && self.reason.is_none_or(|wanted| kind.is_some_and(|kind| kind.reason == wanted))
            && self.provider.as_ref().is_none_or(|wanted| provider == Some(wanted))
    }
}
