//! API keys.

use anyhow::{Context as _, Result, bail};
use probity_account::id::KeyId;
use probity_contract::error::{ApiError, Code};
use probity_contract::page::PageQuery;
use probity_contract::published::accounts::keys::CreateKey;
use probity_contract::published::whole::Whole;
use probity_mail::time::Millis;
use probity_service::accounts::key_changes::{RenameKey, RotateKey, rename_key, rotate_key};
use probity_service::accounts::keys::{create_key, list_keys, revoke_key};
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use serde_json::Value;

use super::LocalOperator;
use super::operator::{DeletedObject, print_one, print_rows, staff};
use crate::args::{KeysCommand, NewKeyArgs};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, moment, time_or};

pub(super) const KEYS: &[AnswerColumn] = &[
    at("ID", "/id"),
    made("KEY", |key| format!("{}...{}", field(key, "/prefix"), field(key, "/last4"))),
    made("ENDS", end),
    time_or("LAST USED", "/last_used_at", "never"),
    at("NAME", "/name"),
];

/// All keys of an organization are one page.
const WHOLE: PageQuery = PageQuery { per_page: u32::MAX, cursor: None };

pub(super) async fn run(operator: &LocalOperator<'_>, command: &KeysCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        KeysCommand::Create(args) => {
            let caller = operator.act_for(&args.org).await?;
            print_one(&caller, create_key(app, &caller, &Once::unkeyed(), new_key(args, app.now())).await?, NEW_KEY)
        }
        KeysCommand::List(some) => {
            let caller = operator.act_for(some).await?;
            print_rows(&caller, list_keys(app, &caller, WHOLE).await?.data, KEYS)
        }
        KeysCommand::Rename { key, name, org } => {
            let rename =
                async |caller: &Caller, id| rename_key(app, caller, id, RenameKey { name: name.clone() }).await;
            let (caller, renamed) = of_key(operator, key, org.as_deref(), rename).await?;
            print_one(&caller, renamed, AnswerView::Rows(KEYS))
        }
        KeysCommand::Rotate { key, overlap, org } => {
            let rotate = async |caller: &Caller, id| {
                rotate_key(app, caller, id, RotateKey { overlap_hours: Whole((*overlap).into()) }).await
            };
            let (caller, rotated) = of_key(operator, key, org.as_deref(), rotate).await?;
            print_one(&caller, rotated, NEW_KEY)
        }
        KeysCommand::Revoke { key, org } => {
            let revoke = async |caller: &Caller, id| revoke_key(app, caller, id).await;
            let (caller, revoked) = of_key(operator, key, org.as_deref(), revoke).await?;
            let keys = list_keys(app, &caller, WHOLE).await?.data;
            let answer = keys.into_iter().find(|one| one.id == revoked.id).with_context(|| missing(key))?;
            let shown = DeletedObject { answer, deleted: revoked.deleted };
            print_one(&caller, shown, AnswerView::Rows(KEYS))
        }
    }
}

/// A new key for people. The secret has its own line, for copying.
pub(super) const NEW_KEY: AnswerView = AnswerView::Text(|key| {
    let table = table::rows(KEYS, [key]);
    format!("{table}\nSave this key; it is shown once.\n\n    {}\n", field(key, "/secret"))
});

fn missing(key: &str) -> String {
    format!("there is no key {key}; to list all keys: `probity keys list`")
}

/// Does something with a key. Key IDs are unique, so without `--org`, all organizations are searched.
async fn of_key<T>(
    operator: &LocalOperator<'_>,
    key: &str,
    org: Option<&str>,
    act: impl AsyncFn(&Caller, KeyId) -> Result<T, ApiError>,
) -> Result<(Caller, T)> {
    let orgs = match org {
        Some(org) => vec![operator.find_org(org).await?],
        None => operator.read_orgs().await?,
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
