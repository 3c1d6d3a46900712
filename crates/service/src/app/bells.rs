//! Forwards wake-ups from other nodes to the tasks of this node.
//!
//! Wake-ups are hints. Without a connection, tasks poll more often.

use std::sync::Arc;
use std::time::Duration;

use probity_store::nodes::wake::{self, WakeUp, WakeUpListener};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// Pause before reconnecting after the connection broke. Doubles with each failed attempt.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Listens until `ending` is canceled, and reconnects if the connection breaks. Returns immediately on SQLite, where there
/// are no other nodes.
pub async fn run(app: Arc<App>, ending: CancellationToken) {
    let mut pause = PAUSE;
    while !ending.is_cancelled() {
        match ending.run_until_cancelled(wake::listen(&app.store)).await {
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

/// Forwards wake-ups until the connection breaks.
async fn hear(app: &App, mut listener: WakeUpListener) {
    // Earlier wake-ups are lost, so all tasks are notified once.
    for bell in WakeUp::ALL {
        pass(app, bell);
    }
    while let Ok(bell) = listener.next().await {
        pass(app, bell);
    }
}

fn pass(app: &App, bell: WakeUp) {
    match bell {
        WakeUp::Import => app.wake.import.notify_one(),
        WakeUp::Work => app.wake.work.notify_one(),
        WakeUp::Outbox => app.callbacks.wake(),
        WakeUp::Runs => app.wake.runs.notify_one(),
    }
}
