//! `probity health`: reports whether a service is ready, for health checks in containers without `curl`.
//!
//! Sends one HTTP/1.1 request by hand: only the status line of the response matters, so that an HTTP client would be a dependency
//! for 12 bytes. Names are not resolved: the service is on this machine or given by IP address.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::config::Settings;
use crate::config::serve::reachable;
use crate::exit::Exit;
use crate::log;

/// Shown below the help of `health`.
pub(crate) const HEALTH_EXAMPLES: &str = "\
Examples:
    probity health                                   checks the address in `server.listen`; for HEALTHCHECK and scripts
    probity health --url http://192.0.2.7:8080/healthz";

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// URL to check; default: /readyz at the first address of `server.listen`
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Time limit of the whole check.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum length of a status line, in bytes.
const LINE_MAX: u64 = 1024;
/// Path that reports whether a service can answer requests.
const READY: &str = "/readyz";

pub(crate) async fn run(args: &HealthArgs, settings: &Settings) -> Result<Exit> {
    let (address, path) = if let Some(url) = &args.url {
        target(url)?
    } else {
        let first = settings.sections.server.listen.0.first().context("server.listen is empty")?;
        (reachable(*first), READY.to_owned())
    };
    let asked = tokio::time::timeout(DEADLINE, status(address, &path)).await;
    let told = match asked {
        Ok(Ok(200)) => return Ok(Exit::Done),
        Ok(Ok(status)) => format!("responded with {status}"),
        Ok(Err(error)) => format!("cannot be reached: {error:#}"),
        Err(_) => format!("did not respond within {} s", DEADLINE.as_secs()),
    };
    log::say(&format!("probity: http://{address}{path} {told}"));
    Ok(Exit::NotPassed)
}

/// Parses `http://address:port/path`; the default path is [`READY`].
fn target(url: &str) -> Result<(SocketAddr, String)> {
    let wrong = || format!("--url {url}: must look like http://127.0.0.1:8080{READY}, with an IP address");
    let rest = url.strip_prefix("http://").with_context(wrong)?;
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let bare = || host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let address = host.parse().ok().or_else(|| bare().map(|ip| SocketAddr::new(ip, 80))).with_context(wrong)?;
    if !path.bytes().all(|b| b.is_ascii_graphic()) {
        bail!(wrong());
    }
    Ok((address, if path.len() < 2 { READY.to_owned() } else { path.to_owned() }))
}

/// Returns the response status of a GET request.
#[expect(clippy::disallowed_methods, reason = "asks a service that the operator named by its address")]
async fn status(address: SocketAddr, path: &str) -> Result<u16> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: probity-health\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LINE_MAX)).read_until(b'\n', &mut line).await?;
    read_status(&line).context("the response is not HTTP")
}

/// Parses a status line (RFC 9112 section 4).
fn read_status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let rest = line.strip_prefix("HTTP/1.")?;
    let status = rest.get(1..)?.strip_prefix(' ')?.get(..3)?;
    status.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lead_to_addresses() {
        let table = [
            ("http://127.0.0.1:8080", Some(("127.0.0.1:8080", "/readyz"))),
            ("http://127.0.0.1:8080/", Some(("127.0.0.1:8080", "/readyz"))),
            ("http://[::1]:8080/healthz", Some(("[::1]:8080", "/healthz"))),
            ("http://192.0.2.1", Some(("192.0.2.1:80", "/readyz"))),
            ("http://[::1]", Some(("[::1]:80", "/readyz"))),
            ("https://127.0.0.1:8080", None),
            ("http://localhost:8080", None),
            ("http://127.0.0.1:8080/a b", None),
            ("127.0.0.1:8080", None),
        ];
        for (url, expected) in table {
            let expected = expected.map(|(address, path)| (address.parse().unwrap(), path.to_owned()));
            assert_eq!(target(url).ok(), expected, "{url}");
        }
    }

    #[test]
    fn a_status_line_is_read_and_nothing_else_is() {
        let table: [(&[u8], _); 7] = [
            (b"HTTP/1.1 200 OK\r\n", Some(200)),
            (b"HTTP/1.0 503 \r\n", Some(503)),
            (b"HTTP/1.1 200", None),
            (b"HTTP/1.1 2\r\n", None),
            (b"HTTP/1.1 999 x\r\n", None),
            (b"220 mail.example.com ESMTP\r\n", None),
            (b"", None),
        ];
        for (line, expected) in table {
            assert_eq!(read_status(line), expected, "{:?}", String::from_utf8_lossy(line));
        }
    }
}
