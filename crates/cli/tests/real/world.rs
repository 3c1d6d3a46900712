//! All servers of the test, started and stopped together.
//!
//! Every MX host has its own address and all share [`PORT`], since Probity uses one port for all MX hosts. The addresses are in a
//! /24 of the loopback network that depends on the servers' directory, so that two checkouts can test concurrently.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use crate::chroot::{Chroot, RUN};
use crate::{exim, opensmtpd, poll, postfix, unbound};

/// Port of all MX hosts.
pub(crate) const PORT: u16 = 2525;

/// Delay of postgrey for an unknown sender, in seconds.
pub(crate) const GREY_SECONDS: u64 = 2;

/// Time limit until a server accepts connections.
const START_LIMIT: Duration = Duration::from_secs(20);

macro_rules! hosts {
    ($($(#[$doc:meta])* $name:ident $number:literal $label:literal;)*) => {
        /// One address of the test world.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Host { $($(#[$doc])* $name,)* }

        impl Host {
            pub(crate) const ALL: [Self; [$($number),*].len()] = [$(Self::$name),*];

            /// Last byte of the address.
            fn number(self) -> u8 {
                match self { $(Self::$name => $number,)* }
            }

            /// Name below `test`.
            pub(crate) fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

hosts! {
    /// unbound, port 53.
    Resolver 53 "ns";
    /// postgrey's policy service.
    Policy 54 "policy";
    /// Postfix with defaults: PIPELINING, SMTPUTF8, no TLS.
    Postfix 10 "mx-postfix";
    /// Postfix that offers STARTTLS with a self-signed certificate.
    PostfixStartTls 11 "mx-postfix-starttls";
    /// Postfix that requires STARTTLS.
    PostfixTlsOnly 12 "mx-postfix-tlsonly";
    /// Postfix without PIPELINING.
    PostfixLockstep 13 "mx-postfix-lockstep";
    /// Postfix with postgrey.
    PostfixGrey 14 "mx-postfix-grey";
    /// Postfix that first verifies the recipient at the mailbox's own server (`reject_unverified_recipient`).
    PostfixVerifying 15 "mx-postfix-verifying";
    /// Postfix that looks up clients in a block list.
    PostfixBlocked 16 "mx-postfix-blocked";
    /// Postfix that hangs up after 3 errors in a session.
    PostfixStrict 17 "mx-postfix-strict";
    Exim 20 "mx-exim";
    /// Exim with a broken TLS configuration.
    EximBrokenTls 21 "mx-exim-brokentls";
    OpenSmtpd 30 "mx-opensmtpd";
    /// An address without a server.
    Dead 99 "mx-dead";
}

impl Host {
    /// Reports whether a mail server listens there.
    fn takes_mail(self) -> bool {
        !matches!(self, Self::Resolver | Self::Policy | Self::Dead)
    }
}

/// The running servers. Dropping this stops them.
pub(crate) struct World {
    chroot: Chroot,
    net: [u8; 3],
}

impl World {
    /// Starts everything and waits until all servers respond; `None`, with a message, if the programs are missing.
    pub(crate) fn start() -> Option<Self> {
        let chroot = match Chroot::open() {
            Ok(chroot) => chroot,
            Err(missing) => {
                assert!(std::env::var_os("PROBITY_REQUIRE_REAL").is_none_or(|v| v != "1"), "{missing}");
                // Bypasses the test harness, which hides the output of passing tests.
                let _ = writeln!(std::io::stderr(), "SKIPPED: the test against real mail servers: {missing}");
                return None;
            }
        };
        let net = net_of(chroot.root());
        let mut world = Self { chroot, net };
        world.start_all();
        world.wait();
        Some(world)
    }

    fn start_all(&mut self) {
        let net = self.net;
        let address = |host: Host| Ipv4Addr::new(net[0], net[1], net[2], host.number());
        self.chroot.directory(RUN, "root", "root", 0o755);
        let request = ["/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2"];
        self.chroot.run(&[&request[..], &["-subj", "/CN=mx.test", "-keyout", KEY, "-out", CERTIFICATE]].concat());
        self.chroot.give(KEY, "root", "root", 0o600);
        unbound::start(&mut self.chroot, address);
        postfix::start(&mut self.chroot, address);
        exim::start(&mut self.chroot, address);
        opensmtpd::start(&mut self.chroot, address(Host::OpenSmtpd));
    }

    /// Waits until each server accepts connections and the resolver answers.
    fn wait(&mut self) {
        let mut waiting: Vec<SocketAddr> =
            Host::ALL.into_iter().filter(|host| host.takes_mail()).map(|host| self.exchanger(host)).collect();
        waiting.push(SocketAddr::from((self.address(Host::Policy), postfix::POLICY_PORT)));
        let up = poll::until(START_LIMIT, || {
            let ended = self.chroot.ended();
            assert!(ended.is_empty(), "{ended:?} ended\n{}", self.logs());
            waiting.retain(|address| !accepts(*address));
            (waiting.is_empty() && answers(self.resolver())).then_some(())
        });
        assert!(up.is_some(), "nobody accepts connections at {waiting:?}\n{}", self.logs());
    }

    pub(crate) fn address(&self, host: Host) -> Ipv4Addr {
        Ipv4Addr::new(self.net[0], self.net[1], self.net[2], host.number())
    }

    /// SMTP address of a host.
    pub(crate) fn exchanger(&self, host: Host) -> SocketAddr {
        SocketAddr::from((self.address(host), PORT))
    }

    /// DNS address of the resolver.
    pub(crate) fn resolver(&self) -> SocketAddr {
        SocketAddr::from((self.address(Host::Resolver), 53))
    }

    /// Logs of the servers, for a failure's message.
    pub(crate) fn logs(&self) -> String {
        self.chroot.logs() + &self.chroot.read(postfix::LOG) + &self.chroot.read(exim::LOG)
    }
}

/// Certificate of all servers.
pub(crate) const CERTIFICATE: &str = "/worlds/run/certificate.pem";
/// Private key of the certificate.
pub(crate) const KEY: &str = "/worlds/run/key.pem";

/// Returns a loopback /24 derived from the directory, outside 127.0.0.0/16.
fn net_of(root: &Path) -> [u8; 3] {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    let [a, b, ..] = hasher.finish().to_be_bytes();
    [127, a.clamp(1, 254), b]
}

fn accepts(address: SocketAddr) -> bool {
    #[expect(clippy::disallowed_methods, reason = "asks whether a server of this test listens, loopback only")]
    std::net::TcpStream::connect(address).is_ok()
}

/// Reports whether the resolver answers a query for `test SOA` (RFC 1035 section 4.1).
fn answers(resolver: SocketAddr) -> bool {
    let question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04test\x00\x00\x06\x00\x01";
    let ask = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        socket.send_to(question, resolver)?;
        let mut answer = [0; 512];
        let length = socket.recv(&mut answer)?;
        Ok::<_, std::io::Error>(length > question.len() && answer[..2] == question[..2])
    };
    ask().unwrap_or(false)
}
