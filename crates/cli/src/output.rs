//! Terminal output: tables for people, JSON lines for programs.
//!
//! Addresses and replies are untrusted text, never written raw to a terminal: [`plain`] replaces characters that move the cursor,
//! color the line or change its direction. JSON escapes control characters itself.

pub(crate) mod printout;
pub(crate) mod table;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use anyhow::{Context as _, Result};
use probity_mail::verdict::view::VerdictView;
use probity_mail::verdict::{Status, Verification};

use crate::exit::Exit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A table, with or without colors.
    Table {
        /// Color the statuses.
        colours: bool,
    },
    /// One JSON object per line.
    Json,
}

impl Style {
    /// Chooses JSON if requested or not on a terminal; colors unless `NO_COLOR` is set (no-color.org) or the terminal has none.
    pub(crate) fn choose(json: bool) -> Self {
        if json || !std::io::stdout().is_terminal() {
            return Self::Json;
        }
        Self::Table { colours: colours_wanted() }
    }
}

/// Writes a text to standard output.
pub(crate) fn print(text: &str) -> Result<Exit> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")?;
    Ok(Exit::Done)
}

/// Reports whether a terminal accepts colors.
pub(crate) fn colours_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Width of standard output's terminal; unlimited if there is none.
pub(crate) fn columns() -> usize {
    let terminal = console::Term::stdout();
    if terminal.is_term() { usize::from(terminal.size().1).max(COLUMNS_MIN) } else { usize::MAX }
}

/// Minimum width; narrower terminals wrap lines themselves.
const COLUMNS_MIN: usize = 40;

