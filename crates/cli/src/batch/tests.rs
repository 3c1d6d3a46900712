//! The batch with an engine that answers by rule.

mod unreadable;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::AtomicI64;

use clap::Parser;
use probity_engine::net::BoxFuture;
use probity_engine::{Counters, Item, Live, Outcome, Sink, Tries};
use probity_mail::time::Millis;
use probity_mail::verdict::{Evidence, Finding, Flags, Reason, Verdict, Verification};

use super::*;
use crate::args::{Cli, Command};

/// Answers by the local part: `none...` does not exist, `later...` is deferred twice, `stuck...` is answered once `stuck_until`
/// other addresses were verified, everything else is valid.
#[derive(Default)]
struct Fake {
    asked: Mutex<BTreeMap<String, u32>>,
    calls: Mutex<Vec<Vec<String>>>,
    clock: AtomicI64,
    /// Number of answers after which the engine falls silent.
    silent_after: Option<usize>,
    stuck_until: usize,
    unstuck: watch::Sender<bool>,
    counters: Counters,
}

impl Fake {
    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn verdict(email: &str) -> Verification {
        let missing = Finding { reason: Reason::Nonexistent, meta: "smtp_550".into(), rule: "fake".into() };
        let findings = if email.starts_with("none") { vec![missing] } else { vec![] };
        Verification {
            email: email.into(),
            domain: email.rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase().into(),
            verdict: Verdict::of(findings, &"fake".into()),
            flags: Flags::default(),
            gibberish_score: 0.0,
            suggestion: email.starts_with("sug").then(|| "right@x.org".to_owned()),
            evidence: Evidence::default(),
        }
    }

    fn outcome(&self, item: &Item) -> Option<Outcome> {
        let mut asked = self.asked.lock().unwrap();
        if self.silent_after.is_some_and(|most| asked.len() >= most) {
            return None;
        }
        *asked.entry(item.email.to_string()).or_default() += 1;
        if asked.len() == self.stuck_until {
            self.unstuck.send_replace(true);
        }
        if item.email.starts_with("later") && item.tries.count < 2 {
            let tries = Tries { count: item.tries.count + 1, since: Some(Millis(1)), source: Some("192.0.2.1".into()) };
            return Some(Outcome::PutOff { not_before: self.now() + 60_000, tries, why: "greylisted", held: None });
        }
        Some(Outcome::Settled(Self::verdict(&item.email)))
    }
}

impl Verifier for Fake {
    fn verify<'a>(&'a self, email: &'a str, _: Live) -> BoxFuture<'a, Verification> {
        Box::pin(async { Self::verdict(email) })
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(items.iter().map(|item| item.email.to_string()).collect());
            let (stuck, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.email.starts_with("stuck"));
            for item in items {
                match self.outcome(&item) {
                    Some(outcome) => sink(vec![(item.key, outcome)]),
                    None => std::future::pending().await,
                }
            }
            for item in stuck {
                self.unstuck.subscribe().wait_for(|unstuck| *unstuck).await.expect("the fake has the sender");
                sink(vec![(item.key, Outcome::Settled(Self::verdict(&item.email)))]);
            }
        })
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        vec!["192.0.2.1".into()]
    }

    fn now(&self) -> Millis {
        Millis(self.clock.load(Ordering::Relaxed))
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The clock jumps straight to the awaited time, but other work runs first.
            tokio::task::yield_now().await;
            self.clock.fetch_max(at.0, Ordering::Relaxed);
        })
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn close(&self, _: u64) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new(name: &str, content: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), content).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    fn args(&self, input: &str, output: &str, more: &[&str]) -> BatchArgs {
        let (input, output) = (self.path(input), self.path(output));
        let words = ["probity", "batch", &input, "-o", &output, "--quiet"];
        match Cli::try_parse_from(words.iter().chain(more)).unwrap().command {
            Command::Batch(args) => args,
            _ => unreachable!("it says batch"),
        }
    }

    async fn run(&self, fake: &Arc<Fake>, input: &str, output: &str, more: &[&str]) -> Result<Exit> {
        run(&self.args(input, output, more), fake.clone()).await
    }

    /// Runs until the engine falls silent, then drops the run as a crash would.
    async fn crash(&self, after: usize, input: &str, output: &str) -> usize {
        let fake = Arc::new(Fake { silent_after: Some(after), ..Fake::default() });
        let args = self.args(input, output, &[]);
        let running = tokio::spawn({
            let fake = fake.clone();
            async move { run(&args, fake).await }
        });
        while fake.asked() < after {
            tokio::task::yield_now().await;
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        // The writer closes the file after storing its last event.
        let work = self.path(&format!("{output}.probity-work"));
        while WorkFile::open(Path::new(&work)).is_err() {
            tokio::task::yield_now().await;
        }
        fake.asked()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

fn csv(rows: usize) -> String {
    let mut text = "id,email,note\r\n".to_owned();
    for n in 0..rows {
        let local = match n % 7 {
            0 => "none",
            1 => "later",
            2 => "sug",
            _ => "ok",
        };
        write!(text, "{n},{local}{}@d{}.org,\"a, \"\"b\"\"\"\r\n", n / 2, n % 13).unwrap();
    }
    text
}

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
    // A torn import starts again.
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
    let Command::Batch(args) = Cli::try_parse_from(words).unwrap().command else { unreachable!("it says batch") };
    run(&args, Arc::new(Fake::default())).await.unwrap();
    assert_eq!(bench.read("out.csv").lines().count(), 601);
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

/// Makes several times as many calls as there are slots, each with an address that is answered last.
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
    let ended = tokio::time::timeout(std::time::Duration::from_mins(1), running).await;
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
        ("f.txt", b"ok@x.org\rok2@x.org\r", "ok@x.org\tpassed\tvalid\t\t\rok2@x.org\tpassed"),
        ("g.csv", b"email\nnul\0@x.org\n", "nul\0@x.org,passed"),
        ("h.csv", b"email,n\n,1\n", ",1,passed"),
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
async fn input_and_output_must_differ() {
    let bench = Bench::new("in.csv", b"email\nok@x.org\n");
    let error = bench.run(&Arc::new(Fake::default()), "in.csv", "in.csv", &[]).await.unwrap_err();
    assert!(error.to_string().contains("both input and output"));
}
