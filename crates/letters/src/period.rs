//! Report of a week or a month: everything that the organization verified, what its connections did, and what waits.

use probity_account::connections::ContactAction;
use probity_account::language::PageLanguage;
use probity_account::reports::{ReportKind, ReportPeriod};

use crate::ReportLinks;
use crate::form::{Letter, LetterDraft, LetterTable, titles};
use crate::phrase::{Counted, OF_VOWEL, counted, filled, text};
use crate::words;
use crate::written::day;

/// Connection that waits for its customer.
#[derive(Clone, Copy, Debug)]
pub struct WaitingLine<'a> {
    /// Name of the connection.
    pub name: &'a str,
    /// Whether the platform refuses the credentials.
    pub is_refused: bool,
    /// Number of planned actions.
    pub planned: i64,
}

/// What a report of a week or a month says.
#[derive(Clone, Copy, Debug)]
pub struct PeriodLetter<'a> {
    /// Name of the organization.
    pub org_name: Option<&'a str>,
    /// The week or the month.
    pub period: ReportPeriod,
    /// Number of verified addresses.
    pub addresses: i64,
    /// Numbers of deliverable, risky, undeliverable and unknown addresses.
    pub verdicts: [i64; 4],
    /// Numbers of actions that connections have done.
    pub done: &'a [(ContactAction, i64)],
    /// Connections that wait.
    pub waiting: &'a [WaitingLine<'a>],
}

impl PeriodLetter<'_> {
    /// Writes the report.
    pub fn written(&self, language: PageLanguage, links: ReportLinks<'_>) -> Letter {
        let unnamed =
            text(language, ["Your organization", "Ihre Organisation", "Votre organisation", "Su organización"]);
        let (subject, heading) = titles(self.org_name.unwrap_or(unnamed), |name| self.title(language, name));
        let verified = words::verified(
            language,
            (["Verified", "Geprüft", "Vérifiées", "Verificadas"], ["Addresses", "Adressen", "Adresses", "Direcciones"]),
            words::status,
            self.addresses,
            self.verdicts,
        );
        let acted = [
            "Actions of your connections",
            "Aktionen Ihrer Verbindungen",
            "Actions de vos connexions",
            "Acciones de sus conexiones",
        ];
        let actions = LetterTable { title: text(language, acted), rows: words::action_rows(language, self.done) };
        let mut tables = vec![verified, actions];
        if !self.waiting.is_empty() {
            let rows = self.waiting.iter().map(|one| (one.name.to_owned(), what_waits(language, one))).collect();
            tables.push(LetterTable { title: text(language, words::WAITING_FOR_YOU), rows });
        }
        let label = ["Open the reports", "Berichte öffnen", "Ouvrir les rapports", "Abrir los informes"];
        LetterDraft {
            language,
            subject,
            heading,
            lead: vec![self.dates(language)],
            tables,
            page: (text(language, label), format!("{}/#/usage", links.dashboard)),
            after: None,
            report: Some((self.period.kind(), links)),
        }
        .written()
    }

    fn title(&self, language: PageLanguage, name: &str) -> String {
        let addresses = Counted {
            one: [
                "{name}: {n} address verified in the {period}",
                "{name}: {n} Adresse {period} geprüft",
                "{name}\u{a0}: {n} {of}adresse vérifiée {period}",
                "{name}: {n} {of}dirección verificada {period}",
            ],
            other: [
                "{name}: {n} addresses verified in the {period}",
                "{name}: {n} Adressen {period} geprüft",
                "{name}\u{a0}: {n} {of}adresses vérifiées {period}",
                "{name}: {n} {of}direcciones verificadas {period}",
            ],
            of: OF_VOWEL,
        };
        let period = match self.period.kind() {
            ReportKind::Monthly => ["month", "im Monat", "sur le mois", "durante el mes"],
            ReportKind::Weekly | ReportKind::Run => ["week", "in der Woche", "sur la semaine", "durante la semana"],
        };
        counted(language, addresses, self.addresses, &[("name", name), ("period", text(language, period))])
    }

    fn dates(&self, language: PageLanguage) -> String {
        let (first, last) = self.period.dates();
        let dates = ["{first} to {last}.", "{first} bis {last}.", "Du {first} au {last}.", "Del {first} al {last}."];
        filled(language, dates, &[("first", &day(language, first)), ("last", &day(language, last))])
    }
}

fn what_waits(language: PageLanguage, one: &WaitingLine<'_>) -> String {
    let refused = [
        "The platform refuses the credentials: reconnect",
        "Die Plattform lehnt die Zugangsdaten ab: bitte neu verbinden",
        "La plateforme refuse les identifiants\u{a0}: reconnectez-la",
        "La plataforma rechaza las credenciales: vuelva a conectar",
    ];
    let credits = [
        "Automatic runs are waiting for credits",
        "Automatische Läufe warten auf Credits",
        "Les exécutions automatiques attendent des crédits",
        "Las ejecuciones automáticas esperan créditos",
    ];
    match one.planned {
        _ if one.is_refused => text(language, refused).to_owned(),
        0 => text(language, credits).to_owned(),
        planned => counted(language, words::ACTIONS_WAIT, planned, &[]),
    }
}
