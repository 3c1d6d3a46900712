//! Bells of other nodes, on the way to the tasks of this one.

use std::sync::Arc;
use std::time::Duration;

use probity_store::wake::{Bell, Listener};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// The pause before the first new try after the connection broke; it doubles with each try that fails.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Listens until it is told to end, again and again where the connection breaks; at once done where nobody can ring.
pub async fn run(app: Arc<App>, ending: CancellationToken) {
    let mut pause = PAUSE;
    while !ending.is_cancelled() {
        match ending.run_until_cancelled(app.store.listen()).await {
            None | Some(Ok(None)) => return,
            Some(Ok(Some(listener))) => {
                pause = PAUSE;
                app.presence.listens(true);
                let ended = ending.run_until_cancelled(hear(&app, listener)).await;
                app.presence.listens(false);
                if ended.is_some() {
                    tracing::warn!("not receiving wake-ups from other nodes; polling more often");
                }
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "no connection for wake-ups");
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
        ending.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

/// Passes bells on until the connection breaks.
async fn hear(app: &App, mut listener: Listener) {
    // Whatever was rung before is lost.
    for bell in Bell::ALL {
        pass(app, bell);
    }
    while let Ok(bell) = listener.next().await {
        pass(app, bell);
    }
}

fn pass(app: &App, bell: Bell) {
    match bell {
        Bell::Import => app.wake.import.notify_one(),
        Bell::Work => app.wake.work.notify_one(),
        Bell::Outbox => app.callbacks.wake(),
    }
}
