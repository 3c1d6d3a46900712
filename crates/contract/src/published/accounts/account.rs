//! Request and response types of `/v1/account`.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_store::accounts::users::TeamMember;
use probity_store::accounts::users::profile::{self, IdentityCheck, PostalAddress, UserProfile};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};

use crate::merge_patch::{Nested, PatchField, given};
use crate::published::accounts::users::Line;
use crate::schema::{line, line_or_null, one_of, or_null, user_id};
use crate::timestamp::Timestamp;

/// Account of a team member.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Account {
    #[schema(schema_with = user_id)]
    pub id: UserId,
    /// Member name.
    #[schema(required, examples("Ann Lee"))]
    pub name: Option<String>,
    /// Email address; empty while the owner has none.
    #[schema(examples("ann@example.com"))]
    pub email: String,
    /// Whether the member has used a link that was sent to the address.
    pub email_verified: bool,
    /// Whether the member signs in with two-factor authentication.
    pub two_factor_enabled: bool,
    #[serde(serialize_with = "identity_name")]
    #[schema(required, schema_with = identity)]
    pub identity_verified: Option<IdentityCheck>,
    /// Phone number.
    #[schema(required, examples("+49 30 123456"))]
    pub phone: Option<String>,
    /// Company name.
    #[schema(required, examples("Example Ltd"))]
    pub organization: Option<String>,
    /// Company VAT ID.
    #[schema(required, examples("DE123456789"))]
    pub vat_id: Option<String>,
    /// Company country.
    #[schema(required, examples("DE"))]
    pub country: Option<String>,
    /// Company address.
    #[schema(required)]
    pub address: Option<Postal>,
    /// Email notification preferences.
    pub notifications: Notifications,
    /// Time at which the member was invited or created the organization.
    pub created_at: Timestamp,
}

/// A postal address.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PostalAddress)]
pub struct Postal {
    /// Street and number.
    #[schema(required, examples("1 Example Street"))]
    pub line1: Option<String>,
    /// Second address line.
    #[schema(required, examples("2nd floor"))]
    pub line2: Option<String>,
    /// City.
    #[schema(required, examples("Berlin"))]
    pub city: Option<String>,
    /// State, county or province.
    #[schema(required, examples("Berlin"))]
    pub state: Option<String>,
    /// Postal code.
    #[schema(required, examples("10115"))]
    pub postal_code: Option<String>,
    /// Country.
    #[schema(required, examples("DE"))]
    pub country: Option<String>,
}

/// Email notification preferences. Emails need a mail relay; receipts are never sent.
#[expect(clippy::struct_excessive_bools, reason = "the contract has four independent wishes")]
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Notifications {
    /// Report after a run of a connection.
    pub after_flossing: bool,
    /// Weekly report.
    pub weekly_report: bool,
    /// Monthly report.
    pub monthly_report: bool,
    /// Payment receipt.
    pub payment_receipts: bool,
}

impl Account {
    pub fn of(user: TeamMember, profile: UserProfile) -> Self {
        let wishes = profile.notifications;
        Self {
            id: user.id,
            name: user.name,
            email: user.email.unwrap_or_default(),
            email_verified: profile.email_verified,
            two_factor_enabled: profile.second_factor,
            identity_verified: profile.identity,
            phone: profile.phone,
            organization: profile.company,
            vat_id: profile.vat_id,
            country: profile.country,
            address: profile.address.map(Postal::from),
            notifications: Notifications {
                after_flossing: wishes.after_flossing,
                weekly_report: wishes.weekly_report,
                monthly_report: wishes.monthly_report,
                payment_receipts: wishes.payment_receipts,
            },
            created_at: user.created_at.into(),
        }
    }
}

impl From<PostalAddress> for Postal {
    fn from(address: PostalAddress) -> Self {
        let PostalAddress { line1, line2, city, state, postal_code, country } = address;
        Self { line1, line2, city, state, postal_code, country }
    }
}

/// Account fields to change. Omitted fields stay; null clears a field.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = name)]
    name: Option<Line>,
    #[serde(default)]
    #[schema(schema_with = phone)]
    phone: PatchField<Line>,
    #[serde(default)]
    #[schema(schema_with = organization)]
    organization: PatchField<Line>,
    #[serde(default)]
    #[schema(schema_with = vat_id)]
    vat_id: PatchField<Line>,
    #[serde(default)]
    #[schema(schema_with = country)]
    country: PatchField<Line>,
    #[serde(default)]
    #[schema(value_type = Option<PostalPatch>)]
    address: PatchField<Nested<PostalPatch>>,
    #[serde(default)]
    #[schema(value_type = Option<NotificationsPatch>)]
    notifications: PatchField<Nested<NotificationsPatch>>,
    /// Sent by pages only; not a field of the API.
    #[serde(skip)]
    #[schema(ignore)]
    language: Option<PageLanguage>,
}

/// Account fields that a member of any role can change; none of them is about billing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPatch {
    #[serde(default, deserialize_with = "given")]
    name: Option<Line>,
    #[serde(default)]
    phone: PatchField<Line>,
    #[serde(default)]
    notifications: PatchField<Nested<NotificationsPatch>>,
    /// Language of the page.
    language: Option<PageLanguage>,
}

