//! The command line of `users`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_core::role::Role;

use super::{AdminOptions, SomeOrg, name};
use crate::admin::Identity;

/// Shown below the help of `users`.
pub(in crate::args) const USERS_EXAMPLES: &str = "\
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
    probity users reset-link org_01h455vb4pex5vsknk084sn02q     its owner, who may have no address yet
    probity users reset-link ann@example.com --without-second-factor";

/// `users`.
#[derive(Debug, Args)]
pub(crate) struct UsersArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: UsersCommand,
}

/// The person whom a command is about.
#[derive(Debug, Args)]
pub(crate) struct OnePerson {
    /// An address, or the id of a person
    #[arg(value_name = "WHO")]
    pub who: String,
    /// The organization's id, where the address has people in several
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

/// The commands about people.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// Lists the members of an organization, the newest first
    List(SomeOrg),
    /// Invites somebody and prints their link, once; or once more who has not accepted yet
    Invite {
        /// Their address
        email: String,
        /// What they are called
        #[arg(long, value_parser = name)]
        name: Option<String>,
        /// What they may do
        #[arg(long, default_value = "contributor", value_parser = PossibleValuesParser::new(Role::ALL.map(Role::as_str)))]
        role: String,
        /// The organization.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// Gives a member another role
    Role {
        /// Who.
        #[command(flatten)]
        one: OnePerson,
        /// What they may do from now on
        #[arg(value_parser = PossibleValuesParser::new(Role::ALL.map(Role::as_str)))]
        role: String,
    },
    /// Lists where somebody is signed in, the session that was used last first
    Sessions(OnePerson),
    /// Signs somebody out, everywhere unless a session is named
    SignOut {
        /// Who.
        #[command(flatten)]
        one: OnePerson,
        /// The id of one of their sessions
        #[arg(long, value_name = "SESSION_ID")]
        session: Option<String>,
    },
    /// Pauses a member: they are signed out, and cannot sign in until they are resumed
    Pause(OnePerson),
    /// Lets a paused member sign in again
    Resume(OnePerson),
    /// Removes a member, or takes an invitation back; keys go on, and are revoked by `keys revoke`
    Remove(OnePerson),
    /// Says what is known of who somebody is; their account shows it to them
    Identity {
        /// Who.
        #[command(flatten)]
        one: OnePerson,
        /// What is known
        #[arg(value_enum)]
        state: Identity,
    },
    /// Makes a one-time link with which somebody sets a new password; it is shown once and lasts a day
    ResetLink {
        /// An address, or the id of a person or of an organization, whose owner is meant
        #[arg(value_name = "WHO")]
        who: String,
        /// The organization's id, where the address has people in several
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
        /// Takes their second factor away too: they have lost it
        #[arg(long)]
        without_second_factor: bool,
    },
}
