//! A name server on the loopback interface for the tests of the resolver: UDP and TCP on one port, answers by a function.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{CNAME, MX, SOA};
use hickory_proto::rr::{Name, RData, Record};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// How a question came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Udp,
    Tcp,
}

/// What the server does with a question: the bytes of its response, or silence.
pub(crate) type Behaviour = fn(&Message, Via) -> Option<Vec<u8>>;

/// A running server.
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    questions: Arc<AtomicUsize>,
}

impl NameServer {
    /// Starts a server that lives as long as the test's runtime.
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let (udp, tcp) = bind().await;
        let address = udp.local_addr().unwrap();
        let questions = Arc::new(AtomicUsize::new(0));
        tokio::spawn(serve_udp(udp, behaviour, questions.clone()));
        let counted = questions.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = tcp.accept().await {
                tokio::spawn(serve_tcp(stream, behaviour, counted.clone()));
            }
        });
        Self { address, questions }
    }

    /// How many questions came so far, repeated datagrams included.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

/// UDP and TCP on the same port; another process may have taken the one that TCP got for UDP.
async fn bind() -> (UdpSocket, TcpListener) {
    for _ in 0..100 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both UDP and TCP");
}

async fn serve_udp(udp: UdpSocket, behaviour: Behaviour, questions: Arc<AtomicUsize>) {
    let mut bytes = [0; 2_048];
    while let Ok((length, peer)) = udp.recv_from(&mut bytes).await {
        questions.fetch_add(1, Ordering::SeqCst);
        if let Some(response) = behaviour(&Message::from_vec(&bytes[..length]).unwrap(), Via::Udp) {
            udp.send_to(&response, peer).await.unwrap();
        }
    }
}

async fn serve_tcp(mut stream: TcpStream, behaviour: Behaviour, questions: Arc<AtomicUsize>) {
    while let Ok(length) = stream.read_u16().await {
        let mut bytes = vec![0; length.into()];
        stream.read_exact(&mut bytes).await.unwrap();
        questions.fetch_add(1, Ordering::SeqCst);
        if let Some(response) = behaviour(&Message::from_vec(&bytes).unwrap(), Via::Tcp) {
            stream.write_u16(response.len().try_into().unwrap()).await.unwrap();
            stream.write_all(&response).await.unwrap();
        }
    }
}

/// The name of the question, in lower case without the last dot.
pub(crate) fn asked(question: &Message) -> String {
    question.queries[0].name().to_ascii().trim_end_matches('.').to_ascii_lowercase()
}

pub(crate) fn name(text: &str) -> Name {
    Name::from_ascii(format!("{}.", text.trim_end_matches('.'))).unwrap()
}

/// A response with this code and these answers.
pub(crate) fn response(question: &Message, code: ResponseCode, answers: Vec<Record>) -> Message {
    let mut response = question.clone().into_response();
    response.metadata.response_code = code;
    response.metadata.recursion_available = true;
    response.answers = answers;
    response
}

/// Adds the SOA that makes a negative answer authoritative.
pub(crate) fn with_soa(mut response: Message, ttl: u32, minimum: u32) -> Option<Vec<u8>> {
    let soa = SOA::new(name("ns.example"), name("hostmaster.example"), 1, 2, 3, 4, minimum);
    response.authorities.push(Record::from_rdata(name("example"), ttl, RData::SOA(soa)));
    bytes(&response)
}

/// The wire form; none for a message that cannot be encoded, which a test notices as silence.
pub(crate) fn bytes(response: &Message) -> Option<Vec<u8>> {
    response.to_vec().ok()
}

pub(crate) fn mx(owner: &str, ttl: u32, preference: u16, host: Name) -> Record {
    Record::from_rdata(name(owner), ttl, RData::MX(MX::new(preference, host)))
}

pub(crate) fn cname(owner: &str, ttl: u32, target: &str) -> Record {
    Record::from_rdata(name(owner), ttl, RData::CNAME(CNAME(name(target))))
}
