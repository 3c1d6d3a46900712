//! A running platform: its connector, its credentials, and its initial contacts.
//!
//! `.ci/platforms` writes the data that tests need into one file. A platform belongs to one test at a time, by a lock on a file
//! that ends with the process. Each test starts with the same contacts, regardless of the state that an earlier test left, even
//! if it was killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use probity_connectors::{Catalog, ConnectorFile, Credentials, HostAllowance, Origin};
use serde_json::Value;

/// A platform in exclusive use.
pub(crate) struct Platform {
    pub(crate) file: ConnectorFile,
    /// Credentials as entered by a customer.
    pub(crate) entered: BTreeMap<String, String>,
    facts: Value,
    _lock: File,
}

impl Platform {
    /// Locks a platform; `None`, with a message, if it does not run.
    pub(crate) fn take(slug: &str) -> Option<Self> {
        match Self::find(slug) {
            Ok(platform) => Some(platform),
            Err(missing) => {
                assert!(std::env::var_os("PROBITY_REQUIRE_REAL").is_none_or(|value| value != "1"), "{missing}");
                // Bypasses the test harness, which hides the output of passing tests.
                let _ = writeln!(std::io::stderr(), "SKIPPED: a test against real {slug}: {missing}");
                None
            }
        }
    }

    fn find(slug: &str) -> Result<Self, String> {
        let directory = directory();
        let text = std::fs::read_to_string(directory.join("platforms.json"))
            .map_err(|_| format!("no platforms run in {} (start them: .ci/platforms)", directory.display()))?;
        let mut facts: Value = serde_json::from_str(&text).map_err(|error| format!("platforms.json: {error}"))?;
        let facts = facts[slug].take();
        let entered: BTreeMap<String, String> = serde_json::from_value(facts["credentials"].clone()).unwrap();
        let host = entered["url"].trim_start_matches("http://");
        // The file stays behind if the machine stops.
        TcpStream::connect(host).map_err(|_| format!("{slug} does not answer (start it: .ci/platforms)"))?;
        let lock = File::create(directory.join(format!("{slug}.lock"))).unwrap();
        lock.lock().unwrap();
        reset(slug, &directory);
        let file = Catalog::embedded().get(slug).unwrap().clone();
        Ok(Self { file, entered, facts, _lock: lock })
    }

    /// Returns a fact about this platform.
    pub(crate) fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap()
    }

    /// Returns the addresses of the initial contacts.
    pub(crate) fn contacts(&self) -> Vec<String> {
        serde_json::from_value(self.facts["contacts"].clone()).unwrap()
    }

    /// Returns the host as configured by an operator.
    pub(crate) fn host(&self) -> String {
        self.entered["url"].trim_start_matches("http://").to_owned()
    }

    /// Returns the right credentials.
    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials_with("", "")
    }

    /// Returns credentials with one replaced.
    pub(crate) fn credentials_with(&self, field: &str, value: &str) -> Credentials {
        let mut entered = self.entered.clone();
        if let Some(known) = entered.get_mut(field) {
            value.clone_into(known);
        }
        Credentials::new(&self.file, &entered, &HostAllowance(vec![self.host()])).unwrap()
    }

    /// Makes the connector request smaller pages of contacts.
    pub(crate) fn with_pages_of(mut self, size: u32) -> Self {
        let name = format!("{}.toml", self.file.provider.slug);
        let (_, text) = Catalog::texts().iter().find(|(known, _)| *known == name).unwrap();
        let (before, contacts) = text.split_once("\n[contacts]\n").unwrap();
        let (start, rest) = contacts.split_once(" size = ").unwrap();
        let (_, end) = rest.split_once(',').unwrap();
        let smaller = format!("{before}\n[contacts]\n{start} size = {size},{end}");
        self.file = ConnectorFile::parse(&name, &smaller, Origin::Embedded).unwrap();
        self
    }
}

/// Returns `$PROBITY_REAL_PLATFORMS`, or `real-platforms` in the build directory.
fn directory() -> PathBuf {
    // The program is in the build directory's profile: target/debug/probity.
    let build = Path::new(env!("CARGO_BIN_EXE_probity")).ancestors().nth(2).expect("a build directory");
    std::env::var_os("PROBITY_REAL_PLATFORMS").map_or_else(|| build.join("real-platforms"), PathBuf::from)
}

/// Resets a platform to its initial contacts.
fn reset(slug: &str, directory: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/platforms");
    let output = Command::new(script).args(["reset", slug]).env("PROBITY_REAL_PLATFORMS", directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
