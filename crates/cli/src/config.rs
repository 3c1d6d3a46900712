//! The configuration: one TOML file, overridden by the environment, overridden by flags.
//!
//! `default.toml` holds every key with its default and a comment. `probity config` prints that file with the effective values, so
//! the only reference is always current. [`Layers`] records the origin of each value. Every error names the origin and the key, and
//! says what was found and what is expected. A single wrong key or value stops the program before it does anything.

pub(crate) mod duration;
mod plans;
mod print;
mod schema;
mod secret;
pub(crate) mod serve;
mod settings;
mod size;
mod source;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

pub(crate) use settings::{LogFormat, Settings, host_name};

/// Every key with its default and a comment.
pub(crate) const DEFAULT: &str = include_str!("config/default.toml");

/// Prefix of environment variables.
const ENV_PREFIX: &str = "PROBITY_";
/// Maximum size of a configuration file, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// Effective values and their origins.
pub(crate) struct Layers {
    /// File that was read, if any.
    pub file: Option<PathBuf>,
    values: BTreeMap<&'static str, (Value, String)>,
    sources: Vec<Table>,
    plans: BTreeMap<String, Table>,
    /// Default parent of data directories.
    data_home: PathBuf,
}

/// Omits the values: some are secrets.
impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layers").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Sources of the configuration besides the default files, passed in so that tests do not depend on the process environment.
pub(crate) struct Overlay<'a> {
    /// `--config`.
    pub file: Option<&'a Path>,
    pub environment: Vec<(String, String)>,
    /// `--set key=value`, in order.
    pub set: &'a [String],
}

impl Layers {
    pub(crate) fn load(overlay: &Overlay<'_>) -> Result<Self> {
        let data_home = serve::data_home(&overlay.environment);
        let mut layers =
            Self { file: None, values: BTreeMap::new(), sources: Vec::new(), plans: BTreeMap::new(), data_home };
        layers.add_table(&DEFAULT.parse::<Table>().context("the embedded defaults")?, "the defaults")?;
        if let Some(path) = find_file(overlay)? {
            layers.add_file(&path)?;
            layers.file = Some(path);
        }
        for (name, text) in &overlay.environment {
            if let Some(key) = environment_key(name) {
                layers.add_text(&key, text, name)?;
            }
        }
        for pair in overlay.set {
            let (key, text) = pair.split_once('=').ok_or_else(|| anyhow!("--set {pair}: must be section.key=value"))?;
            layers.add_text(key.trim(), text, "--set")?;
        }
        Ok(layers)
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let place = path.display().to_string();
        let unreadable = || format!("cannot read the configuration {place}");
        let file = std::fs::File::open(path).with_context(unreadable)?;
        let mut text = String::new();
        // The size reported for a device or a pipe is meaningless, so the bytes read are counted.
        file.take(FILE_MAX + 1).read_to_string(&mut text).with_context(unreadable)?;
        if text.len() as u64 > FILE_MAX {
            bail!("{place} has more than {FILE_MAX} bytes; that is not a configuration");
        }
        let table: Table =
            text.parse().map_err(|error| anyhow!("{place} is not TOML: {}", where_and_what(&text, &error)))?;
        self.add_table(&table, &place)
    }

