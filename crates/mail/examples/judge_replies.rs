//! Prints how a collection of replies is judged, one reply a line, for review by eye.
//!
//! The collection is a file of JSON lines with the fields `code`, `text` and, if known, `provider`; its path stands in the
//! variable `PROBITY_REPLIES`. Every reply is read as an answer to RCPT.

use std::{collections::BTreeMap, env, fs, io::Write};

use probity_mail::{
    classify::{DialogStage, Rules},
    smtp::reply::{Enhanced, Reply},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = env::var("PROBITY_REPLIES").map_err(|_| "PROBITY_REPLIES must name a file of JSON lines")?;
    let mut out = std::io::stdout().lock();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(path)?.lines().filter(|line| !line.trim().is_empty()) {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let reply = reply(field("code"), field("text"));
        let reading = Rules::embedded().read(&reply, DialogStage::Rcpt, row["provider"].as_str());
        let meaning = format!("{:?}", reading.meaning);
        writeln!(out, "{meaning:24} {:28} {}", reading.rule, field("text"))?;
        *counts.entry(meaning).or_default() += 1;
    }
    for (meaning, count) in counts {
        writeln!(out, "{count:6} {meaning}")?;
    }
    Ok(())
}

/// A reply from a code and a text that may repeat the code and the enhanced code in front.
fn reply(code: &str, text: &str) -> Reply {
    let rest = text.trim_start_matches(code).trim_start_matches(['-', ' ']);
    let (first, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    let enhanced = enhanced(first);
    let text = if enhanced.is_some() { tail } else { rest };
    Reply { code: code.parse().unwrap_or(550), enhanced, text: text.to_owned(), nonconforming: false }
}

fn enhanced(word: &str) -> Option<Enhanced> {
    let mut parts = word.split('.').map(str::parse::<u16>);
    let (class, subject, detail) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let class = u8::try_from(class).ok().filter(|class| matches!(class, 2 | 4 | 5))?;
    parts.next().is_none().then_some(Enhanced { class, subject, detail })
}
