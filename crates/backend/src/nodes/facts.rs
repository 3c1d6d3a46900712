//! The engine's facts about domains, in the database, shared by all nodes.
//!
//! A list with many domains requests thousands of facts at once. One task looks them up: requests that arrive during a read are
//! combined in its next one. A single request therefore does not wait for others, and many share one connection and few
//! statements. If a read fails, its requests fail.

use std::collections::HashMap;

use probity_engine::knowledge::facts::{DomainFacts, LearnedFact, SharedError, SharedFacts};
use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;
use probity_store::nodes::facts::{self, StoredDomainFact};
use probity_store::{ScopedFutureExt as _, Store};
use tokio::sync::{mpsc, oneshot};

/// Facts looked up together.
const TOGETHER: usize = 500;
/// Requests that may wait. Further callers also wait for a place in the queue.
const WAITING: usize = 10_000;

/// Domain and host.
type DomainAndHost = (Box<str>, Box<str>);

/// Pending request. It is skipped if its receiver was dropped.
struct FactQuestion {
    names: DomainAndHost,
    /// `None` if the database failed.
    answer: oneshot::Sender<Option<DomainFacts>>,
}

/// Facts in a store. Wrap it in `probity_engine::knowledge::facts::Layered`, which answers from memory and writes in the
/// background.
pub struct StoredFacts {
    store: Store,
    questions: mpsc::Sender<FactQuestion>,
}

/// The database did not respond. The log has the cause.
#[derive(Debug, thiserror::Error)]
#[error("the database did not respond")]
struct Unanswered;

impl StoredFacts {
    /// Starts the task that looks facts up; it ends when this value is dropped. Call within a tokio runtime.
    pub fn new(store: Store) -> Self {
        let (questions, asked) = mpsc::channel(WAITING);
        tokio::spawn(look_up(store.clone(), asked));
        Self { store, questions }
    }
}

impl SharedFacts for StoredFacts {
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, Result<DomainFacts, SharedError>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.questions.send(FactQuestion { names: (domain.into(), host.into()), answer }).await?;
            Ok(answered.await?.ok_or(Unanswered)?)
        })
    }

    fn remember(&self, learned: Vec<LearnedFact>) -> BoxFuture<'_, Result<(), SharedError>> {
        Box::pin(async move {
            let rows: Vec<StoredDomainFact> = learned.into_iter().map(row).collect();
            Ok(self.store.write_bulk(|tx| facts::remember(tx, &rows).scope_boxed()).await?)
        })
    }
}

/// Answers requests until all senders are gone.
async fn look_up(store: Store, mut asked: mpsc::Receiver<FactQuestion>) {
    let mut questions = Vec::with_capacity(TOGETHER);
    while asked.recv_many(&mut questions, TOGETHER).await > 0 {
        questions.retain(|question| !question.answer.is_closed());
        let names: Vec<&DomainAndHost> = questions.iter().map(|question| &question.names).collect();
        let known = match recall(&store, &names).await {
            Ok(known) => Some(known),
            Err(error) => {
                tracing::debug!(%error, "facts about domains were not read");
                None
            }
        };
        for FactQuestion { names, answer } in questions.drain(..) {
            // The caller may have left.
            let _ = answer.send(known.as_ref().map(|known| known.get(&names).copied().unwrap_or_default()));
        }
    }
}

async fn recall(store: &Store, names: &[&DomainAndHost]) -> probity_store::Result<HashMap<DomainAndHost, DomainFacts>> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let facts = facts::recall(&mut store.read().await?, names).await?;
    let known = |StoredDomainFact { domain, host, catch_all, accepted_until }| {
        ((domain.into(), host.into()), DomainFacts { catch_all, accepted_until })
    };
    Ok(facts.into_iter().map(known).collect())
}

fn row(learned: LearnedFact) -> StoredDomainFact {
    let LearnedFact { domain, host, facts: DomainFacts { catch_all, accepted_until } } = learned;
    let catch_all: Option<(bool, Millis)> = catch_all;
    StoredDomainFact { domain: domain.into(), host: host.into(), catch_all, accepted_until }
}
