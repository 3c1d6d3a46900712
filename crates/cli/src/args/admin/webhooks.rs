//! The command line of `webhooks`.

use clap::{Args, Subcommand};
use probity_core::webhook::Topic;

use super::{AdminOptions, SomeOrg, name};

/// Shown below the help of `webhooks`.
pub(in crate::args) const WEBHOOKS_EXAMPLES: &str = "\
Examples:
    probity webhooks create https://crm.example.com/probity --name 'Our CRM' --event job.finished --event status.passed
    probity webhooks test whk_01h455vb4pex5vsknk084sn02q
    probity webhooks pause whk_01h455vb4pex5vsknk084sn02q
    probity webhooks rotate whk_01h455vb4pex5vsknk084sn02q --json | jq -r .secret";

/// `webhooks`.
#[derive(Debug, Args)]
pub(crate) struct WebhooksArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: WebhooksCommand,
}

/// The webhook that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneWebhook {
    /// The webhook's id
    #[arg(value_name = "WEBHOOK_ID")]
    pub webhook: String,
    /// Whose it is.
    #[command(flatten)]
    pub org: SomeOrg,
}

/// The commands about webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Lists them, the newest first, without their secrets
    List(SomeOrg),
    /// Makes one and prints its secret, once
    Create {
        /// Where messages go
        url: String,
        /// What it is called
        #[arg(long, value_parser = name)]
        name: String,
        /// What it is told of; several may be given
        #[arg(long, required = true, value_name = "EVENT", value_parser = event)]
        event: Vec<Topic>,
        /// Tells it of what test keys start, and of nothing else
        #[arg(long)]
        test: bool,
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// Tells one nothing until it is resumed, nor what waits for it
    Pause(OneWebhook),
    /// Tells one again; how it fared before is forgotten
    Resume(OneWebhook),
    /// Has a message of the type `test` sent to one; a running service does it, and `deliveries list` shows what came of it
    Test(OneWebhook),
    /// Makes a new secret and prints it, once; for a day messages are signed with both
    Rotate(OneWebhook),
    /// Removes one with its log, for good
    Remove(OneWebhook),
}

/// Something that a webhook can be told of, as the API names it.
fn event(text: &str) -> Result<Topic, String> {
    text.parse().map_err(|_| {
        let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
        format!("must be one of {}", names.join(", "))
    })
}
