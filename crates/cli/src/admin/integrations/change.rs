//! Settings of a connection that a command changes.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use probity_account::connections::{Aggressiveness, ConnectionAction};
use probity_account::overrides::IgnorableReason;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ConnectionArg, credentials};
use crate::admin::operator::merge_patch;
use crate::admin::{meaning, name, one_of};

/// Value of `--action` for a connection that only verifies.
pub(crate) const NO_ACTION: &str = "none";

/// Settings to change.
#[derive(Debug, Args)]
pub(crate) struct ConnectionChangeArgs {
    #[command(flatten)]
    pub one: ConnectionArg,
    /// Displayed name
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Action on contacts whose verdict matches the checks; `none`: contacts are only verified
    #[arg(long, value_parser = PossibleValuesParser::new(actions()))]
    pub action: Option<String>,
    /// Preset of checks
    #[arg(long, value_parser = PossibleValuesParser::new(Aggressiveness::ALL.map(Aggressiveness::as_str)))]
    pub aggressiveness: Option<String>,
    /// Additional reasons to act upon, separated by commas
    #[arg(long, value_name = "REASONS", value_delimiter = ',', value_parser = check())]
    pub checks: Vec<String>,
    /// Reasons not to act upon, separated by commas
    #[arg(long, value_name = "REASONS", value_delimiter = ',', value_parser = check())]
    pub no_checks: Vec<String>,
    /// Whether every action needs approval
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub manual_mode: Option<bool>,
    /// Number of contacts that automatic runs may change without confirmation, 0 to 1000
    #[arg(long, value_name = "CONTACTS")]
    pub unconfirmed_contacts: Option<u32>,
    /// Percentage of the contacts that they may change, if that is more, 0 to 100
    #[arg(long, value_name = "PERCENT")]
    pub unconfirmed_percent: Option<u32>,
    /// Whether new contacts are verified every night
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub autofloss: Option<bool>,
    /// Whether all contacts are verified again, a share every night
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub decay_protection: Option<bool>,
    /// Days until all contacts are verified again, 7 to 365
    #[arg(long, value_name = "DAYS")]
    pub decay_days: Option<u32>,
    /// Whether new contacts are verified as they arrive
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub instafloss: Option<bool>,
    /// Whether misspelled addresses are corrected at the platform
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub fix_typos: Option<bool>,
    /// IDs of the lists to verify, separated by commas; '' for all
    #[arg(long, value_name = "LIST_IDS")]
    pub lists: Option<String>,
    /// Tag for `update_tags`; {status} and {reason} stand for those of the verdict
    #[arg(long)]
    pub tag: Option<String>,
    /// Field for `update_custom_fields`
    #[arg(long)]
    pub field: Option<String>,
    /// File with new credentials, tried first: NAME=VALUE lines or a JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
}

fn actions() -> Vec<PossibleValue> {
    let own = ConnectionAction::ALL.map(ConnectionAction::as_str).map(PossibleValue::new);
    own.into_iter().chain([meaning(NO_ACTION, "only verify")]).collect()
}

fn check() -> PossibleValuesParser {
    PossibleValuesParser::new(IgnorableReason::ALL.map(IgnorableReason::as_str))
}

fn switch() -> impl clap::builder::TypedValueParser<Value = bool> {
    one_of(["on", "off"], |name| Some(name == "on"))
}

/// Builds the merge patch that a command describes.
pub(in crate::admin) fn read_change(args: &ConnectionChangeArgs) -> Result<Value> {
    let action = args.action.as_deref().map(|name| if name == NO_ACTION { Value::Null } else { json!(name) });
    let ids = args.lists.as_deref().map(|ids| ids.split(',').map(str::trim).filter(|id| !id.is_empty()));
    let credentials = args.credentials.as_deref().map(credentials::read).transpose()?;
    let fields = [
        ("name", said(args.name.as_ref())),
        ("action", action),
        ("aggressiveness", said(args.aggressiveness.as_ref())),
        ("checks", read_checks(args)?),
        ("manual_mode", said(args.manual_mode)),
        ("unconfirmed_contacts", said(args.unconfirmed_contacts)),
        ("unconfirmed_percent", said(args.unconfirmed_percent)),
        ("autofloss", said(args.autofloss)),
        ("decay_protection", said(args.decay_protection)),
        ("decay_days", said(args.decay_days)),
        ("instafloss", said(args.instafloss)),
        ("fix_typos", said(args.fix_typos)),
        ("lists", ids.map(|ids| json!(ids.collect::<Vec<_>>()))),
        ("tag", said(args.tag.as_ref())),
        ("field", said(args.field.as_ref())),
        ("credentials", credentials.map(Value::Object)),
    ];
    merge_patch("integrations change", fields)
}

fn said(value: Option<impl Serialize>) -> Option<Value> {
    value.map(|value| json!(value))
}

fn read_checks(args: &ConnectionChangeArgs) -> Result<Option<Value>> {
    let (on, off) = (&args.checks, &args.no_checks);
    if let Some(twice) = on.iter().find(|name| off.contains(name)) {
        bail!("{twice} may be in only one of --checks and --no-checks");
    }
    let said = on.iter().map(|name| (name, true)).chain(off.iter().map(|name| (name, false)));
    let said: Map<String, Value> = said.map(|(name, is_on)| (name.clone(), json!(is_on))).collect();
    Ok(Some(Value::Object(said)).filter(|_| !(on.is_empty() && off.is_empty())))
}
