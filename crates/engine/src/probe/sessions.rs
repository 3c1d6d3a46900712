//! Sessions: opens them, keeps them for the next probe, and ends them with QUIT.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::permits::SessionPermits;
use crate::limits::work::BackgroundWork;
use crate::net::link::{MailSession, SessionContext, SessionEnding};
use crate::pace::{Site, SiteSlot};

pub(crate) struct SessionPool {
    /// Context of new sessions.
    pub(crate) ground: SessionContext,
    pub(crate) permits: SessionPermits,
    work: Arc<BackgroundWork>,
}

impl SessionPool {
    pub(crate) fn new(ground: SessionContext, sessions_max: usize, work: Arc<BackgroundWork>) -> Self {
        Self { ground, permits: SessionPermits::new(sessions_max), work }
    }

    /// Sends QUIT and reports the server's behavior to the site.
    pub(crate) async fn part(&self, site: Option<&Site>, link: MailSession) -> SessionEnding {
        part(&self.ground, site, link).await
    }

    /// Ends a session in the background.
    pub(crate) fn end(&self, site: &Arc<Site>, link: MailSession) {
        let (ground, site) = (self.ground.clone(), site.clone());
        self.work.spawn(async move { part(&ground, Some(&site), link).await });
    }

    /// Ends a session in the background; its slot is released when the server has seen the end.
    pub(crate) fn end_holding(&self, site: Option<Arc<Site>>, link: MailSession, slot: SiteSlot) {
        let ground = self.ground.clone();
        self.work.spawn(async move {
            part(&ground, site.as_deref(), link).await;
            drop(slot);
        });
    }

    /// Keeps a session for the next probe at its site, for `idle_ms`.
    pub(crate) fn keep_warm(&self, site: Arc<Site>, link: MailSession, idle_ms: u64) {
        let Some(permit) = self.permits.idle() else { return self.end(&site, link) };
        let number = site.put_idle(link);
        let (ground, closing) = (self.ground.clone(), self.work.closing().clone());
        self.work.spawn(async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(idle_ms)) => {}
            }
            if let Some(link) = site.expire_idle(number) {
                part(&ground, Some(&site), link).await;
            }
        });
    }
}

async fn part(ground: &SessionContext, site: Option<&Site>, link: MailSession) -> SessionEnding {
    let refusals = link.refusals();
    let goodbye = link.quit().await;
    if let Some(site) = site
        && refusals > 0
    {
        site.parted(ground.clock.now(), goodbye == SessionEnding::Missing);
    }
    goodbye
}