    fn add_table(&mut self, table: &Table, place: &str) -> Result<()> {
        for (name, value) in table {
            if name == "source" {
                self.sources = source_tables(value).map_err(|message| anyhow!("{place}: {message}"))?;
            } else if name == "plans" {
                self.plans = plans::tables(value).map_err(|message| anyhow!("{place}: {message}"))?;
            } else {
                self.add(name, value, place)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, key: &str, value: &Value, place: &str) -> Result<()> {
        // For an unknown section, the message names its keys, which say more than the section's name.
        if let Value::Table(inner) = value
            && (schema::is_section(key) || !inner.is_empty())
        {
            return inner.iter().try_for_each(|(name, value)| self.add(&format!("{key}.{name}"), value, place));
        }
        if schema::is_section(key) {
            bail!("{place}: `{key}` is a section; write [{key}] and its keys below");
        }
        if schema::is_retired(key) {
            return Ok(());
        }
        let (name, kind) = known(key).map_err(|message| anyhow!("{place}: {message}"))?;
        schema::check(key, kind, value).map_err(|message| anyhow!("{place}: {message}"))?;
        self.values.insert(name, (value.clone(), place.to_owned()));
        Ok(())
    }

    fn add_text(&mut self, key: &str, text: &str, place: &str) -> Result<()> {
        if schema::is_retired(key) {
            return Ok(());
        }
        let (name, kind) = known(key).map_err(|message| anyhow!("{place}: {message}"))?;
        let value = schema::read(key, kind, text).map_err(|message| anyhow!("{place}: {message}"))?;
        self.values.insert(name, (value, place.to_owned()));
        Ok(())
    }

    /// Returns a key's value and its origin.
    fn value(&self, key: &'static str) -> (&Value, &str) {
        let (value, place) = self.values.get(key).expect("every key has a default");
        (value, place)
    }

    /// Parses the values into typed settings.
    pub(crate) fn settings(&self) -> Result<Settings> {
        Settings::read(self)
    }

    /// Formats the effective configuration as a commented file.
    pub(crate) fn print(&self) -> String {
        print::print(self)
    }
}

/// Formats the line and the error. The error's own text would repeat the line, which may contain a password.
fn where_and_what(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or_else(String::new, |before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{line}{}", error.message().trim_end())
}

fn known(key: &str) -> Result<(&'static str, schema::Kind), String> {
    let found = schema::KEYS.iter().find(|(name, _)| *name == key);
    found.map(|(name, kind)| (*name, *kind)).ok_or_else(|| schema::unknown(key))
}

fn source_tables(value: &Value) -> Result<Vec<Table>, String> {
    let Value::Array(items) = value else { return Err("`source` must be written as [[source]]".into()) };
    items
        .iter()
        .map(|item| item.as_table().cloned().ok_or_else(|| "`source` must be written as [[source]]".into()))
        .collect()
}

/// Maps `PROBITY_DNS__TIMEOUT` to `dns.timeout`; `None` for a name without `__`, which is not ours.
fn environment_key(name: &str) -> Option<String> {
    let rest = name.strip_prefix(ENV_PREFIX)?;
    rest.contains("__").then(|| rest.replace("__", ".").to_ascii_lowercase())
}

/// Returns the file to read. A named file must exist; default files need not.
fn find_file(overlay: &Overlay<'_>) -> Result<Option<PathBuf>> {
    let variable = |name: &str| {
        let found = overlay.environment.iter().find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    if let Some(path) = overlay.file.map(Path::to_owned).or_else(|| variable("PROBITY_CONFIG")) {
        if !path.exists() {
            bail!("there is no configuration file {}", path.display());
        }
        return Ok(Some(path));
    }
    let personal = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    let places = personal.into_iter().chain([PathBuf::from("/etc")]);
    Ok(places.map(|place| place.join("probity/probity.toml")).find(|path| path.exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, environment: &[(&str, &str)], set: &[&str]) -> Result<Layers> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("probity.toml");
        std::fs::write(&file, text).unwrap();
        let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
        Layers::load(&Overlay { file: Some(&file), environment, set: &set })
    }

    #[test]
    fn keys_of_earlier_versions_are_passed_over() {
        let environment = [("PROBITY_CREDITS__HOLD", "3m")];
        let layers = load("[credits]\nhold = \"2m\"\ninitial = 7\n", &environment, &["credits.hold=4m"]).unwrap();
        assert_eq!(layers.value("credits.initial").0.as_integer(), Some(7));
        assert!(!layers.print().contains("hold ="));
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let text = "[probe]\nport = 1\nattempts = 1\n[dns]\nattempts = 1\n";
        let environment = [("PROBITY_PROBE__PORT", "2"), ("PROBITY_PROBE__ATTEMPTS", "2"), ("PATH", "x")];
        let layers = load(text, &environment, &["probe.port=3"]).unwrap();
        assert_eq!(layers.value("probe.port").0.as_integer(), Some(3));
        assert_eq!(layers.value("probe.attempts").0.as_integer(), Some(2));
        assert_eq!(layers.value("dns.attempts").0.as_integer(), Some(1));
        assert_eq!(layers.value("dns.timeout").0.as_str(), Some("5s"));
    }

    #[test]
    fn complaints_name_the_place_and_the_key() {
        let message = |text: &str, environment: &[(&str, &str)]| {
            let loaded = load(text, environment, &[]).and_then(|layers| layers.settings().map(|_| ()));
            format!("{:#}", loaded.unwrap_err())
        };
        assert!(message("[probe]\nhello = 1", &[]).contains("`probe.hello`; did you mean `probe.helo`?"));
        assert!(message("[prob]\nhelo = \"x\"", &[]).contains("did you mean"));
        assert!(message("[probe]\nport = \"x\"", &[]).contains("probity.toml"));
        assert!(message("probe = 3", &[]).contains("section"));
        assert!(message("not toml", &[]).contains("is not TOML"));
        let unclosed = message("[secrets]\npepper = \"hunter2\n", &[]);
        assert!(unclosed.contains("line 2: ") && !unclosed.contains("hunter2"), "{unclosed}");
        assert!(message("", &[("PROBITY_DNS__TIMEOUT", "5")]).starts_with("PROBITY_DNS__TIMEOUT: `dns.timeout`"));
        assert!(message("", &[("PROBITY_DNS__TIMEOUTS", "5s")]).contains("`dns.timeout`"));
        assert!(message("[allow]\nnetworks = [\"10.0.0.0/40\"]", &[]).contains("allow.networks"));
        assert!(message("[dns]\nnameservers = [\"dns.example\"]", &[]).contains("dns.nameservers"));
        assert!(message("[[source]]\nbnd = \"192.0.2.1\"", &[]).contains("`bind`"));
        assert!(message("[[source]]\nbind = \"here\"", &[]).contains("source 1"));
        assert!(message("[plans.team]\nseat = 1", &[]).contains("probity.toml: `plans.team.seat`"));
        assert!(message("[credits]\nplan = \"team\"", &[]).contains("there is no plan \"team\""));
        assert!(message("[data]\ndirectory = \"/does/not/exist\"", &[]).contains("data.directory"));
        assert!(message("[probe]\nmail_from = \"nobody\"", &[]).contains("probe.mail_from"));
    }

    #[test]
    fn a_named_file_must_exist() {
        let overlay = Overlay { file: Some(Path::new("/does/not/exist.toml")), environment: vec![], set: &[] };
        assert!(Layers::load(&overlay).unwrap_err().to_string().contains("/does/not/exist.toml"));
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let overlay = Overlay { file: Some(Path::new("/dev/zero")), environment: vec![], set: &[] };
        assert!(Layers::load(&overlay).unwrap_err().to_string().contains("not a configuration"));
    }

    #[test]
    fn what_is_printed_reads_back_the_same() {
        let text = "[probe]\nhelo = \"mx.example.com\"\n[[source]]\nbind = \"192.0.2.1\"\n[credits]\nplan = \"team\"\n\
            [plans.team]\ncredits = 5\nentitlements = [\"sso\"]\n";
        let printed = load(text, &[("PROBITY_DNS__TIMEOUT", "7s")], &[]).unwrap().print();
        assert!(printed.contains("timeout = \"7s\"") && printed.contains("# Timeout of one query."));
        let again = load(&printed, &[], &[]).unwrap();
        assert_eq!(again.print(), printed);
        assert_eq!(again.settings().unwrap().engine.sources.len(), 1);
        assert_eq!(again.settings().unwrap().serve.plans.first().monthly, 5);
    }
}
