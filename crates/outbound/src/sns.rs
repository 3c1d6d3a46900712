//! Notifications of Amazon SNS, by which Amazon SES tells what became of mail.
//!
//! SNS signs with a key of Amazon's and names its certificate, so a signature alone proves only that some customer of Amazon's has
//! a topic. The source knows the topic's ARN, and accepts no other. Certificates are fetched from Amazon's hosts only, by https.
//! Source: Amazon SNS Developer Guide, "Verifying the signatures of Amazon SNS messages".

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::platforms::{CallFault, Platforms};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lru::LruCache;
use ring::signature;
use rustls::pki_types::alg_id::{RSA_ENCRYPTION, RSA_PKCS1_SHA256};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm};
use serde::Deserialize;
use url::Url;
use webpki::EndEntityCert;
use webpki::ring::RSA_PKCS1_2048_8192_SHA256;

/// Number of certificates in memory: one per region and year.
const CERTIFICATES_MAX: usize = 64;
/// Largest certificate, in bytes.
const CERTIFICATE_MAX: u64 = 64 << 10;

/// Topic of SNS, by its ARN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnsTopic<'a> {
    arn: &'a str,
    /// Host of SNS in the topic's region.
    host: String,
}

impl<'a> SnsTopic<'a> {
    /// Reads an ARN, such as `arn:aws:sns:eu-central-1:123456789012:mail`.
    pub fn parse(arn: &'a str) -> Option<Self> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", partition, "sns", region, account, name] = parts[..] else { return None };
        let end = match partition {
            "aws" | "aws-us-gov" => "amazonaws.com",
            "aws-cn" => "amazonaws.com.cn",
            _ => return None,
        };
        let is_region = (4..=32).contains(&region.len())
            && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let is_account = account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit());
        let is_name = (1..=256).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        (is_region && is_account && is_name).then(|| Self { arn, host: format!("sns.{region}.{end}") })
    }

    /// URL that confirms the subscription. It is put together here, because the one in the notification is anybody's.
    pub fn confirmation(&self, token: &str) -> String {
        let mut url = Url::parse(&format!("https://{}/", self.host)).expect("a host of letters, digits and hyphens");
        let query = [("Action", "ConfirmSubscription"), ("TopicArn", self.arn), ("Token", token)];
        url.query_pairs_mut().extend_pairs(query);
        url.into()
    }
}

probity_mail::named! {
    /// Kind of a notification.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SnsKind {
        Notification = "Notification",
        SubscriptionConfirmation = "SubscriptionConfirmation",
        UnsubscribeConfirmation = "UnsubscribeConfirmation",
    }
}

/// Body that SNS posts. Without `Debug`, because the message has addresses.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SnsBody {
    #[serde(rename = "Type")]
    pub kind: SnsKind,
    message_id: String,
    topic_arn: String,
    pub message: String,
    subject: Option<String>,
    timestamp: String,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    signing_cert_url: String,
    /// Proof that this URL is the subscriber's.
    pub token: Option<String>,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Option<String>,
}

impl SnsBody {
    /// URL of the certificate, if the notification is of this topic and the URL is Amazon's.
    pub fn certificate_url(&self, topic: &SnsTopic<'_>) -> Option<&str> {
        let url = Url::parse(&self.signing_cert_url).ok().filter(|_| self.topic_arn == topic.arn)?;
        let is_plain = url.scheme() == "https"
            && url.port().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none();
        let is_certificate =
            url.path().starts_with("/SimpleNotificationService-") && url.path().strip_suffix(".pem").is_some();
        let is_of_host = url.host_str() == Some(topic.host.as_str());
        (is_plain && is_certificate && is_of_host).then_some(self.signing_cert_url.as_str())
    }

    /// Whether the certificate's key has signed the notification.
    pub fn is_signed_by(&self, certificate: &SnsCertificate) -> bool {
        let algorithm: &dyn SignatureVerificationAlgorithm = match self.signature_version.as_str() {
            "1" => &RsaSha1,
            "2" => RSA_PKCS1_2048_8192_SHA256,
            _ => return false,
        };
        let Some((signature, message)) = STANDARD.decode(&self.signature).ok().zip(self.signed_text()) else {
            return false;
        };
        let certificate = CertificateDer::from(&certificate.0[..]);
        let Ok(certificate) = EndEntityCert::try_from(&certificate) else { return false };
        certificate.verify_signature(algorithm, message.as_bytes(), &signature).is_ok()
    }

    /// Names and values that are signed, each on a line, in the order of the names.
    fn signed_text(&self) -> Option<String> {
        let mut pairs = vec![("Message", self.message.as_str()), ("MessageId", &self.message_id)];
        match self.kind {
            SnsKind::Notification => pairs.extend(self.subject.as_deref().map(|subject| ("Subject", subject))),
            _ => pairs.push(("SubscribeURL", self.subscribe_url.as_deref()?)),
        }
        pairs.push(("Timestamp", &self.timestamp));
        if self.kind != SnsKind::Notification {
            pairs.push(("Token", self.token.as_deref()?));
        }
        pairs.extend([("TopicArn", self.topic_arn.as_str()), ("Type", self.kind.as_str())]);
        Some(pairs.iter().flat_map(|(name, value)| [*name, "\n", *value, "\n"]).collect())
    }
}

