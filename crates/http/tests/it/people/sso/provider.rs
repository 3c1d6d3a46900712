//! Sign-in provider on loopback, simulated in this process, and the DNS records of its customers.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_backend::outbound::{Names, Unresolved};
use probity_engine::net::BoxFuture;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

pub(super) const CLIENT: &str = "probity-client";
pub(super) const SECRET: &str = "s3cret of the client";

/// Response to a request.
#[derive(Clone)]
pub(super) enum Said {
    /// A correct response.
    Well,
    Status(u16, &'static str),
    /// As many bytes as a client accepts.
    Endless,
    Nothing,
}

pub(super) struct Script {
    pair: EcdsaKeyPair,
    pub(super) kid: String,
    /// Changes of the claims, the token's header and the document.
    pub(super) claims: Value,
    pub(super) header: Value,
    pub(super) document: Value,
    /// Faulty responses by path.
    pub(super) said: HashMap<&'static str, Said>,
    /// Nonce of the last authorization request.
    nonce: String,
    /// Requests received, with path and body.
    pub(super) seen: Vec<(String, String)>,
}

fn new_pair() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap()
}

impl Script {
    fn new() -> Self {
        Self {
            pair: new_pair(),
            kid: "first".into(),
            claims: json!({}),
            header: json!({}),
            document: json!({}),
            said: HashMap::new(),
            nonce: String::new(),
            seen: Vec::new(),
        }
    }

    /// Replaces the key.
    pub(super) fn roll(&mut self, kid: &str) {
        self.pair = new_pair();
        kid.clone_into(&mut self.kid);
    }

    fn answer(&self, base: &str, path: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut answer = match path {
            "/.well-known/openid-configuration" => json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "jwks_uri": format!("{base}/keys"),
                "response_types_supported": ["code"],
            }),
            "/keys" => {
                let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
                let key = json!({ "kty": "EC", "crv": "P-256", "kid": self.kid, "x": text(x), "y": text(y) });
                return json!({ "keys": [key] });
            }
            _ => return json!({ "id_token": self.token(base), "access_token": "unused", "token_type": "Bearer" }),
        };
        merge(&mut answer, &self.document);
        answer
    }

    fn token(&self, base: &str) -> String {
        let mut header = json!({ "alg": "ES256", "kid": self.kid });
        merge(&mut header, &self.header);
        let mut claims = json!({
            "iss": base, "sub": "subject-1", "aud": CLIENT, "iat": 1_700_000_000, "exp": 4_000_000_000_i64, "nonce": self.nonce,
            "email": "bob@acme-team.com", "email_verified": true, "name": "Bob Lee",
        });
        merge(&mut claims, &self.claims);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn merge(into: &mut Value, changes: &Value) {
    for (name, value) in changes.as_object().unwrap() {
        into[name] = value.clone();
    }
}

pub(super) struct Provider {
    pub(super) address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl Provider {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script::new()));
        tokio::spawn(serve(listener, script.clone()));
        Self { address, script }
    }

    pub(super) fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes the provider's behavior from now on.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.script.lock().unwrap())
    }

    /// Restores the initial behavior.
    pub(super) fn restore(&self) {
        self.change(|script| *script = Script::new());
    }

    /// Returns the number of requests for a path.
    pub(super) fn requests(&self, path: &str) -> usize {
        self.change(|script| script.seen.iter().filter(|(seen, _)| seen == path).count())
    }

    /// Signs a user in whose browser was redirected here. Returns the path to which it returns.
    pub(super) fn sign_in(&self, location: &str) -> String {
        let url = Url::parse(location).unwrap();
        let asked: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(
            format!("{}{}", url.origin().ascii_serialization(), url.path()),
            format!("{}/authorize", self.issuer())
        );
        assert_eq!((asked["client_id"].as_str(), asked["response_type"].as_str()), (CLIENT, "code"));
        let back = Url::parse(&asked["redirect_uri"]).unwrap();
        assert_eq!(back.as_str(), "https://verify.example.com/app/sso/callback");
        self.change(|script| script.nonce.clone_from(&asked["nonce"]));
        format!("{}?code=c1&state={}", back.path(), asked["state"])
    }
}

async fn serve(listener: TcpListener, script: Arc<Mutex<Script>>) {
    let base = format!("http://{}", listener.local_addr().unwrap());
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(converse(stream, base.clone(), script.clone()));
    }
}

async fn converse(mut stream: TcpStream, base: String, script: Arc<Mutex<Script>>) {
    let Some((path, body)) = request(&mut stream).await else { return };
    let (said, answer) = {
        let mut script = script.lock().unwrap();
        let answer = script.answer(&base, &path).to_string();
        let said = script.said.get(path.as_str()).cloned().unwrap_or(Said::Well);
        script.seen.push((path, body));
        (said, answer)
    };
    let head = |status: u16, length: usize, more: &str| {
        format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n"
        )
    };
    let text = match said {
        Said::Well => head(200, answer.len(), "") + &answer,
        Said::Status(status, more) => head(status, 2, more) + "{}",
        Said::Endless => head(200, 1 << 30, "") + &" ".repeat(1 << 20),
        Said::Nothing => return std::future::pending().await,
    };
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Reads a request: its path, and header and body as text.
async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            return Some((head.split(' ').nth(1)?.to_owned(), text));
        }
    }
}

/// TXT records of customers' domains. Other names have none.
#[derive(Default)]
pub(crate) struct Records(pub(crate) Mutex<HashMap<String, Result<Vec<String>, Unresolved>>>);

impl Names for Records {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        Box::pin(async { Err(Unresolved::Name) })
    }

    fn texts<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<String>, Unresolved>> {
        let found = self.0.lock().unwrap().get(name).cloned();
        Box::pin(async move { found.unwrap_or(Ok(Vec::new())) })
    }
}
