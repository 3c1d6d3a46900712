//! Request and response types of `/v1/users`.

use std::borrow::Cow;

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_account::role::MemberRole;
use probity_mail::address::trimmed;
use probity_mail::named;
use probity_store::accounts::users::{TeamMember, UserStatus, email_key};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat};

use crate::merge_patch::{PatchField, given};
use crate::schema;
use crate::schema::one_of;
use crate::timestamp::Timestamp;

/// A member of the organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct Member {
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    /// Email address; empty while the owner has none.
    #[schema(examples("ann@example.com"))]
    pub email: String,
    /// Member name.
    #[schema(required, examples("Ann Lee"))]
    pub name: Option<String>,
    #[schema(schema_with = role)]
    pub role: MemberRole,
    /// Whether the member is the owner. There is one owner, who cannot be removed, paused or given another role.
    pub is_primary: bool,
    #[schema(schema_with = status)]
    pub status: UserStatus,
    /// Time of the invitation.
    pub created_at: Timestamp,
}

impl From<TeamMember> for Member {
    fn from(user: TeamMember) -> Self {
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
    #[serde(deserialize_with = "email_of")]
    #[schema(schema_with = email)]
    pub email: String,
    #[serde(default, deserialize_with = "name_of")]
    #[schema(schema_with = name)]
    pub name: Option<String>,
    #[schema(schema_with = role)]
    pub role: MemberRole,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = mail_language)]
    pub language: Option<PageLanguage>,
}

/// Fields of a member to change. Omitted fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UserPatch)]
#[serde(deny_unknown_fields)]
pub struct MemberPatch {
    #[serde(default)]
    #[schema(schema_with = name)]
    pub name: PatchField<Line>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = role)]
    pub role: Option<MemberRole>,
    #[serde(default, deserialize_with = "maybe_status")]
    #[schema(schema_with = settable_status)]
    pub status: Option<UserStatus>,
}

/// A removed member.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DeletedUser)]
pub struct DeletedMember {
    #[schema(schema_with = schema::user_id)]
    pub id: UserId,
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

/// Line of text as stored, without surrounding white space.
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
    let email = trimmed(&text);
    match email_key(email) {
        Some(_) => Ok(email.to_owned()),
        None => Err(de::Error::custom("must be an email address")),
    }
}

fn name_of<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Line>::deserialize(from)?.map(|Line(name)| name))
}

/// Deserializes a status. Only `active` and `paused` can be set, not `invited`.
fn maybe_status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UserStatus>, D::Error> {
    named::read(from, [UserStatus::Active, UserStatus::Paused], UserStatus::as_str).map(Some)
}

schema::schemas! {
    role = one_of(MemberRole::ALL.map(MemberRole::as_str), "Role of the member. `administrator`: everything. \
        `contributor`: verify addresses, submit and cancel jobs, and view the account, the team, reports, \
        integrations and webhooks.");
    mail_language = one_of(PageLanguage::ALL.map(PageLanguage::as_str), "Language of the mail with the invitation. \
        Default: that of the member who invites, else `en`.");
    status = one_of(UserStatus::ALL.map(UserStatus::as_str), "Member status. `active`: can sign in. `invited`: has \
        not accepted yet. `paused`: cannot sign in.");
    settable_status = one_of(["active", "paused"], "Whether the member can sign in.");
    name = schema::line_or_null("Member name.", "Ann Lee");
    email: ObjectBuilder =
        schema::text(3..=254, "Email address. Domains of private networks are accepted.", "ann@example.com")
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)));
}
