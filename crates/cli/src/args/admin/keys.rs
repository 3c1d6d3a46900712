//! The command line of `keys`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_core::scope::Scope;

use super::{AdminOptions, SomeOrg, name};
use crate::admin::{KeyKind, Moment};

/// Shown below the help of `keys`.
pub(in crate::args) const KEYS_EXAMPLES: &str = "\
Examples:
    probity keys create --name shop                  a live key of the only organization
    probity keys create --kind test --org org_01h455vb4pex5vsknk084sn02q
    probity keys create --kind rk --scope verify --scope read:jobs --expires 90d
    probity keys create --kind pub --origin https://shop.example.com
    probity keys create --json | jq -r .secret
    probity keys list
    probity keys revoke key_01h455vb4pex5vsknk084sn02q";

/// `keys`.
#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// The commands about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Creates a key and prints it, once
    Create(NewKeyArgs),
    /// Lists the keys of an organization, without their secrets
    List(SomeOrg),
    /// Revokes a key, for good
    Revoke {
        /// The key's id, not the key itself
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// Refuses where the key belongs to another organization
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
}

/// `keys create`.
#[derive(Debug, Args)]
pub(crate) struct NewKeyArgs {
    /// Whose key it is.
    #[command(flatten)]
    pub org: SomeOrg,
    /// What it is for
    #[arg(long, value_enum, default_value = "live")]
    pub kind: KeyKind,
    /// A name by which people know it; default: the kind
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// What a key of kind rk may do; several may be given
    #[arg(long, value_name = "SCOPE", value_parser = PossibleValuesParser::new(Scope::ALL.iter().map(|scope| scope.as_str())))]
    pub scope: Vec<String>,
    /// Where a key of kind pub may be used, as in `https://shop.example.com`; several may be given
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Vec<String>,
    /// When it ends: 90d, 2026-12-31 (the end of that day, UTC) or 2026-12-31T12:00:00Z; default: never
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub expires: Option<Moment>,
    /// Credits that a key of kind pub may spend a day; default: `widget.daily_cap`
    #[arg(long, value_name = "CREDITS", value_parser = clap::value_parser!(i64).range(1..=1_000_000_000))]
    pub daily_cap: Option<i64>,
    /// Its own limit of requests a minute; default: `rate.key_per_minute`, of kind pub `widget.key_per_minute`
    #[arg(long, value_name = "PER_MINUTE", value_parser = clap::value_parser!(u32).range(1..=60_000_000))]
    pub rate: Option<u32>,
}
