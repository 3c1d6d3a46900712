//! Email to users through the operator's relay: links for invitations and new passwords, notices about their organization, and
//! reports.
//!
//! Mail waits in the database, so no request waits for the relay, and pending mail survives a stop.
//! `worker` sends it. The service connects only to the operator's relay, with the configured credentials. The source IPs and
//! limits of verification are not involved.

pub mod forgotten;
mod lists;
mod notices;
mod reports;
pub mod worker;

use std::fmt;
use std::time::Duration;

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor, message};
use probity_letters::Letter;
use probity_outbound::Authorities;
use secrecy::{ExposeSecret as _, SecretString};
use url::{Host, Url};

pub use worker::Mailer;

/// Maximum time for one email.
const MAIL_MAX: Duration = Duration::from_mins(1);
/// Maximum time of each step of the dialog with the relay.
const STEP_MAX: Duration = Duration::from_secs(20);

/// Settings for sending email.
#[derive(Clone, Debug)]
pub struct MailConfig {
    relay: Relay,
    from: Mailbox,
    /// URL at which users reach the service; links begin with it.
    public_url: String,
}

/// Reason why the settings are invalid. Messages never repeat the URL, which contains a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMail {
    /// The relay's URL is invalid.
    #[error("must look like \"smtps://user:password@mail.example.com\" or \"smtp://mail.example.com:587\"")]
    Relay,
    /// The sender's address is invalid.
    #[error("must be an address, with or without a name: \"Probity <no-reply@example.com>\"")]
    From,
}

impl MailConfig {
    /// Creates settings for the relay with this URL. `smtps` uses TLS from the first byte (default port 465). `smtp` (default
    /// port 587) upgrades to TLS: always if there are credentials, otherwise if the relay offers it. Certificates are checked
    /// against the roots that browsers trust, and those of [`Self::trusting`].
    pub fn new(relay: &SecretString, from: &str, public_url: &str) -> Result<Self, NoMail> {
        let relay = Relay::parse(relay.expose_secret()).ok_or(NoMail::Relay)?;
        let from = from.parse().map_err(|_| NoMail::From)?;
        Ok(Self { relay, from, public_url: public_url.to_owned() })
    }

    /// Also trusts the operator's certificate authorities.
    #[must_use]
    pub fn trusting(mut self, authorities: &Authorities) -> Self {
        self.relay.authorities = authorities.clone();
        self
    }
}

/// The operator's relay.
#[derive(Clone)]
struct Relay {
    host: String,
    port: u16,
    secure: Secure,
    credentials: Option<(String, SecretString)>,
    /// Trusted besides the usual roots.
    authorities: Authorities,
}

/// Encryption of the connection to the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secure {
    FromTheFirstByte,
    Always,
    WhereOffered,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, secure, .. } = self;
        write!(f, "Relay({host}:{port}, {secure:?}, {} authorities)", self.authorities.iter().count())
    }
}

impl Relay {
    fn parse(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let decoded = |part: &str| Some(percent_encoding::percent_decode_str(part).decode_utf8().ok()?.into_owned());
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some((decoded(user)?, SecretString::from(decoded(password.unwrap_or_default())?))),
        };
        let (port, secure) = match url.scheme() {
            "smtps" => (465, Secure::FromTheFirstByte),
            "smtp" if credentials.is_some() => (587, Secure::Always),
            "smtp" => (587, Secure::WhereOffered),
            _ => return None,
        };
        // For schemes other than the web's, hosts are kept as written.
        let host = match url.host()? {
            Host::Domain(name) if !name.is_empty() => name.to_owned(),
            Host::Domain(_) => return None,
            Host::Ipv4(ip) => ip.to_string(),
            Host::Ipv6(ip) => ip.to_string(),
        };
        let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        bare.then(|| Self {
            host,
            port: url.port().unwrap_or(port),
            secure,
            credentials,
            authorities: Authorities::default(),
        })
    }

    fn transport(&self) -> Result<AsyncSmtpTransport<Tokio1Executor>, lettre::transport::smtp::Error> {
        let mut tls = TlsParameters::builder(self.host.clone());
        for authority in self.authorities.iter() {
            tls = tls.add_root_certificate(Certificate::from_der(authority.to_vec())?);
        }
        let tls = tls.build()?;
        let tls = match self.secure {
            Secure::FromTheFirstByte => Tls::Wrapper(tls),
            Secure::Always => Tls::Required(tls),
            Secure::WhereOffered => Tls::Opportunistic(tls),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&self.host).port(self.port).tls(tls);
        let mut builder = builder.timeout(Some(STEP_MAX));
        if let Some((user, password)) = &self.credentials {
            builder = builder.credentials(Credentials::new(user.clone(), password.expose_secret().to_owned()));
        }
        Ok(builder.build())
    }
}

