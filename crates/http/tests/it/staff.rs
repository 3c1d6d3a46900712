//! Operator's acts in tests, on separate parts next to the service, like the command line.

use std::sync::Arc;

use probity_access::minting::{KeyRequest, mint};
use probity_account::api_key::KeyKind;
use probity_account::credits::{Balance, CreditBucket};
use probity_account::id::OrgId;
use probity_account::name::NameFault;
use probity_account::plans::Plan as CatalogPlan;
use probity_backend::nodes::instance::Instance;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::keys::{CreateKey, NewKey};
use probity_contract::published::operator::credits::CreditAccount;
use probity_contract::published::operator::nodes::ListedNode;
use probity_contract::published::operator::organizations::{CustomerPatch, HoldCustomer};
use probity_contract::published::operator::people::CreateResetLink;
use probity_contract::published::privacy::erasures::CreateErasure;
use probity_http::service::{ServiceConfig, Verifiers};
use probity_mail::time::Millis;
use probity_service::accounts::keys as key_acts;
use probity_service::app::App;
use probity_service::app::parts::ServiceParts;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::operator::credits::{self, CreditOrder, Until};
use probity_service::operator::first_start::{FirstKeys, FirstStart};
use probity_service::operator::nodes::list_nodes;
use probity_service::operator::opening::NewOrganization;
use probity_service::operator::{holds, organizations, people};
use probity_service::privacy::erasures::create_erasure;
use probity_store::accounts::keys;
use probity_store::accounts::keys::StoredKey;
use probity_store::accounts::organization::{self, OrgRecord, OrgState};
use probity_store::accounts::users::TeamMember;
use probity_store::accounts::users::profile::IdentityCheck;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::credits::audit::{self, AuditDiscrepancy};
use probity_store::privacy::erasures;
use probity_store::privacy::erasures::ErasureRequest;
use probity_store::webhooks::outbox::{self, LoggedDelivery, OutboxState};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::test_app::BRAND;

/// Credits of a new organization without a configured plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Credits without a limit.
    Unlimited,
    /// Number of prepaid credits at the start.
    Metered { initial: i64 },
}

impl From<Plan> for CatalogPlan {
    fn from(plan: Plan) -> Self {
        match plan {
            Plan::Unlimited => Self::unlimited(),
            Plan::Metered { initial } => Self::metered(initial),
        }
    }
}

/// Operator next to a service.
pub(crate) struct Staff {
    instance: Instance,
    parts: ServiceParts,
}

impl Staff {
    pub(crate) fn open(instance: &Instance, config: &ServiceConfig, verifiers: &Verifiers) -> Self {
        let parts = ServiceParts::open_for_command(instance, config.parts(), verifiers);
        Self { instance: instance.clone(), parts }
    }

    pub(crate) async fn first_start(
        &self,
        name: &str,
        plan: impl Into<CatalogPlan>,
    ) -> Result<Option<FirstKeys>, StoreError> {
        FirstStart { instance: &self.instance, brand: BRAND }.make_organization(name, plan).await
    }

    /// Creates an organization on any plan, configured or not.
    pub(crate) async fn create_org(&self, name: &str, plan: impl Into<CatalogPlan>) -> Result<OrgRecord, NameFault> {
        let opened = NewOrganization::prepare(name, plan.into(), self.instance.clock.now())?;
        Ok(self.instance.store.write(|tx| opened.insert(tx).scope_boxed()).await.unwrap())
    }

    /// Returns the configured plan with this name, or the default plan.
    pub(crate) fn plan(&self, name: Option<&str>) -> Option<&CatalogPlan> {
        let plans = &self.parts.app.config.plans;
        name.map_or(Some(plans.first()), |name| plans.get(name))
    }

    /// Creates any key, including one that has expired, which the act would refuse; returns its secret, too.
    pub(crate) async fn create_key(
        &self,
        org: &OrgRecord,
        wanted: KeyRequest,
    ) -> Result<(StoredKey, String), StoreError> {
        let now = self.instance.clock.now();
        let minted = mint(&self.instance.secrets, BRAND, org.no, None, wanted, now);
        let made = self.instance.store.write(|tx| {
            async {
                keys::insert(tx, &minted.key, &minted.hash).await?;
                events::add(
                    tx,
                    org.no,
                    now,
                    Some(EventActor::Staff),
                    &[AccountChange::about(AccountEventKind::KeyCreated, EventSubject::Key(minted.key.id))],
                )
                .await
            }
            .scope_boxed()
        });
        made.await?;
        Ok((minted.key, minted.secret))
    }

    /// Creates a live key, like the command line.
    pub(crate) async fn create_live_key(&self, org: &OrgRecord, name: &str) -> Result<NewKey, ApiError> {
        let asked = CreateKey {
            name: name.to_owned(),
            kind: KeyKind::Live,
            scopes: None,
            allowed_origins: None,
            daily_cap: None,
            expires_at: None,
            rate_limit_per_minute: None,
        };
        key_acts::create_key(&self.parts.app, &caller(org), &Once::unkeyed(), asked).await
    }

    pub(crate) async fn list_keys(&self, org: &OrgRecord) -> Result<Vec<StoredKey>, StoreError> {
        keys::page(&mut self.instance.store.read().await?, org.no, None, 1_000).await
    }

    pub(crate) async fn revoke_key(&self, org: &OrgRecord, key: &str) -> Result<(), ApiError> {
        key_acts::revoke_key(&self.parts.app, &caller(org), key.parse().unwrap()).await.map(drop)
    }

