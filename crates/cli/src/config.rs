//! The configuration: one TOML file, overridden by the environment, overridden by flags.
//!
//! `sections.rs` declares every key with its type, bounds, default and comment; all else is made from it. [`Layers`] records the
//! origin of each value. Every error names the origin and the key, and says what was found and what is expected. A single wrong
//! key or value stops the program before it does anything.

pub(crate) mod duration;
mod key;
mod names;
#[cfg(test)]
mod page;
mod plans;
mod print;
mod secret;
#[expect(clippy::struct_field_names, reason = "fields have the names of their keys")]
mod sections;
pub(crate) mod serve;
mod settings;
mod size;
mod source;
mod types;
mod value;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

use self::key::ConfigKey;
use self::sections::SECTIONS;

pub(crate) use self::sections::{DoctorSection, IntegrationsSection, Sections};
pub(crate) use self::settings::{Settings, host_name};

/// Prefix of environment variables.
const ENV_PREFIX: &str = "PROBITY_";
/// Configuration file of the machine.
pub(crate) const SYSTEM_FILE: &str = "/etc/probity/probity.toml";
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
    /// Certificate authorities that the environment names.
    ssl_cert_file: Option<PathBuf>,
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
        let values = names::keys().map(|key| (key.name, (key.sample(), "the defaults".to_owned()))).collect();
        let ssl_cert_file = variable(overlay, "SSL_CERT_FILE");
        let (sources, plans) = (Vec::new(), BTreeMap::new());
        let mut layers = Self { file: None, values, sources, plans, data_home, ssl_cert_file };
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

    fn add(&mut self, name: &str, value: &Value, place: &str) -> Result<()> {
        // For an unknown section, the message names its keys, which say more than the section's name.
        if let Value::Table(inner) = value
            && (names::is_section(name) || !inner.is_empty())
        {
            return inner.iter().try_for_each(|(field, value)| self.add(&format!("{name}.{field}"), value, place));
        }
        if names::is_section(name) {
            bail!("{place}: `{name}` is a section; write [{name}] and its keys below");
        }
        self.set(name, |_| value.clone(), place)
    }

    fn add_text(&mut self, name: &str, text: &str, place: &str) -> Result<()> {
        self.set(name, |key| key.form.value(text), place)
    }

    fn set(&mut self, name: &str, value: impl FnOnce(&ConfigKey) -> Value, place: &str) -> Result<()> {
        if names::is_retired(name) {
            return Ok(());
        }
        let key = names::key(name).map_err(|message| anyhow!("{place}: {message}"))?;
        let value = value(key);
        if let Some(complaint) = key.complaint(&value) {
            bail!("{place}: {complaint}");
        }
        self.values.insert(key.name, (value, place.to_owned()));
        Ok(())
    }

    /// Returns a key's value and its origin.
    fn value(&self, key: &'static str) -> (&Value, &str) {
        let (value, place) = self.values.get(key).expect("every key has a default");
        (value, place)
    }

    /// Explains that a value does not fit another one.
    fn wrong(&self, key: &'static str, what: &str) -> anyhow::Error {
        anyhow!("{}: `{key}`: {what}", self.value(key).1)
    }

    /// Begins a message about a repeated table, which only a file can have.
    fn in_file(&self) -> String {
        self.file.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()))
    }

    /// Returns the values by section.
    fn sections(&self) -> Sections {
        let value = |key: &ConfigKey| (key.field.to_owned(), self.value(key.name).0.clone());
        let table = |keys: &[ConfigKey]| Value::Table(keys.iter().map(value).collect());
        let all: Table = SECTIONS.iter().map(|section| (section.name.to_owned(), table(section.keys))).collect();
        all.try_into().expect("every value was checked when it was set")
    }
}

