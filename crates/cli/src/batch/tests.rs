//! The batch with an engine whose answers follow rules.

mod bench;
mod forecast;
mod golden;
mod unreadable;
#[cfg(feature = "xlsx")]
mod workbooks;

use std::collections::HashSet;
use std::fmt::Write as _;

use bench::{Bench, Fake, csv};
use probity_mail::verdict::Reason;

use super::*;
use crate::args::{Cli, Command};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_is_answered_in_its_place() {
    let bench = Bench::new("in.csv", csv(5_000).as_bytes());
    let fake = Arc::new(Fake::default());
    assert_eq!(bench.run(&fake, "in.csv", "out.csv", &[]).await.unwrap(), Exit::Done);
    let (input, output) = (bench.read("in.csv"), bench.read("out.csv"));
    assert!(output.starts_with("id,email,note,probity_status,probity_reason,probity_meta,probity_suggestion,"));
    for (before, after) in input.lines().zip(output.lines()).skip(1) {
        let added = after.strip_prefix(before).expect("the row begins with its own columns");
        let expected =
            if before.contains("none") { ",undeliverable,nonexistent,smtp_550,," } else { ",passed,valid,," };
        assert!(added.starts_with(expected), "{after}");
        assert_eq!(added.contains("right@x.org"), before.contains("sug"), "{after}");
    }
    assert_eq!(input.lines().count(), output.lines().count());
    assert!(!Path::new(&bench.path("out.csv.probity-work")).exists());
    assert!(!Path::new(&bench.path("out.csv.part")).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_are_asked_once_and_answered_everywhere() {
    let bench = Bench::new("in.txt", b"none@x.org\nNONE@X.org\n\nok@x.org\nnone@x.org");
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.txt", "out.csv", &[]).await.unwrap();
    assert_eq!(fake.asked(), 2);
    let output = bench.read("out.csv");
    assert_eq!(output.matches("nonexistent").count(), 3);
    assert_eq!(output.lines().count(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_before_addresses_are_repeated_and_not_asked() {
    let lines = ["A <ok@x.org>", "\"B, C\" <OK@X.org>", "<none@x.org>;", "ok@x.org, D <none@x.org>", "<<<>>>"];
    let quoted = |line: &str| format!("\"{}\"", line.replace('"', "\"\""));
    let csv: Vec<String> = lines.iter().map(|line| format!("1;{}\r\n", quoted(line))).collect();
    let json: Vec<String> = lines.iter().map(|line| format!("{}\n", serde_json::json!({ "email": line }))).collect();
    let files = [
        ("in.txt", lines.join("\n")),
        ("in.csv", format!("n;Kontakt\r\n{}", csv.concat())),
        ("in.jsonl", json.concat()),
    ];
    for (name, content) in files {
        let bench = Bench::new(name, content.as_bytes());
        let fake = Arc::new(Fake::default());
        let out = name.replace("in", "out");
        bench.run(&fake, name, &out, &[]).await.unwrap();
        let asked: HashSet<String> = fake.asked.lock().unwrap().keys().cloned().collect();
        assert!(asked.contains("ok@x.org") && asked.contains("none@x.org") && asked.len() == 3, "{name}: {asked:?}");
        let output = bench.read(&out);
        let rows: Vec<&str> = output.lines().skip(usize::from(name == "in.csv")).collect();
        let begins = content.lines().skip(usize::from(name == "in.csv")).map(|line| line.trim_end_matches('}'));
        for ((row, begin), reason) in rows.iter().zip(begins).zip(["valid", "valid", "nonexistent"]) {
            assert!(row.starts_with(begin) && row.contains(reason), "{name}: {row}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_anywhere_loses_nothing_and_asks_nothing_again() {
    let bench = Bench::new("in.csv", csv(3_000).as_bytes());
    let whole = Arc::new(Fake::default());
    bench.run(&whole, "in.csv", "expected.csv", &[]).await.unwrap();
    for after in [1, 500, 1_400] {
        let asked_before = bench.crash(after, "in.csv", "out.csv").await;
        let fake = Arc::new(Fake::default());
        bench.run(&fake, "in.csv", "out.csv", &[]).await.unwrap();
        assert_eq!(bench.read("out.csv"), bench.read("expected.csv"), "{after}");
        // Only deferred rows are verified again.
        let again = fake.asked.lock().unwrap().keys().filter(|email| !email.starts_with("later")).count();
        let first = whole.asked.lock().unwrap().keys().filter(|email| !email.starts_with("later")).count();
        assert!(again <= first && again + asked_before >= first, "{again} {asked_before} {first}");
        assert!(again < first || after == 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_or_damaged_end_is_cut_and_asked_again() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    bench.run(&Arc::new(Fake::default()), "in.csv", "expected.csv", &[]).await.unwrap();
    bench.crash(200, "in.csv", "out.csv").await;
    let work = bench.path("out.csv.probity-work");
    let kept = std::fs::read(&work).unwrap();
    for lost in [1, 7, 8, 9, 40, 333] {
        for flip in [false, true] {
            let mut torn = kept.clone();
            if flip {
                let at = torn.len() - lost;
                torn[at] ^= 0x40;
            } else {
                torn.truncate(kept.len() - lost);
            }
            std::fs::write(&work, torn).unwrap();
            bench.run(&Arc::new(Fake::default()), "in.csv", "out.csv", &[]).await.unwrap();
            assert_eq!(bench.read("out.csv"), bench.read("expected.csv"), "{lost} {flip}");
        }
    }
    // An interrupted import starts again.
    std::fs::write(&work, &kept[..300]).unwrap();
    bench.run(&Arc::new(Fake::default()), "in.csv", "out.csv", &[]).await.unwrap();
    assert_eq!(bench.read("out.csv"), bench.read("expected.csv"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_input_or_other_settings_are_refused() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    bench.crash(100, "in.csv", "out.csv").await;
    let fake = Arc::new(Fake::default());
    let refusal = |error: anyhow::Error| format!("{error:#}");
    let offline = bench.run(&fake, "in.csv", "out.csv", &["--offline"]).await.unwrap_err();
    assert!(refusal(offline).contains("--offline"));
    let column = bench.run(&fake, "in.csv", "out.csv", &["--column", "2"]).await.unwrap_err();
    assert!(refusal(column).contains("--column"));
    std::fs::write(bench.path("in.csv"), csv(600).replacen("ok", "no", 1)).unwrap();
    let changed = bench.run(&fake, "in.csv", "out.csv", &[]).await.unwrap_err();
    assert!(refusal(changed).contains("different content"));
    std::fs::write(bench.path("in.csv"), csv(601)).unwrap();
    let grown = bench.run(&fake, "in.csv", "out.csv", &[]).await.unwrap_err();
    assert!(refusal(grown).contains("bytes"));
    assert_eq!(fake.asked(), 0);
    bench.run(&fake, "in.csv", "out.csv", &["--fresh"]).await.unwrap();
    assert_eq!(bench.read("out.csv").lines().count(), 602);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_file_alone_is_enough_to_continue() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    bench.crash(100, "in.csv", "out.csv").await;
    std::fs::remove_file(bench.path("in.csv")).unwrap();
    let work = bench.path("out.csv.probity-work");
    let words = ["probity", "batch", "--resume", &work, "--quiet"];
    let Command::Batch(args) = Cli::parse_line(words).unwrap().command else { unreachable!("it says batch") };
    run(&args, Arc::new(Fake::default())).await.unwrap();
    assert_eq!(bench.read("out.csv").lines().count(), 601);
}

/// An earlier version that did not trim invisible characters has refused the first row. The second one is verified.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_an_older_work_file_inherit_no_refusal() {
    let bench = Bench::new("in.txt", "\u{200b}ok@x.org\nok@x.org\n".as_bytes());
    let mut request = BatchRequest::of(&bench.args("in.txt", "out.csv", &[])).unwrap();
    let header = request.begun.as_mut().unwrap();
    let mut older = serde_json::to_value(&*header).unwrap();
    assert_eq!(older.as_object_mut().unwrap().remove("trims"), Some(true.into()));
    *header = serde_json::from_value(older).unwrap();
    let (mut work, _) = load(&request, &AtomicBool::new(false)).unwrap();
    let form = answer::DomainForm::Absent;
    let refused =
        answer::StoredAnswer { row: 0, reason: Reason::Invalid, flags: 0, meta: "", suggestion: "", form, domain: "" };
    work.answer(&refused).unwrap();
    work.sync().unwrap();
    drop(work);
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.txt", "out.csv", &[]).await.unwrap();
    assert_eq!(fake.asked(), 1, "only the second row is asked");
    let output = bench.read("out.csv");
    for (row, reason) in output.lines().skip(1).zip(["undeliverable,invalid", "passed,valid"]) {
        assert!(row.contains(reason), "{output}");
    }
}

/// An earlier version that did not read names has refused the first row. The second one keeps its own verdict, although both now
/// have the same mailbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_an_older_work_file_keep_their_own_verdicts() {
    let bench = Bench::new("in.txt", b"A <ok@x.org>\nok@x.org\nB <ok@x.org>\n");
    let mut request = BatchRequest::of(&bench.args("in.txt", "out.csv", &[])).unwrap();
    let header = request.begun.as_mut().unwrap();
    let mut older = serde_json::to_value(&*header).unwrap();
    assert_eq!(older.as_object_mut().unwrap().remove("names"), Some(true.into()));
    *header = serde_json::from_value(older).unwrap();
    let (mut work, _) = load(&request, &AtomicBool::new(false)).unwrap();
    for (row, reason) in [(0, Reason::Invalid), (1, Reason::Valid)] {
        let form = answer::DomainForm::Absent;
        let answer = answer::StoredAnswer { row, reason, flags: 0, meta: "", suggestion: "", form, domain: "" };
        work.answer(&answer).unwrap();
    }
    work.sync().unwrap();
    drop(work);
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.txt", "out.csv", &[]).await.unwrap();
    assert_eq!(fake.asked(), 1, "only the third row is asked");
    let output = bench.read("out.csv");
    for (row, reason) in output.lines().skip(1).zip(["undeliverable,invalid", "passed,valid", "passed,valid"]) {
        assert!(row.contains(reason), "{output}");
    }
    assert_eq!(output.lines().count(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_finished_with_what_is_known() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    let nothing = bench.run(&Arc::new(Fake::default()), "in.csv", "out.csv", &["--finish"]).await.unwrap_err();
    assert!(nothing.to_string().contains("no work file"), "{nothing}");
    bench.crash(100, "in.csv", "out.csv").await;
    let fake = Arc::new(Fake::default());
    assert_eq!(bench.run(&fake, "in.csv", "out.csv", &["--finish"]).await.unwrap(), Exit::Done);
    assert_eq!(fake.asked(), 0, "nobody is asked");
    let (input, output) = (bench.read("in.csv"), bench.read("out.csv"));
    let (mut known, mut deferred, mut open) = (0, 0, 0);
    for (before, after) in input.lines().zip(output.lines()).skip(1) {
        let added = after.strip_prefix(before).expect("the row begins with its own columns");
        let first = before.contains("later");
        known += usize::from(added.starts_with(",passed,valid,") || added.starts_with(",undeliverable,nonexistent,"));
        deferred += usize::from(added.starts_with(",unknown,unverified,deferred,"));
        open += usize::from(added.starts_with(",unknown,unverified,not_asked,"));
        assert!(!first || added.starts_with(",unknown,"), "{after}");
        assert!(added.contains(",d") && added.contains(".org"), "the domain is known: {after}");
    }
    assert_eq!(known + deferred + open, 600, "{known} {deferred} {open}");
    assert!(known > 0 && deferred > 0 && open > 0, "{known} {deferred} {open}");
    assert!(!Path::new(&bench.path("out.csv.probity-work")).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn domains_stand_together_in_calls() {
    let bench = Bench::new("in.csv", csv(5_000).as_bytes());
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.csv", "out.csv", &[]).await.unwrap();
    for call in fake.calls.lock().unwrap().iter() {
        assert!(call.len() <= order::CALL_MAX as usize);
        let domains: Vec<&str> = call.iter().filter_map(|email| email.rsplit('@').next()).collect();
        let runs = domains.chunk_by(|a, b| a == b).count();
        let different: HashSet<&str> = domains.iter().copied().collect();
        assert!(runs == different.len() || call.iter().all(|email| email.starts_with("later")), "{domains:?}");
    }
}

/// Makes several times as many calls as there are slots, each with one address that is answered last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_address_in_every_call_does_not_stop_the_others() {
    let calls = 80;
    let mut text = String::new();
    for call in 0..calls {
        writeln!(text, "stuck@d{call}.org\nlater@d{call}.org").unwrap();
        (2..order::CALL_MAX).for_each(|n| writeln!(text, "ok{n}@d{call}.org").unwrap());
    }
    let bench = Bench::new("in.txt", text.as_bytes());
    let others = calls * (order::CALL_MAX as usize - 1);
    let fake = Arc::new(Fake { stuck_until: others, ..Fake::default() });
    let running = bench.run(&fake, "in.txt", "out.txt", &[]);
    let ended = tokio::time::timeout(std::time::Duration::from_mins(10), running).await;
    assert_eq!(ended.expect("nothing waits for the slow addresses").unwrap(), Exit::Done);
    assert_eq!(fake.asked(), others);
    assert_eq!(bench.read("out.txt").matches("\tpassed").count(), others + calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inputs_that_cannot_be_read_leave_nothing_behind() {
    let table: &[(&str, &[u8], &[&str], &str)] = &[
        ("in.csv", b"id,name\n1,A\n2,B\n", &[], "--column"),
        ("in.csv", b"email\n\"open\n", &[], "line 2"),
        ("in.jsonl", b"\n{broken\n{\"mails\":\"a@x.org\"}\n", &[], "line 2"),
        ("in.jsonl", b"{\"mails\":\"a@x.org\"}\n", &[], "no text under \"email\""),
        ("in.jsonl", b"[{\"email\":\"a@x.org\"}]", &[], "jq"),
        ("in.txt", b"a@x.org\n", &["--column", "3"], "column"),
        ("in.csv", b"name,email\nA,a@x.org\n", &["--column", "name"], "no row has an address; set --column 2"),
        ("in.csv", b"name,email\nA,a@x.org\n", &["--column", "mails"], "there is no column \"mails\"; set --column 2."),
        ("in.csv", b"email,n\n,1\nnonsense,2\n", &[], "no row has an address. Nothing was probed yet"),
    ];
    for (name, content, more, message) in table {
        let bench = Bench::new(name, content);
        let error = bench.run(&Arc::new(Fake::default()), name, "out", more).await.unwrap_err();
        assert!(format!("{error:#}").contains(message), "{error:#}");
        assert_eq!(crate::exit::of_error(&error), Exit::Usage);
        assert!(!Path::new(&bench.path("out.probity-work")).exists());
        assert!(!Path::new(&bench.path("out")).exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_inputs_are_answered_row_by_row() {
    let table: &[(&str, &[u8], &str)] = &[
        ("a.csv", b"\xef\xbb\xbfemail;n\nok@x.org;1\n", "\u{feff}email;n;probity_status"),
        ("b.csv", b"email,n\nok@x.org\nok2@x.org,1,2\n", "ok@x.org,,,passed"),
        ("c.csv", b"name,email\nJ\xf6rg,ok@x.org\n", "Jörg,ok@x.org,passed"),
        ("d.csv", b"email,probity_status\nok@x.org,x\n", "probity_status_2"),
        ("e.jsonl", b"{\"email\":\"ok@x.org\",\"probity\":1}\n", "\"probity_2\":{\"status\":\"passed\""),
        (
            "e2.jsonl",
            b"{\"email\":\"ok@x.org\"}\n{\"email\":\"ok@x.org\",\"probity\":1,\"probity_2\":2}\n",
            "\"probity_2\":2,\"probity_3\":{\"status\":\"passed\"",
        ),
        ("f.txt", b"ok@x.org\rok2@x.org\r", "ok@x.org\tpassed\tvalid\t\t\rok2@x.org\tpassed"),
        ("g.csv", b"email\nnul\0@x.org\n", "nul\0@x.org,passed"),
        ("h.csv", b"email,n\n,1\nok@x.org,2\n", "\n,1,,,no_address,,,,,,,\nok@x.org,2,passed"),
        (
            "q.csv",
            b"n,Kontakt\n1,ok@x.org\n;\nn,Kontakt\n2,\x1a\n",
            "\nn,Kontakt,,,no_address,,,,,,,\n2,\x1a,,,no_address,",
        ),
        (
            "r.jsonl",
            b"{\"email\":null}\n{\"email\":\"ok@x.org\"}\n",
            "{\"email\":null,\"probity\":{\"status\":\"\",\"reason\":\"\",\"meta\":\"no_address\",\"suggestion\":\"\",\"domain\":\"\"}}\n",
        ),
        ("j.csv", b"sep=;\r\nemail;n\r\nok@x.org;a, b\r\n", "sep=;\r\nemail;n;probity_status"),
        ("k.csv", b"\"sep=;\"\nemail;n\nok@x.org;a, b\n", "ok@x.org;a, b;passed"),
        ("l.csv", b"n,email\n\"A,ok@x.org\nB,ok2@x.org\n", "\nA,ok@x.org,passed"),
        ("m.csv", b"n,email\n\"A \\\"B, C\\\" D\",ok@x.org\n", "\"A \\\"B, C\\\" D\",ok@x.org,passed"),
        (
            "n.csv",
            b"n,email\nA,ok@x.org\rB,ok2@x.org\n",
            "A,ok@x.org,passed,valid,,,false,false,false,false,false,x.org\rB,ok2",
        ),
        ("o.csv", b"\x8e\x81\x96\xbc|email\r\n\x83|\x83C\x83\x93\x83g|ok@x.org\r\n", "氏名|email|probity_status"),
        (
            "p.csv",
            b"ok@x.org; ok2@x.org\n",
            "ok@x.org,passed,valid,,,false,false,false,false,false,x.org\nok2@x.org,passed",
        ),
        (
            "s.csv",
            b"n,email\n1,ok@x.org ::: ok2@x.org\n2,ok@x.org\n",
            "\n1,ok@x.org ::: ok2@x.org,,,several_addresses,,,,,,,\n2,ok@x.org,passed",
        ),
        (
            "t.csv",
            b"Contacts;;\r\n;;\r\nName;Email;City\r\nA;ok@x.org;B\r\n",
            "Contacts;;\r\n;;\r\nName;Email;City;probity_status",
        ),
        (
            "u.csv",
            b"\"Name,Email\"\r\n\"A,ok@x.org\"\r\n\"\"\"B, C\"\",ok2@x.org\"\r\n",
            "x.org\r\n\"B, C\",ok2@x.org,passed",
        ),
        ("v.csv", b"email\na@\xe6\xf8.org\nok@x.org\n", ",,,unknown_encoding,,,,,,,\nok@x.org,passed"),
        ("p.txt", b"ok@x.org; ok2@x.org\n", "ok@x.org\tpassed\tvalid\t\t\nok2@x.org\tpassed"),
        ("i.csv", b"ok@x.org,1\nok2@x.org,2", "ok2@x.org,2,passed,valid,,,false,false,false,false,false,x.org"),
    ];
    for (name, content, expected) in table {
        let bench = Bench::new(name, content);
        let out = format!("out.{}", name.rsplit('.').next().unwrap());
        bench.run(&Arc::new(Fake::default()), name, &out, &[]).await.unwrap();
        let output = bench.read(&out);
        assert!(output.contains(expected), "{name}: {output:?}");
    }
    let empty = Bench::new("empty.csv", b"");
    assert_eq!(empty.run(&Arc::new(Fake::default()), "empty.csv", "out.csv", &[]).await.unwrap(), Exit::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_recipients_and_the_end_of_a_dos_text_are_read() {
    let files: [(&str, &[u8], &str); 2] = [
        (
            "w.txt",
            b"To: ok@x.org; \"B, C\" <ok2@x.org>\nok3@x.org; *ok4@x.org*\n",
            "ok@x.org\tpassed\tvalid\t\t\n\"B, C\" <ok2@x.org>\tpassed\tvalid\t\t\nok3@x.org\tpassed\tvalid\t\t\nok4@x.org\tpassed",
        ),
        ("x.csv", b"email\nok@x.org\n\x1a", "\nok@x.org,passed,valid,,,false,false,false,false,false,x.org\n\x1a"),
    ];
    for (name, content, expected) in files {
        let bench = Bench::new(name, content);
        let out = name.replace('.', "_out.");
        bench.run(&Arc::new(Fake::default()), name, &out, &[]).await.unwrap();
        assert!(bench.read(&out).contains(expected), "{}", bench.read(&out));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encoding_that_is_named_is_no_guess() {
    let bench = Bench::new("in.csv", b"email\na@\xe6\xf8.org\n");
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.csv", "out.csv", &["--encoding", "windows-1252"]).await.unwrap();
    assert!(bench.read("out.csv").contains("a@\u{e6}\u{f8}.org,passed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_and_output_must_differ() {
    let bench = Bench::new("in.csv", b"email\nok@x.org\n");
    let error = bench.run(&Arc::new(Fake::default()), "in.csv", "in.csv", &[]).await.unwrap_err();
    assert!(error.to_string().contains("both input and output"));
}