/// Result of an attempt to hand an email to the relay.
#[derive(Debug)]
pub enum RelayResult {
    /// The relay accepted it.
    Taken,
    /// The relay may accept it later. Has the reason for this failure.
    NotNow(String),
    /// The relay will never accept it. Has the reason.
    Never(String),
}

/// Mail that is ready for the relay.
#[derive(Clone, Copy, Debug)]
struct OutgoingMail<'a> {
    to: &'a str,
    /// Message ID without the domain. It is the same for every attempt, so that an email that arrives twice is recognized.
    id: &'a str,
    letter: &'a Letter,
    /// Address that ends this kind of mail, if its reader can switch it off.
    unsubscribe: Option<&'a str>,
}

impl MailConfig {
    /// Returns the address of the dashboard, without a slash at the end.
    fn dashboard(&self) -> &str {
        self.public_url.trim_end_matches('/')
    }

    /// Hands an email to the relay, unless it could not be built.
    async fn hand_over(&self, mail: OutgoingMail<'_>) -> RelayResult {
        let Ok(message) = self.message(mail) else {
            return RelayResult::Never("the address cannot be used in an email".into());
        };
        let transport = match self.relay.transport() {
            Ok(transport) => transport,
            Err(error) => return RelayResult::NotNow(error.to_string()),
        };
        match tokio::time::timeout(MAIL_MAX, transport.send(message)).await {
            Ok(Ok(_)) => RelayResult::Taken,
            Ok(Err(error)) if error.is_permanent() => RelayResult::Never(status_of(&error)),
            Ok(Err(error)) => RelayResult::NotNow(status_of(&error)),
            Err(_) => RelayResult::NotNow("the relay took too long".into()),
        }
    }

    fn message(&self, mail: OutgoingMail<'_>) -> Result<Message, lettre::error::Error> {
        let OutgoingMail { to, id, letter, unsubscribe } = mail;
        let to = to.parse().map_err(|_| lettre::error::Error::MissingTo)?;
        let builder = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(letter.subject.as_str())
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())));
        let builder = unsubscribe.into_iter().fold(builder, unsubscribing);
        builder.multipart(MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone()))
    }
}

/// Adds the headers by which mail programs unsubscribe their readers. One click needs an encrypted connection (RFC 8058 §3.1).
fn unsubscribing(builder: message::MessageBuilder, url: &str) -> message::MessageBuilder {
    let header = |name, value: &str| HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned());
    let builder = builder.raw_header(header("List-Unsubscribe", &format!("<{url}>")));
    if !url.starts_with("https://") {
        return builder;
    }
    builder.raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
}

/// Describes a refusal for the log by its status only, because the relay's text may repeat the address.
fn status_of(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(code) => format!("the relay replied {code}"),
        None if error.is_timeout() => "the relay did not respond in time".into(),
        None if error.is_tls() => "TLS with the relay failed".into(),
        None => "the relay is unreachable, or sent an invalid reply".into(),
    }
}

#[cfg(test)]
mod tests {
    use probity_account::language::PageLanguage;
    use probity_letters::LinkLetter;
    use probity_mail::time::Millis;

