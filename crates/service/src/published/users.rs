//! What `/v1/users` shows and takes.

use std::borrow::Cow;

use probity_account::id::UserId;
use probity_account::role::Role;
use probity_store::users::{User, UserStatus, email_key};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

use crate::merge_patch::Said;
use crate::schema;
use crate::schema::one_of;
use crate::timestamp::Timestamp;

/// A member of the organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct Member {
    /// Member ID.
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    /// Email address; empty while the owner has none.
    #[schema(examples("ann@example.com"))]
    pub email: String,
    /// Member name.
    #[schema(required, examples("Ann Lee"))]
    pub name: Option<String>,
    /// Role of the member.
    #[serde(serialize_with = "role_name")]
    #[schema(schema_with = role)]
    pub role: Role,
    /// Whether the member is the owner. There is one owner, who cannot be removed, paused or given another role.
    pub is_primary: bool,
    /// Member status.
    #[serde(serialize_with = "status_name")]
    #[schema(schema_with = status)]
    pub status: UserStatus,
    /// Time of the invitation.
    pub created_at: Timestamp,
}

impl From<User> for Member {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            email: user.email.unwrap_or_default(),
            name: user.name,
            role: user.role,
            is_primary: user.is_primary,
            status: user.status,
            created_at: user.created_at.into(),
        }
    }
}

/// A newly invited member.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = InvitedUser)]
pub struct NewMember {
    /// The member, as listed.
    #[serde(flatten)]
    pub member: Member,
    /// One-time link for joining, shown only here. It begins with `server.public_url`, or with `/` if that is not set.
    #[schema(examples("https://verify.example.com/#/link/4ZqKf0pX…"))]
    pub invitation_url: String,
}

/// The person to invite.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = InviteUser)]
#[serde(deny_unknown_fields)]
pub struct Invite {
    /// The person's address, at most 254 bytes.
    #[serde(deserialize_with = "email_of")]
    #[schema(schema_with = email)]
    pub email: String,
    /// Member name.
    #[serde(default, deserialize_with = "name_of")]
    #[schema(schema_with = name)]
    pub name: Option<String>,
    /// Role of the member.
    #[serde(deserialize_with = "role_of")]
    #[schema(schema_with = role)]
    pub role: Role,
}

/// Fields of a member to change. Omitted fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UserPatch)]
#[serde(deny_unknown_fields)]
pub struct MemberPatch {
    #[serde(default)]
    #[schema(schema_with = name)]
    pub name: Said<Line>,
    #[serde(default, deserialize_with = "maybe_role")]
    #[schema(schema_with = role)]
    pub role: Option<Role>,
    #[serde(default, deserialize_with = "maybe_status")]
    #[schema(schema_with = settable_status)]
    pub status: Option<UserStatus>,
}

/// A removed member.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DeletedUser)]
pub struct DeletedMember {
    /// Member ID.
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    /// Always true.
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

/// A line of text as it is kept: outer white space off.
#[derive(Clone, Debug)]
pub struct Line(pub String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        probity_account::name::name(&text).map(|line| Self(line.to_owned())).map_err(de::Error::custom)
    }
}

fn email_of<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    let email = text.trim();
    match email_key(email) {
        Some(_) => Ok(email.to_owned()),
        None => Err(de::Error::custom("must be an email address")),
    }
}

fn name_of<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Line>::deserialize(from)?.map(|Line(name)| name))
}

fn role_of<'de, D: Deserializer<'de>>(from: D) -> Result<Role, D::Error> {
    let name = Cow::<'de, str>::deserialize(from)?;
    Role::from_name(&name).ok_or_else(|| de::Error::custom("must be administrator or contributor"))
}

/// A role that may be left out, but not be null: there is none without.
fn maybe_role<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Role>, D::Error> {
    role_of(from).map(Some)
}

/// `invited` is what somebody is, not what they are made.
fn maybe_status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UserStatus>, D::Error> {
    let name = Cow::<'de, str>::deserialize(from)?;
    let settable = [UserStatus::Active, UserStatus::Paused].into_iter().find(|status| status.as_str() == name);
    settable.map(Some).ok_or_else(|| de::Error::custom("must be active or paused"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn role_name<S: Serializer>(role: &Role, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(role.as_str())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn status_name<S: Serializer>(status: &UserStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.as_str())
}

fn role() -> Object {
    let means = "Role of the member. `administrator`: everything. `contributor`: verify addresses, submit and \
        cancel jobs, and view the account, the team, reports, integrations and webhooks.";
    one_of(Role::ALL.map(Role::as_str), means)
}

fn status() -> Object {
    let means = "Member status. `active`: can sign in. `invited`: has not accepted yet. `paused`: cannot sign in.";
    one_of(UserStatus::ALL.map(UserStatus::as_str), means)
}

fn settable_status() -> Object {
    one_of(["active", "paused"], "Whether the member can sign in.")
}

fn email() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
        .min_length(Some(3))
        .max_length(Some(254))
        .description(Some("Email address. Domains of private networks are accepted."))
        .examples(["ann@example.com"])
        .build()
}

fn name() -> Object {
    schema::line_or_null("Member name.", "Ann Lee")
}
