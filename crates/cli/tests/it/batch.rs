//! `probity batch` with every kind of input.

use std::fmt::Write as _;
use std::io::Write;
use std::process::Stdio;

use crate::program::{Place, Ran};

const PASSED: &str = "passed,valid";
const MISSING: &str = "undeliverable,nonexistent,smtp_550_5.1.1";

fn batch(place: &Place, args: &[&str]) -> Ran {
    place.run(&[&["batch", "--sandbox"], args].concat())
}

#[test]
fn every_kind_of_input_is_answered_in_its_own_format() {
    let csv = "id,email\n1,valid@sandbox.test\n2,nobody@sandbox.test\n";
    let utf16: Vec<u8> = std::iter::once(0xfeff_u16).chain(csv.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let table: &[(&str, &[u8], &str, &[&str])] = &[
        ("in.csv", csv.as_bytes(), "out.csv", &["1,valid@sandbox.test,passed,valid", MISSING]),
        ("in.tsv", b"id\tE-Mail\n1\tvalid@sandbox.test\n", "out.tsv", &["1\tvalid@sandbox.test\tpassed\tvalid"]),
        (
            "list",
            b"valid@sandbox.test\nnobody@sandbox.test\n",
            "out",
            &["valid@sandbox.test\tpassed\tvalid", "nonexistent"],
        ),
        ("in.txt", b"valid@sandbox.test\n", "out.csv", &["email,probity_status", "valid@sandbox.test,passed"]),
        (
            "in.jsonl",
            b"{\"email\":\"valid@sandbox.test\",\"n\":1}\n",
            "out.jsonl",
            &["{\"email\":\"valid@sandbox.test\",\"n\":1,\"probity\":{\"status\":\"passed\""],
        ),
        ("utf16.csv", &utf16, "out.csv", &["\u{feff}id,email,probity_status", PASSED]),
        (
            "latin1.csv",
            b"name;email\nJ\xf6rg;valid@sandbox.test\n",
            "out.csv",
            &["J\u{f6}rg;valid@sandbox.test;passed"],
        ),
        (
            "in.csv",
            b"a,b\nvalid@sandbox.test,nobody@sandbox.test\n",
            "out.jsonl",
            &["\"a\":\"valid@sandbox.test\"", "\"passed\""],
        ),
    ];
    for (input, content, output, expected) in table {
        let place = Place::with(input, content);
        let ran = batch(&place, &[input, "-o", output]);
        assert_eq!(ran.code, Some(0), "{input}: {}", ran.err);
        let written = place.read(output);
        for part in *expected {
            assert!(written.contains(part), "{input}: {written}");
        }
        assert!(!place.has(&format!("{output}.probity-work")) && !place.has(&format!("{output}.part")));
    }
}

#[test]
fn a_header_of_ten_thousand_columns_is_read_whole() {
    let names: Vec<String> = (0..10_000).map(|n| format!("some column {n:06}")).collect();
    let csv = format!("{},email\n{}valid@sandbox.test\n", names.join(","), ",".repeat(10_000));
    let place = Place::with("in.csv", csv);
    for column in [&[][..], &["--column", "email"], &["--column", "10001"]] {
        let ran = batch(&place, &[&["in.csv", "-o", "out.csv"], column].concat());
        assert_eq!(ran.code, Some(0), "{column:?}: {}", ran.err);
        assert!(place.read("out.csv").contains("valid@sandbox.test,passed,valid"));
    }
}

#[test]
fn assumptions_are_said() {
    let place = Place::with("in.csv", b"name;email\nJ\xf6rg;valid@sandbox.test\nA;b;c\n");
    let ran = batch(&place, &["in.csv", "-o", "out.csv"]);
    assert!(ran.err.contains("Windows-1252") && ran.err.contains("line 2"), "{}", ran.err);
    assert!(ran.err.contains("differs in the number of fields") && ran.err.contains("line 3"), "{}", ran.err);
}

#[test]
fn standard_input_and_output_work() {
    let place = Place::new();
    let ran = place.feed(&["batch", "--sandbox", "--quiet", "-"], b"email\nvalid@sandbox.test\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("valid@sandbox.test,passed,valid"));
    assert!(ran.err.is_empty());
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    let place = Place::with("in.csv", "email\nvalid@sandbox.test\n");
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let code = |args: &[&str]| place.command(args).stderr(full()).status().unwrap().code();
    assert_eq!(code(&["batch", "--sandbox", "in.csv", "-o", "out.csv"]), Some(0));
    assert!(place.read("out.csv").contains("passed,valid"));
    assert_eq!(code(&["batch", "--sandbox", "missing.csv"]), Some(2));
    assert_eq!(code(&["verify", "--sandbox", "valid@sandbox.test", "-vvv"]), Some(0));
}

#[test]
fn an_output_that_is_a_link_stays_one() {
    let place = Place::with("in.txt", "valid@sandbox.test\n");
    std::fs::create_dir(place.path("results")).unwrap();
    place.write("results/real.txt", "old");
    std::os::unix::fs::symlink("results/real.txt", place.path("out.txt")).unwrap();
    let ran = batch(&place, &["in.txt", "-o", "out.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::symlink_metadata(place.path("out.txt")).unwrap().is_symlink());
    assert!(place.read("results/real.txt").contains("passed"));
}

#[test]
fn the_summary_counts_rows_and_duplicates() {
    let place = Place::with("in.txt", "valid@sandbox.test\nVALID@Sandbox.Test\nnobody@sandbox.test\nnonsense\n");
    let ran = batch(&place, &["in.txt", "-o", "out.csv", "--json-summary", "--quiet"]);
    let summary: serde_json::Value = serde_json::from_str(ran.err.trim()).unwrap();
    assert_eq!(summary["rows"], 4);
    assert_eq!(summary["duplicates"], 1);
    assert_eq!(summary["statuses"], serde_json::json!({"passed": 2, "undeliverable": 2, "risky": 0, "unknown": 0}));
    assert_eq!(summary["reasons"]["invalid"], 1);
}

#[test]
fn the_summary_counts_lines_that_could_not_be_read() {
    let place = Place::with("in.jsonl", "{\"email\":\"valid@sandbox.test\"}\n\nnonsense\n{\"id\":1}\n");
    let ran = batch(&place, &["in.jsonl", "-o", "out.jsonl", "--json-summary", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary: serde_json::Value = serde_json::from_str(ran.err.trim()).unwrap();
    assert_eq!(
        (&summary["rows"], &summary["unreadable"], &summary["reasons"]["invalid"]),
        (&3.into(), &2.into(), &2.into())
    );
    let warning = summary["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("2 lines could not be read") && warning.contains("line 3"), "{warning}");
}

#[test]
fn bad_inputs_are_refused_before_anything_is_asked() {
    let table: &[(&str, &[u8], &str)] = &[
        ("in.csv", b"id,name\n1,A\n", "--column"),
        ("in.csv", b"email\n\"never closed\n", "line 2"),
        ("in.jsonl", b"\n{broken\n[]\n", "line 2"),
        ("in.jsonl", b"[1]", "jq"),
    ];
    for (name, content, message) in table {
        let place = Place::with(name, content);
        let ran = batch(&place, &[name, "-o", "out"]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.err.contains(message), "{name}: {}", ran.err);
        assert!(!place.has("out") && !place.has("out.part") && !place.has("out.probity-work"));
    }
    let place = Place::new();
    let ran = batch(&place, &["missing.csv", "-o", "out.csv"]);
    assert!(ran.code == Some(2) && ran.err.contains("missing.csv"), "{}", ran.err);
    assert!(batch(&place, &[".", "-o", "out.csv"]).err.contains("directory"));
}

/// An endless line must neither fill the memory nor block.
#[test]
fn an_endless_line_ends_in_an_error_and_not_in_memory() {
    let place = Place::new();
    let mut child = place
        .command(&["batch", "--sandbox", "-", "-o", "out.csv"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let block = vec![b'x'; 1 << 20];
    let sent = (0..64).take_while(|_| stdin.write_all(&block).is_ok()).count();
    drop(stdin);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("line 1 is too long"), "{}", ran.err);
    assert!(sent < 64, "the program read on after the limit");
}

/// Returns the peak memory of a run, in kilobytes.
fn peak_kb(rows: usize) -> u64 {
    let place = Place::new();
    let mut text = String::from("email\n");
    for n in 0..rows {
        writeln!(text, "user{n}@example{}.com", n / 50).unwrap();
    }
    place.write("in.csv", text);
    let mut child = place
        .command(&["batch", "--offline", "--quiet", "in.csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, mut lines, mut piece) = (0, 0, vec![0; 64 * 1024]);
    // The pipe holds less than one write of the program, so the reading before the last piece follows all of its work.
    loop {
        peak = peak_of(&std::fs::read_to_string(&status).unwrap()).unwrap_or(peak);
        let read = std::io::Read::read(&mut out, &mut piece).unwrap();
        if read == 0 {
            break;
        }
        lines += piece[..read].split(|byte| *byte == b'\n').count() - 1;
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(lines, rows + 1);
    peak
}

/// Returns the peak from `/proc/PID/status` without the pages of the program's file, which dominate in a debug build; `None` if the
/// program has ended.
fn peak_of(status: &str) -> Option<u64> {
    let kilobytes = |name: &str| -> Option<u64> {
        let text = status.lines().find_map(|line| line.strip_prefix(name))?;
        text.trim().trim_end_matches(" kB").parse().ok()
    };
    Some(kilobytes("VmHWM:")?.saturating_sub(kilobytes("RssFile:")?))
}

/// The smaller list exceeds the work in flight, and both fill the same part of tables that grow by doubling. At the peak, a row
/// costs about 60 bytes, plus up to 150 for answers waiting for the writer. A leaked answer would cost 300 more.
#[test]
#[ignore = "thorough"]
fn memory_grows_by_a_few_bytes_for_each_row() {
    let (few, many) = (peak_kb(30_000), peak_kb(120_000));
    let per_row = many.saturating_sub(few) * 1024 / 90_000;
    assert!(per_row < 300, "{few} kB, {many} kB: {per_row} bytes a row");
    assert!(few < 48 * 1024, "{few} kB");
}
