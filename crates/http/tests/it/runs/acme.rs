//! An email platform on loopback: contacts in lists, pages of three, and scripted faults.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use probity_backend::connections::PlatformConfig;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

pub(crate) const API_KEY: &str = "acme-key-4711";

/// A contact of the platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcmeContact {
    pub(crate) email: String,
    /// State by list.
    pub(crate) lists: BTreeMap<String, String>,
    pub(crate) tags: Vec<String>,
    pub(crate) fields: BTreeMap<String, Value>,
    /// Last change by someone else.
    pub(crate) updated: i64,
}

/// Response that a test queues before those of the platform.
struct Fault {
    /// Start of the matching requests, as in `DELETE /v1/contacts/`.
    request: String,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    /// Whether the platform performs the request before this response.
    is_done: bool,
}

#[derive(Default)]
struct AcmeState {
    contacts: BTreeMap<u32, AcmeContact>,
    faults: VecDeque<Fault>,
    /// Body of the last request that registered a webhook.
    hook: String,
    log: Vec<String>,
    tags: Vec<String>,
}

/// Simulated platform.
#[derive(Clone)]
pub(crate) struct Acme {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<AcmeState>>,
    /// Requests for contacts wait while it has no permits.
    pub(crate) gate: Arc<Semaphore>,
    /// Requests that change contacts are recorded and wait while it has no permits.
    pub(crate) acting: Arc<Semaphore>,
}

