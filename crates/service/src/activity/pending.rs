//! Depths of the queues of deliveries and mail.

use std::time::Duration;

use probity_store::webhooks::outbox;
use probity_telemetry::metrics::QueueDepth;

use crate::app::App;

/// Counts pending deliveries and measures how long the first one is overdue; unknown if the database is unavailable.
pub async fn count_deliveries(app: &App) -> QueueDepth {
    let Ok(mut conn) = app.store.read().await else { return QueueDepth::default() };
    let depth = outbox::depth(&mut conn).await.unwrap_or_default();
    let overdue = depth.first_due_at.map(|due| app.now().since(due)).filter(|late_ms| *late_ms > 0);
    let oldest = overdue.and_then(|late_ms| u64::try_from(late_ms).ok()).map(Duration::from_millis);
    QueueDepth { waiting: u64::try_from(depth.waiting).unwrap_or(0), oldest }
}

/// Counts pending mail; unknown if the database is unavailable.
pub async fn count_mail(app: &App) -> QueueDepth {
    let Ok(mut conn) = app.store.read().await else { return QueueDepth::default() };
    let waiting = probity_store::activity::letters::waiting(&mut conn).await.unwrap_or_default();
    QueueDepth { waiting: u64::try_from(waiting).unwrap_or(0), oldest: None }
}
