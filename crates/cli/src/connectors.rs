//! `probity connectors`: the email platforms that the service connects to, and checks of files for more.
//!
//! Needs no network. Every fault of a file is shown, not only the first, so that all can be fixed at once.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use probity_backend::connections::PlatformConfig;
use probity_connectors::{Catalog, ConnectorFault, ConnectorFile, HostAllowance, Origin};

use crate::config::IntegrationsSection;
use crate::exit::Exit;
use crate::output;

/// Shown below the help of `connectors`.
pub(crate) const CONNECTORS_EXAMPLES: &str = "\
Examples:
    probity connectors list
    probity connectors check /etc/probity/connectors/acme.toml";

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectorsCommand {
    /// List the platforms and what each can do
    List {
        /// Directory with connectors of your own, instead of `integrations.directory`
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Check a connector's file: show what is wrong and where, else what the platform can do
    Check {
        /// File to check
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Lists the built-in connectors and those of the configured directory.
pub(crate) fn list(integrations: &IntegrationsSection) -> Result<Exit> {
    output::print(&table(&platforms(integrations)?.catalog))
}

/// Checks a file, without a configuration.
pub(crate) fn check(file: &Path) -> Result<Exit> {
    output::print(&about(file)?)
}

/// Reads the operator's connectors and hosts.
pub(crate) fn platforms(integrations: &IntegrationsSection) -> Result<PlatformConfig> {
    let hosts = HostAllowance(integrations.allow.iter().map(|host| host.0.clone()).collect());
    let config = PlatformConfig::read(integrations.directory.as_deref(), hosts).or_else(|faults| refused(&faults))?;
    Ok(PlatformConfig { pause_ms: integrations.pause.ms(), ..config })
}

fn table(catalog: &Catalog) -> String {
    let mut text = String::new();
    for file in catalog.iter() {
        let beta = if file.is_beta() { " (beta)" } else { "" };
        let _ = writeln!(text, "{:<18} {}{beta}: {}", file.provider.slug, file.provider.name, can(file));
    }
    text
}

fn about(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let file = ConnectorFile::parse(&name, &text, Origin::Operator).or_else(|faults| refused(&faults))?;
    let mut text = format!("{name} is a connector for {} ({})\n", file.provider.name, file.provider.slug);
    let _ = writeln!(text, "  can:   {}", can(&file));
    let lacks = file.capabilities().lacks();
    let _ = writeln!(text, "  lacks: {}", if lacks.is_empty() { "nothing".to_owned() } else { lacks.join(", ") });
    let fields: Vec<_> = file.credentials.iter().map(|field| field.name.as_str()).collect();
    let _ = writeln!(text, "  asks for: {}", fields.join(", "));
    if Catalog::embedded().get(&file.provider.slug).is_some() {
        let _ = writeln!(text, "  note: in your own directory, it replaces the built-in connector of this slug");
    }
    Ok(text)
}

/// Describes the capabilities of a platform, in the words of its file.
fn can(file: &ConnectorFile) -> String {
    let can = file.capabilities();
    let mut words = Vec::new();
    words.extend(can.lists.then(|| "lists".to_owned()));
    words.extend(can.contacts.then(|| "contacts".to_owned()));
    words.extend(can.since_created.then(|| "new since".to_owned()));
    words.extend(can.since_updated.then(|| "changed since".to_owned()));
    for (kind, many) in &can.actions {
        let by = if *many > 1 { format!(" (by {many})") } else { String::new() };
        words.push(format!("{}{by}", kind.name()));
    }
    let hook = if can.hook_signed { "signed webhook" } else { "webhook" };
    words.extend(can.hook.then(|| hook.to_owned()));
    words.join(", ")
}

fn refused<T>(faults: &[ConnectorFault]) -> Result<T> {
    let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
    bail!("{}", lines.join("\n"))
}
