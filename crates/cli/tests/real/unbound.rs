//! DNS of the test world, served by unbound.
//!
//! A real resolver rather than an authoritative server, as in production. Its zone `test` is a file, so that answers are those of a
//! zone (NODATA with SOA, NXDOMAIN with SOA, wildcards). Two subtrees fail on purpose: below `broken.test`, every answer is
//! SERVFAIL (a zone whose primary is unreachable); queries below `silent.test` are dropped.

use std::net::Ipv4Addr;

use crate::chroot::{Chroot, RUN};
use crate::world::Host;

/// Writes zone and configuration and starts the resolver.
pub(crate) fn start(chroot: &mut Chroot, host: impl Fn(Host) -> Ipv4Addr) {
    let resolver = host(Host::Resolver);
    chroot.write(&format!("{RUN}/unbound/test.zone"), &zone(&host));
    chroot.write(&format!("{RUN}/unbound/unbound.conf"), &configuration(resolver, host(Host::Dead)));
    // The mail servers also use DNS (the sender's domain, block lists).
    chroot.write("/etc/resolv.conf", &format!("nameserver {resolver}\noptions timeout:2 attempts:1\n"));
    chroot.start("unbound", &["/usr/sbin/unbound", "-d", "-d", "-c", &format!("{RUN}/unbound/unbound.conf")]);
}

fn configuration(resolver: Ipv4Addr, dead: Ipv4Addr) -> String {
    format!(
        r#"server:
    interface: {resolver}
    access-control: 127.0.0.0/8 allow
    username: ""
    chroot: ""
    directory: "{RUN}/unbound"
    pidfile: ""
    use-syslog: no
    logfile: ""
    do-daemonize: no
    num-threads: 1
    module-config: "iterator"
    # unbound answers "test." (RFC 6761) by itself unless told otherwise.
    local-zone: "test." nodefault
    local-zone: "silent.test." deny
remote-control:
    control-enable: no
auth-zone:
    name: "test."
    zonefile: "{RUN}/unbound/test.zone"
    for-downstream: yes
    for-upstream: yes
    fallback-enabled: no
auth-zone:
    name: "broken.test."
    primary: {dead}
    for-downstream: yes
    for-upstream: yes
    fallback-enabled: no
"#
    )
}

/// Builds the zone: one MX host name per host, then the domains that use them.
fn zone(host: impl Fn(Host) -> Ipv4Addr) -> String {
    let hosts = Host::ALL.map(|each| format!("{} A {}\n", each.label(), host(each))).concat();
    let (postfix, dead) = (host(Host::Postfix), host(Host::Dead));
    format!(
        "$ORIGIN test.
$TTL 60
@ SOA ns hostmaster 1 3600 600 86400 30
@ NS ns
{hosts}{DOMAINS}
; The bare domain is its own exchanger (RFC 5321 section 5.1).
implicit A {postfix}
; A backup of the domain's own.
mx1.failover A {dead}
mx2.failover A {postfix}
; A block list that lists this machine.
1.0.0.127.bl A 127.0.0.2
1.0.0.127.bl TXT \"Listed for the test, see http://bl.test/127.0.0.1\"
"
    )
}

const DOMAINS: &str = r#"
sender MX 10 mx-postfix
sender TXT "v=spf1 ip4:127.0.0.1 -all"
postfix MX 10 mx-postfix
catchall.postfix MX 10 mx-postfix
starttls.postfix MX 10 mx-postfix-starttls
tlsonly.postfix MX 10 mx-postfix-tlsonly
lockstep.postfix MX 10 mx-postfix-lockstep
grey.postfix MX 10 mx-postfix-grey
verifying.postfix MX 10 mx-postfix-verifying
blocked.postfix MX 10 mx-postfix-blocked
strict.postfix MX 10 mx-postfix-strict
xn--bcher-kva MX 10 mx-postfix
exim MX 10 mx-exim
catchall.exim MX 10 mx-exim
brokentls.exim MX 10 mx-exim-brokentls
opensmtpd MX 10 mx-opensmtpd
listed.opensmtpd MX 10 mx-opensmtpd
catchall.opensmtpd MX 10 mx-opensmtpd
failover MX 10 mx1.failover
failover MX 20 mx2.failover
stranger MX 10 mx-dead
stranger MX 20 mx-postfix
dead MX 10 mx-dead
misdirected MX 10 mx-postfix
misdirected.exim MX 10 mx-exim
misdirected.opensmtpd MX 10 mx-opensmtpd
nullmx MX 0 .
loop CNAME loop
alias CNAME postfix
nomail TXT "neither exchanger nor address"
lost MX 10 mx.nowhere
"#;
