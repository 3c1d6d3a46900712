//! The service's configuration: listeners, data, limits.
//!
//! Related keys are checked together here: a deadline below the one that callers may request, an organization with a lower limit
//! than its keys. Secrets become [`SecretString`]s here, and no message repeats one.

mod place;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ipnet::IpNet;
use probity_account::api_key::{BRAND_MAX_BYTES, is_brand};
use probity_account::plans::Plans;
use probity_mail::time::DAY_MS;
use probity_service::links;
use probity_service::mail::{MailConfig, NoMail};
use probity_service::roles::{Role, Roles};
use probity_service::store::Lifetimes;
use probity_service::uploads::UploadsConfig;
use probity_service::widget::WidgetConfig;
use secrecy::SecretString;

use self::place::data_directory;
use super::plans;
use super::settings::Reader;

pub(super) use self::place::data_home;

/// Default name of the SQLite database.
const DATABASE_FILE: &str = "probity.db";
/// Default name of the pepper's file.
const PEPPER_FILE: &str = "pepper";
/// Minimum time limit of requests, in milliseconds; a verification gets 1 s less.
const REQUEST_MIN_MS: i64 = 2_000;
/// Minimum lease of work, in milliseconds; its holder renews it 4 times as often.
const LEASE_MIN_MS: i64 = 1_000;
/// Default slots for jobs: one per this number of domains, within bounds. A slot takes about 1 MB of memory.
const DOMAINS_PER_SLOT: usize = 32;
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 128;
/// Minimum characters of a pepper: 128 bits even in hexadecimal.
const PEPPER_MIN: usize = 32;
/// Minimum characters of the metrics token.
const TOKEN_MIN: usize = 16;
/// Minimum characters of the operator's key.
const ADMIN_KEY_MIN: usize = 32;

/// Configuration of `probity serve` and of the commands that use its data.
#[derive(Clone, Debug)]
pub(crate) struct ServeSettings {
    /// Directory of the database and the pepper; the first start creates it.
    pub data: PathBuf,
    /// Addresses to listen on; at least one.
    pub listen: Vec<SocketAddr>,
    /// Roles of this node; at least one.
    pub roles: Roles,
    /// URL for customers, without a trailing slash; `None` if not configured.
    pub public_url: Option<String>,
    /// First part of new keys.
    pub brand: String,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum concurrent client connections.
    pub connections: usize,
    /// Maximum request body, in bytes.
    pub body_max: usize,
    /// Time limit for the head of a request, in milliseconds.
    pub header_timeout_ms: i64,
    /// Time limit of a whole request, in milliseconds; a verification gets 1 s less.
    pub request_timeout_ms: i64,
    /// Time for requests to finish after the signal to stop, in milliseconds.
    pub shutdown_grace_ms: i64,
    /// Bearer token of `/metrics`; `None` if not configured.
    pub metrics_token: Option<SecretString>,
    /// Key of the operator API; `None` disables that API.
    pub admin_key: Option<SecretString>,
    /// Separate addresses of the operator API; empty if it shares the API's listeners.
    pub admin_listen: Vec<SocketAddr>,
    pub database: DatabaseSettings,
    /// Pepper that API keys are hashed with.
    pub pepper: Pepper,
    /// File of the master key that encrypts addresses at rest; `None` if they are not encrypted.
    pub master_key: Option<PathBuf>,
    /// Rate limits.
    pub rate: RateSettings,
    pub widget: WidgetConfig,
    /// Maximum addresses per job.
    pub batch_rows: usize,
    /// Maximum body of a job's submission, in bytes.
    pub batch_body_max: usize,
    /// Lease of work on jobs without a heartbeat, in milliseconds.
    pub batch_lease_ms: i64,
    /// Days that rows of closed jobs are kept.
    pub batch_keep_days: i64,
    /// Concurrent chunks of 1,000 addresses over all jobs.
    pub batch_slots: usize,
    pub plans: Arc<Plans>,
    pub uploads: UploadsConfig,
    /// Callbacks accept only `https` URLs.
    pub webhooks_https_only: bool,
    /// Time that deliveries are kept in the log, in milliseconds.
    pub deliveries_keep_ms: i64,
    /// Lifetimes of dashboard sessions.
    pub session: Lifetimes,
    /// Lifetime of invitation links, in milliseconds.
    pub invitation_ms: i64,
    /// Outgoing mail; `None` sends none.
    pub mail: Option<MailConfig>,
}

/// `[database]`.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseSettings {
    pub place: Database,
    /// Maximum number of connections.
    pub pool_max: u32,
    /// Time limit for acquiring a connection, in milliseconds.
    pub acquire_timeout_ms: i64,
    /// Time limit of one statement, in milliseconds.
    pub statement_timeout_ms: i64,
}