    use super::*;

    #[test]
    fn a_relay_is_read_from_its_url() {
        use Secure::{Always, FromTheFirstByte, WhereOffered};
        for (url, host, port, secure, user) in [
            ("smtps://u:p%40ss@mail.example.com", "mail.example.com", 465, FromTheFirstByte, Some(("u", "p@ss"))),
            ("smtp://u:p@mail.example.com", "mail.example.com", 587, Always, Some(("u", "p"))),
            ("smtp://127.0.0.1:25", "127.0.0.1", 25, WhereOffered, None),
            ("smtp://[::1]:2525/", "::1", 2525, WhereOffered, None),
        ] {
            let relay = Relay::parse(url).unwrap();
            assert_eq!((relay.host.as_str(), relay.port, relay.secure), (host, port, secure), "{url}");
            let credentials =
                relay.credentials.as_ref().map(|(user, password)| (user.as_str(), password.expose_secret()));
            assert_eq!(credentials, user, "{url}");
            assert!(!format!("{relay:?}").contains("p@ss"));
        }
        for refused in ["", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://a/b", "smtp://a?tls=none"]
        {
            assert!(Relay::parse(refused).is_none(), "{refused}");
        }
        let new = |url: &str, from: &str| MailConfig::new(&url.into(), from, "https://x.example").err();
        assert_eq!(new("smtp://a", "Probity <no-reply@example.com>"), None);
        assert_eq!(new("smtp://a", "nobody"), Some(NoMail::From));
        assert_eq!(new("nonsense", "a@example.com"), Some(NoMail::Relay));
    }

    #[test]
    fn mail_has_the_link_whole_and_no_line_of_somebody_elses() {
        let config = MailConfig::new(&"smtp://a".into(), "a@example.com", "https://x.example").unwrap();
        let link = format!("https://verify.example.com/#/link/{}", "x".repeat(43));
        let org_name = Some("Größe\r\nBcc: eve@example.org");
        let letter = LinkLetter { org_name, link: &link, expires_at: Millis(0) }.invitation(PageLanguage::Es);
        let mail = OutgoingMail { to: "ann@example.org", id: "usr_1.0", letter: &letter, unsubscribe: None };
        let sent = String::from_utf8(config.message(mail).unwrap().formatted()).unwrap();
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(head.contains("To: ann@example.org") && head.contains("Message-ID: <usr_1.0@example.com>"), "{head}");
        assert!(head.contains("multipart/alternative"), "{head}");
        assert!(body.replace("=\r\n", "").contains(&link), "{body}");
        assert!(config.message(OutgoingMail { to: "no address", ..mail }).is_err());
    }

    #[test]
    fn mail_programs_can_unsubscribe_with_one_click_over_https() {
        let config = MailConfig::new(&"smtp://a".into(), "a@example.com", "https://x.example").unwrap();
        let letter = Letter { subject: "a".into(), text: "b".into(), html: "c".into() };
        let head = |unsubscribe| {
            let mail = OutgoingMail { to: "ann@example.org", id: "report.run", letter: &letter, unsubscribe };
            let sent = String::from_utf8(config.message(mail).unwrap().formatted()).unwrap();
            sent.split_once("\r\n\r\n").unwrap().0.replace("\r\n ", " ")
        };
        let url = format!("https://verify.example.com/unsubscribe/{}", "x".repeat(80));
        let secure = head(Some(&url));
        let line =
            |name: &str| secure.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
        assert_eq!(line("List-Unsubscribe:"), format!("<{url}>"));
        assert_eq!(line("List-Unsubscribe-Post:"), "List-Unsubscribe=One-Click");
        let open = head(Some("http://localhost:8080/unsubscribe/x"));
        assert!(open.contains("List-Unsubscribe:") && !open.contains("List-Unsubscribe-Post"), "{open}");
        assert!(!head(None).contains("List-Unsubscribe"));
    }
}
