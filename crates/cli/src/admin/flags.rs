//! Names of fields at the command line. Acts blame a field of the API; users typed a flag or an argument.

use super::operator::FieldRefusal;
use crate::args::{
    AdminCommand, CreditsCommand, DeliveriesCommand, ErasuresCommand, IntegrationsCommand, KeysCommand, ListsCommand,
    OrgsCommand, OutcomesCommand, ReviewCommand, RulesCommand, RunsCommand, SuppressionsCommand, UsageCommand,
    UsersCommand, WebhooksCommand,
};

/// Fields of the API, each with the flag or argument that sets it.
type FlagTable = &'static [(&'static str, &'static str)];

const CUSTOMER: FlagTable = &[
    ("name", "--name"),
    ("plan", "--plan"),
    ("seats", "--seats"),
    ("rate_limit_per_minute", "--rate"),
    ("low_balance", "--low-balance"),
    ("entitlements", "--entitle"),
];
const NEW_CUSTOMER: FlagTable = &[("name", "NAME"), ("plan", "--plan")];
const RESTRICTION: FlagTable = &[("reason", "--reason")];
const KEY: FlagTable = &[
    ("name", "--name"),
    ("kind", "--kind"),
    ("scopes", "--scope"),
    ("allowed_origins", "--origin"),
    ("daily_cap", "--daily-cap"),
    ("expires_at", "--expires"),
    ("rate_limit_per_minute", "--rate"),
];
const BOOKING: FlagTable =
    &[("bucket", "--bucket"), ("amount", "--amount"), ("until", "--until"), ("reference", "--reference")];
const CORRECTION: FlagTable = &[("bucket", "--bucket"), ("amount", "--amount"), ("reference", "--reference")];
const LIMIT: FlagTable = &[("per_page", "--limit")];
const ADDRESSES: FlagTable = &[("emails", "ADDRESS")];
const OUTCOME_SOURCE: FlagTable = &[("name", "NAME"), ("service", "--service"), ("signing_key", "--signing-key")];
const WEBHOOK: FlagTable = &[("name", "--name"), ("url", "URL"), ("events", "--event")];
const NEW_LIST: FlagTable = &[
    ("name", "FILE"),
    ("column", "--column"),
    ("header", "--no-header"),
    ("sheet", "--sheet"),
    ("reference", "--reference"),
];
const LISTS: FlagTable = &[("source", "--source"), ("status", "--status"), ("per_page", "--limit")];
const ROWS: FlagTable = &[
    ("status", "--status"),
    ("reason", "--reason"),
    ("provider", "--provider"),
    ("q", "--search"),
    ("after", "--after"),
    ("per_page", "--limit"),
];
const DOWNLOAD: FlagTable =
    &[("format", "--format"), ("columns", "--original"), ("status", "--status"), ("reason", "--reason")];
const SETTINGS: FlagTable = &[
    ("ignored_reasons", "--ignored-reasons"),
    ("ignored_statuses", "--ignored-statuses"),
    ("banned_words", "--banned-words"),
    ("role_words", "--role-words"),
    ("retention_days", "--retention-days"),
    ("delivery_retention_days", "--delivery-retention-days"),
    ("rate_limit_per_minute", "--rate"),
    ("time_zone", "--time-zone"),
];
const CONNECTION: (&str, &str) = ("connection_id", "--connection");
const DAYS: (&str, &str) = ("days", "--days");
const TIMELINE: FlagTable = &[DAYS, ("limit", "--limit")];
const NEW_CONNECTION: FlagTable = &[(CREDENTIALS, "--credentials"), ("name", "--name")];
const CONNECTION_CHANGE: FlagTable = &[
    ("name", "--name"),
    ("action", "--action"),
    ("aggressiveness", "--aggressiveness"),
    ("checks", "--checks"),
    ("manual_mode", "--manual-mode"),
    ("autofloss", "--autofloss"),
    ("decay_protection", "--decay-protection"),
    ("decay_days", "--decay-days"),
    ("instafloss", "--instafloss"),
    ("fix_typos", "--fix-typos"),
    ("lists", "--lists"),
    ("tag", "--tag"),
    ("field", "--field"),
    (CREDENTIALS, "--credentials"),
];
const INVITATION: FlagTable = &[("email", "EMAIL"), ("name", "--name"), ("role", "--role")];

/// Field whose parts have names that the user has typed into a file.
const CREDENTIALS: &str = "credentials";

