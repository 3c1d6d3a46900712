use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_service::operator::credits::Until;

use super::moment::time_to_come;
use super::{OrgFlag, meaning, name, one_of};

/// Shown below the help of `keys`.
pub(super) const KEYS_EXAMPLES: &str = "\
Examples:
    probity keys create --name shop                  a live key for the only organization
    probity keys create --kind test --org org_01h455vb4pex5vsknk084sn02q
    probity keys create --kind rk --scope verify --scope read:jobs --expires 90d
    probity keys create --kind pub --origin https://shop.example.com
    probity keys create --json | jq -r .secret
    probity keys list
    probity keys rename key_01h455vb4pex5vsknk084sn02q web-shop
    probity keys rotate key_01h455vb4pex5vsknk084sn02q --overlap 48
    probity keys revoke key_01h455vb4pex5vsknk084sn02q";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it once
    Create(NewKeyArgs),
    /// List the keys of an organization, without secrets
    List(OrgFlag),
    /// Rename a key
    Rename {
        /// Key ID, not the key itself
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// Name to show from now on
        #[arg(value_name = "NAME", value_parser = name)]
        name: String,
        /// Refuse if the key does not belong to this organization
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
    /// Create a successor with the same rights, print it once, and end the key after an overlap
    Rotate {
        /// Key ID, not the key itself
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// Hours for which the old key keeps working, 0 to 720
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=720))]
        overlap: u32,
        /// Refuse if the key does not belong to this organization
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
    /// Revoke a key permanently
    Revoke {
        /// Key ID, not the key itself
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// Refuse if the key does not belong to this organization
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewKeyArgs {
    #[command(flatten)]
    pub org: OrgFlag,
    /// Kind of key
    #[arg(long, value_parser = kind(), default_value = "live")]
    pub kind: KeyKind,
    /// Displayed name; default: the kind
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Scope of a key of kind rk; repeatable
    #[arg(id = "scopes", long = "scope", value_name = "SCOPE", value_parser = one_of(Scope::ALL.map(Scope::as_str), Scope::from_name))]
    pub scope: Vec<Scope>,
    /// Origin on which a key of kind pub works, as in `https://shop.example.com`; repeatable
    #[arg(id = "allowed_origins", long = "origin", value_name = "ORIGIN")]
    pub origin: Vec<String>,
    /// Expiry: 90d, 2026-12-31 (the end of that day, UTC) or 2026-12-31T12:00:00Z; default: never
    #[arg(id = "expires_at", long = "expires", value_name = "TIME", value_parser = time_to_come)]
    pub expires: Option<Until>,
    /// Credits that a key of kind pub may spend per day; default: `widget.daily_cap`
    #[arg(long, value_name = "CREDITS", value_parser = clap::value_parser!(i64).range(1..=1_000_000_000))]
    pub daily_cap: Option<i64>,
    /// Maximum requests per minute; default: `rate.key_per_minute`, for kind pub `widget.key_per_minute`
    #[arg(id = "rate_limit_per_minute", long = "rate", value_name = "PER_MINUTE", value_parser = clap::value_parser!(u32).range(1..=60_000_000))]
    pub rate: Option<u32>,
}

fn kind() -> impl TypedValueParser<Value = KeyKind> {
    let names = [
        meaning("live", "All scopes"),
        meaning("rk", "Only its scopes"),
        meaning("test", "Sandbox only; spends no credits"),
        meaning("pub", "Widget on web pages, bound to their origins"),
    ];
    one_of(names, KeyKind::from_name)
}
