//! Runs a simulated platform by hand: `cargo run -p probity-espworld -- ghost --contacts 1000`.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use http_body_util::Full;
use hyper::client::conn::http1::handshake;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use probity_espworld::{EspFaults, EspNotice, EspOptions, EspState, EspVendor, EspWorld};
use tokio::net::TcpStream;

/// Simulate an email platform on loopback, to try connections without an account
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
#[command(name = "espworld")]
struct Arguments {
    /// Slug of the platform
    vendor: String,
    /// Initial number of contacts
    #[arg(long, default_value_t = 1_000)]
    contacts: u32,
    /// Number of lists
    #[arg(long, default_value_t = 3)]
    lists: u32,
    /// Seed of contacts, credentials and faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Port; 0 for any
    #[arg(long, default_value_t = 4_900)]
    port: u16,
    /// Delay of every reply, in milliseconds
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// Disable rate limits
    #[arg(long)]
    unlimited: bool,
    /// Inject faults: lost replies, failures, web pages, contacts added between two pages
    #[arg(long)]
    faults: bool,
    /// Interval at which to add a contact to the first list and notify registered webhooks, in seconds; 0 for never
    #[arg(long, default_value_t = 0)]
    arrivals: u64,
    /// Use sandbox addresses, which a test API key can verify
    #[arg(long)]
    sandbox: bool,
    /// Measure throughput: 1,000,000 contacts, 20 ms per call, no rate limits
    #[arg(long)]
    throughput: bool,
}

fn options(arguments: &Arguments) -> EspOptions {
    let plain = if arguments.throughput {
        EspOptions::throughput(arguments.seed)
    } else {
        EspOptions { contacts: arguments.contacts, latency_ms: arguments.latency, ..EspOptions::new(arguments.seed) }
    };
    let mut options = EspOptions { lists: arguments.lists, port: arguments.port, is_real_time: true, ..plain };
    options.is_limited &= !arguments.unlimited;
    if arguments.faults {
        options.faults = EspFaults { max: usize::MAX, dead_from: None, ..EspFaults::drawn(arguments.seed) };
    }
    if arguments.sandbox { options.sandboxed() } else { options }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(vendor) = EspVendor::of(&arguments.vendor) else {
        let known: Vec<_> = EspVendor::ALL.iter().map(|vendor| vendor.slug()).collect();
        let _ = writeln!(std::io::stderr(), "vendor: unknown; use one of {}", known.join(", "));
        return ExitCode::from(2);
    };
    match run(vendor, options(&arguments), arguments.arrivals).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "espworld: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(vendor: EspVendor, options: EspOptions, arrivals: u64) -> std::io::Result<()> {
    let domain = options.domains[0].clone();
    let world = EspWorld::open(vendor, options).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{} at {}", vendor.slug(), world.base())?;
    writeln!(out, "[integrations] allow = [\"{}\"]", world.host())?;
    for (name, value) in world.credentials() {
        writeln!(out, "{name} = {value}")?;
    }
    out.flush()?;
    tokio::select! {
        end = tokio::signal::ctrl_c() => end?,
        end = arrive(&world, &domain, arrivals), if arrivals > 0 => end?,
    }
    let ledger = world.ledger();
    writeln!(out, "{} calls, {} over a limit, {} faults", ledger.total(), ledger.excesses(), ledger.faults())?;
    for effect in world.effects().iter().filter(|effect| effect.call > 0) {
        writeln!(out, "{effect:?}")?;
    }
    Ok(())
}

/// Adds contacts one at a time, until canceled.
async fn arrive(world: &EspWorld, domain: &str, every: u64) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let mut number = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(every)).await;
        number += 1;
        let email = format!("arrival{number}@{domain}");
        let contact = world.account(|account| account.add(&email, EspState::Subscribed, &[1]));
        writeln!(out, "{email} came")?;
        for notice in world.notices(contact) {
            match deliver(&notice).await {
                Ok(status) => writeln!(out, "notified a webhook: {status}")?,
                Err(error) => writeln!(out, "cannot notify a webhook: {error}")?,
            }
        }
    }
}

/// Posts a notification and returns the status of the reply. Unlike a platform, never retries.
#[expect(clippy::disallowed_methods, reason = "a tool for a service on the same machine")]
async fn deliver(notice: &EspNotice) -> Result<u16, Box<dyn std::error::Error>> {
    let uri: Uri = notice.url.parse()?;
    let host = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
    let host = host.ok_or("only http:// URLs are notified")?;
    let target = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::post(target).header("Host", host.as_str());
    for (name, value) in &notice.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(notice.body.clone())))?;
    let stream = TcpStream::connect((host.host(), host.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let reply = tokio::time::timeout(Duration::from_secs(10), sender.send_request(request)).await??;
    Ok(reply.status().as_u16())
}