/// Names the flag of a command in place of the field that an error blames. An element of a list is blamed as its flag.
pub(super) fn name_flag(command: &AdminCommand, error: anyhow::Error) -> anyhow::Error {
    let Some(FieldRefusal { field, what }) = error.downcast_ref() else { return error };
    let whole = field.split(['[', '.']).next().unwrap_or_default();
    match of_command(command).iter().find(|(known, _)| *known == whole) {
        Some((_, flag)) => {
            let part = field.strip_prefix(CREDENTIALS).and_then(|part| part.strip_prefix('.'));
            let part = part.map(|part| format!("{part}: ")).unwrap_or_default();
            anyhow::anyhow!("{flag}: {part}{}", what.replace(", or null", or_cleared(command)))
        }
        None => error,
    }
}

/// What a user types where a program sends null.
fn or_cleared(command: &AdminCommand) -> &'static str {
    match command {
        AdminCommand::Settings(_) => ", or `default`",
        AdminCommand::Orgs(_) => ", or `plan`",
        AdminCommand::Integrations(_) => ", or `none`",
        _ => "",
    }
}

/// Returns the flags of a command.
fn of_command(command: &AdminCommand) -> FlagTable {
    match command {
        AdminCommand::Orgs(args) => of_orgs(&args.command),
        AdminCommand::Keys(args) if matches!(args.command, KeysCommand::Create(_)) => KEY,
        AdminCommand::Credits(args) => of_credits(&args.command),
        AdminCommand::Deliveries(args) if matches!(args.command, DeliveriesCommand::List { .. }) => LIMIT,
        AdminCommand::Erasures(args) => of_erasures(&args.command),
        AdminCommand::Webhooks(args) if matches!(args.command, WebhooksCommand::Create { .. }) => WEBHOOK,
        AdminCommand::Integrations(args) => of_integrations(&args.command),
        AdminCommand::Suppressions(args) => of_suppressions(&args.command),
        AdminCommand::Lists(args) => of_lists(&args.command),
        AdminCommand::Settings(_) => SETTINGS,
        AdminCommand::Usage(args) => of_usage(&args.command),
        AdminCommand::Timeline(_) => TIMELINE,
        AdminCommand::Users(args) => of_users(&args.command),
        AdminCommand::Outcomes(args) if matches!(args.command, OutcomesCommand::Sources(_)) => OUTCOME_SOURCE,
        AdminCommand::Keys(_)
        | AdminCommand::Outcomes(_)
        | AdminCommand::Deliveries(_)
        | AdminCommand::Webhooks(_)
        | AdminCommand::Plans(_)
        | AdminCommand::Audit(_)
        | AdminCommand::Nodes(_) => &[],
    }
}

fn of_orgs(command: &OrgsCommand) -> FlagTable {
    match command {
        OrgsCommand::Create { .. } => NEW_CUSTOMER,
        OrgsCommand::Change(_) => CUSTOMER,
        OrgsCommand::Suspend(_) | OrgsCommand::Pause(_) | OrgsCommand::Ban(_) | OrgsCommand::Review(_) => RESTRICTION,
        OrgsCommand::Sso(_) => &[("domains", "DOMAIN")],
        OrgsCommand::List | OrgsCommand::Show(_) | OrgsCommand::Lift(_) => &[],
    }
}

fn of_credits(command: &CreditsCommand) -> FlagTable {
    match command {
        CreditsCommand::Grant { .. } => BOOKING,
        CreditsCommand::Adjust { .. } => CORRECTION,
        CreditsCommand::Ledger { .. } => LIMIT,
        CreditsCommand::Show(_) | CreditsCommand::Audit => &[],
    }
}

fn of_erasures(command: &ErasuresCommand) -> FlagTable {
    match command {
        ErasuresCommand::Erase { .. } => ADDRESSES,
        ErasuresCommand::List { .. } => LIMIT,
        ErasuresCommand::Show { .. } => &[],
    }
}

fn of_integrations(command: &IntegrationsCommand) -> FlagTable {
    match command {
        IntegrationsCommand::Connect(_) => NEW_CONNECTION,
        IntegrationsCommand::Change(_) => CONNECTION_CHANGE,
        IntegrationsCommand::Rules(RulesCommand::Add { .. }) => &[("rules", "KEYWORD")],
        IntegrationsCommand::Rules(RulesCommand::List { .. })
        | IntegrationsCommand::Runs(RunsCommand::List { .. })
        | IntegrationsCommand::Review(ReviewCommand::List { .. }) => LIMIT,
        IntegrationsCommand::Changes { .. } => &[("since", "--since"), ("per_page", "--limit")],
        IntegrationsCommand::Runs(RunsCommand::Confirm { .. }) => &[("actions", "--actions")],
        IntegrationsCommand::Review(ReviewCommand::Decide { .. }) => &[("decisions", "ROW")],
        _ => &[],
    }
}

fn of_suppressions(command: &SuppressionsCommand) -> FlagTable {
    match command {
        SuppressionsCommand::Count(_) => &[],
        SuppressionsCommand::Find { .. } => &[("email", "ADDRESS")],
        SuppressionsCommand::Add(_) | SuppressionsCommand::Remove { .. } => ADDRESSES,
    }
}

