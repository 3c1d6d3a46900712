//! Prints the effective configuration as a commented file.

use std::fmt::Write as _;

use toml::Table;

use super::Layers;
use super::key::ConfigKey;
use super::plans::PlanTable;
use super::sections::SECTIONS;
use super::source::SourceTable;

const HEADER: &str = "\
# Probity's configuration: every key with its default.
#
# Read from --config FILE, else $PROBITY_CONFIG, else probity/probity.toml in $XDG_CONFIG_HOME (~/.config), else
# /etc/probity/probity.toml. The environment variable PROBITY_<SECTION>__<KEY> (PROBITY_PROBE__HELO,
# PROBITY_TIMEOUTS__LIVE__CONNECT) overrides a key; --set section.key=value overrides both.
# Durations are text with a unit: \"250ms\", \"20s\", \"5m\", \"2h\", \"7d\". So are sizes: \"512KiB\", \"1MiB\". An unknown key is an error.
";
const SOURCES: &str = "
# The source IPs, one table each. Without any, the system chooses the address and probe.helo names it.
";
const PLANS: &str = "
# Plans of your own, one table each. A change applies to all organizations on the plan; granted credits stay.
";

impl Layers {
    /// Formats the effective configuration as a commented file.
    pub(crate) fn print(&self) -> String {
        let mut out = HEADER.to_owned();
        for section in SECTIONS {
            out.push('\n');
            for line in section.about {
                let _ = writeln!(out, "#{line}");
            }
            let _ = writeln!(out, "[{}]", section.name);
            for key in section.keys {
                comment(&mut out, "#", key);
                let _ = writeln!(out, "{} = {}", key.field, key.shown(self.value(key.name).0));
            }
            match section.name {
                "probe" => {
                    example(&mut out, SOURCES, "[[source]]", SourceTable::KEYS);
                    self.sources.iter().for_each(|table| repeated(&mut out, "[[source]]", SourceTable::KEYS, table));
                }
                "credits" => {
                    example(&mut out, PLANS, "[plans.team]", PlanTable::KEYS);
                    for (name, table) in &self.plans {
                        repeated(&mut out, &format!("[plans.{name}]"), PlanTable::KEYS, table);
                    }
                }
                _ => {}
            }
        }
        out
    }
}

fn comment(out: &mut String, mark: &str, key: &ConfigKey) {
    for line in key.comment {
        let _ = writeln!(out, "{mark}{}", without_targets(line));
    }
}

/// Prints a repeated table with all its keys, commented out.
fn example(out: &mut String, about: &str, heading: &str, keys: &[ConfigKey]) {
    let _ = writeln!(out, "{about}#\n# {heading}");
    for key in keys {
        comment(out, "# #", key);
        let _ = writeln!(out, "# {} = {} # default: {}", key.field, key.value, without_targets(key.otherwise));
    }
}

/// Prints one repeated table as it was configured.
fn repeated(out: &mut String, heading: &str, keys: &[ConfigKey], table: &Table) {
    let _ = writeln!(out, "\n{heading}");
    for (name, value) in table {
        let known = keys.iter().find(|key| key.field == name);
        let _ = writeln!(out, "{name} = {}", known.map_or_else(|| value.clone(), |key| key.shown(value)));
    }
}

/// Removes the targets of links.
fn without_targets(markdown: &str) -> String {
    let mut text = markdown.to_owned();
    while let Some(middle) = text.find("](") {
        let (Some(start), Some(length)) = (text[..middle].rfind('['), text[middle..].find(')')) else { break };
        text = format!("{}{}{}", &text[..start], &text[start + 1..middle], &text[middle + length + 1..]);
    }
    text
}
