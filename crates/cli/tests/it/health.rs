//! `probity health` with an HTTP server, another server, and none.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::program::Place;

/// Answers one connection with `answer`, and returns the URL and the request.
fn answering(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 1024];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    (address, asked)
}

#[test]
#[ignore = "thorough"]
fn only_200_is_healthy() {
    let table = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Some(0), ""),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", Some(1), "responded with 503"),
        ("220 mail.example.com ESMTP\r\n", Some(1), "not HTTP"),
        ("", Some(1), "not HTTP"),
    ];
    let place = Place::new();
    for (answer, code, message) in table {
        let (address, asked) = answering(answer);
        let ran = place.run(&["health", "--url", &format!("http://{address}")]);
        assert_eq!(ran.code, code, "{answer:?}: {}", ran.err);
        assert!(ran.err.contains(message) && ran.out.is_empty(), "{answer:?}: {}", ran.err);
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("GET /readyz HTTP/1.1\r\n") && asked.contains(&format!("Host: {address}\r\n")));
    }
}

#[test]
#[ignore = "thorough"]
fn without_a_url_the_configuration_says_where() {
    let (address, asked) = answering("HTTP/1.1 200 OK\r\n\r\n");
    let everywhere = address.replace("127.0.0.1", "0.0.0.0");
    let ran = Place::new().run(&["health", "--set", &format!("server.listen={everywhere}")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    asked.join().unwrap();
}

#[test]
#[ignore = "thorough"]
fn where_nobody_listens_nobody_is_healthy() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = Place::new().run(&["health", "--url", &format!("http://{free}/healthz")]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot be reached"), "{}", ran.err);
    assert_eq!(Place::new().run(&["health", "--url", "http://localhost:8080"]).code, Some(2));
}
