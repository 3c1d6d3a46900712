//! The configuration as typed settings: parsed, bounded and checked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use probity_engine::config::{CacheTimes, Deadlines, EngineConfig, Profile};
use probity_engine::net::Source;
use toml::Value;

use super::serve::ServeSettings;
use super::{Layers, duration, size, source};

/// Default port of name servers.
const DNS_PORT: u16 = 53;
/// Maximum size of an operator's data file, in bytes.
const DATA_FILE_MAX: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub engine: EngineConfig,
    /// MAIL FROM is a default, because none is configured.
    pub mail_from_assumed: bool,
    /// Resolvers; empty uses the system's.
    pub nameservers: Vec<SocketAddr>,
    /// Time limit of one query, in milliseconds.
    pub dns_timeout_ms: i64,
    /// Maximum attempts per query.
    pub dns_attempts: usize,
    /// Well-known domains for the doctor.
    pub probe_domains: Vec<String>,
    /// Block lists for the doctor.
    pub block_lists: Vec<String>,
    /// Minimum level of log lines.
    pub log_level: String,
    pub log_format: LogFormat,
    pub serve: ServeSettings,
}

impl Settings {
    pub(super) fn read(layers: &Layers) -> Result<Self> {
        let read = Reader(layers);
        let helo = match read.text("probe.helo") {
            "" => host_name(),
            name => name.to_owned(),
        };
        let (mail_from, mail_from_assumed) = mail_from(&read, &helo)?;
        Ok(Self {
            engine: engine(&read, &helo, mail_from)?,
            mail_from_assumed,
            nameservers: read.parsed("dns.nameservers", "an IP address, with a port or without", name_server)?,
            dns_timeout_ms: read.time("dns.timeout"),
            dns_attempts: read.count("dns.attempts"),
            probe_domains: read.texts("doctor.probe_domains"),
            block_lists: read.texts("doctor.block_lists"),
            log_level: read.text("log.level").to_owned(),
            log_format: if read.text("log.format") == "json" { LogFormat::Json } else { LogFormat::Text },
            serve: ServeSettings::read(&read)?,
        })
    }
}

fn engine(read: &Reader<'_>, helo: &str, mail_from: String) -> Result<EngineConfig> {
    let (sources, in_use_since) = sources(read, helo)?;
    Ok(EngineConfig {
        sources,
        in_use_since,
        mail_from,
        profile: if read.text("probe.profile") == "open" { Profile::Open } else { Profile::Polite },
        port: u16::try_from(read.whole("probe.port")).expect("the schema bounds it"),
        starttls: read.flag("probe.starttls"),
        live: read.deadlines(
            "timeouts.live.connect",
            "timeouts.live.banner",
            "timeouts.live.command",
            "timeouts.live.session",
        ),
        batch: read.deadlines(
            "timeouts.batch.connect",
            "timeouts.batch.banner",
            "timeouts.batch.command",
            "timeouts.batch.session",
        ),
        patience_ms: read.time("probe.patience"),
        held_back_ms: read.time("probe.held_back"),
        attempts_max: u32::try_from(read.whole("probe.attempts")).expect("the schema bounds it"),
        sessions_max: read.count("limits.sessions"),
        domains_max: read.count("limits.domains"),
        cache: CacheTimes {
            good_ms: read.time("cache.good"),
            bad_ms: read.time("cache.bad"),
            catch_all_yes_ms: read.time("cache.catch_all_yes"),
            catch_all_no_ms: read.time("cache.catch_all_no"),
            accepted_ms: read.time("cache.accepted"),
        },
        verdicts_max: read.count("cache.verdicts"),
        special_use_allowed: read.texts("allow.special_use"),
        networks_allowed: read.parsed("allow.networks", "a network such as \"10.1.0.0/16\"", network)?,
        data_files: data_files(read)?,
        seed: None,
    })
}

/// Typed access to values that the schema has checked.
pub(super) struct Reader<'a>(pub(super) &'a Layers);

