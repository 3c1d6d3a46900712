//! JSON lines without an address.

use std::fmt::Write as _;

use super::*;

/// JSON lines, some of which are unreadable.
const TORN: &[u8] = b"{\"email\":\"ok@x.org\",\"n\":1}\r\n{\"email\":\"cut@x.org\" \xe9\n\n{\"id\":7,\"email\":5}\n\
    {\"id\":8,\"probity\":1}\n=1+\t\"1\"\n{\"email\":1e999}\n{\"email\":null}\n{\"email\":\"none@x.org\"}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_cannot_be_read_is_kept_and_answered() {
    let bench = Bench::new("in.jsonl", TORN);
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.jsonl", "out.jsonl", &[]).await.unwrap();
    assert_eq!(fake.asked.lock().unwrap().keys().collect::<Vec<_>>(), ["none@x.org", "ok@x.org"]);
    let output = bench.read("out.jsonl");
    assert!(output.starts_with("{\"email\":\"ok@x.org\",\"n\":1,\"probity_2\":{\"status\":\"passed\""), "{output}");
    assert!(output.contains("}}\r\n{") && output.contains("}}\n\n{"), "{output}");
    let lines = output.lines().filter(|line| !line.is_empty());
    let mut lines: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    for (n, original) in [(1, "{\"email\":\"cut@x.org\" é"), (4, "=1+\t\"1\""), (5, "{\"email\":1e999}")] {
        assert_eq!(lines[n]["unreadable_row"], original);
    }
    assert_eq!((&lines[2]["id"], &lines[3]["id"], &lines[3]["probity"]), (&7.into(), &8.into(), &1.into()));
    let metas: Vec<_> = lines.iter_mut().map(|line| line["probity_2"]["meta"].take()).collect();
    let unreadable = "unreadable_row";
    assert_eq!(metas, ["", unreadable, unreadable, unreadable, unreadable, unreadable, "no_address", "smtp_550"]);
    assert_eq!(lines[1]["probity_2"]["reason"], "invalid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_cannot_be_read_fits_into_every_format() {
    let bench = Bench::new("in.jsonl", TORN);
    for (name, expected) in [
        ("out.csv", "\"'=1+\t\"\"1\"\"\",undeliverable,invalid,unreadable_row,,false,false,false,false,false,\n"),
        ("out.txt", "\n=1+\\u{9}\"1\"\tundeliverable\tinvalid\tunreadable_row\t\n"),
    ] {
        bench.run(&Arc::new(Fake::default()), "in.jsonl", name, &[]).await.unwrap();
        let output = bench.read(name);
        assert!(output.contains(expected), "{output}");
        assert_eq!(output.matches("unreadable_row").count(), 5, "{output}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_that_cannot_be_read_survive_a_crash() {
    let mut rows = String::new();
    (0..400).for_each(|n| writeln!(rows, "{{\"email\":\"ok@d{n}.org\"}}\n{{broken {n}").unwrap());
    let bench = Bench::new("in.jsonl", rows.as_bytes());
    bench.run(&Arc::new(Fake::default()), "in.jsonl", "expected.jsonl", &[]).await.unwrap();
    bench.crash(100, "in.jsonl", "out.jsonl").await;
    bench.run(&Arc::new(Fake::default()), "in.jsonl", "out.jsonl", &[]).await.unwrap();
    assert_eq!(bench.read("out.jsonl"), bench.read("expected.jsonl"));
    assert_eq!(bench.read("out.jsonl").matches("unreadable_row\":\"{broken").count(), 400);
}
