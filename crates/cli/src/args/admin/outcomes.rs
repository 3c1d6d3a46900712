use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::PossibleValue;
use probity_account::outcome::OutcomeSource;

use super::{OrgFlag, meaning, name, one_of};

/// Shown below the help of `outcomes`.
pub(super) const OUTCOMES_EXAMPLES: &str = "\
Examples:
    probity outcomes import /var/log/mail.log
    probity outcomes import ~/Maildir/.Bounces
    probity outcomes import bounces.mbox
    probity outcomes import outcomes.csv --org org_01h455vb4pex5vsknk084sn02q
    probity outcomes sources add 'Newsletter' --service mailgun --signing-key key.txt
    probity outcomes sources list";

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomesCommand {
    /// Import what became of sent mail: bounces, complaints and deliveries
    ///
    /// Hard bounces put addresses on the suppression list `bounced`, complaints on `complained`. Repeating an import adds
    /// nothing.
    Import {
        /// Postfix log, bounce message, mailbox (mbox), CSV or NDJSON; or a directory of them, or a maildir
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Form of the files; default: detected for each file
        #[arg(long, value_name = "FORM", value_parser = one_of(OutcomeForm::names(), OutcomeForm::from_name))]
        form: Option<OutcomeForm>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Manage sources: URLs to which sending services post outcomes
    #[command(subcommand)]
    Sources(OutcomeSourcesCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomeSourcesCommand {
    /// List sources, newest first, without their URLs
    List(OrgFlag),
    /// Create a source and print its URL once
    Add {
        /// Displayed name
        #[arg(value_parser = name)]
        name: String,
        /// Sending service
        #[arg(long, value_name = "SERVICE", value_parser = service)]
        service: OutcomeSource,
        /// File with the key with which the service signs, or with the ARN of the SNS topic; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        signing_key: Option<PathBuf>,
        /// Store its events as those of test keys
        #[arg(long)]
        test: bool,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Remove a source permanently; its URL stops working, and its outcomes stay
    Remove {
        /// Source ID
        #[arg(value_name = "SOURCE_ID")]
        source: String,
        #[command(flatten)]
        org: OrgFlag,
    },
}

/// Parses a service of the API.
fn service(text: &str) -> Result<OutcomeSource, String> {
    let known = OutcomeSource::SERVICES.into_iter().find(|service| service.as_str() == text);
    known.ok_or_else(|| format!("must be one of {}", OutcomeSource::SERVICES.map(OutcomeSource::as_str).join(", ")))
}

probity_mail::named! {
    /// Form of a file with outcomes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum OutcomeForm {
        Postfix = "postfix",
        Message = "message",
        Mailbox = "mbox",
        Csv = "csv",
        Ndjson = "ndjson",
    }
}

impl OutcomeForm {
    fn names() -> [PossibleValue; 5] {
        [
            meaning("postfix", "log of Postfix's SMTP client"),
            meaning("message", "one bounce or complaint"),
            meaning("mbox", "mailbox in one file"),
            meaning("csv", "columns email, outcome, at, reply"),
            meaning("ndjson", "one event per line, as for POST /v1/outcomes"),
        ]
    }
}
