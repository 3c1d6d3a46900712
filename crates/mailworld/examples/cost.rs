//! What the world costs on loopback: time for each RCPT of pipelined flights and for each DNS query, client included.
//!
//! `cargo run --release -p probity-mailworld --example cost`. Everything runs on one thread, so that elapsed time is
//! processor time of server and client together; the client does as little as it can.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement prints, and reads the clock")]

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probity_mailworld::{Bind, LoopbackWorld, load};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

const FLIGHTS: u32 = 5_000;
const QUERIES: u32 = 50_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let world = LoopbackWorld::start(load::world(10_000, 70), Bind::default()).await?;
    for rcpts in [1, 20, 200] {
        let took = flights(&world, rcpts).await?;
        let total = FLIGHTS * rcpts;
        println!("flights of {rcpts:>3} RCPT: {:.2} us for each RCPT", micros(took, total));
    }
    let took = queries(world.dns()).await?;
    println!("DNS over UDP:        {:.2} us for each query", micros(took, QUERIES));
    Ok(())
}

fn micros(took: Duration, count: u32) -> f64 {
    took.as_secs_f64() * 1e6 / f64::from(count)
}

/// Sends flights of MAIL, RCPT... and RSET over one connection and waits for the answers to each.
async fn flights(world: &LoopbackWorld, rcpts: u32) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(("127.128.0.7", world.smtp_port())).await?;
    stream.set_nodelay(true)?;
    let asked: Vec<_> = (0..rcpts).map(|i| format!("RCPT TO:<user{i}@d0007.load.test>\r\n")).collect();
    let flight = format!("MAIL FROM:<me@probe.test>\r\n{}RSET\r\n", asked.concat());
    let mut buffer = vec![0; 64 * 1024];
    lines(&mut stream, &mut buffer, 1).await?;
    stream.write_all(b"HELO probe.test\r\n").await?;
    lines(&mut stream, &mut buffer, 1).await?;
    let start = Instant::now();
    for _ in 0..FLIGHTS {
        stream.write_all(flight.as_bytes()).await?;
        lines(&mut stream, &mut buffer, rcpts + 2).await?;
    }
    Ok(start.elapsed())
}

/// Reads until this many lines have come.
async fn lines(stream: &mut TcpStream, buffer: &mut [u8], mut wanted: u32) -> io::Result<()> {
    while wanted > 0 {
        let read = stream.read(buffer).await?;
        let ends = buffer[..read].iter().map(|b| u32::from(*b == b'\n')).sum::<u32>();
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        wanted = wanted.saturating_sub(ends);
    }
    Ok(())
}

async fn queries(dns: SocketAddr) -> io::Result<Duration> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(dns).await?;
    let query = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x05d0007\x04load\x04test\0\0\x0f\0\x01";
    let mut answer = [0; 512];
    let start = Instant::now();
    for _ in 0..QUERIES {
        socket.send(query).await?;
        socket.recv(&mut answer).await?;
    }
    Ok(start.elapsed())
}
