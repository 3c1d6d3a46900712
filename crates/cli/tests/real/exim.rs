//! Exim with the checks of its default configuration, real quotas and `:fail:` redirections.

use std::net::Ipv4Addr;

use crate::chroot::{Chroot, RUN};
use crate::world::{CERTIFICATE, Host, KEY, PORT};

pub(crate) const LOG: &str = "/worlds/run/exim/log/main";

/// Writes the configuration and starts Exim.
pub(crate) fn start(chroot: &mut Chroot, host: impl Fn(Host) -> Ipv4Addr) {
    for name in ["", "/log", "/spool", "/mail"] {
        chroot.directory(&format!("{RUN}/exim{name}"), "Debian-exim", "Debian-exim", 0o755);
    }
    let full = format!("{RUN}/exim/mail/full");
    chroot.write(&full, &"a line of old mail\n".repeat(200));
    chroot.give(&full, "Debian-exim", "Debian-exim", 0o600);
    // Exim reads the key as its own user. If that fails, it still offers STARTTLS and replies 454.
    let key = format!("{RUN}/exim/key.pem");
    chroot.write(&key, &chroot.read(KEY));
    chroot.give(&key, "Debian-exim", "Debian-exim", 0o600);
    // This path is compiled in; a configuration named on the command line would lose the privileges that quotas need.
    chroot.write("/etc/exim4/exim4.conf", &configuration(host(Host::Exim), host(Host::EximBrokenTls)));
    chroot.start("exim", &["/usr/sbin/exim4", "-bdf"]);
}

fn configuration(address: Ipv4Addr, broken: Ipv4Addr) -> String {
    format!(
        r"primary_hostname = mx-exim.test
domainlist local_domains = exim.test : catchall.exim.test : verifying.postfix.test : brokentls.exim.test
local_interfaces = <; {address} ; {broken}
daemon_smtp_ports = {PORT}
spool_directory = {RUN}/exim/spool
log_file_path = {RUN}/exim/log/%s
pid_file_path = {RUN}/exim/pid
exim_user = Debian-exim
exim_group = Debian-exim
host_lookup =
rfc1413_hosts =
tls_advertise_hosts = *
tls_certificate = {CERTIFICATE}
tls_privatekey = ${{if eq{{$received_ip_address}}{{{broken}}}{{{KEY}}}{{{RUN}/exim/key.pem}}}}
keep_environment =
acl_smtp_rcpt = rcpt

begin acl
rcpt:
  deny    message = Restricted characters in address
          domains = +local_domains
          local_parts = ^[.] : ^.*[@%!/|]
  require message = relay not permitted
          domains = +local_domains
  require verify = recipient
  require message = 552 5.2.2 $local_part: mailbox is full
          verify = recipient/quota
  accept

begin routers
closed:
  driver = redirect
  domains = exim.test
  local_parts = closed
  allow_fail
  data = :fail: 5.2.1 This mailbox has been disabled
busy:
  driver = redirect
  domains = exim.test
  local_parts = busy
  allow_defer
  data = :defer: lookup of the mailbox failed
mailboxes:
  driver = accept
  domains = exim.test : verifying.postfix.test : brokentls.exim.test
  local_parts = ann : full
  transport = file
everybody:
  driver = accept
  domains = catchall.exim.test
  transport = file

begin transports
file:
  driver = appendfile
  file = {RUN}/exim/mail/$local_part_data
  user = Debian-exim
  quota = 1K
"
    )
}
