//! Single sign-on: the provider of each organization, its domains, and the provider's accounts of members.
//!
//! Any organization can claim a domain, but it is proven for only one; the database enforces that. An unproven domain has no
//! effect. Members are found by a keyed hash of issuer and subject.

use probity_account::id::UserId;
use probity_account::role::MemberRole;
use probity_mail::time::Millis;

use crate::accounts::people::passwords::SecretHash;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// An organization's provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSso {
    pub org: OrgNo,
    pub issuer: String,
    pub client_id: String,
    /// Encrypted.
    pub client_secret: Vec<u8>,
    /// Whether members at the proven domains cannot sign in by password.
    pub required: bool,
    /// Role for new members; `None` if sign-in admits none.
    pub newcomer_role: Option<MemberRole>,
    /// Whether addresses are trusted without `email_verified`.
    pub believed: bool,
    /// Version of these settings.
    pub version: i64,
    pub changed_at: Millis,
}

/// Domain that an organization claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedDomain {
    pub domain: String,
    pub proven_at: Option<Millis>,
    /// Time since which the record of a proven domain has been missing.
    pub missed_at: Option<Millis>,
}

/// Proven domain whose record is due to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueDomain {
    pub org: OrgNo,
    pub domain: String,
    pub look_at: Millis,
    pub missed_at: Option<Millis>,
}

statements! {
    READ = "SELECT org_no, issuer, client_id, client_secret, required, newcomer_role, believed, version, changed_at \
            FROM org_sso WHERE org_no = $1";
    ANY = "SELECT 1 AS one FROM org_sso LIMIT 1";
    BY_DOMAIN = "SELECT s.org_no, s.issuer, s.client_id, s.client_secret, s.required, s.newcomer_role, s.believed, s.version, \
                 s.changed_at FROM sso_domain d JOIN org_sso s ON s.org_no = d.org_no \
                 WHERE d.domain = $1 AND d.proven_at IS NOT NULL";
    WRITE = "INSERT INTO org_sso (org_no, issuer, client_id, client_secret, required, newcomer_role, believed, version, changed_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (org_no) DO UPDATE SET issuer = excluded.issuer, \
             client_id = excluded.client_id, client_secret = excluded.client_secret, required = excluded.required, \
             newcomer_role = excluded.newcomer_role, believed = excluded.believed, version = excluded.version, \
             changed_at = excluded.changed_at";
    REMOVE = "DELETE FROM org_sso WHERE org_no = $1";
    DOMAINS = "SELECT domain, proven_at, missed_at FROM sso_domain WHERE org_no = $1 LIMIT 100";
    CLAIM = "INSERT INTO sso_domain (org_no, domain, proven_at) VALUES ($1, $2, NULL) ON CONFLICT (org_no, domain) DO NOTHING";
    PROVE = "UPDATE sso_domain SET proven_at = COALESCE(proven_at, $3), look_at = $4, missed_at = NULL \
             WHERE org_no = $1 AND domain = $2";
    UNPROVE = "UPDATE sso_domain SET proven_at = NULL, look_at = NULL, missed_at = NULL \
               WHERE org_no = $1 AND domain = $2 AND proven_at IS NOT NULL";
    DUE = "SELECT org_no, domain, look_at, missed_at FROM sso_domain WHERE look_at <= $1 ORDER BY look_at LIMIT $2";
    LOOKED = "UPDATE sso_domain SET look_at = $4, missed_at = $5 WHERE org_no = $1 AND domain = $2 AND look_at = $3";
    RELEASE = "DELETE FROM sso_domain WHERE org_no = $1 AND domain = $2";
    RELEASE_ALL = "DELETE FROM sso_domain WHERE org_no = $1";
    IS_PROVEN = "SELECT 1 AS one FROM sso_domain WHERE org_no = $1 AND domain = $2 AND proven_at IS NOT NULL";
    BY_SUBJECT = "SELECT user_id FROM sso_identity WHERE org_no = $1 AND subject = $2";
    OF_USER = "SELECT subject FROM sso_identity WHERE org_no = $1 AND user_id = $2";
    BIND = "INSERT INTO sso_identity (org_no, user_id, subject) VALUES ($1, $2, $3)";
    FORGET = "DELETE FROM sso_identity WHERE org_no = $1 AND user_id = $2";
    FORGET_ALL = "DELETE FROM sso_identity WHERE org_no = $1";
    USE = "INSERT INTO sso_used (org_no, flow, ended_at) VALUES ($1, $2, $3) ON CONFLICT (org_no, flow) DO NOTHING";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, flow FROM sso_used WHERE ended_at <= $1 ORDER BY ended_at LIMIT $2 {skip_locked})
        DELETE FROM sso_used WHERE (org_no, flow) IN (SELECT org_no, flow FROM old)";
}

/// The provider of an organization, if it has one.
pub async fn of(conn: &mut Conn, org: OrgNo) -> Result<Option<StoredSso>> {
    conn.find(&READ, args![org]).await
}

/// Whether any organization has a provider.
pub async fn any(conn: &mut Conn) -> Result<bool> {
    conn.has(&ANY, args![]).await
}

