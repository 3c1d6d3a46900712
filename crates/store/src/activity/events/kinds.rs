//! Kinds of account events and of changes of connections, by their names in the timeline.

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AccountEventKind {
        KeyCreated = "key_created",
        KeyRevoked = "key_revoked",
        KeyRenamed = "key_renamed",
        /// A key was rotated, and ends after the overlap.
        KeyRotated = "key_rotated",
        CreditsGranted = "credits_granted",
        /// The balance was corrected by hand.
        CreditsAdjusted = "credits_adjusted",
        /// Credits were refilled automatically.
        AutoRefill = "auto_refill",
        /// The balance fell below its threshold.
        LowBalance = "low_balance",
        /// The organization's plan changed.
        PlanChange = "plan_change",
        /// The account was suspended, paused or banned.
        Hold = "hold",
        HoldLifted = "hold_lifted",
        CallbackSecretRotated = "callback_secret_rotated",
        Login = "login",
        /// A password was set or changed.
        PasswordChanged = "password_changed",
        /// A link that sets a new password was created by the operator, or by the system on request.
        ResetLinkCreated = "reset_link_created",
        /// A user enabled two-factor authentication.
        SecondFactorEnabled = "second_factor_enabled",
        /// A user disabled two-factor authentication.
        SecondFactorDisabled = "second_factor_disabled",
        /// Single sign-on was set up, or its settings changed.
        SsoChanged = "sso_changed",
        SsoDeleted = "sso_deleted",
        /// A domain was proven to belong to the organization.
        DomainProven = "domain_proven",
        /// The record of a proven domain was found missing.
        DomainRecordMissing = "domain_record_missing",
        /// The proof of a domain ended.
        DomainReleased = "domain_released",
        /// A user ended their own sessions.
        SessionsRevoked = "sessions_revoked",
        MemberInvited = "member_invited",
        /// An invitation was accepted.
        MemberJoined = "member_joined",
        MemberChanged = "member_changed",
        /// A member was removed, or an invitation withdrawn.
        MemberRemoved = "member_removed",
        WebhookCreated = "webhook_created",
        /// A webhook's name, URL or filter changed.
        WebhookChanged = "webhook_changed",
        WebhookDeleted = "webhook_deleted",
        /// A webhook was disabled: by a user, or by the system after failing for too long.
        WebhookDisabled = "webhook_disabled",
        WebhookEnabled = "webhook_enabled",
        WebhookSecretRotated = "webhook_secret_rotated",
        /// A user requested an erasure.
        Erasure = "erasure",
        /// A link to a list's summary was created; an earlier one ended.
        ListShared = "list_shared",
        /// The link to a list's summary was revoked.
        ListUnshared = "list_unshared",
    }
}

probity_mail::named! {
    /// Changes of a connection, by their names in the timeline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ConnectionEventKind {
        Connected = "connected",
        /// It was deleted, or the platform refuses its credentials.
        Disconnected = "disconnected",
        /// It got credentials that the platform accepts.
        Reconnected = "reconnected",
        Renamed = "renamed",
        /// A user or a key started a run.
        RunStarted = "run_started",
        /// The planned actions of a run were confirmed.
        RunConfirmed = "run_confirmed",
        RunCancelled = "run_cancelled",
        /// Actions were approved in the review.
        ActionsApproved = "actions_approved",
        /// Contacts were kept in the review.
        ContactsKept = "contacts_kept",
    }
}
