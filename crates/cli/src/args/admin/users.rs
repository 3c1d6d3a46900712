use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::role::MemberRole;

use super::{OrgFlag, meaning, name};

/// Shown below the help of `users`.
pub(super) const USERS_EXAMPLES: &str = "\
Examples:
    probity users list
    probity users invite ann@example.com --name 'Ann Lee' --role administrator
    probity users role ann@example.com administrator
    probity users sessions ann@example.com
    probity users sign-out ann@example.com
    probity users pause ann@example.com
    probity users remove usr_01h455vb4pex5vsknk084sn02q
    probity users identity ann@example.com verified
    probity users reset-link ann@example.com
    probity users reset-link org_01h455vb4pex5vsknk084sn02q     the owner, who may have no address yet
    probity users reset-link ann@example.com --without-second-factor";

/// Results of an identity check.
const IDENTITIES: [(&str, &str); 3] =
    [("verified", "Identity verified"), ("requires-input", "Member must provide more"), ("unknown", "Not checked")];

#[derive(Debug, Args)]
pub(crate) struct MemberArg {
    /// Email address or member ID
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Organization ID, if the address belongs to several organizations
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List the members of an organization, newest first
    List(OrgFlag),
    /// Invite a member, or a pending one again, and print a one-time link
    Invite {
        /// Email address
        email: String,
        /// Name of the member
        #[arg(long, value_parser = name)]
        name: Option<String>,
        /// Role of the member
        #[arg(long, default_value = "contributor", value_parser = PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str)))]
        role: String,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Change a member's role
    Role {
        #[command(flatten)]
        one: MemberArg,
        /// New role
        #[arg(value_parser = PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str)))]
        role: String,
    },
    /// List a member's sessions, most recently used first
    Sessions(MemberArg),
    /// End all sessions of a member, or one
    SignOut {
        #[command(flatten)]
        one: MemberArg,
        /// ID of the only session to end
        #[arg(long, value_name = "SESSION_ID")]
        session: Option<String>,
    },
    /// Pause a member: end all sessions, and refuse sign-in until the member is resumed
    Pause(MemberArg),
    /// Resume a paused member
    Resume(MemberArg),
    /// Remove a member or withdraw an invitation; the member's keys keep working until `keys revoke`
    Remove(MemberArg),
    /// Set the identity check of a member, which the account shows
    Identity {
        #[command(flatten)]
        one: MemberArg,
        /// Result of the identity check
        #[arg(value_parser = PossibleValuesParser::new(IDENTITIES.map(|(name, means)| meaning(name, means))))]
        state: String,
    },
    /// Print a one-time link, valid for a day, that sets a member's new password
    ResetLink {
        /// Email address, member ID, or organization ID for its owner
        #[arg(value_name = "WHO")]
        who: String,
        /// Organization ID, if the address belongs to several organizations
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
        /// Also remove two-factor authentication, if the member has lost access to it
        #[arg(long)]
        without_second_factor: bool,
    },
}