#[derive(Clone, Debug)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    /// Complete URL of a server, secret because it may contain a password.
    Postgres(SecretString),
}

/// Location of the pepper.
#[derive(Clone, Debug)]
pub(crate) enum Pepper {
    /// Set in the configuration.
    Given(SecretString),
    /// Stored in a file that the first start creates with mode 0600.
    File(PathBuf),
}

/// `[rate]`: requests per minute, which is also the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateSettings {
    /// Per key.
    pub key: u32,
    /// Over all keys of an organization.
    pub organization: u32,
    /// Per client address, without a valid key.
    pub address: u32,
}

impl ServeSettings {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self> {
        let data = data_directory(read);
        let pepper = pepper(read, &data)?;
        let settings = Self {
            listen: read.parsed("server.listen", "an address such as \"127.0.0.1:8080\"", |text| text.parse().ok())?,
            roles: roles(read)?,
            public_url: public_url(read)?,
            brand: brand(read)?,
            trusted_proxies: read.parsed("server.trusted_proxies", "a network such as \"10.1.0.0/16\"", network)?,
            connections: read.count("server.connections"),
            body_max: read.bytes("server.body_max"),
            header_timeout_ms: read.time("server.header_timeout"),
            request_timeout_ms: read.time("server.request_timeout"),
            shutdown_grace_ms: read.time("server.shutdown_grace"),
            metrics_token: secret(read, "server.metrics_token", TOKEN_MIN)?,
            admin_key: secret(read, "admin.key", ADMIN_KEY_MIN)?,
            admin_listen: read
                .parsed("admin.listen", "an address such as \"127.0.0.1:8081\"", |text| text.parse().ok())?,
            database: database(read, &data)?,
            master_key: Some(read.text("secrets.master_key_file")).filter(|path| !path.is_empty()).map(PathBuf::from),
            rate: rate(read)?,
            widget: widget(read),
            batch_rows: read.count("batch.rows"),
            batch_body_max: read.bytes("batch.body_max"),
            batch_lease_ms: read.time("batch.lease"),
            batch_keep_days: read.whole("batch.keep_days"),
            batch_slots: batch_slots(read),
            plans: Arc::new(plans(read)?),
            uploads: UploadsConfig {
                body_max: read.bytes("uploads.body_max"),
                at_once: read.whole("uploads.at_once"),
                keep_days: read.whole("uploads.keep_days"),
            },
            webhooks_https_only: read.flag("webhooks.https_only"),
            deliveries_keep_ms: read.whole("webhooks.keep_days") * DAY_MS,
            session: Lifetimes { idle_ms: read.time("session.idle"), absolute_ms: read.time("session.absolute") },
            invitation_ms: read.time("team.invitation"),
            mail: mail(read)?,
            pepper,
            data,
        };
        if settings.listen.is_empty() {
            return Err(read.wrong("server.listen", "at least one address is needed"));
        }
        if settings.admin_key.is_none() && !settings.admin_listen.is_empty() {
            return Err(read.wrong("admin.listen", "needs admin.key"));
        }
        if settings.batch_lease_ms < LEASE_MIN_MS {
            return Err(read.wrong("batch.lease", "must be at least 1s"));
        }
        if settings.request_timeout_ms < REQUEST_MIN_MS {
            return Err(read.wrong("server.request_timeout", "must be at least 2s: a verification gets 1 s less"));
        }
        Ok(settings)
    }