/// Formats the line and the error. The error's own text would repeat the line, which may contain a password.
fn where_and_what(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or_else(String::new, |before| format!("line {}: ", before.matches('\n').count() + 1));
    format!("{line}{}", error.message().trim_end())
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

/// Returns the path in an environment variable.
fn variable(overlay: &Overlay<'_>, name: &str) -> Option<PathBuf> {
    let found = overlay.environment.iter().find(|(key, value)| key == name && !value.is_empty());
    found.map(|(_, value)| PathBuf::from(value))
}

/// Returns the file to read. A named file must exist; default files need not.
fn find_file(overlay: &Overlay<'_>) -> Result<Option<PathBuf>> {
    let variable = |name: &str| variable(overlay, name);
    if let Some(path) = overlay.file.map(Path::to_owned).or_else(|| variable("PROBITY_CONFIG")) {
        if !path.exists() {
            bail!("there is no configuration file {}", path.display());
        }
        return Ok(Some(path));
    }
    let personal = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    let personal = personal.map(|place| place.join("probity/probity.toml"));
    Ok(personal.into_iter().chain([PathBuf::from(SYSTEM_FILE)]).find(|path| path.exists()))
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

    fn read(name: &str, text: &str) -> Result<Value, String> {
        let key = names::key(name).unwrap();
        let value = key.form.value(text);
        key.complaint(&value).map_or(Ok(value), Err)
    }

    #[test]
    fn every_default_is_accepted() {
        for key in names::keys() {
            assert_eq!(key.complaint(&key.sample()), None);
        }
    }

    #[test]
    fn a_wrong_value_is_answered_with_what_would_be_right() {
        let complaint = |name: &str, value: Value| names::key(name).unwrap().complaint(&value);
        let wrong = |name: &str, value: Value| complaint(name, value).unwrap();
        assert_eq!(
            wrong("probe.port", Value::String("abc".into())),
            "`probe.port`: must be a whole number from 1 to 65535, not the text \"abc\""
        );
        assert!(wrong("probe.port", Value::Integer(70_000)).contains("70000"));
        assert!(wrong("dns.timeout", Value::Integer(5)).contains("\"20s\""));
        assert!(wrong("timeouts.live.connect", Value::String("0s".into())).contains("longer than 0"));
        assert_eq!(
            wrong("server.body_max", Value::String("1MB".into())),
            "`server.body_max`: must be a size with a unit, such as \"512KiB\" or \"1MiB\", from 1KiB to 1GiB, not the text \"1MB\""
        );
        assert!(wrong("server.body_max", Value::String("1000B".into())).contains("from 1KiB"));
        assert!(!wrong("secrets.pepper", Value::Integer(123_456)).contains("123456"));
        assert!(wrong("database.url", Value::String("postgres://u:(set)@h/d".into())).contains("in place of a secret"));
        assert_eq!(complaint("probe.patience", Value::String("0s".into())), None);
        assert!(wrong("batch.lease", Value::String("999ms".into())).ends_with("at least 1s, not the text \"999ms\""));
        assert!(wrong("server.request_timeout", Value::String("1999ms".into())).contains("at least 2s"));
        assert!(wrong("probe.profile", Value::String("rude".into())).contains("\"polite\""));
        assert!(wrong("allow.networks", Value::String("10.0.0.0/8".into())).contains("a list"));
    }

    #[test]
    fn texts_from_the_environment_become_values() {
        assert_eq!(read("probe.starttls", "no").unwrap(), Value::Boolean(false));
        assert_eq!(read("probe.port", "2525").unwrap(), Value::Integer(2525));
        assert_eq!(read("allow.special_use", "a, b").unwrap().as_array().unwrap().len(), 2);
        let table: [(&str, &[&str]); 7] = [
            ("[\"a\", \"b\"]", &["a", "b"]),
            (" [ 'a' ,\n 'b', ] ", &["a", "b"]),
            ("[\"a,b\"]", &["a,b"]),
            ("[]", &[]),
            ("", &[]),
            ("[::1]:80,127.0.0.1:80", &["[::1]:80", "127.0.0.1:80"]),
            ("[::1]:80", &["[::1]:80"]),
        ];
        for (text, expected) in table {
            let items = read("doctor.block_lists", text).unwrap();
            let items: Vec<_> = items.as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(items, expected, "{text}");
        }
        assert!(read("server.listen", "[1, 2]").unwrap_err().contains("a list with values other than text"));
        assert!(read("probe.port", "x").unwrap_err().contains("probe.port"));
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
        assert!(printed.contains("\n# Deadlines of live verification.\n[timeouts.live]\n"), "{printed}");
        assert!(printed.contains("\n# Deadlines of batches and jobs.\n[timeouts.batch]\n"), "{printed}");
        assert!(printed.contains("# MAIL FROM") && printed.contains("`postmaster@<helo>`"), "{printed}");
        assert!(
            printed.contains("belongs to\n# # one node at a time.") && !printed.contains("](postgresql"),
            "{printed}"
        );
        let again = load(&printed, &[], &[]).unwrap();
        assert_eq!(again.print(), printed);
        assert_eq!(again.settings().unwrap().engine.sources.len(), 1);
        assert_eq!(again.settings().unwrap().plans.first().monthly, 5);
    }
}