impl Acme {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = || Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let acme = Self { address, state: Arc::default(), gate: open(), acting: open() };
        let routes = Router::new().fallback(answer).with_state(acme.clone());
        tokio::spawn(serve(listener, routes));
        acme
    }

    /// Returns the configuration of a service that can connect and reach the platform.
    pub(crate) fn config(&self, config: ServiceConfig) -> ServiceConfig {
        self.config_in(config, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runs"))
    }

    fn config_in(&self, config: ServiceConfig, directory: &Path) -> ServiceConfig {
        let catalog = config.platforms.catalog.with_directory(directory).unwrap();
        let mut platforms = PlatformConfig { catalog: Arc::new(catalog), ..config.platforms.clone() };
        platforms.hosts.0.push(self.address.to_string());
        ServiceConfig { platforms, ..config }
    }

    /// The same, for a service that deletes contacts in batches.
    pub(crate) fn config_of_batches(&self, config: ServiceConfig) -> ServiceConfig {
        let single = r#"request = { delete = "/contacts/{contact.id}" }"#;
        let batch = r#"request = { post = "/contacts/deletions", json = { ids = [] } }
batch = { max = 20, at = "/ids", each = "{contact.id}" }"#;
        let text = include_str!("acme.toml");
        assert!(text.contains(single));
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("acme.toml"), text.replace(single, batch)).unwrap();
        self.config_in(config, directory.path())
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.state.lock().unwrap() = AcmeState::default();
    }

    pub(crate) fn credentials(&self) -> Value {
        json!({ "url": format!("http://{}", self.address), "api_key": API_KEY })
    }

    /// Adds a contact to lists, each with a state.
    pub(crate) fn add(&self, id: u32, email: &str, lists: &[(&str, &str)]) {
        let lists = lists.iter().map(|(list, state)| ((*list).to_owned(), (*state).to_owned())).collect();
        let contact = AcmeContact { email: email.to_owned(), lists, ..AcmeContact::default() };
        self.state.lock().unwrap().contacts.insert(id, contact);
    }

    pub(crate) fn contact(&self, id: u32) -> Option<AcmeContact> {
        self.state.lock().unwrap().contacts.get(&id).cloned()
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.state.lock().unwrap().contacts.keys().copied().collect()
    }

    /// Makes the next matching requests fail with this status.
    pub(crate) fn fail(&self, request: &str, status: u16, times: usize) {
        for _ in 0..times {
            self.fail_with(request, status, &[], "{\"message\":\"scripted\"}", false);
        }
    }

    pub(crate) fn fail_with(
        &self,
        request: &str,
        status: u16,
        headers: &[(&'static str, &str)],
        body: &str,
        is_done: bool,
    ) {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let (request, body) = (request.to_owned(), body.to_owned());
        self.state.lock().unwrap().faults.push_back(Fault { request, status, headers, body, is_done });
    }

    /// Ends all queued failures.
    pub(crate) fn recover(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// Renames a contact, as someone else would.
    pub(crate) fn rename(&self, id: u32, email: &str) {
        email.clone_into(&mut self.state.lock().unwrap().contacts.get_mut(&id).unwrap().email);
    }

    /// Sets the state of a contact in all of its lists, as the contact or another person does.
    pub(crate) fn set_state(&self, id: u32, to: &str) {
        let mut state = self.state.lock().unwrap();
        let contact = state.contacts.get_mut(&id).unwrap();
        contact.lists.values_mut().for_each(|state| to.clone_into(state));
    }

    /// Changes something about a contact as another person does.
    pub(crate) fn touch(&self, id: u32, at: i64) {
        self.state.lock().unwrap().contacts.get_mut(&id).unwrap().updated = at;
    }

    /// Writes a field of a contact, as someone else would.
    pub(crate) fn fill(&self, id: u32, field: &str, value: &str) {
        self.state.lock().unwrap().contacts.get_mut(&id).unwrap().fields.insert(field.to_owned(), json!(value));
    }

    /// Deletes all tags, as someone else would.
    pub(crate) fn delete_tags(&self) {
        let mut state = self.state.lock().unwrap();
        state.tags.clear();
        state.contacts.values_mut().for_each(|contact| contact.tags.clear());
    }

    /// Removes a contact, as someone else would.
    pub(crate) fn remove(&self, id: u32) {
        self.state.lock().unwrap().contacts.remove(&id);
    }

    /// Returns matching requests so far.
    pub(crate) fn asked(&self, request: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.log.iter().filter(|line| line.starts_with(request)).cloned().collect()
    }
}

async fn serve(listener: TcpListener, routes: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        let routes = routes.clone();
        let service = service_fn(move |request| routes.clone().oneshot(request));
        tokio::spawn(async move { Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}

async fn answer(State(acme): State<Acme>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let line = format!("{} {}", parts.method, parts.uri.path_and_query().unwrap());
    if parts.method == "GET" && line.contains("/contacts") {
        acme.gate.acquire().await.unwrap().forget();
    }
    acme.state.lock().unwrap().log.push(line.clone());
    if parts.method != "GET" {
        acme.acting.acquire().await.unwrap().forget();
    }
    let mut state = acme.state.lock().unwrap();
    if line == "POST /v1/webhooks" {
        state.hook = String::from_utf8_lossy(&body).into_owned();
    }
    let fault = state.faults.iter().position(|fault| line.starts_with(&fault.request));
    let fault = fault.and_then(|place| state.faults.remove(place));
    if let Some(fault) = fault {
        if fault.is_done {
            state.answer(&parts.headers, parts.method.as_str(), parts.uri.path(), parts.uri.query(), &body);
        }
        let mut response = (StatusCode::from_u16(fault.status).unwrap(), fault.body).into_response();
        response.headers_mut().insert("content-type", "application/json".parse().unwrap());
        for (name, value) in fault.headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        return response;
    }
    state.answer(&parts.headers, parts.method.as_str(), parts.uri.path(), parts.uri.query(), &body)
}

fn status(status: u16, what: &str) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(json!({ "message": what }))).into_response()
}

impl AcmeState {
    fn answer(&mut self, headers: &HeaderMap, method: &str, path: &str, query: Option<&str>, body: &Bytes) -> Response {
        let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
        if authorization != Some(&format!("Bearer {API_KEY}")) {
            return status(401, "bad key");
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        match (method, &parts[..]) {
            ("GET", ["account"]) => axum::Json(json!({ "name": "Acme of a test" })).into_response(),
            ("GET", ["lists"]) => axum::Json(json!({ "lists": self.lists() })).into_response(),
            ("GET", ["lists", list, "contacts"]) => self.page(list, query.unwrap_or_default()),
            ("DELETE", ["lists", list, "contacts", id]) => match self.of(id) {
                Some(contact) if contact.lists.contains_key(*list) => {
                    contact.lists.insert((*list).to_owned(), "left".to_owned());
                    status(200, "ok")
                }
                _ => status(404, "no such contact"),
            },
            ("GET", ["webhooks", _]) => axum::Json(json!({ "hook": self.hook })).into_response(),
            ("POST", ["tags"]) => {
                self.tags.push(body["name"].as_str().unwrap_or_default().to_owned());
                axum::Json(json!({ "id": format!("t{}", self.tags.len() - 1) })).into_response()
            }
            ("POST", ["contacts", "deletions"]) => {
                let ids = body["ids"].as_array().into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok());
                ids.for_each(|id: u32| drop(self.contacts.remove(&id)));
                status(200, "ok")
            }
            (method, ["contacts", id, rest @ ..]) => self.contact(method, id, rest, &body),
            _ => status(400, "unknown path"),
        }
    }

    fn lists(&self) -> Vec<Value> {
        let names: std::collections::BTreeSet<_> = self.contacts.values().flat_map(|one| one.lists.keys()).collect();
        names.into_iter().map(|id| json!({ "id": id })).collect()
    }

    fn of(&mut self, id: &str) -> Option<&mut AcmeContact> {
        self.contacts.get_mut(&id.parse().ok()?)
    }

    fn page(&self, list: &str, query: &str) -> Response {
        let parameter = |name: &str| query.split('&').find_map(|part| part.strip_prefix(&format!("{name}=")));
        let after: i64 = parameter("after").and_then(|text| text.parse().ok()).unwrap_or(-1);
        let limit: usize = parameter("limit").unwrap().parse().unwrap();
        let of_list = self.contacts.iter().filter(|(id, one)| i64::from(**id) > after && one.lists.contains_key(list));
        let page: Vec<_> = of_list.take(limit + 1).collect();
        let next = (page.len() > limit).then(|| page[limit - 1].0.to_string());
        let shown = |(id, one): &(&u32, &AcmeContact)| json!({ "id": id.to_string(), "email": one.email, "state": one.lists[list], "created": 1_700_000_000_000_i64 + i64::from(**id), "updated": one.updated });
        let contacts: Vec<Value> = page.iter().take(limit).map(shown).collect();
        axum::Json(json!({ "contacts": contacts, "next": next })).into_response()
    }

    fn contact(&mut self, method: &str, id: &str, rest: &[&str], body: &Value) -> Response {
        let emails: Vec<String> = self.contacts.values().map(|one| one.email.clone()).collect();
        let tags = self.tags.clone();
        let Some(contact) = self.of(id) else { return status(404, "no such contact") };
        match (method, rest) {
            ("GET", []) => {
                let lists: Vec<Value> =
                    contact.lists.iter().map(|(id, state)| json!({ "id": id, "state": state })).collect();
                let (email, fields) = (&contact.email, &contact.fields);
                return axum::Json(json!({ "id": id, "email": email, "fields": fields, "lists": lists }))
                    .into_response();
            }
            ("DELETE", []) => {
                self.contacts.remove(&id.parse().unwrap());
            }
            ("PUT", []) => {
                let email = body["email"].as_str().unwrap_or_default();
                if emails.iter().any(|known| known == email) {
                    return status(409, "taken");
                }
                email.clone_into(&mut contact.email);
            }
            ("PUT", ["fields"]) => contact.fields = serde_json::from_value(body["fields"].clone()).unwrap_or_default(),
            ("POST", ["tags"]) => {
                let tag = body["tag"].as_str().and_then(|id| id.strip_prefix('t')?.parse::<usize>().ok());
                let Some(name) = tag.and_then(|place| tags.get(place)) else { return status(400, "unknown tag") };
                if !contact.tags.contains(name) {
                    contact.tags.push(name.clone());
                }
            }
            _ => return status(400, "unknown path"),
        }
        status(200, "ok")
    }
}