/// Formats a head and a text in lines of at most `width` columns. Wraps between words and aligns later lines with the text.
pub(crate) fn folded(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let (mut out, mut at) = (head.to_owned(), indent);
    for (n, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if n > 0 && at + 1 + length > width {
            out.truncate(out.trim_end().len());
            let _ = write!(out, "\n{:indent$}", "");
            at = indent;
        } else if n > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Escapes everything that controls a terminal: control characters, bidirectional marks and line separators.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let steers =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if c.is_control() || steers {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Color of a status (SGR).
fn colour(status: Status) -> &'static str {
    match status {
        Status::Passed => "32",
        Status::Undeliverable => "31",
        Status::Risky => "33",
        Status::Unknown => "36",
    }
}

/// Writes verdicts in order.
pub(crate) struct Printer<W> {
    out: W,
    style: Style,
    explain: bool,
    headed: bool,
    /// Width of the terminal.
    width: usize,
    /// Width of the address column.
    addresses: usize,
}

/// Columns of a status, a reason and an ordinary note, including gaps.
const OTHER_COLUMNS: usize = 52;
/// Minimum and maximum width of the address column.
const ADDRESS_COLUMNS: std::ops::RangeInclusive<usize> = 7..=40;

impl<W: Write> Printer<W> {
    /// Creates a printer for an output of `width` columns and addresses of up to `longest` characters.
    pub(crate) fn new(out: W, style: Style, explain: bool, (width, longest): (usize, usize)) -> Self {
        // Notes of ordinary length fit beside their address.
        let most = width.saturating_sub(OTHER_COLUMNS).clamp(*ADDRESS_COLUMNS.start(), *ADDRESS_COLUMNS.end());
        let addresses = longest.clamp(*ADDRESS_COLUMNS.start(), most);
        Self { out, style, explain, headed: false, width, addresses }
    }

    pub(crate) fn print(&mut self, verification: &Verification) -> std::io::Result<()> {
        match self.style {
            Style::Json => {
                let view =
                    if self.explain { VerdictView::explained(verification) } else { VerdictView::brief(verification) };
                serde_json::to_writer(&mut self.out, &view)?;
                writeln!(self.out)?;
            }
            Style::Table { colours } => self.row(verification, colours)?,
        }
        self.out.flush()
    }

    fn row(&mut self, verification: &Verification, colours: bool) -> std::io::Result<()> {
        let addresses = self.addresses;
        if !self.headed {
            self.headed = true;
            writeln!(self.out, "{:<13}  {:<15}  {:<addresses$}  NOTES", "STATUS", "REASON", "ADDRESS")?;
        }
        let status = verification.verdict.status();
        let (on, off) = if colours { (format!("\x1b[{}m", colour(status)), "\x1b[0m") } else { (String::new(), "") };
        let email = plain(&verification.email);
        let rest = format!("  {:<15}  {email:<addresses$}", verification.verdict.reason);
        write!(self.out, "{on}{status:<13}{off}")?;
        let (notes, used) = (notes(verification), 13 + rest.chars().count());
        if notes.is_empty() {
            writeln!(self.out, "{}", rest.trim_end())?;
        } else if used + 2 + notes.chars().count() <= self.width {
            writeln!(self.out, "{rest}  {notes}")?;
        } else {
            // Notes that do not fit beside their address go below it.
            writeln!(self.out, "{}", rest.trim_end())?;
            write!(self.out, "{}", folded("    ", &notes, self.width))?;
        }
        if self.explain {
            for (name, text) in explanation(verification) {
                write!(self.out, "{}", folded(&format!("    {name:<11}  "), &text, self.width))?;
            }
        }
        Ok(())
    }
}

/// Summarizes the meta, the flags and the suggestion.
fn notes(verification: &Verification) -> String {
    let flags = &verification.flags;
    let named = [
        (flags.role, "role"),
        (flags.disposable, "disposable"),
        (flags.free, "free"),
        (flags.relay, "relay"),
        (flags.gibberish, "gibberish"),
    ];
    let mut notes: Vec<String> = Vec::new();
    if !verification.verdict.meta.is_empty() {
        notes.push(plain(&verification.verdict.meta));
    }
    let flags = named.into_iter().filter(|(set, name)| *set && *name != verification.verdict.meta);
    notes.extend(flags.map(|(_, name)| name.to_owned()));
    if let Some(suggestion) = &verification.suggestion {
        notes.push(format!("did you mean {}?", plain(suggestion)));
    }
    notes.join(", ")
}

/// Formats the evidence: a name and a text per part.
fn explanation(verification: &Verification) -> Vec<(&'static str, String)> {
    let evidence = &verification.evidence;
    let decider = evidence.source.name().unwrap_or("syntax and lists");
    let mut lines = vec![("decided by", format!("{} (rule {})", decider, verification.verdict.rule))];
    for finding in &verification.verdict.findings {
        lines.push(("finding", format!("{} ({}, rule {})", finding.reason, plain(&finding.meta), finding.rule)));
    }
    if let Some(domain) = &evidence.domain {
        let hosts: Vec<String> = domain.mx.iter().map(|mx| format!("{} {}", mx.preference, plain(&mx.host))).collect();
        let mail = if domain.null_mx { "none: null MX".to_owned() } else { hosts.join(", ") };
        lines.push(("MX hosts", if mail.is_empty() { "none".to_owned() } else { mail }));
        if let Some(provider) = &domain.provider {
            lines.push(("provider", provider.to_string()));
        }
    }
    if let Some(probe) = &evidence.probe {
        let ip = probe.ip.map_or_else(String::new, |ip| format!(" [{ip}]"));
        let tls = if probe.tls { ", TLS" } else { "" };
        lines.push(("probed", format!("{}{ip}{tls}, attempt {}", plain(&probe.host), probe.attempts)));
        if let Some(code) = probe.code {
            lines.push(("reply", format!("{code} {}", plain(&probe.text))));
        }
        if let Some(catch_all) = probe.catch_all {
            lines.push(("catch-all", if catch_all { "yes" } else { "no" }.to_owned()));
        }
    }
    let t = evidence.timings;
    lines.push(("time", format!("{} ms (DNS {}, connect {}, SMTP {})", t.total, t.dns, t.connect, t.smtp)));
    lines
}

#[cfg(test)]
mod tests {
    use probity_mail::verdict::{Evidence, Flags, Verdict};

    use super::*;

    fn passed(email: &str) -> Verification {
        Verification {
            email: email.into(),
            domain: "example.com".into(),
            verdict: Verdict::of(vec![], &"test".into()),
            flags: Flags { free: true, ..Flags::default() },
            gibberish_score: 0.0,
            suggestion: Some("b\u{1b}[2J@example.com".into()),
            evidence: Evidence::default(),
        }
    }

    fn printed(style: Style, explain: bool, email: &str) -> String {
        let mut out = Vec::new();
        Printer::new(&mut out, style, explain, (80, email.len())).print(&passed(email)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        let hostile = "a\u{1b}]0;x\u{7}\r\n\u{202e}@example.com\u{9b}2J";
        let table = printed(Style::Table { colours: false }, true, hostile);
        let json = printed(Style::Json, true, hostile);
        for text in [&table, &json] {
            let steering = |c: char| c.is_control() && c != '\n';
            assert!(!text.trim_end().chars().any(steering) || text.starts_with('{'), "{text:?}");
            assert!(!text.contains('\u{1b}'));
        }
        assert!(table.contains("\\u{1b}") && table.contains("\\u{202e}"));
    }

    #[test]
    fn a_table_fits_the_terminal_and_its_words_stand_apart() {
        for length in [1, 20, 60] {
            let email = format!("{}@example.com", "a".repeat(length));
            let table = printed(Style::Table { colours: false }, true, &email);
            let lines: Vec<&str> = table.lines().collect();
            assert!(lines.iter().all(|line| line.len() <= 80 || line.contains(&email)), "{table}");
            assert!(table.contains(&format!("passed         valid            {email}")), "{table}");
            assert!(table.contains("    decided by   ") && table.contains("did you mean"), "{table}");
        }
    }

    #[test]
    fn long_texts_go_on_below_themselves() {
        assert_eq!(folded("name  ", "one two three", 15), "name  one two\n      three\n");
        assert_eq!(folded("name  ", "one two", usize::MAX), "name  one two\n");
        assert_eq!(folded("", "averylongword b", 5), "averylongword\nb\n");
        assert_eq!(folded("name  ", "", 10), "name\n");
    }

    #[test]
    fn colours_are_only_there_where_they_are_wanted() {
        assert!(printed(Style::Table { colours: true }, false, "a@example.com").contains("\x1b[32m"));
        assert!(!printed(Style::Table { colours: false }, false, "a@example.com").contains('\x1b'));
    }

    #[test]
    fn json_is_one_object_a_line() {
        let line = printed(Style::Json, false, "a@example.com");
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["status"], "passed");
        assert!(value.get("evidence").is_none());
    }
}