fn of_lists(command: &ListsCommand) -> FlagTable {
    match command {
        ListsCommand::Add(_) => NEW_LIST,
        ListsCommand::List { .. } => LISTS,
        ListsCommand::Rows(_) => ROWS,
        ListsCommand::Download(_) => DOWNLOAD,
        ListsCommand::Find { .. } => &[("q", "ADDRESS")],
        ListsCommand::Show(_) | ListsCommand::Cancel(_) => &[],
    }
}

fn of_usage(command: &UsageCommand) -> FlagTable {
    match command {
        UsageCommand::Report { .. } => &[("period", "--period"), CONNECTION],
        UsageCommand::Daily { .. } => &[DAYS, CONNECTION],
        UsageCommand::Breakdown { .. } => &[("by", "--by"), ("id", "--id"), ("from", "--from"), ("to", "--to")],
        UsageCommand::Providers { .. } => &[DAYS],
    }
}

fn of_users(command: &UsersCommand) -> FlagTable {
    match command {
        UsersCommand::Invite { .. } => INVITATION,
        UsersCommand::Role { .. } => &[("role", "ROLE")],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};

    /// A line of each command with a table.
    const LINES: &[&str] = &[
        "outcomes sources add News --service ses",
        "orgs create A",
        "orgs change org_01h455vb4pex5vsknk084sn02q --plan a",
        "orgs ban org_01h455vb4pex5vsknk084sn02q",
        "keys create",
        "credits grant --amount 1",
        "credits adjust --bucket prepaid --amount 1",
        "credits ledger",
        "deliveries list",
        "erasures erase a@example.org",
        "erasures list",
        "webhooks create https://a.example --name A --event job.finished",
        "integrations connect ghost --credentials -",
        "integrations change conn_1",
        "integrations rules add conn_1 whitelist a",
        "integrations rules list conn_1 blacklist",
        "integrations runs list conn_1",
        "integrations changes",
        "integrations runs confirm conn_1 job_1 --actions 1",
        "integrations review list conn_1",
        "integrations review decide conn_1 job_1 act 1",
        "suppressions find a@example.org",
        "suppressions add spam a@example.org",
        "lists add a.csv",
        "lists list",
        "lists rows job_1",
        "lists download job_1",
        "lists find a@example.org",
        "settings set",
        "settings try",
        "usage report",
        "usage daily",
        "usage breakdown",
        "usage providers",
        "timeline",
        "users invite a@example.org",
        "users role usr_1 administrator",
    ];

    fn parse(line: &str) -> AdminCommand {
        match Cli::parse_line(std::iter::once("probity").chain(line.split(' '))).unwrap().command {
            Command::Admin(command) => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_flag_of_a_table_is_one_of_its_command() {
        for line in LINES {
            let words = line.split(' ').collect::<Vec<_>>();
            let table = of_command(&parse(line));
            assert!(!table.is_empty(), "{line}");
            let cli = Cli::complete_command();
            let command = words.iter().try_fold(&cli, |at, word| at.find_subcommand(word).ok_or(at));
            let command = command.unwrap_or_else(|innermost| innermost);
            let named = |arg: &clap::Arg| match arg.get_long() {
                Some(long) => format!("--{long}"),
                None => arg.get_value_names().unwrap_or_default().concat(),
            };
            let flags: Vec<String> = command.get_arguments().map(named).collect();
            for (field, flag) in table {
                assert!(flags.iter().any(|known| known == flag), "{line}: {field} is not set by {flag}, but {flags:?}");
            }
        }
    }

    #[test]
    fn a_field_is_named_as_it_was_typed() {
        let named = |line: &str, field: &str, what: &str| {
            let refusal = FieldRefusal { field: field.to_owned(), what: what.to_owned() };
            name_flag(&parse(line), refusal.into()).to_string()
        };
        assert_eq!(named("settings set", "role_words", "must be short"), "--role-words: must be short");
        assert_eq!(named("settings try", "ignored_reasons[3]", "is none"), "--ignored-reasons: is none");
        let cleared = named("settings set", "retention_days", "must be from 1 to 30, or null");
        assert_eq!(cleared, "--retention-days: must be from 1 to 30, or `default`");
        let connect = "integrations connect ghost --credentials -";
        let credential = named(connect, "credentials.api_key", "the platform refuses it");
        assert_eq!(credential, "--credentials: api_key: the platform refuses it");
        assert_eq!(named(connect, "credentials", "check a, b"), "--credentials: check a, b");
        let rules = "integrations rules add conn_1 whitelist a";
        assert_eq!(named(rules, "rules[3].keyword", "is too long"), "KEYWORD: is too long");
        assert_eq!(named("timeline", "unheard_of", "is wrong"), "unheard_of: is wrong");
    }
}