    /// Requests the erasure of an address; returns the stored erasure.
    pub(crate) async fn erase(&self, org: &OrgRecord, email: &str) -> Result<ErasureRequest, ApiError> {
        let asked = CreateErasure { emails: vec![email.to_owned()], webhook_url: None };
        let requested = create_erasure(&self.parts.app, &caller(org), &Once::unkeyed(), asked).await?;
        Ok(erasures::by_id(&mut self.instance.store.read().await?, org.no, requested.id, false).await?)
    }

    pub(crate) async fn set_identity(
        &self,
        user: &TeamMember,
        identity: Option<IdentityCheck>,
    ) -> Result<(), ApiError> {
        let app = &self.parts.app;
        let (org, _) = people::find_people(app, &user.id.to_string()).await?.remove(0);
        people::set_identity(app, org, user.id, identity).await.map(drop)
    }

    pub(crate) async fn list_orgs(&self) -> Result<Vec<OrgRecord>, ApiError> {
        organizations::read_all_organizations(&self.parts.app).await
    }

    pub(crate) async fn org(&self, id: &str) -> Result<OrgRecord, ApiError> {
        organizations::find_organization(&self.parts.app, id.parse().unwrap()).await
    }

    pub(crate) async fn change_org(&self, org: &OrgRecord, patch: CustomerPatch) -> Result<(), ApiError> {
        organizations::change_organization(&self.parts.app, org.id, patch).await.map(drop)
    }

    pub(crate) async fn set_status(&self, org: &OrgRecord, status: OrgState) -> Result<OrgRecord, ApiError> {
        self.hold(org, status, None).await
    }

    pub(crate) async fn hold(
        &self,
        org: &OrgRecord,
        status: OrgState,
        reason: Option<&str>,
    ) -> Result<OrgRecord, ApiError> {
        let app = &self.parts.app;
        if status == OrgState::Active {
            holds::lift_hold(app, org.id).await?;
        } else if status == OrgState::NeedsIdentityVerification {
            // No act of the operator sets this status.
            app.store.write(|tx| organization::set_status(tx, org.no, status).scope_boxed()).await?;
        } else {
            let hold = HoldCustomer { status: status.as_str().to_owned(), reason: reason.map(str::to_owned) };
            holds::hold_organization(app, org.id, hold).await?;
        }
        organizations::find_organization(app, org.id).await
    }

    pub(crate) async fn grant(
        &self,
        org: &OrgRecord,
        bucket: CreditBucket,
        amount: i64,
        until: Option<Millis>,
    ) -> Result<CreditAccount, ApiError> {
        let until = until.map(Until::At);
        self.grant_ordered(org, CreditOrder::grant(bucket, amount, until, None)?).await
    }

    pub(crate) async fn grant_ordered(&self, org: &OrgRecord, order: CreditOrder) -> Result<CreditAccount, ApiError> {
        credits::grant_credits(&self.parts.app, org.id, order).await
    }

    pub(crate) async fn adjust(
        &self,
        org: &OrgRecord,
        bucket: CreditBucket,
        amount: i64,
    ) -> Result<CreditAccount, ApiError> {
        let order = CreditOrder::adjustment(bucket, amount, None)?;
        credits::adjust_credits(&self.parts.app, org.id, order).await
    }

    pub(crate) async fn balance(&self, org: &OrgRecord) -> Result<Balance, ApiError> {
        credits::read_balance(&self.parts.app, org.id).await
    }

    pub(crate) async fn people(&self, named: &str) -> Result<Vec<(OrgId, TeamMember)>, ApiError> {
        people::find_people(&self.parts.app, named).await
    }

    /// Creates a link. Returns its token.
    pub(crate) async fn reset_link(&self, user: &TeamMember, without_second_factor: bool) -> Result<String, ApiError> {
        let app = &self.parts.app;
        let (org, _) = people::find_people(app, &user.id.to_string()).await?.remove(0);
        let link = people::create_reset_link(app, org, user.id, CreateResetLink { without_second_factor }).await?;
        Ok(link.url.rsplit('/').next().unwrap().to_owned())
    }

    /// Calls an act for the operator, about an organization.
    pub(crate) async fn act<T>(&self, org: &OrgRecord, act: impl AsyncFnOnce(&App, &Caller) -> T) -> T {
        act(&self.parts.app, &caller(org)).await
    }

    pub(crate) async fn nodes(&self) -> Result<Vec<ListedNode>, ApiError> {
        list_nodes(&self.parts.app).await
    }

    /// Returns all discrepancies of the database, ignoring deliveries that ended before this time.
    pub(crate) async fn audit(&self, deliveries_keep_ms: i64) -> Result<Vec<AuditDiscrepancy>, StoreError> {
        audit::everything_since(&self.instance.store, self.instance.clock.now() - deliveries_keep_ms).await
    }

    pub(crate) async fn list_deliveries(
        &self,
        org: &OrgRecord,
        state: Option<OutboxState>,
        at_most: u32,
    ) -> Result<Vec<LoggedDelivery>, StoreError> {
        outbox::page(&mut self.instance.store.read().await?, org.no, state, None, i64::from(at_most)).await
    }
}

/// Returns the command line as the caller of acts about an organization.
fn caller(org: &OrgRecord) -> Caller {
    Caller::Staff { org: Arc::new(org.clone()), test: false }
}
