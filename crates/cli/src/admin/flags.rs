//! Names of fields at the command line. Acts blame a field of the API, but users typed the argument whose ID is the field's name.

use super::AdminCommand;
use super::operator::FieldRefusal;

/// Field whose parts the user has named in a file.
const CREDENTIALS: &str = "credentials";

/// Replaces the field that an error blames by the command's argument. An element of a list is replaced by the whole argument.
pub(super) fn name_flag(command: &AdminCommand, arguments: &[(String, String)], error: anyhow::Error) -> anyhow::Error {
    let Some(FieldRefusal { field, what }) = error.downcast_ref() else { return error };
    let whole = field.split(['[', '.']).next().unwrap_or_default();
    match arguments.iter().find(|(id, _)| id == whole) {
        Some((_, typed)) => {
            let part = field.strip_prefix(CREDENTIALS).and_then(|part| part.strip_prefix('.'));
            let part = part.map(|part| format!("{part}: ")).unwrap_or_default();
            anyhow::anyhow!("{typed}: {part}{}", what.replace(", or null", or_cleared(command)))
        }
        None => error,
    }
}

/// Returns the command-line value that stands for null.
fn or_cleared(command: &AdminCommand) -> &'static str {
    match command {
        AdminCommand::Settings(_) => ", or `default`",
        AdminCommand::Orgs(_) => ", or `plan`",
        AdminCommand::Integrations(_) => ", or `none`",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};

    fn named(line: &str, field: &str, what: &str) -> String {
        let Cli { command: Command::Admin(command), arguments, .. } =
            Cli::parse_line(std::iter::once("probity").chain(line.split(' '))).unwrap()
        else {
            panic!("{line}")
        };
        let refusal = FieldRefusal { field: field.to_owned(), what: what.to_owned() };
        name_flag(&command, &arguments, refusal.into()).to_string()
    }

    #[test]
    fn arguments_have_the_names_of_fields() {
        for (line, fields) in [
            ("orgs create A", "name=NAME plan=--plan"),
            ("orgs change org_1 --plan a", "name=--name rate_limit_per_minute=--rate entitlements=--entitle"),
            ("orgs ban org_1", "reason=--reason"),
            ("orgs sso confirm org_1 a.example", "domains=DOMAIN"),
            ("keys create", "scopes=--scope allowed_origins=--origin daily_cap=--daily-cap expires_at=--expires"),
            ("keys create", "rate_limit_per_minute=--rate kind=--kind name=--name"),
            ("credits grant --amount 1", "bucket=--bucket amount=--amount until=--until reference=--reference"),
            ("credits ledger", "per_page=--limit"),
            ("deliveries list", "per_page=--limit"),
            ("erasures erase a@example.org", "emails=ADDRESS"),
            ("erasures list", "per_page=--limit"),
            ("webhooks create https://a.example --name A --event job.finished", "name=--name url=URL events=--event"),
            ("integrations connect ghost --credentials -", "credentials=--credentials name=--name"),
            ("integrations change conn_1", "decay_days=--decay-days fix_typos=--fix-typos lists=--lists"),
            (
                "integrations change conn_1",
                "unconfirmed_contacts=--unconfirmed-contacts unconfirmed_percent=--unconfirmed-percent",
            ),
            ("integrations rules add conn_1 whitelist a", "rules=KEYWORD"),
            ("integrations rules list conn_1 blacklist", "per_page=--limit"),
            ("integrations runs list conn_1", "per_page=--limit"),
            ("integrations changes", "since=--since per_page=--limit"),
            ("integrations runs confirm conn_1 job_1 --actions 1", "actions=--actions"),
            ("integrations review list conn_1", "per_page=--limit"),
            ("integrations review decide conn_1 job_1 act 1", "decisions=ROW"),
            ("outcomes sources add News --service ses", "name=NAME service=--service signing_key=--signing-key"),
            ("suppressions find a@example.org", "email=ADDRESS"),
            ("suppressions add spam a@example.org", "emails=ADDRESS"),
            ("lists add a.csv", "name=FILE column=--column header=--no-header sheet=--sheet reference=--reference"),
            ("lists list", "source=--source status=--status per_page=--limit"),
            ("lists rows job_1", "reason=--reason provider=--provider q=--search after=--after per_page=--limit"),
            ("lists download job_1", "format=--format columns=--original status=--status reason=--reason"),
            ("lists find a@example.org", "q=ADDRESS"),
            ("settings set", "rate_limit_per_minute=--rate time_zone=--time-zone banned_words=--banned-words"),
            ("usage report", "period=--period connection_id=--connection"),
            ("usage daily", "days=--days connection_id=--connection"),
            ("usage breakdown", "by=--by id=--id from=--from to=--to"),
            ("timeline", "days=--days limit=--limit"),
            ("users invite a@example.org", "email=EMAIL name=--name role=--role"),
            ("users role usr_1 administrator", "role=ROLE"),
        ] {
            for (field, typed) in fields.split(' ').filter_map(|pair| pair.split_once('=')) {
                assert_eq!(named(line, field, "is wrong"), format!("{typed}: is wrong"), "{line}: {field}");
            }
        }
    }

    #[test]
    fn a_field_is_named_as_it_was_typed() {
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
