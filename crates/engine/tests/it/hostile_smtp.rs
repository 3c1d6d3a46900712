//! Hostile and broken mail servers against the whole engine: one test for each way in which one can do harm. The rows are
//! those of `docs/threats.md`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use probity_engine::LiveCall;
use probity_engine::verifier::Verifier as _;
use probity_mail::policy::PaceProfile;
use probity_mailworld::{At, FaultKind, Mailboxes, Personality, Recipients, Tls, World, Zone};

use crate::evil::{Cut, Say, Script, Seen, Wrong, lab};
use crate::world::{Lab, brief};

fn site(personality: Personality) -> Arc<World> {
    let people = Mailboxes::only(&["ann", "bob"]);
    World::builder().site("one.example.com", people, personality).build().expect("a world")
}

fn open_lab(world: &Arc<World>, wrong: Wrong) -> (Lab, Arc<Seen>) {
    lab(world, wrong, |config| config.profile = PaceProfile::Open)
}

fn at_one(local: &str) -> String {
    format!("{local}@one.example.com")
}

fn dripping(byte_ms: u64) -> Personality {
    let mut personality = Personality { tls: Tls::None, ..Personality::default() };
    personality.pace.byte_ms = byte_ms;
    personality
}

/// S1
#[tokio::test(start_paused = true)]
async fn a_tarpit_holds_neither_a_live_call_nor_a_batch_beyond_its_deadline() {
    for byte_ms in [1_000, 100, 7_000] {
        let lab = Lab::open(&site(dripping(byte_ms)));
        let started = lab.engine.now();
        let said = lab.engine.verify(&at_one("ann"), LiveCall { timeout_ms: 60_000, scope: 0 }).await;
        assert_eq!(said.verdict.status().as_str(), "unknown", "{byte_ms}: {:?}", said.verdict);
        assert!(lab.engine.now().since(started) <= 21_000, "live: {} ms", lab.engine.now().since(started));
        let lab = Lab::open(&site(dripping(byte_ms)));
        let started = lab.engine.now();
        let item = probity_engine::JobAddress {
            key: 0,
            email: at_one("ann").into(),
            customer: 0,
            tries: probity_engine::PriorAttempts::default(),
        };
        lab.once(vec![item]).await;
        // Two sessions, for what gets lost is asked once more.
        assert!(lab.engine.now().since(started) <= 601_000, "batch: {} ms", lab.engine.now().since(started));
        // A goodbye may take two seconds more.
        lab.engine.wait_until(lab.engine.now() + 3_000).await;
        assert_eq!(lab.net.hosts().open, 0);
        let said = lab.batch(&[at_one("nobody")]).await;
        assert_ne!(said[0].verdict.status().as_str(), "passed", "{:?}", said[0].verdict);
    }
}

/// S2
#[tokio::test(start_paused = true)]
async fn of_an_endless_reply_little_is_read() {
    for at in [At::Banner, At::Ehlo, At::Starttls, At::Mail, At::Rcpt, At::Rset] {
        for kind in [FaultKind::Endless, FaultKind::Huge] {
            let (lab, seen) = open_lab(&site(Personality::default().with_fault(at, kind)), Wrong::default());
            let said = lab.live(&at_one("ann")).await;
            assert_eq!(said.verdict.status().as_str(), "unknown", "{at:?} {kind:?} {:?}", said.verdict);
            // A reply ends at 16 KiB, and 8 KiB are read at a time; all else of a session is a few hundred bytes.
            let per_session = seen.read.load(Ordering::SeqCst) / seen.dials();
            assert!(per_session <= 26 * 1024, "{at:?} {kind:?}: {per_session} bytes a session");
            assert_eq!(lab.net.hosts().open, 0, "{at:?} {kind:?}");
        }
    }
}

/// S5
#[tokio::test(start_paused = true)]
async fn broken_tls_is_remembered_for_the_address_and_costs_one_connection_once() {
    for tls in [Tls::ClosesHandshake, Tls::Garbage, Tls::Stalls, Tls::Injection] {
        let (lab, seen) = lab(&site(Personality { tls, ..Personality::default() }), Wrong::default(), |config| {
            config.profile = PaceProfile::Open;
            config.verdicts_max = 0;
        });
        assert_eq!(brief(&lab.live(&at_one("ann")).await), "passed/valid/", "{tls:?}");
        assert_eq!(seen.dials(), 2, "{tls:?}");
        // The warm session is gone by then.
        lab.engine.wait_until(lab.engine.now() + 60_000).await;
        assert_eq!(brief(&lab.live(&at_one("bob")).await), "passed/valid/", "{tls:?}");
        assert_eq!(seen.dials(), 3, "{tls:?}: TLS was tried again where it is known to be broken");
    }
}

