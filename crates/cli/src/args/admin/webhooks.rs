use clap::{Args, Subcommand};
use probity_account::webhook::Topic;

use super::{OrgFlag, name};

/// Shown below the help of `webhooks`.
pub(super) const WEBHOOKS_EXAMPLES: &str = "\
Examples:
    probity webhooks create https://crm.example.com/probity --name 'Our CRM' --event job.finished --event status.passed
    probity webhooks test whk_01h455vb4pex5vsknk084sn02q
    probity webhooks pause whk_01h455vb4pex5vsknk084sn02q
    probity webhooks rotate whk_01h455vb4pex5vsknk084sn02q --json | jq -r .secret";

#[derive(Debug, Args)]
pub(crate) struct WebhookArg {
    /// Webhook ID
    #[arg(value_name = "WEBHOOK_ID")]
    pub webhook: String,
    #[command(flatten)]
    pub org: OrgFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List webhooks, newest first, without secrets
    List(OrgFlag),
    /// Create a webhook and print its secret once
    Create {
        /// URL that receives the events
        url: String,
        /// Displayed name
        #[arg(long, value_parser = name)]
        name: String,
        /// Event to send; repeatable
        #[arg(id = "events", long = "event", required = true, value_name = "EVENT", value_parser = event)]
        event: Vec<Topic>,
        /// Send only the events of test keys
        #[arg(long)]
        test: bool,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Pause a webhook: send nothing until it is resumed, and cancel pending deliveries
    Pause(WebhookArg),
    /// Resume a webhook and reset its failure count
    Resume(WebhookArg),
    /// Send a test event; needs a running service, and `deliveries list` shows the outcome
    Test(WebhookArg),
    /// Create a new secret and print it once; both secrets sign for a day
    Rotate(WebhookArg),
    /// Remove a webhook and its log permanently
    Remove(WebhookArg),
}

/// Parses an event of the API.
fn event(text: &str) -> Result<Topic, String> {
    text.parse().map_err(|_| {
        let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
        format!("must be one of {}", names.join(", "))
    })
}
