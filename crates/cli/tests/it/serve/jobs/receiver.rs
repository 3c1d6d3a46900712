//! A customer's server that records all callbacks and events about rows.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::serve::bench::client::{field, message};

/// Read timeout; a killed sender closes its connection at once.
const READ_MAX: Duration = Duration::from_secs(10);

/// One callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Event ID from `webhook-id`.
    pub(crate) event: String,
    /// The job in the payload.
    pub(crate) job: Value,
}

/// One event about rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowsTold {
    /// Event ID from `webhook-id`.
    pub(crate) event: String,
    /// Topic of the subscription.
    pub(crate) topic: String,
    pub(crate) job: String,
    /// Rows by index, with their reasons.
    pub(crate) rows: BTreeMap<u64, String>,
}

/// Receives deliveries until the tests end.
pub(crate) struct Receiver {
    address: SocketAddr,
    all: Arc<All>,
}

#[derive(Default)]
struct All {
    finished: Mutex<Vec<Told>>,
    rows: Mutex<Vec<RowsTold>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::<All>::default());
        let all = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let all = Arc::clone(&all);
                std::thread::spawn(move || take(stream, &all));
            }
        });
        Self { address, all: received }
    }

    /// Callback URL of jobs.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/finished", self.address)
    }

    /// URL for events about rows.
    pub(crate) fn url_of_rows(&self) -> String {
        format!("http://{}/rows", self.address)
    }

    /// Events about rows so far.
    pub(crate) fn told_of_rows(&self) -> Vec<RowsTold> {
        self.all.rows.lock().unwrap().clone()
    }

    /// Callbacks so far, by job, in order of arrival.
    pub(crate) fn told(&self) -> BTreeMap<String, Vec<Told>> {
        let mut by_job: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for told in &*self.all.finished.lock().unwrap() {
            by_job.entry(told.job["id"].as_str().unwrap().to_owned()).or_default().push(told.clone());
        }
        by_job
    }
}

/// Records a complete delivery before responding.
fn take(stream: TcpStream, all: &All) {
    stream.set_read_timeout(Some(READ_MAX)).unwrap();
    let mut connection = BufReader::new(stream);
    let Some((head, body)) = message(&mut connection) else { return };
    let event = field(&head, "webhook-id").expect("every message has its name").to_owned();
    let body: Value = serde_json::from_str(&body).unwrap();
    if head.starts_with("POST /rows ") {
        all.rows.lock().unwrap().push(rows_told(event, &body));
    } else {
        all.finished.lock().unwrap().push(Told { event, job: body });
    }
    // A killed sender does not read the response, and its successor resends.
    let _ = connection.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

fn rows_told(event: String, body: &Value) -> RowsTold {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
    let row = |row: &Value| (row["index"].as_u64().unwrap(), text(&row["reason"]));
    let rows = body["data"]["rows"].as_array().unwrap().iter().map(row).collect();
    RowsTold { event, topic: text(&body["type"]), job: text(&body["data"]["job_id"]), rows }
}
