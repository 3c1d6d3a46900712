//! The configuration as typed settings: values derived from several keys, from files or from this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use probity_access::mail::MailConfig;
use probity_account::plans::Plans;
use probity_engine::config::{CacheTimes, Deadlines, EngineConfig};
use probity_engine::net::ProbeSource;
use probity_mail::time::Millis;

use super::sections::Sections;
use super::serve::{self, DATABASE_FILE, OWN_DATA, PEPPER_FILE, Pepper};
use super::types::{Database, MailFrom};
use super::{Layers, plans, source};

/// Maximum size of an operator's data file, in bytes.
const DATA_FILE_MAX: u64 = 64 << 20;

/// The configuration: its sections, and derived values.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Configuration file, if one was read.
    pub file: Option<PathBuf>,
    pub sections: Sections,
    pub engine: EngineConfig,
    /// MAIL FROM is a default, because none is configured.
    pub mail_from_assumed: bool,
    /// Directory of the database and the pepper; the first start creates it.
    pub data: PathBuf,
    pub database: Database,
    /// Pepper that API keys are hashed with.
    pub pepper: Pepper,
    /// Concurrent chunks of 1,000 addresses over all jobs.
    pub batch_slots: usize,
    pub plans: Arc<Plans>,
    /// Outgoing mail; `None` sends none.
    pub mail: Option<MailConfig>,
    /// File with certificate authorities of the operator.
    pub ca_file: Option<PathBuf>,
}

impl Layers {
    /// Parses the values into typed settings.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let sections = self.sections();
        let engine = engine(self, &sections)?;
        serve::check_together(self, &sections)?;
        let data = sections.server.data.clone().unwrap_or_else(|| self.data_home.join(OWN_DATA));
        let Sections { database, secrets, credits, .. } = &sections;
        let plans = plans::read(&self.plans, &credits.plan, credits.initial.get());
        Ok(Settings {
            file: self.file.clone(),
            engine,
            mail_from_assumed: matches!(sections.probe.mail_from, MailFrom::Unset),
            database: database.url.clone().unwrap_or_else(|| Database::Sqlite(data.join(DATABASE_FILE))),
            pepper: secrets.pepper.0.clone().map_or_else(|| Pepper::File(data.join(PEPPER_FILE)), Pepper::Given),
            batch_slots: serve::batch_slots(sections.batch.slots.get(), sections.limits.domains.get()),
            plans: Arc::new(plans.map_err(|message| anyhow!("{}{message}", self.in_file()))?),
            mail: serve::mail(self, &sections.mail, sections.server.public_url.0.as_deref())?,
            ca_file: sections.tls.ca_file.clone().or_else(|| self.ssl_cert_file.clone()),
            data,
            sections,
        })
    }
}

fn engine(layers: &Layers, sections: &Sections) -> Result<EngineConfig> {
    let Sections { probe, live, bulk, cache, limits, .. } = sections;
    let helo = if probe.helo.is_empty() { host_name() } else { probe.helo.clone() };
    let (sources, in_use_since) = sources(layers, &helo)?;
    let mail_from = match &probe.mail_from {
        MailFrom::Unset => format!("postmaster@{helo}"),
        MailFrom::NullSender => String::new(),
        MailFrom::Address(address) => address.clone(),
    };
    Ok(EngineConfig {
        sources,
        in_use_since,
        mail_from,
        profile: probe.profile,
        port: probe.port.get(),
        starttls: probe.starttls,
        live: Deadlines {
            connect_ms: live.connect.ms(),
            banner_ms: live.banner.ms(),
            command_ms: live.command.ms(),
            session_ms: live.session.ms(),
        },
        batch: Deadlines {
            connect_ms: bulk.connect.ms(),
            banner_ms: bulk.banner.ms(),
            command_ms: bulk.command.ms(),
            session_ms: bulk.session.ms(),
        },
        patience_ms: probe.patience.ms(),
        held_back_ms: probe.held_back.ms(),
        attempts_max: probe.attempts.get(),
        sessions_max: limits.sessions.get(),
        domains_max: limits.domains.get(),
        cache: CacheTimes {
            good_ms: cache.good.ms(),
            bad_ms: cache.bad.ms(),
            catch_all_yes_ms: cache.catch_all_yes.ms(),
            catch_all_no_ms: cache.catch_all_no.ms(),
            accepted_ms: cache.accepted.ms(),
        },
        verdicts_max: cache.verdicts.get(),
        special_use_allowed: sections.allow.special_use.clone(),
        networks_allowed: sections.allow.networks.iter().map(ToString::to_string).collect(),
        data_files: sections.data.directory.as_deref().map_or(Ok(BTreeMap::new()), |path| data_files(layers, path))?,
        seed: None,
    })
}

type Sources = (Vec<Arc<ProbeSource>>, Vec<Option<Millis>>);

fn sources(layers: &Layers, helo: &str) -> Result<Sources> {
    if layers.sources.is_empty() {
        let any = ProbeSource { bind: None, public: None, helo: helo.to_owned(), proxy: None };
        return Ok((vec![Arc::new(any)], vec![None]));
    }
    let place = layers.in_file();
    let dated = layers.sources.iter().enumerate();
    dated
        .map(|(n, table)| source::read(table, helo).map_err(|message| anyhow!("{place}source {}: {message}", n + 1)))
        .collect()
}

/// Reads the operator's lists, rules and policies: every regular file of the directory.
fn data_files(layers: &Layers, directory: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let place = directory.display();
    let entries = std::fs::read_dir(directory)
        .map_err(|error| layers.wrong("data.directory", &format!("cannot read {place}: {error}")))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {place}"))?;
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