/// S5
#[tokio::test(start_paused = true)]
async fn a_stripped_starttls_changes_no_verdict_and_is_counted() {
    let world = site(Personality::default());
    let lab = Lab::new(&world, 1, |config| {
        config.profile = PaceProfile::Open;
        config.verdicts_max = 0;
    });
    let said = lab.live(&at_one("ann")).await;
    assert!(said.evidence.probe.expect("a probe").tls);
    lab.engine.wait_until(lab.engine.now() + 60_000).await;
    lab.net.retune("mx.one.example.com", Personality { tls: Tls::None, ..Personality::default() });
    let said = lab.live(&at_one("ann")).await;
    assert_eq!(brief(&said), "passed/valid/");
    assert!(!said.evidence.probe.expect("a probe").tls);
    assert_eq!(lab.engine.counters().tls_downgrades, 1);
    assert_eq!(lab.engine.counters().connections, 2);
}

/// S7
#[tokio::test(start_paused = true)]
async fn no_address_can_smuggle_a_command() {
    let (lab, seen) = open_lab(&site(Personality::default()), Wrong::default());
    let attempts = [
        "ann@one.example.com\r\nDATA",
        "ann\r\nDATA\r\n@one.example.com",
        "\"a\r\nDATA\"@one.example.com",
        "ann@one.example.com>SIZE=1",
        "<@evil.example.com:ann@one.example.com>",
        "ann>\r\nVRFY bob@one.example.com",
        "\"ann> SIZE=1\"@one.example.com",
        "ann\0@one.example.com",
    ];
    for attempt in attempts {
        lab.live(attempt).await;
    }
    let written = String::from_utf8(seen.written.lock().unwrap().clone()).unwrap_or_default();
    for line in written.split("\r\n").filter(|line| !line.is_empty()) {
        let known = ["EHLO ", "MAIL FROM:<", "RCPT TO:<", "RSET", "QUIT", "STARTTLS"];
        assert!(known.iter().any(|verb| line.starts_with(verb)) && !line.contains(['\r', '\n']), "{line:?}");
    }
    let hosts = lab.net.hosts();
    assert_eq!((hosts.data, hosts.vrfy, hosts.errors), (0, 0, 0));
}

/// The people of a scripted server, and what goes wrong with its replies to one flight.
#[derive(Clone, Debug)]
struct Slip {
    /// Who of a, b and c exists.
    exist: [bool; 3],
    /// This reply of the flight comes twice, or not.
    twice: Option<usize>,
    /// What is more than was asked for comes so much later, in milliseconds.
    late_ms: u64,
    /// The connection closes after so many replies of a flight.
    closes_after: Option<usize>,
}

impl Slip {
    fn script(self) -> Script {
        Arc::new(move |lines| self.replies(lines))
    }

    fn replies(&self, lines: &[String]) -> Vec<Say> {
        let mut replies: Vec<String> = lines.iter().map(|line| self.reply(line)).collect();
        if !lines[0].starts_with("MAIL") {
            return replies.into_iter().map(Say::Text).collect();
        }
        if let Some(twice) = self.twice.filter(|twice| *twice < replies.len()) {
            replies.insert(twice, replies[twice].clone());
        }
        if let Some(closes_after) = self.closes_after {
            replies.truncate(closes_after);
            return replies.into_iter().map(Say::Text).chain([Say::Close]).collect();
        }
        let surplus = replies.split_off(lines.len());
        let due = Say::Text(replies.concat());
        if surplus.is_empty() {
            return vec![due];
        }
        if self.late_ms == 0 {
            return vec![Say::Text(replies.concat() + &surplus.concat())];
        }
        vec![due, Say::Wait(self.late_ms), Say::Text(surplus.concat())]
    }

    fn reply(&self, line: &str) -> String {
        let text = match line.split(' ').next().unwrap_or_default() {
            "" => "220 mx.one.example.com ESMTP",
            "EHLO" => "250-mx.one.example.com\r\n250 PIPELINING",
            "QUIT" => "221 Bye",
            "RCPT" => {
                let exists = ["a@", "b@", "c@"].iter().zip(self.exist).any(|(who, is)| is && line.contains(who));
                if exists { "250 2.1.5 Ok" } else { "550 5.1.1 User unknown" }
            }
            _ => "250 2.0.0 Ok",
        };
        format!("{text}\r\n")
    }