impl Reader<'_> {
    fn get(&self, key: &'static str) -> &Value {
        self.0.value(key).0
    }

    pub(super) fn text(&self, key: &'static str) -> &str {
        self.get(key).as_str().expect("the schema says text")
    }

    pub(super) fn flag(&self, key: &'static str) -> bool {
        self.get(key).as_bool().expect("the schema says true or false")
    }

    pub(super) fn whole(&self, key: &'static str) -> i64 {
        self.get(key).as_integer().expect("the schema says number")
    }

    pub(super) fn count(&self, key: &'static str) -> usize {
        usize::try_from(self.whole(key)).expect("the schema bounds it")
    }

    pub(super) fn time(&self, key: &'static str) -> i64 {
        duration::parse(self.text(key)).expect("the schema says time")
    }

    pub(super) fn bytes(&self, key: &'static str) -> usize {
        let bytes = size::parse(self.text(key)).expect("the schema says size");
        usize::try_from(bytes).expect("the schema bounds it")
    }

    fn texts(&self, key: &'static str) -> Vec<String> {
        let items = self.get(key).as_array().expect("the schema says list");
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn parsed<T>(
        &self,
        key: &'static str,
        wanted: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>> {
        let item = |text: String| parse(&text).ok_or_else(|| self.wrong(key, &format!("{text:?} is not {wanted}")));
        self.texts(key).into_iter().map(item).collect()
    }

    fn deadlines(
        &self,
        connect: &'static str,
        banner: &'static str,
        command: &'static str,
        session: &'static str,
    ) -> Deadlines {
        Deadlines {
            connect_ms: self.time(connect),
            banner_ms: self.time(banner),
            command_ms: self.time(command),
            session_ms: self.time(session),
        }
    }

    pub(super) fn wrong(&self, key: &'static str, what: &str) -> anyhow::Error {
        anyhow!("{}: `{key}`: {what}", self.0.value(key).1)
    }
}

/// Returns the MAIL FROM address, and whether it is a default.
fn mail_from(read: &Reader<'_>, helo: &str) -> Result<(String, bool)> {
    match read.text("probe.mail_from") {
        "<>" => Ok((String::new(), false)),
        "" => Ok((format!("postmaster@{helo}"), true)),
        address => {
            let plain = address.is_ascii() && !address.bytes().any(|b| b.is_ascii_control() || b" <>".contains(&b));
            let whole =
                address.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'));
            if !plain || !whole {
                return Err(read.wrong(
                    "probe.mail_from",
                    &format!("{address:?} is not an address such as \"probe@example.com\""),
                ));
            }
            Ok((address.to_owned(), false))
        }
    }
}

type Sources = (Vec<Arc<Source>>, Vec<Option<probity_mail::time::Millis>>);

fn sources(read: &Reader<'_>, helo: &str) -> Result<Sources> {
    if read.0.sources.is_empty() {
        let any = Source { bind: None, public: None, helo: helo.to_owned(), proxy: None };
        return Ok((vec![Arc::new(any)], vec![None]));
    }
    let place = read.0.file.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    let dated = read.0.sources.iter().enumerate();
    dated
        .map(|(n, table)| source::read(table, helo).map_err(|message| anyhow!("{place}source {}: {message}", n + 1)))
        .collect()
}

fn name_server(text: &str) -> Option<SocketAddr> {
    let bare = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS_PORT));
    text.parse().ok().or_else(bare)
}

fn network(text: &str) -> Option<String> {
    let (base, length) = text.split_once('/').map_or((text, None), |(base, length)| (base, Some(length)));
    let most = if base.parse::<IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(most), |length| length.parse::<u8>().ok())?;
    (length <= most).then(|| format!("{base}/{length}"))
}

/// Reads the operator's lists, rules and policies: every regular file of the directory.
fn data_files(read: &Reader<'_>) -> Result<BTreeMap<String, String>> {
    let directory = read.text("data.directory");
    let mut files = BTreeMap::new();
    if directory.is_empty() {
        return Ok(files);
    }
    let entries = std::fs::read_dir(Path::new(directory))
        .map_err(|error| read.wrong("data.directory", &format!("cannot read {directory}: {error}")))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {directory}"))?;
        let meta = entry.metadata().with_context(|| format!("cannot read {}", entry.path().display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !meta.is_file() || name.starts_with('.') {
            continue;
        }
        if meta.len() > DATA_FILE_MAX {
            bail!("{} has {} bytes; a data file has at most {DATA_FILE_MAX}", entry.path().display(), meta.len());
        }
        let text =
            std::fs::read_to_string(entry.path()).with_context(|| format!("cannot read {}", entry.path().display()))?;
        files.insert(name, text);
    }
    Ok(files)
}

/// Returns the host name of this machine; `localhost` if the system has none.
pub(crate) fn host_name() -> String {
    let places = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let read = |place: &&str| std::fs::read_to_string(place).ok();
    let name = places.iter().find_map(read).unwrap_or_default().trim().to_ascii_lowercase();
    if name.is_empty() { "localhost".to_owned() } else { name }
}
