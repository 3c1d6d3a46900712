use anyhow::{Context as _, Result};
use probity_account::suppression::List;
use probity_service::admin::{Addresses, Admin, ListChange, ListCount};
use probity_service::store::Org;

use crate::admin::Answer;
use crate::admin::suppressions::{self, Changed, Wish};

pub(super) async fn answer(admin: &Admin, org: &Org, wish: Wish) -> Result<Answer> {
    match wish {
        Wish::Count => {
            let counts = admin.suppression_counts(org).await.map_err(super::failed)?;
            Ok(Answer::Suppressions(counts.into_iter().map(|one| view(org, one)).collect()))
        }
        Wish::Add(list, texts) => {
            let added = taken(admin, org, &list, &texts)?.add(org).await.map_err(super::failed)?;
            Ok(changed(org, added, added.changed, 0))
        }
        Wish::Remove(list, texts) => {
            let removed = taken(admin, org, &list, &texts)?.remove(org).await.map_err(super::failed)?;
            Ok(changed(org, removed, 0, removed.changed))
        }
        Wish::Clear(list) => {
            let cleared = admin.clear_suppressions(org, named(&list)?).await.map_err(super::failed)?;
            Ok(changed(org, cleared, 0, cleared.changed))
        }
    }
}

fn named(list: &str) -> Result<List> {
    List::from_name(list).with_context(|| format!("there is no suppression list {list:?}"))
}

fn taken<'a>(admin: &'a Admin, org: &Org, list: &str, texts: &[String]) -> Result<Addresses<'a>> {
    let mut addresses = admin.suppressions(org, named(list)?);
    for text in texts {
        addresses.take(text);
    }
    Ok(addresses)
}

fn changed(org: &Org, change: ListChange, added: i64, removed: i64) -> Answer {
    Answer::SuppressionsChanged(Changed { list: view(org, change.now), added, removed, invalid: change.invalid })
}

fn view(org: &Org, one: ListCount) -> suppressions::List {
    suppressions::List {
        name: one.list.as_str().to_owned(),
        organization: org.id.to_string(),
        count: one.count,
        changed_at: one.changed_at,
    }
}
