//! What `/v1/users` shows and takes.

use std::borrow::Cow;

use probity_core::id::UserId;
use probity_core::role::Role;
use probity_store::users::{User, UserStatus, email_key};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

use crate::api::merge_patch::Said;
use crate::api::timestamp::Timestamp;

use crate::openapi::schema::{self, one_of};

/// A member of the organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct Member {
    /// The person's id.
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    /// The person's address; empty for a primary user who has not given one yet.
    #[schema(examples("ann@example.com"))]
    pub email: String,
    /// What the person is called.
    #[schema(required, examples("Ann Lee"))]
    pub name: Option<String>,
    /// What the person may do.
    #[serde(serialize_with = "role_name")]
    #[schema(schema_with = role)]
    pub role: Role,
    /// Whether the organization is theirs. There is one such member, who cannot be removed, paused or given another role.
    pub is_primary: bool,
    /// Where the person stands.
    #[serde(serialize_with = "status_name")]
    #[schema(schema_with = status)]
    pub status: UserStatus,
    /// When the person was invited.
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

/// A member who was just invited.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = InvitedUser)]
pub struct NewMember {
    /// The member as the list shows them.
    #[serde(flatten)]
    pub member: Member,
    /// The link with which the person joins, once. Shown this once. It begins with a `/` where the service does not know the
    /// address at which it is reached.
    #[schema(examples("https://verify.example.com/#/link/4ZqKf0pX…"))]
    pub invitation_url: String,
}

/// Whom to invite.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = InviteUser)]
#[serde(deny_unknown_fields)]
pub struct Invite {
    /// The person's address, at most 254 bytes.
    #[serde(deserialize_with = "email_of")]
    #[schema(schema_with = email)]
    pub email: String,
    /// What the person is called.
    #[serde(default, deserialize_with = "name_of")]
    #[schema(schema_with = name)]
    pub name: Option<String>,
    /// What the person may do.
    #[serde(deserialize_with = "role_of")]
    #[schema(schema_with = role)]
    pub role: Role,
}

/// What to change of a member. Fields that are left out stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UserPatch)]
#[serde(deny_unknown_fields)]
pub struct MemberPatch {
    #[serde(default)]
    #[schema(schema_with = name)]
    pub(super) name: Said<Line>,
    #[serde(default, deserialize_with = "maybe_role")]
    #[schema(schema_with = role)]
    pub(super) role: Option<Role>,
    #[serde(default, deserialize_with = "maybe_status")]
    #[schema(schema_with = settable_status)]
    pub(super) status: Option<UserStatus>,
}

/// A member who was removed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DeletedUser)]
pub struct DeletedMember {
    /// The person's id.
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    /// Always true.
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

/// A line of text as it is kept: outer white space off.
#[derive(Clone, Debug)]
pub(crate) struct Line(pub(crate) String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        probity_core::name::name(&text).map(|line| Self(line.to_owned())).map_err(de::Error::custom)
    }
}

fn email_of<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = Cow::<'de, str>::deserialize(from)?;
    let email = text.trim();
    match email_key(email) {
        Some(_) => Ok(email.to_owned()),
        None => Err(de::Error::custom("must be an address of mail")),
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
    let means = "What the person may do. `administrator`: everything. `contributor`: verify, submit and cancel jobs, and see \
        the account, the team, reports, integrations and webhooks.";
    one_of(Role::ALL.map(Role::as_str), means)
}

fn status() -> Object {
    let means =
        "Where the person stands. `active`: may sign in. `invited`: has yet to accept. `paused`: may not sign in.";
    one_of(UserStatus::ALL.map(UserStatus::as_str), means)
}

fn settable_status() -> Object {
    one_of(["active", "paused"], "Whether the person may sign in.")
}

fn email() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
        .min_length(Some(3))
        .max_length(Some(254))
        .description(Some("The person's address. Names of private networks are taken, too."))
        .examples(["ann@example.com"])
        .build()
}

fn name() -> Object {
    schema::line_or_null("What the person is called.", "Ann Lee")
}
