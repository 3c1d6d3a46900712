//! The service's configuration: listeners, data, limits.
//!
//! Related keys are checked together here, such as an organization with a lower limit than its keys. No message repeats a secret.

pub(crate) mod listening;
mod place;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use probity_account::plans::Plans;
use probity_backend::accounts::mail::{MailConfig, NoMail};
use probity_backend::uploads::UploadsConfig;
use probity_backend::widget::WidgetConfig;
use probity_mail::time::DAY_MS;
use probity_service::store::SessionLifetimes;
use secrecy::{ExposeSecret as _, SecretString};

use super::sections::{
    AdminSection, BatchSection, DatabaseSection, IntegrationsSection, MailSection, RateSection, Sections,
    ServerSection, WebhooksSection,
};
use super::{Layers, plans};

pub(super) use self::place::data_home;
pub(crate) use super::types::Database;

/// Our directory in the data directory of all programs.
const OWN_DATA: &str = "probity";
/// Default name of the SQLite database.
const DATABASE_FILE: &str = "probity.db";
/// Default name of the pepper's file.
const PEPPER_FILE: &str = "pepper";
/// Default slots for jobs: one per this number of domains, within bounds. A slot takes about 1 MB of memory.
const DOMAINS_PER_SLOT: usize = 32;
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 128;

/// Configuration of `probity serve` and of the commands that use its data: its sections, and what follows from several keys.
#[derive(Clone, Debug)]
pub(crate) struct ServeSettings {
    pub server: ServerSection,
    pub admin: AdminSection,
    pub rate: RateSection,
    pub batch: BatchSection,
    pub webhooks: WebhooksSection,
    pub integrations: IntegrationsSection,
    /// Directory of the database and the pepper; the first start creates it.
    pub data: PathBuf,
    pub database: DatabaseSettings,
    /// Pepper that API keys are hashed with.
    pub pepper: Pepper,
    /// File of the master key that encrypts addresses at rest; `None` if they are not encrypted.
    pub master_key: Option<PathBuf>,
    pub widget: WidgetConfig,
    pub uploads: UploadsConfig,
    /// Concurrent chunks of 1,000 addresses over all jobs.
    pub batch_slots: usize,
    pub plans: Arc<Plans>,
    /// Time that deliveries are kept in the log, in milliseconds.
    pub deliveries_keep_ms: i64,
    /// Lifetimes of dashboard sessions.
    pub session: SessionLifetimes,
    /// Lifetime of invitation links, in milliseconds.
    pub invitation_ms: i64,
    /// Outgoing mail; `None` sends none.
    pub mail: Option<MailConfig>,
}

/// The database and its limits.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseSettings {
    pub place: Database,
    pub limits: DatabaseSection,
}

/// Location of the pepper.
#[derive(Clone, Debug)]
pub(crate) enum Pepper {
    /// Set in the configuration.
    Given(SecretString),
    /// Stored in a file that the first start creates with mode 0600.
    File(PathBuf),
}

impl ServeSettings {
    pub(super) fn read(layers: &Layers, sections: Sections) -> Result<Self> {
        check_together(layers, &sections)?;
        let Sections { server, database, widget, uploads, session, .. } = sections;
        let data = server.data.clone().unwrap_or_else(|| layers.data_home.join(OWN_DATA));
        let place = database.url.clone().unwrap_or_else(|| Database::Sqlite(data.join(DATABASE_FILE)));
        let pepper = sections.secrets.pepper.0;
        Ok(Self {
            database: DatabaseSettings { place, limits: database },
            pepper: pepper.map_or_else(|| Pepper::File(data.join(PEPPER_FILE)), Pepper::Given),
            master_key: sections.secrets.master_key_file,
            widget: WidgetConfig {
                visitor_per_minute: widget.visitor_per_minute.get(),
                key_per_minute: widget.key_per_minute.get(),
                daily_cap: widget.daily_cap.get(),
            },
            uploads: UploadsConfig {
                body_max: uploads.body_max.bytes(),
                at_once: uploads.at_once.get(),
                keep_days: uploads.keep_days.get(),
            },
            batch_slots: batch_slots(sections.batch.slots.get(), sections.limits.domains.get()),
            plans: Arc::new(
                plans::read(&layers.plans, &sections.credits.plan, sections.credits.initial.get())
                    .map_err(|message| anyhow!("{}{message}", layers.in_file()))?,
            ),
            deliveries_keep_ms: sections.webhooks.keep_days.get() * DAY_MS,
            session: SessionLifetimes { idle_ms: session.idle.ms(), absolute_ms: session.absolute.ms() },
            invitation_ms: sections.team.invitation.ms(),
            mail: mail(layers, &sections.mail, server.public_url.0.as_deref())?,
            server,
            admin: sections.admin,
            rate: sections.rate,
            batch: sections.batch,
            webhooks: sections.webhooks,
            integrations: sections.integrations,
            data,
        })
    }

    /// Returns the SQLite file: the configured one, or the default in the data directory if a server is configured.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.database.place {
            Database::Sqlite(path) => path.clone(),
            Database::Postgres(_) => self.data.join(DATABASE_FILE),
        }
    }

    /// Returns the first address on which the service listens: the one recorded at its start, else the configured one.
    pub(crate) fn listening(&self) -> Option<SocketAddr> {
        listening::of(&self.data).or_else(|| self.server.listen.0.first().copied())
    }

    /// Returns the URL for customers: the configured one, or one of this machine.
    pub(crate) fn base_url(&self, listening: SocketAddr) -> String {
        self.server.public_url.0.clone().unwrap_or_else(|| format!("http://{}", reachable(listening)))
    }
}

/// Returns an address that reaches a listener from this machine: loopback for a wildcard address.
pub(crate) fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

/// Refuses values that do not fit each other.
fn check_together(layers: &Layers, sections: &Sections) -> Result<()> {
    let Sections { admin, rate, .. } = sections;
    if admin.key.0.is_none() && !admin.listen.is_empty() {
        return Err(layers.wrong("admin.listen", "needs admin.key"));
    }
    let key = rate.key_per_minute.get();
    if rate.organization_per_minute.get() < key {
        let what = format!("must be at least rate.key_per_minute, which is {key}");
        return Err(layers.wrong("rate.organization_per_minute", &what));
    }
    Ok(())
}

/// Returns the configured slots, or enough to keep the domains busy that are verified concurrently.
fn batch_slots(configured: usize, domains: usize) -> usize {
    match configured {
        0 => (domains / DOMAINS_PER_SLOT).clamp(SLOTS_MIN, SLOTS_MAX),
        slots => slots,
    }
}

fn mail(layers: &Layers, section: &MailSection, public_url: Option<&str>) -> Result<Option<MailConfig>> {
    if section.relay.0.expose_secret().is_empty() {
        return Ok(None);
    }
    let Some(public_url) = public_url else {
        return Err(layers.wrong("mail.relay", "needs server.public_url, for the links in mail"));
    };
    let key = |wrong: &NoMail| match wrong {
        NoMail::Relay => "mail.relay",
        NoMail::From => "mail.from",
    };
    let mail = MailConfig::new(&section.relay.0, &section.from, public_url);
    mail.map(Some).map_err(|wrong| layers.wrong(key(&wrong), &wrong.to_string()))
}

#[cfg(test)]
mod tests;
