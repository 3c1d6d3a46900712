//! API keys.

use anyhow::{Context as _, Result, bail};
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use probity_account::api_key::KeyKind;
use probity_account::id::KeyId;
use probity_account::scope::Scope;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::keys::CreateKey;
use probity_contract::published::whole::Whole;
use probity_mail::time::Millis;
use probity_service::accounts::key_changes::{RenameKey, RotateKey, rename_key, rotate_key};
use probity_service::accounts::keys::{create_key, list_keys, revoke_key};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::credits::Until;
use probity_service::operator::organizations::read_all_organizations;
use serde_json::Value;

use super::credits::time_to_come;
use super::operator::{WHOLE, act_for, find_org, print_one, print_rows, staff};
use super::{OrgFlag, meaning, name, one_of};
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{self, AnswerColumn, at, field, made, moment, time_or};

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

pub(super) const KEYS: &[AnswerColumn] = &[
    at("ID", "/id"),
    made("KEY", |key| format!("{}...{}", field(key, "/prefix"), field(key, "/last4"))),
    made("ENDS", end),
    time_or("LAST USED", "/last_used_at", "never"),
    at("NAME", "/name"),
];

pub(super) async fn run(app: &App, command: &KeysCommand) -> Result<Printout> {
    match command {
        KeysCommand::Create(args) => {
            let caller = act_for(app, &args.org).await?;
            print_one(&caller, create_key(app, &caller, &Once::unkeyed(), new_key(args, app.now())).await?, NEW_KEY)
        }
        KeysCommand::List(some) => {
            let caller = act_for(app, some).await?;
            print_rows(&caller, list_keys(app, &caller, WHOLE).await?.data, KEYS)
        }
        KeysCommand::Rename { key, name, org } => {
            let rename =
                async |caller: &Caller, id| rename_key(app, caller, id, RenameKey { name: name.clone() }).await;
            let (caller, renamed) = of_key(app, key, org.as_deref(), rename).await?;
            print_one(&caller, renamed, AnswerView::Rows(KEYS))
        }
        KeysCommand::Rotate { key, overlap, org } => {
            let rotate = async |caller: &Caller, id| {
                rotate_key(app, caller, id, RotateKey { overlap_hours: Whole((*overlap).into()) }).await
            };
            let (caller, rotated) = of_key(app, key, org.as_deref(), rotate).await?;
            print_one(&caller, rotated, NEW_KEY)
        }
        KeysCommand::Revoke { key, org } => {
            let revoke = async |caller: &Caller, id| revoke_key(app, caller, id).await;
            let (caller, revoked) = of_key(app, key, org.as_deref(), revoke).await?;
            let keys = list_keys(app, &caller, WHOLE).await?.data;
            let answer = keys.into_iter().find(|one| one.id == revoked.id).with_context(|| missing(key))?;
            print_one(&caller, join(answer, OneField("deleted", revoked.deleted)), AnswerView::Rows(KEYS))
        }
    }
}

/// View of a new key. The secret has its own line, for copying.
pub(super) const NEW_KEY: AnswerView = AnswerView::Text(|key| {
    let table = table::rows(KEYS, [key]);
    format!("{table}\nSave this key; it is shown once.\n\n    {}\n", field(key, "/secret"))
});

fn missing(key: &str) -> String {
    format!("there is no key {key}; to list all keys: `probity keys list`")
}

/// Performs an act on a key. Key IDs are unique, so without `--org`, all organizations are searched.
async fn of_key<T>(
    app: &App,
    key: &str,
    org: Option<&str>,
    act: impl AsyncFn(&Caller, KeyId) -> Result<T, ApiError>,
) -> Result<(Caller, T)> {
    let orgs = match org {
        Some(org) => vec![find_org(app, org).await?],
        None => read_all_organizations(app).await?,
    };
    let id: KeyId = key.parse().ok().with_context(|| missing(key))?;
    for org in orgs {
        let caller = staff(org, false);
        match act(&caller, id).await {
            Ok(done) => return Ok((caller, done)),
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!(missing(key))
}

/// Builds the key to create.
pub(super) fn new_key(args: &NewKeyArgs, now: Millis) -> CreateKey {
    let named = args.name.clone().filter(|name| !name.is_empty());
    CreateKey {
        name: named.unwrap_or_else(|| format!("{} key", args.kind.as_str())),
        kind: args.kind,
        scopes: (!args.scope.is_empty()).then(|| args.scope.iter().copied().collect()),
        allowed_origins: (!args.origin.is_empty()).then(|| args.origin.clone()),
        daily_cap: args.daily_cap.map(Whole),
        expires_at: args.expires.map(|expires| expires.from(now).into()),
        rate_limit_per_minute: args.rate.map(|rate| Whole(rate.into())),
    }
}

fn end(key: &Value) -> String {
    match (moment(key, "/revoked_at"), moment(key, "/expires_at")) {
        (revoked, _) if !revoked.is_empty() => format!("revoked {revoked}"),
        (_, expires) if !expires.is_empty() => expires,
        _ => "never".to_owned(),
    }
}