    /// Verifies the three, in one batch and alone, and compares with who exists.
    async fn check(self, random_probe: bool) {
        let (lab, _) = lab(&site(Personality::default()), self.wrong(), |config| {
            config.profile = PaceProfile::Open;
            config.verdicts_max = 0;
            let policies = format!("format = 1\n[open]\nrandom_probe = {random_probe}\n");
            config.data_files.insert("policies.toml".into(), policies);
        });
        let emails: Vec<String> = ["a", "b", "c"].map(at_one).to_vec();
        let together = lab.batch(&emails).await;
        let mut alone = Vec::new();
        for email in &emails {
            alone.push(lab.live(email).await);
        }
        for said in [together, alone] {
            for (said, exists) in said.iter().zip(self.exist) {
                let wrong = if exists { "nonexistent" } else { "valid" };
                assert_ne!(said.verdict.reason.as_str(), wrong, "{} {self:?}", said.email);
            }
        }
    }

    fn wrong(&self) -> Wrong {
        Wrong { script: Some(self.clone().script()), ..Wrong::default() }
    }
}

fn eight() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|bits: u8| [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0])
}

/// S8
#[tokio::test(start_paused = true)]
async fn two_replies_for_one_command_shift_no_verdict_to_another_address() {
    for exist in eight() {
        for twice in (0..5).map(Some).chain([None]) {
            for late_ms in [0, 1, 40, 1_500] {
                for random_probe in [true, false] {
                    Slip { exist, twice, late_ms, closes_after: None }.check(random_probe).await;
                }
            }
        }
    }
}

/// A server of `one.example.com` that knows a, b and c.
#[derive(Clone, Copy, Debug)]
struct Echo {
    pipelining: bool,
    /// Whether a refusal says whom it is about.
    named: bool,
    /// Whether QUIT is answered.
    polite: bool,
}

impl Echo {
    /// With `late` it says the last refusal of a session once more when the next recipient is asked about.
    fn script(self, late: bool) -> Script {
        let (last, due) = (Mutex::new(None::<String>), Mutex::new(None::<String>));
        Arc::new(move |lines| {
            let (mut said, mut wait) = (Vec::new(), false);
            for line in lines {
                if line.starts_with("EHLO") {
                    (*last.lock().unwrap(), *due.lock().unwrap()) = (None, None);
                }
                if line.starts_with("RCPT")
                    && let Some(surplus) = due.lock().unwrap().take()
                {
                    said.push(Say::Text(surplus));
                    wait = true;
                }
                if line.starts_with("RSET") && late {
                    *due.lock().unwrap() = last.lock().unwrap().take();
                }
                if line == "QUIT" && !self.polite {
                    return vec![Say::Close];
                }
                let reply = self.reply(line);
                if reply.starts_with("550") {
                    *last.lock().unwrap() = Some(reply.clone());
                }
                // What is due comes so late that the surplus has been taken for it.
                said.extend(wait.then_some(Say::Wait(20)));
                said.push(Say::Text(reply));
            }
            said
        })
    }

    fn reply(self, line: &str) -> String {
        let text = match line.split(' ').next().unwrap_or_default() {
            "" => "220 mx.one.example.com ESMTP",
            "EHLO" if self.pipelining => "250-mx.one.example.com\r\n250 PIPELINING",
            "QUIT" => "221 Bye",
            "RCPT" if !["<a@", "<b@", "<c@"].iter().any(|known| line.contains(known)) => {
                let path = line.trim_start_matches("RCPT TO:");
                let whom = if self.named { format!("{path}: ") } else { String::new() };
                return format!("550 5.1.1 {whom}User unknown\r\n");
            }
            _ => "250 2.0.0 Ok",
        };
        format!("{text}\r\n")
    }

    fn lab(self, late: bool) -> (Lab, Arc<Seen>) {
        let wrong = Wrong { script: Some(self.script(late)), ..Wrong::default() };
        lab(&site(Personality::default()), wrong, |config| {
            config.profile = PaceProfile::Open;
            config.verdicts_max = 0;
        })
    }
}

fn each_echo() -> impl Iterator<Item = Echo> {
    (0..8).map(|bits: u8| Echo { pipelining: bits & 1 > 0, named: bits & 2 > 0, polite: bits & 4 > 0 })
}

