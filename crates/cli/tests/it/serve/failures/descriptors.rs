//! A service with few file descriptors: it accepts fewer clients, and loses none of them.

use std::net::TcpStream;

use crate::serve::bench::node::{Installation, wait_for};

/// Limit of open files, low enough that a crowd of clients would exhaust it.
const FILES: u32 = 64;

#[test]
#[ignore = "thorough"]
fn clients_beyond_the_limit_of_open_files_wait_and_the_service_goes_on() {
    let installation = Installation::on_sqlite();
    let node = installation.start_with_few_files(FILES);
    let warning = wait_for("the warning", || {
        installation.log().lines().find(|line| line.contains("the limit of open files is too low")).map(str::to_owned)
    });
    assert!(warning.contains("open_files") && warning.contains(&FILES.to_string()), "{warning}");
    assert!(warning.contains("connections"), "{warning}");
    let mut client = node.client(&node.key("Test key:"));
    let mut ask = || client.get("/v1/verify?email=valid@sandbox.test").unwrap().status;
    assert_eq!(ask(), 200);
    // The kernel accepts all connections; the service accepts as many as it has capacity for.
    let crowd: Vec<_> = (0..3 * FILES).map(|_| TcpStream::connect(node.address).unwrap()).collect();
    for _ in 0..20 {
        assert_eq!(ask(), 200, "who is connected is served");
    }
    let process = node.launched.pid().as_raw_nonzero();
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    assert!(open < usize::try_from(FILES).unwrap(), "{open} files are open");
    drop(crowd);
    let mut other = node.client(&node.key("Test key:"));
    assert_eq!(other.get("/v1/verify?email=valid@sandbox.test").unwrap().status, 200);
    assert!(!installation.log().contains("cannot accept connections"), "{}", installation.log());
    node.stop();
}