/// The provider of the organization whose domain this is.
pub async fn by_domain(conn: &mut Conn, domain: &str) -> Result<Option<StoredSso>> {
    conn.find(&BY_DOMAIN, args![domain]).await
}

/// Writes an organization's provider. Lock the team first.
pub async fn write(tx: &mut Tx, sso: &StoredSso) -> Result<()> {
    let values =
        args!(sso => org, issuer, client_id, client_secret, required, newcomer_role, believed, version, changed_at);
    tx.execute(&WRITE, values).await.map(drop)
}

/// Removes an organization's provider with its domains and the bindings of members. [`StoreError::NotFound`]: it has none.
pub async fn remove(tx: &mut Tx, org: OrgNo) -> Result<()> {
    tx.execute(&RELEASE_ALL, args![org]).await?;
    forget_all(tx, org).await?;
    tx.change(&REMOVE, args![org], StoreError::NotFound).await
}

/// Domains that an organization claims, by name.
pub async fn domains(conn: &mut Conn, org: OrgNo) -> Result<Vec<ClaimedDomain>> {
    let mut domains: Vec<ClaimedDomain> = conn.all(&DOMAINS, args![org]).await?;
    domains.sort_by(|one, other| one.domain.cmp(&other.domain));
    Ok(domains)
}

/// Claims a domain; no effect if the organization claims it already.
pub async fn claim(tx: &mut Tx, org: OrgNo, domain: &str) -> Result<()> {
    tx.execute(&CLAIM, args![org, domain]).await.map(drop)
}

/// Records the proof of a claimed domain, with the next lookup of its record at `look_at`, if it has one; returns whether the
/// domain was unproven before. Lock the team first. [`StoreError::Conflict`]: another organization has proven it.
pub async fn prove(tx: &mut Tx, org: OrgNo, domain: &str, now: Millis, look_at: Option<Millis>) -> Result<bool> {
    let is_new = !is_proven(tx, org, domain).await?;
    Ok(tx.execute(&PROVE, args![org, domain, now, look_at]).await? == 1 && is_new)
}

/// Up to `at_most` domains whose records are due to be looked up, most overdue first.
pub async fn due(conn: &mut Conn, now: Millis, at_most: u32) -> Result<Vec<DueDomain>> {
    conn.all(&DUE, args![now, at_most]).await
}

/// Records a lookup: the time of the next one, and the time since which the record has been missing. False if the domain was
/// proven again, released or looked up since it was due.
pub async fn looked_up(tx: &mut Tx, due: &DueDomain, next: Millis, missed_at: Option<Millis>) -> Result<bool> {
    Ok(tx.execute(&LOOKED, args!(due => org, domain, look_at; next, missed_at)).await? == 1)
}

/// Ends the proof of a domain, which stays claimed; returns whether there was one.
pub async fn unprove(tx: &mut Tx, org: OrgNo, domain: &str) -> Result<bool> {
    Ok(tx.execute(&UNPROVE, args![org, domain]).await? == 1)
}

/// Ends the claim of a domain.
pub async fn release(tx: &mut Tx, org: OrgNo, domain: &str) -> Result<()> {
    tx.execute(&RELEASE, args![org, domain]).await.map(drop)
}

/// Whether a domain is proven for this organization.
pub async fn is_proven(conn: &mut Conn, org: OrgNo, domain: &str) -> Result<bool> {
    conn.has(&IS_PROVEN, args![org, domain]).await
}

/// The member who is bound to an account of the provider.
pub async fn by_subject(conn: &mut Conn, org: OrgNo, subject: &SecretHash) -> Result<Option<UserId>> {
    conn.find(&BY_SUBJECT, args![org, subject]).await
}

/// Whether a member is bound to an account of the provider.
pub async fn is_bound(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<bool> {
    conn.has(&OF_USER, args![org, user]).await
}

/// Binds a member to an account of the provider. [`StoreError::Conflict`]: either is bound already.
pub async fn bind(tx: &mut Tx, org: OrgNo, user: UserId, subject: &SecretHash) -> Result<()> {
    tx.execute(&BIND, args![org, user, subject]).await.map(drop)
}

/// Ends the binding of a member.
pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET, args![org, user]).await.map(drop)
}

/// Ends the bindings of all members.
pub async fn forget_all(tx: &mut Tx, org: OrgNo) -> Result<()> {
    tx.execute(&FORGET_ALL, args![org]).await.map(drop)
}

/// Uses up a response of a sign-in; false if it was used before.
pub async fn use_up(tx: &mut Tx, org: OrgNo, flow: &SecretHash, now: Millis) -> Result<bool> {
    Ok(tx.execute(&USE, args![org, flow, now]).await? == 1)
}

/// Removes up to `at_most` used responses from before a time, oldest first; returns the number.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, at_most]).await
}

records!(row => StoredSso {
    org = "org_no", issuer, client_id, client_secret, required, newcomer_role, believed, version, changed_at
});
records!(row => ClaimedDomain { domain, proven_at, missed_at });
records!(row => DueDomain { org = "org_no", domain, look_at, missed_at });
