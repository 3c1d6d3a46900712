//! A customer's server that is told of finished jobs and remembers everything that it was told.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::serve::client::{field, message};

/// How long a sender may take; one that was killed leaves its connection at once.
const READ_MAX: Duration = Duration::from_secs(10);

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Its `webhook-id`: the event's name.
    pub(super) event: String,
    /// The job as it was then.
    pub(super) job: Value,
}

/// Takes messages until the tests end.
pub(super) struct Receiver {
    address: SocketAddr,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Receiver {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, told) = (listener.local_addr().unwrap(), Arc::default());
        let all = Arc::clone(&told);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let all = Arc::clone(&all);
                std::thread::spawn(move || take(stream, &all));
            }
        });
        Self { address, told }
    }

    /// What a job is submitted with.
    pub(super) fn url(&self) -> String {
        format!("http://{}/finished", self.address)
    }

    /// The messages so far, by job, in the order in which they came.
    pub(super) fn told(&self) -> BTreeMap<String, Vec<Told>> {
        let mut by_job: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for told in &*self.told.lock().unwrap() {
            by_job.entry(told.job["id"].as_str().unwrap().to_owned()).or_default().push(told.clone());
        }
        by_job
    }
}

/// What came whole is remembered before it is answered.
fn take(stream: TcpStream, all: &Mutex<Vec<Told>>) {
    stream.set_read_timeout(Some(READ_MAX)).unwrap();
    let mut connection = BufReader::new(stream);
    let Some((head, body)) = message(&mut connection) else { return };
    let event = field(&head, "webhook-id").expect("every message has its name").to_owned();
    all.lock().unwrap().push(Told { event, job: serde_json::from_str(&body).unwrap() });
    // A sender that was killed does not hear it, and its successor sends again.
    let _ = connection.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}
