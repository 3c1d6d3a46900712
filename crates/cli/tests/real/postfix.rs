//! Postfix, one instance with a listener for each behavior, and postgrey.

use std::net::Ipv4Addr;

use crate::chroot::{Chroot, RUN};
use crate::world::{CERTIFICATE, GREY_SECONDS, Host, KEY, PORT};

/// Port of postgrey's policy service.
pub(crate) const POLICY_PORT: u16 = 10_023;

pub(crate) const LOG: &str = "/worlds/run/postfix/postfix.log";

/// Writes the configuration and starts both.
pub(crate) fn start(chroot: &mut Chroot, host: impl Fn(Host) -> Ipv4Addr) {
    let policy = host(Host::Policy);
    directories(chroot);
    chroot.write(&format!("{RUN}/postfix/etc/main.cf"), &main_cf(policy));
    chroot.write(&format!("{RUN}/postfix/etc/master.cf"), &master_cf(&host));
    chroot.write(&format!("{RUN}/postfix/etc/mailboxes"), MAILBOXES);
    chroot.write(&format!("{RUN}/postfix/etc/access"), ACCESS);
    let behind = format!("verifying.postfix.test smtp:[{}]:{PORT}\n", host(Host::Exim));
    chroot.write(&format!("{RUN}/postfix/etc/transport"), &behind);
    chroot.start("postfix", &["/usr/lib/postfix/sbin/master", "-d", "-c", &format!("{RUN}/postfix/etc")]);
    chroot.directory(&format!("{RUN}/postgrey"), "nobody", "nobody", 0o755);
    let program = [
        "/usr/sbin/postgrey".to_owned(),
        format!("--inet={policy}:{POLICY_PORT}"),
        format!("--dbdir={RUN}/postgrey"),
        format!("--delay={GREY_SECONDS}"),
        "--auto-whitelist-clients=0".to_owned(),
        // The remaining seconds, as older releases reported by default: the delay must be read from the reply, not guessed.
        "--greylist-text=Greylisted for %s seconds (see http://postgrey.schweikert.ch/help/%r.html)".to_owned(),
        "--user=nobody".to_owned(),
        "--group=nobody".to_owned(),
    ];
    chroot.start("postgrey", &program.each_ref().map(String::as_str));
}

/// Creates what `postfix set-permissions` creates for a package.
fn directories(chroot: &mut Chroot) {
    chroot.directory(&format!("{RUN}/postfix"), "root", "root", 0o755);
    chroot.directory(&format!("{RUN}/postfix/data"), "postfix", "postfix", 0o700);
    chroot.directory(&format!("{RUN}/postfix/spool"), "root", "root", 0o755);
    for name in
        ["active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private", "saved", "trace"]
    {
        chroot.directory(&format!("{RUN}/postfix/spool/{name}"), "postfix", "root", 0o700);
    }
    chroot.directory(&format!("{RUN}/postfix/spool/maildrop"), "postfix", "postdrop", 0o730);
    chroot.directory(&format!("{RUN}/postfix/spool/public"), "postfix", "postdrop", 0o710);
    chroot.directory(&format!("{RUN}/postfix/spool/pid"), "root", "root", 0o755);
}

fn main_cf(policy: Ipv4Addr) -> String {
    format!(
        "compatibility_level = 3.6
queue_directory = {RUN}/postfix/spool
data_directory = {RUN}/postfix/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
maillog_file_prefixes = /worlds
maillog_file = {LOG}
myhostname = mx-postfix.test
mydestination =
# The asking machine is a stranger, although it is this one.
mynetworks = 127.255.255.255/32
alias_maps =
virtual_transport = discard
virtual_mailbox_domains = {DOMAINS}
# Its mailboxes are Exim's: Postfix asks there before it answers, and says 450 until it knows.
relay_domains = verifying.postfix.test
unverified_recipient_reject_code = 550
virtual_mailbox_maps = texthash:{RUN}/postfix/etc/mailboxes
transport_maps = texthash:{RUN}/postfix/etc/transport
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = reject_unknown_sender_domain, check_recipient_access texthash:{RUN}/postfix/etc/access
smtpd_tls_chain_files = {KEY}, {CERTIFICATE}
smtpd_tls_security_level = none
address_verify_poll_count = 1
grey = check_policy_service inet:{policy}:{POLICY_PORT}
"
    )
}

const DOMAINS: &str = "postfix.test catchall.postfix.test starttls.postfix.test tlsonly.postfix.test \
    lockstep.postfix.test grey.postfix.test blocked.postfix.test strict.postfix.test failover.test stranger.test \
    implicit.test alias.test sender.test xn--bcher-kva.test bücher.test";

fn master_cf(host: impl Fn(Host) -> Ipv4Addr) -> String {
    let listeners: [(Host, &str); 8] = [
        (Host::Postfix, ""),
        (Host::PostfixStartTls, "-o smtpd_tls_security_level=may"),
        (Host::PostfixTlsOnly, "-o smtpd_tls_security_level=encrypt"),
        (Host::PostfixLockstep, "-o smtpd_discard_ehlo_keywords=pipelining,silent-discard"),
        (Host::PostfixGrey, "-o smtpd_recipient_restrictions=$grey"),
        (Host::PostfixVerifying, "-o smtpd_recipient_restrictions=reject_unverified_recipient"),
        (Host::PostfixBlocked, "-o smtpd_client_restrictions=reject_rbl_client,bl.test"),
        (Host::PostfixStrict, "-o smtpd_hard_error_limit=3"),
    ];
    let lines = listeners.map(|(each, options)| format!("{}:{PORT} inet n - n - - smtpd {options}\n", host(each)));
    SERVICES.to_owned() + &lines.concat()
}

/// Services of the package's master.cf that these tests use.
const SERVICES: &str = "\
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
lmtp unix - - n - - lmtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
";

/// Mailboxes of all domains.
const MAILBOXES: &str = "\
ann@postfix.test ann
full@postfix.test full
fulltoday@postfix.test full
closed@postfix.test closed
jörg@postfix.test jorg
probe@sender.test probe
@catchall.postfix.test everybody
ann@starttls.postfix.test ann
ann@tlsonly.postfix.test ann
ann@lockstep.postfix.test ann
ann@grey.postfix.test ann
ann@blocked.postfix.test ann
ann@strict.postfix.test ann
ann@failover.test ann
ann@implicit.test ann
ann@alias.test ann
ann@xn--bcher-kva.test ann
jörg@bücher.test jorg
jörg@xn--bcher-kva.test jorg
";

/// Replies of a mail system behind Postfix (a quota policy, a directory) for some of the mailboxes.
const ACCESS: &str = "\
full@postfix.test 552 5.2.2 Mailbox is full
fulltoday@postfix.test 452 4.2.2 Mailbox is full
closed@postfix.test 550 5.2.1 Mailbox disabled, not accepting messages
";