impl From<OwnPatch> for AccountPatch {
    fn from(own: OwnPatch) -> Self {
        let OwnPatch { name, phone, notifications, language } = own;
        Self { name, phone, notifications, language, ..Self::default() }
    }
}

/// Fields of a postal address to change. If no field is left, the address becomes null.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = PostalAddressPatch)]
#[serde(deny_unknown_fields, default)]
pub struct PostalPatch {
    #[schema(schema_with = postal_line)]
    line1: PatchField<Line>,
    #[schema(schema_with = postal_line)]
    line2: PatchField<Line>,
    #[schema(schema_with = postal_line)]
    city: PatchField<Line>,
    #[schema(schema_with = postal_line)]
    state: PatchField<Line>,
    #[schema(schema_with = postal_line)]
    postal_code: PatchField<Line>,
    #[schema(schema_with = country)]
    country: PatchField<Line>,
}

/// Preferences to change. Null restores the default, true.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NotificationsPatch {
    #[schema(schema_with = wish)]
    after_flossing: PatchField<bool>,
    #[schema(schema_with = wish)]
    weekly_report: PatchField<bool>,
    #[schema(schema_with = wish)]
    monthly_report: PatchField<bool>,
    #[schema(schema_with = wish)]
    payment_receipts: PatchField<bool>,
}

impl AccountPatch {
    /// Returns the user and the profile after the patch.
    pub fn applied_to(&self, user: &TeamMember, profile: &UserProfile) -> (TeamMember, UserProfile) {
        let name = self.name.clone().map(|Line(name)| name).or_else(|| user.name.clone());
        let after = UserProfile {
            phone: over(&self.phone, profile.phone.as_ref()),
            company: over(&self.organization, profile.company.as_ref()),
            vat_id: over(&self.vat_id, profile.vat_id.as_ref()),
            country: over(&self.country, profile.country.as_ref()),
            address: match &self.address {
                PatchField::Nothing => profile.address.clone(),
                PatchField::Cleared => None,
                PatchField::Given(Nested(patch)) => patch.applied_to(profile.address.as_ref()),
            },
            notifications: match self.notifications {
                PatchField::Nothing => profile.notifications,
                PatchField::Cleared => NotificationsPatch::cleared().applied_to(profile.notifications),
                PatchField::Given(Nested(patch)) => patch.applied_to(profile.notifications),
            },
            language: self.language.or(profile.language),
            ..profile.clone()
        };
        (TeamMember { name, ..user.clone() }, after)
    }
}

impl PostalPatch {
    fn applied_to(&self, before: Option<&PostalAddress>) -> Option<PostalAddress> {
        let before = before.cloned().unwrap_or_default();
        let after = PostalAddress {
            line1: over(&self.line1, before.line1.as_ref()),
            line2: over(&self.line2, before.line2.as_ref()),
            city: over(&self.city, before.city.as_ref()),
            state: over(&self.state, before.state.as_ref()),
            postal_code: over(&self.postal_code, before.postal_code.as_ref()),
            country: over(&self.country, before.country.as_ref()),
        };
        (after != PostalAddress::default()).then_some(after)
    }
}

impl NotificationsPatch {
    fn cleared() -> Self {
        let cleared = PatchField::Cleared;
        Self { after_flossing: cleared, weekly_report: cleared, monthly_report: cleared, payment_receipts: cleared }
    }

    fn applied_to(self, before: profile::NotificationSettings) -> profile::NotificationSettings {
        profile::NotificationSettings {
            after_flossing: self.after_flossing.flag(before.after_flossing, true),
            weekly_report: self.weekly_report.flag(before.weekly_report, true),
            monthly_report: self.monthly_report.flag(before.monthly_report, true),
            payment_receipts: self.payment_receipts.flag(before.payment_receipts, true),
        }
    }
}

fn over(said: &PatchField<Line>, before: Option<&String>) -> Option<String> {
    match said {
        PatchField::Nothing => before.cloned(),
        PatchField::Cleared => None,
        PatchField::Given(Line(text)) => Some(text.clone()),
    }
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn identity_name<S: Serializer>(identity: &Option<IdentityCheck>, to: S) -> Result<S::Ok, S::Error> {
    identity.map(IdentityCheck::as_str).serialize(to)
}

crate::schema::schemas! {
    identity = or_null(one_of(IdentityCheck::ALL.map(IdentityCheck::as_str), "Whether the member's identity is \
        verified; null if it was never checked."));
    name = line("Member name.", "Ann Lee").build();
    phone = line_or_null("Phone number.", "+49 30 123456");
    organization = line_or_null("Company name.", "Example Ltd");
    vat_id = line_or_null("Company VAT ID.", "DE123456789");
    country = line_or_null("Country.", "DE");
    postal_line = line_or_null("Line of the address.", "1 Example Street");
    wish: ObjectBuilder = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Boolean, Type::Null]))
        .description(Some("Whether to send this email."))
        .examples([true]);
}
