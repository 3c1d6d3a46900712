//! The engine's facts about domains, in the database, where nodes share them.
//!
//! A list of many domains asks for thousands of facts at once. One task looks them up: what is asked while it reads is looked
//! up together in its next read, so whoever asks alone waits for nobody, and many share one connection and few statements.

use std::collections::HashMap;

use probity_engine::facts::{DomainFacts, Learned, SharedError, SharedFacts};
use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;
use probity_store::facts::Fact;
use probity_store::{ScopedFutureExt as _, Store, facts};
use tokio::sync::{mpsc, oneshot};

/// Facts that are looked up together.
const TOGETHER: usize = 500;
/// Questions that may wait; who comes then waits for room as well as for an answer.
const WAITING: usize = 10_000;

/// Domain and host.
type Names = (Box<str>, Box<str>);

/// One question. Nobody waits for an answer whose receiver is gone.
struct Question {
    names: Names,
    /// None: the database did not answer.
    answer: oneshot::Sender<Option<DomainFacts>>,
}

/// Facts in a store. Put `probity_engine::facts::Layered` in front of it: it answers from memory and writes behind.
pub struct StoredFacts {
    store: Store,
    questions: mpsc::Sender<Question>,
}

/// The database did not answer. Why is in the log.
#[derive(Debug, thiserror::Error)]
#[error("the database did not respond")]
struct Unanswered;

impl StoredFacts {
    /// Facts in this store. Call within a tokio runtime: looking up is a task of its own, which ends with this.
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
            self.questions.send(Question { names: (domain.into(), host.into()), answer }).await?;
            Ok(answered.await?.ok_or(Unanswered)?)
        })
    }

    fn remember(&self, learned: Vec<Learned>) -> BoxFuture<'_, Result<(), SharedError>> {
        Box::pin(async move {
            let rows: Vec<Fact> = learned.into_iter().map(row).collect();
            Ok(self.store.write_bulk(|tx| facts::remember(tx, &rows).scope_boxed()).await?)
        })
    }
}

/// Answers questions until nobody can ask any more.
async fn look_up(store: Store, mut asked: mpsc::Receiver<Question>) {
    let mut questions = Vec::with_capacity(TOGETHER);
    while asked.recv_many(&mut questions, TOGETHER).await > 0 {
        questions.retain(|question| !question.answer.is_closed());
        let names: Vec<&Names> = questions.iter().map(|question| &question.names).collect();
        let known = match recall(&store, &names).await {
            Ok(known) => Some(known),
            Err(error) => {
                tracing::debug!(%error, "facts about domains were not read");
                None
            }
        };
        for Question { names, answer } in questions.drain(..) {
            // Who asked may have given up.
            let _ = answer.send(known.as_ref().map(|known| known.get(&names).copied().unwrap_or_default()));
        }
    }
}

async fn recall(store: &Store, names: &[&Names]) -> probity_store::Result<HashMap<Names, DomainFacts>> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let facts = facts::recall(&mut store.read().await?, names).await?;
    let known = |Fact { domain, host, catch_all, accepted_until }| {
        ((domain.into(), host.into()), DomainFacts { catch_all, accepted_until })
    };
    Ok(facts.into_iter().map(known).collect())
}

fn row(learned: Learned) -> Fact {
    let Learned { domain, host, facts: DomainFacts { catch_all, accepted_until } } = learned;
    let catch_all: Option<(bool, Millis)> = catch_all;
    Fact { domain: domain.into(), host: host.into(), catch_all, accepted_until }
}
