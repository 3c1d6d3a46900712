//! Ghost sends an event about a new member, who is verified and acted on within seconds.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;
use std::time::{Duration, Instant};

use serde_json::json;

use super::customer::Customer;
use super::expected::newcomer;
use crate::platforms::running::Platform;
use crate::serve::bench::node::wait_within;

/// Time limit of the service. Polls alone would take minutes.
const EVENT_MAX: Duration = Duration::from_mins(1);

/// Number of measured calls.
const REPEATED: usize = 200;

/// An address that is known before the service's, and forwards to it.
struct Forwarder {
    address: SocketAddr,
    to: Arc<Mutex<Option<SocketAddr>>>,
    /// Bytes that the last connection sent.
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Forwarder {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (to, sent) = (Arc::<Mutex<Option<SocketAddr>>>::default(), Arc::<Mutex<Vec<u8>>>::default());
        let (known, heard) = (to.clone(), sent.clone());
        spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Some(far) = known.lock().unwrap().and_then(|to| TcpStream::connect(to).ok()) else { continue };
                heard.lock().unwrap().clear();
                let (from_near, from_far, heard) = (near.try_clone().unwrap(), far.try_clone().unwrap(), heard.clone());
                spawn(move || pass(from_near, far, Some(&heard)));
                spawn(move || pass(from_far, near, None));
            }
        });
        Self { address, to, sent }
    }

    /// Sends the last event to the service repeatedly; returns the median response time.
    fn repeat_last(&self) -> Duration {
        let to = self.to.lock().unwrap().unwrap();
        let event = self.sent.lock().unwrap().clone();
        let mut times: Vec<Duration> = (0..REPEATED)
            .map(|_| {
                let mut stream = TcpStream::connect(to).unwrap();
                let begun = Instant::now();
                stream.write_all(&event).unwrap();
                let mut head = [0; 12];
                stream.read_exact(&mut head).unwrap();
                assert_eq!(&head, b"HTTP/1.1 200", "a repeated event is accepted");
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[REPEATED / 2]
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, heard: Option<&Mutex<Vec<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if let Some(heard) = heard {
            heard.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // Closing either side ends the other direction, too.
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
#[ignore = "thorough"]
fn a_member_who_signs_up_is_verified_and_acted_upon_within_seconds() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let forwarder = Forwarder::start();
    let url = format!("http://{}", forwarder.address);
    let mut customer = Customer::reachable(&ghost, &url, &json!({ "action": "unsubscribe" }));
    *forwarder.to.lock().unwrap() = Some(customer.node.address);
    customer.dry_run_then_confirm();
    customer.change(&json!({ "instafloss": true }));
    wait_within(EVENT_MAX, "a webhook", || {
        let webhook = &customer.look("/schedule")["instafloss"]["webhook"];
        (webhook["state"] == "registered").then_some(())
    });
    for name in ["fresh", "newer"] {
        let (email, begun) = (newcomer(name), Instant::now());
        ghost.add_member(&email);
        wait_within(EVENT_MAX, "the new member's end", || {
            (ghost.members()[&email]["subscribed"] == false).then_some(())
        });
        println!("unsubscribed {:.1} s after the sign-up", begun.elapsed().as_secs_f64());
        let newest = customer.look("/runs")["data"][0].clone();
        assert_eq!((&newest["trigger"], &newest["rows"]), (&json!("instafloss"), &json!(1)), "{newest:#}");
    }
    let median = forwarder.repeat_last();
    println!("an event is answered in {median:?}");
    assert!(median < Duration::from_millis(50), "{median:?}");
    let told = customer.look("/schedule")["instafloss"].clone();
    assert_eq!((&told["method"], &told["measured"]), (&json!("webhook"), &json!(2)), "{told:#}");
    customer.leave(&ghost);
}