/// S8: on a session that is kept warm the late reply belongs to another call.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_comes_a_second_time_in_the_next_call_refuses_nobody_else() {
    for echo in each_echo() {
        let (lab, _) = echo.lab(true);
        for local in ["nobody", "a", "somebody", "b", "c", "anybody", "a"] {
            let said = lab.live(&at_one(local)).await.verdict.reason;
            let wrong = if local.len() == 1 { "nonexistent" } else { "valid" };
            assert_ne!(said.as_str(), wrong, "{local} {echo:?}");
        }
        let (lab, _) = echo.lab(true);
        let emails = ["nobody", "a", "somebody", "b", "c", "anybody"].map(at_one);
        for said in lab.batch(&emails).await {
            let wrong = if said.email.starts_with(['b', 'c']) || said.email.starts_with("a@") {
                "nonexistent"
            } else {
                "valid"
            };
            assert_ne!(said.verdict.reason.as_str(), wrong, "{} {echo:?}", said.email);
        }
    }
}

/// S8: who counts right is believed, and where its refusals say whom they are about nothing more is waited for.
#[tokio::test(start_paused = true)]
async fn a_server_that_counts_right_is_believed_in_each_call() {
    for echo in each_echo() {
        let (lab, seen) = echo.lab(false);
        for local in ["nobody", "a", "somebody", "b", "anybody", "c"] {
            let right = if local.len() == 1 { "valid" } else { "nonexistent" };
            assert_eq!(lab.live(&at_one(local)).await.verdict.reason.as_str(), right, "{local} {echo:?}");
        }
        if echo.named {
            let (dials, waits) = (seen.dials(), lab.engine.counters().waits);
            // Banner and greeting; then a round trip for each call, or one for each command.
            let flights = if echo.pipelining { 6 } else { 4 + 5 * 3 };
            assert_eq!((dials, waits), (1, 2 + flights), "{echo:?}");
        }
    }
}

/// S8
#[tokio::test(start_paused = true)]
async fn a_connection_that_closes_within_a_flight_shifts_no_verdict_either() {
    for exist in eight() {
        for twice in (0..5).map(Some).chain([None]) {
            for closes_after in 0..7 {
                for random_probe in [true, false] {
                    Slip { exist, twice, late_ms: 0, closes_after: Some(closes_after) }.check(random_probe).await;
                }
            }
        }
    }
}

/// S8
#[tokio::test(start_paused = true)]
async fn a_server_that_counts_right_loses_nothing_by_our_doubts() {
    for exist in eight() {
        let slip = Slip { exist, twice: None, late_ms: 0, closes_after: None };
        let (lab, seen) = open_lab(&site(Personality::default()), slip.wrong());
        let emails: Vec<String> = ["a", "b", "c"].map(at_one).to_vec();
        let said = lab.batch(&emails).await;
        for (said, exists) in said.iter().zip(exist) {
            let right = if exists { "valid" } else { "nonexistent" };
            assert_eq!(said.verdict.reason.as_str(), right);
        }
        assert_eq!((seen.dials(), lab.engine.counters().rcpts), (1, 4));
    }
}

/// S9
#[tokio::test(start_paused = true)]
async fn a_servers_words_come_out_printable_short_and_without_addresses() {
    let words = "550 5.1.1 <script>alert(1)</script> \u{1b}[31mred\u{1b}[0m\u{7}\u{8} \u{202e}gnp <ann@one.example.com> \
                 no, 198.51.100.7 [2001:DB8::7] probe@example.org ";
    let text = format!("{words}{}", "x".repeat(900));
    let said_by = Personality::default().refusing(At::Rcpt, &text);
    let lab = Lab::new(&site(said_by), 1, |config| {
        config.profile = PaceProfile::Open;
        let second = probity_engine::net::ProbeSource {
            public: Some("2001:db8::7".parse().expect("an address")),
            ..(*config.sources[0]).clone()
        };
        config.sources.push(Arc::new(second));
    });
    let said = lab.live(&at_one("nobody")).await;
    let text = said.evidence.probe.expect("a probe").text;
    assert!(text.len() <= 512, "{} bytes", text.len());
    assert!(text.contains("<script>"), "the words themselves are evidence: {text}");
    assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
    for private in ["198.51.100.7", "2001:DB8::7", "ann@", "probe@", "example.org"] {
        assert!(!text.contains(private), "{private} in {text}");
    }
    let elsewhere = format!("{} {} {}", said.verdict.reason, said.verdict.meta, said.verdict.rule);
    assert!(!elsewhere.contains(['<', '\u{1b}']), "{elsewhere}");
}

