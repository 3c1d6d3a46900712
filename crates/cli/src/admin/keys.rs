use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Moment, Request, moment_text, table};
use crate::args::{KeysCommand, NewKeyArgs};

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyKind {
    /// All scopes
    Live,
    /// Only its scopes
    Rk,
    /// Sandbox only; spends no credits
    Test,
    /// Widget on web pages, bound to their origins
    Pub,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewKey {
    pub kind: KeyKind,
    /// Label; may be empty.
    pub name: String,
    /// Scopes of a restricted key; empty for every other kind.
    pub scopes: Vec<String>,
    /// Origins of a public key; empty for every other kind.
    pub origins: Vec<String>,
    /// Credits per day that a public key may spend.
    pub daily_cap: Option<i64>,
    pub expires: Option<Moment>,
    /// The key's own rate limit, in requests per minute.
    pub per_minute: Option<u32>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Key {
    pub id: String,
    pub organization: String,
    pub name: String,
    pub kind: String,
    /// Start of the key's text.
    pub prefix: String,
    /// End of the key's text.
    pub last4: String,
    pub scopes: Vec<String>,
    /// Origins to which the key is bound; empty if unbound.
    pub origins: Vec<String>,
    /// Credits per day; `None` if the key has no cap of its own.
    pub daily_cap: Option<i64>,
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    #[serde(serialize_with = "super::maybe_time")]
    pub expires_at: Option<Millis>,
    /// Last use, to about a minute.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_used_at: Option<Millis>,
    #[serde(serialize_with = "super::maybe_time")]
    pub revoked_at: Option<Millis>,
}

#[derive(Serialize)]
pub(super) struct Created<'a> {
    #[serde(flatten)]
    pub(super) key: &'a Key,
    pub(super) secret: &'a str,
}

pub(super) fn request(command: &KeysCommand) -> Result<Request> {
    Ok(match command {
        KeysCommand::Create(args) => Request::CreateKey { org: args.org.org.clone(), key: new(args)? },
        KeysCommand::List(some) => Request::ListKeys { org: some.org.clone() },
        KeysCommand::Revoke { key, org } => Request::RevokeKey { org: org.clone(), key: key.clone() },
    })
}

fn new(args: &NewKeyArgs) -> Result<NewKey> {
    match args.kind {
        KeyKind::Rk if args.scope.is_empty() => bail!("a key of kind rk needs a scope: set --scope"),
        KeyKind::Pub if args.origin.is_empty() => bail!("a key of kind pub needs an origin: set --origin"),
        KeyKind::Rk | KeyKind::Pub => {}
        KeyKind::Live | KeyKind::Test if args.scope.is_empty() => {}
        KeyKind::Live | KeyKind::Test => bail!("--scope is for keys of kind rk; live and test keys have all scopes"),
    }
    if args.kind == KeyKind::Pub && !args.scope.is_empty() {
        bail!("--scope is for keys of kind rk; a key of kind pub works only in the widget");
    }
    if args.kind != KeyKind::Pub && !args.origin.is_empty() {
        bail!("--origin is for keys of kind pub");
    }
    if args.kind != KeyKind::Pub && args.daily_cap.is_some() {
        bail!("--daily-cap is for keys of kind pub");
    }
    Ok(NewKey {
        kind: args.kind,
        name: args.name.clone().unwrap_or_default(),
        scopes: sorted(&args.scope),
        origins: args.origin.iter().map(|text| origin(text)).collect::<Result<_>>()?,
        daily_cap: args.daily_cap,
        expires: args.expires,
        per_minute: args.rate,
    })
}

fn sorted(items: &[String]) -> Vec<String> {
    let mut items = items.to_vec();
    items.sort();
    items.dedup();
    items
}

fn origin(text: &str) -> Result<String> {
    let read = probity_service::admin::origin(text);
    read.with_context(|| format!("--origin {text}: must look like https://shop.example.com, without a path"))
}

pub(super) fn table(keys: &[Key]) -> String {
    let row = |key: &Key| {
        let visible = format!("{}...{}", key.prefix, key.last4);
        let used = key.last_used_at.map_or_else(|| "never".to_owned(), moment_text);
        vec![key.id.clone(), visible, state(key), used, key.name.clone()]
    };
    table::lines(&["ID", "KEY", "ENDS", "LAST USED", "NAME"], keys.iter().map(row))
}

fn state(key: &Key) -> String {
    match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {}", moment_text(at)),
        (None, Some(at)) => moment_text(at),
        (None, None) => "never".to_owned(),
    }
}

/// Formats a new key for people. The secret has its own line, for copying.
pub(super) fn created(key: &Key, secret: &str) -> String {
    format!("{}\n\nSave this key; it is shown once.\n\n    {secret}\n", table(std::slice::from_ref(key)).trim_end())
}
