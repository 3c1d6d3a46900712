//! User profiles: self-reported details and their verification, visible only to the user and the operator.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;
use serde::{Deserialize, Serialize};

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, damaged, records};

probity_mail::named! {
    /// State of a user's identity verification.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IdentityCheck {
        Verified = "verified",
        /// They have yet to provide something.
        RequiresInput = "requires_input",
    }
}
crate::records::names!(IdentityCheck);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostalAddress {
    pub line1: Option<String>,
    /// Continuation of the first line.
    pub line2: Option<String>,
    pub city: Option<String>,
    /// State, county or province.
    pub state: Option<String>,
    pub postal_code: Option<String>,
    pub country: Option<String>,
}

/// Notification preferences.
#[expect(clippy::struct_excessive_bools, reason = "the contract has four independent wishes")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotificationSettings {
    /// A list was verified.
    pub after_flossing: bool,
    /// Weekly figures.
    pub weekly_report: bool,
    /// Monthly figures.
    pub monthly_report: bool,
    pub payment_receipts: bool,
}

impl NotificationSettings {
    /// Returns whether the member wants reports of a kind.
    pub fn has(&self, kind: ReportKind) -> bool {
        match kind {
            ReportKind::Run => self.after_flossing,
            ReportKind::Weekly => self.weekly_report,
            ReportKind::Monthly => self.monthly_report,
        }
    }

    /// Returns the settings without reports of a kind.
    #[must_use]
    pub fn without(self, kind: ReportKind) -> Self {
        match kind {
            ReportKind::Run => Self { after_flossing: false, ..self },
            ReportKind::Weekly => Self { weekly_report: false, ..self },
            ReportKind::Monthly => Self { monthly_report: false, ..self },
        }
    }

    pub(crate) fn bits(self) -> i64 {
        let Self { after_flossing, weekly_report, monthly_report, payment_receipts } = self;
        let wishes = [after_flossing, weekly_report, monthly_report, payment_receipts];
        wishes.into_iter().rev().fold(0, |bits, wish| bits << 1 | i64::from(wish))
    }

    pub(crate) fn of_bits(bits: i64) -> Self {
        let wish = |bit: i64| bits >> bit & 1 == 1;
        Self { after_flossing: wish(0), weekly_report: wish(1), monthly_report: wish(2), payment_receipts: wish(3) }
    }
}

crate::records::values! {
    [] NotificationSettings = i64, |wishes| wishes.bits(), |bits| Some(Self::of_bits(bits));
}

/// Account details of a user that their team does not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserProfile {
    /// Whether they have used a link sent to their address.
    pub email_verified: bool,
    /// Whether they sign in with two-factor authentication.
    pub second_factor: bool,
    /// State of their identity verification; `None` if none was requested.
    pub identity: Option<IdentityCheck>,
    pub phone: Option<String>,
    /// Company name, as they give it.
    pub company: Option<String>,
    /// VAT number of the company.
    pub vat_id: Option<String>,
    pub country: Option<String>,
    pub address: Option<PostalAddress>,
    /// Notifications that they want.
    pub notifications: NotificationSettings,
    /// Language of the user's mail and pages, if known.
    pub language: Option<PageLanguage>,
}

statements! {
    READ = "SELECT u.email_verified, u.identity, u.phone, u.company, u.vat_id, u.country, u.address, u.notifications, u.language, \
            f.confirmed_at FROM users u LEFT JOIN second_factor f ON f.org_no = u.org_no AND f.user_id = u.id \
            WHERE u.org_no = $1 AND u.id = $2";
    LOCK = "SELECT id FROM users WHERE org_no = $1 AND id = $2 {for_update}";
    WRITE = "UPDATE users SET phone = $1, company = $2, vat_id = $3, country = $4, notifications = $5, language = $6, address = $7 \
             WHERE org_no = $8 AND id = $9";
    SET_IDENTITY = "UPDATE users SET identity = $3 WHERE org_no = $1 AND id = $2";
}

pub async fn read(conn: &mut Conn, org: OrgNo, id: UserId) -> Result<UserProfile> {
    conn.one(&READ, args![org, id]).await
}

records!(row => UserProfile {
    email_verified, identity, phone, company, vat_id, country, notifications;
    second_factor: row.is_set("confirmed_at")?,
    address: row.utf8("address")?.map(|json| serde_json::from_str(&json)).transpose().map_err(damaged)?,
    language: row.language()?,
});

/// Locks this user until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo, id: UserId) -> Result<()> {
    tx.one::<UserId>(&LOCK, args![org, id]).await.map(drop)
}

/// Writes a user's self-reported details: neither their verification nor their sign-in.
pub async fn write(tx: &mut Tx, org: OrgNo, id: UserId, profile: &UserProfile) -> Result<()> {
    let json = |address: &PostalAddress| serde_json::to_vec(address).expect("an address is plain JSON");
    let address = profile.address.as_ref().map(json);
    let values = args!(profile => phone, company, vat_id, country, notifications, language; address, org, id);
    tx.change(&WRITE, values, StoreError::NotFound).await
}

/// Records a user's identity verification.
pub async fn set_identity(tx: &mut Tx, org: OrgNo, id: UserId, identity: Option<IdentityCheck>) -> Result<()> {
    tx.change(&SET_IDENTITY, args![org, id, identity], StoreError::NotFound).await
}
