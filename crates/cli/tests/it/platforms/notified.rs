//! Notifications of new members: registered, sent, signed and removed.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use probity_connectors::{
    HookEndpoint, HookRegistration, HookStep, ProofFault, Registering, hints, look, prove, removal,
};

use super::exchange::{now, send};
use super::running::Platform;
use crate::serve::bench::client::message;
use crate::serve::bench::node::PATIENCE;

/// A notification: header fields and body.
type Notification = (Vec<(String, String)>, Vec<u8>);

/// Receives notifications one after another.
fn listen() -> (SocketAddr, Receiver<Notification>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut connection = BufReader::new(stream);
            let (head, body) = message(&mut connection).unwrap();
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            connection.get_mut().write_all(answer.as_bytes()).unwrap();
            if sender.send((fields, body.into_bytes())).is_err() {
                return;
            }
        }
    });
    (address, received)
}

fn register(platform: &Platform, endpoint: &HookEndpoint) -> HookRegistration {
    let credentials = platform.credentials();
    let mut registering = Registering::new(&platform.file, &credentials, endpoint.clone()).unwrap();
    loop {
        match registering.next(now()).unwrap() {
            HookStep::Send(request) => registering.answer(&send(&request)).unwrap(),
            HookStep::Done(registration) => return registration,
        }
    }
}

#[test]
#[ignore = "thorough"]
fn ghost_notifies_of_new_members_until_the_webhook_is_removed() {
    let Some(ghost) = Platform::take("ghost") else { return };
    let (address, received) = listen();
    let endpoint =
        HookEndpoint { url: format!("http://{address}/hooks/secret-path"), secret: "hush".repeat(8), list: None };
    let registration = register(&ghost, &endpoint);
    let id = ghost.add_member("new@acme-widgets.com");
    let (headers, body) = received.recv_timeout(PATIENCE).unwrap();
    let rule = ghost.file.hook.as_ref().unwrap();
    assert_eq!(prove(&rule.proof, &registration.secret, (&headers, &body), now()), Ok(()));
    assert_eq!(prove(&rule.proof, "another", (&headers, &body), now()), Err(ProofFault::Wrong));
    let hints = hints(rule, &body).unwrap();
    assert_eq!((hints.len(), hints[0].id.as_deref()), (1, Some(id.as_str())));
    assert_eq!(hints[0].email.as_deref(), Some("new@acme-widgets.com"));
    let credentials = ghost.credentials();
    for status in [204, 404] {
        let looks = look(&ghost.file, &credentials, (&endpoint, &registration), now()).unwrap().unwrap();
        let shown = send(&looks);
        let is_shown = String::from_utf8_lossy(&shown.body).contains("secret-path");
        assert_eq!((shown.status, is_shown), if status == 204 { (200, true) } else { (404, false) });
        let request = removal(&ghost.file, &credentials, (&endpoint, &registration), now()).unwrap();
        assert_eq!(send(&request).status, status);
    }
}
