//! The service's configuration: listeners, data, limits.
//!
//! Related keys are checked together here, such as an organization with a lower limit than its keys. No message repeats a secret.

pub(crate) mod listening;
mod place;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Result;
use probity_access::mail::{MailConfig, NoMail};
use secrecy::{ExposeSecret as _, SecretString};

use super::sections::{MailSection, Sections};
use super::{Layers, Settings};

pub(super) use self::place::data_home;
pub(crate) use super::types::Database;

/// Our directory in the data directory of all programs.
pub(super) const OWN_DATA: &str = "probity";
/// Default name of the SQLite database.
pub(super) const DATABASE_FILE: &str = "probity.db";
/// Default name of the pepper's file.
pub(super) const PEPPER_FILE: &str = "pepper";
/// Default slots for jobs: one per this number of domains, within bounds. A slot takes about 1 MB of memory.
const DOMAINS_PER_SLOT: usize = 32;
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 128;

/// Location of the pepper.
#[derive(Clone, Debug)]
pub(crate) enum Pepper {
    /// Set in the configuration.
    Given(SecretString),
    /// Stored in a file that the first start creates with mode 0600.
    File(PathBuf),
}

impl Settings {
    /// Returns the SQLite file: the configured one, or the default in the data directory if a server is configured.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.database {
            Database::Sqlite(path) => path.clone(),
            Database::Postgres(_) => self.data.join(DATABASE_FILE),
        }
    }

    /// Returns the first address on which the service listens: the one recorded at its start, else the configured one.
    pub(crate) fn listening(&self) -> Option<SocketAddr> {
        listening::of(&self.data).or_else(|| self.sections.server.listen.0.first().copied())
    }

    /// Returns the URL for customers: the configured one, or one of this machine.
    pub(crate) fn base_url(&self, listening: SocketAddr) -> String {
        self.sections.server.public_url.0.clone().unwrap_or_else(|| format!("http://{}", reachable(listening)))
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

/// Refuses values that contradict each other.
pub(super) fn check_together(layers: &Layers, sections: &Sections) -> Result<()> {
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
pub(super) fn batch_slots(configured: usize, domains: usize) -> usize {
    match configured {
        0 => (domains / DOMAINS_PER_SLOT).clamp(SLOTS_MIN, SLOTS_MAX),
        slots => slots,
    }
}

pub(super) fn mail(layers: &Layers, section: &MailSection, public_url: Option<&str>) -> Result<Option<MailConfig>> {
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
