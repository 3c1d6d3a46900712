use anyhow::{Result, anyhow};
use probity_service::admin::Admin;
use probity_service::store::{Erasure, Org, StoreError};

use super::{failed, find};
use crate::admin::{self, Answer, ErasureWish};
use crate::config::serve::ServeSettings;
use crate::service::tombstones;

pub(super) async fn answer(admin: &Admin, serve: &ServeSettings, wish: ErasureWish) -> Result<Answer> {
    let org = find(admin, wish.org()).await?;
    let found = match wish {
        ErasureWish::Erase { emails, .. } => admin.erase(&org, &emails, &tombstones(serve)).await.map_err(failed)?,
        ErasureWish::List { limit, .. } => admin.list_erasures(&org, limit).await.map_err(failed)?,
        ErasureWish::Show { erasure, .. } => {
            let found = admin.erasure(&org, &erasure).await;
            vec![found.map_err(|error| missing(error, &erasure))?]
        }
    };
    Ok(Answer::Erasures(found.iter().map(|one| view(&org, one)).collect()))
}

fn missing(error: StoreError, erasure: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => {
            anyhow!("there is no erasure {erasure}; `probity erasures list` shows the last ones")
        }
        other => failed(other),
    }
}

fn view(org: &Org, erasure: &Erasure) -> admin::Erasure {
    admin::Erasure {
        id: erasure.id.to_string(),
        organization: org.id.to_string(),
        status: if erasure.completed_at.is_some() { "completed" } else { "queued" },
        addresses: erasure.addresses,
        requested_at: erasure.requested_at,
        completed_at: erasure.completed_at,
        removed: erasure.removed.clone(),
    }
}
