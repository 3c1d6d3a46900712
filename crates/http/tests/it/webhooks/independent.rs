//! Checks signatures with the independent Python package `standardwebhooks`.

use std::ffi::OsStr;
use std::process::Command;

use super::delivery::header;

/// Accepts the message, and rejects any other body, ID or time.
const SCRIPT: &str = r#"
import sys
from standardwebhooks import Webhook, WebhookVerificationError
secret, id, timestamp, signature, body = sys.argv[1:]
def accepts(body, **changed):
    headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature, **changed}
    try:
        Webhook(secret).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False
assert accepts(body)
for at in range(len(body)):
    assert not accepts(body[:at] + chr(ord(body[at]) ^ 1) + body[at + 1:]), at
assert not accepts(body, **{"webhook-id": id + "x"})
assert not accepts(body, **{"webhook-timestamp": str(int(timestamp) - 1)})
"#;

/// Asserts that the package accepts this request with this secret, and no other request.
#[track_caller]
pub(crate) fn accepts(python: &OsStr, secret: &str, request: &str) {
    let fields = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| header(request, name));
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let output = Command::new(python).args(["-c", SCRIPT, secret]).args(fields).arg(body).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
