//! The engine's facts about domains, in the database, where nodes share them.

use probity_core::time::Millis;
use probity_engine::facts::{DomainFacts, Learned, SharedError, SharedFacts};
use probity_engine::net::BoxFuture;
use probity_store::facts::Fact;
use probity_store::{ScopedFutureExt as _, Store, facts};

/// Facts in a store. Put `probity_engine::facts::Layered` in front of it: it answers from memory and writes behind.
pub struct StoredFacts(pub Store);

impl SharedFacts for StoredFacts {
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, Result<DomainFacts, SharedError>> {
        Box::pin(async move {
            let fact = facts::recall(&mut self.0.read().await?, domain, host).await?;
            Ok(fact.map_or_else(DomainFacts::default, |fact| DomainFacts {
                catch_all: fact.catch_all,
                accepted_until: fact.accepted_until,
            }))
        })
    }

    fn remember(&self, learned: Vec<Learned>) -> BoxFuture<'_, Result<(), SharedError>> {
        Box::pin(async move {
            let rows: Vec<Fact> = learned.into_iter().map(row).collect();
            Ok(self.0.write(|tx| facts::remember(tx, &rows).scope_boxed()).await?)
        })
    }
}

fn row(learned: Learned) -> Fact {
    let Learned { domain, host, facts: DomainFacts { catch_all, accepted_until } } = learned;
    let catch_all: Option<(bool, Millis)> = catch_all;
    Fact { domain: domain.into(), host: host.into(), catch_all, accepted_until }
}
