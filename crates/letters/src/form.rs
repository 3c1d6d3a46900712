//! Form of a letter: a heading, paragraphs, tables of labels and values, and a link, as text and as HTML.
//!
//! The HTML has inline styles only, because mail programs drop others, loads nothing, and says what the text says.

use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;

use crate::ReportLinks;
use crate::phrase::{filled, line, text};
use crate::words;

/// Longest subject that mail programs show whole, in characters.
const SUBJECT_MAX: usize = 77;
/// Shortest rest of a name that is cut to make a subject fit, in characters.
const NAME_MIN: usize = 12;
const FONT: &str = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/// Mail as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Subject, one line.
    pub subject: String,
    /// Content as plain text.
    pub text: String,
    /// Content as HTML.
    pub html: String,
}

/// A letter to be written.
#[derive(Clone, Debug)]
pub(crate) struct LetterDraft<'a> {
    pub(crate) language: PageLanguage,
    pub(crate) subject: String,
    pub(crate) heading: String,
    pub(crate) lead: Vec<String>,
    pub(crate) tables: Vec<LetterTable>,
    /// Label and address of the page to open.
    pub(crate) page: (&'static str, String),
    /// Paragraph below the link.
    pub(crate) after: Option<String>,
    /// For mail that its reader can switch off: its kind, and where.
    pub(crate) report: Option<(ReportKind, ReportLinks<'a>)>,
}

#[derive(Clone, Debug)]
pub(crate) struct LetterTable {
    pub(crate) title: &'static str,
    /// Label and value of each row.
    pub(crate) rows: Vec<(String, String)>,
}

/// Returns a subject, in which a long name is cut, beside what the heading says, in which it is not. `fill` writes the name into
/// the text.
pub(crate) fn titles(name: &str, fill: impl Fn(&str) -> String) -> (String, String) {
    let heading = fill(name);
    let over = heading.chars().count().saturating_sub(SUBJECT_MAX);
    if over == 0 {
        return (heading.clone(), heading);
    }
    let kept = name.chars().count().saturating_sub(over + 1).max(NAME_MIN);
    let cut: String = name.chars().take(kept).collect();
    (fill(&format!("{}…", cut.trim_end())), heading)
}

/// Returns the colon after a label: French has a space before it that does not break.
fn colon(language: PageLanguage) -> &'static str {
    text(language, [":", ":", "\u{a0}:", ":"])
}

