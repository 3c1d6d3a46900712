//! Tests of the shutdown: no new work, no lost response, and a bounded duration.

use std::time::Duration;

use probity_http::edge::listen::{ListenConfig, Stopped};
use tokio::net::TcpSocket;

use crate::served::{Limits, Served};

#[tokio::test]
#[ignore = "thorough"]
async fn requests_in_flight_finish_and_idle_connections_close() {
    let served = Served::start().await;
    let mut idle = served.connect().await;
    idle.send(b"GET /id HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(idle.answer(false).await.status, 200);
    let fresh = served.connect().await;
    let mut busy = served.connect().await;
    busy.send(b"GET /v1/things/first HTTP/1.1\r\nhost: x\r\n\r\nGET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(busy.answer(false).await.status, 200, "the second request is in the server by now");

    served.stop.cancel();
    assert_eq!(idle.until_closed().await, "");
    assert_eq!(fresh.until_closed().await, "");
    let mut late = served.connect().await;
    late.send(b"GET /id HTTP/1.1\r\nhost: x\r\n\r\nGET /id HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(late.answer(false).await.status, 200);
    assert_eq!(late.until_closed().await, "", "one request is taken, no second one");

    served.gate.notify_one();
    assert_eq!(busy.answer(false).await.status, 200);
    assert_eq!(busy.until_closed().await, "");
    let address = served.address;
    assert_eq!(served.stopped().await, Stopped { cut: 0 });
    let refused = TcpSocket::new_v4().unwrap().connect(address).await;
    assert!(refused.is_err(), "nothing new is accepted");
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_does_not_finish_in_time_is_cut() {
    let listen = ListenConfig { shutdown_timeout: Duration::from_millis(50), ..ListenConfig::default() };
    let served = Served::with(Limits { listen, ..Limits::default() }).await;
    let mut busy = served.connect().await;
    busy.send(b"GET /id HTTP/1.1\r\nhost: x\r\n\r\nGET /never HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(busy.answer(false).await.status, 200);
    served.stop.cancel();
    assert_eq!(busy.until_closed().await, "");
    assert_eq!(served.stopped().await, Stopped { cut: 1 });
}
