//! Suppression lists: addresses that an organization wants flagged in the results of lists.
//!
//! In jobs, a listed address gets the reason `spam`, `complained` or `bounced`, before overrides are applied. `GET
//! /v1/verify` does not use suppression lists. They belong to the organization, so test keys see and change the same ones.

use probity_account::block::{AddressBlock, PackedBlock};
use probity_account::suppression::SuppressionKind;
use probity_backend::privacy::suppressions::{SuppressionChange, TakenAddresses, tag_of};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::privacy::suppressions::{
    AddedTo, Lookup, REMOVED_MAX, Removal, RemovedFrom, SuppressionList, SuppressionLookupQuery,
    SuppressionRemovalQuery,
};
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_store::privacy::suppressions;
use probity_store::{OrgNo, work};

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Returns the number of addresses on a list and, if an address is given, whether the list has it.
pub async fn get_list(
    app: &App,
    caller: &Caller,
    list: SuppressionKind,
    query: SuppressionLookupQuery,
) -> Result<SuppressionList, ApiError> {
    let mut shown = show(app, caller, &[list], query).await?;
    shown.pop().ok_or_else(|| ApiError::server_error("a suppression list was not returned"))
}

/// Returns the number of addresses on each list and, if an address is given, which lists have it.
pub async fn get_all_lists(
    app: &App,
    caller: &Caller,
    query: SuppressionLookupQuery,
) -> Result<List<SuppressionList>, ApiError> {
    Ok(List::whole(show(app, caller, &SuppressionKind::ALL, query).await?))
}

async fn show(
    app: &App,
    caller: &Caller,
    lists: &[SuppressionKind],
    query: SuppressionLookupQuery,
) -> Result<Vec<SuppressionList>, ApiError> {
    let org = caller.org();
    let mut conn = app.store.read().await?;
    let all = suppressions::standing(&mut conn, org).await?;
    let standing: Vec<_> = all.into_iter().filter(|one| lists.contains(&one.list)).collect();
    let found = match &query.email {
        None => Vec::new(),
        Some(email) => {
            let tag = tag_of(&app.secrets, org, email).into_iter().collect();
            suppressions::find(&mut conn, org, &standing, &tag).await?
        }
    };
    let shown = |list: &SuppressionKind| {
        let since = found.iter().find(|one| one.list == *list).map(|one| one.since);
        let lookup = query.email.clone().map(|email| Lookup::new(email, since));
        SuppressionList::new(*list, standing.iter().find(|one| one.list == *list), lookup)
    };
    Ok(lists.iter().map(shown).collect())
}

/// Adds addresses to a list. The last step stores the response for retries; an interrupted addition is repeated as a whole.
pub async fn add_addresses(app: &App, once: &Once, addition: &SuppressionAddition) -> Result<AddedTo, ApiError> {
    let SuppressionAddition { change, taken } = addition;
    let steps = taken.steps();
    let (last, first) = steps.split_last().expect("there is at least one step");
    let before = change.add_all(&app.store, first).await?;
    let added = app.store.write(work!(|tx| {
        let changed = change.add(tx, last).await?;
        let added = before + (changed.after - changed.before);
        let shown = AddedTo::new(change.list, (taken.submitted, taken.invalid), added, changed.after);
        once.keep(tx, &shown).await?;
        Ok(shown)
    }));
    Ok(added.await?)
}

/// Removes the addresses of a body or, without a body, all addresses of a list.
pub async fn remove_addresses(
    app: &App,
    caller: &Caller,
    list: SuppressionKind,
    query: SuppressionRemovalQuery,
    removal: Option<Removal>,
) -> Result<RemovedFrom, ApiError> {
    let change = change_by(app, caller, list);
    let (removed, invalid) = match (query.all, removal) {
        (true, None) => (change.clear(&app.store).await?, 0),
        (false, Some(removal)) => {
            let taken = match caller {
                // An operator's file may have any number of lines.
                Caller::Staff { .. } => take_texts(app, change.org, &removal.emails),
                Caller::Key(_) | Caller::Person { .. } => checked_removal(app, change.org, &removal)?,
            };
            (change.remove_all(&app.store, &taken.steps()).await?, taken.invalid)
        }
        (true, Some(_)) => return Err(ApiError::invalid("all", "remove the body when `all=true`")),
        (false, None) => {
            return Err(ApiError::invalid("emails", "must be a list of addresses, or `all` must be true"));
        }
    };
    let standing = suppressions::standing(&mut app.store.read().await?, change.org).await?;
    let count = standing.iter().find(|one| one.list == list).map_or(0, |one| one.listed);
    Ok(RemovedFrom::new(list, removed, invalid, count))
}

fn checked_removal(app: &App, org: OrgNo, removal: &Removal) -> Result<TakenAddresses, ApiError> {
    let count = removal.emails.len();
    if !(1..=REMOVED_MAX).contains(&count) {
        return Err(ApiError::invalid("emails", format_args!("must have 1 to {REMOVED_MAX} addresses")));
    }
    if let Some(index) = removal.emails.iter().position(|email| email.len() > ADDRESS_MAX_BYTES) {
        let most = format_args!("may have at most {ADDRESS_MAX_BYTES} bytes");
        return Err(ApiError::invalid(&format!("emails[{index}]"), most));
    }
    Ok(take_texts(app, org, &removal.emails))
}

/// Addresses to add to a list, from a body that may be large: only their tags stay in memory.
#[derive(Debug)]
pub struct SuppressionAddition {
    change: SuppressionChange,
    taken: TakenAddresses,
}

impl SuppressionAddition {
    /// Starts an addition by the caller, dated now.
    pub fn begin(app: &App, caller: &Caller, list: SuppressionKind) -> Self {
        Self { change: change_by(app, caller, list), taken: TakenAddresses::default() }
    }

    /// Adds texts that may be addresses.
    pub fn take_texts(&mut self, app: &App, texts: &[String]) {
        for text in texts {
            self.taken.take(&app.secrets, self.change.org, text);
        }
    }

    /// Adds the addresses of a block.
    pub fn take(&mut self, app: &App, packed: &PackedBlock) -> Result<(), ApiError> {
        let block = AddressBlock::decode(&packed.bytes).map_err(ApiError::server_error)?;
        for address in block.iter() {
            self.taken.take(&app.secrets, self.change.org, &String::from_utf8_lossy(address));
        }
        Ok(())
    }
}

fn change_by(app: &App, caller: &Caller, list: SuppressionKind) -> SuppressionChange {
    SuppressionChange { org: caller.org(), list, actor: caller.actor(), at: app.now() }
}

/// Returns the tags of texts.
fn take_texts(app: &App, org: OrgNo, texts: &[String]) -> TakenAddresses {
    let mut taken = TakenAddresses::default();
    for text in texts {
        taken.take(&app.secrets, org, text);
    }
    taken
}