/// PKCS #1 with SHA-1, with which SNS signs unless the topic says `SignatureVersion` 2.
#[derive(Debug)]
struct RsaSha1;

impl SignatureVerificationAlgorithm for RsaSha1 {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = signature::UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        RSA_ENCRYPTION
    }

    /// Not used: certificates are not verified with it.
    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        RSA_PKCS1_SHA256
    }
}

/// Certificate of SNS, in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnsCertificate(Arc<[u8]>);

impl SnsCertificate {
    /// Reads a certificate in PEM.
    pub fn parse(pem: &[u8]) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem).ok()?;
        EndEntityCert::try_from(&der).ok()?;
        Some(Self(der.as_ref().into()))
    }
}

/// Why a certificate is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCertificate {
    /// Amazon did not answer.
    Unreached,
    /// Amazon has no such certificate.
    Unknown,
}

/// Certificates of SNS by URL, fetched once. A URL is never given another certificate.
#[derive(Clone, Debug)]
pub struct SnsCertificates(Arc<Mutex<LruCache<String, SnsCertificate>>>);

impl Default for SnsCertificates {
    fn default() -> Self {
        let size = NonZeroUsize::new(CERTIFICATES_MAX).expect("not zero");
        Self(Arc::new(Mutex::new(LruCache::new(size))))
    }
}

impl SnsCertificates {
    /// Returns the certificate at a URL that [`SnsBody::certificate_url`] gave.
    pub async fn at(&self, url: &str, platforms: &Platforms) -> Result<SnsCertificate, NoCertificate> {
        if let Some(known) = self.known(url) {
            return Ok(known);
        }
        let answer = platforms.fetch(url, CERTIFICATE_MAX).await.map_err(|_: CallFault| NoCertificate::Unreached)?;
        if answer.status >= 500 || answer.status == 429 {
            return Err(NoCertificate::Unreached);
        }
        let pem = (answer.status == 200 && !answer.is_cut).then_some(answer.body);
        let certificate = pem.and_then(|pem| SnsCertificate::parse(&pem)).ok_or(NoCertificate::Unknown)?;
        self.remember(url, certificate.clone());
        Ok(certificate)
    }

    fn known(&self, url: &str) -> Option<SnsCertificate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    /// Keeps a certificate.
    pub fn remember(&self, url: &str, certificate: SnsCertificate) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(url.to_owned(), certificate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:sns:eu-central-1:123456789012:mail";
    const URL: &str = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123.pem";

    #[test]
    fn topics_have_the_host_of_their_region() {
        let table = [
            (ARN, Some("sns.eu-central-1.amazonaws.com")),
            ("arn:aws-cn:sns:cn-north-1:123456789012:a_b-c.fifo", Some("sns.cn-north-1.amazonaws.com.cn")),
            ("arn:aws-us-gov:sns:us-gov-west-1:123456789012:mail", Some("sns.us-gov-west-1.amazonaws.com")),
            ("arn:aws:ses:eu-central-1:123456789012:mail", None),
            ("arn:aws:sns:evil.org/:123456789012:mail", None),
            ("arn:aws:sns:eu-central-1:12345678901:mail", None),
            ("arn:aws:sns:eu-central-1:123456789012:mail:9f1d", None),
            ("arn:aws:sns:eu-central-1:123456789012:", None),
            ("arn:evil:sns:eu-central-1:123456789012:mail", None),
            ("", None),
        ];
        for (arn, host) in table {
            assert_eq!(SnsTopic::parse(arn).map(|topic| topic.host), host.map(str::to_owned), "{arn}");
        }
        let url = SnsTopic::parse(ARN).unwrap().confirmation("a&b");
        let expected = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription\
                        &TopicArn=arn%3Aaws%3Asns%3Aeu-central-1%3A123456789012%3Amail&Token=a%26b";
        assert_eq!(url, expected);
    }

    #[test]
    fn certificates_are_amazons_and_notifications_the_topics() {
        let topic = SnsTopic::parse(ARN).unwrap();
        let is_taken = |arn: &str, url: &str| {
            let body = serde_json::json!({"Type": "Notification", "MessageId": "1", "TopicArn": arn, "Message": "{}", "Timestamp": "t",
                "SignatureVersion": "1", "Signature": "", "SigningCertURL": url});
            serde_json::from_value::<SnsBody>(body).unwrap().certificate_url(&topic).is_some()
        };
        assert!(is_taken(ARN, URL));
        assert!(!is_taken("arn:aws:sns:eu-central-1:210987654321:mail", URL), "somebody else's topic");
        for url in [
            "http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123.pem",
            "https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-0123.pem",
            "https://sns.eu-central-1.amazonaws.com.evil.org/SimpleNotificationService-0123.pem",
            "https://a@sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123.pem",
            "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem",
            "https://s3.eu-central-1.amazonaws.com/SimpleNotificationService-0123.pem",
            "https://sns.eu-central-1.amazonaws.com/other.pem",
            "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123.pem?Action=Publish",
            "SimpleNotificationService-0123.pem",
        ] {
            assert!(!is_taken(ARN, url), "{url}");
        }
    }
}
