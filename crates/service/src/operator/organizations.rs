//! Organizations as the operator sees them: created, found and changed.

use probity_access::minting::{self, MintedKey};
use probity_account::api_key::KeyKind;
use probity_account::id::OrgId;
use probity_account::plans::{Entitlement, EntitlementSet, Plan};
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::merge_patch::PatchField;
use probity_contract::page::List;
use probity_contract::published::operator::credits::CreditBalance;
use probity_contract::published::operator::organizations::{
    CreateCustomer, CreatedCustomer, Customer, CustomerPatch, CustomerWithCredits, OrganizationsQuery,
};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord, OwnTerms};
use probity_store::accounts::users::invitations::{self, Invitation};
use probity_store::accounts::{keys, plans};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::{Conn, OrgNo, Result as StoreResult, ScopedFutureExt as _, StoreError, Tx, credits, work};
use serde_json::Value;

use crate::app::App;
use crate::callers::given::{above_zero, bounded, checked_name};
use crate::callers::once::Once;
use crate::operator::ROWS_AT_ONCE;
use crate::operator::opening::NewOrganization;
use crate::operator::people::{LinkToken, new_link, show_link};
use crate::operator::plans::find_plan;

/// Name of the list in its cursors, before the prefix searched for.
pub const LIST: &str = "/admin/v1/organizations";
/// Pages of organizations that one search reads.
const SEARCHED_PAGES: usize = 10;

/// Returns the organization with an ID.
pub async fn find_organization(app: &App, id: OrgId) -> Result<OrgRecord, ApiError> {
    Ok(organization::by_id(&mut app.store.read().await?, id).await?)
}

