//! Organizations as the operator sees them: made, found, changed, stopped and let go on.

use std::sync::Arc;

use probity_account::api_key::KeyKind;
use probity_account::credits::{Balance, Credits};
use probity_account::id::OrgId;
use probity_account::name::name;
use probity_account::plans::{Entitlement, Entitlements, Plan as CatalogPlan};
use probity_mail::time::Millis;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::organization::{Org, OrgStatus, Own};
use probity_store::users::User;
use probity_store::users::invitations::{self, Invitation};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, StoreError, Tx, credits, jobs, keys, organization, plans};
use serde_json::Value;

use crate::admin::{Admin, MakeError, NewKey, PAGE, ResetLink, Said, happened, insert_org, new_org, owner_of};
use crate::jobs::stop_jobs_of;
use crate::minting::Minted;

/// Pages of organizations that one search looks at: it says where to go on.
const SEARCHED_PAGES: usize = 10;

/// A customer to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewCustomer<'a> {
    /// What they are called.
    pub name: &'a str,
    /// The name of their plan; none for that of new organizations.
    pub plan: Option<&'a str>,
    /// How many people may belong to them; none where the plan says.
    pub seats: Option<i64>,
    /// Requests a minute for all their keys; none where the plan says.
    pub rate_limit_per_minute: Option<i64>,
    /// Whether they get a first live key.
    pub with_key: bool,
}

/// A customer who is not stored yet. Link and key are nowhere else.
pub struct Prepared {
    org: Org,
    owner: User,
    plan: CatalogPlan,
    /// With which its owner sets their password.
    pub link: ResetLink,
    invitation: Invitation,
    minted: Option<Minted>,
}

impl Prepared {
    /// Stores all of it; gives the organization as it begins.
    pub async fn insert(&self, tx: &mut Tx) -> Result<Org> {
        let org = insert_org(tx, &self.org, &self.owner, &self.plan).await?;
        invitations::issue(tx, &self.invitation).await?;
        if let Some(minted) = &self.minted {
            keys::insert(tx, &minted.key, &minted.hash).await?;
            happened(tx, org.no, org.created_at, Actor::Staff, AccountEvent::KeyCreated).await?;
        }
        Ok(org)
    }

    /// The first key, where one was wished for.
    pub fn key(&self) -> Option<&str> {
        self.minted.as_ref().map(|minted| &*minted.secret)
    }
}

/// What a search has found.
#[derive(Debug)]
pub struct Found {
    /// Organizations, the oldest first.
    pub orgs: Vec<Org>,
    /// After which to go on; none where all have been looked at.
    pub next: Option<OrgNo>,
}

/// What is to be changed of an organization. What is not said stays, and what is cleared is as the plan says.
#[derive(Clone, Debug, Default)]
pub struct OrgChange {
    /// What it is called.
    pub name: Option<String>,
    /// The name of its plan.
    pub plan: Option<String>,
    /// How many people may belong to it.
    pub seats: Said<i64>,
    /// Requests a minute for all its keys.
    pub rate_limit_per_minute: Said<i64>,
    /// Below how many credits its balance is low.
    pub low_balance: Said<Credits>,
    /// What it may use, or may not, whatever its plan says.
    pub entitlements: Vec<(Entitlement, Said<bool>)>,
}

impl Admin {
    /// The plan with a name, or that of new organizations.
    pub fn plan(&self, name: Option<&str>) -> std::result::Result<&CatalogPlan, MakeError> {
        match name {
            None => Ok(self.plans.first()),
            Some(name) => self.plans.get(name).ok_or_else(|| MakeError::Plan(name.to_owned())),
        }
    }

    /// Makes an organization with its owner.
    pub async fn create_org(&self, named: &str, plan: impl Into<CatalogPlan>) -> std::result::Result<Org, MakeError> {
        let plan = plan.into();
        let org = new_org(name(named)?, &plan, self.now());
        let owner = owner_of(&org);
        Ok(self.instance.store.write(|tx| insert_org(tx, &org, &owner, &plan).scope_boxed()).await?)
    }

    /// Makes everything of an organization with its owner, the owner's link and, where that is wished for, a first key.
    pub fn prepare_customer(&self, new: NewCustomer<'_>) -> std::result::Result<Prepared, MakeError> {
        let (plan, now) = (self.plan(new.plan)?.clone(), self.now());
        let org = Org {
            seats_max: new.seats,
            rate_limit_per_minute: new.rate_limit_per_minute,
            ..new_org(name(new.name)?, &plan, now)
        };
        let owner = owner_of(&org);
        let (token, invitation) = self.new_link(&owner, now);
        let link = ResetLink { token, expires_at: invitation.expires_at };
        let minted = new.with_key.then(|| self.mint(&org, NewKey::plain("First live key", KeyKind::Live), now));
        Ok(Prepared { org, owner, plan, link, invitation, minted })
    }

