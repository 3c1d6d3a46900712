//! OpenSMTPD with virtual users and a built-in filter.

use std::net::Ipv4Addr;

use crate::chroot::{Chroot, RUN};
use crate::world::{CERTIFICATE, KEY, PORT};

/// Writes the configuration and starts OpenSMTPD.
pub(crate) fn start(chroot: &mut Chroot, address: Ipv4Addr) {
    directories(chroot);
    let path = format!("{RUN}/opensmtpd/smtpd.conf");
    chroot.write(&path, &configuration(address));
    chroot.start("opensmtpd", &["/usr/sbin/smtpd", "-d", "-f", &path]);
}

/// Creates the directories that are compiled in.
fn directories(chroot: &mut Chroot) {
    chroot.directory("/var/run", "root", "root", 0o755);
    chroot.directory("/var/empty", "root", "root", 0o755);
    chroot.directory(&format!("{RUN}/opensmtpd"), "root", "root", 0o755);
}

fn configuration(address: Ipv4Addr) -> String {
    format!(
        r#"pki "mx" cert "{CERTIFICATE}"
pki "mx" key "{KEY}"
table mailboxes {{ "ann@opensmtpd.test" = "nobody", "full@opensmtpd.test" = "nobody", "closed@opensmtpd.test" = "nobody", "ann@listed.opensmtpd.test" = "nobody", "@catchall.opensmtpd.test" = "nobody" }}
filter "full" phase rcpt-to match rcpt-to {{ "full@opensmtpd.test" }} reject "552 5.2.2 Mailbox is over quota"
filter "closed" phase rcpt-to match rcpt-to {{ "closed@opensmtpd.test" }} reject "550 5.2.1 Mailbox disabled"
listen on {address} port {PORT} hostname mx-opensmtpd.test tls pki "mx" filter {{ "full", "closed" }}
action "deliver" maildir "{RUN}/opensmtpd/mail" virtual <mailboxes>
match from any for domain "listed.opensmtpd.test" rcpt-to {{ "ann@listed.opensmtpd.test" }} action "deliver"
match from any for domain {{ "opensmtpd.test", "catchall.opensmtpd.test" }} action "deliver"
"#
    )
}
