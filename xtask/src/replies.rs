//! Figures about the reply rules: what is found by kind, language and source, and replies wrongly classified as undeliverable.
//! `docs/replies.md` has the latest figures.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Context as _, Result};
use probity_mail::classify::{DialogParties, DialogStage, Meaning, Rules, Undeliverable};
use probity_mail::smtp::reply::{Enhanced, Reply};

const RECIPIENT: &str = "joe.doe@example.net";
const PARTIES: DialogParties<'_> = DialogParties {
    recipient: RECIPIENT,
    sender: "ask@probe.example",
    helo: "mx1.probe.example",
    addresses: &[IpAddr::V4(Ipv4Addr::new(192, 0, 2, 25))],
};

/// Source of lines that name none: they were written for the table.
const WRITTEN: &str = "written for the table";

/// One line of a table.
struct Case<'a> {
    text: &'a str,
    wanted: Option<Undeliverable>,
    language: &'a str,
    source: &'a str,
    stage: DialogStage,
    provider: Option<&'a str>,
    reply: Reply,
}

#[derive(Default)]
struct Count {
    right: usize,
    other_kind: usize,
    all: usize,
}

/// Replies of one source.
#[derive(Default)]
struct OfSource {
    found: usize,
    undeliverable: usize,
    wrong: usize,
    harmless: usize,
}

/// Prints the figures of both shipped tables.
pub(crate) fn shipped() -> Result<()> {
    let data = crate::workspace().join("crates/mail/tests/data");
    figures(&data.join("replies.txt"), false)?;
    figures(&data.join("replies_unseen.txt"), false)
}

/// Prints the figures of one table, and every misread line if `shows_lines`.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn figures(file: &Path, shows_lines: bool) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut kinds: BTreeMap<String, Count> = BTreeMap::new();
    let mut languages: BTreeMap<&str, Count> = BTreeMap::new();
    let (mut harmless, mut wrong) = (0, 0);
    let mut sources: BTreeMap<&str, OfSource> = BTreeMap::new();
    for case in cases(&text)? {
        let reading = Rules::embedded().read_between(&case.reply, case.stage, case.provider, &PARTIES);
        let got = reading.meaning.makes_undeliverable();
        if shows_lines && got != case.wanted {
            println!("{:?} by {}, not {:?}: {}", reading.meaning, reading.rule, case.wanted, case.text);
        }
        let source = sources.entry(case.source).or_default();
        if case.wanted.is_some() {
            source.undeliverable += 1;
            source.found += usize::from(got.is_some());
        } else {
            source.harmless += 1;
            source.wrong += usize::from(got.is_some());
        }
        let Some(wanted) = case.wanted else {
            harmless += 1;
            wrong += usize::from(got.is_some());
            continue;
        };
        for count in [kinds.entry(format!("{wanted:?}")).or_default(), languages.entry(case.language).or_default()] {
            count.all += 1;
            count.right += usize::from(got == Some(wanted));
            count.other_kind += usize::from(got.is_some_and(|kind| kind != wanted));
        }
    }
    println!("{}: {harmless} harmless replies, {wrong} of them undeliverable", file.display());
    for (kind, count) in &kinds {
        println!("  {kind:<12} {}", told(count));
    }
    for (language, count) in &languages {
        println!("  {language:<12} {}", told(count));
    }
    for (source, OfSource { found, undeliverable, wrong, harmless }) in &sources {
        println!("  found {found:>4} of {undeliverable:>4}, wrong {wrong} of {harmless:>4}: {source}");
    }
    Ok(())
}

fn told(Count { right, other_kind, all }: &Count) -> String {
    let hundredths = right * 10_000 / (*all).max(1);
    let (whole, part) = (hundredths / 100, hundredths % 100 / 10);
    format!("{whole:>3}.{part} % of {all}, {other_kind} as another kind")
}

/// Parses the replies of a table in the format of `replies.txt`.
fn cases(text: &str) -> Result<Vec<Case<'_>>> {
    let (mut found, mut wanted, mut language) = (Vec::new(), None, "en");
    let mut source = WRITTEN;
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("# lang ") {
            language = name;
        } else if let Some(name) = line.strip_prefix("# source ") {
            source = name;
        } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            source = WRITTEN;
            wanted = Meaning::from_name(name).and_then(Meaning::makes_undeliverable);
        } else if !line.starts_with('#') {
            let case =
                case(line, wanted, language, source).with_context(|| format!("{line}: STAGE PROVIDER CODE TEXT"))?;
            found.extend(Some(case).filter(|case| case.reply.code >= 400));
        }
    }
    Ok(found)
}

fn case<'a>(line: &'a str, wanted: Option<Undeliverable>, language: &'a str, source: &'a str) -> Option<Case<'a>> {
    let text = line.split(" ## ").next()?;
    let mut words = text.splitn(4, ' ');
    let stage = match words.next()? {
        "connect" => DialogStage::Connect,
        "ehlo" => DialogStage::Ehlo,
        "starttls" => DialogStage::StartTls,
        "mail" => DialogStage::Mail,
        _ => DialogStage::Rcpt,
    };
    let provider = words.next().filter(|provider| *provider != "-");
    let code = words.next()?.get(..3)?.parse().ok()?;
    let rest = words
        .next()
        .unwrap_or_default()
        .replace("{a}", RECIPIENT)
        .replace("{ip}", "192.0.2.25")
        .replace("{us}", PARTIES.sender);
    let (first, tail) = rest.split_once(' ').unwrap_or((&rest, ""));
    let enhanced = enhanced(first);
    let said = if enhanced.is_some() { tail.to_owned() } else { rest.clone() };
    let reply = Reply { code, enhanced, text: said, nonconforming: false };
    Some(Case { text, wanted, language, source, stage, provider, reply })
}

fn enhanced(word: &str) -> Option<Enhanced> {
    let numbers: Vec<u16> = word.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [class @ (4 | 5), subject, detail] = numbers[..] else { return None };
    Some(Enhanced { class: u8::try_from(class).ok()?, subject, detail })
}