impl LetterDraft<'_> {
    pub(crate) fn written(self) -> Letter {
        Letter { text: self.text(), html: self.html(), subject: self.subject }
    }

    fn text(&self) -> String {
        let Self { language, heading, lead, tables, page: (label, url), .. } = self;
        let colon = colon(*language);
        let mut text = format!("{heading}\n");
        for paragraph in lead {
            text.extend(["\n", paragraph, "\n"]);
        }
        for LetterTable { title, rows } in tables {
            text.extend(["\n", title, "\n"]);
            for (label, value) in rows {
                text.extend(["  ", &line(label), colon, " ", &line(value), "\n"]);
            }
        }
        text.extend(["\n", label, colon, "\n", url, "\n"]);
        if let Some(after) = &self.after {
            text.extend(["\n", after, "\n"]);
        }
        if let Some(footer) = self.footer() {
            let LetterFooter { why, account, unsubscribe } = footer;
            text.extend(["\n--\n", &why, "\n"]);
            for (label, url) in [account, unsubscribe] {
                text.extend([label, colon, " ", &url, "\n"]);
            }
        }
        text
    }

    fn footer(&self) -> Option<LetterFooter> {
        let (kind, links) = self.report?;
        let why = [
            "You get this email because “{setting}” is on in your notifications.",
            "Sie erhalten diese E-Mail, weil „{setting}“ in Ihren Benachrichtigungen eingeschaltet ist.",
            "Vous recevez cet e-mail parce que «\u{a0}{setting}\u{a0}» est activé dans vos notifications.",
            "Recibe este correo porque «{setting}» está activado en sus notificaciones.",
        ];
        let settings = ["Notifications", "Benachrichtigungen", "Notifications", "Notificaciones"];
        let end = ["Unsubscribe", "Abbestellen", "Se désabonner", "Darse de baja"];
        let setting = text(self.language, words::setting(kind));
        Some(LetterFooter {
            why: filled(self.language, why, &[("setting", setting)]),
            account: (text(self.language, settings), format!("{}/#/account", links.dashboard)),
            unsubscribe: (text(self.language, end), links.unsubscribe.to_owned()),
        })
    }

    fn html(&self) -> String {
        let heading = escaped(&self.heading);
        let paragraph = |text: &String| format!("<p style=\"margin:0 0 8px\">{}</p>\n", escaped(text));
        let lead: String = self.lead.iter().map(paragraph).collect();
        let tables: String = self.tables.iter().map(LetterTable::html).collect();
        let (label, url) = (escaped(self.page.0), escaped(&self.page.1));
        let after = self.after.as_ref().map_or_else(String::new, |text| {
            format!("<p style=\"margin:20px 0 0;color:#5c6675;font-size:13px\">{}</p>\n", escaped(text))
        });
        let footer = self.footer().map_or_else(String::new, |footer| footer.html());
        format!(
            "<!doctype html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{heading}</title></head>\n\
             <body style=\"margin:0;padding:24px 12px;background:#f4f5f7;color:#1d2430;{FONT};font-size:15px;line-height:1.5\">\n\
             <div style=\"max-width:560px;margin:0 auto;padding:28px;background:#ffffff;border:1px solid #dfe2e8;border-radius:8px\">\n\
             <p style=\"margin:0 0 16px;color:#5c6675;font-size:13px\">Probity</p>\n\
             <h1 style=\"margin:0 0 8px;font-size:21px;line-height:1.3\">{heading}</h1>\n{lead}{tables}\
             <p style=\"margin:28px 0 0\"><a href=\"{url}\" style=\"display:inline-block;padding:10px 18px;background:#1f4fd8;\
             color:#ffffff;border-radius:6px;text-decoration:none\">{label}</a></p>\n{after}</div>\n{footer}</body></html>\n",
            self.language
        )
    }
}

/// Why a reader gets a letter, and where to change that.
struct LetterFooter {
    why: String,
    account: (&'static str, String),
    unsubscribe: (&'static str, String),
}

impl LetterFooter {
    fn html(&self) -> String {
        let link = |(label, url): &(&'static str, String)| {
            format!("<a href=\"{}\" style=\"color:#5c6675\">{}</a>", escaped(url), escaped(label))
        };
        format!(
            "<p style=\"max-width:560px;margin:16px auto 0;color:#5c6675;font-size:13px\">{} {} · {}</p>\n",
            escaped(&self.why),
            link(&self.account),
            link(&self.unsubscribe)
        )
    }
}

impl LetterTable {
    fn html(&self) -> String {
        let cell = "padding:7px 0;border-top:1px solid #e8eaef";
        let mut rows = String::new();
        for (label, value) in &self.rows {
            let (label, value) = (escaped(label), escaped(value));
            let label = format!(
                "<tr><th scope=\"row\" style=\"{cell};padding-right:16px;text-align:left;font-weight:400\">{label}</th>"
            );
            let value =
                format!("<td align=\"right\" style=\"{cell};text-align:right;font-weight:600\">{value}</td></tr>\n");
            rows.extend([label, value]);
        }
        format!(
            "<h2 style=\"margin:24px 0 6px;font-size:15px\">{}</h2>\n\
             <table width=\"100%\" cellspacing=\"0\" cellpadding=\"0\" style=\"border-collapse:collapse;font-size:15px\">\n\
             {rows}</table>\n",
            escaped(self.title)
        )
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_in_the_subject_only() {
        let fill = |name: &str| format!("Few credits are left for {name}");
        let (subject, heading) = titles("Example Ltd", fill);
        assert_eq!((subject.as_str(), heading.as_str()), ("Few credits are left for Example Ltd", subject.as_str()));
        let (subject, heading) = titles(&"ä".repeat(200), fill);
        assert_eq!((subject.chars().count(), heading.chars().count()), (SUBJECT_MAX, 225));
        assert!(subject.ends_with("ä…"), "{subject}");
    }
}
