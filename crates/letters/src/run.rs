//! Report of a run: its verdicts, what it did, and why it waits.

use jiff::civil::Date;
use probity_account::connections::{BrakeReason, ContactAction};
use probity_account::id::{ConnId, JobId};
use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;

use crate::ReportLinks;
use crate::form::{Letter, LetterDraft, LetterTable, titles};
use crate::phrase::{Counted, OF, counted, filled, text};
use crate::words;
use crate::written::{day, number};

/// Why a run waits for its customer.
#[derive(Clone, Copy, Debug)]
pub struct RunWait<'a> {
    /// Number of planned actions.
    pub planned: i64,
    /// What stopped it before it acted; `None` if some of its actions failed.
    pub held_by: Option<BrakeReason>,
    /// Message of the failure that stopped it.
    pub fault: Option<&'a str>,
}

/// What a report of a run says.
#[derive(Clone, Copy, Debug)]
pub struct RunLetter<'a> {
    /// ID of the run.
    pub id: JobId,
    /// Name of the connection.
    pub connection: &'a str,
    /// ID of the connection.
    pub connection_id: ConnId,
    /// Name of the platform in addresses.
    pub platform: &'a str,
    /// Date of the run.
    pub date: Date,
    /// Number of verified contacts.
    pub contacts: i64,
    /// Numbers of deliverable, risky, undeliverable and unknown contacts.
    pub verdicts: [i64; 4],
    /// Numbers of actions that were done.
    pub done: &'a [(ContactAction, i64)],
    /// Number of actions that the platform refused.
    pub refused: i64,
    /// Why it waits; `None` if it is completed.
    pub waits: Option<RunWait<'a>>,
}

impl RunLetter<'_> {
    /// Writes the report.
    pub fn written(&self, language: PageLanguage, links: ReportLinks<'_>) -> Letter {
        let (subject, heading) = titles(self.connection, |name| self.title(language, name));
        let mut tables = vec![
            words::verified(
                language,
                (["Verified", "Geprüft", "Vérifiés", "Verificados"], ["Contacts", "Kontakte", "Contacts", "Contactos"]),
                words::contact_status,
                self.contacts,
                self.verdicts,
            ),
            self.actions(language),
        ];
        tables.extend(self.waits.map(|wait| waiting(language, wait)));
        let label = if self.waits.is_some() {
            ["Review the run", "Über den Lauf entscheiden", "Examiner l’exécution", "Revisar la ejecución"]
        } else {
            ["Open the run", "Lauf öffnen", "Ouvrir l’exécution", "Abrir la ejecución"]
        };
        let url = format!("{}/#/connections/{}/{}?run={}", links.dashboard, self.platform, self.connection_id, self.id);
        LetterDraft {
            language,
            subject,
            heading,
            lead: self.lead(language),
            tables,
            page: (text(language, label), url),
            after: None,
            report: Some((ReportKind::Run, links)),
        }
        .written()
    }

    fn title(&self, language: PageLanguage, name: &str) -> String {
        let contacts = Counted {
            one: [
                "{n} contact verified",
                "{n} Kontakt geprüft",
                "{n} {of}contact vérifié",
                "{n} {of}contacto verificado",
            ],
            other: [
                "{n} contacts verified",
                "{n} Kontakte geprüft",
                "{n} {of}contacts vérifiés",
                "{n} {of}contactos verificados",
            ],
            of: OF,
        };
        let what = match self.waits {
            Some(wait) => counted(language, words::ACTIONS_WAIT, wait.planned, &[]),
            None => counted(language, contacts, self.contacts, &[]),
        };
        let whole = ["{name}: {what}", "{name}: {what}", "{name}\u{a0}: {what}", "{name}: {what}"];
        filled(language, whole, &[("name", name), ("what", &what)])
    }

    fn lead(&self, language: PageLanguage) -> Vec<String> {
        let of_run = if self.waits.is_some() {
            [
                "The run of {date} is waiting for you.",
                "Der Lauf vom {date} wartet auf Sie.",
                "L’exécution du {date} attend votre accord.",
                "La ejecución del {date} está pendiente de usted.",
            ]
        } else {
            [
                "The run of {date} is complete.",
                "Der Lauf vom {date} ist abgeschlossen.",
                "L’exécution du {date} est terminée.",
                "La ejecución del {date} ha terminado.",
            ]
        };
        let mut lead = vec![filled(language, of_run, &[("date", &day(language, self.date))])];
        // A failure says more than what stopped the run before.
        let held = self.waits.filter(|wait| wait.fault.is_none());
        lead.extend(held.map(|wait| text(language, words::held(wait.held_by)).to_owned()));
        lead
    }

    fn actions(&self, language: PageLanguage) -> LetterTable {
        let mut rows = words::action_rows(language, self.done);
        if self.refused > 0 {
            let label = [
                "Refused by the platform",
                "Von der Plattform abgelehnt",
                "Refusées par la plateforme",
                "Rechazadas por la plataforma",
            ];
            rows.push((text(language, label).to_owned(), number(language, self.refused)));
        }
        LetterTable { title: text(language, ["Actions", "Aktionen", "Actions", "Acciones"]), rows }
    }
}

fn waiting(language: PageLanguage, wait: RunWait<'_>) -> LetterTable {
    let planned = ["Planned actions", "Geplante Aktionen", "Actions prévues", "Acciones previstas"];
    let mut rows = vec![(text(language, planned).to_owned(), number(language, wait.planned))];
    if let Some(fault) = wait.fault {
        let label = ["Error message", "Fehlermeldung", "Message d’erreur", "Mensaje de error"];
        rows.push((text(language, label).to_owned(), fault.to_owned()));
    }
    LetterTable { title: text(language, words::WAITING_FOR_YOU), rows }
}
