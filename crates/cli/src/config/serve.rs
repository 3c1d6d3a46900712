//! The service's part of the configuration: where it listens, where its data lies, and its limits.
//!
//! What belongs together is checked together, here: a deadline below the one that callers may ask for, an organization that
//! may do less than one of its keys. Secrets are [`SecretString`]s from here on, and no message repeats one.

mod place;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ipnet::IpNet;
use probity_account::api_key::{BRAND_MAX_BYTES, is_brand};
use probity_account::plans::Plans;
use probity_mail::time::DAY_MS;
use probity_server::links;
use probity_server::mail::{MailConfig, NoMail};
use probity_server::roles::{Role, Roles};
use probity_server::store::Lifetimes;
use probity_server::uploads::UploadsConfig;
use probity_server::widget::WidgetConfig;
use secrecy::SecretString;

use self::place::data_directory;
pub(super) use self::place::data_home;
use super::plans;
use super::settings::Reader;

/// The database where no other is configured.
const DATABASE_FILE: &str = "probity.db";
/// The pepper where the configuration has none.
const PEPPER_FILE: &str = "pepper";
/// The shortest time that requests can be given, in milliseconds: a verification gets one second less.
const REQUEST_MIN_MS: i64 = 2_000;
/// The shortest lease of work, in milliseconds: its holder shows four times as often that it lives.
const LEASE_MIN_MS: i64 = 1_000;
/// Where nobody says how much of jobs is worked on at a time: one slot for so many domains, within bounds. A slot takes about a
/// megabyte of memory.
const DOMAINS_PER_SLOT: usize = 32;
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 128;
/// The least characters of a pepper: 128 bits even in hexadecimal.
const PEPPER_MIN: usize = 32;
/// The least characters of the token for metrics.
const TOKEN_MIN: usize = 16;
/// The least characters of the operator's key.
const ADMIN_KEY_MIN: usize = 32;

/// What `probity serve` and the commands about its data were told.
#[derive(Clone, Debug)]
pub(crate) struct ServeSettings {
    /// The directory for the database and the pepper; the first start creates it.
    pub data: PathBuf,
    /// Where to listen; at least one address.
    pub listen: Vec<SocketAddr>,
    /// What this node does; at least one part of the work.
    pub roles: Roles,
    /// The address that customers use, without a slash at the end; `None` where none was configured.
    pub public_url: Option<String>,
    /// The first part of new keys.
    pub brand: String,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Connections of clients at the same time.
    pub connections: usize,
    /// The largest body of a request, in bytes.
    pub body_max: usize,
    /// How long the head of a request may take, in milliseconds.
    pub header_timeout_ms: i64,
    /// How long a request may take in all, in milliseconds; a verification takes at most a second less.
    pub request_timeout_ms: i64,
    /// How long requests may go on after the signal to stop, in milliseconds.
    pub shutdown_grace_ms: i64,
    /// What `/metrics` asks for.
    pub metrics_token: Option<SecretString>,
    /// What opens the operator's API; none where there is none.
    pub admin_key: Option<SecretString>,
    /// Where that API listens by itself; empty where it is served with the API.
    pub admin_listen: Vec<SocketAddr>,
    /// Where everything is kept.
    pub database: DatabaseSettings,
    /// What keys are hashed with.
    pub pepper: Pepper,
    /// The file with the key under which addresses are sealed at rest; `None` where they are not.
    pub master_key: Option<PathBuf>,
    /// Requests a minute.
    pub rate: RateSettings,
    /// What the widget may do.
    pub widget: WidgetConfig,
    /// Addresses of one job at most.
    pub batch_rows: usize,
    /// The largest body with which a job is submitted, in bytes.
    pub batch_body_max: usize,
    /// How long work on jobs is held without a sign of life, in milliseconds.
    pub batch_lease_ms: i64,
    /// For how many days the rows of closed jobs are kept.
    pub batch_keep_days: i64,
    /// How much of jobs is worked on at a time, in chunks of a thousand addresses.
    pub batch_slots: usize,
    /// What organizations can be on.
    pub plans: Arc<Plans>,
    /// Lists as files.
    pub uploads: UploadsConfig,
    /// Whether callbacks go to https only.
    pub webhooks_https_only: bool,
    /// For how long a message stays in the log of deliveries, in milliseconds.
    pub deliveries_keep_ms: i64,
    /// How long people stay signed in.
    pub session: Lifetimes,
    /// How long the links of invitations work, in milliseconds.
    pub invitation_ms: i64,
    /// How mail is sent to people; `None` where none is.
    pub mail: Option<MailConfig>,
}

/// `[database]`.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseSettings {
    /// Which database.
    pub place: Database,
    /// Connections at most.
    pub pool_max: u32,
    /// How long a request waits for a connection, in milliseconds.
    pub acquire_timeout_ms: i64,
    /// How long one statement may run, in milliseconds.
    pub statement_timeout_ms: i64,
}

/// Which database.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A server: the whole URL, because it may carry a password.
    Postgres(SecretString),
}

/// Where the pepper is.
#[derive(Clone, Debug)]
pub(crate) enum Pepper {
    /// In the configuration.
    Given(SecretString),
    /// In a file that the first start creates with mode 0600.
    File(PathBuf),
}

/// `[rate]`: requests a minute, which are also the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateSettings {
    /// With one key.
    pub key: u32,
    /// With all keys of an organization.
    pub organization: u32,
    /// Without a valid key, from one address.
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

    /// The SQLite file: the configured one or, where a server is configured, that of the data directory.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.database.place {
            Database::Sqlite(path) => path.clone(),
            Database::Postgres(_) => self.data.join(DATABASE_FILE),
        }
    }

    /// Where a browser opens a one-time link. The token stands behind the `#`: no proxy and no log sees it.
    pub(crate) fn link(&self, token: &str) -> String {
        let listening = self.listening();
        let base = listening.map_or_else(String::new, |address| self.base_url(address));
        links::url(Some(&base), token)
    }

    /// Where the service listens first: what it said at its start, else what is configured.
    pub(crate) fn listening(&self) -> Option<SocketAddr> {
        crate::service::address::of(&self.data).or_else(|| self.listen.first().copied())
    }

    /// The address that customers use: the configured one, or one of this machine.
    pub(crate) fn base_url(&self, listening: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", reachable(listening)))
    }
}

/// An address at which this machine reaches a listener: one that listens everywhere is there at loopback.
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

/// A secret of at least so many characters; `None` where none is set.
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

/// As many as configured, else as many as keep the domains busy that are worked on at a time.
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
