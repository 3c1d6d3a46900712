//! Keys.

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

/// A key that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewKey {
    /// What it is for.
    pub kind: KeyKind,
    /// For people; may be empty.
    pub name: String,
    /// What a restricted key may do; empty for every other kind.
    pub scopes: Vec<String>,
    /// Where a public key may be used; empty for every other kind.
    pub origins: Vec<String>,
    /// Credits that a public key may spend a day.
    pub daily_cap: Option<i64>,
    /// When it ends.
    pub expires: Option<Moment>,
    /// Its own limit of requests a minute.
    pub per_minute: Option<u32>,
}

/// A key as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Key {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub organization: String,
    /// For people.
    pub name: String,
    /// What it is for.
    pub kind: String,
    /// How its text begins.
    pub prefix: String,
    /// How its text ends.
    pub last4: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// Where it may be used; empty where it is not bound.
    pub origins: Vec<String>,
    /// Credits that it may spend a day; null where nothing of its own was set.
    pub daily_cap: Option<i64>,
    /// When it was made.
    #[serde(serialize_with = "super::time")]
    pub created_at: Millis,
    /// When it ends.
    #[serde(serialize_with = "super::maybe_time")]
    pub expires_at: Option<Millis>,
    /// When it was last used, to the minute or so.
    #[serde(serialize_with = "super::maybe_time")]
    pub last_used_at: Option<Millis>,
    /// When it was revoked.
    #[serde(serialize_with = "super::maybe_time")]
    pub revoked_at: Option<Millis>,
}

/// A key that was just made.
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
    let read = probity_server::admin::origin(text);
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

/// A new key for people. The secret stands alone on its line, to be copied.
pub(super) fn created(key: &Key, secret: &str) -> String {
    format!("{}\n\nSave this key; it is shown once.\n\n    {secret}\n", table(std::slice::from_ref(key)).trim_end())
}
