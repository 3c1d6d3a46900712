//! Converts records to contacts and lists.

use probity_mail::time::Millis;
use serde_json::Value;

use crate::answer::RawRecord;
use crate::file::{AmongRule, ContactState, ContactsRule, DateAt, ListsRule, SinceKind, StateRule};
use crate::source::Found;

/// Maximum length of an ID, in bytes.
const ID_MAX: usize = 512;
/// Maximum length of an address, in bytes. Longer than RFC 5321 §4.5.3.1.3 allows, because rejecting addresses is up to the
/// verifier.
const EMAIL_MAX: usize = 1024;
/// Maximum length of a name, in characters.
const NAME_MAX: usize = 200;

/// List, audience, group or segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRecord {
    pub id: String,
    pub name: String,
    pub count: Option<u64>,
}

/// Contact as stored by the platform.
#[derive(Clone, PartialEq, Eq)]
pub struct ContactRecord {
    pub id: String,
    pub email: String,
    pub state: ContactState,
    /// List from which the contact was read.
    pub list: Option<String>,
    pub created: Option<Millis>,
    pub updated: Option<Millis>,
}

/// Omits the address, and the ID, which may be an address.
impl std::fmt::Debug for ContactRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContactRecord").field("state", &self.state).field("list", &self.list).finish_non_exhaustive()
    }
}

impl ContactRecord {
    pub(super) fn date(&self, kind: SinceKind) -> Option<Millis> {
        match kind {
            SinceKind::Created => self.created,
            SinceKind::Updated => self.updated,
        }
    }
}

/// Content of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPage {
    pub lists: Vec<ListRecord>,
    pub contacts: Vec<ContactRecord>,
    /// Records without an ID or an address, such as contacts with only a telephone number.
    pub skipped: usize,
    /// Newest date so far. Store it only in one transaction with the position and the contacts of this page.
    pub watermark: Option<Millis>,
}

pub(super) fn lists(rule: &ListsRule, records: &[RawRecord<'_>]) -> ReadPage {
    let list = |record: &RawRecord<'_>| {
        let found = record.found();
        let id = rule.id.text(found).filter(|id| (1..=ID_MAX).contains(&id.len()))?;
        let name = rule.name.text(found).unwrap_or_else(|| id.clone()).chars().take(NAME_MAX).collect();
        let count = rule.count.as_ref().and_then(|count| count.text(found)?.parse().ok());
        Some(ListRecord { id, name, count })
    };
    let lists: Vec<_> = records.iter().filter_map(list).collect();
    ReadPage { skipped: records.len() - lists.len(), lists, ..ReadPage::default() }
}

/// Reads contacts. `by_call` is the state that the request selected.
pub(super) fn contacts(
    rule: &ContactsRule,
    records: &[RawRecord<'_>],
    list: Option<&str>,
    by_call: Option<ContactState>,
) -> ReadPage {
    let fields = &rule.fields;
    let contact = |record: &RawRecord<'_>| {
        let found = record.found();
        let id = fields.id.text(found).filter(|id| (1..=ID_MAX).contains(&id.len()))?;
        let email = fields.email.text(found).filter(|email| (1..=EMAIL_MAX).contains(&email.trim().len()))?;
        let state = state(rule, found).or(by_call).unwrap_or(fields.state_default);
        let (created, updated) = (date(fields.created.as_ref(), found), date(fields.updated.as_ref(), found));
        let (email, list) = (email.trim().to_owned(), list.map(str::to_owned));
        Some(ContactRecord { id, email, state, list, created, updated })
    };
    let contacts: Vec<_> = records.iter().filter_map(contact).collect();
    ReadPage { skipped: records.len() - contacts.len(), contacts, ..ReadPage::default() }
}

/// Returns the state that a record states.
pub(crate) fn state(rule: &ContactsRule, found: Found<'_>) -> Option<ContactState> {
    rule.fields.state.iter().find_map(|rule| match &rule.among {
        None => meaning(rule, found),
        Some(among) => items(among, found).find_map(|item| meaning(rule, Found { body: item, ..found })),
    })
}

fn meaning(rule: &StateRule, found: Found<'_>) -> Option<ContactState> {
    rule.map.get(&rule.at.text(found)?).copied()
}

/// Returns the items that count.
fn items<'a>(among: &'a AmongRule, found: Found<'a>) -> impl Iterator<Item = &'a Value> {
    let items = among.records.within(found).and_then(Value::as_array);
    items.into_iter().flatten().filter(move |item| {
        let at = among.at.text(Found { body: item, ..found });
        at.is_some_and(|text| among.is.contains(&text))
    })
}

fn date(rule: Option<&DateAt>, found: Found<'_>) -> Option<Millis> {
    let rule = rule?;
    rule.form.read(&rule.at.text(found)?)
}