/// Returns every organization, oldest first.
pub async fn read_all_organizations(app: &App) -> Result<Vec<OrgRecord>, ApiError> {
    let mut conn = app.store.read().await?;
    let mut all: Vec<OrgRecord> = Vec::new();
    loop {
        let page = organization::page(&mut conn, all.last().map(|org| org.no), ROWS_AT_ONCE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Lists every organization, oldest first.
pub async fn list_all_organizations(app: &App) -> Result<Vec<Customer>, ApiError> {
    Ok(read_all_organizations(app).await?.iter().map(|org| show_customer(app, org)).collect())
}

/// Lists organizations whose names start with a text, in any case, oldest first.
pub async fn list_organizations(app: &App, query: OrganizationsQuery) -> Result<List<Customer>, ApiError> {
    let asked = AskedPage::of(&app.cursors, &query.page, query.name.as_str(), LIST)?;
    let at_most = usize::try_from(asked.per_page).unwrap_or(usize::MAX);
    let (orgs, next) = search(&mut app.store.read().await?, &query.name, asked.after, at_most).await?;
    let next = next.map(|no| asked.cursor(&no));
    Ok(List::new(orgs.iter().map(|org| show_customer(app, org)).collect(), next))
}

/// Creates an organization and its owner, with the link with which the owner sets a password.
pub async fn create_organization(app: &App, once: &Once, asked: CreateCustomer) -> Result<CreatedCustomer, ApiError> {
    let prepared = PreparedCustomer::of(app, &asked)?;
    let created = app.store.write(work!(|tx| {
        let org = prepared.insert(tx).await?;
        let created = CreatedCustomer {
            organization: show_customer(app, &org),
            link: show_link(app, &prepared.link),
            key: prepared.key.as_ref().map(|minted| minted.secret.clone()),
        };
        once.keep(tx, &created).await?;
        Ok(created)
    }));
    Ok(created.await?)
}

/// Returns an organization with its plan, period, effective limits and credits.
pub async fn show_organization(app: &App, id: OrgId) -> Result<CustomerWithCredits, ApiError> {
    let org = find_organization(app, id).await?;
    show_with_credits(app, &org).await
}

async fn show_with_credits(app: &App, org: &OrgRecord) -> Result<CustomerWithCredits, ApiError> {
    let balance = credits::balance(&mut app.store.read().await?, org.no).await?;
    Ok(CustomerWithCredits { customer: show_customer(app, org), credits: CreditBalance::from(&balance) })
}

/// Changes an organization. Each field with a new value is an event of the timeline.
pub async fn change_organization(app: &App, id: OrgId, patch: CustomerPatch) -> Result<CustomerWithCredits, ApiError> {
    let change = CustomerChange::read(patch)?;
    let org = find_organization(app, id).await?;
    let plan = change.plan.as_deref().map(|plan| find_plan(app, Some(plan))).transpose()?;
    let named = change.name.as_deref().map(checked_name).transpose()?;
    let now = app.now();
    let changed =
        app.store.write(|tx| write_change(app, tx, org.no, (plan, named.as_deref(), &change), now).scope_boxed());
    let changed = changed.await?;
    app.keyring.forget();
    show_with_credits(app, &changed).await
}

/// Returns the organization as in the operator API.
pub(crate) fn show_customer(app: &App, org: &OrgRecord) -> Customer {
    Customer::of(org, app.config.plans.of(&org.plan), app.now())
}

/// Searches organizations by name. Names are compared here, because the two databases have different comparison rules. A
/// search therefore reads a limited number of organizations; it may find few or none, and returns where to continue.
async fn search(
    conn: &mut Conn,
    prefix: &str,
    after: Option<OrgNo>,
    at_most: usize,
) -> StoreResult<(Vec<OrgRecord>, Option<OrgNo>)> {
    let wanted = prefix.to_lowercase();
    let matches = |org: &OrgRecord| org.name.as_deref().unwrap_or_default().to_lowercase().starts_with(wanted.as_str());
    let (mut found, mut last): (Vec<OrgRecord>, _) = (Vec::new(), after);
    for _ in 0..SEARCHED_PAGES {
        let page = organization::page(conn, last, ROWS_AT_ONCE).await?;
        let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < ROWS_AT_ONCE);
        last = page.last().map_or(last, |org| Some(org.no));
        found.extend(page.into_iter().filter(&matches));
        if found.len() > at_most {
            found.truncate(at_most);
            let next = found.last().map(|org| org.no);
            return Ok((found, next));
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, last))
}

/// Customer before it is stored. Link and key are stored only as hashes.
struct PreparedCustomer {
    opened: NewOrganization,
    link: LinkToken,
    invitation: Invitation,
    key: Option<MintedKey>,
}

impl PreparedCustomer {
    fn of(app: &App, asked: &CreateCustomer) -> Result<Self, ApiError> {
        let seats = above_zero("seats", asked.seats)?;
        let rate_limit_per_minute = above_zero("rate_limit_per_minute", asked.rate_limit_per_minute)?;
        let (plan, now) = (find_plan(app, asked.plan.as_deref())?.clone(), app.now());
        let mut opened =
            NewOrganization::prepare(&asked.name, plan, now).map_err(|fault| ApiError::invalid("name", fault))?;
        (opened.org.seats_max, opened.org.rate_limit_per_minute) = (seats, rate_limit_per_minute);
        let (link, invitation) = new_link(&app.secrets, &opened.owner, now);
        let first_key = minting::KeyRequest::plain("First live key", KeyKind::Live);
        let mint = || minting::mint(&app.secrets, &app.config.brand, opened.org.no, None, first_key, now);
        let key = asked.first_key.then(mint);
        Ok(Self { opened, link, invitation, key })
    }

    async fn insert(&self, tx: &mut Tx) -> StoreResult<OrgRecord> {
        let org = self.opened.insert(tx).await?;
        invitations::issue(tx, &self.invitation).await?;
        if let Some(minted) = &self.key {
            keys::insert(tx, &minted.key, &minted.hash).await?;
            let what = AccountChange::about(AccountEventKind::KeyCreated, EventSubject::Key(minted.key.id));
            events::add(tx, org.no, org.created_at, Some(EventActor::Staff), &[what]).await?;
        }
        Ok(org)
    }
}

/// Validated change. Missing fields stay; cleared ones follow the plan.
struct CustomerChange {
    name: Option<String>,
    plan: Option<String>,
    seats: PatchField<i64>,
    rate_limit_per_minute: PatchField<i64>,
    low_balance: PatchField<i64>,
    entitlements: Vec<(Entitlement, PatchField<bool>)>,
}

impl CustomerChange {
    fn read(patch: CustomerPatch) -> Result<Self, ApiError> {
        let entitled = |(name, allowed): (String, Option<bool>)| {
            let all = Entitlement::ALL.map(Entitlement::as_str).join(", ");
            let unknown = || ApiError::invalid("entitlements", format_args!("may only contain {all}"));
            let one = name.parse::<Entitlement>().map_err(|()| unknown())?;
            Ok((one, allowed.map_or(PatchField::Cleared, PatchField::Given)))
        };
        Ok(Self {
            name: patch.name,
            plan: patch.plan,
            seats: bounded("seats", patch.seats, u32::MAX)?,
            rate_limit_per_minute: bounded("rate_limit_per_minute", patch.rate_limit_per_minute, u32::MAX)?,
            low_balance: bounded("low_balance", patch.low_balance, u32::MAX)?,
            entitlements: patch.entitlements.into_iter().map(entitled).collect::<Result<_, ApiError>>()?,
        })
    }

    fn apply(&self, org: &OrgRecord, named: Option<&str>) -> OrgRecord {
        let mut after = OrgRecord {
            name: named.map(str::to_owned).or_else(|| org.name.clone()),
            seats_max: self.seats.over(org.seats_max),
            rate_limit_per_minute: self.rate_limit_per_minute.over(org.rate_limit_per_minute),
            own: OwnTerms { low_balance: self.low_balance.over(org.own.low_balance), ..org.own },
            ..org.clone()
        };
        for (one, said) in &self.entitlements {
            let one = EntitlementSet::from(*one);
            let own = &mut after.own;
            (own.entitled, own.unentitled) = match said {
                PatchField::Nothing => (own.entitled, own.unentitled),
                PatchField::Cleared => (own.entitled.without(one), own.unentitled.without(one)),
                PatchField::Given(true) => (own.entitled.and(one), own.unentitled.without(one)),
                PatchField::Given(false) => (own.entitled.without(one), own.unentitled.and(one)),
            };
        }
        after
    }
}

async fn write_change(
    app: &App,
    tx: &mut Tx,
    org: OrgNo,
    (plan, named, change): (Option<&Plan>, Option<&str>, &CustomerChange),
    now: Millis,
) -> Result<OrgRecord, StoreError> {
    let before = organization::lock(tx, org).await?;
    let mut happened = differences(&before, &change.apply(&before, named));
    let mut after = before.clone();
    if let Some(plan) = plan.filter(|plan| plan.name != before.plan) {
        after = plans::change(tx, org, &app.config.plans, plan, now).await?;
        happened.push(AccountChange::Account(AccountEventKind::PlanChange, None));
    }
    let mut after = change.apply(&after, named);
    if after.own.low_balance != before.own.low_balance {
        plans::threshold_changed(tx, &mut after).await?;
    }
    organization::write(tx, &after).await?;
    events::add(tx, org, now, Some(EventActor::Staff), &happened).await?;
    Ok(after)
}

/// Returns an event for each of the organization's own values that differs.
fn differences(before: &OrgRecord, after: &OrgRecord) -> Vec<AccountChange> {
    let of = |org: &OrgRecord| {
        let own = |one| match (org.own.entitled.contains(one), org.own.unentitled.contains(one)) {
            (_, true) => Value::from(false),
            (true, false) => Value::from(true),
            (false, false) => Value::Null,
        };
        let entitlements = Entitlement::ALL.map(|one| (format!("organization.entitlements.{one}"), own(one)));
        let plain = [
            ("organization.name".to_owned(), Value::from(org.name.clone())),
            ("organization.seats".to_owned(), Value::from(org.seats_max)),
            ("organization.allowed_rate_limit_per_minute".to_owned(), Value::from(org.rate_limit_per_minute)),
            ("organization.low_balance".to_owned(), Value::from(org.own.low_balance)),
        ];
        plain.into_iter().chain(entitlements)
    };
    let change = |((setting, before), (_, after)): ((String, Value), (String, Value))| {
        (before != after).then_some(AccountChange::SettingsChange { setting, before, after, connection: None })
    };
    of(before).zip(of(after)).filter_map(change).collect()
}