    /// Returns the SQLite file: the configured one, or the default in the data directory if a server is configured.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.database.place {
            Database::Sqlite(path) => path.clone(),
            Database::Postgres(_) => self.data.join(DATABASE_FILE),
        }
    }

    /// Returns a one-time link. The token follows the `#`, so that it appears in no proxy or log.
    pub(crate) fn link(&self, token: &str) -> String {
        let listening = self.listening();
        let base = listening.map_or_else(String::new, |address| self.base_url(address));
        links::url(Some(&base), token)
    }

    /// Returns the first address on which the service listens: the one recorded at its start, else the configured one.
    pub(crate) fn listening(&self) -> Option<SocketAddr> {
        crate::service::address::of(&self.data).or_else(|| self.listen.first().copied())
    }

    /// Returns the URL for customers: the configured one, or one of this machine.
    pub(crate) fn base_url(&self, listening: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", reachable(listening)))
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

fn roles(read: &Reader<'_>) -> Result<Roles> {
    let named: Vec<Role> =
        read.parsed("server.roles", "one of api, worker, delivery, schedule", |name| name.parse().ok())?;
    if named.is_empty() {
        return Err(read.wrong("server.roles", "at least one role is needed: api, worker, delivery, schedule"));
    }
    Ok(named.into_iter().collect())
}

fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn public_url(read: &Reader<'_>) -> Result<Option<String>> {
    let text = read.text("server.public_url");
    if text.is_empty() {
        return Ok(None);
    }
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let plain = host.bytes().all(|b| b.is_ascii_graphic() && !b"?#@\"'\\".contains(&b));
    if !plain || host.trim_end_matches('/').is_empty() {
        return Err(read.wrong("server.public_url", "must look like \"https://verify.example.com\""));
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}

fn brand(read: &Reader<'_>) -> Result<String> {
    let brand = read.text("server.brand");
    if is_brand(brand) {
        return Ok(brand.to_owned());
    }
    let wanted = format!("{brand:?} is not a brand: 1 to {BRAND_MAX_BYTES} lower-case letters and digits");
    Err(read.wrong("server.brand", &wanted))
}

/// Reads a secret of at least `least` characters; `None` if unset.
fn secret(read: &Reader<'_>, key: &'static str, least: usize) -> Result<Option<SecretString>> {
    let text = read.text(key);
    if text.is_empty() {
        return Ok(None);
    }
    if text.chars().count() < least {
        return Err(read.wrong(key, &format!("must have at least {least} characters")));
    }
    Ok(Some(SecretString::from(text)))
}

fn pepper(read: &Reader<'_>, data: &Path) -> Result<Pepper> {
    let given = secret(read, "secrets.pepper", PEPPER_MIN)?;
    Ok(given.map_or_else(|| Pepper::File(data.join(PEPPER_FILE)), Pepper::Given))
}

fn database(read: &Reader<'_>, data: &Path) -> Result<DatabaseSettings> {
    let url = read.text("database.url");
    let file = url.strip_prefix("sqlite://").filter(|path| !path.is_empty() && !path.contains('?'));
    let postgres = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    let place = match (url, file) {
        ("", _) => Database::Sqlite(data.join(DATABASE_FILE)),
        (_, Some(path)) => Database::Sqlite(PathBuf::from(path)),
        _ if postgres => Database::Postgres(SecretString::from(url)),
        _ => {
            let wanted = "must look like \"postgres://user:password@host/name\" or \"sqlite:///path/to/file\"";
            return Err(read.wrong("database.url", wanted));
        }
    };
    Ok(DatabaseSettings {
        place,
        pool_max: narrow(read, "database.pool_max"),
        acquire_timeout_ms: read.time("database.acquire_timeout"),
        statement_timeout_ms: read.time("database.statement_timeout"),
    })
}

fn rate(read: &Reader<'_>) -> Result<RateSettings> {
    let rate = RateSettings {
        key: narrow(read, "rate.key_per_minute"),
        organization: narrow(read, "rate.organization_per_minute"),
        address: narrow(read, "rate.address_per_minute"),
    };
    if rate.organization < rate.key {
        let what = format!("must be at least rate.key_per_minute, which is {}", rate.key);
        return Err(read.wrong("rate.organization_per_minute", &what));
    }
    Ok(rate)
}

fn widget(read: &Reader<'_>) -> WidgetConfig {
    WidgetConfig {
        visitor_per_minute: narrow(read, "widget.visitor_per_minute"),
        key_per_minute: narrow(read, "widget.key_per_minute"),
        daily_cap: read.whole("widget.daily_cap"),
    }
}

/// Returns the configured slots, or enough to keep the domains busy that are verified concurrently.
fn batch_slots(read: &Reader<'_>) -> usize {
    match read.count("batch.slots") {
        0 => (read.count("limits.domains") / DOMAINS_PER_SLOT).clamp(SLOTS_MIN, SLOTS_MAX),
        slots => slots,
    }
}

fn plans(read: &Reader<'_>) -> Result<Plans> {
    let place = read.0.file.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    plans::read(&read.0.plans, read.text("credits.plan"), read.whole("credits.initial"))
        .map_err(|message| anyhow!("{place}{message}"))
}

fn mail(read: &Reader<'_>) -> Result<Option<MailConfig>> {
    let relay = read.text("mail.relay");
    if relay.is_empty() {
        return Ok(None);
    }
    let Some(public_url) = public_url(read)? else {
        return Err(read.wrong("mail.relay", "needs server.public_url, for the links in mail"));
    };
    let mail = MailConfig::new(&SecretString::from(relay), read.text("mail.from"), &public_url);
    let key = |wrong: &NoMail| match wrong {
        NoMail::Relay => "mail.relay",
        NoMail::From => "mail.from",
    };
    mail.map(Some).map_err(|wrong| read.wrong(key(&wrong), &wrong.to_string()))
}

fn narrow(read: &Reader<'_>, key: &'static str) -> u32 {
    u32::try_from(read.whole(key)).expect("the schema bounds it")
}

#[cfg(test)]
mod tests;
