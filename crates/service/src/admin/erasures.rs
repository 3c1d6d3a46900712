//! Erasures that the operator asks for on behalf of an organization.

use std::collections::BTreeSet;
use std::path::Path;

use probity_account::id::ErasureId;
use probity_store::erasures::{self, Erasure, NewErasure, Tag};
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::organization::Org;
use probity_store::{Result, ScopedFutureExt as _, StoreError};

use crate::admin::Admin;
use crate::erasures as erasing;
use crate::erasures::write_down;
use crate::published::erasures::ADDRESSES_MAX;

impl Admin {
    /// Takes the wish down to erase addresses, a thousand to an erasure; a running service carries it out. `tombstones` is the
    /// service's file of them.
    pub async fn erase(&self, org: &Org, emails: &[String], tombstones: &Path) -> Result<Vec<Erasure>> {
        let tags: BTreeSet<Tag> =
            emails.iter().map(|email| erasing::tag(&self.instance.secrets, org.no, email)).collect();
        let tags: Vec<Tag> = tags.into_iter().collect();
        let mut erasures = Vec::new();
        for tags in tags.chunks(ADDRESSES_MAX) {
            erasures.push(self.erase_some(org, tags, tombstones).await?);
        }
        Ok(erasures)
    }

    /// One erasure: into the database and then into the file, as the service does it.
    async fn erase_some(&self, org: &Org, tags: &[Tag], tombstones: &Path) -> Result<Erasure> {
        let (store, now) = (&self.instance.store, self.now());
        let (id, tags) = (crate::random::id(now), tags.to_vec());
        let mut new = NewErasure { org: org.no, id, test: false, tags, webhook_url: None, requested_at: now };
        let taken = store.write(|tx| {
            async {
                erasures::wish(tx, &new, now, usize::MAX).await?;
                events::add(tx, org.no, now, Some(Actor::Staff), &[What::Account(AccountEvent::Erasure)]).await?;
                erasures::by_id(tx, org.no, new.id, false).await
            }
            .scope_boxed()
        });
        let erasure = taken.await?;
        new.requested_at = erasure.requested_at;
        write_down(tombstones, &new).await.map_err(|error| StoreError::Corrupt(error.into()))?;
        Ok(erasure)
    }

    /// Erasures of an organization's live jobs, the newest first.
    pub async fn list_erasures(&self, org: &Org, at_most: u32) -> Result<Vec<Erasure>> {
        erasures::page(&mut self.instance.store.read().await?, org.no, false, None, i64::from(at_most)).await
    }

    /// One erasure.
    pub async fn erasure(&self, org: &Org, id: &str) -> Result<Erasure> {
        let id: ErasureId = id.parse().map_err(|_| StoreError::NotFound)?;
        erasures::by_id(&mut self.instance.store.read().await?, org.no, id, false).await
    }
}
