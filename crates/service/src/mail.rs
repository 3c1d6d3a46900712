//! Mail to people: the links of their invitations, and notices about their organization, through the operator's relay.
//!
//! Mail waits in the database with its invitation, so a request never waits for a relay, and what waits survives a stop. Whoever
//! delivers (`worker`) takes it from there. Only the operator's relay is ever spoken to, with the credentials that they
//! configured: this has nothing to do with the sources and limits of verifications.

pub mod notices;
pub mod worker;

use std::fmt;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use probity_mail::time::Millis;
use secrecy::{ExposeSecret as _, SecretString};
use url::{Host, Url};

pub use worker::Mailer;

/// How long a relay may take for each step of the conversation.
const STEP_MAX: Duration = Duration::from_secs(20);

/// How mail is sent.
#[derive(Clone, Debug)]
pub struct MailConfig {
    relay: Relay,
    from: Mailbox,
    /// Where people reach the service; links begin with it.
    public_url: String,
}

/// Why mail cannot be sent like this. Messages never repeat the URL, which has a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMail {
    /// The relay's URL is none.
    #[error("must look like \"smtps://user:password@mail.example.com\" or \"smtp://mail.example.com:587\"")]
    Relay,
    /// The sender is none.
    #[error("must be an address, with or without a name: \"Probity <no-reply@example.com>\"")]
    From,
}

impl MailConfig {
    /// Mail through the relay with this URL. `smtps` is TLS from the first byte (port 465 unless another is named); `smtp` (587)
    /// goes over to TLS, always where there is a password, else where the relay offers it. Certificates are checked against
    /// the roots that browsers trust.
    pub fn new(relay: &SecretString, from: &str, public_url: &str) -> Result<Self, NoMail> {
        let relay = Relay::parse(relay.expose_secret()).ok_or(NoMail::Relay)?;
        let from = from.parse().map_err(|_| NoMail::From)?;
        Ok(Self { relay, from, public_url: public_url.to_owned() })
    }

    /// The same for a relay whose certificate, or that of who signed it, is this one in DER: it is believed besides the usual
    /// roots.
    /// None where it is no certificate.
    #[must_use]
    pub fn believing(mut self, certificate: &[u8]) -> Option<Self> {
        self.relay.root = Some(Certificate::from_der(certificate.to_vec()).ok()?);
        Some(self)
    }
}

/// Where mail goes first.
#[derive(Clone)]
struct Relay {
    host: String,
    port: u16,
    secure: Secure,
    credentials: Option<(String, SecretString)>,
    /// Who is believed besides the usual roots.
    root: Option<Certificate>,
}

/// How a conversation with the relay is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secure {
    FromTheFirstByte,
    Always,
    WhereOffered,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, secure, .. } = self;
        write!(f, "Relay({host}:{port}, {secure:?})")
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
        // Of schemes that are not the web's, hosts are kept as they are written.
        let host = match url.host()? {
            Host::Domain(name) if !name.is_empty() => name.to_owned(),
            Host::Domain(_) => return None,
            Host::Ipv4(ip) => ip.to_string(),
            Host::Ipv6(ip) => ip.to_string(),
        };
        let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        bare.then(|| Self { host, port: url.port().unwrap_or(port), secure, credentials, root: None })
    }

    fn transport(&self) -> Result<AsyncSmtpTransport<Tokio1Executor>, lettre::transport::smtp::Error> {
        let mut tls = TlsParameters::builder(self.host.clone());
        if let Some(root) = &self.root {
            tls = tls.add_root_certificate(root.clone());
        }
        let tls = tls.build()?;
        let tls = match self.secure {
            Secure::FromTheFirstByte => Tls::Wrapper(tls),
            Secure::Always => Tls::Required(tls),
            Secure::WhereOffered => Tls::Opportunistic(tls),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&self.host).port(self.port).tls(tls);
        let builder = builder.timeout(Some(STEP_MAX));
        Ok(match &self.credentials {
            Some((user, password)) => {
                builder.credentials(Credentials::new(user.clone(), password.expose_secret().to_owned()))
            }
            None => builder,
        }
        .build())
    }
}

/// What an attempt to hand a mail to the relay came to.
#[derive(Debug)]
pub(crate) enum Handed {
    /// The relay has it.
    Taken,
    /// Later it may take it; why it did not now.
    NotNow(String),
    /// It never will; why.
    Never(String),
}

/// What a mail says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) to: &'a str,
    /// The organization that invites.
    pub(crate) org_name: Option<&'a str>,
    /// The link's URL.
    pub link: &'a str,
    /// From when on it opens nothing.
    pub expires_at: Millis,
    /// By what the mail is known: the same for every attempt, so that one that arrives twice is one.
    pub id: &'a str,
}

impl MailConfig {
    /// Hands a mail to the relay.
    pub(crate) async fn hand_over(&self, letter: Letter<'_>) -> Handed {
        self.give(self.message(letter)).await
    }

    /// Hands a mail to the relay, where it could be written.
    async fn give(&self, message: Result<Message, lettre::error::Error>) -> Handed {
        let Ok(message) = message else {
            return Handed::Never("the address cannot be used in an email".into());
        };
        let transport = match self.relay.transport() {
            Ok(transport) => transport,
            Err(error) => return Handed::NotNow(error.to_string()),
        };
        match transport.send(message).await {
            Ok(_) => Handed::Taken,
            Err(error) if error.is_permanent() => Handed::Never(status_of(&error)),
            Err(error) => Handed::NotNow(status_of(&error)),
        }
    }

    fn message(&self, letter: Letter<'_>) -> Result<Message, lettre::error::Error> {
        let who = letter.org_name.unwrap_or("an organization");
        let to = letter.to.parse().map_err(|_| lettre::error::Error::MissingTo)?;
        let text = format!(
            "You are invited to {who} on Probity. Choose a password here:\n\n{}\n\nThe link works once, until {}. If you did \
             not expect it, you need not do anything.\n",
            letter.link,
            letter.expires_at.to_rfc3339(),
        );
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(format!("Your invitation to {who}"))
            .message_id(Some(format!("<{}@{}>", letter.id, self.from.email.domain())))
            .header(ContentType::TEXT_PLAIN)
            .body(text)
    }
}

/// Of a relay's refusal the log gets the status only: its text may repeat the address.
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
    fn a_letter_has_the_link_whole_and_no_line_of_somebody_elses() {
        let config = MailConfig::new(&"smtp://a".into(), "a@example.com", "https://x.example").unwrap();
        let link = format!("https://verify.example.com/#/link/{}", "x".repeat(43));
        let letter = Letter {
            to: "ann@example.org",
            org_name: Some("Größe\r\nBcc: eve@example.org"),
            link: &link,
            expires_at: Millis(0),
            id: "usr_1.0",
        };
        let sent = String::from_utf8(config.message(letter).unwrap().formatted()).unwrap();
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(head.contains("To: ann@example.org") && head.contains("Message-ID: <usr_1.0@example.com>"), "{head}");
        assert!(body.replace("=\r\n", "").contains(&link), "{body}");
        assert!(config.message(Letter { to: "no address", ..letter }).is_err());
    }
}