/// S10
#[tokio::test(start_paused = true)]
async fn a_server_that_answers_at_random_leaves_no_lasting_fact() {
    const SHORT_MS: i64 = 2 * 3_600_000;
    for seed in 0..40 {
        let world = site(Personality { recipients: Recipients::FlipFlop, ..Personality::default() });
        let lab = Lab::new(&world, seed, |config| config.profile = PaceProfile::Open);
        let emails: Vec<String> = (0..60).map(|n| at_one(&format!("user{n}"))).collect();
        let said = lab.batch(&emails).await;
        let missing = said.iter().filter(|said| said.verdict.reason.as_str() == "nonexistent").count();
        assert!(missing > 0 && missing < said.len(), "seed {seed}: {missing} missing");
        // Whatever was believed about the domain, the misses contradict that it takes everybody.
        let before = lab.engine.counters().random_rcpts;
        let said = lab.live(&at_one("new")).await;
        let believed = said.verdict.reason.as_str() == "accept_all" && lab.engine.counters().random_rcpts == before;
        assert!(!believed, "seed {seed}: a catch-all by an old fact that misses contradict");
        // A verdict that contradicts the one before is kept for the short time only.
        let first = lab.live(&at_one("kept")).await.verdict.reason;
        lab.engine.wait_until(lab.engine.now() + 25 * 3_600_000).await;
        let second = lab.live(&at_one("kept")).await.verdict.reason;
        lab.engine.wait_until(lab.engine.now() + SHORT_MS + 1).await;
        let third = lab.live(&at_one("kept")).await;
        // What could not be found out is no verdict that another could contradict.
        if first != second && first.as_str() != "unverified" {
            assert_eq!(third.evidence.source.name(), Some("smtp"), "seed {seed}: {first} then {second}");
        }
    }
}

/// S11
#[tokio::test(start_paused = true)]
async fn a_connection_cut_after_any_byte_gives_the_same_verdict_or_none() {
    for tls in [Tls::None, Tls::Offered] {
        for (locals, live) in [(&["ann"][..], true), (&["nobody"][..], true), (&["ann", "nobody", "bob"][..], false)] {
            let emails: Vec<String> = locals.iter().map(|local| at_one(local)).collect();
            let world = site(Personality { tls, ..Personality::default() });
            let (whole, length) = cut_run(&world, &emails, live, None).await;
            assert!(whole.iter().all(|said| !said.starts_with("unknown")), "{whole:?}");
            // Of a handshake's thousands of bytes not each one is a case of its own.
            for after in (0..=length + 8).step_by(if tls == Tls::None { 1 } else { 53 }) {
                for (connections, reset) in [(1, false), (u64::MAX, false), (u64::MAX, true)] {
                    let cut = Cut { after: usize::try_from(after).expect("small"), connections, reset };
                    let (said, _) = cut_run(&world, &emails, live, Some(cut)).await;
                    for (said, whole) in said.iter().zip(&whole) {
                        assert!(
                            said == whole || said.starts_with("unknown/unverified/"),
                            "{cut:?}: {said}, not {whole}"
                        );
                    }
                }
            }
        }
    }
}

/// The verdicts, and how many bytes were read.
async fn cut_run(world: &Arc<World>, emails: &[String], live: bool, cut: Option<Cut>) -> (Vec<String>, u64) {
    let (lab, seen) = open_lab(world, Wrong { cut, ..Wrong::default() });
    let said = if live { vec![lab.live(&emails[0]).await] } else { lab.batch(emails).await };
    (said.iter().map(brief).collect(), seen.read.load(Ordering::SeqCst))
}

/// S11
#[tokio::test(start_paused = true)]
async fn a_421_within_a_session_is_no_verdict_and_the_rest_is_asked_again() {
    let mut personality = Personality::default();
    personality.limits.rcpt_per_session = 4;
    let world = World::builder()
        .zone(
            "one.example.com",
            Zone::served_by(&["mx.one.example.com"]).with_mailboxes(Mailboxes::only(&["u1", "u7"])),
        )
        .host("mx.one.example.com", personality)
        .build()
        .expect("a world");
    let lab = Lab::open(&world);
    let emails: Vec<String> = (0..12).map(|n| at_one(&format!("u{n}"))).collect();
    for said in lab.batch(&emails).await {
        let right = if ["u1@", "u7@"].iter().any(|who| said.email.starts_with(who)) { "valid" } else { "nonexistent" };
        let reason = said.verdict.reason.as_str();
        assert!(reason == right || reason == "unverified", "{}: {reason}", said.email);
    }
    assert_eq!(lab.net.hosts().rcpt_after_421, 0);
}
