//! Creation of an organization with its owner and the plan's first credits.

use probity_account::name::{NameFault, name};
use probity_account::plans::Plan;
use probity_mail::time::Millis;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::plans;
use probity_store::accounts::users::{MemberRole, TeamMember, UserStatus, insert as insert_user};
use probity_store::{Result, Tx};

/// Organization with its owner, before they are stored.
pub struct NewOrganization {
    pub org: OrgRecord,
    /// Owner, without name and address until they use their link.
    pub owner: TeamMember,
    plan: Plan,
}

impl NewOrganization {
    /// Prepares an organization whose first month starts now.
    pub fn prepare(text: &str, plan: Plan, now: Millis) -> std::result::Result<Self, NameFault> {
        let org = OrgRecord::new(
            probity_access::secrets::random::id(now),
            Some(name(text)?.to_owned()),
            plan.name.clone(),
            now,
        );
        let owner = TeamMember {
            org: org.no,
            id: probity_access::secrets::random::id(now),
            email: None,
            name: None,
            role: MemberRole::Administrator,
            is_primary: true,
            status: UserStatus::Active,
            created_at: now,
        };
        Ok(Self { org, owner, plan })
    }

    /// Stores the organization and its owner, and grants the plan's first credits.
    pub async fn insert(&self, tx: &mut Tx) -> Result<OrgRecord> {
        let org = plans::open(tx, &self.org, &self.plan).await?;
        insert_user(tx, &self.owner).await?;
        Ok(org)
    }
}
