//! What people say of themselves, and what is known of them: the part of a person that only they and those who run the
//! installation see.

use probity_account::id::UserId;
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Whether it is known who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// It is.
    Verified,
    /// They have yet to show something.
    RequiresInput,
}

impl Identity {
    /// Every state.
    pub const ALL: [Self; 2] = [Self::Verified, Self::RequiresInput];

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::RequiresInput => "requires_input",
        }
    }
}

/// Where somebody lives or works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostalAddress {
    /// Street and number.
    pub line1: Option<String>,
    /// What the first line has no room for.
    pub line2: Option<String>,
    /// The town.
    pub city: Option<String>,
    /// The state, county or province.
    pub state: Option<String>,
    /// The code of the post.
    pub postal_code: Option<String>,
    /// The country.
    pub country: Option<String>,
}

/// What somebody wishes to be told of.
#[expect(clippy::struct_excessive_bools, reason = "the contract has four independent wishes")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notifications {
    /// A list was cleaned.
    pub after_flossing: bool,
    /// The week's numbers.
    pub weekly_report: bool,
    /// The month's numbers.
    pub monthly_report: bool,
    /// A payment.
    pub payment_receipts: bool,
}

impl Notifications {
    fn bits(self) -> i64 {
        let Self { after_flossing, weekly_report, monthly_report, payment_receipts } = self;
        let wishes = [after_flossing, weekly_report, monthly_report, payment_receipts];
        wishes.into_iter().rev().fold(0, |bits, wish| bits << 1 | i64::from(wish))
    }

    fn of_bits(bits: i64) -> Self {
        let wish = |bit: i64| bits >> bit & 1 == 1;
        Self { after_flossing: wish(0), weekly_report: wish(1), monthly_report: wish(2), payment_receipts: wish(3) }
    }
}

/// A person's account beyond what their team sees of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whether a link that was sent to their address came back.
    pub email_verified: bool,
    /// Whether they sign in with a second factor.
    pub second_factor: bool,
    /// Whether it is known who they are; none where nobody has asked.
    pub identity: Option<Identity>,
    /// Their telephone number.
    pub phone: Option<String>,
    /// The company that they name.
    pub company: Option<String>,
    /// Its number for value added tax.
    pub vat_id: Option<String>,
    /// Its country.
    pub country: Option<String>,
    /// Where it is.
    pub address: Option<PostalAddress>,
    /// What they wish to be told of.
    pub notifications: Notifications,
}

statements! {
    READ = "SELECT u.email_verified, u.identity, u.phone, u.company, u.vat_id, u.country, u.address, u.notifications, \
            f.confirmed_at FROM users u LEFT JOIN second_factor f ON f.org_no = u.org_no AND f.user_id = u.id \
            WHERE u.org_no = $1 AND u.id = $2";
    LOCK = "SELECT id FROM users WHERE org_no = $1 AND id = $2 {for_update}";
    WRITE = "UPDATE users SET phone = $3, company = $4, vat_id = $5, country = $6, address = $7, notifications = $8 \
             WHERE org_no = $1 AND id = $2";
    SET_IDENTITY = "UPDATE users SET identity = $3 WHERE org_no = $1 AND id = $2";
}

/// A person's profile.
pub async fn read(conn: &mut Conn, org: OrgNo, id: UserId) -> Result<Profile> {
    let row = conn.first(&READ, args![org, id.to_string()]).await?.ok_or(StoreError::NotFound)?;
    let identity: Option<String> = row.get("identity")?;
    let identity = identity.map(|name| {
        let known = Identity::ALL.into_iter().find(|state| state.as_str() == name);
        known.ok_or_else(|| StoreError::corrupt("a person's identity"))
    });
    let address: Option<Vec<u8>> = row.get("address")?;
    let address = address.map(|json| serde_json::from_slice(&json)).transpose();
    Ok(Profile {
        email_verified: row.get::<i64>("email_verified")? == 1,
        second_factor: row.get::<Option<i64>>("confirmed_at")?.is_some(),
        identity: identity.transpose()?,
        phone: row.get("phone")?,
        company: row.get("company")?,
        vat_id: row.get("vat_id")?,
        country: row.get("country")?,
        address: address.map_err(|error| StoreError::Corrupt(error.into()))?,
        notifications: Notifications::of_bits(row.get("notifications")?),
    })
}

/// Nobody else changes this person until the transaction ends.
pub async fn lock(tx: &mut Tx, org: OrgNo, id: UserId) -> Result<()> {
    tx.first(&LOCK, args![org, id.to_string()]).await?.map(drop).ok_or(StoreError::NotFound)
}

/// Writes what a person says of themselves: not whether it is true, and not how they sign in.
pub async fn write(tx: &mut Tx, org: OrgNo, id: UserId, profile: &Profile) -> Result<()> {
    let json = |address: &PostalAddress| serde_json::to_vec(address).expect("an address is plain JSON");
    let values = args![
        org,
        id.to_string(),
        profile.phone.as_deref(),
        profile.company.as_deref(),
        profile.vat_id.as_deref(),
        profile.country.as_deref(),
        profile.address.as_ref().map(json),
        profile.notifications.bits(),
    ];
    super::changed(tx.execute(&WRITE, values).await?)
}

/// Notes what is known of who a person is.
pub async fn set_identity(tx: &mut Tx, org: OrgNo, id: UserId, identity: Option<Identity>) -> Result<()> {
    let name = identity.map(Identity::as_str);
    super::changed(tx.execute(&SET_IDENTITY, args![org, id.to_string(), name]).await?)
}
