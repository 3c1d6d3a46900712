//! Kinds of account events and of changes of connections, by their names in the timeline.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountEventKind {
    KeyCreated,
    KeyRevoked,
    KeyRenamed,
    /// A key got a successor, and ends when the overlap does.
    KeyRotated,
    CreditsGranted,
    /// The balance was corrected by hand.
    CreditsAdjusted,
    /// Credits were refilled automatically.
    AutoRefill,
    /// The balance fell below its threshold.
    LowBalance,
    /// The organization's plan changed.
    PlanChange,
    /// The account was suspended, paused or banned.
    Hold,
    HoldLifted,
    CallbackSecretRotated,
    Login,
    /// A password was set or changed.
    PasswordChanged,
    /// A link that sets a new password was created: by the operator, or by the system for somebody who asked for one.
    ResetLinkCreated,
    /// A user enabled two-factor authentication.
    SecondFactorEnabled,
    /// A user disabled two-factor authentication.
    SecondFactorDisabled,
    /// Single sign-on was set up, or its settings changed.
    SsoChanged,
    SsoDeleted,
    /// A domain was proven to be the organization's.
    DomainProven,
    /// The record of a proven domain was found missing.
    DomainRecordMissing,
    /// The proof of a domain ended.
    DomainReleased,
    /// A user ended their own sessions.
    SessionsRevoked,
    MemberInvited,
    /// An invitation was accepted.
    MemberJoined,
    MemberChanged,
    /// A member was removed, or an invitation withdrawn.
    MemberRemoved,
    WebhookCreated,
    /// A webhook's name, URL or filter changed.
    WebhookChanged,
    WebhookDeleted,
    /// A webhook was disabled: by a user, or by the system after failing for too long.
    WebhookDisabled,
    WebhookEnabled,
    WebhookSecretRotated,
    /// A user requested an erasure.
    Erasure,
    /// A link to a list's summary was created; an earlier one ended.
    ListShared,
    /// The link to a list's summary was revoked.
    ListUnshared,
}

impl AccountEventKind {
    pub const ALL: [Self; 36] = [
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::KeyRenamed,
        Self::KeyRotated,
        Self::CreditsGranted,
        Self::CreditsAdjusted,
        Self::AutoRefill,
        Self::LowBalance,
        Self::PlanChange,
        Self::Hold,
        Self::HoldLifted,
        Self::CallbackSecretRotated,
        Self::Login,
        Self::PasswordChanged,
        Self::ResetLinkCreated,
        Self::SecondFactorEnabled,
        Self::SecondFactorDisabled,
        Self::SsoChanged,
        Self::SsoDeleted,
        Self::DomainProven,
        Self::DomainRecordMissing,
        Self::DomainReleased,
        Self::SessionsRevoked,
        Self::MemberInvited,
        Self::MemberJoined,
        Self::MemberChanged,
        Self::MemberRemoved,
        Self::WebhookCreated,
        Self::WebhookChanged,
        Self::WebhookDeleted,
        Self::WebhookDisabled,
        Self::WebhookEnabled,
        Self::WebhookSecretRotated,
        Self::Erasure,
        Self::ListShared,
        Self::ListUnshared,
    ];

    /// Name in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::KeyRenamed => "key_renamed",
            Self::KeyRotated => "key_rotated",
            Self::CreditsGranted => "credits_granted",
            Self::CreditsAdjusted => "credits_adjusted",
            Self::AutoRefill => "auto_refill",
            Self::LowBalance => "low_balance",
            Self::PlanChange => "plan_change",
            Self::Hold => "hold",
            Self::HoldLifted => "hold_lifted",
            Self::CallbackSecretRotated => "callback_secret_rotated",
            Self::Login => "login",
            Self::PasswordChanged => "password_changed",
            Self::ResetLinkCreated => "reset_link_created",
            Self::SecondFactorEnabled => "second_factor_enabled",
            Self::SecondFactorDisabled => "second_factor_disabled",
            Self::SsoChanged => "sso_changed",
            Self::SsoDeleted => "sso_deleted",
            Self::DomainProven => "domain_proven",
            Self::DomainRecordMissing => "domain_record_missing",
            Self::DomainReleased => "domain_released",
            Self::SessionsRevoked => "sessions_revoked",
            Self::MemberInvited => "member_invited",
            Self::MemberJoined => "member_joined",
            Self::MemberChanged => "member_changed",
            Self::MemberRemoved => "member_removed",
            Self::WebhookCreated => "webhook_created",
            Self::WebhookChanged => "webhook_changed",
            Self::WebhookDeleted => "webhook_deleted",
            Self::WebhookDisabled => "webhook_disabled",
            Self::WebhookEnabled => "webhook_enabled",
            Self::WebhookSecretRotated => "webhook_secret_rotated",
            Self::Erasure => "erasure",
            Self::ListShared => "list_shared",
            Self::ListUnshared => "list_unshared",
        }
    }
}

/// Changes of a connection, by their names in the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEventKind {
    Connected,
    /// It was deleted, or the platform refuses its credentials.
    Disconnected,
    /// It got credentials that the platform accepts.
    Reconnected,
    Renamed,
}

impl ConnectionEventKind {
    pub const ALL: [Self; 4] = [Self::Connected, Self::Disconnected, Self::Reconnected, Self::Renamed];

    /// Name in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Reconnected => "reconnected",
            Self::Renamed => "renamed",
        }
    }
}
