//! The command line of those who run the service: `orgs`, `keys`, `credits`, `audit`, `deliveries`, `nodes`,
//! `users`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_core::name::NameFault;
use probity_core::role::Role;
use probity_core::scope::Scope;

use crate::admin::{Bucket, DeliveryState, KeyKind, Moment, Plan};

/// Shown below the help of `orgs`.
pub(super) const ORGS_EXAMPLES: &str = "\
Examples:
    probity orgs create 'Example Ltd' --plan metered
    probity orgs list --json
    probity orgs suspend org_01h455vb4pex5vsknk084sn02q
    probity orgs lift org_01h455vb4pex5vsknk084sn02q";

/// Shown below the help of `keys`.
pub(super) const KEYS_EXAMPLES: &str = "\
Examples:
    probity keys create --name shop                  a live key of the only organization
    probity keys create --kind test --org org_01h455vb4pex5vsknk084sn02q
    probity keys create --kind rk --scope verify --scope read:jobs --expires 90d
    probity keys create --kind pub --origin https://shop.example.com
    probity keys create --json | jq -r .secret
    probity keys list
    probity keys revoke key_01h455vb4pex5vsknk084sn02q";

/// Shown below the help of `credits`.
pub(super) const CREDITS_EXAMPLES: &str = "\
Examples:
    probity credits grant --amount 10000
    probity credits grant --bucket subscription --amount 5000 --until 2026-12-31 --org org_01h455vb4pex5vsknk084sn02q
    probity credits show
    probity credits adjust --bucket prepaid --amount -250
    probity credits audit                            exit code 1 where the books do not agree";

/// Shown below the help of `audit`.
pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
    probity audit                                    exit code 1 where something does not agree
    probity audit --json | jq -r .rule";

/// Shown below the help of `deliveries`.
pub(super) const DELIVERIES_EXAMPLES: &str = "\
Examples:
    probity deliveries list --state exhausted
    probity deliveries show dlv_01h455vb4pex5vsknk084sn02q
    probity deliveries resend dlv_01h455vb4pex5vsknk084sn02q";

/// Shown below the help of `nodes`.
pub(super) const NODES_EXAMPLES: &str = "\
Examples:
    probity nodes
    probity nodes --json | jq -r 'select(.alive) | .hostname'";

/// Shown below the help of `users`.
pub(super) const USERS_EXAMPLES: &str = "\
Examples:
    probity users list
    probity users invite ann@example.com --name 'Ann Lee' --role administrator
    probity users pause ann@example.com
    probity users remove usr_01h455vb4pex5vsknk084sn02q
    probity users reset-link ann@example.com
    probity users reset-link org_01h455vb4pex5vsknk084sn02q     its owner, who may have no address yet
    probity users reset-link ann@example.com --without-second-factor";

/// The most credits that one command moves: what an unlimited plan holds.
const CREDITS_MAX: i64 = 1_000_000_000_000;

/// What all of these commands take.
#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    /// The directory for database and pepper: overrides `server.data`
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// Writes one JSON object a line (also where the output is no terminal)
    #[arg(long, global = true)]
    pub json: bool,
}

/// `orgs`.
#[derive(Debug, Args)]
pub(crate) struct OrgsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: OrgsCommand,
}

/// The commands about organizations.
#[derive(Debug, Subcommand)]
pub(crate) enum OrgsCommand {
    /// Creates an organization
    Create {
        /// Its name, for people
        #[arg(value_parser = name)]
        name: String,
        /// Whether its credits count; default: credits.plan
        #[arg(long, value_enum)]
        plan: Option<Plan>,
    },
    /// Lists all organizations
    List,
    /// Suspends one: its keys are answered 403, until it is lifted
    Suspend(OneOrg),
    /// Pauses one: as suspended, at its own wish
    Pause(OneOrg),
    /// Bans one: as suspended, for good unless it is lifted
    Ban(OneOrg),
    /// Lifts a suspension, a pause or a ban
    Lift(OneOrg),
}

/// The organization that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneOrg {
    /// The organization's id
    #[arg(value_name = "ORG")]
    pub org: String,
}