    /// All organizations, the oldest first.
    pub async fn list_orgs(&self) -> Result<Vec<Org>> {
        let mut conn = self.instance.store.read().await?;
        let mut all: Vec<Org> = Vec::new();
        loop {
            let page = organization::page(&mut conn, all.last().map(|org| org.no), PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Organizations whose names begin with a text, in whatever case; all where it is empty. Texts are compared here: the two
    /// databases do it by rules of their own. So a search looks at a bounded number of organizations and may find few or none
    /// of them before it says where to go on.
    pub async fn search(&self, beginning: &str, after: Option<OrgNo>, at_most: usize) -> Result<Found> {
        let mut conn = self.instance.store.read().await?;
        let wanted = beginning.to_lowercase();
        let matches = |org: &Org| org.name.as_deref().unwrap_or_default().to_lowercase().starts_with(wanted.as_str());
        let (mut found, mut last): (Vec<Org>, _) = (Vec::new(), after);
        for _ in 0..SEARCHED_PAGES {
            let page = organization::page(&mut conn, last, PAGE).await?;
            let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE);
            last = page.last().map_or(last, |org| Some(org.no));
            found.extend(page.into_iter().filter(&matches));
            if found.len() > at_most {
                found.truncate(at_most);
                return Ok(Found { next: found.last().map(|org| org.no), orgs: found });
            }
            if is_last {
                return Ok(Found { orgs: found, next: None });
            }
        }
        Ok(Found { orgs: found, next: last })
    }

    /// The organization with an id.
    pub async fn org(&self, id: &str) -> Result<Org> {
        let id: OrgId = id.parse().map_err(|_| StoreError::NotFound)?;
        organization::by_id(&mut self.instance.store.read().await?, id).await
    }

    /// What an organization has, holds and has spent.
    pub async fn balance(&self, org: &Org) -> Result<Balance> {
        credits::balance(&mut self.instance.store.read().await?, org.no).await
    }

    /// Stops an organization or lets it go on.
    pub async fn set_status(&self, org: &Org, status: OrgStatus) -> Result<Org> {
        self.hold(org, status, None).await
    }

    /// The same with a reason, which no customer ever sees. Where it is banned, its jobs have been stopped when this returns. An
    /// error may come after the ban: then it stands, and doing this again, like the next round of upkeep, stops what is left.
    pub async fn hold(&self, org: &Org, status: OrgStatus, reason: Option<&str>) -> Result<Org> {
        let now = self.now();
        let held = self.set_hold(org, status, reason, now).await?;
        if status == OrgStatus::Banned {
            stop_jobs_of(&self.instance.store, org.no, now).await?;
        }
        Ok(held)
    }

    async fn set_hold(&self, org: &Org, status: OrgStatus, reason: Option<&str>, now: Millis) -> Result<Org> {
        let changed = self.instance.store.write(|tx| {
            async {
                let before = organization::set_hold(tx, org.no, status, reason).await?;
                if before.is_stopped() != status.is_stopped() {
                    jobs::waits(tx, org.no, now).await?;
                }
                match (before.is_stopped(), status.is_stopped()) {
                    (false, true) => happened(tx, org.no, now, Actor::Staff, AccountEvent::Hold).await?,
                    (true, false) => happened(tx, org.no, now, Actor::Staff, AccountEvent::HoldLifted).await?,
                    _ => {}
                }
                organization::by_no(tx, org.no).await
            }
            .scope_boxed()
        });
        changed.await
    }

    /// Changes an organization. Everything that has another value then is an event of its timeline.
    pub async fn change_org(&self, org: &Org, change: &OrgChange) -> std::result::Result<Org, MakeError> {
        let plan = change.plan.as_deref().map(|plan| self.plan(Some(plan))).transpose()?;
        let named = change.name.as_deref().map(name).transpose()?;
        let (plans, now) = (Arc::clone(&self.plans), self.now());
        let changed = self.instance.store.write(|tx| {
            async {
                let before = organization::lock(tx, org.no).await?;
                let mut happened = differences(&before, &changed_by(&before, named, change));
                let mut after = before.clone();
                if let Some(plan) = plan.filter(|plan| plan.name != before.plan) {
                    after = plans::change(tx, org.no, &plans, plan, now).await?;
                    happened.push(What::Account(AccountEvent::PlanChange));
                }
                let mut after = changed_by(&after, named, change);
                if after.own.low_balance != before.own.low_balance {
                    plans::threshold_changed(tx, &mut after).await?;
                }
                organization::write(tx, &after).await?;
                events::add(tx, org.no, now, Some(Actor::Staff), &happened).await?;
                Ok(after)
            }
            .scope_boxed()
        });
        Ok(changed.await?)
    }

    /// When a subscription's credits end whatever was said: with the month that runs, where the plan has months that end.
    pub(super) fn end_of_month(&self, org: &Org, now: Millis) -> Option<Millis> {
        self.month_end(org).filter(|end| *end > now)
    }

    /// Whether a month has ended and the next one, which ends what is left of it, has not begun: that of an organization that is
    /// stopped, or on a plan that is not configured.
    pub(super) fn waits_for_month(&self, org: &Org, now: Millis) -> bool {
        self.month_end(org).is_some_and(|end| end <= now)
    }

    fn month_end(&self, org: &Org) -> Option<Millis> {
        org.term.renews_at.filter(|_| !self.plans.of(&org.plan).keeps_unused)
    }
}

fn changed_by(org: &Org, named: Option<&str>, change: &OrgChange) -> Org {
    let mut after = Org {
        name: named.map(str::to_owned).or_else(|| org.name.clone()),
        seats_max: change.seats.over(org.seats_max),
        rate_limit_per_minute: change.rate_limit_per_minute.over(org.rate_limit_per_minute),
        own: Own { low_balance: change.low_balance.over(org.own.low_balance), ..org.own },
        ..org.clone()
    };
    for (one, said) in &change.entitlements {
        let one = Entitlements::from(*one);
        let own = &mut after.own;
        (own.entitled, own.unentitled) = match said {
            Said::Nothing => (own.entitled, own.unentitled),
            Said::Cleared => (own.entitled.without(one), own.unentitled.without(one)),
            Said::Given(true) => (own.entitled.and(one), own.unentitled.without(one)),
            Said::Given(false) => (own.entitled.without(one), own.unentitled.and(one)),
        };
    }
    after
}

/// What is the organization's own, as the timeline tells it.
fn differences(before: &Org, after: &Org) -> Vec<What> {
    let of = |org: &Org| {
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
        (before != after).then_some(What::SettingsChange { setting, before, after, connection: None })
    };
    of(before).zip(of(after)).filter_map(change).collect()
}
