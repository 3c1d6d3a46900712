//! Live calls over persistent connections, each with one request at a time.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::client::{Connection, get};

/// Number of callers and their pace.
#[derive(Clone, Copy, Debug)]
pub struct Callers {
    pub connections: u32,
    /// Interval between the calls of one connection; `None` calls again at once.
    pub pace: Option<Duration>,
}

impl Callers {
    /// Calls as fast as the service responds.
    pub fn busy(connections: u32) -> Self {
        Self { connections, pace: None }
    }

    /// Makes a fixed number of calls per second over all connections, regardless of response times.
    pub fn paced(connections: u32, calls_per_second: u32) -> Self {
        let pace = Duration::from_secs(1) * connections / calls_per_second.max(1);
        Self { connections, pace: Some(pace) }
    }
}

pub struct Load {
    shared: Arc<Shared>,
    connections: JoinSet<anyhow::Result<()>>,
}

#[derive(Default)]
struct Shared {
    /// Response times since the last look, in microseconds.
    took: Mutex<Vec<u32>>,
    answers: AtomicU64,
    ending: AtomicBool,
}

impl Load {
    /// Opens the connections and starts calling.
    #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub async fn start(to: SocketAddr, key: &str, email: &str, callers: Callers) -> anyhow::Result<Self> {
        let request: Arc<[u8]> = get(&format!("/v1/verify?email={email}"), Some(key)).into();
        let shared = Arc::new(Shared::default());
        let mut running = JoinSet::new();
        let began = Instant::now();
        for nth in 0..callers.connections {
            let connection = Connection::open(to).await?;
            // The callers start one after the other.
            let due = callers.pace.map(|pace| interval_at(began + pace * nth / callers.connections.max(1), pace));
            running.spawn(call(connection, request.clone(), due, shared.clone()));
        }
        Ok(Self { shared, connections: running })
    }

    /// Takes the response times since the last look, in microseconds.
    pub fn taken(&self) -> Vec<u32> {
        std::mem::take(&mut *self.shared.took.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets every connection finish its request; returns the total number of responses.
    ///
    /// # Errors
    /// If a response was not 200.
    pub async fn stop(mut self) -> anyhow::Result<u64> {
        self.shared.ending.store(true, Ordering::Relaxed);
        while let Some(ended) = self.connections.join_next().await {
            ended??;
        }
        Ok(self.shared.answers.load(Ordering::Relaxed))
    }
}

/// Measures a paced call from the time it was due, so that a slow response also counts for the calls that it delayed.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn call(
    mut connection: Connection,
    request: Arc<[u8]>,
    mut due: Option<Interval>,
    shared: Arc<Shared>,
) -> anyhow::Result<()> {
    if let Some(due) = &mut due {
        due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    }
    while !shared.ending.load(Ordering::Relaxed) {
        let began = match &mut due {
            Some(due) => due.tick().await,
            None => Instant::now(),
        };
        let (status, _) = connection.ask(&request).await?;
        ensure!(status == 200, "an answer had the status {status}");
        let took = u32::try_from(began.elapsed().as_micros())?;
        shared.took.lock().unwrap_or_else(PoisonError::into_inner).push(took);
        shared.answers.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Returns the time within which `percent` of the responses came, in milliseconds; 0 if there were none.
pub fn percentile_ms(took: &mut [u32], percent: usize) -> f64 {
    took.sort_unstable();
    let at = (took.len() * percent / 100).min(took.len().saturating_sub(1));
    took.get(at).map_or(0.0, |micros| f64::from(*micros) / 1_000.0)
}