/// The organization that a command is about, where most installations have one.
#[derive(Debug, Args)]
pub(crate) struct SomeOrg {
    /// The organization's id; default: the only one that there is
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

/// `keys`.
#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// The commands about keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Creates a key and prints it, once
    Create(NewKeyArgs),
    /// Lists the keys of an organization, without their secrets
    List(SomeOrg),
    /// Revokes a key, for good
    Revoke {
        /// The key's id, not the key itself
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// Refuses where the key belongs to another organization
        #[arg(long, value_name = "ORG")]
        org: Option<String>,
    },
}

/// `keys create`.
#[derive(Debug, Args)]
pub(crate) struct NewKeyArgs {
    /// Whose key it is.
    #[command(flatten)]
    pub org: SomeOrg,
    /// What it is for
    #[arg(long, value_enum, default_value = "live")]
    pub kind: KeyKind,
    /// A name by which people know it; default: the kind
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// What a key of kind rk may do; several may be given
    #[arg(long, value_name = "SCOPE", value_parser = PossibleValuesParser::new(Scope::ALL.iter().map(|scope| scope.as_str())))]
    pub scope: Vec<String>,
    /// Where a key of kind pub may be used, as in `https://shop.example.com`; several may be given
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Vec<String>,
    /// When it ends: 90d, 2026-12-31 (the end of that day, UTC) or 2026-12-31T12:00:00Z; default: never
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub expires: Option<Moment>,
    /// Its own limit of requests a minute; default: `rate.key_per_minute`
    #[arg(long, value_name = "PER_MINUTE", value_parser = clap::value_parser!(u32).range(1..=60_000_000))]
    pub rate: Option<u32>,
}

/// `credits`.
#[derive(Debug, Args)]
pub(crate) struct CreditsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: CreditsCommand,
}

/// The commands about credits.
#[derive(Debug, Subcommand)]
pub(crate) enum CreditsCommand {
    /// Gives credits
    Grant {
        /// Who gets them.
        #[command(flatten)]
        org: SomeOrg,
        /// Which kind: those of a subscription are spent first
        #[arg(long, value_enum, default_value = "prepaid")]
        bucket: Bucket,
        /// How many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=CREDITS_MAX))]
        amount: i64,
        /// When what is left of a subscription expires: 30d, 2026-12-31 (the end of that day, UTC) or a time; default: never
        #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
        until: Option<Moment>,
    },
    /// Shows what an organization has, holds and has spent
    Show(SomeOrg),
    /// Corrects what an organization has, upward or downward
    Adjust {
        /// Whose credits.
        #[command(flatten)]
        org: SomeOrg,
        /// Which kind
        #[arg(long, value_enum)]
        bucket: Bucket,
        /// How many more, or with a minus how many less
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(-CREDITS_MAX..=CREDITS_MAX))]
        amount: i64,
    },
    /// Checks that the books of all organizations agree; may run beside the service
    Audit,
}

/// `audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
}

/// `deliveries`.
#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: DeliveriesCommand,
}

/// The commands about messages to customers' servers.
#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// Lists them, the newest first
    List {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// Those of this state only
        #[arg(long, value_enum)]
        state: Option<DeliveryState>,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows one with its body and the beginning of the last answer
    Show(OneDelivery),
    /// Has one sent once more, now, with all its attempts before it; a running service does it
    Resend(OneDelivery),
}

/// `nodes`.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
}

/// The message that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneDelivery {
    /// The delivery's id
    #[arg(value_name = "DELIVERY_ID")]
    pub delivery: String,
    /// Whose it is.
    #[command(flatten)]
    pub org: SomeOrg,
}

/// A name as the API takes it.
fn name(text: &str) -> Result<String, NameFault> {
    probity_core::name::name(text).map(str::to_owned)
}

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
    /// Pauses a member: they are signed out, and cannot sign in until they are resumed
    Pause(OnePerson),
    /// Lets a paused member sign in again
    Resume(OnePerson),
    /// Removes a member, or takes an invitation back; keys go on, and are revoked by `keys revoke`
    Remove(OnePerson),
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
